"""Functions of the families, recorded by one version of the package and compared by another.

    python benchmarks/recorded_functions.py record before.json   # with the one
    python benchmarks/recorded_functions.py compare before.json  # with the other

Several hundred random and degenerate instances: labels on graphs (functions, soft labels, bounds on
boxes), penalised logistic regression (l1, l2; loss, accuracy) and online weights. Every number is
recorded to the last bit. A later version must give the same pieces and values, with enclosures that
are equal, or overlap and are not wider. With ``--share 0.1`` every tenth case is taken.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import certune as ct
from certune.online.weights import LineWeights

# Relative widths of breakpoints below this are a matter of rounding.
NOISE = 1e-10

Case = tuple[str, Callable[[], dict[str, Any]]]


def labelling(kind: str, seed: int) -> ct.LabelingInstance:
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(5, 22)), int(rng.integers(2, 4))
    points = {
        "normal": lambda: rng.normal(size=(n, 2)),
        "grid": lambda: rng.integers(0, 4, size=(n, 2)).astype(float),
        "clusters": lambda: rng.integers(0, 3, size=(n, 1)) + rng.normal(scale=0.02, size=(n, 2)),
        "line": lambda: np.sort(rng.random(n))[:, None],
    }[kind]()
    truth = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    metrics = ("sqeuclidean", "cityblock") if seed % 3 == 0 else ("sqeuclidean",)
    return ct.LabelingInstance(
        points=points, metrics=metrics, labeled=list(range(n_classes)), truth=truth
    )


def graph_cases() -> Iterator[Case]:
    ranges = ((0.3, 4.0), (0.08, 1.0), (1.0, 50.0))
    for kind in ("normal", "grid", "clusters", "line"):
        for seed in range(60):
            two = seed % 3 == 0
            family = ct.HarmonicLabeling(
                sigma=ranges[seed % len(ranges)],
                weights=(0.7, 0.3) if two else None,
                n_neighbors=3 if seed % 5 == 1 else None,
                certified=seed % 4 != 3,
            )
            name = f"graph {kind} {seed}"
            yield name, lambda f=family, k=kind, s=seed: of_function(f.dual(labelling(k, s)))
            if seed % 4 == 0:
                yield f"{name} soft", lambda f=family, k=kind, s=seed: soft_labels(f, k, s)
        for seed in range(0, 30, 3):
            yield f"graph boxes {kind} {seed}", lambda k=kind, s=seed: box_bounds(k, s)
        for seed in range(0, 24, 3):
            yield f"graph weights {kind} {seed}", lambda k=kind, s=seed: along_weights(k, s)


def soft_labels(family: ct.HarmonicLabeling, kind: str, seed: int) -> dict[str, Any]:
    instance, low = labelling(kind, seed), family.space.parameters[0].low
    return {
        f"soft {factor}": of_array(family.solve(instance, {"sigma": factor * low}).soft)
        for factor in (1.0, 1.1, 3.0)
    }


def along_weights(kind: str, seed: int) -> dict[str, Any]:
    family = ct.HarmonicLabeling(sigma=(0.2, 2.0), weights="tune", n_metrics=2)
    ends = {"sigma": 0.6, "weights": (1.0, 0.0)}, {"sigma": 0.6, "weights": (0.0, 1.0)}
    return of_function(family.dual(labelling(kind, seed), ct.Segment(*ends)))


def box_bounds(kind: str, seed: int) -> dict[str, Any]:
    family = ct.HarmonicLabeling(sigma=(0.2, 2.0), weights="tune", n_metrics=2)
    instance, rng = labelling(kind, seed), np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for number, box in enumerate(family.strata()):
        bound = family.bound_on_box(instance, box)
        for depth in range(8):
            key = f"box {number} {depth}"
            found[key] = [str(bound.lower), str(bound.upper)]
            found[f"{key} importance"] = of_array(np.array(bound.importance))
            if not box.edges:
                break
            edge = box.edges[int(np.argmax(bound.importance))]
            box = box.split(edge)[rng.integers(2)]
            bound = family.bound_on_box(instance, box, bound.reuse)
    return found


def classification(kind: str, seed: int) -> ct.ClassificationInstance:
    rng = np.random.default_rng(seed)
    m, p = int(rng.integers(6, 40)), int(rng.integers(1, 9))
    X = rng.normal(size=(m + 12, p))
    if kind == "scales":
        X *= 10.0 ** rng.integers(-3, 4, p)
    elif kind == "duplicates":
        X = X.round()
        X[:, -1] = X[:, 0]
    y = (rng.random(m + 12) < 1 / (1 + np.exp(-X[:, 0] / np.abs(X[:, 0]).max()))).astype(int)
    y[:2], y[m : m + 2] = (0, 1), (0, 1)
    return ct.ClassificationInstance(X[:m], y[:m], X[m:], y[m:])


def logistic_cases() -> Iterator[Case]:
    for kind in ("normal", "scales", "duplicates"):
        for penalty in ("l1", "l2"):
            for metric in ("log-loss", "accuracy"):
                for seed in range(18):
                    family = ct.RegularizedLogistic(penalty, (1e-3, 1.0), metric)
                    yield (
                        f"logistic {kind} {penalty} {metric} {seed}",
                        lambda f=family, k=kind, s=seed: of_function(f.dual(classification(k, s))),
                    )


def online_cases() -> Iterator[Case]:
    for seed in range(60):
        yield f"online {seed}", lambda s=seed: online_weights(s)


def online_weights(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    weights = LineWeights(-1.0, 2.0, float(10.0 ** rng.uniform(-2, 2)))
    for _ in range(40):
        count = int(rng.integers(0, 9))
        edges = np.unique(rng.uniform(-1, 2, count).round(int(rng.integers(1, 9))))
        weights.add(edges, rng.random(edges.size + 1))
    edges = np.linspace(-1, 2, 14)[1:-1]
    before = weights.masses(edges)
    weights.rate = 0.5 * weights.rate
    starts, values = weights.function()
    draws = [weights.draw(*rng.random(2).tolist()) for _ in range(50)]
    parts = {"masses": before, "after": weights.masses(edges), "starts": starts, "values": values}
    return {name: of_array(np.array(part)) for name, part in (parts | {"draws": draws}).items()}


def of_array(numbers: Any) -> list[str]:
    return [float(x).hex() for x in np.ravel(numbers)]


def of_function(function: ct.PiecewiseFunction | ct.PiecewisePolynomial) -> dict[str, Any]:
    found = {"starts": of_array(function.starts), "stops": of_array(function.stops)}
    if isinstance(function, ct.PiecewiseFunction):
        found["values"] = [str(v) for v in function.numerators] + [str(function.denominator)]
        for name in ("gap_lower", "gap_upper"):
            found[name] = [str(v) for v in getattr(function, name)]
        return found
    probes = np.linspace(function.low, function.high, 33)
    found["enclosures"] = of_array([function.enclose(t) for t in probes.tolist()])
    return found


def cases() -> Iterator[Case]:
    yield from graph_cases()
    yield from logistic_cases()
    yield from online_cases()


def outcome(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except ct.CertuneError as error:
        return {"error": type(error).__name__}


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """How two records differ: "", "rounding" (see the module) or what is wrong."""
    if before == after:
        return ""
    if before.keys() != after.keys():
        return f"keys {sorted(before)} and {sorted(after)}"
    for name in before:
        if len(before[name]) != len(after[name]):
            return f"{name}: {len(before[name])} and {len(after[name])} numbers"
    if any(before.get(name) != after.get(name) for name in ("values", "gap_lower", "gap_upper")):
        return "values"
    if "values" in before:
        ends = [
            [float.fromhex(x) for x in record[name]]
            for record in (before, after)
            for name in ("stops", "starts")
        ]
        gaps = [list(zip(stops, starts[1:], strict=False)) for stops, starts in
                (ends[:2], ends[2:])]  # fmt: skip
        for (low, high), (new_low, new_high) in zip(*gaps, strict=True):
            if max(low, new_low) > min(high, new_high):
                return f"breakpoint ({low!r}, {high!r}) and ({new_low!r}, {new_high!r})"
            if new_high - new_low > 1.01 * (high - low) + NOISE * abs(high):
                return f"wider breakpoint: {high - low!r} and {new_high - new_low!r}"
        return "rounding"
    if "enclosures" in before:
        pairs = [np.array([float.fromhex(x) for x in r["enclosures"]]) for r in (before, after)]
        (low, high), (new_low, new_high) = (pair.reshape(-1, 2).T for pair in pairs)
        if (np.maximum(low, new_low) > np.minimum(high, new_high)).any():
            return "enclosures apart"
        if (new_high - new_low > 1.5 * (high - low)).any():
            return f"wider enclosures: {((new_high - new_low) / (high - low)).max():.3g} times"
        return "rounding"
    old, new = (
        np.array([float.fromhex(x) for part in r.values() for x in part if "x" in x])
        for r in (before, after)
    )
    return "rounding" if np.allclose(old, new, rtol=1e-9, atol=1e-13) else "numbers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="share of the cases")
    parser.add_argument("--only", default="", help="cases whose names begin so")
    options = parser.parse_args()
    step = max(1, round(1 / options.share))
    chosen = [case for case in list(cases())[::step] if case[0].startswith(options.only)]
    if options.what == "record":
        options.file.write_text(json.dumps({name: outcome(work) for name, work in chosen}))
        print(f"{len(chosen)} functions recorded")
        return
    recorded = json.loads(options.file.read_text())
    counts = {"equal": 0, "rounding": 0, "different": 0}
    for name, work in chosen:
        if name not in recorded:
            continue
        found = difference(recorded[name], outcome(work))
        counts[{"": "equal", "rounding": "rounding"}.get(found, "different")] += 1
        if found not in ("", "rounding"):
            print(f"{name}: {found}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(counts["different"] > 0)


if __name__ == "__main__":
    main()
