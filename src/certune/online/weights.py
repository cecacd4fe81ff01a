"""Exponential weights over lines, exact up to rounding: the tree of `certune.kernels.weights`.

The relative error of a probability is about 1e-16 times the number of functions added: jumps are
summed in floats, and everything else is a sum of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from certune.kernels import weights as kernel
from certune.online.steps import Steps

FloatArray = npt.NDArray[np.float64]
FIRST_CAPACITY = 64


class LineWeights:
    """Weights exp(rate * f) on one interval, f a sum of step functions.

    Parameters
    ----------
    low, high : float
        The interval.
    rate : float
        Positive.
    """

    def __init__(self, low: float, high: float, rate: float) -> None:
        self.low, self.high = low, high
        self._rate = rate
        self._nodes = np.zeros((FIRST_CAPACITY, kernel.COLUMNS))
        self._links = np.full((FIRST_CAPACITY, 2), -1, dtype=np.int32)
        self._shape = np.array([0, 1], dtype=np.int64)
        self._nodes[0, kernel.POSITION] = low
        self._nodes[0, kernel.WIDTH] = self._nodes[0, kernel.MASS] = high - low

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return int(self._shape[1])

    @property
    def rate(self) -> float:
        """The factor in the exponent. Setting it costs O(n)."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            kernel.refresh_all(self._nodes, self._links, self._shape, rate)

    @property
    def top(self) -> float:
        """The largest value of f."""
        return float(self._nodes[self._shape[0], kernel.TOP])

    @property
    def mass(self) -> float:
        """The integral of exp(rate * (f - top))."""
        return float(self._nodes[self._shape[0], kernel.MASS])

    def add(self, edges: FloatArray, values: FloatArray) -> None:
        """Add a step function: ``values[i]`` between edges i - 1 and i. O(k log n)."""
        self._make_room(edges.size)
        kernel.add_steps(self._nodes, self._links, self._shape, self._rate, edges, values)

    def take_in(self, steps: Steps) -> tuple[float, float]:
        """Return bounds of the mean of a step function, then add its middle. O(k log n)."""
        self._make_room(steps.edges.size)
        lower, upper = kernel.take_in(self._nodes, self._links, self._shape, self._rate, *steps)
        return lower, upper

    def _make_room(self, n_edges: int) -> None:
        missing = self.n_pieces + n_edges - len(self._nodes)
        if missing > 0:
            extra = max(missing, len(self._nodes))
            self._nodes = np.concatenate((self._nodes, np.zeros((extra, kernel.COLUMNS))))
            self._links = np.concatenate((self._links, np.full((extra, 2), -1, dtype=np.int32)))

    def masses(self, edges: FloatArray) -> FloatArray:
        """Integrate exp(rate * (f - top)) over the cells between edges. O(k log n)."""
        return np.asarray(
            kernel.cell_masses(self._nodes, self._links, self._shape, self._rate, edges)
        )

    def draw(self, which: float, where: float) -> float:
        """Return a random point, given two uniform numbers in [0, 1). O(log n)."""
        point = kernel.draw(self._nodes, self._links, self._shape, self._rate, which, where)
        return min(float(point), self.high)

    def function(self) -> tuple[FloatArray, FloatArray]:
        """Return the left ends of the pieces and the values of f. O(n)."""
        starts, values = kernel.pieces(self._nodes, self._links, self._shape)
        return starts, values

    def _check(self) -> None:
        """Raise AssertionError if a sum or the order of positions is wrong. O(n)."""
        positions, values = self.function()
        assert positions[0] == self.low and (np.diff(positions) > 0).all()
        widths = np.diff(np.append(positions, self.high))
        expected = float(widths @ np.exp(self._rate * (values - values.max())))
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
            low, high = line.take_in(steps)
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
