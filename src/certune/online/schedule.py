"""Step sizes of exponential weights: for a known horizon, by doubling, at any time, or adaptive.

With utilities in an interval of length H the regret of exponential weights against a window of
share w is at most ln(1/w)/rate + rate T H^2/8 plus what happens inside the window
(``thm:dispersion-no-regret``, proved in ``docs/theory/online.md``).  The first three kinds aim at
windows of share 1/T, so that rate = sqrt(8 ln T / T) / H.  The term rate H^2/8 of a round is the
worst case of its mixability gap, which is known after the round.  Adaptive rates use the gaps
themselves (De Rooij, Van Erven, Grunwald and Koolen, *Follow the leader if you can, hedge if you
must*, 2014): they keep the bound up to a factor of 1.5, and learn much faster where utilities
differ by less than H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certune.errors import ParameterError

SCHEDULES = ("horizon", "doubling", "anytime", "adaptive")
# An anytime rate is lowered each time that the rounds have grown by this factor, because a change
# costs one pass over all pieces: eleven passes over the final pieces in all.
GROWTH = 1.1
# Adaptive rates start at this over H, and aim at windows of share 1 / (t + SMALLEST_HORIZON).
FIRST_RATE = 100.0
SMALLEST_HORIZON = 64


@dataclass(frozen=True)
class Schedule:
    """When to use which rate.

    Parameters
    ----------
    kind : {"horizon", "doubling", "anytime", "adaptive"}
        "horizon": one rate for a known number of rounds. "doubling": start afresh at rounds 1, 2,
        4, 8, ... with the rate for as many rounds as the epoch has. "anytime": never forget, and
        lower the rate as rounds pass. "adaptive": never forget, and lower the rate as utilities
        turn out to be hard to predict.
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
        """Return the rate for a round (counted from 1); the first one if rates are adaptive."""
        if self.kind == "adaptive":
            return FIRST_RATE / self.span
        return math.sqrt(8.0 * self.complexity(number)) / self.span

    def complexity(self, number: int) -> float:
        """Return ln T / T for the number of rounds T that the rate of a round is meant for."""
        rounds = self.epoch_length(number)
        if rounds is None:
            level = math.floor(math.log(number) / math.log(GROWTH))
            reached = GROWTH**level
            return math.log1p(reached) / reached
        return math.log(max(rounds, 2)) / max(rounds, 2)


class Rates:
    """The rates of one run, round after round, and what they say about its regret.

    Parameters
    ----------
    schedule : Schedule
        Which rates.

    Attributes
    ----------
    current : float
        The rate of the round under way. It does not increase, except where a new epoch starts.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.current = schedule.rate(1)
        self._number = 1
        self._finished_epochs = 0.0
        self._second_order = 0.0
        self._offset = math.log1p(SMALLEST_HORIZON) / self.current

    @property
    def needs_gaps(self) -> bool:
        """Whether `finish` must be told the mixability gap of a round."""
        return self.schedule.kind == "adaptive"

    def finish(self, mixability_gap: float = 0.0) -> bool:
        """Finish a round; return whether everything is forgotten before the next one.

        Parameters
        ----------
        mixability_gap : float
            ln E exp(rate u) / rate - E u for the utility u of the round under the density that was
            played; at most rate H^2/8 (Hoeffding's lemma).
        """
        self._number += 1
        if self.needs_gaps:
            self._second_order += max(mixability_gap, 0.0)
            aim = math.log(self._number + SMALLEST_HORIZON)
            target = aim / (self._offset + self._second_order)
            if target * math.sqrt(GROWTH) < self.current:
                self.current = target
            return False
        self._second_order += self.current * self.schedule.span**2 / 8.0
        afresh = self.schedule.restarts(self._number)
        if afresh:
            self._finished_epochs += 1.0 / self.current
        self.current = self.schedule.rate(self._number)
        return afresh

    def learning_bound(self, share: float) -> float:
        """Return ln(1/share) * sum of 1/rate over epochs + sum of gaps, or of their bounds."""
        started = 0 if self.schedule.restarts(self._number) else 1
        inverse = self._finished_epochs + started / self.current
        return -math.log(share) * inverse + self._second_order
