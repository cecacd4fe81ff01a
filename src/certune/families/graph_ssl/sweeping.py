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
from typing import Final

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.dual import PiecewiseFunction, sum_of
from certune.families.distances import IntArray
from certune.families.graph_ssl.chebyshev import halving_matrix
from certune.families.graph_ssl.close_ties import CloseTies
from certune.families.graph_ssl.course import Course
from certune.families.graph_ssl.graph import Graph
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
# Graphs with as many nodes are followed on panels with this error first, which takes a third of the
# linear systems; zones that are left open are narrow as a rule.
LARGE = 100
COARSE = 2.0**-9
SIDES: Final = ("left", "right")

Winners = Callable[[float], Decisions]


@dataclass(frozen=True)
class Leaves:
    """Parts of a course: node, winner and rival (equal if proved), and the ends of the part.

    Only one node of each colour has leaves, see `Symmetry.colours`, and only if it matters.
    """

    info: NDArray[np.int64]
    ends: FloatArray


def leaves_of(
    interpolator: Interpolator, symmetry: Symmetry, certified: bool, polished: bool = True
) -> Leaves:
    """Parts of the interpolator's nodes, one of each colour, along the course, panel by panel.

    Unless they are polished, zones are as wide as doubles leave them.
    """
    graph, course = interpolator.graph, interpolator.course
    nodes = np.intersect1d(interpolator.nodes, np.unique(symmetry.colours, return_index=True)[1])
    settler = _Settler(interpolator, symmetry, certified, polished)
    low, high = course.ends
    start = tail_start(graph, course, nodes)
    parts = []
    if low < min(start, high) or low == high:
        parts.append(settler.leaves(low, min(start, high), nodes))
    if start < high:
        info = _tail(interpolator, symmetry, nodes, start)
        parts.append(Leaves(info, np.tile([start, high], (len(nodes), 1))))
    return _joined(parts)


def _joined(parts: list[Leaves]) -> Leaves:
    return Leaves(
        np.concatenate([part.info for part in parts]), np.concatenate([part.ends for part in parts])
    )


class _Settler:
    """Settles nodes on panels: on large graphs with coarse ones first, finer where that fails."""

    def __init__(
        self, interpolator: Interpolator, symmetry: Symmetry, certified: bool, polished: bool
    ) -> None:
        graph = interpolator.graph
        self._interpolator, self._symmetry, self._certified = interpolator, symmetry, certified
        self._admitted = np.ones((graph.n_nodes, graph.n_classes), dtype=np.bool_)
        self._polisher = None
        if polished:
            self._polisher = Polisher(graph, interpolator.course, CloseTies(interpolator))

    def leaves(self, low: float, high: float, nodes: IntArray) -> Leaves:
        """Leaves of some nodes on a part of the course."""
        if not self._certified or self._interpolator.graph.n_nodes < LARGE:
            return self._fine(low, high, nodes)
        parts = []
        for panel in self._interpolator.panels(True, low, high, COARSE):
            check_time()
            info, position = self._on_panel(panel, nodes)
            is_open = (info[:, 1] == OPEN) | (info[:, 1] != info[:, 2])
            parts.append(Leaves(info[~is_open], position[~is_open]))
            for rows in _overlapping(position, np.flatnonzero(is_open)):
                parts.append(self._finer(info[rows, 0], position[rows]))
        found = _joined(parts)
        order = np.lexsort((found.ends[:, 0], found.info[:, 0]))
        return Leaves(found.info[order], found.ends[order])

    def _finer(self, nodes: IntArray, zones: FloatArray) -> Leaves:
        """Leaves of nodes on their zones, which overlap, from fine panels on all of them."""
        found = self._fine(float(zones[:, 0].min()), float(zones[:, 1].max()), np.unique(nodes))
        order = np.argsort(found.info[:, 0], kind="stable")
        first, last = (np.searchsorted(found.info[order, 0], nodes, side) for side in SIDES)
        zone = np.repeat(np.arange(len(nodes)), last - first)
        own = order[np.arange(len(zone)) + np.repeat(last - np.cumsum(last - first), last - first)]
        ends = np.clip(found.ends[own], zones[zone, :1], zones[zone, 1:])
        inside = ends[:, 0] < ends[:, 1]
        return Leaves(found.info[own[inside]], ends[inside])

    def _fine(self, low: float, high: float, nodes: IntArray) -> Leaves:
        parts = []
        for panel in self._interpolator.panels(self._certified, low, high):
            check_time()
            info, position = self._on_panel(panel, nodes)
            if self._polisher is not None:
                info, position = self._polisher.polished(panel, self._admitted, info, position)
            parts.append(Leaves(info, position))
        return _joined(parts)

    def _on_panel(self, panel: Panel, nodes: IntArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Leaves of nodes on a panel, in the coordinate of the course."""
        info, local = _settled(panel, nodes, self._admitted)
        suspects = _suspects(info, local)
        if suspects.size and _drop_symmetric_ties(panel, suspects, self._admitted, self._symmetry):
            info, local = _settled(panel, nodes, self._admitted)
        half = 0.5 * (panel.high - panel.low)
        # Measured from the nearer end, so that the rounding is relative to the result.
        return info, np.where(
            local < 0.0, panel.low + half * (1.0 + local), panel.high - half * (1.0 - local)
        )


def _overlapping(ends: FloatArray, rows: IntArray) -> list[IntArray]:
    """Rows of intervals in groups that overlap each other, from left to right."""
    groups: list[list[int]] = []
    reach = -np.inf
    for row in rows[np.argsort(ends[rows, 0], kind="stable")].tolist():
        if groups and ends[row, 0] <= reach:
            groups[-1].append(row)
        else:
            groups.append([row])
        reach = max(reach, ends[row, 1]) if len(groups[-1]) > 1 else ends[row, 1]
    return [np.array(group) for group in groups]


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
    graph: Graph,
    course: Course,
    symmetry: Symmetry,
    instance: LabelingInstance,
    winners_at: Winners,
    certified: bool,
    name: str,
    polished: bool = True,
) -> PiecewiseFunction:
    """Share of the scored points that get their true class along the course.

    Parameters
    ----------
    graph, course : Graph and Course
        The edges, and the segment.
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
    polished : bool, default True
        Whether breakpoints that doubles do not resolve are narrowed in ball arithmetic.
    """
    colours = symmetry.colours
    true, n_always_right = true_classes(instance, graph)
    of_colour = right_by_class(colours, graph.place, true, graph.n_classes)
    least = of_colour.min(axis=1)
    asked = of_colour.max(axis=1) > least
    n_scored = len(instance.scored)
    n_always_right += int(least[~asked].sum())
    if not asked.any():
        value = Fraction(n_always_right, n_scored)
        return PiecewiseFunction.constant(course.low, course.high, value, name)
    nodes = np.unique(colours, return_index=True)[1][asked]
    leaves = leaves_of(Interpolator(graph, course, nodes), symmetry, certified, polished)
    right = of_colour[colours]
    return utility(leaves, course, right, n_always_right, n_scored, winners_at, name)


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
    n_scored: int,
    winners_at: Winners,
    name: str,
) -> PiecewiseFunction:
    """Share of the scored points that get their true class, as a function of t.

    Parameters
    ----------
    leaves : Leaves
        Parts of one node of each colour.
    course : Course
        The segment.
    right : int64 array (nodes, classes)
        How many points are right if a node, and with it all of its colour, has a class.
    n_always_right, n_scored : int
        Points whose answer is right whatever the nodes of the leaves have; all points that count.
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
        functions.append(_correctness(runs, course, n_scored, at_end, name))
    rest = Fraction(constant, n_scored)
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
