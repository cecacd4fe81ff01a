"""Step sizes of exponential weights: for a known horizon, by doubling, or at any time.

With utilities in an interval of length H the regret of exponential weights against a window of
share w is at most ln(1/w)/rate + rate T H^2/8 plus what happens inside the window
(``thm:dispersion-no-regret``, proved in ``docs/theory/online.md``).  All step sizes below aim at
windows of share 1/T, so that rate = sqrt(8 ln T / T) / H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certune.errors import ParameterError

SCHEDULES = ("horizon", "doubling", "anytime")
# An anytime rate is lowered each time that the rounds have grown by this factor, because a change
# costs one pass over all pieces: eleven passes over the final pieces in all.
GROWTH = 1.1


@dataclass(frozen=True)
class Schedule:
    """When to use which rate.

    Parameters
    ----------
    kind : {"horizon", "doubling", "anytime"}
        "horizon": one rate for a known number of rounds. "doubling": start afresh at rounds 1, 2,
        4, 8, ... with the rate for as many rounds as the epoch has. "anytime": never forget, and
        lower the rate as rounds pass.
    horizon : int or None
        Number of rounds, for "horizon".
    span : float
        H, the length of the interval that contains all utilities.
    """

    kind: str
    horizon: int | None
    span: float

    def __post_init__(self) -> None:
        if self.kind not in SCHEDULES:
            raise ParameterError(
                f"unknown schedule {self.kind!r}; expected one of {', '.join(map(repr, SCHEDULES))}"
            )
        if (self.kind == "horizon") != (self.horizon is not None):
            raise ParameterError(
                f"schedule={self.kind!r} does not fit horizon={self.horizon!r}: a horizon belongs "
                "to the schedule 'horizon' and to no other"
            )

    def restarts(self, number: int) -> bool:
        """Tell whether everything is forgotten before a round (counted from 1)."""
        return self.kind == "doubling" and number > 1 and number & (number - 1) == 0

    def epoch_length(self, number: int) -> int | None:
        """Return the number of rounds that the rate of a round is meant for, if it is known."""
        return 1 << (number.bit_length() - 1) if self.kind == "doubling" else self.horizon

    def rate(self, number: int) -> float:
        """Return the rate for a round (counted from 1)."""
        return math.sqrt(8.0 * self.complexity(number)) / self.span

    def complexity(self, number: int) -> float:
        """Return ln T / T for the number of rounds T that the rate of a round is meant for."""
        rounds = self.epoch_length(number)
        if rounds is None:
            level = math.floor(math.log(number) / math.log(GROWTH))
            reached = GROWTH**level
            return math.log1p(reached) / reached
        return math.log(max(rounds, 2)) / max(rounds, 2)
