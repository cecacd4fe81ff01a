"""Soft labels in doubles, with a bound of their error.

Two kinds of accuracy are wanted.  A sweep needs every soft label within a bound, as fast as can be:
weights far below those that matter may be cut off.  A user who looks at one setting wants every
digit of every soft label, however small: no weight may leave the doubles, and if the doubles do not
reach, each number gets an exponent of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from certune.families.graph_ssl.course import FloatArray, doubled
from certune.families.graph_ssl.graph import Graph
from certune.kernels.graph import (
    Elimination,
    eliminate,
    fill_weights,
    substitute,
    transition_shares,
)

UNIT = 2.0**-53
# Range of the exponents of edges that matter (see the theory page): up to the first, weights are
# doubles of at most 1; up to the second, doubles of at most exp(RAISE); beyond, they need exponents
# of their own.
PLAIN_RANGE = 600.0
DOUBLE_RANGE = 1200.0
RAISE = 600.0
# Range of the exponents of *all* edges up to which doubles keep the digits of every soft label.
FULL_RANGE = 640.0


def error_bound(n: int) -> float:
    """Bound of the error of every soft label of a graph with n nodes to be labelled.

    A relative change of all weights by at most eta changes a soft label by at most
    ``eta sqrt(n) / 2`` (``docs/theory/harmonic-labeling.md``). Weights are within 11 units, every
    block of four eliminations changes the remaining graph by 22 units, and the substitution adds 6
    units for each node.
    """
    root = float(np.sqrt(n))
    return 1.01 * UNIT * (2 * n * root + 17 * root + 6 * n)


def absolute_shift(smallest: float, largest: float) -> float | None:
    """Shift of the exponents with which soft labels are within `error_bound`; None: beyond doubles.

    The arguments are those of `needed_range`.
    """
    if largest - smallest > DOUBLE_RANGE:
        return None
    return smallest + (RAISE if largest - smallest > PLAIN_RANGE else 0.0)


def relative_shift(smallest: float, largest: float) -> float | None:
    """Shift with which every soft label keeps its relative accuracy; None: beyond doubles.

    The arguments are the extreme exponents of all edges. The weakest edge gets the weight 1, so
    that the weights of n eliminated nodes add up to at least 1/n, and what underflows beside them
    is no double as a soft label either.
    """
    return largest if largest - smallest <= FULL_RANGE else None


class PointSolver:
    """Soft labels of a graph at any rates, with work arrays that are used again."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self._edges = graph, graph.edges
        self.work = Elimination.room_for(graph.n_nodes, graph.n_classes)
        self.error = error_bound(graph.n_nodes)

    def solve(self, rates: Sequence[Fraction], shift: float | None) -> FloatArray:
        """Soft labels (n, classes) at rates, all weights times exp(shift).

        Without a shift every number has an exponent of its own, at many times the cost.
        """
        doubles = doubled(list(rates))
        if shift is None:
            n, shares = self.graph.n_nodes, transition_shares(self._edges, doubles)
            self.work.weights[:], self.work.classes[:] = shares[:, :n], shares[:, n:]
            self.work.sums[:] = 1.0
        else:
            fill_weights(self._edges, doubles, shift, self.work)
            if not eliminate(self.work):
                raise AssertionError("every node reaches a label")
        return substitute(self.work)
