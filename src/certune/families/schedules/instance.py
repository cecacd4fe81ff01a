"""What is known about a problem: how long each solver took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.checks import as_fraction
from certune.errors import InputError


@dataclass(frozen=True, init=False)
class RuntimeInstance:
    """Recorded runs of several solvers on one problem.

    Parameters
    ----------
    runtimes : mapping of solver to seconds or None
        How long each solver took, >= 0 and taken exactly; None if it did not solve the problem.
    name : str, optional
        Shown in reports.

    Examples
    --------
    >>> import certune as ct
    >>> ct.RuntimeInstance({"CBC": 99, "SCIP": None}).seconds("CBC")
    Fraction(99, 1)
    """

    runtimes: tuple[tuple[str, Fraction | None], ...]
    name: str | None = None

    def __init__(self, runtimes: Mapping[str, Any], name: str | None = None) -> None:
        if not isinstance(runtimes, Mapping) or not runtimes:
            raise InputError(
                "runtimes must map the name of at least one solver to its seconds, or to None if "
                f"it did not solve the problem, got {runtimes!r}"
            )
        known = tuple((str(solver), _seconds(solver, time)) for solver, time in runtimes.items())
        object.__setattr__(self, "runtimes", known)
        object.__setattr__(self, "name", name)

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers that were run."""
        return tuple(solver for solver, _ in self.runtimes)

    def seconds(self, solver: str) -> Fraction | None:
        """Return how long a solver took, None if it did not solve the problem."""
        known = dict(self.runtimes)
        if solver not in known:
            shown = self.name or "this problem"
            raise InputError(
                f"solver {solver!r} was not run on {shown}; there are runs of "
                f"{', '.join(map(repr, known))}"
            )
        return known[solver]


def _seconds(solver: Any, time: Any) -> Fraction | None:
    if time is None:
        return None
    try:
        seconds = as_fraction(time)
    except (TypeError, ValueError, OverflowError):
        seconds = Fraction(-1)
    if seconds < 0:
        raise InputError(
            f"the runtime of {solver!r} must be a number of seconds >= 0, or None if it did not "
            f"solve the problem, got {time!r}"
        )
    return seconds
