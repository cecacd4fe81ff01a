"""Genie against an implementation from scratch: Kruskal's order of all pairs, sizes in lists."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import certune as ct
from certune.testing import check_family


def instance(seed, n=30, decimals=None, k=4):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * rng.uniform(0.2, 2, (n, 1))
    points = points if decimals is None else points.round(decimals)
    return ct.ClusteringInstance(points=points, target=rng.permutation(np.arange(n) % k))


def from_scratch(item, threshold):
    """Frozen sets of points; Gini index as printed: sum of |a - b| over ((m - 1) sum of sizes)."""
    n = item.n_points
    cluster = {i: frozenset([i]) for i in range(n)}
    pairs = sorted((item.distances[0, i, j], i, j) for i, j in combinations(range(n), 2))
    tree = []
    for _, i, j in pairs:
        if cluster[i] != cluster[j]:
            tree.append((i, j))
            for p in (union := cluster[i] | cluster[j]):
                cluster[p] = union
    cluster = {i: frozenset([i]) for i in range(n)}
    while len(clusters := set(cluster.values())) > item.k:
        sizes = [len(c) for c in clusters]
        unequal = sum(abs(a - b) for a, b in combinations(sizes, 2))
        candidates = tree
        if Fraction(unequal, (len(sizes) - 1) * n) > threshold:
            least = min(sizes)
            candidates = [e for e in tree if least in (len(cluster[e[0]]), len(cluster[e[1]]))]
        i, j = candidates[0]
        tree.remove((i, j))
        for p in (union := cluster[i] | cluster[j]):
            cluster[p] = union
    return set(cluster.values())


def groups(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@pytest.mark.parametrize("decimals", [None, 0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_and_breakpoints(seed, decimals):
    item, family = instance(seed, decimals=decimals), ct.GenieClustering()
    dual = family.dual(item)
    beside = dual.breakpoints.ravel().tolist()
    for g in [0.0, 1.0, 0.3, *beside, *np.random.default_rng(seed).random(8).tolist()]:
        labels = family.solve(item, g)
        assert groups(labels) == from_scratch(item, Fraction(g))
        assert dual.value_at(g) == family.run_exact(item, g)
    assert len(dual.undecided) == 0
    assert (np.nextafter(dual.breakpoints[:, 0], np.inf) == dual.breakpoints[:, 1]).all()


def test_threshold_one_is_single_linkage():
    item = instance(5)
    tree = linkage(squareform(item.distances[0]), "single")
    labels = ct.GenieClustering().solve(item, 1.0)
    assert groups(labels) == groups(fcluster(tree, item.k, "maxclust"))


def test_the_family_keeps_its_promises():
    check_family(ct.GenieClustering(), [instance(0, n=12), instance(1, n=15, decimals=0)])


def test_tuning_is_at_least_as_good_as_any_threshold():
    items = [instance(seed, n=20) for seed in range(4)]
    family = ct.GenieClustering(g=(0.05, 0.9), utility="adjusted-rand")
    result = ct.tune(family, items, progress=False)
    assert result.status is ct.Status.OPTIMAL
    for g in np.linspace(0.05, 0.9, 40):
        assert np.mean([family.run(item, float(g)) for item in items]) <= result.best_value + 1e-12


@pytest.mark.parametrize("g", [(0.5, 0.5), (-0.1, 1), (0, 1.1), 0.3, "x", (0, 1, 2), None])
def test_ranges_that_are_none(g):
    with pytest.raises(ct.ParameterError, match=r"within \[0, 1\]"):
        ct.GenieClustering(g=g)


def test_settings_and_instances_that_do_not_fit():
    family, item = ct.GenieClustering(), instance(0)
    for params in (1.5, -0.1, "x", float("nan"), {"g": 2}, {"alpha": 0.5}):
        with pytest.raises(ct.ParameterError):
            family.run(item, params)
    two = ct.ClusteringInstance(points=item.points, metrics=["euclidean", "cityblock"], k=2)
    with pytest.raises(ct.InputError, match="2 metric"):
        family.solve(two, 0.5)
    with pytest.raises(ct.InputError, match="no target"):
        family.run(ct.ClusteringInstance(points=item.points, k=2), 0.5)


# genieclust 1.3.0: Genie(n_clusters=4).fit_predict(default_rng(seed).normal(size=(60, 2))), for
# the seeds 0 to 5. benchmarks/genie.py compares with the library where it is installed.
LABELS_OF_GENIECLUST = (
    "001231111111031111111202231111300231001103111131031331111021",
    "010200221210210000302101010002031020203102020010022003020022",
    "000100200000302000131211301102000200301020330000223110000010",
    "001210310110111111231301131331212120001311030113111111112120",
    "010001122300333021301000000120100200210001200030100110200133",
    "010020100010233303002330000022230001000000130203100020210021",
)


def test_the_default_is_that_of_genieclust():
    for seed, labels in enumerate(LABELS_OF_GENIECLUST):
        points = np.random.default_rng(seed).normal(size=(60, 2))
        own = ct.GenieClustering().solve(ct.ClusteringInstance(points, k=4), 0.3)
        other = np.array([int(label) for label in labels])
        assert np.array_equal(own[:, None] == own, other[:, None] == other)
