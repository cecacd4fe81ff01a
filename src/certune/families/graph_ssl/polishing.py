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
from flint import arb, ctx
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from certune.dual.piecewise import BREAKPOINT_RESOLUTION
from certune.exact.precision import DOUBLE, PRECISION_LOCK
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.close_ties import NARROW, CloseTies, Leaf, Zone
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.graph import BoolArray, Graph
from certune.families.graph_ssl.interpolation import Panel
from certune.families.graph_ssl.solver import UNIT
from certune.kernels.graph import OPEN

BITS = 200
STEPS = 8
# Zones up to this part of what counts as resolved are left as they are.
ROOM = 0.95
# How far from the guess of a root it is enclosed, as a part of what is open: the first guess rests
# on the interpolant, later ones on balls.
FIRST_SHARE = 2.0**-5
LATER_SHARE = 2.0**-12

End = tuple[int, float]  # sign of a difference, 0 if it is not certain, and its value


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
                beside = [(number - 1, 1, low), (number + 1, 0, high)]
                known = [self._known(info, ends, n, side, z, difference) for n, side, z in beside]
                found = [
                    difference.at(z) if sign == 0 else (sign, difference.interpolated(z))
                    for sign, z in zip(known, (low, high), strict=True)
                ]
                replaced[number] = _split(difference, low, high, (found[0], found[1]))
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

    @staticmethod
    def _known(
        info: NDArray[np.int64],
        ends: FloatArray,
        number: int,
        side: int,
        z: float,
        difference: _Difference,
    ) -> int:
        """Sign of a difference at the end z of a zone, from the leaf beside it; 0: not known."""
        if not 0 <= number < len(info) or ends[number, side] != z:
            return 0
        node, winner, rival = info[number].tolist()
        if node != difference.node or winner != rival:
            return 0
        return difference.sign(winner)

    def _is_wide(self, low: float, high: float) -> bool:
        """Would a zone count as undecided?"""
        first, last = self._course.position(low), self._course.position(high)
        scale = max(1.0, abs(first), abs(last))
        return abs(last - first) > ROOM * BREAKPOINT_RESOLUTION * scale


def _is_monotone(panel: Panel, node: int, first: int, second: int, low: float, high: float) -> bool:
    """Is the difference of two soft labels, not only its interpolant, proved to be monotone?"""
    series = panel.series[node, first] - panel.series[node, second]
    degrees = np.arange(len(series))
    middle = _local(panel, 0.5 * (low + high))
    reach = (high - low) / (panel.high - panel.low) * (1 + 1e-9) + 4 * UNIT
    bend = float((np.abs(series) * degrees**2 * (degrees**2 - 1) / 3).sum())
    size = float(np.abs(series).sum())
    rounding = 8 * UNIT * len(series) ** 3 * size
    slope = float(chebyshev.chebval(middle, chebyshev.chebder(series)))
    return bool(abs(slope) > 2 * panel.slope_error + bend * reach + rounding)


def _local(panel: Panel, z: float) -> float:
    """The coordinate in [-1, 1] of a point of a panel."""
    return (z - panel.low) / (0.5 * (panel.high - panel.low)) - 1.0


class _Difference:
    """Difference of two soft labels of a node: a sign and a value at a coordinate."""

    def __init__(
        self, graph: Graph, course: Course, node: int, first: int, second: int, panel: Panel
    ) -> None:
        self._graph, self._course = graph, course
        self.node, self.first, self.second = node, first, second
        self.level = 2 * panel.rounding
        self._panel = panel

    def at(self, z: float) -> tuple[int, float]:
        """Sign, 0 if it is not certain for rounded settings too, and value."""
        rates, both = self._course.rates(Fraction(z)), (self.first, self.second)
        first, second = ball_labels(self._graph, rates, BITS, both)
        with PRECISION_LOCK, ctx.workprec(DOUBLE):
            ball = first[self.node] - second[self.node]
            level = arb(self.level)
            sign = 1 if ball > level else -1 if ball < -level else 0
            return sign, float(ball.mid())

    def interpolated(self, z: float) -> float:
        """Value of the interpolant."""
        panel = self._panel
        series = panel.series[self.node, self.first] - panel.series[self.node, self.second]
        return float(chebyshev.chebval(_local(panel, z), series))

    def sign(self, winner: int) -> int:
        """The sign that stands for a winner, 0 if it is another class."""
        return 1 if winner == self.first else -1 if winner == self.second else 0

    def winner(self, sign: int) -> int:
        """The class that a sign stands for."""
        return self.first if sign > 0 else self.second


def _split(difference: _Difference, low: float, high: float, ends: tuple[End, End]) -> list[Leaf]:
    """Leaves of a zone in which the difference is monotone."""
    (before, at_low), (after, at_high) = ends
    zone: Leaf = (low, high, difference.first, difference.second)
    if before == 0 or after == 0:
        return [zone]
    if before == after:
        winner = difference.winner(before)
        return [(low, high, winner, winner)]
    start, stop, share = low, high, FIRST_SHARE
    for _ in range(STEPS):
        if stop - start <= NARROW * max(abs(start), abs(stop)):
            break
        guess = start + (stop - start) * at_low / (at_low - at_high)
        lost = 1.5 * difference.level / abs(at_high - at_low)
        distance = max(NARROW / 4 * abs(guess), max(share, lost) * (stop - start))
        for z in (guess - distance, guess + distance):
            if start < z < stop:
                sign, value = difference.at(z)
                if sign == before:
                    start, at_low = z, value
                elif sign == after:
                    stop, at_high = z, value
        share = LATER_SHARE
    first, last = difference.winner(before), difference.winner(after)
    leaves = [
        (low, start, first, first),
        (start, stop, difference.first, difference.second),
        (stop, high, last, last),
    ]
    return [leaf for leaf in leaves if leaf[0] < leaf[1]]
