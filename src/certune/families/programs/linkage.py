"""Linkage clustering of a handful of points as a program, to hold the compiled kernels to account.

It is the greedy algorithm as one would write it down: compare all pairs of clusters, join the best
one, repeat; then try every pruning of the tree.  It shares with `certune.Linkage` the definition of
instances and utilities, and nothing of how trees and breakpoints are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from certune.errors import ParameterError
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.objective import Objective
from certune.families.linkage.utility import hamming
from certune.pfaffian.expressions.functions import log

Cluster = tuple[int, ...]


@dataclass(frozen=True)
class LinkageProgram:
    """Hamming utility of min-max or power-mean linkage in the first metric of an instance.

    Parameters
    ----------
    kind : {"min-max", "power-mean"}
        Which of ``sec:linkage``'s families M1 and M2.
    """

    kind: str = "power-mean"

    def __post_init__(self) -> None:
        if self.kind not in ("min-max", "power-mean"):
            raise ParameterError(f"kind must be 'min-max' or 'power-mean', got {self.kind!r}")

    def __call__(self, instance: ClusteringInstance, parameters: Mapping[str, Any]) -> Fraction:
        """Return the utility of the best pruning of the cluster tree."""
        merges = self.merges(instance, parameters["alpha"])
        reference = Objective("k-median").reference_matrix(instance).tolist()
        clusters = min(
            prunings(merges, instance.n_points, int(instance.k)),
            key=lambda parts: sum(_median_cost(part, reference) for part in parts),
        )
        labels = np.empty(instance.n_points, dtype=np.int64)
        for number, cluster in enumerate(clusters):
            labels[list(cluster)] = number
        return hamming(np.asarray(instance.target), labels)

    def merges(self, instance: ClusteringInstance, alpha: Any) -> list[tuple[Cluster, Cluster]]:
        """Return the pairs of clusters that are joined, in order."""
        if alpha > 0:
            sense = 1
        else:
            sense = -1 if alpha < 0 else 0
        distances = instance.distances[0]
        # At 0 logarithms take the place of powers; below 0 the order of their sums is turned round.
        values = {
            (i, j): log(distances[i, j]) if sense == 0 else distances[i, j] ** alpha
            for i, j in combinations(range(instance.n_points), 2)
        }
        clusters: list[Cluster] = [(i,) for i in range(instance.n_points)]
        merges = []
        while len(clusters) > 1:
            pairs = sorted(combinations(clusters, 2), key=_tie_rank)
            scores = [self._score(pair, values, distances) for pair in pairs]
            best = 0
            for number in range(1, len(pairs)):
                new, old = scores[number], scores[best]
                if new > old if sense < 0 else new < old:
                    best = number
            first, second = pairs[best]
            merges.append((first, second))
            clusters = [c for c in clusters if c not in (first, second)]
            clusters.append(tuple(sorted(first + second)))
        return merges

    def _score(self, pair: tuple[Cluster, Cluster], values: Any, distances: Any) -> Any:
        between = [(min(i, j), max(i, j)) for i in pair[0] for j in pair[1]]
        if self.kind == "min-max":
            least = min(between, key=lambda key: distances[key])
            most = max(between, key=lambda key: distances[key])
            return values[least] + values[most]
        total = values[between[0]]
        for key in between[1:]:
            total = total + values[key]
        return total / len(between)


def _tie_rank(pair: tuple[Cluster, Cluster]) -> tuple[int, ...]:
    """Among equal pairs, the smallest sorted pair of highest members is joined."""
    return tuple(sorted(max(cluster) for cluster in pair))


def prunings(
    merges: list[tuple[Cluster, Cluster]], n_points: int, k: int
) -> Iterator[list[Cluster]]:
    """Yield every way to cut a tree into k subtrees."""
    children = {tuple(sorted(a + b)): (a, b) for a, b in merges}

    def cuts(cluster: Cluster, parts: int) -> Iterator[list[Cluster]]:
        if parts == 1:
            yield [cluster]
        elif len(cluster) >= parts:
            left, right = children[cluster]
            for share in range(1, parts):
                for first in cuts(left, share):
                    for second in cuts(right, parts - share):
                        yield first + second

    return cuts(tuple(range(n_points)), k)


def _median_cost(cluster: Cluster, reference: list[list[int]]) -> int:
    return min(sum(reference[i][j] for j in cluster) for i in cluster)
