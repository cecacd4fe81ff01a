"""Linkage clustering as a plain program on numbers that depend on a parameter.

Clusters are joined by nearest-neighbour chains. That gives the tree of the greedy algorithm because
joining the nearest pair brings no third cluster nearer: the distance of a union lies between those
of its parts (a weighted mean, or monotone in smallest and largest distance), or is at least the
smaller one (energies, by Ward's update). Among equally near pairs the one with the smallest sorted
pair of highest members counts as nearest. So two clusters that are nearest to each other stay so
until they are joined, whatever is joined before. A plain cut needs the order of all merges, and
takes the greedy algorithm itself.

The tree is pruned to k clusters of the lowest cost, and these are compared with the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx

from certune_check.instances import Points
from certune_check.numbers import Impossible, Number, Unsupported, log, number, power

Cluster = frozenset[int]
Pair = tuple[Cluster, Cluster]
Score = Callable[[tuple[int, ...], tuple[Cluster, ...]], Fraction]
UNDER = Fraction(1, 2**40)  # how far a float utility may be from its formula
MOST_CLASSES = 16


class Rule(NamedTuple):
    """What is fixed of the merge rule, and how the parameters depend on t.

    ``infinite`` is -1 for single linkage, 1 for complete linkage, else 0.
    """

    kind: str
    alphas: list[Number]
    weights: list[Number]
    infinite: int = 0


class Linkage:
    """Linkage on one instance; calling it clusters at the current place and returns the utility."""

    def __init__(self, points: Points, rule: Rule, objective: str, score: Score) -> None:
        self._points, self._rule, self._score, self._objective = points, rule, score, objective
        if objective != "cut":
            self._reference = _reference(points.distances, objective)
        pairs = list(combinations(range(len(points.target)), 2))
        vectors = [tuple(map(Fraction, points.distances[:, i, j].tolist())) for i, j in pairs]
        self._vectors = {
            frozenset(pair): vector for pair, vector in zip(pairs, vectors, strict=True)
        }
        self._copies = {pair for pair, vector in self._vectors.items() if not any(vector)}
        self._counted, self._sum = cache(self._counted), cache(self._sum)  # type: ignore[method-assign]
        self._difference = cache(self._difference)  # type: ignore[method-assign]
        self._pruned, self._scored = cache(self._pruned), cache(self._scored)  # type: ignore[method-assign]

    def __call__(self) -> Fraction:
        """Cluster and prune, and return the utility."""
        sense = self._sense()
        clusters: list[Cluster] = [frozenset([i]) for i in range(len(self._points.target))]
        if self._objective == "cut":
            return self._scored(self._cut(clusters, sense))
        trees: dict[Cluster, Any] = {cluster: min(cluster) for cluster in clusters}
        steps: list[Cluster] = []
        while len(clusters) > 1:
            steps = steps or [clusters[0]]
            pairs = [(steps[-1], other) for other in clusters if other != steps[-1]]
            nearest = self._nearest(pairs, sense)[1]
            if nearest not in steps:
                steps.append(nearest)
            elif nearest != steps[-2]:
                raise Impossible  # every step is shorter than the one before, so none comes back
            else:
                left, right = sorted((steps.pop(), steps.pop()), key=max)
                trees[left | right] = trees.pop(left), trees.pop(right)
                clusters = [c for c in clusters if c not in (left, right)] + [left | right]
        return self._scored(self._pruned(trees[clusters[0]])[self._points.k][1])

    def _cut(self, clusters: list[Cluster], sense: int) -> tuple[Cluster, ...]:
        """The clusters before the last k - 1 merges, by the greedy algorithm itself."""
        while len(clusters) > self._points.k:
            a, b = self._nearest(list(combinations(clusters, 2)), sense)
            clusters = [c for c in clusters if c not in (a, b)] + [a | b]
        return tuple(clusters)

    def _nearest(self, pairs: list[Pair], sense: int) -> Pair:
        nearest = pairs[0]
        for pair in pairs[1:]:
            nearest = pair if self._is_nearer(pair, nearest, sense) else nearest
        return nearest

    def _scored(self, labels: tuple[Cluster, ...]) -> Fraction:
        return self._score(self._points.target, labels)

    def _sense(self) -> int:
        """1 if smaller sums are nearer, -1 if larger ones are, 0 if logarithms are compared."""
        if self._rule.infinite:
            return 1
        if not any([alpha.sign() for alpha in self._rule.alphas]):
            return 0
        return -1 if sum(self._rule.alphas, number(0)).sign() < 0 else 1

    def _is_nearer(self, first: Pair, second: Pair, sense: int) -> bool:
        """Whether a pair of clusters is nearer than another; copies of a point are joined first."""
        is_copy = [frozenset(map(min, pair)) in self._copies for pair in (first, second)]
        order = int(is_copy[1]) - int(is_copy[0])
        if not any(is_copy):
            terms = self._between(*first), self._between(*second)
            order = self._difference(*terms, sense).sign() * (sense or 1)
        ties = sorted(map(max, first)) < sorted(map(max, second))
        return ties if order == 0 else order < 0

    def _between(self, a: Cluster, b: Cluster) -> tuple[Any, ...]:
        """What the distance of two clusters is made of: pairs of points, and what they weigh."""
        pairs = sorted(self._vectors[frozenset((i, j))] for i in a for j in b)
        if self._rule.kind == "min-max" or self._rule.infinite:
            ends = [choose(pairs, key=lambda v: self._counted(v, None)) for choose in (min, max)]
            ends = ends[max(self._rule.infinite, 0) :][:1] if self._rule.infinite else ends
            return tuple((Fraction(1), vector) for vector in ends)
        if self._rule.kind != "energy":
            return tuple((Fraction(1, len(pairs)), vector) for vector in pairs)
        size = len(a) + len(b)
        terms = [(Fraction(2, size), vector) for vector in pairs]
        for own, other in ((a, b), (b, a)):
            within = sorted(self._vectors[frozenset(pair)] for pair in combinations(own, 2))
            weight = Fraction(-2 * len(other), len(own) * size)
            terms += [(weight, vector) for vector in within if any(vector)]
        return tuple(terms)

    def _difference(self, first: tuple[Any, ...], second: tuple[Any, ...], sense: int) -> Any:
        return self._sum(first, sense) - self._sum(second, sense)

    def _sum(self, terms: tuple[Any, ...], sense: int) -> Any:
        plain = None if self._rule.infinite else sense
        return sum((weight * self._counted(vector, plain) for weight, vector in terms), number(0))

    def _counted(self, vector: tuple[Fraction, ...], sense: int | None) -> Any:
        """What a pair counts: a power of its distance, the logarithm (0), the distance (None)."""
        if self._rule.kind == "product":
            if sense == 0:
                return sum((log(x) for x in vector), number(0))
            powers = [power(x, alpha) for x, alpha in zip(vector, self._rule.alphas, strict=True)]
            return math.prod(powers, start=number(1))
        distance = sum((w * x for w, x in zip(self._rule.weights, vector, strict=True)), number(0))
        if sense is None:
            return distance
        return power(distance, self._rule.alphas[0]) if sense else log(distance)

    def _pruned(self, tree: Any) -> dict[int, tuple[int, tuple[Cluster, ...]]]:
        """For 1 to k clusters the lowest cost below a node and the clusters.

        Of equal costs the one with fewer clusters on the left counts, the side of the child whose
        highest member is lower.
        """
        if isinstance(tree, int):
            return {1: (0, (frozenset([tree]),))}
        left, right = (self._pruned(part) for part in tree)
        members = left[1][1][0] | right[1][1][0]
        best: dict[int, tuple[int, tuple[Cluster, ...]]]
        best = {1: (self._cost(members), (members,))}
        for share, rest in product(sorted(left), right):
            costs = left[share][0], right[rest][0]
            cost = max(costs) if self._objective == "k-center" else sum(costs)
            count = share + rest
            if count <= self._points.k and (count not in best or cost < best[count][0]):
                best[count] = cost, left[share][1] + right[rest][1]
        return best

    def _cost(self, members: Cluster) -> int:
        block = self._reference[np.ix_(sorted(members), sorted(members))]
        if self._objective == "k-means":
            return int(block.sum()) // 2 // len(members)
        sums = block.sum(axis=0) if self._objective == "k-median" else block.max(axis=0)
        return int(sums.min())


def _reference(distances: np.ndarray[Any, Any], objective: str) -> np.ndarray[Any, Any]:
    """Distances of the objective, rounded to whole numbers, which is part of its definition.

    The mean of the metrics over the power of two above its largest entry, squared for k-means,
    times 2^B, where B = 40 unless sums over all terms could exceed 2^62.
    """
    if objective not in ("k-median", "k-means", "k-center"):
        raise Unsupported(f"the objective {objective!r} is not known")
    n = distances.shape[1]
    total = np.zeros((n, n))
    for matrix in distances:
        total += np.ldexp(matrix, -int(np.frexp(distances.max())[1])) / len(distances)
    total = np.ldexp(total, -int(np.frexp(total.max())[1]))
    terms = n
    if objective == "k-means":
        total, terms = total * total, max(1, n * (n - 1) // 2)
    bits = min(40, 62 - (terms - 1).bit_length())
    return np.asarray(np.rint(np.ldexp(total, bits)), dtype=np.int64)


def _table(target: tuple[int, ...], labels: tuple[Cluster, ...]) -> list[list[int]]:
    classes = range(max(target) + 1)
    return [[sum(target[i] == c for i in cluster) for c in classes] for cluster in labels]


def hamming(target: tuple[int, ...], labels: tuple[Cluster, ...]) -> Fraction:
    """The share of points that are right under the best matching of clusters and classes."""
    table = _table(target, labels)
    if len(table[0]) > MOST_CLASSES:
        raise Unsupported(f"more than {MOST_CLASSES} classes")
    best = {0: 0}  # number of right points by the set of classes that are taken
    for row in table:
        step = dict(best)
        for taken, right in best.items():
            for c, count in enumerate(row):
                if not taken >> c & 1:
                    more = taken | 1 << c
                    step[more] = max(step.get(more, 0), right + count)
        best = step
    return Fraction(max(best.values()), len(target))


def adjusted_rand(target: tuple[int, ...], labels: tuple[Cluster, ...]) -> Fraction:
    """The Rand index corrected for chance."""
    table = _table(target, labels)
    both = sum(math.comb(count, 2) for row in table for count in row)
    rows = sum(math.comb(sum(row), 2) for row in table)
    columns = sum(math.comb(sum(column), 2) for column in zip(*table, strict=True))
    if both == rows == columns:
        return Fraction(1)
    chance = Fraction(rows * columns, math.comb(len(target), 2))
    return (both - chance) / (Fraction(rows + columns, 2) - chance)


def normalized_mutual_info(target: tuple[int, ...], labels: tuple[Cluster, ...]) -> Fraction:
    """Mutual information over the mean of the entropies, up to an error far below `UNDER`."""
    ctx.prec = 128
    table, n = _table(target, labels), len(target)

    def entropy(counts: list[int]) -> arb:
        return -sum((arb(c) / n * (arb(c) / n).log() for c in counts if c), arb(0))

    rows, columns = (
        [sum(row) for row in table],
        [sum(column) for column in zip(*table, strict=True)],
    )
    if len([c for c in rows if c]) == len([c for c in columns if c]) == 1:
        return Fraction(1)
    mean = (entropy(rows) + entropy(columns)) / 2
    mutual = 2 * mean - entropy([count for row in table for count in row])
    return Fraction(float((mutual / mean).mid()))


SCORES = {
    "hamming": hamming,
    "adjusted-rand": adjusted_rand,
    "normalized-mutual-info": normalized_mutual_info,
}
