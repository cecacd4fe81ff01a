"""Exponential weights for environments that shift: the fixed-share update.

After each round a small share of the weight is spread evenly over all positions, so that the
learner can follow the best parameter when it moves.  Against the best sequence of K windows the
regret is at most (K ln(1/w) + (K - 1) ln(1/s) + (T - K) ln(1/(1 - s))) / rate + rate T H^2/8, for
windows of share w and a sharing rate s (Herbster and Warmuth; ``docs/theory/online.md``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certune.errors import ParameterError
from certune.online.learner import FloatArray, Learner, Observed
from certune.online.lines import Line
from certune.online.steps import Steps

# Neighbouring pieces are joined if the logarithms of their densities fall into the same interval of
# this length: T rounds change no density by more than the factor exp(T * JOINED).
JOINED = 1e-11


class FixedShare(Learner):
    """Exponential weights with a share of the weight spread evenly after each round.

    Parameters
    ----------
    lines : sequence of Line
        Where it can play.
    horizon : int
        Number of rounds.
    shifts : int
        How often the best parameter is expected to move.
    span : float
        H, the length of the interval that contains all utilities.

    Notes
    -----
    A round costs O(n) for n pieces. Pieces are joined where the even share has washed out their
    difference, see `JOINED`. That is soon where utilities stay below their mean, since a difference
    is multiplied by (1 - s) exp(rate * utility) / (mean of exp(rate * utility)) a round. Where they
    stay above it differences last and pieces add up; a resolution of the tuner bounds their number.
    """

    def __init__(self, lines: Sequence[Line], horizon: int, shifts: int, span: float) -> None:
        super().__init__(lines)
        if not 1 <= shifts < horizon:
            raise ParameterError(
                f"shifts must be at least 1 and less than the horizon {horizon}, got {shifts!r}"
            )
        self._share = shifts / horizon
        self._span = span
        self._mixing = -math.log1p(-self._share)
        complexity = (shifts + 1) * math.log(horizon) - shifts * math.log(self._share)
        complexity += (horizon - shifts) * self._mixing
        self._rate = math.sqrt(8.0 * complexity / horizon) / span
        self._edges = [np.empty(0) for _ in self.lines]
        self._heights = [np.full(1, 1.0 / self.length) for _ in self.lines]

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the density."""
        return sum(heights.size for heights in self._heights)

    def _widths(self, number: int) -> FloatArray:
        line = self.lines[number]
        return np.diff(np.concatenate(([line.low], self._edges[number], [line.high])))

    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a line and a position on it, from the density. O(n)."""
        which, where = rng.random(2).tolist()
        widths = [self._widths(number) for number in range(len(self.lines))]
        masses = [w * h for w, h in zip(widths, self._heights, strict=True)]
        cumulative = np.cumsum(np.concatenate(masses))
        cell = int(np.searchsorted(cumulative, which * cumulative[-1], side="right"))
        cell = min(cell, cumulative.size - 1)
        number = 0
        while cell >= widths[number].size:
            cell -= widths[number].size
            number += 1
        line = self.lines[number]
        start = line.low if cell == 0 else float(self._edges[number][cell - 1])
        return number, min(start + where * float(widths[number][cell]), line.high)

    def learn(self, observed: Observed) -> tuple[float, float]:
        """Multiply by exp(rate * utility), normalise, spread the share, join equal pieces."""
        lower = upper = total = 0.0
        # Relative to the largest utility of the round, so that nothing overflows.
        highest = max(float(steps.upper.max()) for steps in observed.steps)
        for number, steps in enumerate(observed.steps):
            cells = self._refine(number, steps)
            masses = self._widths(number) * self._heights[number]
            # Products are summed without BLAS, whose threads cost more than so short a sum.
            lower += float((masses * steps.lower[cells]).sum())
            upper += float((masses * steps.upper[cells]).sum())
            gain = np.exp(self._rate * (steps.middle - highest))[cells]
            self._heights[number] = self._heights[number] * gain
            total += float((masses * gain).sum())
        for number in range(len(self.lines)):
            kept = (1.0 - self._share) / total * self._heights[number]
            self._heights[number] = kept + self._share / self.length
            self._join(number)
        self.n_rounds += 1
        return lower, upper

    def _refine(self, number: int, steps: Steps) -> np.ndarray:
        """Cut the density at the edges of a function; return the function's cell of each piece."""
        old, heights = self._edges[number], self._heights[number]
        edges = np.unique(steps.edges)
        pieces = np.searchsorted(old, edges)
        is_new = np.append(old, math.inf)[pieces] != edges
        added, pieces = edges[is_new], pieces[is_new]
        self._heights[number] = np.insert(heights, pieces, heights[pieces])
        self._edges[number] = np.insert(old, pieces, added)
        starts = np.concatenate(([-math.inf], self._edges[number]))
        return np.searchsorted(steps.edges, starts, side="right")

    def _join(self, number: int) -> None:
        heights = self._heights[number]
        bins = np.floor(np.log(heights) / JOINED)
        kept = np.concatenate(([True], bins[1:] != bins[:-1]))
        if kept.all():
            return
        widths = self._widths(number)
        (firsts,) = np.nonzero(kept)
        masses = np.add.reduceat(widths * heights, firsts)
        self._heights[number] = masses / np.add.reduceat(widths, firsts)
        self._edges[number] = self._edges[number][kept[1:]]

    def learning_bound(self, share: float) -> float:
        """Return the bound of the module for one window (K = 1)."""
        switching = max(self.n_rounds - 1, 0) * self._mixing
        second_order = self._rate * self.n_rounds * self._span**2 / 8.0
        return (switching - math.log(share)) / self._rate + second_order

    def density(self, line: int, positions: FloatArray) -> FloatArray:
        """Return the probability density of the next draw at positions of a line."""
        return self._heights[line][np.searchsorted(self._edges[line], positions, side="right")]
