"""When slow computations end: a time limit, or somebody's wish.

A search with a time limit cannot wait for a function that takes long to be decided exactly, nor can
somebody who pressed Ctrl-C. Whoever runs the search holds a :class:`Stop`, and whatever may take
long asks from time to time: Python code by :func:`check_time`, the compiled core through the stop
that :func:`current_stop` hands to it. Exceptions come from such questions only, so that nothing is
left half done. In the main thread the core also runs the handlers of pending signals.

Times are those of :func:`now`, a clock that stands still while something is prepared for first use
(workers being started): preparation never counts against a limit.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

from certune._core import Stop, TimeIsUp, begin_preparation, end_preparation, now

__all__ = [
    "Stop",
    "TimeIsUp",
    "begin_preparation",
    "check_time",
    "current_stop",
    "end_preparation",
    "now",
    "under",
    "until",
]

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
