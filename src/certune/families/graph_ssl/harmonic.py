"""Soft and hard labels at one setting: the harmonic method with certified decisions.

Floats propose: elimination without subtraction gives every soft label within `error_bound`.
Where the lead of the winner is not larger than that, it is decided by the symmetry of the graph or
in ball arithmetic of growing precision.  What agrees to the last precision stays undecided: it is
reported, and a utility that depends on it is an `UndecidedError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certune.errors import UndecidedError
from certune.families.distances import IntArray
from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.exponents import extremes, needed_range
from certune.families.graph_ssl.graph import BoolArray, Graph
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.graph_ssl.limits import limit_rates
from certune.families.graph_ssl.solver import PointSolver, absolute_shift, relative_shift
from certune.families.graph_ssl.symmetry import Symmetry

# Bits of soft labels that are compared one after the other; the first ones at any size, the others
# as long as n**2 bits**1.5, about the time, is no more than this.
BALL_BITS = (128, 512, 2048, 8192, 32768, 131072)
ALWAYS = 3
LARGEST_WORK = 2.5e10


class Decisions(NamedTuple):
    """The class (column) of every node; where several could not be told apart, all of them."""

    classes: IntArray
    contenders: dict[int, list[int]]

    @property
    def undecided(self) -> BoolArray:
        """For every node whether several classes could not be told apart."""
        result = np.zeros(len(self.classes), dtype=np.bool_)
        result[list(self.contenders)] = True
        return result

    def count_right(self, place: IntArray, true: IntArray, where: str) -> int:
        """How many points get their true class.

        Parameters
        ----------
        place, true : int64 arrays
            For every point the node whose class it has, and its true class (-1: none of them).
        where : str
            Words for the setting.

        Raises
        ------
        UndecidedError
            If that depends on a node at which classes could not be told apart.
        """
        for node, classes in self.contenders.items():
            if np.isin(true[place == node], classes).any():
                raise undecided_error(where)
        return int(np.sum(self.classes[place] == true))


def undecided_error(where: str) -> UndecidedError:
    """Nobody knows which of several classes wins, and a utility depends on it."""
    return UndecidedError(
        f"at {where} two classes agree in every digit that was computed, so that the label of a "
        "point is not decided: use a larger sigma, which tells them apart with fewer digits"
    )


def check_size(graph: Graph, rates: Sequence[Fraction]) -> None:
    """Raise `ParameterError` if the exponents of edges that matter are too large to handle."""
    if graph.n_nodes:
        rates = limit_rates(graph, rates)
        needed_range(graph, [graph.combined(np.array([float(rate) for rate in rates]))])


def soft_labels(graph: Graph, rates: Sequence[Fraction]) -> tuple[FloatArray, float]:
    """Soft labels (n, classes) at rates with all their digits, and a bound of their error.

    Labels that are normal doubles have a small relative error, too.
    """
    if graph.n_nodes == 0:
        return np.zeros((0, graph.n_classes)), 0.0
    exponents = graph.combined(np.array([float(rate) for rate in rates]))
    needed_range(graph, [exponents])
    solver = PointSolver(graph)
    return solver.solve(rates, relative_shift(*extremes(graph, exponents))), solver.error


def winners(graph: Graph, rates: Sequence[Fraction], symmetry: Symmetry) -> Decisions:
    """The class (column) of every node at rates, each decision certain.

    Classes whose soft labels agree to the last of the precisions that are tried are contenders;
    the one that would win a tie stands in ``classes``.
    """
    rates = limit_rates(graph, rates)
    exponents = graph.combined(np.array([float(rate) for rate in rates]))
    solver = PointSolver(graph)
    soft = solver.solve(rates, absolute_shift(*needed_range(graph, [exponents])))
    lead = soft.max(axis=1, keepdims=True) - soft
    candidates = lead <= 2 * solver.error
    result: IntArray = np.argmax(soft, axis=1).astype(np.int64)
    questions: dict[int, list[int]] = {}
    for node in np.flatnonzero(candidates.sum(axis=1) > 1).tolist():
        questions[node] = symmetry.without_ties(node, np.flatnonzero(candidates[node]).tolist())
    for bits in _precisions(graph.n_nodes):
        if all(len(classes) == 1 for classes in questions.values()):
            break
        questions = _with_balls(graph, rates, questions, bits)
    for node, classes in questions.items():
        result[node] = tie_winner(classes, graph.n_classes)
    return Decisions(result, {node: own for node, own in questions.items() if len(own) > 1})


def tie_winner(classes: Iterable[int], n_classes: int) -> int:
    """The class that wins a tie: the second of two, as in the paper; the lowest of more."""
    return max(classes) if n_classes == 2 else min(classes)


def true_classes(instance: LabelingInstance, graph: Graph) -> tuple[IntArray, int]:
    """True column of every point in reach (-1: none, or it does not count), and right others.

    These are the points out of reach of every label whose answer is right.
    """
    assert instance.truth is not None
    column_of = np.full(len(instance.class_names), -1)
    column_of[graph.classes] = np.arange(graph.n_classes)
    columns = np.full(instance.n_points, -1)
    columns[instance.scored] = column_of[instance.truth[instance.scored]]
    unreached = columns[instance.unlabeled[~np.isin(instance.unlabeled, graph.points)]]
    winner = tie_winner(range(graph.n_classes), graph.n_classes)
    return columns[graph.points], int(np.sum(unreached == winner))


def _precisions(n: int) -> list[int]:
    more = [bits for bits in BALL_BITS[ALWAYS:] if n**2 * bits**1.5 <= LARGEST_WORK]
    return [*BALL_BITS[:ALWAYS], *more]


def _with_balls(
    graph: Graph, rates: Sequence[Fraction], questions: dict[int, list[int]], bits: int
) -> dict[int, list[int]]:
    """What remains of the classes of each node when soft labels are balls of so many bits."""
    from certune.families.graph_ssl.balls import ball_labels

    soft = ball_labels(graph, rates, bits)
    return {
        node: [c for c in classes if not any(bool(soft[d][node] > soft[c][node]) for d in classes)]
        for node, classes in questions.items()
    }
