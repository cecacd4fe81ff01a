"""Changes that coincide at a place between two floats, and the trees that a sweep follows."""

from itertools import pairwise

import numpy as np
import pytest

import certune as ct
from certune.families.linkage.assembly import _Pieces, _unsettled_points
from certune.families.linkage.senses import courses_along
from certune.families.linkage.sweeping import Manner, _Patience, sweep_course


def exponents(*values):
    return {f"alpha_{i}": value for i, value in enumerate(values)}


COINCIDENCES = [
    (
        [[2, -11, -8], [3, 0, -4], [-12, -2, 3], [-6, 5, 2], [-3, -3, 2]]
        + [[-3, -3, 2], [3, 0, 5], [-2, 2, -2], [3, -1, -9], [2, 1, 1]],
        [0, 1, 1, 1, 1, 1, 2, 2, 0, 1],
        3,
        ("sqeuclidean", "chebyshev", "euclidean"),
        ct.Segment(exponents(3.0, -1.0, 2.0), exponents(-0.5, -2.0, 0.0)),
    ),
    (
        [[2, 2], [1, 0], [3, 2], [2, 2], [0, 3], [2, 0], [1, 0], [3, 0], [0, 2], [1, 3]],
        [0, 1, 0, 2, 0, 0, 0, 2, 2, 2],
        4,
        ("euclidean", "sqeuclidean", "cityblock"),
        ct.Segment(exponents(1 / 3, 2.0, 1 / 3), exponents(1.0, 2.0, -3.0)),
    ),
]


@pytest.mark.parametrize("case", COINCIDENCES)
def test_orders_that_change_together_between_two_floats_leave_nothing_open(case):
    points, target, k, metrics, segment = case
    family = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 3)
    instance = ct.ClusteringInstance(points=points, target=target, k=k, metrics=metrics)
    dual = family.dual(instance, along=segment)
    assert len(dual.undecided) == 0
    places = dual.breakpoints
    assert len(places) >= 1
    assert (places[:, 1] - places[:, 0]).max() < 1e-9
    rng = np.random.default_rng(0)
    near = places + rng.choice([-1, 1], places.shape) * 10.0 ** rng.uniform(-12, -2, places.shape)
    for t in [*rng.uniform(0, 1, 40), *near.ravel().clip(0, 1)]:
        inside = ((places[:, 0] < t) & (t < places[:, 1])).any()
        assert inside or dual(t) == float(family.run_exact(instance, segment.at(t))), t


def test_the_exact_layer_knows_orders_on_narrow_intervals(monkeypatch):
    """Binary data: many comparisons tie where the exponent of cityblock passes 0, at t = 1/3."""
    family = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 2)
    segment = ct.Segment(exponents(1 / 3, -1.0), exponents(-0.5, 2.0))
    asked = unasked = 0
    for seed in range(10, 20):
        points = np.random.default_rng(seed).integers(0, 2, (18, 6)).astype(float)
        instance = ct.ClusteringInstance(
            points=points, target=np.arange(18) % 3, k=3, metrics=("euclidean", "cityblock")
        )
        dual = family.dual(instance, along=segment)
        with monkeypatch.context() as patch:
            patch.setattr(_Patience, "MOST_NARROW_ZONES", 0)
            other = family.dual(instance, along=segment)
        asked += len(dual.undecided)
        unasked += len(other.undecided)
        for t in np.random.default_rng(0).uniform(0, 1, 10):
            value = float(family.run_exact(instance, segment.at(t)))
            assert dual(t) == other(t) == value
    assert asked + 3 <= unasked


def test_where_all_products_tie_both_orders_are_tried_on_narrow_intervals():
    """Points on a line: products are powers of one distance, the exponent is 0 at t = 2/7."""
    places = [0, 0, 0, 2, 4, 5, 6, 13, 14, 16, 16, 17, 17, 19, 19, 20, 20, 23, 23, 29]
    instance = ct.ClusteringInstance(
        points=np.array(places, float)[:, None],
        target=[0, 1, 1, 0, 0, 1, 0, 0, 2, 2, 1, 0, 0, 2, 0, 1, 0, 0, 2, 0],
        k=3,
        metrics=("chebyshev", "sqeuclidean", "euclidean"),
    )
    family = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 3)
    dual = family.dual(
        instance, along=ct.Segment(exponents(2.0, 0.3, -3.0), exponents(2.0, -0.5, 0.0))
    )
    ((low, high),) = dual.undecided
    assert low < 2 / 7 < high < low + 1e-10


def tree_at(family, instance, params):
    """The clusters of the tree, which do not depend on the order of merges."""
    n = instance.n_points
    members = [frozenset([i]) for i in range(n)]
    for a, b in family.solve(instance, params).children:
        members.append(members[a] | members[b])
    return frozenset(members)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_followed_trees_are_those_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(1, 2, (2, 9, 9)), 1)
    distances = upper + upper.transpose(0, 2, 1)
    instance = ct.ClusteringInstance(distances=distances, target=[0] * 4 + [1] * 5, k=2)
    family = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 2)
    segment = ct.Segment(exponents(1.0, 0.0), exponents(0.0, 1.0))
    line = family._parameters.line(2, segment.origin, segment.direction)
    (course,), special = courses_along(instance, line, 0.0, 1.0)
    (leaves,) = sweep_course(course, family._pruning(instance), special, manner=Manner("follow"))
    trees = [tree_at(family, instance, segment.at(t)) for t in np.linspace(0, 1, 2001)]
    changes = sum(before != after for before, after in pairwise(trees))
    assert leaves.n_trees == 1 + changes > 5


@pytest.mark.parametrize(
    ("stop", "start", "points"),
    [
        (1.0 - 1e-13, 1.0 + 1e-13, {1.0}),
        (1.0 - 1e-13, 1.0, {1.0}),  # the sweep had an edge there
        (0.75, 0.75 + 1e-12, {0.75}),
        (1 / 3, np.nextafter(1 / 3, 1), set()),
        (0.5, 0.75, set()),
    ],
)
def test_simple_numbers_in_narrow_gaps_or_at_their_ends_may_be_ties(stop, start, points):
    pieces = _Pieces([0.0, float(start)], [float(stop), 2.0], [1, 2], [(0, 3)])
    assert _unsettled_points(pieces, {}) == points


def test_a_tie_may_have_another_tree_than_both_sides_of_it():
    """At exponents (1, -2) products of whole distances are rational, and several of them tie."""
    points = [[0, 2], [0, 3], [2, 0], [2, 0], [1, 3], [0, 0], [2, 2], [0, 0]]
    instance = ct.ClusteringInstance(
        points, target=[0, 1, 0, 0, 1, 2, 2, 0], k=3, metrics=("sqeuclidean", "chebyshev")
    )
    family = ct.Linkage("product", alpha=[(-9.0, 9.0)] * 2, objective="k-means")
    segment = ct.Segment(exponents(0.0, -1.5), exponents(2.0, -2.5))
    dual = family.dual(instance, along=segment)
    places = (0.5 - 1e-9, 0.5, 0.5 + 1e-9)
    values = [float(family.run_exact(instance, segment.at(t))) for t in places]
    assert [dual(t) for t in places] == values
    assert values[0] == values[2] != values[1]
