"""Where a run takes place: its stop, its signals and its workers, and how it is left.

Every way out of a run goes through here: a limit or a signal sets the stop, a failure is an
exception that carries what was finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from certune.deadline import Stop, TimeIsUp
from certune.errors import CertuneError
from certune.tuning.work.executors import Crew
from certune.tuning.work.interrupts import SignalWatch
from certune.tuning.work.progress import Callback

# Seconds for plain runs of the best setting after a run had to end.
GRACE = 0.1


class Workload(Protocol):
    """What is worked on: a family, or a choice of several."""

    @property
    def releases_lock(self) -> bool:
        """Whether the work leaves the interpreter lock to other threads."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run that do not change what it looks for.

    Attributes
    ----------
    n_jobs : int or None
        Number of workers.
    callbacks : tuple of callable
        Who wants to see states of the run, and may stop it.
    progress : bool or None
        Whether to log.
    timeout : float
        Seconds, from when the work starts; may be infinite.
    timeout_per_instance : float
        Seconds for one instance.
    skips_failures : bool
        Whether an instance that fails is left out instead of ending the run.
    """

    n_jobs: int | None
    callbacks: tuple[Callback, ...]
    progress: bool | None
    timeout: float
    timeout_per_instance: float = math.inf
    skips_failures: bool = False

    @contextmanager
    def workplace(self, family: Workload, shares_objects: bool = False) -> Iterator[Workplace]:
        """Make the workplace of a run, and leave nothing of it behind."""
        wish = Stop()
        stop = Stop(self.timeout, wish)
        with SignalWatch(wish) as watch:
            limited = self.timeout_per_instance < math.inf
            crew = Crew(self.n_jobs, watch, stop, family.releases_lock, shares_objects, limited)
            try:
                yield Workplace(watch, crew)
            finally:
                crew.close()


@dataclass(frozen=True)
class Workplace:
    """Signals and workers of a run."""

    watch: SignalWatch
    crew: Crew

    def patient_crew(self) -> Crew:
        """Return a worker whom signals stop, but not the time."""
        return Crew.here(self.watch, self.watch.wish)

    def last_crew(self) -> Crew:
        """Give up what is under way, and return a worker who has a moment for the result."""
        self.crew.close()
        return Crew.here(self.watch, Stop(GRACE))


def with_result(error: BaseException, result: Callable[[], Any]) -> None:
    """Attach what is finished to an exception; it says the same without it if that fails."""
    with suppress(CertuneError, TimeIsUp, KeyboardInterrupt):
        error.result = result()  # type: ignore[attr-defined]
