"""The books of an online run: what was earned, what could have been, and where functions change.

The learner never reads them.  They cost O(k log n) a round on average, plus one exact sum of all
functions each time that the number of rounds has grown by a fifth, for the curve of the regret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction
from certune.online.discontinuities import Discontinuities, changes_of
from certune.online.hindsight import Hindsight
from certune.online.learner import Learner
from certune.online.lines import Line
from certune.online.regret import Regret
from certune.online.rounds import Round

FloatArray = npt.NDArray[np.float64]
Bounds = tuple[Fraction, Fraction]

CURVE_GROWTH = 1.2
# Points at which the density is kept for its picture.
N_SHOWN = 240
# Windows of the share 2^-j of all positions, among which the bound of the regret picks the best.
SHARES = 0.5 ** np.arange(31)


@dataclass(frozen=True)
class Played:
    """What is kept of a round to show it.

    Attributes
    ----------
    name, fingerprint : str
        The instance, empty if only functions were given.
    line, position : int and float
        Where it was played.
    utility, best : float
        What was earned, and the best that any parameter of the lines earns on this instance.
    """

    name: str
    fingerprint: str
    line: int
    position: float
    utility: float
    best: float


@dataclass(frozen=True)
class _Checkpoint:
    n_rounds: int
    best: Bounds
    earned: Bounds
    expected: float | None
    learning: tuple[float, ...] | None
    densities: tuple[FloatArray, ...]


class Ledger:
    """Totals of an online run.

    Parameters
    ----------
    lines : tuple of Line
        The lines that can be played.
    span : float
        H, the length of the interval that contains all utilities.
    """

    def __init__(self, lines: tuple[Line, ...], span: float) -> None:
        self._lines = lines
        self._span = span
        self._sums = [Hindsight() for _ in lines]
        self._gaps: list[list[FloatArray]] = [[] for _ in lines]
        self._changes: list[list[npt.NDArray[np.bool_]]] = [[] for _ in lines]
        self._earned_low = self._earned_excess = Fraction(0)
        self._expected: float | None = 0.0
        self._curve: list[_Checkpoint] = []
        self._next_checkpoint = 1
        self.played: list[Played] = []
        self.n_rounds = 0

    def enter(self, finished: Round, expected: tuple[float, float] | None) -> None:
        """Enter a finished round and the bounds of its expected utility."""
        low, high = finished.utility_bounds
        self._earned_low += low
        self._earned_excess += high - low if high != low else 0
        if self._expected is not None:
            self._expected = (
                None if expected is None else self._expected + 0.5 * (expected[0] + expected[1])
            )
        for number, dual in enumerate(finished.duals):
            self._sums[number].add(dual)
            gaps, certain = changes_of(dual)
            self._gaps[number].append(gaps)
            self._changes[number].append(certain)
        best = max(float(dual.max()) for dual in finished.duals)
        self.played.append(
            Played(
                finished.name,
                finished.instance,
                finished.line,
                finished.position,
                finished.utility,
                max(best, finished.utility),
            )
        )
        self.n_rounds += 1

    def mark(self, learner: Learner) -> None:
        """Keep a point of the curve if it is time for one."""
        if self.n_rounds >= self._next_checkpoint:
            self._next_checkpoint = max(self.n_rounds + 1, int(self.n_rounds * CURVE_GROWTH))
            self._curve.append(self._checkpoint(learner))

    def _checkpoint(self, learner: Learner) -> _Checkpoint:
        best = [line.best() for line in self._sums]
        learning = [learner.learning_bound(share) for share in SHARES.tolist()]
        known = tuple(bound for bound in learning if bound is not None)
        return _Checkpoint(
            self.n_rounds,
            (max(low for low, _ in best), max(high for _, high in best)),
            (self._earned_low, self._earned_low + self._earned_excess),
            self._expected,
            known if len(known) == len(learning) else None,
            tuple(learner.density(i, shown_positions(line)) for i, line in enumerate(self._lines)),
        )

    def totals(self) -> list[DualFunction]:
        """Return the exact sum of all functions along every line."""
        return [line.total for line in self._sums]

    def discontinuities(self) -> list[Discontinuities]:
        """Return where functions change along every line, on the scale of positions."""
        collected = []
        for line, gaps, changes in zip(self._lines, self._gaps, self._changes, strict=True):
            ends = line.positions(np.concatenate([np.empty((0, 2)), *gaps]))
            owners = np.repeat(np.arange(len(gaps), dtype=np.int64), [len(gap) for gap in gaps])
            certain = np.concatenate([np.empty(0, dtype=bool), *changes])
            collected.append(Discontinuities(ends[:, 0], ends[:, 1], owners, certain, len(gaps)))
        return collected

    def densities(self, learner: Learner, line: int) -> tuple[list[int], FloatArray]:
        """Return the rounds that were kept, and now, with the density along a line after each."""
        points = self._points(learner)
        return [point.n_rounds for point in points], np.array(
            [point.densities[line] for point in points]
        )

    def regret(self, learner: Learner) -> Regret:
        """Return the regret now."""
        return self._regrets([self._checkpoint(learner)])[0]

    def curve(self, learner: Learner) -> list[Regret]:
        """Return the regret at the rounds that were kept, and now."""
        return self._regrets(self._points(learner))

    def _points(self, learner: Learner) -> list[_Checkpoint]:
        points = list(self._curve)
        if not points or points[-1].n_rounds != self.n_rounds:
            points.append(self._checkpoint(learner))
        return points

    def _regrets(self, points: Sequence[_Checkpoint]) -> list[Regret]:
        lines = self.discontinuities()
        regrets = []
        for point in points:
            bound = None
            if point.learning is not None:
                parts = [line.prefix(point.n_rounds) for line in lines]
                bound = self._bound(parts, point.learning)
            regrets.append(Regret(point.n_rounds, point.best, point.earned, point.expected, bound))
        return regrets

    def _bound(self, parts: Sequence[Discontinuities], learning: Sequence[float]) -> float:
        """Return the least of learning cost + H * D(T, width) over widths of windows, and of T H.

        A round costs H at most, so that T H bounds every regret.
        """
        length = sum(line.length for line in self._lines)
        shortest = min(line.length for line in self._lines)
        bounds: list[float] = []
        for share, cost in zip(SHARES.tolist(), learning, strict=True):
            if share * length > shortest:
                continue
            # A narrower window only costs more to learn, so that the search ends where learning
            # alone exceeds the best bound.
            if bounds and cost >= min(bounds):
                break
            changing = max(part.worst_window(share * length).at_most for part in parts)
            bounds.append(cost + self._span * changing)
        return min([*bounds, self._span * parts[0].n_functions])


def shown_positions(line: Line) -> FloatArray:
    """Return the positions of a line at which its density is kept: middles of equal cells."""
    return line.low + line.length * (np.arange(N_SHOWN) + 0.5) / N_SHOWN
