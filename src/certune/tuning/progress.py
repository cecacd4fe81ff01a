"""What is known while instances are still being worked on.

Finished instances are known exactly. An unfinished one can only be as good, or as bad, as the
family allows at all, which bounds the mean over all instances from the first one on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from certune.dual import DualFunction, mean
from certune.errors import TuningError

Callback: TypeAlias = Callable[[Any], Any]


def asked(callbacks: Sequence[Callback], state: Any) -> bool:
    """Call all callbacks with a state; tells whether one of them returned True, to stop.

    Raises
    ------
    TuningError
        If one of them fails.
    """
    stop = False
    for callback in callbacks:
        try:
            stop |= callback(state) is True
        except Exception as error:
            raise TuningError(
                f"The callback {callback!r} failed: {type(error).__name__}: {error}\nWhat was "
                "finished by then is the attribute result of this error."
            ) from error
    return stop


def blend(finished: Fraction, n_finished: int, unfinished: Fraction, n_instances: int) -> Fraction:
    """Return the mean over all instances if each unfinished one has the same given utility."""
    return (finished * n_finished + unfinished * (n_instances - n_finished)) / n_instances


@dataclass(frozen=True)
class Progress:
    """State of a tuning run after an instance; what callbacks see.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    n_finished, n_instances : int
        Instances whose exact function is known, and all of them.
    n_pieces : int
        Pieces of the finished functions together.
    utility_range : tuple of float
        Smallest and largest utility that an unfinished instance can have.
    duals : tuple of DualFunction
        The finished functions, in the order of the instances.

    Notes
    -----
    The mean over the finished instances is only computed when a value that needs it is asked for:
    O(B log B) for B breakpoints in all.
    """

    elapsed: float
    n_finished: int
    n_instances: int
    n_pieces: int
    utility_range: tuple[float, float]
    duals: tuple[DualFunction, ...] = field(repr=False)

    @cached_property
    def landscape(self) -> DualFunction:
        """Exact mean over the finished instances."""
        return mean(self.duals)

    @property
    def counts(self) -> tuple[str, str]:
        """Finished instances and pieces, for the log."""
        return f"{self.n_finished}/{self.n_instances}", f"{self.n_pieces}"

    @property
    def best_value(self) -> float:
        """Best mean utility over the finished instances."""
        return self.landscape.max()

    @property
    def upper_bound(self) -> float:
        """Bound of the best mean utility over all instances, finished or not."""
        return float(self._upper_bound)

    @property
    def gap(self) -> float:
        """Upper bound minus what the incumbent is sure to reach, both over all instances."""
        low = Fraction(self.utility_range[0])
        sure = blend(self.landscape.max_exact, self.n_finished, low, self.n_instances)
        return float(self._upper_bound - sure)

    @cached_property
    def _upper_bound(self) -> Fraction:
        high = Fraction(self.utility_range[1])
        return blend(self.landscape.upper_bound_exact, self.n_finished, high, self.n_instances)


@dataclass(frozen=True)
class SearchProgress:
    """State of a search over several parameters; what callbacks see.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    n_nodes, n_open : int
        Boxes that were bounded, and those of them that are not finished.
    best_params : dict
        The best setting so far.
    best_value_exact, upper_bound_exact : Fraction
        Its mean utility, and a bound of the mean utility of all settings.
    """

    elapsed: float
    n_nodes: int
    n_open: int
    best_params: dict[str, Any]
    best_value_exact: Fraction
    upper_bound_exact: Fraction

    @property
    def counts(self) -> tuple[str, str]:
        """Numbers of boxes, for the log."""
        return f"{self.n_nodes}", f"{self.n_open}"

    @property
    def best_value(self) -> float:
        """Mean utility of the best setting so far."""
        return float(self.best_value_exact)

    @property
    def upper_bound(self) -> float:
        """Bound of the mean utility of all settings."""
        return float(self.upper_bound_exact)

    @property
    def gap(self) -> float:
        """Exact difference of bound and best value, rounded once."""
        return float(self.upper_bound_exact - self.best_value_exact)
