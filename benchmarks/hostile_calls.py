"""Hostile values at the public doors: every call ends in an answer or an error of certune.

    python benchmarks/hostile_calls.py              20,000 calls with seed 0
    python benchmarks/hostile_calls.py 5000 --seed 3

A call starts from arguments that are right and puts values such as nan, 10**400, masked arrays,
dates, generators or None in the place of one or two of them. Whatever comes of it has to be a value
or a `CertuneError`, and soon. A wrong number or wrong names of arguments is Python's TypeError.
Estimators of scikit-learn are left out: there ValueError and TypeError are the convention.
"""

from __future__ import annotations

import argparse
import collections
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

import certune as ct
from certune.testing import StepFamily, StepInstance

# Seconds that no call may take.
LIMIT = 10
POINTS = np.arange(12.0).reshape(6, 2) ** 1.5
STEP = StepInstance((0.25,), (Fraction(0), Fraction(1)))

HOSTILE: tuple[Callable[[], Any], ...] = (
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: -float("inf"),
    lambda: 10**400,
    lambda: -(10**400),
    lambda: Fraction(1, 10**400),
    lambda: 2**63,
    lambda: -1,
    lambda: 0,
    lambda: 1e-320,
    lambda: True,
    lambda: None,
    lambda: "x",
    lambda: "",
    lambda: b"bytes",
    lambda: 1j,
    lambda: object(),
    lambda: [],
    lambda: {},
    lambda: {"x": float("nan")},
    lambda: {1, 2},
    lambda: (1, 2, 3),
    lambda: (float("nan"), 1),
    lambda: (1, 10**400),
    lambda: [[1], [2, 3]],
    lambda: [[[1.0]]],
    lambda: [None, 1],
    lambda: ["a", 1],
    lambda: (number for number in (1, 2)),
    lambda: range(3),
    lambda: lambda: None,
    lambda: int,
    lambda: np.array([]),
    lambda: np.array([1.0, np.nan]),
    lambda: np.array([1.0, np.inf]),
    lambda: np.array(2.0),
    lambda: np.array([[1, 2], [3, 4]]),
    lambda: np.zeros((2, 0)),
    lambda: np.zeros((0, 2)),
    lambda: np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    lambda: np.array([1, 2], dtype="timedelta64[s]"),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    lambda: np.ma.masked_array(POINTS, mask=POINTS > 3),
    lambda: np.array([1, "a", None], dtype=object),
    lambda: np.array([1 + 2j, 3]),
    lambda: np.float32(0.5),
    lambda: np.int8(3),
    lambda: np.bool_(True),
    lambda: StepFamily,
    lambda: STEP,
    lambda: [STEP],
    lambda: ct.Real("x", 0, 1),
)


def doors() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Return the calls, with arguments that are right, by name."""
    family = StepFamily()
    dual = family.dual(STEP)
    result = ct.tune(family, [STEP, StepInstance((0.5,), (Fraction(1), Fraction(0)))])
    linkage = ct.Linkage("min-max", alpha=(0.5, 2))
    structure = linkage.structure(n=10)
    half = np.arange(6) // 3
    square = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    runtimes = ct.RuntimeInstance({"a": 1.0, "b": 2.0})
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    plane = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] > 0.5 else 0, space)
    missing = os.path.join(os.devnull, "none")  # a place where nothing can be made
    curve = ct.PiecewisePolynomial.from_constants(dual)
    return {
        "Real": (ct.Real, ("x", 0.0, 1.0), {}),
        "LogReal": (ct.LogReal, ("x", 0.1, 1.0), {}),
        "Simplex": (ct.Simplex, ("w", 3), {}),
        "ParameterSpace": (ct.ParameterSpace, ((ct.Real("x", 0, 1),),), {}),
        "Segment": (ct.Segment, ({"x": 0.0}, {"x": 1.0}), {}),
        "Linkage": (ct.Linkage, ("power-mean",), {"alpha": (-2, 2), "objective": "k-median"}),
        "Linkage weights": (ct.Linkage, (), {"alpha": 1.0, "weights": (0.5, 0.5)}),
        "HarmonicLabeling": (ct.HarmonicLabeling, (), {"sigma": (0.5, 2.0), "n_neighbors": 3}),
        "RegularizedLogistic": (ct.RegularizedLogistic, ("l2",), {"lam": (0.01, 1.0)}),
        "ClusteringInstance": (
            ct.ClusteringInstance, (), {"points": POINTS, "target": half, "k": 2, "name": "n"}
        ),
        "LabelingInstance": (
            ct.LabelingInstance, (), {"points": POINTS, "labeled": [0, 3], "truth": half}
        ),
        "ClassificationInstance": (
            ct.ClassificationInstance, (POINTS, half, POINTS, half), {"name": "n"}
        ),
        "KnapsackInstance": (
            ct.KnapsackInstance, (), {"values": [1, 2], "sizes": [1, 1], "capacity": 1}
        ),
        "PiecewiseFunction": (
            ct.PiecewiseFunction, ([0, 0.5], [0.25, 1], [0, 1], [0], [1], 2), {"name": "t"}
        ),
        "Linkage.structure": (linkage.structure, (), {"n": 10}),
        "pdim_bound": (ct.pdim_bound, (structure,), {}),
        "sample_size": (ct.sample_size, (structure, 0.1, 0.05), {}),
        "mean": (ct.mean, ([dual, dual],), {}),
        "dual": (dual, (0.5,), {}),
        "value_at": (dual.value_at, (0.5,), {}),
        "enclose": (curve.enclose, (0.5,), {}),
        "restrict": (dual.restrict, (0.0, 1.0), {}),
        "superlevel": (dual.superlevel, (0.5,), {}),
        "superlevel of a curve": (curve.superlevel, (0.5,), {}),
        "run": (family.run, (STEP, 0.5), {}),
        "tune": (ct.tune, (family, [STEP]), {"n_jobs": 1, "timeout": 5, "gap": 0.0,
                                             "callbacks": [], "progress": False}),
        "select": (result.select, ("one-standard-error",), {}),
        "robust": (result.robust, (0.1,), {}),
        "evaluate": (result.evaluate, ([STEP],), {"params": {"x": 0.5}, "n_jobs": 1}),
        "guarantee": (result.guarantee, (), {"delta": 0.05}),
        "cross_validate": (result.cross_validate, (2,), {}),
        "bootstrap": (result.bootstrap, (10,), {"random_state": 0}),
        "learning_curve": (result.learning_curve, (), {"n_splits": 5}),
        "without": (result.without, (result.instance_names[0],), {"n_jobs": 1}),
        "with_instances": (result.with_instances, ([STEP],), {"n_jobs": 1}),
        "instances_needed": (result.instances_needed, (0.2,), {}),
        "verify": (ct.verify, (result.certificate, family, result.instances), {}),
        "dispersion": (ct.dispersion, ([dual, dual],), {"widths": [0.1, 0.5]}),
        "Integer": (ct.Integer, ("x", 0, 3), {}),
        "Categorical": (ct.Categorical, ("x", ("a", "b")), {}),
        "CVaR": (ct.CVaR, (0.5,), {}),
        "Quantile": (ct.Quantile, (0.5,), {}),
        "Choice": (ct.Choice, ({"steps": family},), {}),
        "ProgramFamily": (
            ct.ProgramFamily, (lambda x, p: 1, ct.Real("a", 0, 1)),
            {"utility_range": (0, 1), "tolerance": 0.0, "baselines": {}}
        ),
        "RegularizedRegression": (
            ct.RegularizedRegression, ("l2",), {"max_error": 1.0, "alpha": (0.01, 1.0)}
        ),
        "GenieClustering": (ct.GenieClustering, (), {"g": (0.0, 1.0)}),
        "ThresholdLinkage": (ct.ThresholdLinkage, ("energy",), {"cut_height": (0.1, 1.0)}),
        "DensityInstance": (ct.DensityInstance, (square, half), {"name": "n"}),
        "NeighborInstance": (ct.NeighborInstance, (square, half, half), {"name": "n"}),
        "RegressionInstance": (
            ct.RegressionInstance, (POINTS, np.arange(6.0)), {"sample_weight": np.ones(6)}
        ),
        "SetCoverInstance": (ct.SetCoverInstance, ([[0], [0, 1]], [1, 2]), {}),
        "AlignmentInstance": (ct.AlignmentInstance, ("ab", "b", [(1, 0)]), {}),
        "IndependentSetInstance": (ct.IndependentSetInstance, ([1, 2], [(0, 1)]), {}),
        "BinPackingInstance": (ct.BinPackingInstance, ([0.5, 0.25], [0.5, 0.5]), {}),
        "ScoredInstance": (ct.ScoredInstance, ([0.5, 0.25], [1, 0]), {}),
        "PruningInstance": (ct.PruningInstance, ([1, -1, -1], [2, -1, -1], [3, 1, 1],
                                                 [1, 1, 1], 4), {}),
        "RuntimeInstance": (ct.RuntimeInstance, ({"a": 1.0, "b": 2.0},), {}),
        "ConstrainedThreshold": (ct.ConstrainedThreshold, ((0.0, 1.0), 0.5), {}),
        "CostComplexityPruning": (ct.CostComplexityPruning, ((0.0, 0.1),), {}),
        "DecisionFamily": (ct.DecisionFamily, (lambda x, d: 1, ct.Real("a", 0, 1)), {}),
        "DensityClustering": (ct.DensityClustering, ((0.5, 1.0), 2), {}),
        "GreedyIndependentSet": (ct.GreedyIndependentSet, ((0.0, 2.0), (0.0, 2.0)), {}),
        "GreedyKnapsack": (ct.GreedyKnapsack, ((0.0, 3.0),), {}),
        "GreedySetCover": (ct.GreedySetCover, ((0.0, 3.0),), {}),
        "NeighborVoting": (ct.NeighborVoting, ((0.0, 10.0), 5), {}),
        "SequenceAlignment": (ct.SequenceAlignment, ((0.0, 3.0), (0.0, 3.0)), {}),
        "SolverSchedule": (ct.SolverSchedule, (("a", "b"), 10), {}),
        "VectorBinPacking": (ct.VectorBinPacking, ((0.0, 1.0),), {}),
        "best_schedule": (ct.best_schedule, ([runtimes], 10), {"size": 2}),
        "cell_map": (ct.cell_map, (plane, [0.5]), {"resolution": 2}),
        "load": (ct.load, (missing,), {}),
        "from_csv": (ct.from_csv, (missing,), {"target": "y"}),
        "read_stream": (ct.read_stream, (missing,), {"target": "y"}),
        "save_instances": (ct.save_instances, ([STEP], missing), {}),
        "folds": (ct.folds, (POINTS, half, 2), {}),
        "labeling_folds": (ct.labeling_folds, (POINTS, half), {"cv": 2}),
        "from_frame": (ct.from_frame, ({"x": [0, 1], "y": [0, 1]},), {"target": "y"}),
        "tune_stream": (ct.tune_stream, (family, [STEP]), {"n_jobs": 1, "timeout": 5}),
        "estimate_cost": (ct.estimate_cost, (family, [STEP]), {}),
        "OnlineTuner": (ct.OnlineTuner, (family,), {"horizon": 10, "random_state": 0}),
    }  # fmt: skip


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `TimeoutError` in a call that takes too long."""

    def expired(*_: object) -> None:
        raise TimeoutError(f"no answer within {LIMIT} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def calls(n_calls: int, seed: int) -> Iterator[tuple[str, Callable[[], Any], str]]:
    """Yield calls with hostile values in them: the name of the door, the call, and its text."""
    rng = np.random.default_rng(seed)
    table = doors()
    names = list(table)
    for _ in range(n_calls):
        name = names[rng.integers(len(names))]
        function, positional, named = table[name]
        places: list[Any] = [*range(len(positional)), *named]
        chosen = rng.choice(
            len(places), size=min(int(rng.integers(1, 3)), len(places)), replace=False
        )
        values = {places[i]: HOSTILE[rng.integers(len(HOSTILE))]() for i in chosen}
        args = [values.get(place, value) for place, value in enumerate(positional)]
        kwargs = {place: values.get(place, value) for place, value in named.items()}
        yield name, lambda f=function, a=args, k=kwargs: f(*a, **k), f"{name}: {values!r}"


def foreign(n_calls: int, seed: int) -> list[tuple[str, str]]:
    """Return the calls that ended in neither a value nor an error of certune, and how."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, call, text in calls(n_calls, seed):
            try:
                with time_limit():
                    call()
            except ct.CertuneError:
                pass
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
                found.append((text, f"{type(error).__name__} at {place}: {error}"))
    return found


def main() -> int:
    """Make the calls and list what is foreign, the most frequent ends first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_calls", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = foreign(options.n_calls, options.seed)
    print(f"{options.n_calls} calls, {len(found)} foreign ends")
    ends = collections.Counter((text.partition(":")[0], end[:110]) for text, end in found)
    for (door, end), count in ends.most_common(60):
        print(f"{count:6d}  {door}: {end}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
