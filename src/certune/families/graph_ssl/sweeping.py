"""From interpolants to the exact utility along a segment.

On each panel every node is settled: parts on which its class is proved, and narrow zones in which
it changes.  Whether the class is right is then a function with values 0 and 1 for each node, with
gaps where it is open, and the utility is the mean of these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from certune.dual import PiecewiseFunction, sum_of
from certune.families.graph_ssl.course import Course
from certune.families.graph_ssl.instance import IntArray
from certune.families.graph_ssl.interpolation import Interpolator, Panel
from certune.families.graph_ssl.polishing import polished
from certune.families.graph_ssl.symmetry import Symmetry
from certune.kernels.settling import OPEN, halving_matrix, settle

FloatArray = NDArray[np.float64]
# A zone wider than this part of its panel may be a tie by symmetry.
SUSPICIOUS = 1e-3

Winners = Callable[[float], IntArray]


@dataclass(frozen=True)
class Leaves:
    """Parts of a course: node, winner and rival (equal if proved), and the ends of the part."""

    info: NDArray[np.int64]
    ends: FloatArray


def leaves_of(interpolator: Interpolator, symmetry: Symmetry, certified: bool) -> Leaves:
    """Parts of all nodes along the course, panel by panel."""
    n, n_classes = interpolator.graph.n_nodes, interpolator.graph.n_classes
    admitted = np.ones((n, n_classes), dtype=np.bool_)
    infos, ends = [], []
    for panel in interpolator.panels(certified):
        info, local = _settled(panel, admitted)
        suspects = _suspects(info, local)
        if suspects.size and _drop_symmetric_ties(panel, suspects, admitted, symmetry):
            info, local = _settled(panel, admitted)
        half = 0.5 * (panel.high - panel.low)
        # Measured from the nearer end, so that the rounding is relative to the result.
        position = np.where(
            local < 0.0, panel.low + half * (1.0 + local), panel.high - half * (1.0 - local)
        )
        info, position = polished(interpolator.graph, interpolator.course, panel, info, position)
        infos.append(info)
        ends.append(position)
    return Leaves(np.concatenate(infos), np.concatenate(ends))


def _settled(panel: Panel, admitted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], FloatArray]:
    errors = np.full(len(panel.series), panel.error)
    info, local = settle(panel.series, admitted, errors, _halving(panel.series.shape[2] - 1))
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


def utility(
    leaves: Leaves,
    course: Course,
    truth: IntArray,
    n_always_right: int,
    n_unlabelled: int,
    winners_at: Winners,
    name: str,
) -> PiecewiseFunction:
    """Share of unlabelled points that get their truth class, as a function of t.

    Parameters
    ----------
    leaves : Leaves
        Parts of all nodes.
    course : Course
        The segment.
    truth : int64 array
        True class (column) of every node, -1 if it has no column.
    n_always_right, n_unlabelled : int
        Points that no label reaches and whose answer is right; all unlabelled points.
    winners_at : callable
        The plain algorithm at one t: the classes of all nodes. Asked at an end of the segment if a
        node is open there.
    name : str
        Name of the parameter.
    """
    node, winner, rival = leaves.info.T
    right = (winner == truth[node]).astype(np.int64)
    also = (rival == truth[node]).astype(np.int64)
    lower = np.where(winner == OPEN, 0, np.minimum(right, also))
    upper = np.where(winner == OPEN, np.where(truth[node] < 0, 0, 1), np.maximum(right, also))
    least = np.full(len(truth), 1)
    most = np.zeros(len(truth), dtype=np.int64)
    np.minimum.at(least, node, lower)
    np.maximum.at(most, node, upper)
    constant = int(least[least == most].sum()) + n_always_right
    functions = [
        PiecewiseFunction.constant(course.low, course.high, Fraction(constant, n_unlabelled), name)
    ]
    order = np.argsort(node, kind="stable")
    bounds = np.searchsorted(node[order], np.arange(len(truth) + 1))
    ends_known: dict[float, IntArray] = {}
    for i in np.flatnonzero(least != most).tolist():
        own = order[bounds[i] : bounds[i + 1]]

        def at_end(t: float, i: int = i) -> int:
            if t not in ends_known:
                ends_known[t] = winners_at(t)
            return int(ends_known[t][i] == truth[i])

        parts = leaves.ends[own], lower[own], upper[own]
        functions.append(_correctness(*parts, course, n_unlabelled, at_end, name))
    return sum_of(functions)


def _correctness(
    ends: FloatArray,
    lower: IntArray,
    upper: IntArray,
    course: Course,
    denominator: int,
    at_end: Callable[[float], int],
    name: str,
) -> PiecewiseFunction:
    """Whether one node is right, as a function of t with gaps where it is open."""
    pieces = [
        (start, stop, value)
        for low, high, value in _proved_runs(ends, lower, upper)
        for start, stop in [_inner_interval(course, low, high)]
        if start <= stop
    ]
    if course.reverses:
        pieces.reverse()
    if not pieces or pieces[0][0] > course.low:
        pieces.insert(0, (course.low, course.low, at_end(course.low)))
    if pieces[-1][1] < course.high:
        pieces.append((course.high, course.high, at_end(course.high)))
    starts, stops, values = zip(*pieces, strict=True)
    gaps = len(pieces) - 1
    return PiecewiseFunction(starts, stops, values, [0] * gaps, [1] * gaps, denominator, name)


def _proved_runs(
    ends: FloatArray, lower: IntArray, upper: IntArray
) -> list[tuple[float, float, int]]:
    """Maximal intervals, from left to right, on which the value is proved."""
    runs: list[tuple[float, float, int]] = []
    for (low, high), least, most in zip(ends.tolist(), lower.tolist(), upper.tolist(), strict=True):
        if least != most:
            continue
        if runs and runs[-1][1] == low and runs[-1][2] == least:
            runs[-1] = (runs[-1][0], high, least)
        else:
            runs.append((low, high, least))
    return runs


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
