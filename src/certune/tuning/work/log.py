"""The log of a tuning run, in the manner of MIP solvers: incumbent, bound and gap over time.

It goes to stderr, so that the output of a program stays clean, and by default only for runs that
take long enough for somebody to wonder.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Protocol

from certune.aggregates import Criterion
from certune.displays import BEAT, SILENCE, Display, Moment, fitting_display, spoken_seconds
from certune.families.base import Family
from certune.scores import Score
from certune.space import ParameterSpace, Segment
from certune.tuning.status import Status

# The time between rows grows with the run, so that the number of rows is logarithmic; and a row,
# which needs the exact mean, takes at most about a twentieth of the time.
FIRST_INTERVAL, GROWTH, ROW_SHARE = 1.0, 0.25, 20.0

COLUMNS = "{:>9}  {:>13}  {:>9}  {:>10}  {:>10}  {:>9}  {:>8}"


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
    """Header, rows and end of one run.

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
    timeout : float, optional
        Seconds after which the run ends.
    """

    def __init__(
        self,
        header: str,
        progress: bool | None,
        titles: tuple[str, str] = ("finished", "pieces"),
        score: Score = UTILITY,
        timeout: float = math.inf,
    ) -> None:
        self.score = score
        self._header = header
        self._titles = titles
        self._timeout = timeout
        self._display: Display | None = None
        self._lock = threading.RLock()
        self._next_row = 0.0
        self._started = time.perf_counter()
        self._counts: tuple[str, str] = ("-", "-")
        self._values: tuple[str, str, str] = ("-", "-", "-")
        self._share: float | None = None
        self._doing = ""
        self._estimate = math.inf
        self._has_rows = False
        self._closed = threading.Event()
        if SILENCE.is_wanted:
            progress = False
        if progress:
            self._open()
        if progress is not False:
            threading.Thread(target=self._live, name="certune-log", daemon=True).start()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """End the log, if the run has not: a run that failed has no status."""
        self._end("")

    def note(self, n_finished: int, n_all: int | None, doing: str, seconds_left: float) -> None:
        """Say how far the run is, which costs nothing.

        Parameters
        ----------
        n_finished, n_all : int, int or None
            Instances that are finished, and all of them; None if nobody knows how many.
        doing : str
            What is being done next.
        seconds_left : float
            Until the last one is finished, by expectation; infinite if nothing is known.
        """
        with self._lock:
            self._share, self._doing = n_finished / n_all if n_all else None, doing
            count = f"{n_finished}/{n_all}" if n_all else str(n_finished)
            self._counts = (count, self._counts[1])
            self._estimate = self._elapsed + seconds_left

    def doing(self, words: str) -> None:
        """Say what is being done now."""
        with self._lock:
            self._doing = words

    def is_due(self, elapsed: float, *, last: bool) -> bool:
        """Tell whether a row should be printed; `last` after the last instance."""
        return last or (self._display is not None and elapsed >= self._next_row)

    def row(self, state: State) -> None:
        """Print a row."""
        started = time.perf_counter()
        values = (
            f"{self.score.of(state.best_value):.6f}",
            f"{self.score.of(state.upper_bound):.6f}",
            f"{state.gap:.6f}",
        )
        with self._lock:
            self._counts, self._values = state.counts, values
            if self._display is not None:
                self._display.row(self._row(state.elapsed))
                self._has_rows = True
        cost = time.perf_counter() - started
        pause = max(FIRST_INTERVAL, GROWTH * state.elapsed, ROW_SHARE * cost)
        self._next_row = state.elapsed + pause

    def end(self, status: Status) -> None:
        """Say how the run ended; what came of it is for the result to say."""
        self._end(f"{status.name} after {spoken_seconds(self._elapsed)}")

    def _end(self, words: str) -> None:
        with self._lock:
            if self._display is not None and not self._closed.is_set():
                if words and not self._has_rows and self._values[0] != "-":
                    # A table that was opened while the last step went on is not left empty.
                    self._display.row(self._row(self._elapsed))
                self._display.beat(self._moment())
                self._display.close(words)
            self._closed.set()

    def _live(self) -> None:
        """Open the log once the run is a long one, and keep it moving."""
        if self._display is None and SILENCE.outlast(self._closed):
            return
        self._open()
        while not self._closed.wait(BEAT):
            with self._lock:
                if self._display is not None and not self._closed.is_set():
                    self._display.beat(self._moment())

    def _open(self) -> None:
        with self._lock:
            if self._display is None and not self._closed.is_set():
                display = fitting_display()
                display.open(
                    self._header,
                    COLUMNS.format("time", *self._titles, "best", "bound", "gap", "ETA"),
                )
                self._display = display

    @property
    def _elapsed(self) -> float:
        return time.perf_counter() - self._started

    def _left(self, elapsed: float) -> str:
        """Return the seconds that are left, by estimate or limit."""
        seconds = min(self._estimate, self._timeout) - elapsed
        return "-" if seconds == math.inf else spoken_seconds(max(0.0, seconds))

    def _row(self, elapsed: float) -> str:
        cells = (f"{elapsed:.1f} s", *self._counts, *self._values, self._left(elapsed))
        return COLUMNS.format(*cells)

    def _moment(self) -> Moment:
        elapsed = self._elapsed
        best, _, gap = self._values
        known = "" if best == "-" else f", best {best}, gap {gap}"
        words = (
            f"{spoken_seconds(elapsed)}  {self._counts[0]} {self._titles[0]}{known}, "
            f"ETA {self._left(elapsed)}"
        )
        doing = f"  {self._doing}" if self._doing else ""
        return Moment(elapsed, self._row(elapsed) + doing, self._share, words + doing)


def header(family: Family, n_instances: int, segment: Segment, criterion: Criterion) -> str:
    """Return what is tuned and how to read the columns."""
    return "\n".join(
        (
            f"certune: exact tuning of {family!r}",
            f"{n_instances} instance{'s' * (n_instances != 1)}, free parameter "
            f"{_between(family, segment)}",
            f"best:  best {criterion.words(str(family.score))}, over the finished instances",
            "bound: no setting is better over all instances; an unfinished one counts as perfect",
            "gap:   from the bound to what is sure over all instances",
        )
    )


def header_of_stream(family: Family) -> str:
    """Return what is tuned on a stream and how to read the columns."""
    return "\n".join(
        (
            f"certune: exact tuning of {family!r}",
            "a stream of instances, free parameter "
            f"{_between(family, family.space.default_segment())}",
            f"best:  best mean {family.score}, over the instances that were read",
            "bound: no setting is better over these",
            "gap:   from bound to best",
        )
    )


def _between(family: Family, segment: Segment) -> str:
    """Return the free parameter and its range in words."""
    free = next(item.name for item in family.space.parameters if item.n_free)
    if isinstance(segment.origin[free], tuple):
        ends = segment.at(segment.low)[free], segment.at(segment.high)[free]
        return f"{free} from {ends[0]} to {ends[1]}"
    return f"{free} in [{segment.low:g}, {segment.high:g}]"


def header_of_search(
    family: Family, n_instances: int, space: ParameterSpace, criterion: Criterion
) -> str:
    """Return what is tuned over several parameters and how to read the columns."""
    free = ", ".join(item.name for item in space.parameters if item.n_free)
    return "\n".join(
        (
            f"certune: exact tuning of {family!r}",
            f"{n_instances} instance{'s' * (n_instances != 1)}, free parameters {free} "
            f"({space.n_free} coordinates)",
            f"best:  {criterion.words(str(family.score))} of the best setting so far",
            "bound: no setting is better",
            "gap:   from bound to best",
        )
    )
