"""Where words go while work lasts: a live table, a bar in a notebook, or plain lines.

On a terminal rows scroll as those of MIP solvers do, above one line that is always up to date. A
notebook gets a bar that fills. Everywhere else lines are printed. A display is called from one
thread at a time, several times in a second while the work lasts, so that none is ever silent for
long, also while a single instance takes its time.
"""

from __future__ import annotations

import html
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

# Seconds between two looks at what moves, and those after which something has to be said: together
# two.
BEAT, PATIENCE = 0.25, 1.75


class Silence:
    """How long nothing has been said to the user, from one place of the program or another.

    A conversation is what a user waits for: a command, or a call of the library. Its parts share
    its silence, so that many short ones are not silent together for long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._since = time.perf_counter()
        self._quiet = ContextVar("certune_quiet", default=False)

    @contextmanager
    def conversation(self, quiet: bool = False) -> Iterator[None]:
        """Begin to count, unless this is part of a conversation; nothing is said in a quiet one."""
        with self._lock:
            if not self._depth:
                self._since = time.perf_counter()
            self._depth += 1
        token = self._quiet.set(quiet or self._quiet.get())
        try:
            yield
        finally:
            self._quiet.reset(token)
            with self._lock:
                self._depth -= 1

    @property
    def is_wanted(self) -> bool:
        """Whether nothing must be said."""
        return self._quiet.get()

    def end(self) -> None:
        """Say that something was said."""
        self._since = time.perf_counter()

    def outlast(self, over: threading.Event) -> bool:
        """Wait until something has to be said; tells whether it was over before."""
        while (left := self._since + PATIENCE - time.perf_counter()) > 0:
            if over.wait(left):
                return True
        return over.is_set()

    @property
    def is_long(self) -> bool:
        """Whether something has to be said."""
        return time.perf_counter() - self._since >= PATIENCE


SILENCE = Silence()


@dataclass(frozen=True)
class Moment:
    """How far a run is at a moment.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    row : str
        What a row of the table would say.
    share : float or None
        Finished share of the work, from 0 to 1, where that is known.
    words : str
        The same in words.
    """

    elapsed: float
    row: str
    share: float | None
    words: str


class Display(Protocol):
    """What shows a run."""

    def open(self, header: str, titles: str) -> None:
        """Say what is run, once."""

    def row(self, text: str) -> None:
        """Add a row to the table."""

    def beat(self, moment: Moment) -> None:
        """Show that the run goes on."""

    def close(self, summary: str) -> None:
        """Show how it ended; the words are empty if it did not end well."""


class Lines:
    """Lines on stderr, for files and pipes."""

    def open(self, header: str, titles: str) -> None:
        """Print header and titles."""
        self._print(f"{header}\n\n{titles}" if titles else header)

    def row(self, text: str) -> None:
        """Print a row."""
        self._print(text)

    def beat(self, moment: Moment) -> None:
        """Print a row if it has been quiet for long."""
        if SILENCE.is_long:
            self._print(moment.row)

    def close(self, summary: str) -> None:
        """Print how it ended."""
        if summary:
            self._print(summary)

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        SILENCE.end()


class Terminal:
    """Rows that scroll above a line that moves."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=16),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis"),
            ),
            console=self._console,
            auto_refresh=False,
        )
        self._task = self._bar.add_task("", total=None)
        self._live = Live(
            self._bar, console=self._console, auto_refresh=False, transient=True,
            vertical_overflow="crop",
        )  # fmt: skip

    def open(self, header: str, titles: str) -> None:
        """Print header and titles, and start the line below them."""
        self._print(f"{header}\n\n{titles}" if titles else header)
        self._live.start()

    def row(self, text: str) -> None:
        """Print a row above the line."""
        self._print(text)

    def beat(self, moment: Moment) -> None:
        """Draw the line again."""
        total = None if moment.share is None else 1.0
        self._bar.update(
            self._task, description=moment.words, completed=moment.share or 0.0, total=total
        )
        self._live.refresh()
        SILENCE.end()

    def close(self, summary: str) -> None:
        """Remove the line and print how it ended."""
        self._live.stop()
        if summary:
            self._print(summary)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)
        SILENCE.end()


class Notebook:
    """A bar below the cell.

    Parameters
    ----------
    show : callable
        Shows an object in the notebook and returns a handle with a method ``update``.
    """

    def __init__(self, show: Callable[[Any], Any]) -> None:
        self._show = show
        self._handle: Any = None
        self._title = ""
        self._moment = Moment(0.0, "", None, "")

    def open(self, header: str, titles: str) -> None:
        """Show an empty bar."""
        self._title = header.splitlines()[0]
        self._handle = self._show(self._drawn(self._moment))

    def row(self, text: str) -> None:
        """Do nothing: the bar says it."""

    def beat(self, moment: Moment) -> None:
        """Fill the bar."""
        self._moment = moment
        self._handle.update(self._drawn(moment))
        SILENCE.end()

    def close(self, summary: str) -> None:
        """Leave the last state; the result is what the cell shows."""
        self._handle.update(self._drawn(self._moment, ended=True))

    def _drawn(self, moment: Moment, *, ended: bool = False) -> Any:
        value = "" if moment.share is None else f' value="{moment.share:.4f}"'
        bar = "" if ended else f'<progress max="1"{value} style="width:16em"></progress> '
        return _Markup(
            f'<div style="font-family:system-ui,sans-serif"><div>{html.escape(self._title)}</div>'
            f"<div>{bar}{html.escape(moment.words)}</div></div>",
            f"{self._title}\n{moment.words}",
        )


@dataclass(frozen=True)
class _Markup:
    """An object that notebooks show as HTML, and others as text."""

    markup: str
    text: str

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.text


def spoken_seconds(seconds: float) -> str:
    """Return a time as clocks show it.

    Examples
    --------
    >>> [spoken_seconds(seconds) for seconds in (8.34, 125, 11400)]
    ['8.3 s', '2:05', '3:10:00']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def fitting_display() -> Display:
    """Return the display that fits where the program runs."""
    show = _notebook_show()
    if show is not None:
        return Notebook(show)
    try:
        moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # no stderr at all, or one that is closed
        moves = False
    return Terminal() if moves else Lines()


def _notebook_show() -> Callable[[Any], Any] | None:
    """Return what shows an object in the notebook that this is, if it is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return lambda thing: display(thing, display_id=True)
