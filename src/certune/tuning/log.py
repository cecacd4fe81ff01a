"""The log of a tuning run, in the manner of MIP solvers: incumbent, bound and gap over time.

It goes to stderr, so that the output of a program stays clean, and by default only for runs that
take long enough for somebody to wonder.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from certune.families.base import Family
from certune.scores import Score
from certune.space import ParameterSpace, Segment

# A run that is shorter than this many seconds is not logged unless that is asked for.
PATIENCE = 2.0
# The time between rows grows with the run, so that the number of rows is logarithmic; and a row,
# which needs the exact mean, takes at most about a twentieth of the time.
FIRST_INTERVAL, GROWTH, ROW_SHARE = 1.0, 0.25, 20.0

COLUMNS = "{:>9}  {:>13}  {:>9}  {:>10}  {:>10}  {:>9}"


UTILITY = Score()


class State(Protocol):
    """What a row of the log is made of."""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""

    @property
    def counts(self) -> tuple[str, str]:
        """How far the run is, for the second and third column."""

    @property
    def best_value(self) -> float:
        """Incumbent."""

    @property
    def upper_bound(self) -> float:
        """Bound."""

    @property
    def gap(self) -> float:
        """Gap."""


class RunLog:
    """Header, rows and summary of one run.

    Parameters
    ----------
    header : str
        What is tuned, printed once.
    progress : bool or None
        Print always, never, or once the run has lasted longer than two seconds.
    titles : pair of str
        Titles of the second and third column.
    score : Score, optional
        What the columns show instead of utilities.
    """

    def __init__(
        self,
        header: str,
        progress: bool | None,
        titles: tuple[str, str] = ("finished", "pieces"),
        score: Score = UTILITY,
    ) -> None:
        self._score = score
        self._header = header
        self._titles = titles
        self._silent = progress is False
        self._opened = False
        self._lock = threading.RLock()
        self._next_row = 0.0
        self._timer = threading.Timer(PATIENCE, self._open)
        self._timer.daemon = True
        if progress:
            self._open()
        if not self._silent:
            self._timer.start()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop waiting for the run to become a long one."""
        self._timer.cancel()

    def is_due(self, elapsed: float, *, last: bool) -> bool:
        """Tell whether a row should be printed; `last` after the last instance."""
        return self._opened and (last or elapsed >= self._next_row)

    def row(self, state: State) -> None:
        """Print a row."""
        started = time.perf_counter()
        cells = (
            f"{state.elapsed:.1f} s",
            *state.counts,
            f"{self._score.of(state.best_value):.6f}",
            f"{self._score.of(state.upper_bound):.6f}",
            f"{state.gap:.6f}",
        )
        self._print(COLUMNS.format(*cells))
        cost = time.perf_counter() - started
        pause = max(FIRST_INTERVAL, GROWTH * state.elapsed, ROW_SHARE * cost)
        self._next_row = state.elapsed + pause

    def summary(self, text: Callable[[], str]) -> None:
        """Print the result, if there is a log at all."""
        self.close()
        if self._opened:
            self._print(f"\n{text()}")

    def _open(self) -> None:
        with self._lock:
            if not self._opened:
                titles = COLUMNS.format("time", *self._titles, "best", "bound", "gap")
                self._print(f"{self._header}\n\n{titles}")
                self._opened = True

    def _print(self, text: str) -> None:
        with self._lock:
            print(text, file=sys.stderr, flush=True)


def header(family: Family, n_instances: int, space: ParameterSpace, segment: Segment) -> str:
    """Return what is tuned and how to read the columns."""
    free = next(item.name for item in space.parameters if item.n_free)
    between = f"{free} in [{segment.low:g}, {segment.high:g}]"
    if isinstance(segment.origin[free], tuple):
        ends = segment.at(segment.low)[free], segment.at(segment.high)[free]
        between = f"{free} from {ends[0]} to {ends[1]}"
    return "\n".join(
        (
            f"certune: exact tuning of {family!r}",
            f"{n_instances} instance{'s' * (n_instances != 1)}, free parameter {between}",
            f"best:  best mean {family.score} over the finished instances",
            "bound: no setting is better over all instances; an unfinished one counts as perfect",
            "gap:   from the bound to what is sure over all instances",
        )
    )


def header_of_search(family: Family, n_instances: int, space: ParameterSpace) -> str:
    """Return what is tuned over several parameters and how to read the columns."""
    free = ", ".join(item.name for item in space.parameters if item.n_free)
    return "\n".join(
        (
            f"certune: exact tuning of {family!r}",
            f"{n_instances} instance{'s' * (n_instances != 1)}, free parameters {free} "
            f"({space.n_free} coordinates)",
            f"best:  mean {family.score} of the best setting so far",
            "bound: no setting is better",
            "gap:   from bound to best",
        )
    )
