"""The sign of a function along a line: certain stretches, and narrow brackets of its changes.

`SignMap` cuts an interval of the coordinate into closed cells.  On a certain cell the sign is
proved for every point; between two of them lies a bracket, in which the sign changes or could not
be decided.  Signs are proved with balls over whole intervals (natural and mean-value form), roots
of monotone functions are found by Newton's method in floats and enclosed by two certified signs,
a rational function with a root of higher order is left to exact polynomials, and a function that
vanishes identically is recognised by its normal form.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from operator import attrgetter

import flint
from flint import arb

from certune.exact.dyadics import floats_between, is_simple, simplest
from certune.exact.precision import PRECISION_LOCK
from certune.kernels.programs import Tape, crossing, sign_at
from certune.pfaffian.expressions.evaluation import Jet, ball_sign, is_nowhere_defined, jet
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.scaling import scaled_difference
from certune.pfaffian.expressions.tapes import tape_of
from certune.pfaffian.signs.affine import Affine, affine_difference, place_of, score_lines
from certune.pfaffian.signs.cells import Cell
from certune.pfaffian.signs.rational import is_rational, is_root, rational_signs

_PRECISION = 80
_HIGH_PRECISION = 320
# A cut off the middle avoids roots at the simple numbers that halving would hit.
_CUT = 0.4853
_NARROW = 1e-12
# Share of a whole line that is narrow, too, if the line is very short.
_NARROW_SHARE = 2.0**-6
_MOST_CELLS = 2000
# After so many, a rational function is left to exact polynomials.
_FEW_CELLS = 64
_SHORT = 1e-6
_NEWTON_STEPS = 40
# Floats in a bracket that are tried as roots of a rational function.
_MOST_FLOATS = 8


_ends = attrgetter("low", "high")


class SignMap:
    """The sign of an expression on an interval of one parameter.

    Parameters
    ----------
    cells : list of Cell
        Cells from left to right, each beginning where the last one ends; no two brackets and no
        two certain cells of the same sign are neighbours.
    """

    __slots__ = ("_lows", "cells")

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = _joined(cells)
        self._lows = [cell.low for cell in self.cells]

    @classmethod
    def of_crossing(
        cls, ends: tuple[float, float], bracket: tuple[float, float], after: int
    ) -> SignMap:
        """Return the signs of a function with one root, inside of a bracket between the ends."""
        signs = object.__new__(cls)
        (low, high), (below, above) = ends, bracket
        signs.cells = [
            Cell(low, below, -after),
            Cell(below, above, None),
            Cell(above, high, after),
        ]
        signs._lows = [low, below, above]
        return signs

    @property
    def low(self) -> float:
        """Left end."""
        return self.cells[0].low

    @property
    def high(self) -> float:
        """Right end."""
        return self.cells[-1].high

    def right_of(self, t: float) -> int:
        """Return the index of the cell that contains the points just right of `t`. O(log m)."""
        return bisect_right(self._lows, t) - 1

    def possible_signs(self, low: float, high: float) -> frozenset[int]:
        """Return the signs that may occur in the open interval (low, high)."""
        signs: set[int] = set()
        for index in range(max(self.right_of(low), 0), len(self.cells)):
            cell = self.cells[index]
            if cell.low >= high:
                break
            if cell.sign is not None:
                signs.add(cell.sign)
            elif cell.root is not None and not low < cell.root < high:
                # A bracket with a known root lies between two certain cells.
                side = self.cells[index - 1 if high <= cell.root else index + 1]
                signs.add(side.sign)  # type: ignore[arg-type]
            else:
                signs |= {-1, 0, 1}
        return frozenset(signs)


def _joined(cells: list[Cell]) -> list[Cell]:
    joined: list[Cell] = []
    for cell in cells:
        if joined and joined[-1].sign == cell.sign:
            root = cell.root if joined[-1].root == cell.root else None
            joined[-1] = Cell(joined[-1].low, cell.high, cell.sign, root)
        elif joined and joined[-1].sign is not None and cell.sign is not None:
            # Signs meet in a point only if both are claimed there, which cannot be.
            raise AssertionError(f"two signs at {cell.low!r}")
        else:
            joined.append(cell)
    return joined


def _cells_of_line(line: Affine, name: str, low: float, high: float) -> list[Cell] | None:
    """Cells of a straight line whose root is far from both ends, None if it is not known to be."""
    root = line.root(name)
    place = None if root is None else place_of(root)
    if place is None:
        return None
    sign = line.slope_sign(name)
    assert sign in (-1, 1)
    if place.above <= low:
        return [Cell(low, high, sign)]
    if place.below >= high:
        return [Cell(low, high, -sign)]
    if place.below <= low or place.above >= high:
        return None
    return [
        Cell(low, place.below, -sign),
        Cell(place.below, place.above, None, place.exact),
        Cell(place.above, high, sign),
    ]


def _cells_of_scores(
    first: Expression, second: Expression, low: float, high: float
) -> list[Cell] | None:
    """Cells of a difference of straight lines in floats, None where that does not settle it."""
    lines = score_lines((first, second))
    if lines is None or (lines[0].is_exact and lines[1].is_exact):
        return None
    pair = lines[0].coefficients, lines[1].coefficients
    place = crossing(*pair)
    if place is None:
        # Parallel, or nearly so: a line has the sign that it has at both ends.
        sign = sign_at(*pair, low)
        return [Cell(low, high, sign)] if sign and sign == sign_at(*pair, high) else None
    if place.above <= low:
        return [Cell(low, high, place.sign_after)]
    if place.below >= high:
        return [Cell(low, high, -place.sign_after)]
    if place.below <= low or place.above >= high or is_simple(simplest(place.below, place.above)):
        # Irrational coefficients may still have a simple root, such as that of a tie.
        return None
    return SignMap.of_crossing((low, high), place[:2], place.sign_after).cells


class Line:
    """Evaluation of expressions along one parameter, with functions shared between expressions.

    Parameters
    ----------
    name : str
        The parameter that varies; the only one of the expressions.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._shared: dict[tuple[float, float], dict[Expression, Jet]] = {}

    def difference_map(
        self, first: Expression, second: Expression, low: float, high: float
    ) -> SignMap:
        """Return the sign of a difference on an interval."""
        found = _cells_of_scores(first, second, low, high)
        if found is not None:
            return SignMap(found)
        with PRECISION_LOCK, flint.ctx.workprec(_PRECISION):
            line = affine_difference(first, second)
            cells = None if line is None else _cells_of_line(line, self.name, low, high)
            if cells is None:
                cells = self._cells(scaled_difference(first, second), low, high)
            elif len(cells) == 3 and cells[1].root is None and line and not line.is_exact:
                # Irrational coefficients may still have a simple root, such as that of a tie.
                before, after = cells[1].low, cells[1].high
                if is_simple(simplest(before, after)):
                    cells = self._cells(scaled_difference(first, second), low, high)
        return SignMap(cells)

    def sign_map(self, node: Expression, low: float, high: float) -> SignMap:
        """Return the sign of an expression on an interval."""
        with PRECISION_LOCK, flint.ctx.workprec(_PRECISION):
            return SignMap(self._cells(node, low, high))

    def _on(self, node: Expression, low: float, high: float) -> Jet:
        if len(self._shared) > _MOST_CELLS:
            self._shared.clear()
        shared = self._shared.setdefault((low, high), {})
        ball = arb(low).union(arb(high))
        return jet(node, {self.name: Jet(ball, arb(1))}, shared)

    def _tape(self, node: Expression) -> Tape | None:
        """The tape of a function of this line's parameter, None if there is none."""
        return tape_of(node) if node.parameters == (self.name,) else None

    def _at(self, node: Expression, t: float) -> Jet:
        return jet(node, {self.name: Jet(arb(t), arb(1))}, {})

    def _sign_at(self, node: Expression, t: float) -> int | None:
        tape = self._tape(node)
        if tape is not None:
            low, high, *_ = tape.on_interval(t, t)
            if low > 0.0 or high < 0.0:
                return 1 if low > 0.0 else -1
        sign = ball_sign(self._at(node, t).value)
        if sign is None:
            with PRECISION_LOCK, flint.ctx.workprec(_HIGH_PRECISION):
                sign = ball_sign(self._at(node, t).value)
        return sign

    def _cells(self, node: Expression, low: float, high: float) -> list[Cell]:
        """Cells of a function, from intervals that are cut until all is known or they are many.

        The widest comes first, so that a place where cutting has no end leaves a narrow bracket.
        """
        found: list[Cell] = []
        pending = [(low - high, low, high)]
        tape = self._tape(node)
        # A line that is itself narrow, as a window of a proof beside a pole, is cut as well.
        finest = _NARROW_SHARE * (high - low)
        for used in range(1, _MOST_CELLS + 1):
            if used == _FEW_CELLS:
                exact = rational_signs(node, low, high)
                if exact is not None:
                    return exact
            _, first, last = heappop(pending)
            cells = self._cells_at_once(node, tape, first, last, used == 1)
            cut = first + _CUT * (last - first)
            if cells is None and not (
                first < cut < last and last - first > min(_NARROW * max(1.0, abs(first)), finest)
            ):
                cells = [Cell(first, last, None)]
            if cells is None:
                heappush(pending, (first - cut, first, cut))
                heappush(pending, (cut - last, cut, last))
            else:
                found += cells
            if not pending:
                break
        found += [Cell(first, last, None) for _, first, last in pending]
        return sorted(found, key=_ends)

    def _cells_at_once(
        self, node: Expression, tape: Tape | None, first: float, last: float, is_whole: bool
    ) -> list[Cell] | None:
        """Cells of an interval that need no cut, None if it does."""
        if tape is not None:
            ends = tape.on_interval(first, last)
            if ends[0] > 0.0 or ends[1] < 0.0:
                return [Cell(first, last, 1 if ends[0] > 0.0 else -1)]
            is_known = -math.inf < ends[0] and ends[1] < math.inf
            if is_known and (ends[2] > 0.0 or ends[3] < 0.0):
                return list(self._monotone(node, first, last))
            # Only on short intervals balls know more than doubles.
            is_wide = last - first > _SHORT * max(1.0, abs(first))
            if is_known and is_wide and not is_whole:
                return None
        value, slope = self._on(node, first, last)
        sign = ball_sign(value)
        if slope is None:
            # Without the parameter the expression is a number.
            return [Cell(first, last, node.sign())]
        if sign in (None, 0) and value.is_finite():
            middle = 0.5 * first + 0.5 * last
            centre = self._at(node, middle).value
            reach = arb(first).union(arb(last)) - arb(middle)
            sign = ball_sign(centre + slope * reach)
        if sign in (-1, 1):
            return [Cell(first, last, sign)]
        if is_whole and self._vanishes(node, first + _CUT * (last - first)):
            return [Cell(first, last, 0)]
        if ball_sign(slope) in (-1, 1):
            return list(self._monotone(node, first, last))
        if not value.is_finite() and self._is_undefined(node, first, last):
            return [Cell(first, last, None)]
        return None

    def _is_undefined(self, node: Expression, first: float, last: float) -> bool:
        """Is the function proved to be defined nowhere? Then splitting helps no further."""
        return is_nowhere_defined(node, {self.name: (first, last)})

    def _vanishes(self, node: Expression, t: float) -> bool:
        return self._sign_at(node, t) in (None, 0) and is_zero(node)

    def _monotone(self, node: Expression, low: float, high: float) -> Iterator[Cell]:
        """Cells of a function with at most one root, which is simple."""
        first, left, low_root = self._near_end(node, low, high)
        last, right, high_root = self._near_end(node, high, low)
        if left is None or right is None or first >= last:
            yield Cell(low, high, None)
            return
        if first > low:
            yield Cell(low, first, None, low_root)
        if left == right:
            yield Cell(first, last, left)
        else:
            before, after, root = self._bracket(node, first, last, left)
            yield Cell(first, before, left)
            yield Cell(before, after, None, root)
            yield Cell(after, last, right)
        if last < high:
            yield Cell(last, high, None, high_root)

    def _near_end(
        self, node: Expression, end: float, other: float
    ) -> tuple[float, int | None, float | None]:
        """The point nearest to an end with a certain sign, the sign, and the end if a root."""
        sign = self._sign_at(node, end)
        if sign in (-1, 1):
            return end, sign, None
        towards = math.copysign(1.0, other - end)
        step = 2.0**-52 * max(abs(end), 2.0**-20)
        while step < abs(other - end):
            t = end + towards * step
            sign = self._sign_at(node, t)
            if sign in (-1, 1):
                if self._is_root(node, end):
                    return math.nextafter(end, other), sign, end
                return t, sign, None
            step *= 4.0
        return end, None, None

    def _is_root(self, node: Expression, t: float) -> bool:
        if is_rational(node):
            return is_root(node, t)
        return is_simple(t) and is_zero(node.substitute({self.name: Fraction(t)}))

    def _bracket(
        self, node: Expression, low: float, high: float, left: int
    ) -> tuple[float, float, float | None]:
        """Two close floats with certain signs around the root, and the root if it is simple."""
        t = self._newton(node, low, high, left)
        step = 2.0**-52 * max(abs(t), 2.0**-20)
        while step < high - low:
            before, after = max(t - step, low), min(t + step, high)
            if self._sign_at(node, before) == left and self._sign_at(node, after) == -left:
                return self._at_simple_root(node, before, after)
            step *= 4.0
        return low, high, None

    def _newton(self, node: Expression, low: float, high: float, left: int) -> float:
        """Approximate root by Newton's method, by bisection where that leaves the interval."""
        t = 0.5 * low + 0.5 * high
        for _ in range(_NEWTON_STEPS):
            sign, step = self._newton_step(node, t)
            if sign is None:
                return t
            low, high = (t, high) if sign == left else (low, t)
            target = t - step
            if abs(target - t) <= 2.0**-52 * abs(target):
                return target
            if not low < target < high:
                # A root next to an end, whose sign is known there, may be rounded to the end.
                if min(abs(target - low), abs(target - high)) <= 2.0**-50 * abs(target):
                    return min(max(target, low), high)
                target = 0.5 * low + 0.5 * high
                if target in (low, high):
                    return target
            t = target
        return t

    def _newton_step(self, node: Expression, t: float) -> tuple[int | None, float]:
        """The sign at a point, None if it is not proved, and value over slope, nan if unknown."""
        tape = self._tape(node)
        if tape is not None:
            low, high, shallow, steep = tape.on_interval(t, t)
            if low > 0.0 or high < 0.0:
                slope = 0.5 * (shallow + steep)
                return 1 if low > 0.0 else -1, 0.5 * (low + high) / slope if slope else math.nan
        value, change = self._at(node, t)
        quotient = value / change if change is not None else value
        return ball_sign(value), float(quotient.mid()) if quotient.is_finite() else math.nan

    def _at_simple_root(
        self, node: Expression, before: float, after: float
    ) -> tuple[float, float, float | None]:
        """Narrow a bracket to the neighbours of a float that is the root itself.

        That is tried for a simple number, and for all floats in the bracket if arithmetic alone
        decides, as for thresholds that stand in the data.
        """
        candidates = [simplest(before, after)]
        if is_rational(node):
            candidates += floats_between(before, after, _MOST_FLOATS)
        for t in candidates:
            if before < t < after and self._is_root(node, t):
                return math.nextafter(t, -math.inf), math.nextafter(t, math.inf), t
        return before, after, None
