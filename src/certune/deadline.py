"""A time until which slow computations go on.

A search with a time limit cannot wait for a function that takes long to be decided exactly. It
states its deadline here, and whatever may take long asks from time to time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class TimeIsUp(Exception):
    """The deadline has passed; what was asked for is not there."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """State a deadline, as told by `time.perf_counter`, for what is called inside."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """Raise :class:`TimeIsUp` if the deadline has passed."""
    if time.perf_counter() >= _deadline.get():
        raise TimeIsUp
