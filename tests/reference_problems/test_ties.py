"""Data with massive ties: the sweep ends, agrees with `run`, and `run` with exact arithmetic."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from certune import ClusteringInstance, Linkage, Segment, datasets

_spec = importlib.util.spec_from_file_location(
    "oracles", Path(__file__).parents[1] / "oracles" / "test_linkage_oracles.py"
)
oracles = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracles)


def line_of_points(n):
    return ClusteringInstance(points=np.arange(float(n))[:, None], target=np.arange(n) // 10)


def duplicated_points():
    rng = np.random.default_rng(0)
    return ClusteringInstance(
        points=rng.integers(0, 4, (40, 2)).astype(float), target=rng.integers(0, 3, 40)
    )


def grid(metric, n_points=40):
    return datasets.grid_clustering(1, side=8, n_points=n_points, metrics=(metric,))[0]


PROBLEMS = {
    "grid-cityblock": lambda: grid("cityblock"),
    "grid-euclidean": lambda: grid("euclidean"),
    "grid-chebyshev": lambda: grid("chebyshev"),
    "line": lambda: line_of_points(30),
    "duplicates": duplicated_points,
}


@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_dual_agrees_with_run_everywhere(name, kind):
    instance = PROBLEMS[name]()
    family = Linkage(kind)
    dual = family.dual(instance)
    dual._check()
    assert len(dual.undecided) == 0
    rng = np.random.default_rng(1)
    special = [-10.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 10.0]
    for t in [*special, *oracles.parameters_near_breakpoints(dual, rng, 40)]:
        assert dual.value_at(t) == family.run_exact(instance, t), t


@pytest.mark.parametrize("alpha", [-2, -1, 1, 2, 3])
@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
@pytest.mark.parametrize("name", ["grid-cityblock", "grid-chebyshev", "line"])
def test_run_breaks_ties_like_the_greedy_algorithm_in_rationals(name, kind, alpha):
    instance = PROBLEMS[name]()
    powers = [[Fraction(d) ** alpha if d else None for d in row] for row in instance.distances[0]]
    combine = oracles.Mean if kind == "power-mean" else oracles.MinMax
    if kind == "min-max":
        powers = [[(p, p) for p in row] for row in powers]
    merges = oracles.greedy_tree(powers, combine, 1 if alpha > 0 else -1)
    labels = oracles.labels_of(merges, instance, "k-median")
    assert np.array_equal(labels, Linkage(kind).solve(instance, float(alpha)).labels)


def test_a_segment_that_starts_and_ends_at_exact_ties():
    instance = grid("cityblock")
    family = Linkage("power-mean", alpha=(1, 2))
    dual = family.dual(instance)
    for t in (1.0, 1.0 + 1e-9, 1.5, 2.0 - 1e-9, 2.0):
        assert dual.value_at(t) == family.run_exact(instance, t)


def test_two_integer_metrics_end_with_an_honest_answer():
    instance = datasets.grid_clustering(1, side=6, n_points=25, metrics=("cityblock", "chebyshev"))[
        0
    ]
    for kind in ("power-mean", "min-max"):
        family = Linkage(kind, alpha=(0.5, 4), weights="tune", n_metrics=2)
        segment = Segment({"alpha": 1, "weights": (1, 0)}, {"alpha": 1, "weights": (0, 1)})
        dual = family.dual(instance, along=segment)
        rng = np.random.default_rng(2)
        decided = 0
        for t in oracles.parameters_near_breakpoints(dual, rng, 40):
            value = dual.value_at(t)
            if value is not None:
                decided += 1
                assert value == family.run_exact(instance, segment.at(t))
        assert decided >= 36
