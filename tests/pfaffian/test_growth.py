"""Counts of patterns hold for real functions, and the bounds on top of them are certain."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import certune as ct
from certune.errors import InputError, ParameterError
from certune.pfaffian.bounds.growth import (
    EarlierGrowth,
    LineGrowth,
    PredicateGrowth,
    SauerGrowth,
    sauer,
)
from certune.pfaffian.structure import (
    GJStructure,
    HomogeneousStructure,
    LineCount,
    PiecewiseStructure,
    PredicateCount,
)

GJ = {"chain_length": 3, "chain_degree": 2, "function_degree": 1, "n_parameters": 2}


@st.composite
def step_functions(draw):
    """Bits of some functions on a line: open pieces and breakpoints, each with any value."""
    n, breaks = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    places = st.lists(st.integers(0, 6), min_size=breaks, max_size=breaks, unique=True)
    functions = []
    for _ in range(n):
        where = sorted(draw(places))
        pieces = draw(st.lists(st.booleans(), min_size=breaks + 1, max_size=breaks + 1))
        at = {place: draw(st.booleans()) for place in where}
        functions.append((where, pieces, at))
    return breaks, functions


@given(step_functions())
def test_values_at_breakpoints_do_not_raise_the_line_count(drawn):
    breaks, functions = drawn

    def bit(function, t):
        where, pieces, at = function
        return at[t] if t in at else pieces[sum(place < t for place in where)]

    grid = [k / 2 for k in range(-1, 14)]
    patterns = {tuple(bit(function, t) for function in functions) for t in grid}
    count = LineGrowth(LineCount(n_breakpoints=breaks)).count(len(functions))
    assert len(patterns) <= int(count.unique_fmpz()) == 1 + len(functions) * breaks


def test_level_crossings():
    # Parabolas cross a level twice: n intervals, so 1 + 2n patterns, attained by nested intervals.
    growth = LineGrowth(LineCount(n_breakpoints=0, n_level_crossings=2))
    t = np.linspace(-6, 6, 10_001)
    bits = np.array([(t - c) ** 2 < 1 for c in (0.0, 0.5, 1.0)])
    assert len(set(map(tuple, bits.T))) <= int(growth.count(3).unique_fmpz()) == 7
    # 2^2 <= 5 and 2^3 > 7: two are shattered at most, as is well known for intervals.
    assert growth.shattered_size() == 2


@pytest.mark.parametrize("three_valued", [False, True])
def test_predicate_count_holds_for_exponential_curves(three_valued):
    # Predicates exp(a x + b y) - c: chain of one exponential, q = M = Delta = 1, d = 2, K = 1.
    counts = PredicateCount(
        n_parameters=2, n_predicates=1, chain_length=1, chain_degree=1, function_degree=1,
        three_valued=three_valued,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5))
    x, y = rng.normal(size=(2, 200_000)) * 3
    signs = np.sign(np.exp(np.outer(x, a) + np.outer(y, b)) - 1.5)
    seen = len(np.unique(signs, axis=0))
    # They are lines: 1 + 5 + 10 cells at most, and 5 * 5 edges and 10 vertices besides.
    count = PredicateGrowth(counts).count(5)
    assert 10 <= seen <= 16
    assert count >= (16 + 25 + 10 if three_valued else 16)


def test_three_valued_signs_of_lines_attain_the_count():
    # Two crossing lines: 4 cells, 4 rays, 1 vertex. 1 + 2 C(2,1) + 4 C(2,2) = 9.
    counts = PredicateCount(
        n_parameters=2, n_predicates=1, chain_length=0, chain_degree=0, function_degree=1,
        three_valued=True,
    )  # fmt: skip
    patterns = {(np.sign(x), np.sign(y)) for x, y in product((-1, 0, 1), repeat=2)}
    assert int(PredicateGrowth(counts).count(2).unique_fmpz()) == len(patterns) == 9


def test_copies_isolated_settings_and_regions_add_up():
    base = {"n_parameters": 1, "n_predicates": 2, "chain_length": 0, "chain_degree": 0}
    plain = PredicateGrowth(PredicateCount(**base, function_degree=3))
    more = PredicateCount(**base, function_degree=3, n_copies=4, n_isolated=5)
    # q = 0, d = 1: B_1 = Delta = 3, so 1 + 3 * 2 N.
    assert int(plain.count(7).unique_fmpz()) == 1 + 3 * 14
    assert int(PredicateGrowth(more, n_regions=2).count(7).unique_fmpz()) == 8 * 43 + 5


def test_no_predicates_no_dimension():
    structure = GJStructure(**GJ, n_predicates=0, source="test")
    assert ct.pdim_bound(structure).dimension == 0


@given(size=st.integers(1, 60), dimension=st.integers(1, 60))
def test_sauer_form_is_above_the_sum(size, dimension):
    exact = sum(comb(size, i) for i in range(min(size, dimension) + 1))
    assert sauer(size, dimension) >= exact


def test_sauer_returns_its_dimension():
    # 2^N <= 2^N up to N = D; beyond, the closed form of Sauer's sum costs a few units.
    assert 10 <= SauerGrowth(10).shattered_size() <= 40


def test_earlier_framework_by_scan():
    growth = EarlierGrowth(boundary_dimension=3, piece_dimension=2, n_boundaries=5)

    def phi(x, d):
        return 2.0**x if x <= d else (np.e * x / d) ** d

    n = 1
    while 2.0**n <= phi(5 * n, 3) * phi(n, 2):
        n += 1
    assert growth.shattered_size() == n - 1


def test_returned_size_is_certain_and_tight():
    structure = GJStructure(**GJ, n_predicates=10, source="test")
    best = ct.pdim_bound(structure)
    growth = PredicateGrowth(PredicateCount(**GJ, n_predicates=10))
    n = best.dimension
    assert 2**n <= growth.count(n) and 2 ** (n + 1) > growth.count(n + 1)


# What pdim_bound accepts


class ObservedComplexity:
    """Stands for counts of a trace."""

    chain_length = chain_degree = function_degree = n_predicates = n_parameters = 1


@pytest.mark.parametrize("call", [ct.pdim_bound, lambda s: ct.sample_size(s, 0.1, 0.05)])
@pytest.mark.parametrize("structure", [ObservedComplexity(), (1, 2, 3), None])
def test_observed_counts_are_refused(call, structure):
    with pytest.raises(InputError, match="proved for every instance.*observed on a trace"):
        call(structure)


def test_printed_bounds_are_listed_but_never_chosen():
    printed = PiecewiseStructure(
        n_piece_forms=1, n_boundaries=1, chain_length=1, chain_degree=1, function_degree=1,
        n_parameters=1, source="print",
    )  # fmt: skip
    structure = PiecewiseStructure(
        n_piece_forms=9, n_boundaries=9, chain_length=9, chain_degree=9, function_degree=9,
        n_parameters=3, source="test", as_printed=printed,
    )  # fmt: skip
    best = ct.pdim_bound(structure)
    assert best.proved and not best.others[-1].proved
    assert best.others[-1].value < best.value
    proved = [best, *(row for row in best.others if row.proved)]
    assert [row.value for row in proved] == sorted(row.value for row in proved)
    assert {row.label for row in proved} == {
        "R4", "lm:pfaffian-algorithm", "thm:piecewise-pfaffian", "thm-apx:using-stoc",
    }  # fmt: skip


def test_polynomials_use_warren():
    structure = GJStructure(
        chain_length=0, chain_degree=0, function_degree=2, n_predicates=8, n_parameters=3,
        source="test",
    )  # fmt: skip
    best = ct.pdim_bound(structure)
    closed = next(row for row in best.others if row.note == "Warren, q = 0")
    assert closed.value == pytest.approx(6 * np.log2(8 * np.e * 16))
    # The closed form comes from 2^N <= (4 e Delta N K / d)^d, which it must not undercut.
    n = 1
    while 2.0**n <= (4 * np.e * 2 * n * 8 / 3) ** 3:
        n += 1
    assert best.dimension <= n - 1 <= closed.dimension


def test_constant_pieces_are_no_predicates():
    fields = {**GJ, "n_piece_forms": 1000, "n_boundaries": 5, "source": "test"}
    constant = ct.pdim_bound(PiecewiseStructure(**fields, piecewise_constant=True))
    other = ct.pdim_bound(PiecewiseStructure(**fields))
    five = ct.pdim_bound(GJStructure(**GJ, n_predicates=5, source="test"))
    assert constant.dimension == five.dimension < other.dimension


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GJStructure(**GJ, n_predicates=-1, source=""), "n_predicates must be .* got -1"),
        (lambda: GJStructure(**GJ, n_predicates=1.0, source=""), "n_predicates must be .* 1.0"),
        (lambda: GJStructure(**GJ, n_predicates=True, source=""), "n_predicates must be .* True"),
        (
            lambda: GJStructure(**{**GJ, "chain_degree": 0}, n_predicates=1, source=""),
            "chain_degree >= 1, got chain_length=3",
        ),
        (
            lambda: HomogeneousStructure(**GJ, n_regions=1, n_level_crossings=1, source=""),
            "single parameter",
        ),
        (
            lambda: PiecewiseStructure(
                **GJ, n_piece_forms=1, n_boundaries=1, source="",
                predicates=(PredicateCount(**GJ, n_predicates=1),),
                line=LineCount(n_breakpoints=1),
            ),
            "one parameter",
        ),
    ],
)  # fmt: skip
def test_impossible_structures_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
