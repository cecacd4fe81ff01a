"""The programs on certune's shelf, written down a second time.

Each returns a utility from an instance and parameters by name, as certune's documentation says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from certune_check.decisions import Refuted
from certune_check.numbers import argmax, argsort, exp, power

Parameters = Mapping[str, Any]


def greedy_knapsack(x: Any, parameters: Parameters) -> Fraction:
    """Items by value / size^rho as long as they fit; value over that of the relaxed problem."""
    scores = [v / power(s, parameters["rho"]) for v, s in zip(x.values, x.sizes, strict=True)]
    room, packed = x.capacity, Fraction(0)
    for item in argsort(scores, descending=True):
        if x.sizes[item] <= room:
            room, packed = room - x.sizes[item], packed + x.values[item]
    room, most = x.capacity, Fraction(0)
    for _, v, s in sorted((s / v, v, s) for v, s in zip(x.values, x.sizes, strict=True)):
        share = min(Fraction(1), room / s)
        room, most = room - share * s, most + share * v
    return packed / most


def greedy_set_cover(x: Any, parameters: Parameters) -> Fraction:
    """Again and again the set with the most new elements / cost^rho; the share of cost saved."""
    missing = set().union(*x.sets)
    spent = Fraction(0)
    while missing:
        sets = [i for i, members in enumerate(x.sets) if missing & set(members)]
        gains = [len(missing & set(x.sets[i])) for i in sets]
        prices = [power(x.costs[i], parameters["rho"]) for i in sets]
        best = sets[argmax([gain / price for gain, price in zip(gains, prices, strict=True)])]
        spent += x.costs[best]
        missing -= set(x.sets[best])
    return 1 - Fraction(spent / sum(x.costs))


def vector_bin_packing(x: Any, parameters: Parameters) -> Fraction:
    """First fit, by first^rho second^(1 - rho); a bound of the number of bins over that number."""
    rho, sizes = parameters["rho"], list(zip(x.first, x.second, strict=True))
    bins: list[list[Fraction]] = []
    for item in argsort([power(a, rho) * power(b, 1 - rho) for a, b in sizes], descending=True):
        a, b = sizes[item]
        place = next((own for own in bins if a <= own[0] and b <= own[1]), None)
        if place is None:
            place = [Fraction(1), Fraction(1)]
            bins.append(place)
        place[0], place[1] = place[0] - a, place[1] - b
    return Fraction(max(-int(-sum(x.first) // 1), -int(-sum(x.second) // 1)), len(bins))


def density_clustering(x: Any, parameters: Parameters, min_samples: str) -> Fraction:
    """DBSCAN: core points within eps share a cluster, others join the first one that reaches them.

    The Rand index, where noise is together with nothing.
    """
    if int(min_samples) < 1:
        raise Refuted(f"min_samples = {min_samples} is below 1")
    n = len(x.truth)
    is_near = {d: d <= parameters["eps"] for d in sorted({d for row in x.distances for d in row})}
    near = [[j for j in range(n) if is_near[x.distances[i][j]]] for i in range(n)]
    core = [len(others) >= int(min_samples) for others in near]
    labels = [-1] * n
    for seed in range(n):
        if not core[seed] or labels[seed] != -1:
            continue
        label, pending = max(labels) + 1, [seed]
        while pending:
            point = pending.pop()
            if labels[point] == -1:
                labels[point] = label
                pending += near[point] if core[point] else []
    pairs = list(combinations(range(n), 2))
    same = [[own[i] == own[j] != -1 for i, j in pairs] for own in (labels, x.truth)]
    return Fraction(sum(a == b for a, b in zip(*same, strict=True)), len(pairs))


def neighbor_voting(x: Any, parameters: Parameters, n_neighbors: str) -> Fraction:
    """Neighbours vote with exp(-gamma distance); ties go to the class that is met first."""
    right = 0
    for row, truth in zip(x.distances, x.truth, strict=True):
        nearest = sorted(range(len(row)), key=lambda i: (row[i], i))[: int(n_neighbors)]
        classes = list(dict.fromkeys(x.labels[i] for i in nearest))
        votes = [
            sum(exp(-parameters["gamma"] * Fraction(row[i])) for i in nearest if x.labels[i] == c)
            for c in classes
        ]
        right += classes[argmax(votes)] == truth
    return Fraction(right, len(x.truth))


def cost_complexity_pruning(x: Any, parameters: Parameters) -> Fraction:
    """A branch becomes a leaf where that costs at most ccp_alpha for each leaf saved; accuracy."""

    def pruned(node: int) -> tuple[Fraction, list[int]]:
        leaf = x.risks[node], [node]
        if x.left[node] == -1:
            return leaf
        parts = pruned(x.left[node]), pruned(x.right[node])
        risk, leaves = parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
        price = parameters["ccp_alpha"] * (len(leaves) - 1)
        return leaf if price >= x.risks[node] - risk else (risk, leaves)

    return Fraction(sum(x.correct[leaf] for leaf in pruned(0)[1]), x.n_validation)


def constrained_threshold(x: Any, parameters: Parameters, min_precision: str) -> Fraction:
    """The share of the positives that score at least the threshold, if enough of these are."""
    if not 0 <= Fraction(min_precision) <= 1:
        raise Refuted(f"min_precision = {min_precision} is not in [0, 1]")
    is_called = {score: score >= parameters["threshold"] for score in sorted(set(x.scores))}
    called = [
        positive for score, positive in zip(x.scores, x.positive, strict=True) if is_called[score]
    ]
    if not called or Fraction(sum(called), len(called)) < Fraction(min_precision):
        return Fraction(0)
    return Fraction(sum(called), sum(x.positive))


SHELF: dict[str, Callable[..., Any]] = {
    "GreedyKnapsack": greedy_knapsack,
    "GreedySetCover": greedy_set_cover,
    "VectorBinPacking": vector_bin_packing,
    "DensityClustering": density_clustering,
    "NeighborVoting": neighbor_voting,
    "CostComplexityPruning": cost_complexity_pruning,
    "ConstrainedThreshold": constrained_threshold,
}
