"""How much longer do sweeps of linkage take on tied data than on jittered copies of them?

Sets of 0/1 vectors, grids and rounded numbers (files of the data folder), the first --size points
of a fixed shuffle, and the same with normal noise of 1e-4 of their spread. Prints processor times,
ratios, and how many intervals stayed undecided. With --energy instead: sweeps of energies over
[0.1, 4] on digits, in calls of scipy's Ward.

    python benchmarks/linkage_ties.py DATA_FOLDER [--size 150]
    python benchmarks/linkage_ties.py --energy 100 400 800
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits

import certune as ct

KINDS = {"power-mean": (-10.0, 10.0), "min-max": (-10.0, 10.0), "energy": (0.1, 4.0)}
UCI = ("housevotes", "mushroom", "wisconsin", "ionosphere", "bupa", "heart")
BATTERY = ("wut/x3", "sipu/flame", "fcps/target")


def best_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        found = function()
        times.append(time.process_time() - start)
    return min(times), found


def tied_sets(folder):
    uci = np.load(folder / "uci_binary.npz")
    for name in UCI:
        yield name, uci[f"X_{name}"].astype(float), uci[f"y_{name}"]
    battery = np.load(folder / "clustering_battery.npz")
    for name in BATTERY:
        yield name, battery[f"{name}/X"].astype(float), battery[f"{name}/y"]


def ties(folder, size):
    for name, points, labels in tied_sets(folder):
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(points))[:size]
        points, labels = points[rows], labels[rows]
        noise = 1e-4 * points.std() * rng.normal(size=points.shape)
        tied, jittered = (
            ct.ClusteringInstance(points=p, target=labels) for p in (points, points + noise)
        )
        for kind, alpha in KINDS.items():
            for objective in ("k-median", "cut"):
                family = ct.Linkage(kind, alpha=alpha, objective=objective)
                plain, _ = best_time(lambda f=family, i=jittered: f.dual(i), 3)
                took, dual = best_time(lambda f=family, i=tied: f.dual(i), 3)
                print(
                    f"{name:12s} {kind:10s} {objective:8s} {1e3 * took:7.1f} ms, jittered "
                    f"{1e3 * plain:6.1f} ms, ratio {took / plain:5.1f}, {dual.n_pieces} pieces, "
                    f"{len(dual.undecided)} undecided",
                    flush=True,
                )


def energies(sizes):
    data = load_digits()
    for n in sizes:
        rows = np.random.default_rng(0).permutation(len(data.data))[:n]
        instance = ct.ClusteringInstance(points=data.data[rows], target=data.target[rows])
        condensed = squareform(instance.distances[0], checks=False)
        family = ct.Linkage("energy", alpha=KINDS["energy"], objective="cut")
        call, _ = best_time(lambda c=condensed: linkage(c, "ward"), 10)
        took, dual = best_time(lambda f=family, i=instance: f.dual(i), 3 if n < 800 else 1)
        print(
            f"n = {n}: one call of Ward {1e3 * call:.2f} ms, sweep {took / call:.0f} calls, "
            f"{dual.n_pieces} pieces, {len(dual.undecided)} undecided",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--size", type=int, default=150)
    parser.add_argument("--energy", type=int, nargs="+")
    options = parser.parse_args()
    if options.energy:
        energies(options.energy)
    else:
        ties(options.folder, options.size)


if __name__ == "__main__":
    main()
