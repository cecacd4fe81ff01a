"""The kinds of parameters: real numbers, linear or logarithmic, whole ones, words, weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from certune.checks import as_float, is_whole
from certune.errors import ParameterError
from certune.space.values import as_vector, check_name, check_range

WEIGHT_SUM_TOLERANCE = 1e-9
# Larger whole numbers are not all floats.
_LARGEST_INTEGER = 2**53
# Characters of a categorical setting, which names slices, rows and files.
_LONGEST_SETTING = 100
_MOST_SETTINGS = 1000


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
        check_name(self.name)
        low, high = check_range(f"parameter {self.name!r}", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def n_free(self) -> int:
        """Number of free real coordinates: one."""
        return 1

    def validate(self, value: object) -> float:
        """Return `value` as a float of the range, or raise :class:`ParameterError`."""
        number = as_float(f"Parameter {self.name!r}", value)
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
class Integer(Real):
    """A parameter whose settings are whole numbers.

    A program is given a Python int. Tuning is exact: one slice of the space for each number, with
    one certificate for all of them.

    Parameters
    ----------
    name : str
        Name of the parameter.
    low, high : int
        Ends of the range, both settings, ``low < high``.

    Examples
    --------
    >>> Integer("depth", 1, 5).values
    (1, 2, 3, 4, 5)
    """

    limits: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in (self.low, self.high):
            if not end.is_integer() or abs(end) > _LARGEST_INTEGER:
                raise ParameterError(
                    f"The ends of the integer parameter {self.name!r} must be whole numbers up to "
                    f"2**53, got {self.low!r} and {self.high!r}; use Real for a real range."
                )

    @property
    def values(self) -> tuple[int, ...]:
        """All settings."""
        return tuple(range(int(self.low), int(self.high) + 1))

    @property
    def size(self) -> int:
        """Number of settings."""
        return int(self.high) - int(self.low) + 1

    def validate(self, value: object) -> float:
        """Return `value` as a whole number of the range, or raise :class:`ParameterError`."""
        number = super().validate(value)
        if not number.is_integer():
            raise ParameterError(
                f"Parameter {self.name!r} must be a whole number in "
                f"[{int(self.low)}, {int(self.high)}], got {number!r}."
            )
        return int(number)

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a whole number uniformly from the range."""
        return int(rng.integers(int(self.low), int(self.high), endpoint=True))


@dataclass(frozen=True)
class Categorical:
    """A parameter that is one of a few words or numbers, such as the rule that a program follows.

    Parameters
    ----------
    name : str
        Name of the parameter.
    values : tuple of str, int, float or bool
        All settings, at least two and different.

    Examples
    --------
    >>> Categorical("rule", ("first fit", "best fit")).validate("best fit")
    'best fit'
    """

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        check_name(self.name)
        if isinstance(self.values, str) or not isinstance(self.values, Sequence):
            raise ParameterError(
                f"Categorical {self.name!r}: values must be a tuple of words or numbers, got "
                f"{self.values!r}."
            )
        if len(self.values) > _MOST_SETTINGS:  # such as a range, which needs no memory yet
            raise ParameterError(
                f"Categorical {self.name!r}: at most {_MOST_SETTINGS} values are tried one by one, "
                f"got {len(self.values)}; use Integer for a range of whole numbers."
            )
        object.__setattr__(self, "values", tuple(self.values))
        kinds = {type(value) for value in self.values}
        if not kinds <= {str, int, float, bool} or any(value != value for value in self.values):
            raise ParameterError(
                f"Categorical {self.name!r}: values must be words or numbers, got {self.values!r}."
            )
        for place, value in enumerate(self.values):
            if (isinstance(value, str) and len(value) > _LONGEST_SETTING) or (
                isinstance(value, int) and value.bit_length() > _LONGEST_SETTING
            ):
                raise ParameterError(
                    f"Categorical {self.name!r}: words have up to {_LONGEST_SETTING} characters "
                    f"and whole numbers as many bits, value {place} has more; give it a short name."
                )
        if len(self.values) < 2 or len(set(self.values)) != len(self.values):
            raise ParameterError(
                f"Categorical {self.name!r}: at least two different values are needed, got "
                f"{self.values!r}; a setting that is always the same belongs into the program."
            )

    @property
    def n_free(self) -> int:
        """Number of free real coordinates: none."""
        return 0

    @property
    def size(self) -> int:
        """Number of settings."""
        return len(self.values)

    @property
    def low(self) -> float:
        """Place of the first setting, 0."""
        return 0.0

    @property
    def high(self) -> float:
        """Place of the last setting."""
        return float(self.size - 1)

    def validate(self, value: object) -> Any:
        """Return the setting that equals `value`, or raise :class:`ParameterError`."""
        for known in self.values:
            if isinstance(value, str) == isinstance(known, str) and value == known:
                return known
        raise ParameterError(
            f"Parameter {self.name!r} must be one of {', '.join(map(repr, self.values))}, got "
            f"{value!r}."
        )

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw a setting uniformly."""
        return self.values[int(rng.integers(self.size))]


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
        check_name(self.name)
        if not is_whole(self.size):
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
        weights = as_vector(self.name, value)
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


Parameter: TypeAlias = "Real | Simplex | Categorical"
