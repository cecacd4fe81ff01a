"""Is GenieClustering at one threshold what the package genieclust does, and what does tuning add?

On the sets of the clustering battery (a file of the data folder): equal partitions at the defaults
of both, adjusted Rand indices, processor times, and for small ones the best threshold. On random
points, rounded ones with ties among them: equal partitions at random thresholds; where lengths of
edges tie, both rules are right and partitions may differ. Needs genieclust.

    python benchmarks/genie.py DATA_FOLDER [--swept 400] [--random 500]
"""

import argparse
import importlib.metadata
import time
from pathlib import Path

import numpy as np
from genieclust import Genie

import certune as ct

DEFAULT = 0.3


def same(first, second):
    """Are two partitions equal?"""
    return np.array_equal(first[:, None] == first, second[:, None] == second)


def theirs(points, k, threshold=DEFAULT):
    return Genie(n_clusters=k, gini_threshold=threshold).fit_predict(points)


def timed(function):
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def battery(folder, swept):
    data = np.load(folder / "clustering_battery.npz")
    family = ct.GenieClustering(utility="adjusted-rand")
    rows, sweeps = [], []
    for name in data["names"].tolist():
        points, label = data[f"{name}/X"].astype(np.float64), data[f"{name}/y"]
        points, label = points[label > 0], label[label > 0]
        instance = ct.ClusteringInstance(points=points, target=label)
        own, own_time = timed(lambda i=instance: family.solve(i, DEFAULT))
        other, other_time = timed(lambda p=points, k=instance.k: theirs(p, k))
        scores = [float(family.utility.score(instance.target, part)) for part in (own, other)]
        rows.append((same(own, other), *scores, own_time, other_time))
        tuned = ""
        if len(points) <= swept:
            dual, sweep_time = timed(lambda i=instance: family.dual(i))
            sweeps.append((scores[0], dual.max(), sweep_time))
            tuned = f", best threshold {dual.max():.3f}, {dual.n_pieces} pieces"
        print(
            f"{name:28s} n = {len(points):4d}, k = {instance.k:2d}: "
            f"{'equal' if rows[-1][0] else 'DIFFERENT'}, index {scores[0]:.3f} and "
            f"{scores[1]:.3f}{tuned}",
            flush=True,
        )
    equal, own, other = np.mean(rows, axis=0)[:3]
    times = np.sum(rows, axis=0)[3:]
    print(
        f"equal on {equal * len(rows):.0f} of {len(rows)} sets; mean index {own:.3f}, genieclust "
        f"{other:.3f}; {times[0]:.1f} s of processor time, genieclust {times[1]:.1f} s"
    )
    default, best, took = np.mean(sweeps, axis=0)
    print(
        f"on the {len(sweeps)} sets of at most {swept} points: {default:.3f} at the default, "
        f"{best:.3f} at the best threshold of each set; all thresholds take {took:.2f} s a set"
    )


def random_points(count):
    rng = np.random.default_rng(0)
    for name, decimals in (("random points", None), ("points on a grid, edges tie", 0)):
        equal = 0
        for _ in range(count):
            n = int(rng.integers(5, 80))
            points = rng.normal(size=(n, 2)) * (1 if decimals is None else 3)
            if decimals is not None:
                points = np.unique(np.round(points, decimals), axis=0)
            k = int(rng.integers(1, min(8, len(points))))
            threshold = float(rng.choice([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, rng.random()]))
            own = ct.GenieClusterer(k, g=threshold).fit_predict(points)
            equal += same(own, theirs(points, k, threshold))
        print(f"{name}: equal on {equal} of {count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--swept", type=int, default=400, help="Points of sets that are tuned.")
    parser.add_argument("--random", type=int, default=500)
    options = parser.parse_args()
    print(f"genieclust {importlib.metadata.version('genieclust')}, certune {ct.__version__}")
    battery(options.folder, options.swept)
    random_points(options.random)


if __name__ == "__main__":
    main()
