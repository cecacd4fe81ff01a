"""Soft and hard labels at one setting: the harmonic method with certified decisions.

Floats propose: elimination without subtraction gives every soft label within `error_bound`.
Where the lead of the winner is not larger than that, it is decided by the symmetry of the graph or
in ball arithmetic, or the question stays open and is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from certune.errors import UndecidedError
from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.instance import IntArray
from certune.families.graph_ssl.solver import PointSolver
from certune.families.graph_ssl.symmetry import Symmetry

if TYPE_CHECKING:
    from flint import arb

# Bits of soft labels that are compared before two of them count as equal.
BALL_BITS = (128, 512, 2048)


def _range_at(graph: Graph, rates: Sequence[Fraction]) -> tuple[float, float]:
    return needed_range(graph, [graph.combined(np.array([float(rate) for rate in rates]))])


def soft_labels(graph: Graph, rates: Sequence[Fraction]) -> tuple[FloatArray, float]:
    """Soft labels (n, classes) at rates, and a bound of their error."""
    if graph.n_nodes == 0:
        return np.zeros((0, graph.n_classes)), 0.0
    smallest, largest = _range_at(graph, rates)
    solver = PointSolver(graph)
    return solver.solve(rates, smallest, largest), solver.error


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
        result[[node for node, _ in remaining]] = _decided_by_balls(graph, rates, remaining)
    return result


def _decided_by_balls(
    graph: Graph, rates: Sequence[Fraction], questions: list[tuple[int, list[int]]]
) -> list[int]:
    from certune.families.graph_ssl.balls import ball_labels

    for bits in BALL_BITS:
        soft = ball_labels(graph, rates, bits)
        answers = [_largest(soft, node, classes) for node, classes in questions]
        if None not in answers:
            return [answer for answer in answers if answer is not None]
    node, classes = questions[answers.index(None)]
    raise UndecidedError(
        f"the classes with the codes {graph.classes[classes].tolist()} of point "
        f"{graph.nodes[node]} cannot be told apart at the rates "
        f"{[float(rate) for rate in rates]}: their soft labels agree to {BALL_BITS[-1]} bits; "
        "move the parameter a little"
    )


def _largest(soft: list[list[arb]], node: int, classes: list[int]) -> int | None:
    for c in classes:
        if all(bool(soft[c][node] > soft[d][node]) for d in classes if d != c):
            return c
    return None
