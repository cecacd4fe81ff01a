"""Regret: what was earned, against the best fixed parameter in hindsight, and its bound.

Both totals are exact.  They are intervals of rational numbers where a gap of a utility function
leaves a value open, or a smooth one is known up to a stated error; otherwise their ends are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from certune.cards import Carded


@dataclass(frozen=True, repr=False)
class Regret(Carded):
    """Regret after a number of rounds.

    Attributes
    ----------
    n_rounds : int
        T.
    best_bounds : tuple of Fraction
        Bounds of the best total utility of a fixed parameter.
    earned_bounds : tuple of Fraction
        Bounds of the total utility of the parameters played.
    expected_earned : float or None
        Total over rounds of the expected utility of the draw, given the rounds before; gaps count
        by the middle of their bounds, and smooth utilities likewise. None if the learner cannot
        tell.
    bound : float or None
        Bound of the expected regret: the curve of ``thm:dispersion-no-regret`` with the observed
        dispersion and all constants, or what all rounds together can cost (their number times the
        range of the utility) if that is less. None if the learner has none.
    """

    n_rounds: int
    best_bounds: tuple[Fraction, Fraction]
    earned_bounds: tuple[Fraction, Fraction]
    expected_earned: float | None
    bound: float | None

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction]:
        """Exact bounds of the regret."""
        (best_low, best_high), (earned_low, earned_high) = self.best_bounds, self.earned_bounds
        return best_low - earned_high, best_high - earned_low

    @property
    def is_exact(self) -> bool:
        """Whether the regret is a single number."""
        lower, upper = self.value_bounds
        return lower == upper

    @property
    def uncertainty(self) -> float:
        """How far apart the bounds of the regret are: the stated errors of smooth utilities."""
        lower, upper = self.value_bounds
        return float(upper - lower)

    @property
    def value(self) -> float:
        """The regret; the upper bound where it is not a single number."""
        return float(self.value_bounds[1])

    @property
    def average(self) -> float:
        """The regret per round."""
        return float(self.value_bounds[1] / self.n_rounds)

    @property
    def expected(self) -> float | None:
        """Regret of the expected utilities: free of the luck of single draws."""
        if self.expected_earned is None:
            return None
        return float(self.best_bounds[1]) - self.expected_earned

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        best, earned = float(self.best_bounds[1]), float(self.earned_bounds[0])
        text = (
            f"regret {self.value:.6g} after {self.n_rounds} rounds ({self.average:.4g} a round): "
            f"earned {earned:.6g}, best fixed parameter {best:.6g}"
        )
        if not self.is_exact:
            text += f"; known up to {self.uncertainty:.2g}"
        return text if self.bound is None else f"{text}; bound {self.bound:.6g}"
