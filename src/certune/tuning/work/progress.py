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

from certune.aggregates import Criterion, Mean
from certune.dual import DualFunction, PiecewiseFunction, aggregated
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


def upper_bound_of(
    landscape: DualFunction,
    duals: Sequence[DualFunction],
    criterion: Criterion,
    n_instances: int,
    largest: Fraction,
) -> Fraction:
    """Bound the aggregate over all instances, of which the first ones have functions.

    Parameters
    ----------
    landscape : DualFunction
        Aggregate of the functions.
    duals : sequence of DualFunction
        The functions.
    criterion : Criterion
        The aggregate, with the weights of all instances.
    n_instances : int
        Number of all instances.
    largest : Fraction
        Largest utility, which the instances without a function may have.
    """
    n_missing = n_instances - len(duals)
    if not n_missing:
        return landscape.upper_bound_exact
    if isinstance(criterion.aggregate, Mean):
        return _blend(landscape.upper_bound_exact, len(duals), criterion, n_instances, largest)
    perfect = PiecewiseFunction.constant(landscape.low, landscape.high, largest, landscape.name)
    return aggregated([*duals, *[perfect] * n_missing], criterion).upper_bound_exact


def sure_value_of(
    landscape: DualFunction,
    duals: Sequence[DualFunction],
    criterion: Criterion,
    n_instances: int,
    lowest: Fraction,
) -> Fraction:
    """Return what the best setting so far is sure to reach over all instances.

    Parameters are as for :func:`upper_bound_of`, with the lowest utility.
    """
    n_missing = n_instances - len(duals)
    if not n_missing:
        return landscape.max_exact
    if isinstance(criterion.aggregate, Mean):
        return _blend(landscape.max_exact, len(duals), criterion, n_instances, lowest)
    known = [dual.enclose_exact(landscape.best_point)[0] for dual in duals]
    return criterion.value([*known, *[lowest] * n_missing])


def _blend(
    finished: Fraction, n_finished: int, criterion: Criterion, n_instances: int, utility: Fraction
) -> Fraction:
    """Return the mean over all instances if each unfinished one has the same given utility."""
    weights, total = criterion.units(n_instances)
    known = sum(weights[:n_finished])
    return (finished * known + utility * (total - known)) / total


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
    criterion : Criterion
        What is maximised: the mean unless something else was asked for. Weights are in the order
        of the functions, then those of unfinished instances.

    Notes
    -----
    The aggregate over the finished instances is only computed when a value that needs it is asked
    for: O(B log B) for B breakpoints in all.
    """

    elapsed: float
    n_finished: int
    n_instances: int
    n_pieces: int
    utility_range: tuple[float, float]
    duals: tuple[DualFunction, ...] = field(repr=False)
    criterion: Criterion = field(default=Criterion(), repr=False)

    @cached_property
    def landscape(self) -> DualFunction:
        """Exact mean, or other aggregate, over the finished instances."""
        return aggregated(self.duals, self.criterion.of(range(self.n_finished)))

    @property
    def counts(self) -> tuple[str, str]:
        """Finished instances and pieces, for the log."""
        return f"{self.n_finished}/{self.n_instances}", f"{self.n_pieces}"

    @property
    def best_value(self) -> float:
        """Best mean, or other aggregate, of the utility over the finished instances."""
        return self.landscape.max()

    @property
    def upper_bound(self) -> float:
        """Bound of the best aggregate over all instances, finished or not."""
        return float(self._upper_bound)

    @property
    def gap(self) -> float:
        """Upper bound minus what the incumbent is sure to reach, both over all instances."""
        low = Fraction(self.utility_range[0])
        known = self.landscape, self.duals, self.criterion, self.n_instances
        return float(self._upper_bound - sure_value_of(*known, low))

    @cached_property
    def _upper_bound(self) -> Fraction:
        high = Fraction(self.utility_range[1])
        known = self.landscape, self.duals, self.criterion, self.n_instances
        return upper_bound_of(*known, high)


class Bracket:
    """An optimum between what was found and what no setting exceeds, both known exactly."""

    best_value_exact: Fraction
    upper_bound_exact: Fraction

    @property
    def best_value(self) -> float:
        """`best_value_exact`, correctly rounded."""
        return float(self.best_value_exact)

    @property
    def upper_bound(self) -> float:
        """`upper_bound_exact`, correctly rounded."""
        return float(self.upper_bound_exact)

    @property
    def gap(self) -> float:
        """Exact difference of bound and best value, rounded once."""
        return float(self.upper_bound_exact - self.best_value_exact)


@dataclass(frozen=True)
class SearchProgress(Bracket):
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
