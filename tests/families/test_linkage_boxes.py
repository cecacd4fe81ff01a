"""Bounds on boxes hold at every setting of the box, also with knowledge that is handed on."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

import certune as ct
from certune.box import Box
from certune.deadline import now, until
from certune.families.linkage.boxes import Reuse
from certune.testing import StepFamily
from certune.testing.boxes import random_setting

TWO = ("euclidean", "cityblock")
THREE = (*TWO, "chebyshev")

FAMILIES = [
    (ct.Linkage("power-mean", alpha=(-4, 6), weights="tune", n_metrics=2), TWO),
    (ct.Linkage("min-max", alpha=(-4, 6), weights="tune", n_metrics=2), TWO),
    (ct.Linkage("power-mean", alpha=(-1, 3), weights="tune", n_metrics=3), THREE),
    (ct.Linkage("power-mean", alpha=0.0, weights="tune", n_metrics=3), THREE),
    (ct.Linkage("product", alpha=[(-3, 3), (-3, 3)]), TWO),
    (ct.Linkage("product", alpha=[(-2, 3), 1.0, (-1, 2)]), THREE),
    (ct.Linkage("energy", alpha=(0.1, 6), weights="tune", n_metrics=2), TWO),
    (ct.Linkage("energy", alpha=(0.5, 3), weights="tune", n_metrics=3, objective="cut"), THREE),
    (ct.Linkage("energy", alpha=(0.1, 6), weights="tune", n_metrics=2, objective="cut"), TWO),
    (ct.Linkage("power-mean", alpha=(-4, 6), weights="tune", n_metrics=2, objective="cut"), TWO),
    (ct.Linkage("min-max", alpha=(-4, 6), weights="tune", n_metrics=2, objective="cut"), TWO),
    (ct.Linkage("product", alpha=[(-3, 3), (-3, 3)], objective="cut"), TWO),
]


def instances_of(metrics):
    """Blobs, real data with ties in single metrics, a grid full of ties, and duplicates."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 5, (12, 2)).astype(float)
    points[3] = points[7]
    return [
        *ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=5, metrics=metrics),
        *ct.datasets.digits_clustering(1, n_classes=3, n_per_class=6, metrics=metrics),
        *ct.datasets.grid_clustering(1, side=4, n_points=12, n_clusters=3, metrics=metrics),
        ct.ClusteringInstance(points, metrics=metrics, target=np.arange(12) % 3),
    ]


def descend(family, instance, rng, depth):
    """Halve a random stratum again and again, with and without what is handed on."""
    strata = family.strata()
    box = strata[rng.integers(len(strata))]
    bound = family.bound_on_box(instance, box)
    for _ in range(depth):
        if not box.edges:
            break
        box = box.split(box.edges[int(np.argmax(bound.importance))])[rng.integers(2)]
        bound = family.bound_on_box(instance, box, bound.reuse)
    return box, bound


def name_of(item):
    if isinstance(item, tuple):
        return str(len(item))
    return f"{item.kind}-{item.objective.name}"


@pytest.mark.parametrize(("family", "metrics"), FAMILIES, ids=name_of)
def test_bounds_hold_at_random_settings(family, metrics):
    rng = np.random.default_rng(1)
    n_followed = n_settled = 0
    for instance in instances_of(metrics):
        for _ in range(25):
            box, bound = descend(family, instance, rng, int(rng.integers(2, 16)))
            afresh = family.bound_on_box(instance, box)
            n_followed += bound.n_outcomes is not None
            n_settled += bound.settled
            if box.is_empty:
                continue
            for _ in range(2):
                value = family.run_exact(instance, random_setting(box, rng) or box.centre)
                assert bound.lower <= value <= bound.upper
                assert afresh.lower <= value <= afresh.upper
    assert n_followed > 20 and n_settled > 10


def test_a_box_around_the_origin_of_product_linkage_has_the_limits_in_all_directions():
    family, rng = ct.Linkage("product", alpha=[(-1, 1), (-1, 1)]), np.random.default_rng(0)
    instance = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=3, metrics=TWO)[0]
    side = ((-0.01,), (0.01,))
    bound = family.bound_on_box(instance, Box(family.space, (side, side)))
    assert bound.n_outcomes is not None
    for scale in (0.01, 1e-4, 1e-8):
        for _ in range(20):
            params = dict(zip(("alpha_0", "alpha_1"), rng.uniform(-scale, scale, 2), strict=True))
            assert bound.lower <= family.run_exact(instance, params) <= bound.upper
    origin = family.run_exact(instance, {"alpha_0": 0.0, "alpha_1": 0.0})
    assert bound.lower <= origin <= bound.upper


def test_ties_on_a_face_do_not_keep_the_inside_open():
    """Cityblock distances of integers tie at weight 1; beside it the other metric decides."""
    family = ct.Linkage(alpha=(0.5, 4), weights="tune", n_metrics=2)
    instance = ct.datasets.digits_clustering(1, n_classes=3, n_per_class=7, metrics=TWO)[0]
    distances = instance.distances[1][np.triu_indices(21, 1)]
    assert len(np.unique(distances)) < len(distances)
    slab = Box(family.space, (((1.9,), (1.90001,)), ((1e-6, 1 - 1e-6), (0.0, 1.0))))
    assert family.bound_on_box(instance, slab).n_outcomes is not None


def cut_of_scipy(distances, method, k):
    merges = scipy_linkage(squareform(distances, checks=False), method)
    return fcluster(merges, k, "maxclust")


@pytest.mark.parametrize(
    ("kind", "low", "method"), [("energy", 1.9, "ward"), ("power-mean", 0.95, "average")]
)
def test_small_boxes_around_usual_linkages_have_the_cuts_of_scipy(kind, low, method):
    """Ward's method on weighted sums of metrics is at alpha = 2, average linkage at 1."""
    family = ct.Linkage(
        kind, alpha=(low / 2, 3.0), weights="tune", n_metrics=2, objective="cut",
        utility="adjusted-rand",
    )  # fmt: skip
    usual = {"ward": 2.0, "average": 1.0}[method]
    rng = np.random.default_rng(3)
    n_settled = 0
    for instance in ct.datasets.digits_clustering(3, n_classes=4, n_per_class=10, metrics=TWO):
        for share in rng.uniform(0.1, 0.9, 8):
            ends = ((1 - share, share), (1 - share - 1e-3, share + 1e-3))
            box = Box(family.space, (((usual - 1e-3,), (usual + 1e-3,)), ends))
            bound = family.bound_on_box(instance, box)
            weight = share + 5e-4
            distances = (1 - weight) * instance.distances[0] + weight * instance.distances[1]
            labels = cut_of_scipy(distances, method, instance.k)
            value = family.utility.score(instance.target, labels)
            assert bound.lower <= value <= bound.upper
            n_settled += bound.settled
    assert n_settled > 10


@pytest.mark.parametrize(("k", "target"), [(5, [0, 0, 1, 2, 3, 4]), (3, [0, 0, 0, 1, 1, 2])])
@pytest.mark.parametrize("kind", ["energy", "power-mean", "min-max"])
def test_merges_at_equal_heights_come_in_the_order_of_the_tie_rule(kind, k, target):
    """Mirror images have equal values for every exponent and weight; a cut takes one of them."""
    half = np.array([[0.0, 0.0], [1.0, 0.25], [1.5, 2.0]])
    points = np.concatenate([half, half * [-1, 1] - [10.0, 0.0]])
    instance = ct.ClusteringInstance(points, metrics=TWO, target=target, k=k)
    family = ct.Linkage(kind, alpha=(0.5, 3), weights="tune", n_metrics=2, objective="cut")
    box = Box(family.space, (((1.0,), (1.1,)), ((0.5, 0.5), (0.4, 0.6))))
    bound = family.bound_on_box(instance, box)
    assert bound.settled
    assert bound.lower == family.run_exact(instance, box.centre) == 1


@pytest.mark.parametrize("kind", ["energy", "power-mean", "min-max"])
@pytest.mark.parametrize("objective", ["k-median", "cut"])
def test_decision_trees_hold_on_both_sides_of_breakpoints(kind, objective):
    """Settings as near to a change as floats can be, on boxes whose remainders are large."""
    family = ct.Linkage(
        kind, alpha=(0.2, 6), weights="tune", n_metrics=2, objective=objective,
        utility="adjusted-rand",
    )  # fmt: skip
    rng = np.random.default_rng(7)
    ends = {"alpha": 0.3, "weights": (0.9, 0.1)}, {"alpha": 5.0, "weights": (0.2, 0.8)}
    line = ct.Segment(*ends)
    n_sides = n_open = 0
    for _ in range(6):
        points = rng.uniform(size=(24, 2))
        instance = ct.ClusteringInstance(points, metrics=TWO, target=rng.integers(0, 6, 24), k=6)
        for t in family.dual(instance, line).breakpoints.ravel().tolist():
            params = line.at(t)
            bound, size = None, 0.1
            while bound is None or bound.reuse.anchor is None:
                size /= 2
                bound = family.bound_on_box(instance, around(family.space, params, size))
            point = around(family.space, params, 0.0)
            seen = bound.reuse.anchor.look(bound.reuse.problem._place(point), bound.reuse.root)
            assert seen.least <= family.run_exact(instance, params) <= seen.most
            n_sides += 1
            n_open += seen.least < seen.most
    assert n_sides >= 10 and n_open > 5


def around(space, params, size):
    """Return a box around a setting, which is not its centre."""
    alpha, (first, second) = params["alpha"], params["weights"]
    weights = (first + size, second - size), (first - 2 * size, second + 2 * size)
    return Box(space, (((alpha - 4 * size,), (alpha + 7 * size,)), weights))


def test_merges_are_handed_on_and_grow():
    family = ct.Linkage(alpha=(0.5, 8), weights="tune", n_metrics=2)
    instance = ct.datasets.digits_clustering(1, n_classes=3, n_per_class=8, metrics=TWO)[0]
    box = Box.strata(family.space)[0]
    bound = family.bound_on_box(instance, box)
    counts = [len(bound.reuse.merges)]
    for _ in range(14):
        box = box.split(box.edges[int(np.argmax(bound.importance))])[0]
        bound = family.bound_on_box(instance, box, bound.reuse)
        counts.append(len(bound.reuse.merges))
    assert counts == sorted(counts) and counts[-1] > counts[0]


def test_a_family_without_bounds_says_what_to_do():
    assert not StepFamily().bounds_boxes
    with pytest.raises(ct.ParameterError, match="line-search"):
        StepFamily().bound_on_box(None, Box.strata(StepFamily().space)[0])


@pytest.mark.parametrize("kind", ["energy", "power-mean", "min-max"])
def test_a_cut_is_found_where_the_whole_tree_is_known(kind):
    instance = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=4, metrics=TWO)[0]
    family = ct.Linkage(kind, (1.0, 3.0), "tune", 2, objective="cut")
    box = Box(family.space, (((1.5,), (1.51,)), ((0.5, 0.5), (0.51, 0.49))))
    found = family.bound_on_box(instance, box)
    known = Reuse(found.reuse.problem, found.reuse.merges)
    assert len(known.merges) == instance.n_points - 1
    again = family.bound_on_box(instance, box, known)
    assert (again.lower, again.upper, again.n_outcomes) == (found.lower, found.upper, 1)


def test_assumptions_that_contradict_each_other_come_to_an_end():
    """On this box branches without a tree are more than can be followed: 49 s at 128 leaves."""
    [instance] = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=5)
    family = ct.Linkage("power-mean", alpha=(-5, 5), objective="cut")
    [box] = family.strata()
    with until(now() + 20.0):
        bound = family.bound_on_box(instance, box)
        while box.parts[0][1] != (-3.75,):
            box, _ = box.split(box.edges[0])
            bound = family.bound_on_box(instance, box, bound.reuse)
    assert bound.lower <= family.run_exact(instance, {"alpha": -4.0}) <= bound.upper
