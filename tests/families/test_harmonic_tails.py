"""Small bandwidths: strongest paths, and the tails of a course that follow from them."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.families.graph_ssl import interpolation, sweeping
from certune.families.graph_ssl.harmonic import soft_labels
from certune.families.graph_ssl.strongest_paths import StrongestPaths

KINDS = ["points", "grid", "neighbours", "no metric"]


def random_instance(rng, kind, n=24):
    labeled = rng.permutation(n)[:5]
    labels, truth = rng.integers(0, 3, 5), rng.integers(0, 3, n)
    if kind == "no metric":
        lengths = rng.exponential(size=n * (n - 1) // 2)
        return ct.LabelingInstance(distances=lengths, labeled=labeled, labels=labels, truth=truth)
    points = rng.integers(0, 5, (n, 2)) if kind == "grid" else rng.normal(size=(n, 2))
    return ct.LabelingInstance(points=points, labeled=labeled, labels=labels, truth=truth)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_doubts_bound_other_classes_at_every_larger_rate(kind, seed):
    instance = random_instance(np.random.default_rng(seed), kind)
    family = ct.HarmonicLabeling(n_neighbors=4 if kind == "neighbours" else None)
    graph = family.graph(instance)
    paths = StrongestPaths(graph, np.ones(1), 1500.0)
    nodes = np.arange(graph.n_nodes)
    doubts = [np.ones(graph.n_nodes)]
    for rate in (0.1, 1.0, 3.0, 10.0, 40.0, 200.0, 1500.0):
        doubts.append(paths.doubts(rate))
        soft = soft_labels(graph, [Fraction(rate)])[0]
        assert (soft.sum(axis=1) - soft[nodes, paths.classes] <= doubts[-1] + 1e-12).all()
        assert (doubts[-1] <= doubts[-2] + 1e-9).all()
    if kind in ("points", "no metric"):  # without ties
        assert (doubts[-1] < 0.5).mean() > 0.8


def test_tails_need_no_panels(monkeypatch):
    """However far a range reaches down, the linear systems are those of the part that moves."""
    instance = random_instance(np.random.default_rng(0), "points")
    solves = []
    plain = interpolation.Interpolator.values

    def counted(self, low, high, degree, known):
        solves[-1] += degree + 1
        return plain(self, low, high, degree, known)

    monkeypatch.setattr(interpolation.Interpolator, "values", counted)
    duals = []
    for low in (1e-3, 1e-4):
        solves.append(0)
        duals.append(ct.HarmonicLabeling(sigma=(low, 3)).dual(instance))
        assert duals[-1](low) == ct.HarmonicLabeling().run(instance, low)
    assert duals[0].values.tolist() == duals[1].values.tolist()
    assert solves[1] < 1.5 * solves[0]


def test_coarse_panels_give_the_same_function(monkeypatch):
    instance = random_instance(np.random.default_rng(1), "points", n=40)
    family = ct.HarmonicLabeling(sigma=(0.05, 5))
    plain = family.dual(instance)
    monkeypatch.setattr(sweeping, "LARGE", 1)
    coarse = family.dual(instance)
    assert coarse.values.tolist() == plain.values.tolist()
    assert len(coarse.undecided) == len(plain.undecided) == 0
    for (low, high), (left, right) in zip(coarse.breakpoints, plain.breakpoints, strict=True):
        assert low <= right and left <= high
