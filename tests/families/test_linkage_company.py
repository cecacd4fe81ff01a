"""What tuned linkages are compared with: k-means and plain cuts."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

import certune as ct
from certune.families.linkage.company import by_points, plain_cuts


def drawn(seed, n, n_features=2, k=3):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, n_features)) + 2.0 * (np.arange(n) % k)[:, None]
    return ct.ClusteringInstance(points=points, target=np.arange(n) % k)


@pytest.mark.parametrize(("seed", "n", "k"), [(0, 12, 3), (1, 40, 2), (2, 60, 5), (3, 7, 6)])
def test_k_means_is_settled(seed, n, k):
    instance = drawn(seed, n, k=k)
    labels = by_points(instance)["k-means"]
    assert sorted(set(labels.tolist())) == list(range(k))
    means = [instance.points[labels == cluster].mean(axis=0) for cluster in range(k)]
    for point, own in zip(instance.points, labels, strict=True):
        distances = [((point - mean) ** 2).sum() for mean in means]
        assert distances[own] <= min(distances) * (1 + 1e-9)


def test_k_means_finds_groups_that_lie_far_apart():
    points = np.concatenate([np.eye(3) * 100.0 + shift for shift in (0.0, 0.5, -0.5, 1.0)])
    instance = ct.ClusteringInstance(points=points, target=np.arange(12) % 3)
    assert by_points(instance)["k-means"].tolist() in (
        [order[i % 3] for i in range(12)]
        for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    )


@pytest.mark.parametrize("seed", range(3))
def test_plain_cuts_are_those_of_scipy(seed):
    instance = drawn(seed, 20)
    above = np.triu_indices(20, 1)
    for name, labels in plain_cuts(instance.distances[0], 3).items():
        tree = linkage(instance.distances[0][above], name.removesuffix(" (cut)"))
        expected = fcluster(tree, 3, "maxclust")
        assert len(set(zip(labels.tolist(), expected.tolist(), strict=True))) == 3
