"""Exponential weights over lines, exact up to rounding: trees of `certune.kernels.learning`.

The relative error of a probability is about 1e-16 times the number of functions added: jumps are
summed in floats, and everything else is a sum of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from certune.kernels.learning import StepWeights
from certune.online.steps import Steps

FloatArray = npt.NDArray[np.float64]


class LineWeights(StepWeights):
    """Weights exp(rate * f) on one interval, f a sum of step functions.

    Parameters
    ----------
    low, high : float
        The interval.
    rate : float
        Positive.
    """

    def __init__(self, low: float, high: float, rate: float) -> None:
        super().__init__(low, high, rate)
        self.low, self.high = low, high

    def draw(self, which: float, where: float) -> float:
        """Return a random point, given two uniform numbers in [0, 1). O(log n)."""
        return min(super().draw(which, where), self.high)

    def _check(self) -> None:
        """Raise AssertionError if a sum or the order of positions is wrong. O(n)."""
        positions, values = self.function()
        assert positions[0] == self.low and (np.diff(positions) > 0).all()
        widths = np.diff(np.append(positions, self.high))
        expected = float(widths @ np.exp(self.rate * (values - values.max())))
        assert np.isclose(self.top, values.max(), rtol=1e-9, atol=1e-9)
        assert np.isclose(self.mass, expected, rtol=1e-9)


class Weights:
    """Weights exp(rate * f) over several intervals, on each of which f is a sum of step functions.

    Parameters
    ----------
    ends : sequence of (float, float)
        The intervals.
    rate : float
        Positive.
    """

    def __init__(self, ends: Sequence[tuple[float, float]], rate: float) -> None:
        self.lines = [LineWeights(low, high, rate) for low, high in ends]

    @property
    def rate(self) -> float:
        """The factor in the exponent."""
        return self.lines[0].rate

    @rate.setter
    def rate(self, rate: float) -> None:
        for line in self.lines:
            line.rate = rate

    def _scaled_masses(self) -> tuple[FloatArray, float]:
        """Return the masses of the intervals relative to the largest weight of all, and its f."""
        tops = np.array([line.top for line in self.lines])
        masses = np.array([line.mass for line in self.lines])
        top = float(tops.max())
        return np.asarray(masses * np.exp(self.rate * (tops - top))), top

    @property
    def log_mass(self) -> float:
        """Logarithm of the integral of all weights, divided by the rate."""
        if len(self.lines) == 1:
            return self.lines[0].top + math.log(self.lines[0].mass) / self.rate
        masses, top = self._scaled_masses()
        return top + math.log(float(masses.sum())) / self.rate

    @property
    def shares(self) -> FloatArray:
        """Probability of each interval."""
        if len(self.lines) == 1:
            return np.ones(1)
        masses, _ = self._scaled_masses()
        return np.asarray(masses / masses.sum())

    def take_in(self, functions: Sequence[Steps]) -> tuple[float, float]:
        """Return bounds of the mean of step functions, one for each interval, then add them."""
        lower = upper = 0.0
        for share, line, steps in zip(self.shares.tolist(), self.lines, functions, strict=True):
            low, high = line.take_in(*steps)
            lower += share * low
            upper += share * high
        return lower, upper

    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a random interval and a random point of it."""
        chosen, which, where = rng.random(3).tolist()
        number = 0
        if len(self.lines) > 1:
            cumulative = np.cumsum(self.shares)
            number = min(int(np.searchsorted(cumulative, chosen, "right")), len(self.lines) - 1)
        return number, self.lines[number].draw(which, where)

    def probabilities(self, number: int, edges: FloatArray) -> FloatArray:
        """Return the probabilities of the cells between edges of one interval."""
        line = self.lines[number]
        return line.masses(edges) * float(self.shares[number] / line.mass)
