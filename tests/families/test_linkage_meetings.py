"""Product linkage where an exponent vanishes and whole-numbered distances make values meet."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

import certune as ct
from certune.families.linkage import senses
from certune.families.linkage.assembly import _insert, _Pieces
from certune.families.linkage.course import NO_MEETING, course_at
from certune.families.linkage.senses import courses_along
from certune.kernels import linkage as kernel
from certune.kernels.linkage import Pruning, prune

# Ends of lines, and where exponents vanish on them.
LINES = [
    ((1.0, 0.5), (0.0, 1.0), [Fraction(1)]),
    ((-1.0, 1.0), (1.0, 1.0), [Fraction(1, 2)]),
    ((-2.0, 1.0), (3.0, 2.0), [Fraction(2, 5)]),
    ((-2.0, 3.0), (1.0, 1.0), [Fraction(2, 3)]),
]
BEFORE_HALF, BEHIND_HALF = math.nextafter(0.5, 0), math.nextafter(0.5, 1)
FAMILY = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 2)


def half_whole(n, seed, largest=12):
    """Distances that all differ in one metric, and are small whole numbers in the other."""
    rng = np.random.default_rng(seed)
    pairs = [rng.uniform(1, 3, (n, n)), rng.integers(largest // 2, largest, (n, n))]
    upper = [np.triu(matrix, 1).astype(float) for matrix in pairs]
    distances = [matrix + matrix.T for matrix in upper]
    return ct.ClusteringInstance(distances=distances, target=np.arange(n) % 3, k=3)


def segment_of(start, stop):
    return ct.Segment(*(dict(zip(FAMILY.alpha_names, end, strict=True)) for end in (start, stop)))


def line_of(instance, segment):
    return FAMILY._parameters.line(instance.n_metrics, segment.origin, segment.direction)


@pytest.fixture
def windows(monkeypatch):
    """What following the tree leaves to the sweep."""
    found = []
    original = kernel.follow

    def follow(*arguments):
        result = original(*arguments)
        found.extend(result[1].tolist())
        return result

    monkeypatch.setattr(kernel, "follow", follow)
    return found


@pytest.mark.parametrize(("start", "stop", "places"), LINES)
def test_nothing_is_left_to_the_sweep_beside_a_meeting(start, stop, places, windows, monkeypatch):
    segment = segment_of(start, stop)
    instances = [half_whole(40, seed) for seed in range(3)]
    duals = [FAMILY.dual(instance, along=segment) for instance in instances]

    def near(window):
        return any(abs(end - place) < 1e-4 for end in window for place in places)

    left = sum(map(near, windows))
    windows.clear()
    monkeypatch.setattr(senses, "cut_at_meetings", lambda course: ([course], []))
    uncut = [FAMILY.dual(instance, along=segment) for instance in instances]
    assert left == 0 < sum(map(near, windows))
    for dual, other in zip(duals, uncut, strict=True):
        points = np.random.default_rng(0).uniform(0, 1, 200)
        assert [dual(t) for t in points] == [other(t) for t in points]


@pytest.mark.parametrize(("start", "stop", "places"), LINES)
@pytest.mark.parametrize("seed", range(2))
def test_values_next_to_a_meeting_are_those_of_many_digits(
    start, stop, places, seed, tree_with_many_digits
):
    instance = half_whole(16, seed)
    segment = segment_of(start, stop)
    dual = FAMILY.dual(instance, along=segment)
    line = line_of(instance, segment)
    reference = FAMILY.objective.reference_matrix(instance)
    n = instance.n_points
    for place in places:
        near = [math.nextafter(float(place), end) for end in (-1.0, 2.0)]
        for t in (*near, *(float(place) + step for step in (-1e-14, 1e-14, -1e-9, 1e-9))):
            if not 0.0 < t < 1.0 or t == place:
                continue
            left, right = np.zeros((2, 2 * n - 1), dtype=np.int64)
            highest = list(range(n))
            for i, pair in enumerate(tree_with_many_digits(instance, line.exponents(Fraction(t)))):
                a, b = sorted(pair, key=lambda node: highest[node])
                left[n + i], right[n + i] = a, b
                highest.append(highest[b])
            pruning = Pruning(FAMILY.objective.code, reference, instance.k)
            labels = prune(pruning, left[None], right[None])[0]
            assert dual(t) == float(FAMILY.utility.score(instance.target, labels)), t


def test_a_place_between_two_floats_has_the_value_of_the_metric_that_is_left():
    """At t = 2/5 the exponents are 0 and 7/5: power-mean linkage of cityblock distances."""
    segment = segment_of((-2.0, 1.0), (3.0, 2.0))
    place = Fraction(2, 5)
    for seed in range(4):
        instance = half_whole(20, seed)
        line = line_of(instance, segment)
        found = FAMILY._run_at(course_at(instance, line, place))
        alone = ct.ClusteringInstance(
            distances=instance.distances[1], target=instance.target, k=instance.k
        )
        family = ct.Linkage("power-mean", alpha=(-9.0, 9.0))
        assert found == family.run_exact(alone, 1.4)


@pytest.mark.parametrize(("start", "stop", "places"), LINES)
def test_courses_are_cut_where_values_meet(start, stop, places):
    instance = half_whole(20, 0)
    line = line_of(instance, segment_of(start, stop))
    courses, special = courses_along(instance, line, 0.0, 1.0)
    inside = [place for place in places if 0 < place < 1]
    assert set(inside) <= set(map(Fraction, special))
    for place in places:
        before = [c for c in courses if c.meetings[1].place == place and c.meetings[1].codes.size]
        after = [c for c in courses if c.meetings[0].place == place and c.meetings[0].codes.size]
        assert len(before) == (place > 0)
        assert len(after) == (place < 1)
        for course in before:
            assert course.high <= place <= course.reach[1] <= math.nextafter(course.high, 2.0)
        for course in after:
            assert course.low >= place >= course.reach[0] >= math.nextafter(course.low, -1.0)


def test_courses_of_distances_without_ties_stay_whole():
    rng = np.random.default_rng(0)
    instance = ct.ClusteringInstance(
        rng.normal(size=(20, 3)), target=np.arange(20) % 3, metrics=("euclidean", "cityblock")
    )
    line = line_of(instance, segment_of((-1.0, 2.0), (1.0, 2.0)))
    courses, special = courses_along(instance, line, 0.0, 1.0)
    assert [course.meetings for course in courses] == [(NO_MEETING, NO_MEETING)]
    assert special == []


def test_sums_of_whole_distances_meet_though_distances_differ():
    """At exponents (0, 1) averages of 1 and 3 and of 2 and 2 are equal."""
    instance = half_whole(20, 0)
    line = line_of(instance, segment_of((-1.0, 1.0), (1.0, 1.0)))
    meetings = [c.meetings[1] for c in courses_along(instance, line, 0.0, 1.0)[0]]
    assert meetings[0].exact
    assert np.array_equal(meetings[0].codes, instance.distances[1])
    line = line_of(instance, segment_of((-1.0, 2.0), (1.0, 2.0)))
    meetings = [c.meetings[1] for c in courses_along(instance, line, 0.0, 1.0)[0]]
    assert not meetings[0].exact


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (0.5, 7, [(0.0, BEFORE_HALF, 3), (0.5, 0.5, 7), (BEHIND_HALF, 1.0, 3)]),
        (0.5, 3, [(0.0, 1.0, 3)]),
        (0.0, 7, [(0.0, 0.0, 7), (math.nextafter(0.0, 1), 1.0, 3)]),
        (1.0, 7, [(0.0, math.nextafter(1.0, 0), 3), (1.0, 1.0, 7)]),
        (Fraction(1, 3), 7, [(0.0, 1 / 3, 3), (math.nextafter(1 / 3, 1), 1.0, 3)]),
        (Fraction(1, 3), 3, [(0.0, 1.0, 3)]),
    ],
)
def test_a_point_becomes_a_piece_of_its_own(place, value, expected):
    pieces = _Pieces([0.0, 2.0], [1.0, 3.0], [3, 5], [(3, 5)])
    _insert(pieces, place, value)
    found = list(zip(pieces.starts, pieces.stops, pieces.values, strict=True))
    assert found == [*expected, (2.0, 3.0, 5)]
    assert len(pieces.gaps) == len(found) - 1
    assert pieces.gaps[-1] == (3, 5)


@pytest.mark.parametrize(("place", "gaps"), [(1.5, [(3, 5), (3, 5)]), (Fraction(4, 3), [(3, 7)])])
def test_a_point_in_a_gap(place, gaps):
    pieces = _Pieces([0.0, 2.0], [1.0, 3.0], [3, 5], [(3, 5)])
    _insert(pieces, place, 7)
    assert pieces.gaps == gaps
    assert pieces.values == ([3, 7, 5] if place == 1.5 else [3, 5])


def point_between_two_pairs(reals, wholes):
    """Point 0 between the pairs {1, 2} and {3, 4}, with distances to them in two metrics."""
    distances = np.ones((2, 5, 5))
    distances[0, 1, 3] = distances[0, 3, 1] = 2.0
    distances[1] = 2.0 * max(wholes)
    for i, j in ((1, 2), (3, 4)):
        distances[1, i, j] = distances[1, j, i] = 1.0
    for metric, lengths in zip(distances, (reals, wholes), strict=True):
        metric[0, 1:] = metric[1:, 0] = lengths
        np.fill_diagonal(metric, 0.0)
    return ct.ClusteringInstance(distances=list(distances), target=[0, 0, 0, 1, 1], k=2)


def test_averages_that_meet_at_an_end_may_change_their_order_soon_behind_it():
    """Averages of 4^t and 0.248^t and of 1 and 1 meet at t = 0, and where they are equal again."""
    instance = point_between_two_pairs([4.0, 0.248, 1.0, 1.0], [10.0] * 4)
    dual = FAMILY.dual(instance, along=segment_of((0.0, 1.0), (1.0, 1.0)))
    change = brentq(lambda t: 4.0**t + 0.248**t - 2.0, 1e-3, 0.1, xtol=1e-15)
    assert [dual(t) for t in (1e-15, 0.5 * change, 2.0 * change)] == [1.0, 1.0, 0.8]
    assert np.allclose(dual.breakpoints, change, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("near", "far"), [(10.0, 10.0 + 10.0 * 2.0**-45), (2.0**45, 2.0**45 + 1.0)]
)
def test_averages_that_almost_meet_at_an_end_keep_their_order_there(near, far):
    """1 and far / near 2^-t, which is smaller from a tiny t on; codes say that they do not meet."""
    instance = point_between_two_pairs([1.0] * 2 + [0.5] * 2, [near] * 2 + [far] * 2)
    dual = FAMILY.dual(instance, along=segment_of((0.0, 1.0), (1.0, 1.0)))
    change = math.log2(far / near)
    assert [dual(t) for t in (0.0, 1e-9)] == [1.0, 0.8]
    assert dual(0.5 * change) != 0.8  # or undecided
    assert dual(2.0 * change) != 1.0
