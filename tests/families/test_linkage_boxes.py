"""Bounds on boxes hold at every setting of the box, also with knowledge that is handed on."""

import numpy as np
import pytest

import certune as ct
from certune.box import Box
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


@pytest.mark.parametrize(("family", "metrics"), FAMILIES, ids=lambda item: str(item)[:40])
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
