"""Schedules of solvers on recorded competitions: proved best pairs and triples, ten folds.

    python benchmarks/schedules.py DATA_FOLDER [--scenario NAME] [--size 2 3]

DATA_FOLDER has ``aslib.npz`` with, for each scenario, runtimes, what was solved, the cutoff and the
folds. On nine folds the best schedule over all orders and times is found and proved; it is then
judged on the tenth, beside the solver that was best on the nine, and the best solver of every
problem. The guarantee is the worst case over all schedules, which needs no other problems.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import certune as ct


def problems_of(data, scenario):
    solvers = [str(name) for name in data[f"{scenario}/algorithms"]]
    runtimes, solved = data[f"{scenario}/runtime"], data[f"{scenario}/solved"]
    return [
        ct.RuntimeInstance(
            {s: float(t) if ok else None for s, t, ok in zip(solvers, row, oks, strict=True)}
        )
        for row, oks in zip(runtimes, solved, strict=True)
    ]


def alone(seconds, cutoff):
    """Return the PAR10 of one solver."""
    return 10 * cutoff if seconds is None or seconds > cutoff else float(seconds)


def judged(scenario, problems, folds, cutoff, size):
    """Print one line: PAR10 on training folds and on held-out folds, means over ten folds."""
    began = time.perf_counter()
    rows = []
    for fold in sorted(set(folds.tolist())):
        training = [p for p, f in zip(problems, folds, strict=True) if f != fold]
        held_out = [p for p, f in zip(problems, folds, strict=True) if f == fold]
        result = ct.best_schedule(training, cutoff, size)
        new = result.evaluate(held_out)
        single = [alone(p.seconds(result.single_best[0]), cutoff) for p in held_out]
        at_best = [min(alone(s, cutoff) for _, s in p.runtimes) for p in held_out]
        promised = result.par10_of(result.guarantee().expected_utility)
        rows.append(
            (float(result.par10), float(np.mean([float(c) for c in new])), float(np.mean(single)),
             float(result.single_best[1]), float(np.mean(at_best)), promised, len(held_out))
        )  # fmt: skip
    weights = [row[-1] for row in rows]
    means = [float(np.average([row[i] for row in rows], weights=weights)) for i in range(6)]
    print(
        f"{scenario:14} {size}  {means[0]:9.1f} {means[1]:9.1f} {means[3]:9.1f} {means[2]:9.1f} "
        f"{means[4]:9.1f} {means[5]:9.0f}  {time.perf_counter() - began:7.1f} s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenario", nargs="*")
    parser.add_argument("--size", type=int, nargs="*", default=[2, 3])
    options = parser.parse_args()
    data = np.load(options.folder / "aslib.npz")
    print("PAR10 in seconds, means over ten folds")
    print(
        f"{'scenario':14} k  {'tuned':>9} {'new':>9} {'single':>9} {'new':>9} {'per prob.':>9} "
        f"{'promised':>9}"
    )
    for scenario in options.scenario or map(str, data["names"]):
        problems = problems_of(data, scenario)
        for size in options.size:
            if size <= len(problems[0].solvers):
                judged(
                    scenario, problems, data[f"{scenario}/fold"],
                    float(data[f"{scenario}/cutoff"]), size,
                )  # fmt: skip


if __name__ == "__main__":
    main()
