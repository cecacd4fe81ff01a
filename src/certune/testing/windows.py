"""A domain whose expectation is known, to hold guarantees to account.

Instances of `StepFamily` are drawn at random such that the expected utility of every setting has a
closed form: what a bound says about new instances can be compared with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.pfaffian.structure import LineCount, PiecewiseStructure
from certune.testing.steps import StepInstance


@dataclass(frozen=True)
class WindowDomain:
    """Windows in which a setting x from [0, 1] works, mixed with noise.

    With probability `signal` an instance is a window of length `width` at a uniformly random
    place: the utility is 1 inside and 0 outside. Otherwise it is a step function with `n_steps`
    uniformly random thresholds and independent values 0, 1/4, ..., 1.

    Parameters
    ----------
    signal : float, default=0.5
        Probability of a window.
    width : float, default=0.4
        Length of windows, in (0, 1/2].
    n_steps : int, default=6
        Thresholds of a noisy instance, at least 2.

    Examples
    --------
    >>> domain = WindowDomain(signal=0.5, width=0.5)
    >>> domain.best_utility, float(domain.expected_utility(0.25))
    (0.75, 0.5)
    """

    signal: float = 0.5
    width: float = 0.4
    n_steps: int = 6

    def sample(self, n_instances: int, rng: np.random.Generator) -> list[StepInstance]:
        """Draw independent instances.

        Parameters
        ----------
        n_instances : int
            Their number.
        rng : numpy Generator
            Source of randomness.
        """
        return [self._instance(rng) for _ in range(n_instances)]

    def _instance(self, rng: np.random.Generator) -> StepInstance:
        if rng.random() < self.signal:
            start = rng.uniform(0.0, 1.0 - self.width)
            steps = (float(start), float(start + self.width))
            return StepInstance(steps, (Fraction(0), Fraction(1), Fraction(0)))
        thresholds = np.unique(rng.uniform(size=self.n_steps)).tolist()
        values = rng.integers(0, 5, size=len(thresholds) + 1).tolist()
        return StepInstance(tuple(thresholds), tuple(Fraction(value, 4) for value in values))

    def expected_utility(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the expected utility of settings.

        Parameters
        ----------
        x : array-like of float
            Settings in [0, 1].
        """
        points = np.asarray(x, dtype=np.float64)
        starts = np.minimum(points, 1.0 - self.width) - np.maximum(points - self.width, 0.0)
        inside = starts / (1.0 - self.width)
        return self.signal * inside + (1.0 - self.signal) * 0.5

    @property
    def best_utility(self) -> float:
        """Largest expected utility of any setting."""
        return float(self.expected_utility(0.5))

    @property
    def structure(self) -> PiecewiseStructure:
        """What holds for every instance: the number of breakpoints."""
        most = max(self.n_steps, 2)
        return PiecewiseStructure(
            n_piece_forms=5,
            n_boundaries=most,
            chain_length=0,
            chain_degree=0,
            function_degree=1,
            n_parameters=1,
            piecewise_constant=True,
            line=LineCount(n_breakpoints=most),
            name="windows and noise",
            source="certune.testing.windows",
        )
