"""Where functions change, and how many of them within one window, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction
from certune.kernels.learning import OwnedEnds, fullest_window

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """An interval of parameters and the number of functions that change in it.

    Attributes
    ----------
    low, high : float
        The interval.
    at_least, at_most : int
        Bounds of the largest number of functions with a discontinuity in any interval of this
        width; this one attains the upper bound. They differ only if a discontinuity is enclosed
        so loosely that the answer depends on its place.
    """

    low: float
    high: float
    at_least: int
    at_most: int


def changes_of(dual: DualFunction) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return where a function may jump, one row (low, high) each, and whether it does for certain.

    Smooth pieces that touch have no jump between them.
    """
    gaps = dual.breakpoints
    if isinstance(dual, PiecewiseFunction):
        return gaps, dual.numerators[1:] != dual.numerators[:-1]
    gaps = gaps[gaps[:, 0] < gaps[:, 1]]
    sides = [(dual.enclose(low), dual.enclose(high)) for low, high in gaps.tolist()]
    jumps = [left[1] < right[0] or right[1] < left[0] for left, right in sides]
    return gaps, np.array(jumps, dtype=bool)


@dataclass(frozen=True)
class Discontinuities:
    """Enclosures of the discontinuities of a sequence of functions along one line.

    Attributes
    ----------
    low, high : float array
        Ends of the enclosures.
    owners : int array
        Number of the function that each belongs to.
    certain : bool array
        Whether there is a discontinuity for certain: the function differs on both sides.
    n_functions : int
        Length of the sequence.
    """

    low: FloatArray
    high: FloatArray
    owners: IntArray
    certain: npt.NDArray[np.bool_]
    n_functions: int

    @classmethod
    def of(cls, duals: Sequence[DualFunction]) -> Discontinuities:
        """Collect the discontinuities of functions. O(B) for B of them."""
        found = [changes_of(dual) for dual in duals]
        gaps, changes = [gap for gap, _ in found], [certain for _, certain in found]
        ends = np.concatenate([np.empty((0, 2)), *gaps])
        counts = [len(gap) for gap in gaps]
        return cls(
            ends[:, 0],
            ends[:, 1],
            np.repeat(np.arange(len(gaps), dtype=np.int64), counts),
            np.concatenate([np.empty(0, dtype=bool), *changes]),
            len(gaps),
        )

    def logarithms(self) -> Discontinuities:
        """Return the same on a logarithmic scale, rounded outward; all places are positive."""
        # Two neighbours further: the logarithm is rounded by less than one unit in the last place.
        low, high = np.log(self.low), np.log(self.high)
        for _ in range(2):
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        return Discontinuities(low, high, self.owners, self.certain, self.n_functions)

    def prefix(self, n_functions: int) -> Discontinuities:
        """Return those of the first functions alone. O(B)."""
        kept = self.owners < n_functions
        return Discontinuities(
            self.low[kept], self.high[kept], self.owners[kept], self.certain[kept], n_functions
        )

    @cached_property
    def _by_low(self) -> IntArray:
        return np.argsort(self.low, kind="stable")

    @cached_property
    def _by_high(self) -> IntArray:
        return np.argsort(self.high, kind="stable")

    def worst_window(self, width: float) -> Window:
        """Return a window of a width in which the most functions change. O(B) after one sort.

        Parameters
        ----------
        width : float
            Not negative; windows are closed intervals of this width.
        """
        everything = np.ones(self.low.size, dtype=bool)
        at_most, place = self._fullest(everything, width, certain=False)
        at_least, start = self._fullest(self.certain & self._fit(width), width, certain=True)
        if at_least == at_most and at_least > 0:
            place = start
        return Window(place, place + width, at_least, at_most)

    def _fit(self, width: float) -> npt.NDArray[np.bool_]:
        """Tell which enclosures a closed window of a width can contain: high <= low + width."""
        total = self.low + width
        # The rounding error of the sum (two-sum), which decides where the sum equals the end.
        part = total - self.low
        error = (self.low - (total - part)) + (width - part)
        return np.asarray((self.high < total) | ((self.high == total) & (error >= 0.0)))

    def _fullest(
        self, chosen: npt.NDArray[np.bool_], width: float, certain: bool
    ) -> tuple[int, float]:
        by_low, by_high = self._by_low[chosen[self._by_low]], self._by_high[chosen[self._by_high]]
        lows = OwnedEnds(self.low[by_low], self.owners[by_low])
        highs = OwnedEnds(self.high[by_high], self.owners[by_high])
        entries, exits = (highs, lows) if certain else (lows, highs)
        return fullest_window(entries, exits, self.n_functions, width, certain)
