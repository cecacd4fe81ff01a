"""Plain floats that know how far rounding may have moved them.

A program is run a second time on these, as an independent check of what tracing says: they are
floats, so that everything means what it means to Python, and each carries an estimate of its
rounding error.  A comparison of two numbers that are closer than their errors is doubtful; the run
remembers that, and a run with doubts proves nothing against the exact function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from certune.pfaffian.expressions.arrays import elementwise

# Errors are estimates for a check, not bounds for a proof; they are taken generously.
_UNIT = 2.0**-51
# Below, products and quotients may underflow.
_TINY = 2.0**-1000


class PlainRun:
    """One run of a program on plain floats.

    Attributes
    ----------
    doubtful : bool
        Whether rounding may have changed the way it went.
    untracked : bool
        Whether numbers have lost their errors on the way: an array of numpy that is made of
        parameters holds Python's own floats.
    """

    __slots__ = ("doubtful", "untracked")

    def __init__(self) -> None:
        self.doubtful = self.untracked = False


class PlainFloat(float):
    """A float with an estimate of its rounding error.

    Parameters
    ----------
    value : float
        The number.
    error : float
        How far it may be from what exact arithmetic gives.
    run : PlainRun
        Where doubts are noted.
    """

    __slots__ = ("error", "run")

    error: float
    run: PlainRun

    def __new__(cls, value: float, error: float, run: PlainRun) -> PlainFloat:
        """Make the number."""
        self = super().__new__(cls, value)
        self.error, self.run = error, run
        return self

    def __float__(self) -> float:
        self.run.untracked = True
        return float.__float__(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return elementwise(ufunc, method, inputs, options)

    def __reduce__(self) -> Any:
        return float, (_bare(self),)

    def __copy__(self) -> PlainFloat:
        return self

    def __deepcopy__(self, memory: object) -> PlainFloat:
        return self

    def _result(self, value: Any, error: float) -> Any:
        if not isinstance(value, float) or not math.isfinite(value) or not error < math.inf:
            # Complex or out of range, which exact arithmetic is not.
            self.run.doubtful = True
            return value
        return PlainFloat(value, error + _UNIT * abs(value), self.run)

    def _doubt_within(self, distance: float, error: float) -> None:
        if not abs(distance) > error:
            self.run.doubtful = True

    # Comparisons

    def _compare(self, symbol: str, other: Any) -> Any:
        answer = getattr(float, symbol)(self, _plain(other))
        second = _number(other)
        if answer is not NotImplemented and second is not None and math.isfinite(second):
            error = self.error + _error(other)
            if error > 0.0:
                self._doubt_within(_bare(self) - second, error)
        return answer

    def __eq__(self, other: object) -> Any:
        return self._compare("__eq__", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("__ne__", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("__lt__", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("__le__", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("__gt__", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("__ge__", other)

    def __hash__(self) -> int:
        if self.error:
            self.run.doubtful = True
        return float.__hash__(self)

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        return self._binary(other, float.__add__, lambda u, v, e, f: e + f)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, float.__sub__, lambda u, v, e, f: e + f)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, float.__rsub__, lambda u, v, e, f: e + f)

    def __mul__(self, other: Any) -> Any:
        return self._binary(
            other, float.__mul__, lambda u, v, e, f: abs(u) * f + abs(v) * e + e * f
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._binary(other, float.__truediv__, _quotient_error)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(
            other, float.__rtruediv__, lambda u, v, e, f: _quotient_error(v, u, f, e)
        )

    def __pow__(self, other: Any, modulus: None = None) -> Any:
        return self._binary(other, float.__pow__, _power_error)

    def __rpow__(self, other: Any, modulus: None = None) -> Any:
        return self._binary(other, float.__rpow__, lambda u, v, e, f: _power_error(v, u, f, e))

    def _binary(
        self,
        other: Any,
        operation: Callable[[float, Any], Any],
        error: Callable[[float, float, float, float], float],
    ) -> Any:
        second = _number(other)
        if second is None or isinstance(other, Decimal):
            return NotImplemented
        try:
            value = operation(self, second)
        except ZeroDivisionError:
            if self.error or _error(other):
                self.run.doubtful = True
            raise
        if value is NotImplemented:
            return value
        try:
            spread = error(_bare(self), second, self.error, _error(other))
        except (OverflowError, ZeroDivisionError, ValueError):
            spread = math.inf
        # Sums do not underflow: a tiny one is exact, and so is a product with an exact 0.
        if abs(value) < _TINY and _bare(self) and second and operation not in _SUMS:
            spread += _TINY
        return self._result(value, spread)

    def __neg__(self) -> PlainFloat:
        return PlainFloat(-_bare(self), self.error, self.run)

    def __pos__(self) -> PlainFloat:
        return self

    def __abs__(self) -> PlainFloat:
        return PlainFloat(abs(_bare(self)), self.error, self.run)

    # Whole numbers, each with a doubt close to a jump

    def __floor__(self) -> int:
        self._doubt_near_whole(_bare(self))
        return math.floor(_bare(self))

    def __ceil__(self) -> int:
        self._doubt_near_whole(_bare(self))
        return math.ceil(_bare(self))

    def __trunc__(self) -> int:
        self._doubt_near_whole(_bare(self))
        return math.trunc(_bare(self))

    __int__ = __trunc__

    def __round__(self, ndigits: Any = None) -> Any:
        scale = 1.0 if ndigits is None else 10.0**ndigits
        self._doubt_near_whole(_bare(self) * scale + 0.5, scale)
        value = round(_bare(self), ndigits)
        return value if ndigits is None else PlainFloat(value, 0.0, self.run)

    def __floordiv__(self, other: Any) -> Any:
        return self._whole(self / other) if _number(other) is not None else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return self._whole(other / self) if _number(other) is not None else NotImplemented

    def _whole(self, quotient: Any) -> PlainFloat:
        return PlainFloat(float(math.floor(quotient)), 0.0, self.run)

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other) if _number(other) is not None else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - self * (other // self) if _number(other) is not None else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def is_integer(self) -> bool:
        """Tell whether the value is a whole number."""
        self._doubt_near_whole(_bare(self))
        return float.is_integer(self)

    def _doubt_near_whole(self, value: float, scale: float = 1.0) -> None:
        error = self.error * scale + (_UNIT * abs(value) if scale != 1.0 else 0.0)
        if error:
            self._doubt_within(value - round(value), error)

    # Functions, under the names by which numpy calls them on the elements of its arrays

    def exp(self) -> Any:
        """Return the exponential."""
        return self.function(math.exp)

    def log(self) -> Any:
        """Return the natural logarithm."""
        return self.function(math.log)

    def sqrt(self) -> Any:
        """Return the square root."""
        return self.function(math.sqrt)

    def arctan(self) -> Any:
        """Return the inverse tangent."""
        return self.function(math.atan)

    def tanh(self) -> Any:
        """Return the hyperbolic tangent."""
        return self.function(math.tanh)

    def function(self, on_floats: Callable[[float], float]) -> Any:
        """Apply a function of one number; its slope is estimated from its values nearby."""
        value = on_floats(_bare(self))
        step = max(self.error, _UNIT * abs(_bare(self)))
        spread = 0.0
        for side in (-step, step):
            try:
                spread = max(spread, abs(on_floats(_bare(self) + side) - value))
            except (ValueError, OverflowError, ZeroDivisionError):
                self.run.doubtful = True
        spread = 2.0 * spread + _UNIT * abs(value)
        return self._result(value, spread + _TINY if abs(value) < _TINY else spread)


_SUMS = (float.__add__, float.__sub__, float.__rsub__)


# The number without its error, and without a note that the error is lost.
_bare = float.__float__


def _plain(other: Any) -> Any:
    """A number without its error, anything else as it is."""
    number = _number(other)
    return other if number is None or isinstance(other, (int, complex)) else number


def _number(other: Any) -> float | None:
    if isinstance(other, float):
        return _bare(other)
    if hasattr(other, "as_integer_ratio") or hasattr(other, "__index__"):
        try:
            return float(other)
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def _error(other: Any) -> float:
    if isinstance(other, PlainFloat):
        return other.error
    if isinstance(other, (int, float)):
        return 0.0
    # A fraction or an exact constant, rounded.
    return _UNIT * abs(float(other))


def _quotient_error(u: float, v: float, e: float, f: float) -> float:
    """Return the error of u / v, infinite if v may be 0."""
    if abs(v) <= f:
        return math.inf
    return (e + abs(u / v) * f) / (abs(v) - f)


def _power_error(u: float, v: float, e: float, f: float) -> float:
    if u <= e:
        # Close to 0, where the slope of a power has no bound, only whole exponents are tame.
        if not f and v.is_integer() and v >= 1:
            return v * math.pow(abs(u) + e, v - 1.0) * e
        return math.inf if e or f else 0.0
    relative = abs(v) * e / (u - e) + abs(math.log(u)) * f
    return math.pow(u, v) * math.expm1(min(relative, 700.0))
