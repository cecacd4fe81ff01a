"""The choices of an online run: which learner with which step sizes, checked and made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.online.exponential_weights import ExponentialWeights, SemiBandit
from certune.online.fixed_share import FixedShare
from certune.online.learner import Learner
from certune.online.lines import Line
from certune.online.random_grid import RandomGrid
from certune.online.schedule import Schedule

# More than any run has; rates are floats of it.
MOST_ROUNDS = 10**15
LEARNERS = ("exponential-weights", "semi-bandit", "fixed-share", "random-grid")


@dataclass(frozen=True)
class Options:
    """Everything but the family that decides what a learner does.

    Parameters
    ----------
    learner : str
        One of `LEARNERS`.
    horizon : int or None
        Number of rounds, if known.
    schedule : str or None
        Step sizes; by default "horizon" if there is one and "adaptive" otherwise.
    shifts : int or None
        Expected number of shifts, for "fixed-share".
    resolution : float or None
        Gaps are widened to multiples of this.
    """

    learner: str
    horizon: int | None
    schedule: str | None
    shifts: int | None
    resolution: float | None

    def __post_init__(self) -> None:
        if not isinstance(self.learner, str) or self.learner not in LEARNERS:
            raise ParameterError(
                f"unknown learner {self.learner!r}; expected one of "
                f"{', '.join(map(repr, LEARNERS))}"
            )
        for name in ("horizon", "shifts"):
            value = getattr(self, name)
            if value is None:
                continue
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (whole and 1 <= value <= MOST_ROUNDS):
                raise ParameterError(
                    f"{name} must be a positive whole number, at most {MOST_ROUNDS}, got {value!r}"
                )
            object.__setattr__(self, name, int(value))
        if (self.learner == "fixed-share") != (self.shifts is not None):
            raise ParameterError(
                f"shifts={self.shifts!r} does not fit learner={self.learner!r}: the learner "
                "'fixed-share' needs the expected number of shifts, and no other takes it"
            )
        if self.learner == "fixed-share" and self.horizon is None:
            raise ParameterError("the learner 'fixed-share' needs a horizon; pass horizon=")
        if self.learner in ("fixed-share", "semi-bandit") and self.schedule is not None:
            raise ParameterError(
                f"the learner {self.learner!r} has step sizes of its own; leave schedule=None"
            )
        if self.resolution is not None:
            number = isinstance(self.resolution, (int, float, np.integer, np.floating))
            if not (number and 0 < self.resolution < math.inf):
                raise ParameterError(
                    f"resolution must be a positive, finite number, got {self.resolution!r}"
                )
            object.__setattr__(self, "resolution", float(self.resolution))

    def make(self, lines: tuple[Line, ...], utility_range: tuple[float, float]) -> Learner:
        """Return a fresh learner."""
        span = utility_range[1] - utility_range[0]
        if self.learner == "semi-bandit":
            return SemiBandit(lines, utility_range)
        if self.learner == "fixed-share":
            assert self.horizon is not None and self.shifts is not None
            return FixedShare(lines, self.horizon, self.shifts, span)
        kind = self.schedule or ("adaptive" if self.horizon is None else "horizon")
        schedule = Schedule(kind, self.horizon, span)
        make = ExponentialWeights if self.learner == "exponential-weights" else RandomGrid
        return make(lines, schedule)

    def check_smooth(self, takes_smooth: bool, family: Family) -> None:
        """Raise `InputError` if utilities that vary within a piece cannot be learned.

        Parameters
        ----------
        takes_smooth : bool
            Whether the learner takes them.
        family : Family
            Where they come from.
        """
        if not takes_smooth:
            raise InputError(
                f"the learner {self.learner!r} needs piecewise constant utilities, and those of "
                f"{family!r} are smooth; use learner='random-grid'"
            )
        if self.resolution is not None:
            raise InputError(
                "a resolution merges pieces of piecewise constant utilities, and those of "
                f"{family!r} are smooth; leave resolution=None"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain data."""
        return asdict(self)
