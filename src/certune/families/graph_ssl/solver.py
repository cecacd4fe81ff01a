"""Soft labels in doubles, with a bound of their error."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from certune.families.graph_ssl.course import FloatArray, doubled
from certune.families.graph_ssl.graph import Graph
from certune.kernels.gth import eliminate, fill_weights, substitute
from certune.kernels.gth_wide import transition_shares

UNIT = 2.0**-53
# Exponents of edges that matter, within which weights are ordinary doubles (see the theory page).
DOUBLE_RANGE = 600.0


def error_bound(n: int) -> float:
    """Bound of the error of every soft label of a graph with n nodes to be labelled.

    A relative change of all weights by at most eta changes a soft label by at most
    ``eta sqrt(n) / 2`` (``docs/theory/harmonic-labeling.md``). Weights are within 11 units, every
    block of four eliminations changes the remaining graph by 22 units, and the substitution adds 6
    units for each node.
    """
    root = float(np.sqrt(n))
    return 1.01 * UNIT * (2 * n * root + 17 * root + 6 * n)


class PointSolver:
    """Soft labels of a graph at any rates, with work arrays that are used again."""

    def __init__(self, graph: Graph) -> None:
        n, k = graph.n_nodes, graph.n_classes
        self.graph = graph
        self.weights = np.zeros((n, n))
        self.classes = np.zeros((n, k))
        self.sums = np.zeros(n)
        self.error = error_bound(n)
        self.is_wide = False

    def solve(self, rates: Sequence[Fraction], shift: float, is_wide: bool) -> FloatArray:
        """Soft labels (n, classes) at rates; ``shift`` is about the smallest exponent."""
        graph, soft = self.graph, np.zeros(self.classes.shape)
        high, low = doubled(list(rates))
        self.is_wide = is_wide
        if is_wide:
            shares = transition_shares(
                graph.between,
                graph.to_labelled,
                graph.is_edge,
                graph.is_edge_to_labelled,
                graph.class_of,
                high,
                low,
                graph.n_classes,
            )
            n = graph.n_nodes
            self.weights[:], self.classes[:] = shares[:, :n], shares[:, n:]
            self.sums[:] = 1.0
        else:
            fill_weights(
                graph.between,
                graph.to_labelled,
                graph.is_edge,
                graph.is_edge_to_labelled,
                graph.class_of,
                high,
                low,
                shift,
                self.weights,
                self.classes,
            )
            if not eliminate(self.weights, self.classes, self.sums):
                raise AssertionError("every node reaches a label")
        substitute(self.weights, self.classes, self.sums, soft)
        return soft
