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
    UNDECIDED = "the optimum is proved up to undecided intervals"
    UNPROVED = "the best setting that was found; the functions of this family are not proved"
    TIME_LIMIT = "the time limit was reached before every instance was finished"
    INTERRUPTED = "interrupted before every instance was finished"
    STOPPED = "stopped by a callback before every instance was finished"

    def __str__(self) -> str:
        return f"{self.name}: {self.value}"
