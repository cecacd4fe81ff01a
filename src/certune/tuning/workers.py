"""Running one function on many items, in parallel, until the time is up.

Threads suffice, because kernels release the interpreter lock; they see the same objects, so that
what a family remembers about an instance is shared.  Results come in the order of the items and do
not depend on the number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import joblib

from certune.deadline import check_time, until

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A number of workers and a deadline.

    Parameters
    ----------
    n_jobs : int or None
        Number of parallel workers, as in joblib.
    deadline : float
        Time, as told by `time.perf_counter`, after which no item is started; what is under way
        ends at the next occasion.
    """

    def __init__(self, n_jobs: int | None, deadline: float) -> None:
        count = joblib.effective_n_jobs(n_jobs)
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._deadline = deadline

    def close(self) -> None:
        """Drop what is not started yet, and wait for the rest."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def time_is_up(self) -> bool:
        """Has the deadline passed?"""
        return time.perf_counter() >= self._deadline

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``function(item)`` for every item, or raise `certune.deadline.TimeIsUp`."""
        if self._pool is None or len(items) == 1:
            return [self._one(function, item) for item in items]
        futures = [self._pool.submit(self._one, function, item) for item in items]
        return [future.result() for future in futures]

    def _one(self, function: Callable[[Item], Result], item: Item) -> Result:
        with until(self._deadline):
            check_time()
            return function(item)
