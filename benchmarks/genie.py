"""Is GenieClustering at one threshold what the package genieclust does, and what does tuning add?

On the sets of the clustering battery (a file of the data folder): equal partitions at the defaults
of both, adjusted Rand indices, processor times, and the best threshold of each set. On random
points, rounded ones with ties among them: equal partitions at random thresholds; where lengths of
edges tie, both rules are right and partitions may differ. Needs genieclust.

    python benchmarks/genie.py DATA_FOLDER [--largest 2000] [--random 500]
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


def battery(folder, largest):
    data = np.load(folder / "clustering_battery.npz")
    family = ct.GenieClustering(utility="adjusted-rand")
    rows = []
    for name in data["names"].tolist():
        points, label = data[f"{name}/X"].astype(np.float64), data[f"{name}/y"]
        points, label = points[label > 0], label[label > 0]
        if len(points) > largest:
            continue
        instance = ct.ClusteringInstance(points=points, target=label)
        own, own_time = timed(lambda i=instance: family.solve(i, DEFAULT))
        other, other_time = timed(lambda p=points, k=instance.k: theirs(p, k))
        scores = [float(family.utility.score(instance.target, part)) for part in (own, other)]
        dual, sweep_time = timed(lambda i=instance: family.dual(i))
        rows.append((same(own, other), *scores, dual.max(), own_time, other_time, sweep_time))
        print(
            f"{name:28s} n = {len(points):4d}, k = {instance.k:2d}: "
            f"{'equal' if rows[-1][0] else 'DIFFERENT'}, index {scores[0]:.3f} and "
            f"{scores[1]:.3f}, best threshold {dual.max():.3f}, {dual.n_pieces} pieces",
            flush=True,
        )
    means = np.mean(rows, axis=0)
    own_time, other_time, sweep_time = np.sum(rows, axis=0)[4:]
    print(
        f"equal on {sum(row[0] for row in rows)} of {len(rows)} sets; mean index {means[1]:.3f} "
        f"(genieclust {means[2]:.3f}), with the best threshold of each set {means[3]:.3f}; "
        f"{own_time:.1f} s of processor time, genieclust {other_time:.1f} s, all thresholds "
        f"{sweep_time:.1f} s"
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
    parser.add_argument("--largest", type=int, default=2000)
    parser.add_argument("--random", type=int, default=500)
    options = parser.parse_args()
    print(f"genieclust {importlib.metadata.version('genieclust')}, certune {ct.__version__}")
    battery(options.folder, options.largest)
    random_points(options.random)


if __name__ == "__main__":
    main()
