"""Golden values of the bounds, recomputed here with exact integers and 60-digit decimals.

Nothing of `certune.pfaffian.bounds` is used to derive them.  Each formula is written out with the
counts of the paper or of docs/theory/structures.md.
"""

from decimal import Decimal, getcontext
from math import comb, floor

import pytest

import certune as ct
from certune.families.linkage.structure import min_max_comparisons, shared_comparisons
from certune.pfaffian.bounds.applications import (
    harmonic_labeling_structure,
    logistic_surrogate_structure,
)
from certune.pfaffian.bounds.closed_forms import closed_form
from certune.pfaffian.bounds.growth import LineGrowth, PredicateGrowth
from certune.pfaffian.bounds.records import Provenance
from certune.pfaffian.structure import LineCount, PredicateCount

SIZES = (10, 50, 100)


@pytest.fixture(autouse=True)
def sixty_digits():
    context = getcontext()
    before, context.prec = context.prec, 60
    yield
    context.prec = before


def log2(number):
    return Decimal(number).ln() / Decimal(2).ln()


def formula(q, m, degree, k, d, dropped=True):
    """d^2 q^2 + 2dq log(D+M) + 4dq log d + 2d log(D K) + 16 d, minus dq before it is dropped."""
    value = d * d * q * q + 2 * d * q * log2(degree + m) + 4 * d * q * log2(d)
    return value + 2 * d * log2(degree * k) + 16 * d - (0 if dropped else d * q)


def rows(structure):
    best = ct.pdim_bound(structure)
    return {(str(row.provenance), row.label): row for row in (best, *best.others)}


def check(row, expected):
    """The row is the expected real number, rounded up by at most a few units in the last place."""
    assert Decimal(row.value) >= expected
    assert row.value == pytest.approx(float(expected), rel=1e-15)
    assert row.dimension == floor(expected)


# The closed form of the paper


def test_min_max_with_three_points_and_two_metrics():
    # d = L + 1 = 3, q = 3 n^2 = 27, Delta = 1, K = n^8 + n + 1 = 3^8 + 4; M is printed as 2.
    found = rows(ct.Linkage("min-max", weights="tune", n_metrics=2).structure(3))
    printed = found["as printed", "thm:piecewise-pfaffian"]
    corrected = found["corrected", "thm:piecewise-pfaffian"]
    before = found["corrected", "lm:pfaffian-algorithm"]
    check(printed, formula(27, 2, 1, 3**8 + 4, 3))
    check(corrected, formula(27, 3, 1, 3**8 + 4, 3))
    check(before, formula(27, 3, 1, 3**8 + 4, 3, dropped=False))
    assert str(printed.value).startswith("7455.375")
    printed_before = closed_form(
        ct.Linkage("min-max", weights="tune", n_metrics=2).structure(3).as_printed,
        label="lm:pfaffian-algorithm", provenance=Provenance.AS_PRINTED, keep_dropped_term=True,
    )  # fmt: skip
    check(printed_before, formula(27, 2, 1, 3**8 + 4, 3, dropped=False))
    assert str(printed_before.value).startswith("7374.375")
    assert str(corrected.value).startswith("7522.611")
    assert str(before.value).startswith("7441.611")


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_metrics", [2, 3])
def test_min_max(n, n_metrics):
    found = rows(ct.Linkage("min-max", weights="tune", n_metrics=n_metrics).structure(n))
    k, d = n**8 + n + 1, n_metrics + 1
    check(found["as printed", "thm:piecewise-pfaffian"], formula(3 * n * n, 2, 1, k, d))
    check(found["corrected", "thm:piecewise-pfaffian"], formula(3 * n * n, 3, 1, k, d))


@pytest.mark.parametrize("n", SIZES)
def test_power_mean(n):
    # The printed tuple has n^8 boundaries, the count in the same proof is 2^(4n).
    found = rows(ct.Linkage("power-mean", weights="tune", n_metrics=3).structure(n))
    k = 2 ** (4 * n) + n + 1
    check(found["as printed", "thm:piecewise-pfaffian"], formula(3 * n * n, 2, 1, n**8 + n + 1, 4))
    check(found["corrected", "thm:piecewise-pfaffian"], formula(3 * n * n, 3, 1, k, 4))


@pytest.mark.parametrize("n", SIZES)
def test_product(n):
    found = rows(ct.Linkage("product", alpha=[(-2, 2)] * 3).structure(n))
    k = 2 ** (4 * n) + n + 1
    check(found["as printed", "thm:piecewise-pfaffian"], formula(n * n, 1, 1, k, 3))


@pytest.mark.parametrize("n", SIZES)
def test_harmonic_labeling(n):
    unlabeled, metrics = n - 5, 3
    found = rows(harmonic_labeling_structure(unlabeled, 5, metrics, tuned_weights=True))
    q, d = n * n + 1, metrics + 1
    printed = formula(q, 5, unlabeled, 2 * unlabeled + 2, d)
    corrected = formula(q, 5, unlabeled, 2 * unlabeled + 1, d)
    check(found["as printed", "thm:piecewise-pfaffian"], printed)
    check(found["corrected", "thm:piecewise-pfaffian"], corrected)


# Solved inequalities, with exact integers and a plain scan


def component_count(r, d, q, m, degree):
    """Corrected lm:kho-91 with the chain of r predicates."""
    if r == 0:
        return 1
    s = r * (degree - 1) + d * m + 1
    chain = r * q
    bracket = (d - r + 1) * s - (d - r)
    return 2 ** (chain * (chain - 1) // 2) * degree**r * s ** (d - r) * bracket**chain


def shattered(count):
    n = 1
    while 2**n <= count(n):
        n += 1
    return n - 1


def solved(q, m, degree, k, d, copies=1, three_valued=False, isolated=0):
    weights = [
        component_count(r, d, q, m, degree) * (2**r if three_valued else 1) for r in range(d + 1)
    ]

    def count(n):
        return copies * sum(comb(n * k, r) * w for r, w in enumerate(weights)) + isolated

    return shattered(count)


@pytest.mark.parametrize(("q", "m", "golden"), [(10, 4, 711), (7, 10, 478)])
def test_min_max_for_the_class_of_the_paper(q, m, golden):
    # n = 100, L = 3: alpha != 0 and the limits +-inf (three copies), only ">= 0" is asked.
    pairs = comb(100, 2)
    k = 3 * comb(pairs, 4) + 3 * comb(pairs, 3) + comb(pairs, 2) + 1
    assert solved(q, m, 1, k, 3, copies=3) == golden
    counts = PredicateCount(
        n_parameters=3, n_predicates=k, chain_length=q, chain_degree=m, function_degree=1,
        n_copies=3,
    )  # fmt: skip
    assert PredicateGrowth(counts).shattered_size() == golden


def test_min_max_with_ties_and_the_geometric_limit():
    # certune's family also has alpha = 0 (a fourth copy) and resolves ties by a rule, so that a
    # predicate has three outcomes: 481 and 715 in place of 478 and 711.
    k = min_max_comparisons(100)
    expected = [solved(q, m, 1, k, 3, 4, three_valued=True) for q, m in ((7, 10), (10, 4))]
    assert expected == [481, 715]
    best = ct.pdim_bound(ct.Linkage("min-max", weights="tune", n_metrics=3).structure(100))
    found = [row.dimension for row in (best, *best.others) if row.label == "R1"]
    assert found == expected
    assert best.dimension == 481
    paper = next(row for row in best.others if row.provenance == "as printed")
    assert f"{paper.value:.3g}" == "1.44e+10"


def test_fixed_metric():
    # P = C(4951, 4) + 3 breakpoints for min-max; for power means at most
    # 1/2 (4^n - 3 3^n + 3 2^n - 1) comparisons with n^2/4 - 2 roots each, and 3 special settings.
    breaks = comb(comb(100, 2) + 1, 4) + 3
    assert shattered(lambda n: 1 + n * breaks) == 50
    assert ct.pdim_bound(ct.Linkage("min-max").structure(100)).dimension == 50
    comparisons = (4**100 - 3 * 3**100 + 3 * 2**100 - 1) // 2
    assert comparisons == shared_comparisons(100)
    assert shattered(lambda n: 1 + n * (comparisons * 2498 + 3)) == 218
    assert ct.pdim_bound(ct.Linkage("power-mean").structure(100)).dimension == 218


def test_one_exponent_of_a_product():
    family = ct.Linkage("product", alpha=[(-2, 2), 1.0])
    breaks = shared_comparisons(20) * 99 + 3
    expected = shattered(lambda n: 1 + n * breaks)
    assert ct.pdim_bound(family.structure(20)).dimension == expected


def test_product_counts_its_isolated_settings():
    structure = ct.Linkage("product", alpha=[(-2, 2)] * 2).structure(4)
    # floor(16/4) = 4 terms, 3 ratios; 2 L + 1 = 5 single settings.
    expected = solved(3, 1, 1, shared_comparisons(4) + 1, 2, three_valued=True, isolated=5)
    best = ct.pdim_bound(structure)
    assert best.label == "R1" and best.dimension == expected


@pytest.mark.parametrize(("n", "golden"), [(10, 102), (50, 1538), (100, 5648)])
def test_logistic_path(n, golden):
    # 9999 intervals of the path; chain of n exponentials (q = n, M = 1), degree n, one parameter:
    # 2^N <= 9999 (1 + N 2^(n(n-1)/2) n (n + 1)^n); printed with M = n.
    def count(m):
        components = 2 ** (n * (n - 1) // 2) * n * (n + m) ** n
        return lambda size: 9999 * (1 + size * components)

    structure = logistic_surrogate_structure(n, n, (0.001, 10.0), 0.001)
    # 0.001 is the float; the exact quotient of these floats exceeds 9998 and is at most 9999.
    assert structure.n_regions == 9999
    found = rows(structure)
    label = "lm:approximation-peice-wise-struture"
    assert found["certune R4", label].dimension == shattered(count(1)) == golden
    assert found["as printed", label].dimension == shattered(count(n))
    convex = shattered(lambda size: 9999 * (1 + 2 * size))
    assert found["certune R6", "R6"].dimension == convex == 18


def test_harmonic_labeling_with_a_fixed_metric():
    # F = |L| n^(|U|-1) rooted forests: F - 1 zeros for each of |U| = 6 points.
    breaks = 6 * (4 * 10**5 - 1)
    expected = shattered(lambda n: 1 + n * breaks)
    assert ct.pdim_bound(harmonic_labeling_structure(6, 4)).dimension == expected
    growth = LineGrowth(LineCount(n_breakpoints=breaks))
    assert growth.shattered_size() == expected


def test_harmonic_labeling_reparametrised():
    # R5 with |U| = 4, one label, L = 2: q = 6 + 4 = 10, M = 1, Delta = K = 4, d = 2.
    structure = harmonic_labeling_structure(4, 1, 2, tuned_weights=True)
    best = ct.pdim_bound(structure)
    assert best.note == "R5: gamma = beta / sigma^2"
    assert best.dimension == solved(10, 1, 4, 4, 2)
