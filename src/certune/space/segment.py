"""Straight lines through a parameter space, on which every point has one real coordinate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from certune.errors import ParameterError
from certune.space.values import ParameterValue, as_point, check_name, check_range

MANTISSA_DIGITS = 53


@dataclass(frozen=True, init=False)
class Segment:
    """A straight line in parameter space.

    The point at coordinate ``t`` is ``origin + t * direction``, for ``t`` in ``[low, high]``.
    ``Segment(start, stop)`` runs from `start` at ``t = 0`` to `stop` at ``t = 1``; its direction
    is ``stop - start``, rounded so that no point lies beyond `stop`.

    Parameters
    ----------
    start, stop : mapping of name to float or sequence of floats
        Two different points with the same names.

    Attributes
    ----------
    origin, direction : dict of name to float or tuple of floats
        The line.
    low, high : float
        Domain of the coordinate.

    Examples
    --------
    >>> Segment({"alpha": 1, "weights": (1, 0)}, {"alpha": 3, "weights": (0, 1)}).at(0.5)
    {'alpha': 2.0, 'weights': (0.5, 0.5)}
    >>> Segment.coordinate("alpha", -10, 10, fixed={"weights": (1, 0)}).at(-2.5)
    {'alpha': -2.5, 'weights': (1.0, 0.0)}
    """

    origin: dict[str, ParameterValue]
    direction: dict[str, ParameterValue]
    low: float
    high: float

    def __init__(self, start: Mapping[str, Any], stop: Mapping[str, Any]) -> None:
        origin, target = as_point("start", start), as_point("stop", stop)
        if set(origin) != set(target):
            raise ParameterError(
                "start and stop of a Segment must name the same parameters, got "
                f"{tuple(origin)!r} and {tuple(target)!r}."
            )
        if origin == target:
            raise ParameterError(f"start and stop of a Segment must differ, got {origin!r} twice.")
        direction = {name: _difference(name, origin[name], target[name]) for name in origin}
        self._set(origin, direction, 0.0, 1.0)

    @classmethod
    def coordinate(
        cls, name: str, low: float, high: float, fixed: Mapping[str, Any] | None = None
    ) -> Segment:
        """Return the line along one real parameter, whose coordinate is the parameter itself.

        Parameters
        ----------
        name : str
            The parameter that varies.
        low, high : float
            Its finite range, ``low < high``.
        fixed : mapping, optional
            Values of all other parameters.
        """
        check_name(name)
        first, last = check_range(f"The segment along {name!r}", low, high)
        others = as_point("fixed", {} if fixed is None else fixed)
        if name in others:
            raise ParameterError(f"Parameter {name!r} varies along the segment and is fixed too.")
        still = {
            key: (0.0,) * len(value) if isinstance(value, tuple) else 0.0
            for key, value in others.items()
        }
        return object.__new__(cls)._set({name: 0.0, **others}, {name: 1.0, **still}, first, last)

    @classmethod
    def line(
        cls, origin: Mapping[str, Any], direction: Mapping[str, Any], low: float, high: float
    ) -> Segment:
        """Return the line through `origin` in a given direction, as stored in a file.

        Parameters
        ----------
        origin, direction : mapping of name to float or sequence of floats
            The same names with values of the same shape; not all of the direction is zero.
        low, high : float
            Domain of the coordinate, ``low < high``.
        """
        start, step = as_point("origin", origin), as_point("direction", direction)
        shapes = [
            {name: np.shape(value) for name, value in point.items()} for point in (start, step)
        ]
        if shapes[0] != shapes[1]:
            raise ParameterError(
                "origin and direction of a Segment must have the same names and shapes, got "
                f"{start!r} and {step!r}."
            )
        if not any(np.any(value) for value in step.values()):
            raise ParameterError(f"The direction of a Segment must not be zero, got {step!r}.")
        return object.__new__(cls)._set(
            start, step, *check_range("The domain of the segment", low, high)
        )

    def restrict(self, low: float, high: float) -> Segment:
        """Return the part of the line on a smaller domain.

        Origin and direction stay the same, so that a coordinate means the same point.

        Parameters
        ----------
        low, high : float
            The new domain, ``self.low <= low < high <= self.high``.

        Examples
        --------
        >>> Segment.coordinate("alpha", -10, 10).restrict(2, 3).at(2.5)
        {'alpha': 2.5}
        """
        first, last = check_range("The domain of the segment", low, high)
        if not self.low <= first < last <= self.high:
            raise ParameterError(
                f"The new domain must lie in [{self.low!r}, {self.high!r}], "
                f"got [{first!r}, {last!r}]."
            )
        return object.__new__(type(self))._set(self.origin, self.direction, first, last)

    @property
    def name(self) -> str:
        """Name of the coordinate: the parameter that it equals, or else ``"t"``."""
        moving = [name for name, step in self.direction.items() if any(_entries(step))]
        is_parameter = [self.origin[name] == 0.0 and self.direction[name] == 1.0 for name in moving]
        return moving[0] if is_parameter == [True] else "t"

    def at(self, t: float) -> dict[str, ParameterValue]:
        """Return the parameters at coordinate `t` of the domain, rounded to floats."""
        if not self.low <= t <= self.high:
            raise ParameterError(f"t must lie in [{self.low!r}, {self.high!r}], got {t!r}.")
        t = float(t)
        return {name: _along(self.origin[name], t, self.direction[name]) for name in self.origin}

    def is_exact_at(self, t: float) -> bool:
        """Tell whether ``at(t)`` is the point of the line itself, free of rounding.

        A rounded point can lie on the other side of a breakpoint that is close to `t`.
        """
        return all(
            Fraction(rounded) == Fraction(start) + Fraction(t) * Fraction(step)
            for name, value in self.at(t).items()
            for rounded, start, step in zip(
                _entries(value),
                _entries(self.origin[name]),
                _entries(self.direction[name]),
                strict=True,
            )
        )

    def exact_point(self, low: float, high: float) -> float | None:
        """Return a coordinate in ``[low, high]``, near the middle, where `at` does not round.

        Returns None if there is none among the middle rounded to fewer and fewer binary digits.
        """
        middle = min(max(0.5 * low + 0.5 * high, low), high)
        mantissa, exponent = math.frexp(middle)
        for digits in range(MANTISSA_DIGITS, 0, -1):
            t = math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)
            if low <= t <= high and self.is_exact_at(t):
                return t
        return None

    def _set(
        self,
        origin: dict[str, ParameterValue],
        direction: dict[str, ParameterValue],
        low: float,
        high: float,
    ) -> Segment:
        fields = {"origin": origin, "direction": direction, "low": low, "high": high}
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        return self


def _entries(value: ParameterValue) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _difference(name: str, start: ParameterValue, stop: ParameterValue) -> ParameterValue:
    if isinstance(start, tuple) and isinstance(stop, tuple) and len(start) == len(stop):
        return tuple(_step(name, first, last) for first, last in zip(start, stop, strict=True))
    if isinstance(start, tuple) or isinstance(stop, tuple):
        raise ParameterError(
            f"start and stop of {name!r} must have the same shape, got {start!r} and {stop!r}."
        )
    return _step(name, start, stop)


def _step(name: str, start: float, stop: float) -> float:
    step = stop - start
    if not math.isfinite(step):
        raise ParameterError(f"The range of {name!r} overflows: from {start!r} to {stop!r}.")
    # A difference that was rounded away from zero could carry the point at t = 1 past stop,
    # out of the range of the parameter; the next float towards zero cannot.
    overshoots = start + step > stop if step > 0 else start + step < stop
    return math.nextafter(step, 0.0) if overshoots else step


def _along(origin: ParameterValue, t: float, direction: ParameterValue) -> ParameterValue:
    if isinstance(origin, tuple) and isinstance(direction, tuple):
        return tuple(start + t * step for start, step in zip(origin, direction, strict=True))
    return cast(float, origin) + t * cast(float, direction)
