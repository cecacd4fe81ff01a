"""What a utility means to people: a score with a name, a direction and a range.

Inside, every family has a utility that is to be maximised. People know the log-loss, of which 0.13
is better than 0.14, or the accuracy. A :class:`Score` says how the two belong together, and
everything that is printed or drawn goes through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Score:
    """A score, and how it follows from the utility.

    Parameters
    ----------
    name : str, default="utility"
        What people call it.
    greater_is_better : bool, default=True
        Its direction.
    at_zero : float, default=0.0
        The score of utility 0. From there the score grows with the utility if greater is better,
        and falls otherwise.

    Examples
    --------
    >>> loss = Score("log-loss", greater_is_better=False, at_zero=2.0)
    >>> loss.of(1.875), loss.utility(0.125)
    (0.125, 1.875)
    >>> str(loss)
    'log-loss (lower is better)'
    """

    name: str = "utility"
    greater_is_better: bool = True
    at_zero: float = 0.0

    def of(self, utility: Any) -> Any:
        """Return the score of a utility: exactly for a fraction, rounded once for floats."""
        start: Any = Fraction(self.at_zero) if isinstance(utility, Fraction) else self.at_zero
        return start + utility if self.greater_is_better else start - utility

    def utility(self, score: Any) -> Any:
        """Return the utility of a score: exactly for a fraction, rounded once for floats."""
        start: Any = Fraction(self.at_zero) if isinstance(score, Fraction) else self.at_zero
        return score - start if self.greater_is_better else start - score

    @property
    def is_utility(self) -> bool:
        """Whether score and utility are the same numbers."""
        return self.greater_is_better and self.at_zero == 0.0

    @property
    def bound_name(self) -> str:
        """What a bound that no setting passes is called."""
        return "upper bound" if self.greater_is_better else "lower bound"

    @property
    def expected_words(self) -> tuple[str, str]:
        """How a value that is at least reached is said, in words and as a sign."""
        return ("at least", ">=") if self.greater_is_better else ("at most", "<=")

    def __str__(self) -> str:
        return self.name if self.greater_is_better else f"{self.name} (lower is better)"
