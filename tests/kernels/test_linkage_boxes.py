"""Decision trees of boxes: parts agree with the plain algorithm, doors refuse what does not fit."""

from itertools import product

import numpy as np
import pytest

import certune as ct
from certune.box import Box
from certune.kernels.linkage_boxes import ENERGY, BoxTrees, Clusters, Power, Ties, look

TWO = ("euclidean", "cityblock")
THREE = (*TWO, "chebyshev")
CENTRES = {2: (0.7, 0.3), 3: (0.5, 0.3, 0.2)}


def small_box(family, n_metrics, size):
    """Return a box of alpha around 1.5 and of weights around a point, of a given size."""
    centre = np.array(CENTRES[n_metrics])
    corners = [tuple(centre + size * (np.eye(n_metrics)[k] - centre)) for k in range(n_metrics)]
    alpha = ((1.5 - size,), (1.5 + size,))
    return Box(family.space, (alpha, tuple(corners)))


def points_of(box, rng, count):
    alpha = box.vertices("alpha")
    corners = np.array(box.vertices("weights"))
    for _ in range(count):
        weights = rng.dirichlet(np.ones(len(corners))) @ corners
        yield rng.uniform(alpha[0][0], alpha[1][0]), tuple(weights)


@pytest.mark.parametrize(
    ("kind", "objective"),
    [
        ("power-mean", "k-median"),
        ("min-max", "k-median"),
        ("energy", "k-median"),
        ("energy", "cut"),
        ("power-mean", "cut"),
    ],
)
@pytest.mark.parametrize("metrics", [TWO, THREE], ids=len)
def test_parts_of_a_followed_box_have_the_utilities_of_plain_runs(kind, objective, metrics):
    rng = np.random.default_rng(5)
    family = ct.Linkage(
        kind, alpha=(0.5, 4), weights="tune", n_metrics=len(metrics), objective=objective
    )
    instances = ct.datasets.digits_clustering(5, n_classes=5, n_per_class=8, metrics=metrics)
    n_open = n_decided = 0
    for instance, size in product(instances, (0.06, 0.1, 0.15, 0.2, 0.3)):
        box = small_box(family, len(metrics), size)
        bound = family.bound_on_box(instance, box)
        if bound.reuse.anchor is None or bound.settled:
            continue
        n_open += 1
        for alpha, weights in points_of(box, rng, 20):
            point = Box(family.space, (((alpha,), (alpha,)), (weights,) * len(metrics)))
            view = bound.reuse.anchor.look(bound.reuse.problem._place(point), bound.reuse.root)
            value = family.run_exact(instance, {"alpha": alpha, "weights": weights})
            assert view.least <= value <= view.most
            n_decided += view.least == view.most
    assert n_open > 0 and n_decided > 15 * n_open


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return BoxTrees(np.stack([distances, 2.0 * distances + (distances > 0)]), False)


POWER = Power(1.0, 0.05, False, 1.0)
VERTICES = np.array([[0.6, 0.4], [0.5, 0.5]])
CODES = np.arange(36, dtype=np.uint64).reshape(6, 6)
NO_MERGES = np.zeros((0, 2), dtype=np.int64)


def test_a_tree_is_followed_and_looked_at(problem):
    tree = problem.follow(VERTICES, POWER, Ties.everywhere(CODES), NO_MERGES)
    assert tree.complete and tree.leaves.shape[1:] == (2, 11)
    tree.set_values(np.arange(len(tree.leaves)))
    whole = np.array([[-1.0, -1.0], [1.0, 1.0]])
    seen = look(tree, tree.root, whole, np.zeros((0, 0)))
    assert (seen.least, seen.most) == (0, seen.n_leaves - 1)


@pytest.mark.parametrize(
    ("vertices", "codes", "merges"),
    [
        (np.array([[0.6, 0.3, 0.1]]), CODES, NO_MERGES),
        (np.zeros((0, 2)), CODES, NO_MERGES),
        (VERTICES, CODES[:5, :5].copy(), NO_MERGES),
        (VERTICES, CODES, [[0, 6]]),
        (VERTICES, CODES, [[0, 1], [1, 2]]),
        (VERTICES, CODES, [[-1, 1]]),
    ],
)
def test_what_does_not_fit_is_refused(problem, vertices, codes, merges):
    with pytest.raises(ValueError):
        problem.follow(vertices, POWER, Ties.everywhere(codes), merges)


def test_only_complete_trees_with_values_are_looked_at(problem):
    tree = problem.follow(VERTICES, POWER, Ties.everywhere(CODES), NO_MERGES)
    whole, nothing = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.zeros((0, 0))
    with pytest.raises(ValueError, match="no values"):
        look(tree, tree.root, whole, nothing)
    with pytest.raises(ValueError, match="every leaf"):
        tree.set_values(np.zeros(len(tree.leaves) + 1, dtype=np.int64))
    tree.set_values(np.arange(len(tree.leaves)))
    for root, intervals, vertices in [
        (10**6, whole, nothing),
        (tree.root, whole[:, :1], nothing),
        (tree.root, whole, np.eye(3)),
    ]:
        with pytest.raises(ValueError):
            look(tree, root, intervals, vertices)


@pytest.mark.parametrize(
    ("data", "products", "clusters", "message"),
    [
        (np.ones((1, 3, 4)), False, Clusters(), "square"),
        (np.ones((1, 3, 3)), False, Clusters(kind=3), "kind"),
        (np.ones((1, 3, 3)), True, Clusters(kind=ENERGY), "means"),
        (np.ones((1, 3, 3)), False, Clusters(twins=np.arange(2)), "every point"),
        (np.ones((1, 3, 3)), False, Clusters(n_clusters=4), "fewer clusters"),
    ],
)
def test_problems_that_do_not_fit_are_refused(data, products, clusters, message):
    with pytest.raises(ValueError, match=message):
        BoxTrees(data, products, clusters)
