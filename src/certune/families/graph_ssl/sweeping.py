"""From interpolants to the exact utility along a segment.

On each panel every node is settled: parts on which its class is proved, and narrow zones in which
it changes.  Nodes that look alike always have the same class, so that one of them is enough.  How
many of them are right is then a step function with gaps where the class is open, and the utility is
the sum of these functions over the number of points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.dual import PiecewiseFunction, sum_of
from certune.families.distances import IntArray
from certune.families.graph_ssl.chebyshev import halving_matrix
from certune.families.graph_ssl.close_ties import CloseTies
from certune.families.graph_ssl.course import Course
from certune.families.graph_ssl.harmonic import Decisions, true_classes, undecided_error, winners
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.graph_ssl.interpolation import Interpolator, Panel
from certune.families.graph_ssl.polishing import Polisher
from certune.families.graph_ssl.symmetry import Symmetry
from certune.families.graph_ssl.tails import tail_start
from certune.kernels.graph import OPEN, settle

FloatArray = NDArray[np.float64]
# A zone wider than this part of its panel may be a tie by symmetry.
SUSPICIOUS = 1e-3

Winners = Callable[[float], Decisions]


@dataclass(frozen=True)
class Leaves:
    """Parts of a course: node, winner and rival (equal if proved), and the ends of the part.

    Only one node of each colour has leaves, see `Symmetry.colours`.
    """

    info: NDArray[np.int64]
    ends: FloatArray


def leaves_of(interpolator: Interpolator, symmetry: Symmetry, certified: bool) -> Leaves:
    """Parts of one node of each colour along the course, panel by panel."""
    graph = interpolator.graph
    nodes = np.unique(symmetry.colours, return_index=True)[1]
    admitted = np.ones((graph.n_nodes, graph.n_classes), dtype=np.bool_)
    polisher = Polisher(graph, interpolator.course, CloseTies(interpolator))
    infos, ends = [], []
    start = tail_start(graph, interpolator.course)
    for panel in interpolator.panels(certified, start):
        check_time()
        info, local = _settled(panel, nodes, admitted)
        suspects = _suspects(info, local)
        if suspects.size and _drop_symmetric_ties(panel, suspects, admitted, symmetry):
            info, local = _settled(panel, nodes, admitted)
        half = 0.5 * (panel.high - panel.low)
        # Measured from the nearer end, so that the rounding is relative to the result.
        position = np.where(
            local < 0.0, panel.low + half * (1.0 + local), panel.high - half * (1.0 - local)
        )
        info, position = polisher.polished(panel, admitted, info, position)
        infos.append(info)
        ends.append(position)
    high = interpolator.course.ends[1]
    if start < high:
        infos.append(_tail(interpolator, symmetry, nodes, start))
        ends.append(np.tile([start, high], (len(nodes), 1)))
    return Leaves(np.concatenate(infos), np.concatenate(ends))


def _tail(
    interpolator: Interpolator, symmetry: Symmetry, nodes: IntArray, start: float
) -> NDArray[np.int64]:
    """Leaves of the part of a course on which no class changes: they are decided at its start."""
    rates = interpolator.course.rates(Fraction(start))
    decisions = winners(interpolator.graph, rates, symmetry)
    classes = np.where(decisions.undecided, OPEN, decisions.classes)[nodes]
    return np.stack([nodes, classes, classes], axis=1)


def _settled(
    panel: Panel, nodes: IntArray, admitted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], FloatArray]:
    errors = np.full(len(nodes), panel.error)
    halving = _halving(panel.series.shape[2] - 1)
    info, local = settle(panel.series[nodes], admitted[nodes], errors, halving)
    info[:, 0] = nodes[info[:, 0]]
    return info, local


_halving = lru_cache(maxsize=128)(halving_matrix)


def _suspects(info: NDArray[np.int64], local: FloatArray) -> IntArray:
    unsettled = (info[:, 1] == OPEN) | (info[:, 1] != info[:, 2])
    wide = local[:, 1] - local[:, 0] > SUSPICIOUS
    narrow_open = info[:, 1] == OPEN
    return np.unique(info[unsettled & (wide | narrow_open), 0])


def _drop_symmetric_ties(
    panel: Panel, suspects: IntArray, admitted: NDArray[np.bool_], symmetry: Symmetry
) -> bool:
    """Take classes out of the competition that are tied by symmetry and lose by the rule."""
    dropped = False
    for node in suspects.tolist():
        classes = np.flatnonzero(admitted[node]).tolist()
        series = panel.series[node]
        equal = [
            c
            for c in classes
            if any(
                np.abs(series[c] - series[d]).sum() <= 4 * panel.error for d in classes if d != c
            )
        ]
        kept = symmetry.without_ties(node, equal)
        losers = [c for c in equal if c not in kept]
        admitted[node, losers] = False
        dropped = dropped or bool(losers)
    return dropped


def accuracy_along(
    interpolator: Interpolator,
    symmetry: Symmetry,
    instance: LabelingInstance,
    winners_at: Winners,
    certified: bool,
    name: str,
) -> PiecewiseFunction:
    """Share of unlabelled points that get their true class along the course.

    Parameters
    ----------
    interpolator : Interpolator
        The graph and the course.
    symmetry : Symmetry
        Ties and colours that hold along the course.
    instance : LabelingInstance
        Has the truth.
    winners_at : callable
        The plain algorithm at one t: decisions about all nodes.
    certified : bool
        Whether panels are proved.
    name : str
        Name of the parameter.
    """
    graph, colours = interpolator.graph, symmetry.colours
    true, n_always_right = true_classes(instance, graph)
    right = right_by_class(colours, graph.place, true, graph.n_classes)[colours]
    leaves = leaves_of(interpolator, symmetry, certified)
    counts = n_always_right, len(instance.unlabeled)
    return utility(leaves, interpolator.course, right, *counts, winners_at, name)


def right_by_class(colours: IntArray, place: IntArray, truth: IntArray, n_classes: int) -> IntArray:
    """How many points are right (colours, classes) if the nodes of a colour have a class.

    Parameters
    ----------
    colours : int64 array
        Colour of every node; those of one colour always have the same class.
    place, truth : int64 arrays
        For every point the node whose class it has, and its true class (-1: none of them).
    n_classes : int
        Number of classes.
    """
    right = np.zeros((int(colours.max()) + 1, n_classes), dtype=np.int64)
    known = truth >= 0
    np.add.at(right, (colours[place[known]], truth[known]), 1)
    return right


def utility(
    leaves: Leaves,
    course: Course,
    right: IntArray,
    n_always_right: int,
    n_unlabelled: int,
    winners_at: Winners,
    name: str,
) -> PiecewiseFunction:
    """Share of unlabelled points that get their true class, as a function of t.

    Parameters
    ----------
    leaves : Leaves
        Parts of one node of each colour.
    course : Course
        The segment.
    right : int64 array (nodes, classes)
        How many points are right if a node, and with it all of its colour, has a class.
    n_always_right, n_unlabelled : int
        Points that no label reaches and whose answer is right; all unlabelled points.
    winners_at : callable
        The plain algorithm at one t: decisions about all nodes. Asked at an end of the segment if
        a node is open there.
    name : str
        Name of the parameter.

    Raises
    ------
    UndecidedError
        If the plain algorithm cannot decide a node at an end of the segment.
    """
    node, winner, rival = leaves.info.T
    one, other = right[node, winner], right[node, rival]
    is_open = winner == OPEN
    lower = np.where(is_open, right.min(axis=1)[node], np.minimum(one, other))
    upper = np.where(is_open, right.max(axis=1)[node], np.maximum(one, other))
    constant, functions = n_always_right, []
    ends_known: dict[float, Decisions] = {}
    order = np.argsort(node, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        if lower[own].min() == upper[own].max():
            constant += int(lower[own[0]])
            continue

        def at_end(t: float, i: int = int(node[own[0]])) -> int:
            if t not in ends_known:
                ends_known[t] = winners_at(t)
            possible = ends_known[t].contenders.get(i, [int(ends_known[t].classes[i])])
            counts = {int(right[i, c]) for c in possible}
            if len(counts) > 1:
                raise undecided_error(f"the end {name} = {t!r} of the range")
            return counts.pop()

        runs = _runs(leaves.ends[own], lower[own], upper[own])
        functions.append(_correctness(runs, course, n_unlabelled, at_end, name))
    rest = Fraction(constant, n_unlabelled)
    return sum_of([PiecewiseFunction.constant(course.low, course.high, rest, name), *functions])


Run = tuple[float, float, int, int]


def _runs(ends: FloatArray, lower: IntArray, upper: IntArray) -> list[Run]:
    """Maximal intervals with the same bounds of the number of right nodes, from left to right."""
    runs: list[Run] = []
    for (low, high), least, most in zip(ends.tolist(), lower.tolist(), upper.tolist(), strict=True):
        if runs and runs[-1][1] == low and runs[-1][2:] == (least, most):
            runs[-1] = (runs[-1][0], high, least, most)
        else:
            runs.append((low, high, least, most))
    return runs


def _correctness(
    runs: list[Run],
    course: Course,
    denominator: int,
    at_end: Callable[[float], int],
    name: str,
) -> PiecewiseFunction:
    """How many nodes of one colour are right, as a function of t with gaps where it is open."""
    runs = runs[::-1] if course.reverses else runs
    pieces = []  # number of the run, interval, value
    for number, (low, high, least, most) in enumerate(runs):
        start, stop = _inner_interval(course, low, high)
        if least == most and start <= stop:
            pieces.append((number, start, stop, least))
    if not pieces or pieces[0][1] > course.low:
        pieces.insert(0, (0, course.low, course.low, at_end(course.low)))
    if pieces[-1][2] < course.high:
        pieces.append((len(runs) - 1, course.high, course.high, at_end(course.high)))
    lower, upper = [], []
    for before, after in pairwise(pieces):
        between = runs[before[0] : after[0] + 1]
        lower.append(min(before[3], after[3], *(run[2] for run in between)))
        upper.append(max(before[3], after[3], *(run[3] for run in between)))
    _, starts, stops, values = zip(*pieces, strict=True)
    return PiecewiseFunction(starts, stops, values, lower, upper, denominator, name)


def _inner_interval(course: Course, low: float, high: float) -> tuple[float, float]:
    """An interval of t inside one of z, up to the ends of the segment."""
    first, last = course.ends
    if course.reverses:
        start = course.low if high == last else course.position(high) + course.position_error(high)
        stop = course.high if low == first else course.position(low) - course.position_error(low)
    else:
        start = course.low if low == first else course.position(low) + course.position_error(low)
        stop = course.high if high == last else course.position(high) - course.position_error(high)
    return max(start, course.low), min(stop, course.high)
