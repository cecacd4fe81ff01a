"""How a tuning run ended. The value of a status is its message."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a tuning run ended, and what its result therefore proves.

    Examples
    --------
    >>> print(Status.OPTIMAL)
    OPTIMAL: nothing in the range is better
    """

    OPTIMAL = "nothing in the range is better"
    GAP_LIMIT = "the gap that was asked for is proved"
    UNDECIDED = "the optimum is proved up to undecided parts of the range"
    UNPROVED = "the best setting that was found; the functions of this family are not proved"
    TIME_LIMIT = "the time limit was reached before the search was finished"
    NODE_LIMIT = "the largest number of boxes was reached before the search was finished"
    INTERRUPTED = "interrupted before the search was finished"
    STOPPED = "stopped by a callback before the search was finished"
    INCOMPLETE = "instances failed and were left out; they count as perfect in the bound"
    FAILED = "ended by an error before the search was finished"
    SEARCHED = "the best setting that the search along lines found, without a bound"

    def __str__(self) -> str:
        return f"{self.name}: {self.value}"
