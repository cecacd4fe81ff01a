"""Ties that hold for every parameter because the graph is symmetric.

If exchanging two classes leaves the graph as a node sees it unchanged, both have the same soft
label there, at every bandwidth, and no arithmetic can tell them apart.  Colour refinement finds
this: colour the nodes of the graph and of its copy with the two classes exchanged, and split
colours until nodes of one colour see, along edges of each length, the same number of nodes of each
colour.  Soft labels are then a function of the colour (``docs/theory/harmonic-labeling.md``), so a
node that has the colour of its copy is tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certune.families.graph_ssl.graph import Graph


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
        self._codes: NDArray[np.int64] | None = None
        self._tied: dict[tuple[int, int], NDArray[np.bool_]] = {}

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
            colours = self._refine(*pair)
            self._tied[pair] = colours[0] == colours[1]
        return self._tied[pair]

    @cached_property
    def colours(self) -> NDArray[np.int64]:
        """Colours of the nodes: equal ones have equal soft labels at every parameter."""
        return np.asarray(self._refine(0, 0)[0])

    def _refine(self, first: int, second: int) -> NDArray[np.int64]:
        """Colours (2, n) of the nodes of the graph and of its copy with two classes exchanged."""
        graph = self._graph
        n, n_classes = graph.n_nodes, graph.n_classes
        if self._codes is None:
            self._codes = _edge_codes(graph, self._weights)
        swap = np.arange(n_classes)
        swap[[first, second]] = second, first
        labels = np.concatenate([graph.class_of, swap[graph.class_of]]).reshape(2, -1)
        colours = np.zeros((2, n), dtype=np.int64)
        n_colours = 1
        while True:
            # Labelled points have the colours below n_classes, for good.
            seen = np.concatenate([colours + n_classes, labels], axis=1)
            views = np.sort(self._codes[None] * (n_classes + n_colours) + seen[:, None], axis=2)
            own = np.concatenate([colours[:, :, None], views], axis=2).reshape(2 * n, -1)
            new = np.unique(own, axis=0, return_inverse=True)[1].reshape(2, n)
            count = int(new.max()) + 1
            if count == n_colours:
                return np.asarray(new)
            colours, n_colours = new, count


def _edge_codes(graph: Graph, weights: Sequence[Fraction] | None) -> NDArray[np.int64]:
    """Codes (n, n + n_labelled) of edges, equal exactly if the edges have equal lengths."""
    lengths = np.concatenate([graph.between, graph.to_labelled], axis=2)
    present = np.concatenate([graph.is_edge, graph.is_edge_to_labelled], axis=1)
    flat = lengths.reshape(len(lengths), -1).T
    vectors, codes = np.unique(flat, axis=0, return_inverse=True)
    if weights is not None and len(weights) > 1:
        combined = [
            sum(w * Fraction(length) for w, length in zip(weights, vector, strict=True))
            for vector in vectors.tolist()
        ]
        code_of = {length: code for code, length in enumerate(sorted(set(combined)))}
        codes = np.array([code_of[length] for length in combined])[codes.ravel()]
    return np.where(present, codes.reshape(present.shape) + 1, 0)
