"""Programs: exact functions against plain runs, and programs with two parameters.

    python benchmarks/programs.py [--items 100 400] [--seed 0]

For greedy knapsack, the floor of any method that re-runs the program is as many plain runs, on
floats and in the same process, as its order of scores has changes. Times are CPU seconds, the best
of seven, three or one. "own program" is the same program with a list in place of vectors.
"""

import argparse
import math
import random
import time

import certune as ct
from certune.pfaffian import argsort


def knapsack(items, rng):
    values = [rng.randint(1, 1000) for _ in range(items)]
    sizes = [rng.randint(1, 1000) for _ in range(items)]
    return values, sizes, sum(sizes) // 2


def plain_run(values, sizes, capacity, rho):
    order = sorted(range(len(values)), key=lambda i: -values[i] / sizes[i] ** rho)
    packed = 0
    for item in order:
        if sizes[item] <= capacity:
            capacity -= sizes[item]
            packed += values[item]
    return packed


def changes(values, sizes, high):
    """Return how often the order of scores changes on (0, high)."""
    count = 0
    for i in range(len(values)):
        for j in range(i):
            if sizes[i] != sizes[j]:
                root = math.log(values[i] / values[j]) / math.log(sizes[i] / sizes[j])
                count += 0 < root < high
    return count


def packed(instance, parameters):
    """The same program as a user writes it: a list of scores, no vectors."""
    values, sizes, room = instance
    rho, total = parameters["rho"], 0
    scores = [v / s**rho for v, s in zip(values, sizes, strict=True)]
    for item in argsort(scores, descending=True):
        if sizes[item] <= room:
            room -= sizes[item]
            total += values[item]
    return total


def best_time(work, repeats):
    """Return the least CPU time of a piece of work, and what it gave."""
    times, found = [], None
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        times.append(time.process_time() - began)
    return min(times), found


def knapsacks(sizes_of, seed):
    print(
        f"{'items':>6} {'changes':>8} {'plain runs':>11} {'function':>9} {'ratio':>6} "
        f"{'pieces':>7} {'own program':>12} {'ratio':>6}"
    )
    times = []
    for items in sizes_of:
        values, sizes, capacity = knapsack(items, random.Random(seed))
        n_changes = changes(values, sizes, 3.0)
        repeats = 7 if items <= 100 else 3 if items <= 200 else 1

        def plain_runs(problem=(values, sizes, capacity), count=n_changes):
            for number in range(count):
                plain_run(*problem, 3.0 * number / count)

        def function(problem=(values, sizes, capacity)):
            return ct.GreedyKnapsack().dual(ct.KnapsackInstance(*problem))

        def own(problem=(tuple(values), tuple(sizes), capacity)):
            space = ct.Real("rho", 0, 3)
            return ct.ProgramFamily(packed, space, utility_range=(0, 10**6)).dual(problem)

        plain, _ = best_time(plain_runs, repeats)
        took, dual = best_time(function, repeats)
        took_own, _ = best_time(own, repeats)
        times.append((items, took))
        print(
            f"{items:6d} {n_changes:8d} {plain:10.3f}s {took:8.2f}s {took / plain:6.1f} "
            f"{dual.n_pieces:7d} {took_own:11.2f}s {took_own / plain:6.1f}",
            flush=True,
        )
    for (a, s), (b, t) in zip(times, times[1:], strict=False):
        print(f"growth from {a} to {b} items: exponent {math.log(t / s) / math.log(b / a):.2f}")


def graph(vertices, seed):
    rng = random.Random(seed)
    weights = [rng.randint(1, 20) for _ in range(vertices)]
    edges = [(i, j) for i in range(vertices) for j in range(i) if rng.random() < 0.4]
    return ct.IndependentSetInstance(weights, edges)


def two_parameters():
    family = ct.GreedyIndependentSet()
    for seed in range(3):
        began = time.process_time()
        trace = family.trace(graph(9, seed))
        print(
            f"independent set, 9 vertices, seed {seed}: trace with {len(trace.paths)} paths in "
            f"{time.process_time() - began:.2f} s",
            flush=True,
        )
    began = time.process_time()
    result = ct.tune(family, [graph(9, seed) for seed in range(4)], timeout=300, progress=False)
    print(
        f"tune on four graphs: gap {result.gap:.4g} in {time.process_time() - began:.2f} s",
        flush=True,
    )


def votes():
    rng = random.Random(0)
    instances = [
        ct.NeighborInstance(
            [[rng.randint(1, 9) for _ in range(8)] for _ in range(5)],
            [rng.randint(0, 1) for _ in range(8)],
            [rng.randint(0, 1) for _ in range(5)],
        )
        for _ in range(5)
    ]
    began = time.process_time()
    result = ct.tune(ct.NeighborVoting(), instances, progress=False)
    print(f"RBF votes: {result.status.name} in {time.process_time() - began:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="*", default=[50, 100, 200, 400])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    two_parameters()
    votes()
    knapsacks(options.items, options.seed)


if __name__ == "__main__":
    main()
