"""When slow computations end: a time limit, or somebody's wish.

A search with a time limit cannot wait for a function that takes long to be decided exactly, nor can
somebody who pressed Ctrl-C. Whoever runs the search holds a :class:`Stop`, and whatever may take
long asks from time to time: Python code by :func:`check_time`, the compiled core through the stop
that :func:`current_stop` hands to it. Exceptions come from such questions only, so that nothing is
left half done. In the main thread the core also runs the handlers of pending signals.

Times are those of :func:`now`, a clock that stands still while something is prepared for first use
(workers being started, modules being loaded): preparation never counts against a limit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

from certune._core import Stop, TimeIsUp, begin_preparation, end_preparation, now

__all__ = [
    "Stop",
    "TimeIsUp",
    "check_time",
    "current_stop",
    "now",
    "preparing",
    "under",
    "until",
    "unless_stopped",
]

# Operations of a computation that takes a tenth of a second or so, and seconds between looks.
LONG, LOOK = 1e8, 0.02

_stop: ContextVar[Stop] = ContextVar("stop", default=Stop())  # noqa: B039 (nobody sets this one)


class under:  # noqa: N801 (used as a statement)
    """Let a stop hold for what is called inside, in this thread.

    Not a generator: one that an interrupt lets go of would be closed at any time, anywhere.
    """

    def __init__(self, stop: Stop) -> None:
        self._own = stop

    def __enter__(self) -> Stop:
        self._token: Token[Stop] = _stop.set(self._own)
        return self._own

    def __exit__(self, *error: object) -> None:
        _stop.reset(self._token)


class preparing:  # noqa: N801 (used as a statement)
    """Let the clock of :func:`now` stand still while something is made ready for first use."""

    def __enter__(self) -> None:
        begin_preparation()

    def __exit__(self, *error: object) -> None:
        end_preparation()


def until(deadline: float) -> under:
    """State a deadline, as told by :func:`now`, for what is called inside.

    Entering it gives the stop that holds inside; another thread may set it before the time is up.
    A stop that holds outside still does.
    """
    return under(Stop(deadline - now(), current_stop()))


def current_stop() -> Stop:
    """Return the stop that holds here: what a compiled loop asks."""
    return _stop.get()


def check_time() -> None:
    """Raise :class:`TimeIsUp` if the deadline has passed or the stop is set."""
    if _stop.get().is_set():
        raise TimeIsUp


def unless_stopped(
    operations: float, function: Callable[..., Any], *given: Any, **options: Any
) -> Any:
    """Call a function of numpy that nothing can stop, but wait for it only until time is up.

    It must leave the interpreter lock to others, as those of ``numpy.linalg`` do. One that is given
    up ends in a thread of its own, and nobody sees its result.

    Parameters
    ----------
    operations : float
        About how many operations it takes; where they are few, it is called as it is.
    function : callable
        The function.
    *given, **options
        Its arguments.
    """
    if operations < LONG:
        return function(*given, **options)
    found: list[Any] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            found.append(function(*given, **options))
        except BaseException as error:
            failed.append(error)
        ended.set()

    threading.Thread(target=work, daemon=True).start()
    while not ended.wait(LOOK):
        check_time()
    if failed:
        raise failed[0]
    return found[0]
