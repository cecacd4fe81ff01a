"""The kinds of parameters: a real number, on a linear or logarithmic scale, and weights."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from certune.checks import as_float
from certune.errors import ParameterError
from certune.space.values import as_vector, check_name, check_range

WEIGHT_SUM_TOLERANCE = 1e-9


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


Parameter: TypeAlias = "Real | Simplex"
