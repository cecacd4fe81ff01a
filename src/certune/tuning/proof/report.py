"""What every report of a verification says."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from certune.cards import Carded
from certune.guarantees.records import counted
from certune.scores import Score


@dataclass(frozen=True, repr=False, kw_only=True)
class Verified(Carded):
    """Claims that were confirmed; it exists only if everything was right.

    Attributes
    ----------
    n_instances : int
        Number of instances.
    best_value, upper_bound : Fraction
        The confirmed claims.
    tolerance : float
        The gap at which an optimum counts as proved.
    elapsed : float
        Seconds.
    aggregate : str
        What was maximised, in words.
    score : Score
        What utilities mean to people.
    """

    n_instances: int
    best_value: Fraction
    upper_bound: Fraction
    tolerance: float
    elapsed: float
    aggregate: str = "mean utility"
    score: Score = field(default_factory=Score)

    @property
    def covers_all(self) -> bool:
        """Whether the proof is about all instances."""
        return True

    @property
    def optimal(self) -> bool:
        """Whether the certificate proves that nothing is better on all instances."""
        gap = self.upper_bound - self.best_value
        return self.covers_all and gap <= Fraction(self.tolerance)

    def _confirmed(self, among: str = "") -> str:
        """Say what was confirmed."""
        bound = f"the {self.score.bound_name} {float(self.score.of(self.upper_bound)):.6g}"
        proved = "optimality" if self.optimal else bound
        return (
            f"certificate verified: {proved}{among} on {counted(self.n_instances, 'instance')}, "
            f"best {self.aggregate} {float(self.score.of(self.best_value)):.6g}"
        )
