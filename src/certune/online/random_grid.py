"""The randomised-grid learner of ``thm:logistic-dispersion``.

For utilities that are smooth but expensive, a round evaluates a surrogate at one random point of
each interval of length epsilon and interpolates linearly.  The kinks are random, hence dispersed,
whatever the instances are.  With the length of the line as unit, epsilon = T^(-1/4) and windows of
r = T^(-3/4) give a regret of order sqrt(T log T).

The sum of all interpolants is kept at points that are r apart and is linear between them.  A kink
that lies between two such points is moved by less than r, which costs at most L r a round for
L-Lipschitz utilities: the term T L r that the theorem pays for windows of radius r anyway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certune.errors import ParameterError
from certune.online.learner import FloatArray, Learner, Observed
from certune.online.lines import Line
from certune.online.schedule import Schedule

GRID_EXPONENT = -0.25
WINDOW_EXPONENT = -0.75


class RandomGrid(Learner):
    """Exponential weights on random piecewise linear surrogates.

    Parameters
    ----------
    lines : sequence of Line
        Exactly one.
    schedule : Schedule
        With a horizon, or doubling: the grid depends on the number of rounds.

    Notes
    -----
    A round takes about T^(1/4) + 2 evaluations of the surrogate and O(T^(3/4)) operations.
    """

    asks = True

    def __init__(self, lines: Sequence[Line], schedule: Schedule) -> None:
        super().__init__(lines)
        if len(self.lines) != 1:
            raise ParameterError(
                f"the random grid runs along one line, got {len(self.lines)}; pass one segment"
            )
        if schedule.kind == "anytime":
            raise ParameterError(
                "the random grid depends on the number of rounds: pass horizon=, or "
                "schedule='doubling'"
            )
        self._schedule = schedule
        self._start(1)

    def _start(self, number: int) -> None:
        rounds = self._schedule.epoch_length(number)
        assert rounds is not None
        line = self.lines[0]
        n_windows = math.ceil(rounds**-WINDOW_EXPONENT)
        n_cells = math.ceil(rounds**-GRID_EXPONENT)
        self._points = np.linspace(line.low, line.high, n_windows + 1)
        self._grid = np.linspace(line.low, line.high, n_cells + 1)
        self._totals = np.zeros(n_windows + 1)
        self._rate = self._schedule.rate(number)

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the density."""
        return self._totals.size - 1

    def _masses(self) -> FloatArray:
        """Integrals of exp(rate * (total - largest)) between the points, up to a factor."""
        exponents = self._rate * (self._totals - self._totals.max())
        slopes = np.abs(np.diff(exponents))
        heights = np.exp(np.maximum(exponents[:-1], exponents[1:]))
        return np.asarray(heights * _mean_of_decay(slopes))

    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a position from the density, by inversion on an exp-linear piece."""
        which, where = rng.random(2).tolist()
        cumulative = np.cumsum(self._masses())
        cell = int(np.searchsorted(cumulative, which * cumulative[-1], side="right"))
        cell = min(cell, cumulative.size - 1)
        slope = self._rate * float(self._totals[cell + 1] - self._totals[cell])
        share = where if slope == 0.0 else _decay_quantile(where, slope)
        start, stop = self._points[cell : cell + 2].tolist()
        return 0, min(start + share * (stop - start), stop)

    def learn(self, observed: Observed) -> None:
        """Add the interpolant of the surrogate at the random points."""
        self._totals += np.interp(self._points, observed.points, observed.values)
        self.n_rounds += 1
        if self._schedule.restarts(self.n_rounds + 1):
            self._start(self.n_rounds + 1)

    def questions(self, rng: np.random.Generator) -> FloatArray:
        """Draw one point from each interval of the grid; the ends of the line are added."""
        inner = self._grid[:-1] + rng.random(self._grid.size - 1) * np.diff(self._grid)
        return np.concatenate(([self._grid[0]], inner, [self._grid[-1]]))

    def learning_bound(self, share: float) -> None:
        """Return None: a bound needs the Lipschitz and surrogate constants of the family."""

    def density(self, line: int, positions: FloatArray) -> FloatArray:
        """Return the probability density of the next draw at positions of the line."""
        exponents = self._rate * (self._totals - self._totals.max())
        step = float(self._points[1] - self._points[0])
        heights = np.exp(np.interp(positions, self._points, exponents))
        return np.asarray(heights / (step * self._masses().sum()))


def _mean_of_decay(slopes: FloatArray) -> FloatArray:
    """Return the mean of exp(-slope * s) over s in [0, 1]."""
    safe = np.where(slopes > 0.0, slopes, 1.0)
    return np.where(slopes > 0.0, -np.expm1(-safe) / safe, 1.0)


def _decay_quantile(share: float, slope: float) -> float:
    """Return the quantile of the density proportional to exp(slope * s) on [0, 1]."""
    decay = abs(slope)
    # log1p(-v (1 - e^-d)) / -d is the quantile of exp(-d s); a growing density is its mirror image.
    value = -math.log1p(share * math.expm1(-decay)) / decay
    value = min(max(value, 0.0), 1.0)
    return 1.0 - value if slope > 0 else value
