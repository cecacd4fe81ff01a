"""Exact piecewise constant functions of one parameter.

The utility of an algorithm on one instance, as a function of its parameter along a line, is
piecewise constant. :class:`PiecewiseFunction` keeps it without rounding: values are fractions,
and a breakpoint is not a float but the gap that is known to contain it. Maxima, sums and level
sets are therefore statements about the true function, not about samples of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.checks import as_array, as_float
from certune.dual.function import common_name
from certune.dual.integers import (
    FloatArray,
    as_fraction,
    checked_level,
    over_common_denominator,
    quotients,
    rounded_down,
    rounded_up,
)
from certune.dual.pieces import integral_bounds, multiplied, restricted, superlevel_intervals
from certune.dual.record import PieceRecord
from certune.dual.scales import checked_scale, widths
from certune.dual.sweep import tail, total
from certune.errors import ParameterError

# A breakpoint that is enclosed more loosely than this, relative to max(1, |t|), is not resolved.
BREAKPOINT_RESOLUTION = 1e-9


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PiecewiseFunction(PieceRecord):
    """Piecewise constant function on ``[low, high]``, known exactly up to narrow gaps.

    Piece i is the closed interval ``[starts[i], stops[i]]``, possibly a single point, on which
    the function equals ``numerators[i] / denominator``. Between two pieces lies the open gap
    ``(stops[i], starts[i + 1])``, in which it is only known to stay between ``gap_lower[i]`` and
    ``gap_upper[i]`` over the same denominator. A breakpoint is such a gap.

    Functions are immutable and canonical: gaps across which the function is known to be constant
    are closed, and fractions are in lowest terms. ``f == g`` holds if both state the same about
    every point. ``-f``, ``f + g``, ``f - g`` and ``f * c`` are exact, for `c` an integer, a
    fraction, or a float taken as the dyadic rational that it is.

    Parameters
    ----------
    starts, stops : array-like of float
        Ends of the m pieces, ``starts[i] <= stops[i] < starts[i + 1]``.
    numerators : iterable of int
        Values of the m pieces, times the denominator; integers of any size.
    gap_lower, gap_upper : iterable of int
        Bounds in the m - 1 gaps, times the denominator.
    denominator : int
        Common positive denominator of values and bounds.
    name : str, default="t"
        Name of the parameter.

    Examples
    --------
    >>> f = PiecewiseFunction([0, 0.5], [0.25, 1], [1, 2], [1], [2], 3, name="alpha")
    >>> f
    PiecewiseFunction(alpha in [0.0, 1.0], 2 pieces, max 0.6666666666666666)
    >>> f.breakpoints
    array([[0.25, 0.5 ]])
    >>> f([0.25, 0.3, 1.0])
    array([0.33333333,        nan, 0.66666667])
    >>> f.argmax()
    [(0.5, 1.0)]
    """

    @classmethod
    def from_values(
        cls,
        starts: npt.ArrayLike,
        stops: npt.ArrayLike,
        values: Iterable[Any],
        gap_lower: Iterable[Any],
        gap_upper: Iterable[Any],
        name: str = "t",
    ) -> PiecewiseFunction:
        """Make a function from values that are floats, integers or fractions, all taken exactly.

        Parameters
        ----------
        starts, stops : array-like of float
            Ends of the m pieces.
        values : iterable of float, int or Fraction
            Values of the m pieces.
        gap_lower, gap_upper : iterable of float, int or Fraction
            Bounds in the m - 1 gaps.
        name : str, default="t"
            Name of the parameter.
        """
        values, gap_lower, gap_upper = list(values), list(gap_lower), list(gap_upper)
        top, denominator = over_common_denominator(
            values + gap_lower + gap_upper, "values, gap_lower and gap_upper"
        )
        m, g = len(values), len(values) + len(gap_lower)
        return cls(starts, stops, top[:m], top[m:g], top[g:], denominator, name)

    @classmethod
    def constant(cls, low: float, high: float, value: Any, name: str = "t") -> PiecewiseFunction:
        """Return the function with one value (float, int or Fraction, taken exactly)."""
        return cls.from_values([low], [high], [value], [], [], name)

    @cached_property
    def values(self) -> FloatArray:
        """Values of the pieces, correctly rounded."""
        values = quotients(self.numerators, self.denominator)
        values.setflags(write=False)
        return values

    @property
    def undecided(self) -> FloatArray:
        """Gaps in which more than the place of one change is open, one row for each.

        These are gaps whose bounds exceed the range of the two neighbouring values, and gaps
        that are wider than ``1e-9 * max(1, |t|)``.
        """
        gaps, left, right = self.breakpoints, self.numerators[:-1], self.numerators[1:]
        below = self.gap_lower < np.minimum(left, right)
        above = self.gap_upper > np.maximum(left, right)
        scale = np.maximum(1.0, np.abs(gaps).max(axis=1, initial=0.0))
        wide = gaps[:, 1] - gaps[:, 0] > BREAKPOINT_RESOLUTION * scale
        return gaps[np.logical_or.reduce((below, above, wide))]

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: Sequence[float] | npt.NDArray[Any]) -> FloatArray: ...
    def __call__(self, t: Any) -> float | FloatArray:
        """Evaluate the function, correctly rounded. O(log m) a point for m pieces.

        Parameters
        ----------
        t : float or array-like of float
            Points of the domain.

        Returns
        -------
        float or ndarray
            The value; NaN ("not decided") in a gap whose bounds differ.
        """
        points = as_array("t", t)
        if not ((points >= self.low) & (points <= self.high)).all():
            raise self._outside(t)
        index = np.searchsorted(self.starts, points, side="right") - 1
        result = np.where(
            points <= self.stops[index],
            self.values[index],
            self._gap_values[index],
        )
        return float(result) if result.ndim == 0 else result

    @cached_property
    def _gap_values(self) -> FloatArray:
        # Right of the last piece there is no gap; NaN stands there so that indices agree.
        values = np.full(self.n_pieces, np.nan)
        known = np.append(self.gap_lower == self.gap_upper, False)
        values[known] = quotients(self.gap_lower[known[:-1]], self.denominator)
        return values

    def enclose_exact(self, t: float) -> tuple[Fraction, Fraction]:
        """Return exact bounds of the value at `t`, equal where it is decided. O(log m)."""
        t = as_float(self.name, t)
        if not self.low <= t <= self.high:
            raise self._outside(t)
        index = int(np.searchsorted(self.starts, t, side="right")) - 1
        if t <= self.stops[index]:
            value = self._fraction(self.numerators[index])
            return value, value
        return self._fraction(self.gap_lower[index]), self._fraction(self.gap_upper[index])

    def _fraction(self, numerator: Any) -> Fraction:
        return Fraction(int(numerator), self.denominator)

    @cached_property
    def max_exact(self) -> Fraction:
        """Best value that is attained on a piece."""
        return self._fraction(self.numerators.max())

    @cached_property
    def upper_bound_exact(self) -> Fraction:
        """Upper bound of the function over the whole domain, gaps included."""
        return self._fraction(np.append(self.numerators, self.gap_upper).max())

    @property
    def best_point(self) -> float:
        """The centre of the widest interval on which the best value is attained."""
        low, high = self.widest_plateau(0)
        return min(max(0.5 * low + 0.5 * high, low), high)

    def argmax(self) -> list[tuple[float, float]]:
        """Return the maximal closed intervals on which the best value is attained. O(m).

        Pieces are joined across gaps whose lower bound is the best value.
        """
        return self.superlevel(self.max_exact)

    def widest_plateau(self, tolerance: Any, scale: str | None = None) -> tuple[float, float]:
        """Return the widest interval on which the function is nearly optimal. O(m).

        Parameters
        ----------
        tolerance : float, int or Fraction
            The value may be worse than the best by this much, at least 0; a gap counts by its
            lower bound.
        scale : {"linear", "log"}, optional
            How widths are measured, plainly by default.

        Returns
        -------
        tuple of float
            The first of the widest intervals.
        """
        slack = as_fraction(tolerance)
        if slack is None or slack < 0:
            raise ParameterError(f"tolerance must be a number >= 0, got {tolerance!r}.")
        intervals = self._superlevel(self.max_exact - slack)
        measured = widths(intervals, checked_scale(scale or "linear", self.low))
        low, high = intervals[np.argmax(measured)].tolist()
        return low, high

    def superlevel(self, level: Fraction) -> list[tuple[float, float]]:
        """Return disjoint intervals, in order, on which the function reaches a level.

        Parameters
        ----------
        level : Fraction
            The level.
        """
        exact = checked_level(level)
        return [(low, high) for low, high in self._superlevel(exact).tolist()]

    def _superlevel(self, level: Fraction) -> FloatArray:
        return superlevel_intervals(self._pieces, math.ceil(level * self.denominator))

    def integral(self) -> tuple[float, float]:
        """Return bounds of the integral over the domain, rounded outward. O(m)."""
        lower, upper = integral_bounds(self._pieces)
        return rounded_down(lower), rounded_up(upper)

    def restrict(self, low: float, high: float) -> PiecewiseFunction:
        """Return the function on a smaller domain. O(m).

        Parameters
        ----------
        low, high : float
            The new domain, ``self.low <= low <= high <= self.high``.

        Raises
        ------
        ParameterError
            If the new domain is empty or not inside the old one.
        UndecidedError
            If an end lies in a gap, where the value is not decided.
        """
        low, high = self._checked_domain(low, high)
        return self._of(restricted(self._pieces, low, high), self.name)

    @classmethod
    def _sum(cls, functions: Sequence[PiecewiseFunction]) -> PiecewiseFunction:
        name = common_name(functions)
        return cls._of(total([function._pieces for function in functions]), name)

    @classmethod
    def _tail(
        cls, functions: Sequence[PiecewiseFunction], criterion: Criterion
    ) -> PiecewiseFunction:
        name = common_name(functions)
        return cls._of(tail([function._pieces for function in functions], criterion), name)

    def __add__(self, other: object) -> PiecewiseFunction:
        if not isinstance(other, PiecewiseFunction):
            return NotImplemented
        return self._sum([self, other])

    def __sub__(self, other: object) -> PiecewiseFunction:
        if not isinstance(other, PiecewiseFunction):
            return NotImplemented
        return self._sum([self, -other])

    def __mul__(self, factor: Any) -> PiecewiseFunction:
        exact = as_fraction(factor)
        if exact is None:
            return NotImplemented
        return self._of(multiplied(self._pieces, *exact.as_integer_ratio()), self.name)

    def __repr__(self) -> str:
        pieces = "1 piece" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
        return (
            f"PiecewiseFunction({self.name} in [{self.low!r}, {self.high!r}], {pieces}, "
            f"max {self.max()!r})"
        )
