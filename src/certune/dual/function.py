"""What every function of one parameter can do, whatever its pieces are.

The utility of an algorithm as a function of its parameter is known on closed pieces and bounded
in the gaps between them. What is known on a piece, a fraction or a polynomial with an error
bound, is left to the classes below this one; tuning, certificates and pictures only need this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from certune.cards import card, curve
from certune.checks import as_float
from certune.dual.integers import FloatArray, nearest, rounded_down, rounded_up
from certune.errors import ParameterError


class DualFunction(ABC):
    """A function on ``[low, high]`` that is enclosed everywhere.

    Piece i is the closed interval ``[starts[i], stops[i]]``; between two pieces lies the open gap
    ``(stops[i], starts[i + 1])``, in which only bounds are known.

    Attributes
    ----------
    name : str
        Name of the parameter.
    """

    name: str

    # Lets numpy scalars hand `2 * f` over to this class.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def starts(self) -> FloatArray:
        """Left ends of the pieces."""

    @property
    @abstractmethod
    def stops(self) -> FloatArray:
        """Right ends of the pieces."""

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: Sequence[float] | npt.NDArray[Any]) -> FloatArray: ...
    @abstractmethod
    def __call__(self, t: Any) -> float | FloatArray:
        """Evaluate the function; NaN ("not decided") in a gap whose bounds differ."""

    @abstractmethod
    def enclose_exact(self, t: float) -> tuple[Fraction, Fraction]:
        """Return exact bounds of the value at `t`, equal where it is known exactly."""

    @property
    @abstractmethod
    def max_exact(self) -> Fraction:
        """Largest value that the function is known to attain, outside of gaps."""

    @property
    @abstractmethod
    def upper_bound_exact(self) -> Fraction:
        """Upper bound of the function over the whole domain, gaps included."""

    @property
    @abstractmethod
    def best_point(self) -> float:
        """A point at which the function is at least `max_exact`."""

    @abstractmethod
    def argmax(self) -> list[tuple[float, float]]:
        """Return the maximisers as disjoint closed intervals, in order."""

    @abstractmethod
    def widest_plateau(self, tolerance: Any, scale: str | None = None) -> tuple[float, float]:
        """Return the widest interval on which the function is nearly optimal."""

    @abstractmethod
    def superlevel(self, level: Fraction) -> list[tuple[float, float]]:
        """Return disjoint intervals, in order, on which the function is proved to reach a level."""

    @abstractmethod
    def integral(self) -> tuple[float, float]:
        """Return bounds of the integral over the domain, rounded outward."""

    @abstractmethod
    def restrict(self, low: float, high: float) -> Self:
        """Return the function on a smaller domain."""

    def _repr_html_(self) -> str:
        places = np.linspace(self.low, self.high, 161)
        rows = [
            (self.name, f"from {self.low:g} to {self.high:g}"),
            ("pieces", f"{self.n_pieces}"),
            ("largest value", f"{float(self.max_exact):.6g}, at {self.best_point:.6g}"),
            ("undecided", f"{len(self.undecided)} intervals" if len(self.undecided) else "nothing"),
        ]
        return card(type(self).__name__, rows, curve(self(places).tolist()))

    @abstractmethod
    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the function as plain arrays, for a file without pickled objects."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the function that :meth:`to_arrays` has written; checks everything anew."""

    @property
    @abstractmethod
    def undecided(self) -> FloatArray:
        """Gaps in which more than the place of one change is open, one row for each."""

    @abstractmethod
    def __mul__(self, factor: Any) -> Self: ...

    @abstractmethod
    def _check(self) -> None:
        """Raise AssertionError if an invariant does not hold."""

    @property
    def low(self) -> float:
        """Left end of the domain."""
        return float(self.starts[0])

    @property
    def high(self) -> float:
        """Right end of the domain."""
        return float(self.stops[-1])

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return int(self.starts.size)

    @property
    def breakpoints(self) -> FloatArray:
        """Ends of neighbouring pieces, one row (stop, next start) for each two of them.

        At a discontinuity this is an enclosure of its place.
        """
        return np.column_stack((self.stops[:-1], self.starts[1:]))

    def sample_points(self) -> FloatArray:
        """Return one point of every piece, its middle."""
        return np.clip(0.5 * self.starts + 0.5 * self.stops, self.starts, self.stops)

    def enclose(self, t: float) -> tuple[float, float]:
        """Return float bounds of the value at `t`, rounded outward.

        The exact value always lies between the bounds; where it is decided but not a float, they
        are neighbouring floats.
        """
        lower, upper = self.enclose_exact(t)
        return rounded_down(lower), rounded_up(upper)

    def value_at(self, t: float) -> Fraction | None:
        """Return the exact value at `t`, or None where it is not known exactly."""
        lower, upper = self.enclose_exact(t)
        return lower if lower == upper else None

    def max(self) -> float:
        """Return the largest value that is known to be attained, correctly rounded."""
        return nearest(self.max_exact)

    @property
    def upper_bound(self) -> float:
        """Upper bound over the whole domain, correctly rounded, like :meth:`max`.

        Compare `upper_bound_exact` with `max_exact` to prove that the maximum is attained.
        """
        return nearest(self.upper_bound_exact)

    def _outside(self, t: Any) -> ParameterError:
        return ParameterError(
            f"{self.name} must lie in the domain [{self.low!r}, {self.high!r}], got {t!r}."
        )

    def _checked_domain(self, low: float, high: float) -> tuple[float, float]:
        low, high = as_float(self.name, low) + 0.0, as_float(self.name, high) + 0.0
        if not self.low <= low <= high <= self.high:
            raise self._outside((low, high))
        return low, high

    def __neg__(self) -> Self:
        return self.__mul__(-1)

    def __rmul__(self, factor: Any) -> Self:
        return self.__mul__(factor)


def common_name(functions: Sequence[DualFunction]) -> str:
    """Return the name of the parameter of a sum: the common one, or ``"t"``.

    Raises
    ------
    ParameterError
        If the functions are not over the same domain.
    """
    first = functions[0]
    for other in functions:
        if other.low != first.low or other.high != first.high:
            raise ParameterError(
                "Functions can only be added over the same domain, got "
                f"[{first.low!r}, {first.high!r}] and [{other.low!r}, {other.high!r}]; "
                "use restrict to cut them to a common one."
            )
    names = {function.name for function in functions}
    return first.name if len(names) == 1 else "t"
