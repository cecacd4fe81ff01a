"""Parameter spaces, and straight lines through them.

A family of algorithms declares the parameters it can be tuned over as a :class:`ParameterSpace`.
The exact methods follow a function along a line of that space, a :class:`Segment`, so that
everything above this file only ever sees one real coordinate ``t``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from certune.errors import ParameterError

ParameterValue: TypeAlias = "float | tuple[float, ...]"
WEIGHT_SUM_TOLERANCE = 1e-9
MANTISSA_DIGITS = 53


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ParameterError(f"A parameter name must be a non-empty string, got {name!r}.")


def _check_range(what: str, low: object, high: object) -> tuple[float, float]:
    if not _is_number(low) or not _is_number(high):
        raise ParameterError(f"The ends of {what} must be numbers, got {low!r} and {high!r}.")
    first, last = float(cast(float, low)), float(cast(float, high))
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        raise ParameterError(
            f"{what} needs finite ends with low < high, got low={first!r} and high={last!r}."
        )
    return first, last


@dataclass(frozen=True)
class Real:
    """A real parameter with a closed range.

    Parameters
    ----------
    name : str
        Name of the parameter.
    low, high : float
        Finite ends of the range, ``low < high``.
    limits : bool, default=False
        Whether the limits ``-inf`` and ``inf`` are settings too, besides the range.
    """

    name: str
    low: float
    high: float
    limits: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        low, high = _check_range(f"parameter {self.name!r}", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def n_free(self) -> int:
        """Number of free real coordinates: one."""
        return 1

    def validate(self, value: object) -> float:
        """Return `value` as a float of the range, or raise :class:`ParameterError`."""
        if not _is_number(value):
            raise ParameterError(f"Parameter {self.name!r} must be a number, got {value!r}.")
        number = float(cast(float, value))
        if not (self.low <= number <= self.high or self._is_limit(number)):
            expected = f"a number in [{self.low!r}, {self.high!r}]"
            if self.limits:
                expected += " or an infinite limit"
            raise ParameterError(f"Parameter {self.name!r} must be {expected}, got {number!r}.")
        return number

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a value uniformly from the range."""
        return float(rng.uniform(self.low, self.high))

    def _is_limit(self, number: float) -> bool:
        return self.limits and math.isinf(number)


@dataclass(frozen=True)
class LogReal(Real):
    """A positive real parameter that is sampled and drawn on a logarithmic scale.

    Parameters
    ----------
    name : str
        Name of the parameter.
    low, high : float
        Finite ends of the range, ``0 < low < high``.
    limits : bool, default=False
        Whether ``inf`` is a setting too, besides the range.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ParameterError(
                f"Parameter {self.name!r} has a logarithmic scale and needs low > 0, "
                f"got low={self.low!r}; use Real for a linear scale."
            )

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a value whose logarithm is uniform over the range."""
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return min(max(value, self.low), self.high)

    def _is_limit(self, number: float) -> bool:
        return self.limits and number == math.inf


@dataclass(frozen=True)
class Simplex:
    """Non-negative weights that sum to one.

    Parameters
    ----------
    name : str
        Name of the parameter.
    size : int
        Number of weights, at least one.
    """

    name: str
    size: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not isinstance(self.size, numbers.Integral) or isinstance(self.size, bool):
            raise ParameterError(f"Simplex {self.name!r}: size must be int, got {self.size!r}.")
        if self.size < 1:
            raise ParameterError(f"Simplex {self.name!r}: size must be >= 1, got {self.size}.")
        object.__setattr__(self, "size", int(self.size))

    @property
    def n_free(self) -> int:
        """Number of free real coordinates: one less than the number of weights."""
        return self.size - 1

    def validate(self, value: object) -> tuple[float, ...]:
        """Return `value` as a tuple of weights, or raise :class:`ParameterError`."""
        weights = _as_vector(self.name, value)
        problem = ""
        if len(weights) != self.size:
            problem = f"{len(weights)} values"
        elif not all(weight >= 0 for weight in weights):
            problem = "a negative or undefined weight"
        elif not abs(math.fsum(weights) - 1.0) <= WEIGHT_SUM_TOLERANCE:
            problem = f"a sum of {math.fsum(weights)!r}"
        if problem:
            raise ParameterError(
                f"Parameter {self.name!r} must be {self.size} non-negative weights that sum to 1, "
                f"got {problem}: {weights!r}."
            )
        return weights

    def sample(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Draw weights uniformly from the simplex (Dirichlet with all concentrations 1)."""
        return tuple(float(weight) for weight in rng.dirichlet(np.ones(self.size)))


Parameter: TypeAlias = "Real | Simplex"


def _as_vector(name: str, value: object) -> tuple[float, ...]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or not all(_is_number(item) for item in value):
        raise ParameterError(f"Parameter {name!r} must be a sequence of numbers, got {value!r}.")
    return tuple(float(item) for item in value)


@dataclass(frozen=True)
class ParameterSpace:
    """The parameters of a family of algorithms, with their ranges.

    Parameters
    ----------
    parameters : tuple of Real, LogReal or Simplex
        At least one parameter; names are distinct.

    Examples
    --------
    >>> space = ParameterSpace((Real("alpha", -10, 10), Simplex("weights", 2)))
    >>> space.names, space.n_free
    (('alpha', 'weights'), 2)
    >>> space.validate({"alpha": 1, "weights": [0.5, 0.5]})
    {'alpha': 1.0, 'weights': (0.5, 0.5)}
    """

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not self.parameters:
            raise ParameterError("A ParameterSpace needs at least one parameter, got none.")
        for parameter in self.parameters:
            if not isinstance(parameter, (Real, Simplex)):
                raise ParameterError(f"Expected Real, LogReal or Simplex, got {parameter!r}.")
        if len(set(self.names)) != len(self.names):
            raise ParameterError(f"Parameter names must be distinct, got {self.names!r}.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def n_free(self) -> int:
        """Number of free real coordinates."""
        return sum(parameter.n_free for parameter in self.parameters)

    def validate(self, params: object) -> dict[str, ParameterValue]:
        """Check a setting of all parameters.

        Parameters
        ----------
        params : mapping of name to value, or number
            A bare number is accepted if the space consists of exactly one real parameter.

        Returns
        -------
        dict
            A float for each real parameter and a tuple of floats for each simplex.

        Raises
        ------
        ParameterError
            If a name is missing or unknown, or a value is out of range.
        """
        if (
            _is_number(params)
            and len(self.parameters) == 1
            and isinstance(self.parameters[0], Real)
        ):
            params = {self.names[0]: params}
        if not isinstance(params, Mapping):
            raise ParameterError(
                f"Expected a mapping with the keys {self.names!r}, got {params!r}."
            )
        if set(params) != set(self.names):
            raise ParameterError(
                f"Expected values for exactly {self.names!r}, got the keys {tuple(params)!r}."
            )
        return {item.name: item.validate(params[item.name]) for item in self.parameters}

    def default_segment(self) -> Segment:
        """Return the segment that covers the whole space, if it has one free coordinate."""
        return self._default_segment

    @cached_property
    def _default_segment(self) -> Segment:
        if self.n_free != 1:
            free = tuple(item.name for item in self.parameters if item.n_free)
            raise ParameterError(
                f"The space has {self.n_free} free coordinates (parameters {free!r}), and a "
                "function along a line needs exactly one; pass along=Segment(start, stop)."
            )
        fixed = {item.name: (1.0,) for item in self.parameters if not item.n_free}
        free_parameter = next(item for item in self.parameters if item.n_free)
        name = free_parameter.name
        if isinstance(free_parameter, Real):
            return Segment.coordinate(name, free_parameter.low, free_parameter.high, fixed)
        return Segment({**fixed, name: (1.0, 0.0)}, {**fixed, name: (0.0, 1.0)})

    def sample(self, rng: np.random.Generator) -> dict[str, ParameterValue]:
        """Draw a random setting, each parameter uniform on its own scale."""
        return {item.name: item.sample(rng) for item in self.parameters}


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
        origin, target = _as_point("start", start), _as_point("stop", stop)
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
        _check_name(name)
        first, last = _check_range(f"The segment along {name!r}", low, high)
        others = _as_point("fixed", {} if fixed is None else fixed)
        if name in others:
            raise ParameterError(f"Parameter {name!r} varies along the segment and is fixed too.")
        still = {
            key: (0.0,) * len(value) if isinstance(value, tuple) else 0.0
            for key, value in others.items()
        }
        return cls._of({name: 0.0, **others}, {name: 1.0, **still}, first, last)

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
        start, step = _as_point("origin", origin), _as_point("direction", direction)
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
        return cls._of(start, step, *_check_range("The domain of the segment", low, high))

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
        first, last = _check_range("The domain of the segment", low, high)
        if not self.low <= first < last <= self.high:
            raise ParameterError(
                f"The new domain must lie in [{self.low!r}, {self.high!r}], "
                f"got [{first!r}, {last!r}]."
            )
        return self._of(self.origin, self.direction, first, last)

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

    @classmethod
    def _of(
        cls,
        origin: dict[str, ParameterValue],
        direction: dict[str, ParameterValue],
        low: float,
        high: float,
    ) -> Segment:
        segment = object.__new__(cls)
        segment._set(origin, direction, low, high)
        return segment

    def _set(
        self,
        origin: dict[str, ParameterValue],
        direction: dict[str, ParameterValue],
        low: float,
        high: float,
    ) -> None:
        fields = {"origin": origin, "direction": direction, "low": low, "high": high}
        for field, value in fields.items():
            object.__setattr__(self, field, value)


def _entries(value: ParameterValue) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _as_point(what: str, point: object) -> dict[str, ParameterValue]:
    if not isinstance(point, Mapping):
        raise ParameterError(f"{what} must be a mapping of names to values, got {point!r}.")
    result: dict[str, ParameterValue] = {}
    for name, value in point.items():
        _check_name(name)
        coordinates = (value,) if _is_number(value) else _as_vector(name, value)
        if not all(math.isfinite(coordinate) for coordinate in coordinates):
            raise ParameterError(f"{what} of {name!r} must be finite, got {value!r}.")
        result[name] = float(coordinates[0]) if _is_number(value) else tuple(coordinates)
    return result


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
