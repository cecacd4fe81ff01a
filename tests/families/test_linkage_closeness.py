"""Changes of order that nearly coincide: told apart, and held against greedy runs on exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import certune as ct
from certune._core import linkage_parts as parts
from certune.families.linkage import sweeping
from certune.families.linkage.closeness import close_up
from certune.families.linkage.lines import Line

BITS = 500


def sign_of(terms, alpha, powers):
    """Sign of a sum of counts times d ** alpha; 0 if terms cancel, or at a whole alpha."""
    terms = {d: count for d, count in terms.items() if count}
    with ctx.workprec(BITS):
        for d in terms.keys() - powers.keys():
            powers[d] = (arb(d).log() * arb(alpha)).exp()
        total = sum((powers[d] * fmpq(*c.as_integer_ratio()) for d, c in terms.items()), arb(0))
        if not total.contains(0) or not terms:
            return int(total > 0) - int(total < 0)
    assert alpha.is_integer()
    exact = sum((count * Fraction(d) ** int(alpha) for d, count in terms.items()), Fraction(0))
    return (exact > 0) - (exact < 0)


def value_of(distances, kind, first, second):
    """Linkage value of two clusters as a sum of powers of distances."""
    between = [distances[a, b] for a in first for b in second]
    if kind in ("min", "max"):
        return {(min if kind == "min" else max)(between): Fraction(1)}
    if kind == "min-max":
        weighted = [(min(between), Fraction(1)), (max(between), Fraction(1))]
    elif kind == "power-mean":
        weighted = [(d, Fraction(1, len(between))) for d in between]
    else:
        a, b = len(first), len(second)
        weighted = [(d, Fraction(2, a + b)) for d in between]
        for own, share in ((first, Fraction(b, a * (a + b))), (second, Fraction(a, b * (a + b)))):
            weighted += [(distances[p, q], -share) for p in own for q in own]
    terms = {}
    for d, weight in weighted:
        if d > 0:
            terms[d] = terms.get(d, Fraction(0)) + weight
    return terms


def greedy_cut(distances, kind, alpha, k):
    """Labels by joining the nearest pair until k clusters are left; identical points first.

    At infinite exponents power means are single and complete linkage.
    """
    if math.isinf(alpha):
        kind, alpha = "max" if alpha > 0 else "min", 1.0
    clusters = []
    for p in range(len(distances)):
        twin = next((own for own in clusters if distances[own[0], p] == 0), None)
        clusters.append([p]) if twin is None else twin.append(p)
    powers, values = {}, {}
    while len(clusters) > k:
        best = None
        for i, first in enumerate(clusters):
            for second in clusters[:i]:
                pair = tuple(first), tuple(second)
                if pair not in values:
                    values[pair] = value_of(distances, kind, *pair)
                key = sorted((max(first), max(second)))
                if best is not None:
                    difference = dict(values[pair])
                    for d, weight in values[best[0]].items():
                        difference[d] = difference.get(d, Fraction(0)) - weight
                    order = sign_of(difference, alpha, powers) * (1 if alpha > 0 else -1)
                    if order > 0 or (order == 0 and key > best[1]):
                        continue
                best = pair, key
        first, second = map(list, best[0])
        clusters = [own for own in clusters if own not in (first, second)] + [first + second]
    labels = np.empty(len(distances), dtype=np.int64)
    for number, own in enumerate(clusters):
        labels[own] = number
    return labels


def tied(seed):
    """0/1 vectors, points of a grid, rounded points with copies."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(7, 11))
    points = [
        rng.integers(0, 2, (n, 6)).astype(float),
        rng.integers(0, 4, (n, 2)).astype(float),
        np.round(rng.normal(size=(n, 2)), 1)[rng.integers(0, n, n)],
    ][seed % 3]
    metric = "cityblock" if seed % 4 == 3 else "euclidean"
    return ct.ClusteringInstance(
        points, metrics=(metric,), target=rng.integers(0, 3, n), k=int(rng.integers(2, 4))
    )


def floats_around(place, steps):
    return [place + step * math.ulp(place) for step in steps]


@pytest.mark.parametrize("kind", ["power-mean", "min-max", "energy"])
@pytest.mark.parametrize("seed", range(12))
def test_every_float_around_near_ties_agrees_with_exact_sums(kind, seed):
    instance = tied(seed)
    if instance.n_distinct <= instance.k:
        instance = tied(seed + 12)
    family = ct.Linkage(kind, alpha=(0.75, 2.75), objective="cut")
    dual = family.dual(instance)
    rng = np.random.default_rng(seed)
    changes = rng.choice(np.concatenate([dual.starts, dual.stops]), 2)
    places = {t for place in (1.0, 2.0) for t in floats_around(place, (-9, -2, -1, 0, 1, 2, 9))}
    places.update(t for place in changes for t in floats_around(float(place), (-1, 0, 1)))
    places = [t for t in sorted(places) if 0.75 <= t <= 2.75 and not math.isnan(dual(t))]
    assert len(places) >= 14
    for t in places:
        labels = greedy_cut(instance.distances[0], kind, t, instance.k)
        assert dual.value_at(t) == family.utility.score(instance.target, labels), t


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "place", "squares"),
    [
        ("power-mean", -2.0, (2, 6, 3)),  # 1/2 + 1/6 = 2/3
        ("min-max", -2.0, (2, 6, 3)),
        ("power-mean", -4.0, (14, 14, 14)),
        ("power-mean", 2.0, (2, 6, 4)),
        ("min-max", 2.0, (3, 7, 5)),
        ("energy", 2.0, (3, 7, 5)),
        # Plain floats have another order.
        ("power-mean", 2.0, (8, 14, 11)),
        ("power-mean", 2.0, (10, 14, 12)),
        ("power-mean", -2.0, (9, 45, 15)),
        ("energy", 2.0, (8, 14, 11)),
    ],
)
def test_rounded_roots_whose_powers_nearly_agree(kind, place, squares, turned):
    """One point between two pairs, equally near but for the roundings of three roots."""
    first, second, both = np.sqrt(squares)
    matrix = np.full((5, 5), 9.0)
    matrix[1, 2] = matrix[3, 4] = 1.0
    matrix[0, 1:] = [both, both, first, second] if turned else [first, second, both, both]
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    instance = ct.ClusteringInstance(distances=matrix, target=[0, 0, 0, 1, 1])
    low, high = sorted((place - 0.5, place + 0.5))
    family = ct.Linkage(kind, alpha=(low, high), objective="cut")
    dual = family.dual(instance)
    assert not len(dual.undecided)
    for t in floats_around(place, (-1000, -9, -2, -1, 0, 1, 2, 9, 1000)):
        labels = greedy_cut(matrix, kind, t, 2)
        assert np.array_equal(_together(family.solve(instance, t).labels), _together(labels)), t
        assert dual.value_at(t) in (None, family.utility.score(instance.target, labels)), t


EXPONENTS = {
    "power-mean": (-math.inf, -2.0, -1.0, 1.0, 2.0, math.nextafter(2.0, 0.0), math.inf),
    "min-max": (-2.0, -1.0, 1.0, 2.0, math.nextafter(2.0, 3.0)),
    "energy": (0.3, 1.0, 2.0, math.nextafter(2.0, 3.0), 3.0),
}


@pytest.mark.parametrize("kind", EXPONENTS)
@pytest.mark.parametrize("seed", range(8))
def test_single_runs_on_tied_data_agree_with_exact_sums(kind, seed):
    matrix = tied(seed).distances[0]
    for alpha in EXPONENTS[kind]:
        for k in range(1, min(6, tied(seed).n_distinct + 1)):
            instance = ct.ClusteringInstance(distances=matrix, k=k)
            labels = ct.Linkage(kind, alpha=alpha, objective="cut").solve(instance, {}).labels
            expected = greedy_cut(matrix, kind, alpha, k)
            assert np.array_equal(_together(labels), _together(expected)), (alpha, k)


def _together(labels):
    return labels[:, None] == labels


@pytest.mark.parametrize("kind", ["power-mean", "min-max", "energy"])
def test_hundreds_of_changes_beside_two_leave_nothing_open(kind, monkeypatch):
    """0/1 data, rounded roots of 1, 2, ...: the slow exact layer is hardly used."""
    asked = []
    original = sweeping.Comparison

    def counted(*arguments):
        asked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(sweeping, "Comparison", counted)
    rng = np.random.default_rng(5)
    centres = rng.integers(0, 2, (3, 16))
    target = np.arange(60) % 3
    flipped = rng.random((60, 16)) < 0.25
    instance = ct.ClusteringInstance((centres[target] ^ flipped).astype(float), target=target)
    family = ct.Linkage(kind, alpha=(0.5, 4.0))
    dual = family.dual(instance)
    assert len(dual.undecided) == 0
    assert len(asked) <= 24
    for t in floats_around(2.0, range(-12, 13, 3)):
        assert dual.value_at(t) == family.run_exact(instance, t), t


def test_a_window_has_a_coordinate_without_roundings():
    line = Line("min-max", ((0.25, 0.5),), ((1.0, 0.0),))
    low, high = math.nextafter(3.5, 0.0), 3.5 + 12 * math.ulp(3.5)
    view = close_up(line, low, high)
    assert view.centre == 3.5
    assert [view.place(s) for s in view.ends] == [Fraction(low), Fraction(high)]
    assert max(map(abs, view.ends)) <= 1.0
    assert view.line.exact_alpha[0] == (2, Fraction(view.half) / 2)
    ((value, slope),) = view.at(0.375).exact_alpha
    assert value == Fraction(1, 4) + view.place(0.375) / 2
    assert slope == 0


def test_windows_next_to_exponent_zero_are_not_looked_at_closely():
    line = Line("min-max", ((0.0, 1.0),), ((1.0, 0.0),))
    assert close_up(line, -1e-13, 1e-13) is None
    assert close_up(line, 1.0, 1.5) is None
    assert close_up(line, 1.5, 1.5 + 1e-12) is not None


def test_logarithms_and_powers_have_twice_the_digits():
    """Errors against 400 bits stay below what near ties count on: 2^-92 and 2^-94."""
    rng = np.random.default_rng(0)
    numbers = [*10 ** rng.uniform(-277, 277, 400), *rng.uniform(0.5, 2.0, 200), 1.0, 2.0, 0.75]
    exponents = [*rng.uniform(-640, 640, 400), *rng.uniform(-1, 1, 200), 0.0, 0.5 * math.log(2)]
    with ctx.workprec(400):
        for x in map(float, numbers):
            high, low = parts.accurate_log(x)
            assert abs(arb(high) + arb(low) - arb(x).log()) < arb(2) ** -92, x
        for x in map(float, exponents):
            y = float(rng.uniform(-0.5, 0.5)) * math.ulp(x)
            high, low = parts.accurate_exp(x, y)
            exact = (arb(x) + arb(y)).exp()
            assert abs((arb(high) + arb(low)) / exact - 1) < arb(2) ** -94, (x, y)


@pytest.mark.parametrize("exponent", [641.0, -641.0, 1e308, -1e308, math.inf, math.nan])
def test_powers_beyond_their_range_are_no_numbers(exponent):
    # Near ties then leave the question to the next layer.
    assert all(map(math.isnan, parts.accurate_exp(exponent, 0.0)))


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-279, 1e279, math.inf, -1.0, math.nan])
def test_logarithms_beyond_their_range_are_no_numbers(x):
    assert all(map(math.isnan, parts.accurate_log(x)))
