"""The randomised-grid learner of ``thm:logistic-dispersion``, for utilities that are smooth.

A round evaluates a surrogate of the utility at one random point of each interval of length epsilon
and interpolates linearly.  With the length of the line as unit, epsilon = t^(-1/4) and windows of
r = t^(-3/4) give a regret of order sqrt(T log T), for any sequence of instances.

The sum of all interpolants is kept at points that are r apart and is linear between them.  A kink
that lies between two such points is moved by less than r, which costs at most L r a round for
L-Lipschitz utilities: the term T L r that the theorem pays for windows of radius r anyway.  What
the learner has added in a round differs from the true utility by a distance that is bounded and
summed up, so that its regret has a bound without unknown constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import ParameterError
from certune.online.interpolation import distance_bound, middles
from certune.online.learner import FloatArray, Learner, Observed
from certune.online.lines import Line
from certune.online.schedule import Rates, Schedule

GRID_EXPONENT = -0.25
WINDOW_EXPONENT = -0.75
# Shorter windows than T^(-3/4) cost little while T is small, and follow utilities better.
LEAST_WINDOWS = 64


class RandomGrid(Learner):
    """Exponential weights on random piecewise linear surrogates.

    Parameters
    ----------
    lines : sequence of Line
        Exactly one.
    schedule : Schedule
        Rates. With a horizon or an epoch the grid is made for its length; otherwise intervals get
        shorter as rounds pass, and windows are halved, which changes no density.

    Notes
    -----
    A round takes about T^(1/4) + 2 evaluations of the surrogate and O(T^(3/4)) operations; there
    are at least 64 windows.
    """

    asks = True
    takes_smooth = True

    def __init__(self, lines: Sequence[Line], schedule: Schedule) -> None:
        super().__init__(lines)
        if len(self.lines) != 1:
            raise ParameterError(
                f"the random grid runs along one line, got {len(self.lines)}; pass one segment"
            )
        self._rates = Rates(schedule)
        self._surrogate_error = 0.0
        self._finished_slopes = 0.0
        self._start(1)

    def _start(self, number: int) -> None:
        line, n_windows = self.lines[0], self._n_windows(number)
        self._points = np.linspace(line.low, line.high, n_windows + 1)
        self._coordinates = np.array([line.coordinate(x) for x in self._points.tolist()])
        self._totals = np.zeros(n_windows + 1)

    def _n_windows(self, number: int) -> int:
        rounds = self._rates.schedule.epoch_length(number)
        if rounds is not None:
            return max(LEAST_WINDOWS, math.ceil(math.pow(rounds, -WINDOW_EXPONENT)))
        # A power of two times the first number, so that points stay points.
        n_windows = LEAST_WINDOWS
        while n_windows < math.pow(number, -WINDOW_EXPONENT):
            n_windows *= 2
        return n_windows

    def _refine(self, number: int) -> None:
        """Halve the windows if it is time; the sum is linear between its points already."""
        if self._n_windows(number) > self.n_pieces:
            points, totals = self._points, self._totals
            self._start(number)
            self._totals = np.interp(self._points, points, totals)

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the density."""
        return self._totals.size - 1

    @property
    def surrogate_error(self) -> float:
        """Bound of the sum over rounds of the distance between utility and interpolant."""
        return self._surrogate_error

    @property
    def _exponents(self) -> FloatArray:
        return np.asarray(self._rates.current * (self._totals - self._totals.max()))

    def _masses(self) -> FloatArray:
        """Integrals of exp(rate * (total - largest)) between the points, up to a factor."""
        exponents = self._exponents
        slopes = np.abs(np.diff(exponents))
        heights = np.exp(np.maximum(exponents[:-1], exponents[1:]))
        return np.asarray(heights * _mean_of_decay(slopes))

    def _mean(self, values: FloatArray) -> float:
        """Return the mean under the density of the function that is linear between the points."""
        masses, places = self._masses(), _centre_of_growth(np.diff(self._exponents))
        inside = values[:-1] + places * np.diff(values)
        return float(masses @ inside / masses.sum())

    def _log_mass(self) -> float:
        """Logarithm of the integral of the weights, divided by the rate, up to a constant."""
        mean = float(self._masses().mean())
        return float(self._totals.max()) + math.log(mean) / self._rates.current

    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a position from the density, by inversion on an exp-linear piece."""
        which, where = rng.random(2).tolist()
        cumulative = np.cumsum(self._masses())
        cell = int(np.searchsorted(cumulative, which * cumulative[-1], side="right"))
        cell = min(cell, cumulative.size - 1)
        slope = self._rates.current * float(self._totals[cell + 1] - self._totals[cell])
        share = where if slope == 0.0 else _decay_quantile(where, slope)
        start, stop = self._points[cell : cell + 2].tolist()
        return 0, min(start + share * (stop - start), stop)

    def learn(self, observed: Observed) -> tuple[float, float] | None:
        """Add the interpolant of the surrogate at the random points.

        The expected utility is known up to the distance of the true function from its interpolant
        at the points that are r apart; for piecewise constant functions nothing is said.
        """
        (dual,) = observed.duals
        added = np.interp(self._points, observed.points, observed.values)
        true, error = self._known(dual)
        self._surrogate_error += error + float(np.abs(added - true).max())
        expected, before = self._mean(true), self._log_mass()
        mean = self._mean(added)
        self._totals = self._totals + added
        gap = self._log_mass() - before - mean
        self.n_rounds += 1
        if self._rates.finish(gap):
            self._finished_slopes += self._steepest
            self._start(self.n_rounds + 1)
        else:
            self._refine(self.n_rounds + 1)
        if isinstance(dual, PiecewiseFunction):
            return None
        return expected - error, expected + error

    def _known(self, dual: DualFunction) -> tuple[FloatArray, float]:
        """Return values of a function at the points, and how far off it is in between."""
        values = middles(dual, self._coordinates)
        logarithmic = self.lines[0].logarithmic
        return values, distance_bound(dual, self._coordinates, values, logarithmic)

    def questions(self, rng: np.random.Generator) -> FloatArray:
        """Draw one point from each interval of the grid; the ends of the line are added."""
        number = self.n_rounds + 1
        rounds = self._rates.schedule.epoch_length(number) or number
        n_cells = math.ceil(rounds**-GRID_EXPONENT)
        grid = np.linspace(self.lines[0].low, self.lines[0].high, n_cells + 1)
        inner = grid[:-1] + rng.random(n_cells) * np.diff(grid)
        return np.concatenate(([grid[0]], inner, [grid[-1]]))

    def learning_bound(self, share: float) -> float:
        """Return the bound of the rates + largest slope * width of the window + surrogate errors.

        The largest slope of the sum of interpolants takes the place of T L in
        ``thm:logistic-dispersion``; the error counts twice, for the parameters that are played and
        for the best fixed one. With restarts, largest slopes add up over epochs.
        """
        drop = (self._finished_slopes + self._steepest) * share * self.length
        return self._rates.learning_bound(share) + drop + 2.0 * self._surrogate_error

    @property
    def _steepest(self) -> float:
        """The largest slope of the sum of interpolants."""
        return float((np.abs(np.diff(self._totals)) / np.diff(self._points)).max())

    def density(self, line: int, positions: FloatArray) -> FloatArray:
        """Return the probability density of the next draw at positions of the line."""
        step = float(self._points[1] - self._points[0])
        heights = np.exp(np.interp(positions, self._points, self._exponents))
        return np.asarray(heights / (step * self._masses().sum()))


def _mean_of_decay(slopes: FloatArray) -> FloatArray:
    """Return the mean of exp(-slope * s) over s in [0, 1]."""
    safe = np.where(slopes > 0.0, slopes, 1.0)
    return np.where(slopes > 0.0, -np.expm1(-safe) / safe, 1.0)


def _centre_of_growth(slopes: FloatArray) -> FloatArray:
    """Return the mean of s under the density proportional to exp(slope * s) on [0, 1]."""
    # 1/(1 - e^-c) - 1/c; close to 0 its series, which is off by less than 1e-14 there.
    small = np.abs(slopes) < 0.01
    safe = np.where(small, 1.0, slopes)
    with np.errstate(over="ignore"):
        direct = -1.0 / np.expm1(-safe) - 1.0 / safe
    return np.where(small, 0.5 + slopes / 12.0 - slopes**3 / 720.0, direct)


def _decay_quantile(share: float, slope: float) -> float:
    """Return the quantile of the density proportional to exp(slope * s) on [0, 1]."""
    decay = abs(slope)
    # log1p(-v (1 - e^-d)) / -d is the quantile of exp(-d s); a growing density is its mirror image.
    value = -math.log1p(share * math.expm1(-decay)) / decay
    value = min(max(value, 0.0), 1.0)
    return 1.0 - value if slope > 0 else value
