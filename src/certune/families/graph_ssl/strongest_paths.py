"""Labels at small bandwidths: every node follows its strongest path.

Join the nodes by the edges of the minimum spanning tree to the labels, the shortest first.  When a
set S of nodes without a label is joined to one with a label, every other edge that leaves S is no
shorter, and all edges inside of the tree of S are no longer.  A random walk from u in S follows the
path to the label rather than leave through one of the other edges but for a probability of at most

    (sum of the weights of these edges) * (resistance of the path),

a sum of terms exp(-(length of the edge - length of the step) / sigma**2), none of which grows when
sigma falls.  Below the bandwidth at which that is less than one half, u keeps its class
(``docs/theory/harmonic-labeling.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certune.families.distances import IntArray
from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.graph import Graph
from certune.kernels.graph import spanning_tree

# More than the rounding of a few thousand exponentials and sums, relatively.
SLACK = 1.001
EXPONENT_ROUNDING = 2.0**-48
PASSES = 8


@dataclass(frozen=True)
class _Joining:
    """Nodes that one edge joins to a label, and for each its steps to the node behind that edge.

    ``steps`` are lengths of tree edges, padded by -inf; ``length`` is the longest of them, that of
    the joining edge.
    """

    nodes: IntArray
    behind: int
    length: float
    steps: FloatArray
    winner: int


class StrongestPaths:
    """For every node the class at small bandwidths, and from where on it is proved.

    Parameters
    ----------
    graph : Graph
        The edges.
    weights : float64 array (L,)
        Weights of the metrics; exponents are the combined lengths times a rate.
    largest_rate : float
        Up to which bounds are to hold.
    """

    def __init__(self, graph: Graph, weights: FloatArray, largest_rate: float) -> None:
        self._graph = graph
        self._combined = graph.combined(weights)
        edges = graph.is_edge, graph.is_edge_to_labelled
        self._lengths = np.concatenate(
            [np.where(own, part, np.inf) for own, part in zip(edges, self._combined, strict=True)],
            axis=1,
        )
        farthest = float(self._lengths[np.isfinite(self._lengths)].max(initial=0.0))
        # Lengths are rounded, and differences that should be 0 or more may be a little less.
        self._slack = SLACK * math.exp(min(EXPONENT_ROUNDING * largest_rate * farthest, 700.0))

    @cached_property
    def classes(self) -> IntArray:
        """Class of the label at the end of the strongest path of every node."""
        result = np.empty(self._graph.n_nodes, dtype=np.int64)
        for joining in self._joinings:
            result[joining.nodes] = joining.winner
        return result

    def doubts(self, rate: float) -> FloatArray:
        """For every node a bound of what other classes have of it, at this rate and above.

        O(n^2) for each pass; in all but the first one a walk that leaves the set of a node for
        another node of the same class is lost only as far as that one is.
        """
        graph, n = self._graph, self._graph.n_nodes
        doubt = np.ones((graph.n_classes, n + len(graph.class_of)))
        for c in range(graph.n_classes):
            doubt[c, n:] = graph.class_of != c
        leaving, resistance = [], []
        for joining in self._joinings:
            longer = np.maximum(self._lengths[joining.nodes] - joining.length, 0.0)
            weights = np.exp(-rate * longer).sum(axis=0)
            weights[joining.nodes] = 0.0
            leaving.append(weights)
            steps = np.exp(rate * (joining.steps - joining.length))
            resistance.append(self._slack * steps.sum(axis=1))
        result = np.ones(n)
        for _ in range(PASSES):
            for joining, weights, path in zip(self._joinings, leaving, resistance, strict=True):
                own = doubt[joining.winner]
                found = path * float(weights @ own) + own[joining.behind]
                result[joining.nodes] = np.minimum(result[joining.nodes], found)
                own[joining.nodes] = result[joining.nodes]
        return result

    @cached_property
    def _joinings(self) -> list[_Joining]:
        """Sets of nodes in the order in which the shortest edges join them to labels."""
        graph, n = self._graph, self._graph.n_nodes
        tree = spanning_tree(self._combined, graph.joined)
        above = np.where(tree.parent == n, n + tree.via, tree.parent)
        lengths = self._lengths[np.arange(n), above]
        neighbours: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        grounded = np.zeros(n + len(graph.class_of), dtype=np.bool_)
        grounded[n:] = True
        winner = np.concatenate([np.full(n, -1), graph.class_of])
        found = []
        for i in np.argsort(lengths, kind="stable").tolist():
            j, length = int(above[i]), float(lengths[i])
            if grounded[i] or grounded[j]:
                inner, behind = (i, j) if grounded[j] else (j, i)
                joining = _followed(neighbours, inner, behind, length, int(winner[behind]))
                found.append(joining)
                grounded[joining.nodes] = True
                winner[joining.nodes] = joining.winner
            else:
                neighbours[i].append((j, length))
                neighbours[j].append((i, length))
        return found


def _followed(
    neighbours: list[list[tuple[int, float]]], inner: int, behind: int, length: float, winner: int
) -> _Joining:
    """All nodes that reach an edge along shorter ones, with the steps of their paths."""
    steps = {inner: [length]}
    pending = [inner]
    while pending:
        node = pending.pop()
        for other, step in neighbours[node]:
            if other not in steps:
                steps[other] = [*steps[node], step]
                pending.append(other)
    longest = max(len(own) for own in steps.values())
    padded = [own + [-math.inf] * (longest - len(own)) for own in steps.values()]
    return _Joining(np.array(list(steps)), behind, length, np.array(padded), winner)
