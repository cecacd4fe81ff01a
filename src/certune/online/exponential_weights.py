"""Continuous exponential weights, with full information and with semi-bandit feedback.

The learner of ``thm:dispersion-no-regret``: the density of the next draw is proportional to
exp(rate * U) for the sum U of all utility functions so far.  Under semi-bandit feedback only the
piece that was played is revealed; its loss divided by its probability estimates the unseen loss
without bias (Balcan, Dick and Pegden 2020, whose theorem the paper cites).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certune.online.learner import FloatArray, Learner, Observed
from certune.online.lines import Line
from certune.online.schedule import GROWTH, Rates, Schedule
from certune.online.weights import Weights

# A played piece counts as at least this probable. Larger estimates would cost the sums of jumps
# their precision; a cell of lower probability is drawn with a probability below this in a round.
LEAST_CHANCE = 1e-9
# A mixability gap is a difference of two numbers that are rounded by less than this.
GAP_ROUNDING = 2.0**-48


class _WeightsLearner(Learner):
    """A learner whose density is exp(rate * sum of step functions)."""

    def __init__(self, lines: Sequence[Line], rate: float) -> None:
        super().__init__(lines)
        self._weights = Weights(self.ends, rate)

    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a line and a position on it, from the density. O(log n)."""
        return self._weights.draw(rng)

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the density."""
        return sum(line.n_pieces for line in self._weights.lines)

    def density(self, line: int, positions: FloatArray) -> FloatArray:
        """Return the probability density of the next draw at positions of a line. O(n)."""
        weights = self._weights.lines[line]
        starts, values = weights.function()
        heights = np.exp(weights.rate * (values - weights.top)) / weights.mass
        share = float(self._weights.shares[line])
        return share * heights[np.searchsorted(starts, positions, side="right") - 1]


class ExponentialWeights(_WeightsLearner):
    """Exponential weights on all utility functions so far.

    Parameters
    ----------
    lines : sequence of Line
        Where it can play.
    schedule : Schedule
        Rates.

    Notes
    -----
    A round costs O(k log n) for a utility function of k pieces and n pieces in all. A change of the
    rate costs O(n) and comes often enough for O(k) a round on average.
    """

    def __init__(self, lines: Sequence[Line], schedule: Schedule) -> None:
        self._rates = Rates(schedule)
        super().__init__(lines, self._rates.current)

    def learn(self, observed: Observed) -> tuple[float, float]:
        """Add the utility functions of a round."""
        before = self._weights.log_mass if self._rates.needs_gaps else 0.0
        lower, upper = self._weights.take_in(observed.steps)
        gap = 0.0
        if self._rates.needs_gaps:
            after = self._weights.log_mass
            gap = after - before - 0.5 * (lower + upper) + GAP_ROUNDING * abs(after)
        self.n_rounds += 1
        if self._rates.finish(gap):
            self._weights = Weights(self.ends, self._rates.current)
        else:
            self._weights.rate = self._rates.current
        return lower, upper

    def learning_bound(self, share: float) -> float:
        """Return the bound of `certune.online.schedule.Rates.learning_bound`."""
        return self._rates.learning_bound(share)


class SemiBandit(_WeightsLearner):
    """Exponential weights on estimated losses, from the piece that was played alone.

    Parameters
    ----------
    lines : sequence of Line
        Where it can play.
    utility_range : tuple of float
        Smallest and largest utility.

    Notes
    -----
    The rate sqrt(2 ln(t + 1) / (1 + sum of 1/p)) / H uses the probabilities p of the pieces played:
    the expectation of 1/p is the number of pieces, on which the regret depends. It is lowered in
    steps, like the anytime rate.
    """

    def __init__(self, lines: Sequence[Line], utility_range: tuple[float, float]) -> None:
        self._highest = utility_range[1]
        self._span = utility_range[1] - utility_range[0]
        super().__init__(lines, math.sqrt(2.0 * math.log(2.0)) / self._span)
        self._sum_of_inverses = 0.0
        self._second_order = 0.0

    def learn(self, observed: Observed) -> tuple[float, float]:
        """Charge the played piece with its loss divided by its probability."""
        expected = self._expected(observed)
        edges = _played_cell(observed)
        line, number = observed.line, self.n_rounds + 1
        chance = max(float(self._weights.probabilities(line, edges)[1]), LEAST_CHANCE)
        loss = (self._highest - observed.utility) / chance
        self._weights.lines[line].add(edges, np.array([0.0, -loss, 0.0]))
        self._sum_of_inverses += 1.0 / chance
        n_sets = sum(steps.lower.size for steps in observed.steps)
        self._second_order += 0.5 * self._weights.rate * self._span**2 * n_sets
        self.n_rounds = number
        rate = math.sqrt(2.0 * math.log(number + 2.0) / (1.0 + self._sum_of_inverses)) / self._span
        if rate * math.sqrt(GROWTH) < self._weights.rate:
            self._weights.rate = rate
        return expected

    def _expected(self, observed: Observed) -> tuple[float, float]:
        lower = upper = 0.0
        for number, steps in enumerate(observed.steps):
            chances = self._weights.probabilities(number, steps.edges)
            lower += float(chances @ steps.lower)
            upper += float(chances @ steps.upper)
        return lower, upper

    def learning_bound(self, share: float) -> float:
        """Return ln(1/share) / rate + H^2/2 * sum of rate times number of pieces."""
        return -math.log(share) / self._weights.rate + self._second_order


def _played_cell(observed: Observed) -> FloatArray:
    """Return the two ends of the revealed piece (or gap), strictly in order."""
    steps, line = observed.steps[observed.line], observed.lines[observed.line]
    ends = np.concatenate(([line.low], steps.edges, [line.high]))
    cell = int(np.searchsorted(ends[1:-1], observed.position, side="right"))
    return ends[cell : cell + 2]
