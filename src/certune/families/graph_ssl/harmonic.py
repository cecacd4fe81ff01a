"""Soft and hard labels at one setting: the harmonic method with certified decisions.

Floats propose: elimination without subtraction gives every soft label within `error_bound`.
Where the lead of the winner is not larger than that, it is decided by the symmetry of the graph or
in ball arithmetic, or the question stays open and is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from certune.errors import UndecidedError
from certune.families.graph_ssl.course import FloatArray, doubled
from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.instance import IntArray
from certune.families.graph_ssl.symmetry import Symmetry
from certune.kernels.gth import eliminate, fill_weights, substitute
from certune.kernels.gth_wide import transition_shares

if TYPE_CHECKING:
    from flint import arb

UNIT = 2.0**-53
# Exponents of edges that matter, within which weights are ordinary doubles (see the theory page).
DOUBLE_RANGE = 600.0
BALL_BITS = 128
LARGEST_BALL_BITS = 40_000


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


def _range_at(graph: Graph, rates: Sequence[Fraction]) -> tuple[float, float]:
    return needed_range(graph, [graph.combined(np.array([float(rate) for rate in rates]))])


def soft_labels(graph: Graph, rates: Sequence[Fraction]) -> tuple[FloatArray, float]:
    """Soft labels (n, classes) at rates, and a bound of their error."""
    if graph.n_nodes == 0:
        return np.zeros((0, graph.n_classes)), 0.0
    smallest, largest = _range_at(graph, rates)
    solver = PointSolver(graph)
    soft = solver.solve(rates, smallest, largest - smallest > DOUBLE_RANGE)
    return soft, solver.error


def winners(graph: Graph, rates: Sequence[Fraction], symmetry: Symmetry) -> IntArray:
    """The class (column) of every node at rates, each decision certain.

    Raises
    ------
    UndecidedError
        If two classes cannot be told apart and no symmetry explains why.
    """
    soft, error = soft_labels(graph, rates)
    lead = soft.max(axis=1, keepdims=True) - soft
    candidates = lead <= 2 * error
    result: IntArray = np.argmax(soft, axis=1).astype(np.int64)
    open_nodes = np.flatnonzero(candidates.sum(axis=1) > 1)
    remaining = []
    for node in open_nodes.tolist():
        classes = symmetry.without_ties(node, np.flatnonzero(candidates[node]).tolist())
        if len(classes) == 1:
            result[node] = classes[0]
        else:
            remaining.append((node, classes))
    if remaining:
        for node, winner in zip(
            [node for node, _ in remaining], _decided_by_balls(graph, rates, remaining), strict=True
        ):
            result[node] = winner
    return result


def _decided_by_balls(
    graph: Graph, rates: Sequence[Fraction], questions: list[tuple[int, list[int]]]
) -> list[int]:
    smallest, largest = _range_at(graph, rates)
    bits = BALL_BITS + 3 * int(largest - smallest)
    while bits <= LARGEST_BALL_BITS:
        soft = ball_labels(graph, rates, bits)
        answers = [_largest(soft, node, classes) for node, classes in questions]
        if None not in answers:
            return [answer for answer in answers if answer is not None]
        if bits > 8 * BALL_BITS + 6 * int(largest - smallest):
            break
        bits *= 2
    node, classes = questions[0]
    raise UndecidedError(
        f"the classes {graph.classes[classes].tolist()} (codes) of point {graph.nodes[node]} "
        f"cannot be told apart at the rates {[float(rate) for rate in rates]}: their soft labels "
        f"agree to {bits} bits; move the parameter a little"
    )


def _largest(soft: list[list[arb]], node: int, classes: list[int]) -> int | None:
    for c in classes:
        if all(bool(soft[c][node] > soft[d][node]) for d in classes if d != c):
            return c
    return None


def ball_labels(graph: Graph, rates: Sequence[Fraction], bits: int) -> list[list[arb]]:
    """Soft labels ``[class][node]`` as balls that contain the exact ones. O(n^3), slow."""
    from flint import arb, arb_mat, ctx, fmpq

    n, n_labelled = graph.n_nodes, len(graph.class_of)
    with ctx.workprec(bits):
        factors = [arb(fmpq(rate.numerator, rate.denominator)) for rate in rates]

        def weight(distances: Any) -> arb:
            return (
                -sum((f * arb(d) for f, d in zip(factors, distances, strict=True)), arb(0))
            ).exp()

        matrix = [[arb(0)] * n for _ in range(n)]
        right = [[arb(0)] * graph.n_classes for _ in range(n)]
        for i in range(n):
            for j in range(i + 1, n):
                if graph.is_edge[i, j]:
                    w = weight(graph.between[:, i, j].tolist())
                    matrix[i][j] = matrix[j][i] = -w
                    matrix[i][i] += w
                    matrix[j][j] += w
            for j in range(n_labelled):
                if graph.is_edge_to_labelled[i, j]:
                    w = weight(graph.to_labelled[:, i, j].tolist())
                    matrix[i][i] += w
                    right[i][graph.class_of[j]] += w
        try:
            solution = arb_mat(matrix).solve(arb_mat(right))
        except ZeroDivisionError:
            return [[arb(0, 1)] * n for _ in range(graph.n_classes)]
        return [[solution[i, c] for i in range(n)] for c in range(graph.n_classes)]
