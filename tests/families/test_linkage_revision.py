"""Second looks: near ties are told apart without a new sweep, and new sweeps stay local."""

import math

import numpy as np
import pytest

import certune as ct
from certune.families.linkage import assembly, revision
from certune.families.linkage.course import make_course, restricted
from certune.families.linkage.lines import Line
from certune.families.linkage.sweeping import Leaves


def rounded_roots(seed, n=45, metrics=("euclidean",)):
    """Points with small whole coordinates: squares of distances tie, rounded roots nearly."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 7, (n, 3)).astype(float)
    return ct.ClusteringInstance(points, metrics=metrics, target=rng.integers(0, 3, n))


@pytest.fixture
def widths(monkeypatch):
    """Widths of all courses that are swept, in alpha."""
    seen = []
    original = revision.sweep_course

    def watched(course, *arguments, **options):
        seen.append((course.high - course.low) * course.line.alpha[0][1])
        return original(course, *arguments, **options)

    monkeypatch.setattr(revision, "sweep_course", watched)
    return seen


def near(t, steps=(0, 1, 2, 16, 300, 10_000, 10**6)):
    """Floats at small distances on both sides of t, and the next ones."""
    return sorted({t + sign * step * math.ulp(t) for step in steps for sign in (-1, 1)})


def values_agree(family, instance, dual, places):
    decided = [t for t in places if not np.isnan(dual(t))]
    for t in decided:
        assert dual.value_at(t) == family.run_exact(instance, t), t
    return len(decided)


def moving_course(kind, low, high):
    """A course whose pair functions move with t, one metric against another."""
    points = np.random.default_rng(1).random((12, 3))
    instance = ct.ClusteringInstance(
        points, metrics=("euclidean", "cityblock"), target=np.arange(12) % 3
    )
    if kind == "product":
        line = Line(kind, ((1.0, 1.0), (2.0, -0.25)), ())
    else:
        line = Line(kind, ((2.0, 0.5),), ((0.75, -0.25), (0.25, 0.25)))
    return make_course(instance, line, low, high)


@pytest.mark.parametrize("kind", ["min-max", "power-mean", "product"])
def test_a_course_on_a_window_is_the_course_made_there(kind):
    part = restricted(moving_course(kind, 0.0, 2.0), 0.5, 0.75)
    expected = moving_course(kind, 0.5, 0.75)
    assert (part.low, part.high, part.span) == (0.5, 0.75, expected.span)
    for own, made in zip(part.ends, expected.ends, strict=True):
        np.testing.assert_array_equal(own, made)


def test_windows_are_swept_once_for_all_parts_of_a_course():
    """The panels of a course may be handled by two sweeps; a window replaces both."""
    course = moving_course("product", 0.0, 2.0)
    other = moving_course("product", 2.0, 3.0)
    no_leaves = Leaves(*(np.empty((0, 3)) for _ in range(5)), frozenset())
    parts = [
        revision.Part(course, no_leaves, ((0.0, 2.0),)),
        revision.Part(course, no_leaves, ((0.0, 2.0),)),
        revision.Part(other, no_leaves, ((2.0, 3.0),)),
    ]
    asked = []

    def sweep(inside):
        asked.append((inside.low, inside.high))
        return [revision.Part(inside, no_leaves, ((inside.low, inside.high),))] * 2

    once = revision.swept_again(parts, [(0.5, 1.0)], sweep)
    assert asked == [(0.5, 1.0)]
    assert [part.ranges for part in once] == [
        *[((0.0, 0.5), (1.0, 2.0))] * 2,
        *[((0.5, 1.0),)] * 2,
        ((2.0, 3.0),),
    ]
    asked.clear()
    twice = revision.swept_again(once, [(0.75, 1.25), (1.75, 4.0)], sweep)
    assert asked == [(1.0, 1.25), (0.75, 1.0), (1.75, 2.0), (2.0, 3.0)]
    covered = sorted({window for part in twice for window in part.ranges})
    assert covered[0][0] == 0.0 and covered[-1][1] == 3.0
    assert [stop for _, stop in covered[:-1]] == [start for start, _ in covered[1:]]


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_near_ties_at_two_are_settled_around_the_point(kind, widths):
    family = ct.Linkage(kind, alpha=(1.5, 2.5))
    touched = 0
    for seed in range(6):
        instance = rounded_roots(seed)
        widths.clear()
        dual = family.dual(instance)
        dual._check()
        touched += any(abs(place - 2.0) < 1e-9 for place in dual.breakpoints.ravel())
        assert widths[0] == 1.0
        assert all(width <= 4.0 * 2 * revision.WINDOW for width in widths[1:])
        assert dual.value_at(2.0) == family.run_exact(instance, 2.0)
        assert values_agree(family, instance, dual, near(2.0)) >= 3
    assert touched >= 2


def test_zones_of_changes_beside_the_point_end_there(widths):
    """Changes of min-max linkage a rounding away from alpha = 2 need no second sweep.

    Of sums of metrics: one metric is looked at closely.
    """
    family = ct.Linkage("min-max", alpha=(1.5, 2.5))
    instances = [rounded_roots(seed, 16, ("euclidean",) * 2) for seed in range(40)]
    at_two = [instance for instance in instances if 2.0 in family.dual(instance).breakpoints]
    sweeps = []
    for instance in at_two:
        widths.clear()
        dual = family.dual(instance)
        sweeps.append(len(widths))
        gaps = dual.breakpoints[(dual.breakpoints == 2.0).any(axis=1)]
        assert np.all(gaps[:, 1] - gaps[:, 0] < 1e-10)
    assert sweeps.count(1) >= 3


@pytest.mark.parametrize(("seed", "n"), [(3, 16), (4, 45), (16, 80), (19, 80)])
def test_overlapping_zones_of_several_changes_are_told_apart(seed, n):
    """Changes a few floats from each other are found to the float: all floats around 2 agree."""
    instance = rounded_roots(seed, n)
    family = ct.Linkage("min-max", alpha=(1.5, 2.5))
    dual = family.dual(instance)
    assert len(dual.undecided) == 0
    places = [2.0]
    for _ in range(16):
        places = [math.nextafter(places[0], 0.0), *places, math.nextafter(places[-1], 3.0)]
    assert values_agree(family, instance, dual, places) == len(places)


def test_exact_ties_are_swept_again_in_a_window(widths):
    """Whole distances on a line: at alpha = 1 equal sums of distances tie exactly."""
    instance = ct.ClusteringInstance(
        np.array([0.0, 1.0, 3.0, 4.0, 7.0, 9.0, 10.0, 14.0])[:, None],
        target=np.array([0, 0, 0, 1, 1, 1, 2, 2]),
    )
    family = ct.Linkage("power-mean", alpha=(0.5, 1.75))
    dual = family.dual(instance)
    assert len(dual.undecided) == 0
    assert values_agree(family, instance, dual, near(1.0)) == len(near(1.0))


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_gaps_that_stay_wide_are_swept_again_and_stay_correct(kind, widths, monkeypatch):
    instance = rounded_roots(3)
    family = ct.Linkage(kind, alpha=(1.6, 2.4))
    polished = family.dual(instance)
    monkeypatch.setattr(assembly, "polish", lambda *arguments: None)
    widths.clear()
    rough = family.dual(instance)
    if kind == "power-mean":
        assert len(widths) > 1
    assert sum(widths[1:]) < widths[0]
    places = np.random.default_rng(0).uniform(1.6, 2.4, 40)
    assert values_agree(family, instance, rough, places) >= 30
    assert values_agree(family, instance, polished, places) == 40
