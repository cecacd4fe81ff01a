"""Narrower enclosures for breakpoints at which soft labels cross slowly.

Doubles enclose a crossing of two soft labels no better than their error divided by the slope of
the difference.  Where that is too wide, as for large bandwidths at which all soft labels come close
to each other, the slope of the interpolant, with its error bound, may prove that the difference is
monotone in the zone; signs in ball arithmetic at two points close to the root then suffice.  What
cannot be treated like this is left to `close_ties`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from certune.dual.piecewise import BREAKPOINT_RESOLUTION
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.close_ties import NARROW, CloseTies, Leaf, Zone
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.graph import BoolArray, Graph
from certune.families.graph_ssl.interpolation import Panel
from certune.families.graph_ssl.solver import UNIT
from certune.kernels.settling import OPEN

BITS = 200
STEPS = 8


class Polisher:
    """Replaces the wide zones of the panels of one course by narrow ones."""

    def __init__(self, graph: Graph, course: Course, close_ties: CloseTies) -> None:
        self._graph, self._course, self._close_ties = graph, course, close_ties

    def polished(
        self, panel: Panel, admitted: BoolArray, info: NDArray[np.int64], ends: FloatArray
    ) -> tuple[NDArray[np.int64], FloatArray]:
        """Leaves of a panel, in its coordinates, with wide zones replaced.

        Parameters
        ----------
        panel : Panel
            The interpolants.
        admitted : bool array (nodes, classes)
            Classes that are not excluded as tied.
        info, ends : arrays
            Leaves: node, winner, rival; and coordinates.
        """
        wide = info[:, 1] != info[:, 2]
        wide |= info[:, 1] == OPEN
        wide[wide] = [self._is_wide(low, high) for low, high in ends[wide].tolist()]
        if panel.error == math.inf or not wide.any():
            return info, ends
        replaced: dict[int, list[Leaf]] = {}
        left_over: dict[int, Zone] = {}
        for number in np.flatnonzero(wide).tolist():
            node, first, second = info[number].tolist()
            low, high = ends[number].tolist()
            if first != OPEN and _is_monotone(panel, node, first, second, low, high):
                difference = _Difference(self._graph, self._course, node, first, second, panel)
                replaced[number] = _split(difference, low, high)
            else:
                both = np.flatnonzero(admitted[node]) if first == OPEN else (first, second)
                left_over[number] = Zone(node, tuple(int(c) for c in both), low, high)
        settled = self._close_ties.settled(list(left_over.values()), panel.rounding)
        replaced.update(zip(left_over, settled, strict=True))
        rows, places = [], []
        for number, (node, winner, rival) in enumerate(info.tolist()):
            low, high = ends[number].tolist()
            for start, stop, first, second in replaced.get(number, [(low, high, winner, rival)]):
                rows.append((node, first, second))
                places.append((start, stop))
        return np.array(rows, dtype=np.int64), np.array(places)

    def _is_wide(self, low: float, high: float) -> bool:
        """Would a zone count as undecided?"""
        first, last = self._course.position(low), self._course.position(high)
        scale = max(1.0, abs(first), abs(last))
        return abs(last - first) > 0.5 * BREAKPOINT_RESOLUTION * scale


def _is_monotone(panel: Panel, node: int, first: int, second: int, low: float, high: float) -> bool:
    """Is the difference of two soft labels, not only its interpolant, proved to be monotone?"""
    series = panel.series[node, first] - panel.series[node, second]
    degrees = np.arange(len(series))
    half = 0.5 * (panel.high - panel.low)
    middle = (0.5 * (low + high) - panel.low) / half - 1.0
    reach = 0.5 * (high - low) / half * (1 + 1e-9) + 4 * UNIT
    bend = float((np.abs(series) * degrees**2 * (degrees**2 - 1) / 3).sum())
    size = float(np.abs(series).sum())
    rounding = 8 * UNIT * len(series) ** 3 * size
    slope = float(chebyshev.chebval(middle, chebyshev.chebder(series)))
    return bool(abs(slope) > 2 * panel.slope_error + bend * reach + rounding)


class _Difference:
    """Difference of two soft labels of a node: a sign and a value at a coordinate."""

    def __init__(
        self, graph: Graph, course: Course, node: int, first: int, second: int, panel: Panel
    ) -> None:
        self._graph, self._course = graph, course
        self._node, self.first, self.second = node, first, second
        self.level = 2 * panel.rounding

    def at(self, z: float) -> tuple[int, float]:
        """Sign, 0 if it is not certain for rounded settings too, and value."""
        soft = ball_labels(self._graph, self._course.rates(Fraction(z)), BITS)
        ball = soft[self.first][self._node] - soft[self.second][self._node]
        level = arb(self.level)
        sign = 1 if ball > level else -1 if ball < -level else 0
        return sign, float(ball.mid())

    def winner(self, sign: int) -> int:
        """The class that a sign stands for."""
        return self.first if sign > 0 else self.second


def _split(difference: _Difference, low: float, high: float) -> list[Leaf]:
    """Leaves of a zone in which the difference is monotone."""
    before, at_low = difference.at(low)
    after, at_high = difference.at(high)
    zone: Leaf = (low, high, difference.first, difference.second)
    if before == 0 or after == 0:
        return [zone]
    if before == after:
        winner = difference.winner(before)
        return [(low, high, winner, winner)]
    start, stop = low, high
    for _ in range(STEPS):
        if stop - start <= NARROW * max(abs(start), abs(stop)):
            break
        guess = start + (stop - start) * at_low / (at_low - at_high)
        lost = 1.5 * difference.level / abs(at_high - at_low)
        distance = max(NARROW / 4 * abs(guess), max(2.0**-12, lost) * (stop - start))
        for z in (guess - distance, guess + distance):
            if start < z < stop:
                sign, value = difference.at(z)
                if sign == before:
                    start, at_low = z, value
                elif sign == after:
                    stop, at_high = z, value
    first, last = difference.winner(before), difference.winner(after)
    leaves = [
        (low, start, first, first),
        (start, stop, difference.first, difference.second),
        (stop, high, last, last),
    ]
    return [leaf for leaf in leaves if leaf[0] < leaf[1]]
