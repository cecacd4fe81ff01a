"""The programs on the shelf against plain runs of other code, at a million random points.

    python benchmarks/shelf_points.py [--points 900000] [--seed 0]

Each program is written here once more in plain floats, without certune: scores as logarithms where
they are powers, and no comparison is shared. Random instances, an exact function each (along random
lines where there are two parameters), and random points, of which those within 1e-9 of a change are
left out: there rounding decides. `benchmarks/program_fuzz.py` does the same for random programs.
"""

import argparse
import math
import time
from collections import Counter
from fractions import Fraction

import numpy as np

import certune as ct

POINTS_PER_FUNCTION = 1000
CLOSE = 1e-9


def knapsack(rng):
    n = int(rng.integers(3, 25))
    values, sizes = rng.integers(1, 200, (2, n)).tolist()
    capacity = max(1, sum(sizes) // 2)
    instance = ct.KnapsackInstance(values, sizes, capacity)
    bound = float(instance.bound)
    log_values, log_sizes = np.log(values), np.log(sizes)

    def plain(rho):
        room, packed = capacity, 0
        for item in np.argsort(rho * log_sizes - log_values, kind="stable").tolist():
            if sizes[item] <= room:
                room -= sizes[item]
                packed += values[item]
        return packed / bound

    return ct.GreedyKnapsack(), instance, None, plain


def set_cover(rng):
    n_elements, n_sets = 8, 9
    sets = [
        rng.choice(n_elements, rng.integers(1, 5), replace=False).tolist() for _ in range(n_sets)
    ]
    sets.append(list(range(n_elements)))
    costs = [*rng.integers(1, 20, n_sets).tolist(), 40]
    logs = [math.log(cost) for cost in costs]

    def plain(rho):
        left, spent = set(range(n_elements)), 0
        while left:
            best, chosen = -math.inf, -1
            for place, members in enumerate(sets):
                gain = len(left.intersection(members))
                if gain and math.log(gain) - rho * logs[place] > best + 1e-13:
                    best, chosen = math.log(gain) - rho * logs[place], place
            spent += costs[chosen]
            left.difference_update(sets[chosen])
        return 1 - spent / sum(costs)

    return ct.GreedySetCover(), ct.SetCoverInstance(sets, costs), None, plain


def bin_packing(rng):
    first, second = rng.integers(5, 60, (2, int(rng.integers(4, 14)))).tolist()
    logs = np.log(np.array([first, second]) / 100)
    exact = [[Fraction(x, 100) for x in sizes] for sizes in (first, second)]
    instance = ct.BinPackingInstance(*exact)
    fewest = instance.fewest_bins

    def plain(rho):
        rooms = []
        for item in np.argsort(-(rho * logs[0] + (1 - rho) * logs[1]), kind="stable").tolist():
            for room in rooms:
                if room[0] >= first[item] and room[1] >= second[item]:
                    room[0] -= first[item]
                    room[1] -= second[item]
                    break
            else:
                rooms.append([100 - first[item], 100 - second[item]])
        return fewest / len(rooms)

    return ct.VectorBinPacking(), instance, None, plain


def line_of(family, rng):
    return ct.Segment(family.space.sample(rng), family.space.sample(rng))


def independent_set(rng):
    n, family = int(rng.integers(3, 9)), ct.GreedyIndependentSet()
    weights = rng.integers(1, 30, n).astype(float)
    matrix = np.triu(rng.random((n, n)) < 0.4, 1)
    matrix = matrix | matrix.T
    edges = [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True)]
    instance = ct.IndependentSetInstance(weights.astype(int).tolist(), edges)
    line = line_of(family, rng)

    def plain(t):
        setting = line.at(t)
        left, taken = np.ones(n, bool), 0.0
        while left.any():
            near = matrix & left
            scores = np.log(weights) - setting["rho"] * np.log1p(near.sum(axis=1))
            scores = np.where(left, scores - setting["tau"] * np.log1p(near @ weights), -np.inf)
            best = int(np.argmax(scores))
            taken += weights[best]
            left &= ~matrix[best]
            left[best] = False
        return taken / weights.sum()

    return family, instance, line, plain


def alignment(rng):
    family = ct.SequenceAlignment()
    first, second = ("".join(rng.choice(list("ACGT"), int(rng.integers(2, 7)))) for _ in range(2))
    pairs = {(i, i) for i in range(min(len(first), len(second)))}
    line = line_of(family, rng)

    def plain(t):
        """The best score by dynamic programming in floats; outputs may tie, scores may not."""
        setting = line.at(t)
        best = np.zeros((len(first) + 1, len(second) + 1))
        best[:, 0] = -setting["gap"] * np.arange(len(first) + 1)
        best[0, :] = -setting["gap"] * np.arange(len(second) + 1)
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                pair = 1.0 if a == b else -setting["mismatch"]
                skip = max(best[i, j + 1], best[i + 1, j]) - setting["gap"]
                best[i + 1, j + 1] = max(best[i, j] + pair, skip)
        return float(best[-1, -1])

    return family, ct.AlignmentInstance(first, second, sorted(pairs)), line, plain


def score_of(family, instance, setting):
    found = family.solve(instance, setting)
    same = sum(instance.first[i] == instance.second[j] for i, j in found)
    gaps = len(instance.first) + len(instance.second) - 2 * len(found)
    return same - setting["mismatch"] * (len(found) - same) - setting["gap"] * gaps


def neighbors(rng):
    rows, columns, family = 4, 7, ct.NeighborVoting()
    distances = rng.uniform(0.1, 5.0, (rows, columns))
    labels, truth = rng.integers(0, 2, columns).tolist(), rng.integers(0, 2, rows).tolist()
    nearest = np.argsort(distances, axis=1)[:, : family.program.n_neighbors].tolist()

    def plain(gamma):
        right = 0
        for row, places, answer in zip(distances, nearest, truth, strict=True):
            votes = [0.0, 0.0]
            for place in places:
                votes[labels[place]] += math.exp(-gamma * (row[place] - row[places[0]]))
            right += int(votes[1] > votes[0]) == answer
        return right / rows

    return family, ct.NeighborInstance(distances, labels, truth), None, plain


def pruning(rng):
    """Weakest links of a random tree, cut one after the other."""
    left, right, depth = [-1], [-1], [0]
    for _ in range(int(rng.integers(1, 6))):
        node = int(rng.choice([k for k, child in enumerate(left) if child < 0]))
        left[node], right[node] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
        depth += [depth[node] + 1] * 2
    size = len(left)
    impurity = [0.0] * size
    for node in reversed(range(size)):
        if left[node] < 0:
            impurity[node] = int(rng.integers(0, 64)) / 1024
        else:
            children = impurity[left[node]] + impurity[right[node]]
            impurity[node] = children + int(rng.integers(1, 64)) / 1024
    right_answers = rng.integers(0, 10, size).tolist()

    def plain(alpha):
        def best(node):
            """Impurity plus alpha a leaf of the best pruning below, its leaves and right ones."""
            own = (impurity[node] + alpha, right_answers[node])
            if left[node] < 0:
                return own
            below = [best(child) for child in (left[node], right[node])]
            cost = below[0][0] + below[1][0]
            return own if own[0] <= cost else (cost, below[0][1] + below[1][1])

        return best(0)[1] / 100

    instance = ct.PruningInstance(left, right, impurity, right_answers, 100)
    return ct.CostComplexityPruning((0, 1)), instance, None, plain


def dbscan(rng):
    n = int(rng.integers(4, 12))
    truth = np.arange(n) % 2
    points = rng.normal(size=(n, 2)) + truth[:, None] * 1.5
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=-1))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    minimum = int(rng.integers(2, 4))
    upper = np.triu_indices(n, 1)
    same = (truth[:, None] == truth)[upper]

    def plain(eps):
        near = distances <= eps
        core = near.sum(axis=1) >= minimum
        labels, cluster = np.full(n, -1), 0
        for start in range(n):
            if labels[start] >= 0 or not core[start]:
                continue
            stack = [start]
            labels[start] = cluster
            while stack:
                for other in np.flatnonzero(near[stack.pop()]).tolist():
                    if labels[other] < 0:
                        labels[other] = cluster
                        if core[other]:
                            stack.append(other)
            cluster += 1
        together = (labels[:, None] == labels) & (labels[:, None] >= 0)
        return float((together[upper] == same).mean())

    family = ct.DensityClustering(eps=(0.05, 2.0), min_samples=minimum)
    return family, ct.DensityInstance(distances, truth), None, plain


def threshold(rng):
    n = int(rng.integers(3, 30))
    scores, truth = rng.integers(0, 40, n) / 40, rng.random(n) < 0.5
    truth[0] = True

    def plain(level):
        called = scores >= level
        hits = int((called & truth).sum())
        precise = called.any() and 4 * hits >= 3 * int(called.sum())
        return hits / int(truth.sum()) if precise else 0.0

    family = ct.ConstrainedThreshold(min_precision=0.75)
    return family, ct.ScoredInstance(scores, truth), None, plain


SHELF = [
    knapsack, set_cover, bin_packing, independent_set, alignment, neighbors, pruning, dbscan,
    threshold,
]  # fmt: skip


def compare(make, rng, tally):
    family, instance, line, plain = make(rng)
    dual = family.dual(instance) if line is None else family.dual(instance, line)
    points = rng.uniform(dual.low, dual.high, POINTS_PER_FUNCTION)
    if len(dual.breakpoints):
        ends = np.sort(dual.breakpoints.ravel())
        after = np.searchsorted(ends, points)
        gaps = [abs(ends[np.clip(after + k, 0, len(ends) - 1)] - points) for k in (-1, 0)]
        points = points[np.minimum(*gaps) > CLOSE * max(1.0, dual.high)]
    if make is alignment:
        points = points[:20]  # one run of the program at each
    for t, value in zip(points.tolist(), dual(points).tolist(), strict=True):
        expected = plain(t)
        if make is alignment:
            # Several alignments may be best: the score of the one that is found must be.
            setting = line.at(t)
            agrees = family.run(instance, setting) == value
            agrees = agrees and abs(score_of(family, instance, setting) - expected) < 1e-9
        else:
            agrees = abs(expected - value) < 1e-9
        tally[make.__name__] += 1
        if not agrees:
            tally["different"] += 1
            print(f"{make.__name__} at {t!r}: {value!r}, plain {expected!r}\n{instance!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=900_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, tally, began = np.random.default_rng(options.seed), Counter(), time.process_time()
    tally["different"] = 0
    while sum(tally.values()) - tally["different"] < options.points:
        for make in SHELF:
            compare(make, rng, tally)
    different = tally.pop("different")
    counts = ", ".join(f"{name} {count}" for name, count in tally.items())
    print(f"{sum(tally.values())} points, {different} different: {counts}")
    print(f"{time.process_time() - began:.0f} s of CPU, seed {options.seed}")
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main()
