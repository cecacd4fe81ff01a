"""A time until which slow computations go on.

A search with a time limit cannot wait for a function that takes long to be decided exactly. It
states its deadline here, and whatever may take long asks from time to time: Python code by
:func:`check_time`, the compiled core through the stop that :func:`current_stop` hands to it. In the
main thread the core also runs the handlers of pending signals, so that an interrupt ends it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from certune._core import Stop, TimeIsUp

__all__ = ["Stop", "TimeIsUp", "check_time", "current_stop", "until"]

_stop: ContextVar[Stop] = ContextVar("stop", default=Stop())  # noqa: B039 (nobody sets this one)


@contextmanager
def until(deadline: float) -> Iterator[Stop]:
    """State a deadline, as told by `time.perf_counter`, for what is called inside.

    Yields the stop that holds inside; another thread may set it before the time is up.
    """
    stop = Stop(deadline - time.perf_counter())
    token = _stop.set(stop)
    try:
        yield stop
    finally:
        _stop.reset(token)


def current_stop() -> Stop:
    """Return the stop that holds here: what a compiled loop asks."""
    return _stop.get()


def check_time() -> None:
    """Raise :class:`TimeIsUp` if the deadline has passed or the stop is set."""
    if _stop.get().is_set():
        raise TimeIsUp
