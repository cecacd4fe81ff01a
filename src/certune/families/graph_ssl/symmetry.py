"""Ties that hold for every parameter because the graph is symmetric.

If exchanging two classes leaves the graph as a node sees it unchanged, both have the same soft
label there, at every bandwidth, and no arithmetic can tell them apart.  Colour refinement finds
this: colour the nodes of the graph and of its copy with the two classes exchanged, and split
colours until nodes of one colour see, along edges of each length, the same number of nodes of each
other colour.  Soft labels are then a function of the colour (``docs/theory/harmonic-labeling.md``),
so a node that has the colour of its copy is tied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import UNIT
from certune.kernels.graph import Joined, gates

# More than what a product or a sum loses by underflow.
TINY = 1e-300
# Floats are whole multiples of two to the power 1 - FINEST.
FINEST = 1075


class Symmetry:
    """Symmetric ties of a graph, found when asked for.

    Two classes: a tie goes to the second one (soft label at least one half, as in
    ``sec:graph-based-SSL``). More classes: to the lowest.

    Parameters
    ----------
    graph : Graph
        The edges.
    weights : sequence of Fraction, optional
        Weights of the metrics up to a common factor, if they are fixed: edges of one combined
        length then look alike. Otherwise they must agree in every metric.
    """

    def __init__(self, graph: Graph, weights: Sequence[Fraction] | None = None) -> None:
        self._graph = graph
        self._weights = weights
        self._tied: dict[tuple[int, int], NDArray[np.bool_]] = {}

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return _edge_codes(self._graph, self._weights)

    def without_ties(self, node: int, classes: list[int]) -> list[int]:
        """Of these classes of a node, the ones that lose no symmetric tie to another of them."""
        kept: list[int] = []
        ordered = sorted(classes, reverse=self._graph.n_classes == 2)
        for c in ordered:
            if not any(self.tied(d, c)[node] for d in kept):
                kept.append(c)
        return sorted(kept)

    def tied(self, first: int, second: int) -> NDArray[np.bool_]:
        """For every node whether two classes are tied by symmetry. O(r n^2 log n), r rounds."""
        pair = min(first, second), max(first, second)
        if pair not in self._tied:
            self._tied[pair] = self._tied_nodes(*pair)
        return self._tied[pair]

    @cached_property
    def colours(self) -> NDArray[np.int64]:
        """Colour of every node: nodes of one colour have the same soft labels."""
        if self._all_see_different_labels():
            return np.arange(self._graph.n_nodes)
        return np.asarray(self._refine(self._graph.class_of[None])[0])

    def _all_see_different_labels(self) -> bool:
        """Whether the edges to labelled points, of one metric, tell all nodes apart."""
        graph = self._graph
        if len(graph.to_labelled) > 1:
            return False
        lengths = np.where(graph.is_edge_to_labelled, graph.to_labelled[0], -1.0)
        views = [np.sort(lengths[:, graph.class_of == c], axis=1) for c in range(graph.n_classes)]
        return len(np.unique(np.concatenate(views, axis=1), axis=0)) == graph.n_nodes

    def _tied_nodes(self, first: int, second: int) -> NDArray[np.bool_]:
        swap = np.arange(self._graph.n_classes)
        swap[[first, second]] = second, first
        classes = self._graph.class_of
        colours = self._refine(np.stack([classes, swap[classes]]))
        return np.asarray(colours[0] == colours[1])

    def _refine(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Colours (copies, n) of copies of the graph, in which labelled points have ``labels``."""
        n, n_classes, copies = self._graph.n_nodes, self._graph.n_classes, len(labels)
        colours = np.zeros((copies, n), dtype=np.int64)
        n_colours = 1
        while True:
            # Labelled points have the colours below n_classes, for good.
            seen = np.concatenate([colours + n_classes, labels], axis=1)[:, None]
            views = self._codes * (n_classes + n_colours) + seen
            unseen = (self._codes == 0) | (seen == colours[:, :, None] + n_classes)
            views = np.sort(np.where(unseen, -1, views), axis=2)
            own = np.concatenate([colours[:, :, None], views], axis=2).reshape(copies * n, -1)
            new = np.unique(own, axis=0, return_inverse=True)[1].reshape(copies, n)
            count = int(new.max()) + 1
            if count in (n_colours, copies * n):
                return self._hung(new.astype(np.int64), count)
            colours, n_colours = new, count

    def _hung(self, colours: NDArray[np.int64], n_colours: int) -> NDArray[np.int64]:
        """Colours that hang on one other colour have its soft labels, and get its number."""
        graph = self._graph
        if graph.is_edge_to_labelled.any(axis=1).all():
            return colours
        joined = np.zeros((n_colours, n_colours), dtype=np.bool_)
        grounded = np.zeros((n_colours, 1), dtype=np.bool_)
        first, second = np.nonzero(graph.is_edge)
        for own in colours:
            joined[own[first], own[second]] = True
            grounded[own[graph.is_edge_to_labelled.any(axis=1)]] = True
        np.fill_diagonal(joined, False)
        return np.asarray(gates(Joined(joined, grounded))[colours])


def _edge_codes(graph: Graph, weights: Sequence[Fraction] | None) -> NDArray[np.int64]:
    """Codes (n, n + n_labelled) of edges, equal exactly if their lengths are; 0: no edge."""
    lengths = np.concatenate([graph.between, graph.to_labelled], axis=2)
    present = np.concatenate([graph.is_edge, graph.is_edge_to_labelled], axis=1)
    flat = lengths.reshape(len(lengths), -1).T
    vectors, codes = np.unique(flat, axis=0, return_inverse=True)
    if weights is not None and len(weights) > 1:
        codes = _ranks(vectors, weights)[codes.ravel()]
    return np.where(present, codes.reshape(present.shape) + 1, 0)


def _ranks(vectors: FloatArray, weights: Sequence[Fraction]) -> NDArray[np.int64]:
    """Ranks of weighted sums of rows, exactly: of equal sums the same.

    Floats tell apart what differs by more than their error: the weights over the largest one,
    products and sums of L terms that are not negative are within L + 2 units, relatively, apart
    from what underflows. The others are compared as whole numbers.
    """
    largest = max(weights) or Fraction(1)
    shares = [weight / largest for weight in weights]
    scale = math.lcm(*(share.denominator for share in shares))
    factors = [int(share * scale) for share in shares]
    rounded = vectors @ np.array([float(share) for share in shares])
    order = np.argsort(rounded, kind="stable")
    ascending = rounded[order]
    error = (4 * len(shares) + 16) * UNIT * ascending[1:] + TINY
    groups = np.split(order, np.flatnonzero(np.diff(ascending) > error) + 1)
    ranks = np.empty(len(vectors), dtype=np.int64)
    count = 0
    for group in groups:
        if len(group) == 1:
            ranks[group] = count
            count += 1
            continue
        sums = [_whole(vector, factors) for vector in vectors[group].tolist()]
        rank_of = {length: rank for rank, length in enumerate(sorted(set(sums)), count)}
        ranks[group] = [rank_of[length] for length in sums]
        count += len(rank_of)
    return ranks


def _whole(lengths: list[float], factors: list[int]) -> int:
    """Weighted sum of lengths, times a power of two that makes every float a whole number."""
    total = 0
    for factor, length in zip(factors, lengths, strict=True):
        numerator, denominator = length.as_integer_ratio()
        total += factor * (numerator << (FINEST - denominator.bit_length()))
    return total
