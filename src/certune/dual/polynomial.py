"""Functions of one parameter that are smooth on pieces, with a proved or stated error.

The validation loss of a regularised model, unlike a count, varies with the parameter on every
piece. :class:`PiecewisePolynomial` keeps such a function as polynomials with an error bound each,
and everything derived from it (sums, maxima, level sets) is a statement about the function itself
as far as the stated errors are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.checks import as_array, as_float
from certune.dual.chebyshev import ROUNDED_UP, UNIT, PolynomialPieces
from certune.dual.clipping import clipped
from certune.dual.function import DualFunction, common_name
from certune.dual.integers import (
    FloatArray,
    as_fraction,
    checked_level,
    nearest,
    rounded_down,
    rounded_up,
)
from certune.dual.maximum import Maximum, maximum, superlevel
from certune.dual.piecewise import BREAKPOINT_RESOLUTION, PiecewiseFunction
from certune.dual.polynomial_record import PolynomialRecord
from certune.dual.quadrature import integral_bounds
from certune.dual.refinement import restricted, total
from certune.dual.scales import checked_scale, widths
from certune.dual.tails import tail
from certune.errors import ParameterError


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PiecewisePolynomial(PolynomialRecord):
    """Function on ``[low, high]`` that is a polynomial on each piece, up to a stated error.

    On piece i, the closed interval ``[starts[i], stops[i]]``, the function differs from
    ``sum_k coefficients[i, k] T_k(s)`` by at most ``errors[i]``. T_k are the Chebyshev
    polynomials, and s runs from -1 to 1 as t (``scale="linear"``) or log t (``scale="log"``) runs
    over the piece. Two pieces may touch, and then what both state holds at the common point:
    the function is continuous there up to the errors. Otherwise there is an open gap between them
    in which the function stays between ``gap_lower[i]`` and ``gap_upper[i]``, such as around a
    discontinuity whose place is only enclosed.

    Functions are immutable. ``-f``, ``f + g``, ``f - g`` and ``f * c`` add their rounding errors
    to the stated errors; a summand may be a :class:`PiecewiseFunction`.

    Parameters
    ----------
    starts, stops : array-like of float
        Ends of the m pieces, ``starts[i] <= stops[i] <= starts[i + 1]``.
    coefficients : array-like of float, shape (m, n)
        Chebyshev coefficients of the pieces, filled up with zeros.
    errors : array-like of float
        Bounds of the distance between the function and the polynomials.
    gap_lower, gap_upper : array-like of float
        Bounds in the m - 1 gaps; without meaning where pieces touch.
    name : str, default="t"
        Name of the parameter.
    scale : {"linear", "log"}, default="linear"
        Whether the pieces are polynomials in t or in log t.

    Examples
    --------
    >>> hill = PiecewisePolynomial([0], [2], [[0.5, 0, -0.5]], [1e-12], [], [])
    >>> hill
    PiecewisePolynomial(t in [0.0, 2.0], 1 piece, max 1)
    >>> hill([0.0, 1.0])
    array([0., 1.])
    >>> hill.upper_bound - hill.max() < 1e-11
    True
    >>> [(low, high)] = hill.argmax()
    >>> low <= 1 <= high and high - low < 1e-5
    True
    """

    @classmethod
    def from_constants(
        cls, function: PiecewiseFunction, scale: str = "linear"
    ) -> PiecewisePolynomial:
        """Return a piecewise constant function with values rounded to floats.

        Parameters
        ----------
        function : PiecewiseFunction
            The function.
        scale : {"linear", "log"}, default="linear"
            Scale of the result; a constant is a polynomial in both.
        """
        values = function.values
        exact = [Fraction(int(top), function.denominator) for top in function.numerators]
        errors = [
            rounded_up(abs(Fraction(value) - true))
            for value, true in zip(values.tolist(), exact, strict=True)
        ]
        bottom = function.denominator
        lower = [rounded_down(Fraction(int(top), bottom)) for top in function.gap_lower]
        upper = [rounded_up(Fraction(int(top), bottom)) for top in function.gap_upper]
        return cls(
            function.starts, function.stops, values[:, None], errors, lower, upper,
            function.name, scale,
        )  # fmt: skip

    @property
    def undecided(self) -> FloatArray:
        """Gaps that are wider than ``1e-9 * max(1, |t|)``, one row for each."""
        gaps = self.breakpoints
        scale = np.maximum(1.0, np.abs(gaps).max(axis=1, initial=0.0))
        wide: FloatArray = gaps[gaps[:, 1] - gaps[:, 0] > BREAKPOINT_RESOLUTION * scale]
        return wide

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: Sequence[float] | npt.NDArray[Any]) -> FloatArray: ...
    def __call__(self, t: Any) -> float | FloatArray:
        """Evaluate the polynomials. O(n + log m) a point for m pieces of degree n.

        Parameters
        ----------
        t : float or array-like of float
            Points of the domain.

        Returns
        -------
        float or ndarray
            The value up to the stated error and rounding; NaN ("not decided") in a gap.
        """
        points = as_array("t", t)
        if not ((points >= self.low) & (points <= self.high)).all():
            raise self._outside(t)
        flat = points.ravel()
        rows = self._rows(flat)
        values = self._pieces.values(rows, flat)
        values[flat > self.stops[rows]] = np.nan
        return float(values[0]) if points.ndim == 0 else values.reshape(points.shape)

    def _rows(self, points: FloatArray) -> npt.NDArray[np.int64]:
        rows = np.searchsorted(self.starts, points, side="right") - 1
        return rows.astype(np.int64)

    def enclose_exact(self, t: float) -> tuple[Fraction, Fraction]:
        """Return exact bounds of the value at `t`. O(n + log m)."""
        t = as_float(self.name, t)
        if not self.low <= t <= self.high:
            raise self._outside(t)
        point = np.array([t])
        rows = self._rows(point)
        row = int(rows[0])
        if t > self.stops[row]:
            return Fraction(float(self.gap_lower[row])), Fraction(float(self.gap_upper[row]))
        value = Fraction(float(self._pieces.values(rows, point)[0]))
        reach = Fraction(float(self.errors[row])) + Fraction(float(self._pieces.slacks[row]))
        return value - reach, value + reach

    @cached_property
    def _maximum(self) -> Maximum:
        return maximum(self._pieces)

    @property
    def max_exact(self) -> Fraction:
        """Value that the function is proved to attain at `best_point`."""
        return Fraction(self._maximum.lower)

    @property
    def upper_bound_exact(self) -> Fraction:
        """Upper bound of the function over the whole domain, gaps included."""
        return Fraction(self._maximum.upper)

    @property
    def magnitude_bound(self) -> float:
        """Upper bound of the absolute value, from the coefficients alone. O(m n), not tight."""
        on_pieces = (self._pieces.sizes + self.errors).max() * ROUNDED_UP
        apart = self.starts[1:] > self.stops[:-1]
        in_gaps = np.maximum(-self.gap_lower[apart], self.gap_upper[apart]).max(initial=0.0)
        return float(max(on_pieces, in_gaps))

    @property
    def best_point(self) -> float:
        """The point with the largest value that was proved."""
        return self._maximum.point

    def argmax(self) -> list[tuple[float, float]]:
        """Return disjoint closed intervals, in order, that contain every maximiser.

        They are as narrow as the stated errors allow: close to a smooth maximum their width is
        of the order of the square root of the error.
        """
        return list(self._maximum.intervals)

    def widest_plateau(self, tolerance: Any, scale: str | None = None) -> tuple[float, float]:
        """Return the widest interval on which the function is proved to be nearly optimal.

        Parameters
        ----------
        tolerance : float, int or Fraction
            The value may be below `max_exact` by this much, at least 0.
        scale : {"linear", "log"}, optional
            How widths are measured, by default as the pieces are, by `self.scale`.

        Returns
        -------
        tuple of float
            The first of the widest intervals; just the best point if there is none.
        """
        slack = as_fraction(tolerance)
        if slack is None or slack < 0:
            raise ParameterError(f"tolerance must be a number >= 0, got {tolerance!r}.")
        intervals = self.superlevel(self.max_exact - slack)
        if not intervals:
            return self.best_point, self.best_point
        measured = widths(np.array(intervals), checked_scale(scale or self.scale, self.low))
        return intervals[int(np.argmax(measured))]

    def superlevel(self, level: Fraction) -> list[tuple[float, float]]:
        """Return disjoint intervals, in order, on which the function is proved to reach a level.

        Parameters
        ----------
        level : Fraction
            The level.
        """
        return superlevel(self._pieces, rounded_up(checked_level(level)))

    def integral(self) -> tuple[float, float]:
        """Return bounds of the integral over the domain, rounded outward."""
        return integral_bounds(self._pieces)

    def restrict(self, low: float, high: float) -> PiecewisePolynomial:
        """Return the function on a smaller domain.

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

    def clip(self, lower: float, upper: float) -> PiecewisePolynomial:
        """Return ``min(max(f, lower), upper)``.

        Parameters
        ----------
        lower, upper : float
            Finite bounds, ``lower < upper``.
        """
        if not -np.inf < lower < upper < np.inf:
            raise ParameterError(f"clip needs finite lower < upper, got {lower!r} and {upper!r}.")
        return self._of(clipped(self._pieces, float(lower), float(upper)), self.name)

    @classmethod
    def _sum(cls, functions: Sequence[DualFunction]) -> PiecewisePolynomial:
        name = common_name(functions)
        return cls._of(total(cls._same_scale(functions)), name)

    @classmethod
    def _tail(cls, functions: Sequence[DualFunction], criterion: Criterion) -> PiecewisePolynomial:
        name = common_name(functions)
        return cls._of(tail(cls._same_scale(functions), criterion), name)

    @classmethod
    def _same_scale(cls, functions: Sequence[DualFunction]) -> list[PolynomialPieces]:
        """Return all functions as polynomials on one scale."""
        scales = {item.scale for item in functions if isinstance(item, PiecewisePolynomial)}
        if len(scales) > 1:
            raise ParameterError(
                "Piecewise polynomials in t and in log t cannot be added; give all one scale."
            )
        scale = next(iter(scales), "linear")
        converted = [
            cls.from_constants(item, scale) if isinstance(item, PiecewiseFunction) else item
            for item in functions
        ]
        return [item._pieces for item in converted if isinstance(item, cls)]

    def __add__(self, other: object) -> PiecewisePolynomial:
        if not isinstance(other, DualFunction):
            return NotImplemented
        return self._sum([self, other])

    def __radd__(self, other: object) -> PiecewisePolynomial:
        if not isinstance(other, DualFunction):
            return NotImplemented
        return self._sum([other, self])

    def __sub__(self, other: object) -> PiecewisePolynomial:
        if not isinstance(other, DualFunction):
            return NotImplemented
        return self._sum([self, -other])

    def __rsub__(self, other: object) -> PiecewisePolynomial:
        if not isinstance(other, DualFunction):
            return NotImplemented
        return self._sum([other, -self])

    def __mul__(self, factor: Any) -> PiecewisePolynomial:
        exact = as_fraction(factor)
        if exact is None:
            return NotImplemented
        rounded = nearest(exact)
        # Rounding the factor and every product: two relative errors of u.
        errors = (abs(rounded) * self.errors * (1 + 4 * UNIT) + 4 * UNIT * abs(rounded) * (
            self._pieces.sizes
        )) * ROUNDED_UP  # fmt: skip
        lower, upper = self._scaled_bounds(exact)
        return type(self)(
            self.starts, self.stops, self.coefficients * rounded, errors, lower, upper,
            self.name, self.scale,
        )  # fmt: skip

    def _scaled_bounds(self, factor: Fraction) -> tuple[list[float], list[float]]:
        lower, upper = self.gap_lower.tolist(), self.gap_upper.tolist()
        scaled = [
            (factor * Fraction(low), factor * Fraction(high)) if low <= high else (1, 0)
            for low, high in zip(lower, upper, strict=True)
        ]
        return (
            [rounded_down(Fraction(min(pair))) for pair in scaled],
            [rounded_up(Fraction(max(pair))) for pair in scaled],
        )

    def __repr__(self) -> str:
        pieces = "1 piece" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
        return (
            f"PiecewisePolynomial({self.name} in [{self.low!r}, {self.high!r}], {pieces}, "
            f"max {self.max():.9g})"
        )
