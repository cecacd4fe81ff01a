"""Held-out instances: what the tuned setting is worth where it was not tuned."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from certune.guarantees.bounded_mean import Interval, mean_interval
from certune.tuning.evaluation import Evaluation


@dataclass(frozen=True)
class Comparison:
    """The tuned setting against a default, on the same instances.

    Attributes
    ----------
    name : str
        Name of the default.
    difference : float
        Mean over instances of the utility of the tuned setting minus that of the default.
    interval : Interval
        Confidence interval for the expected difference.
    """

    name: str
    difference: float
    interval: Interval

    @property
    def is_better(self) -> bool | None:
        """Whether the tuned setting is better in expectation; None if that is not clear."""
        if self.interval.low > 0:
            return True
        return False if self.interval.high < 0 else None

    def __str__(self) -> str:
        verdict = {True: "better", False: "worse", None: "not clear"}[self.is_better]
        return f"against {self.name}: {self.difference:+.4f} {self.interval}, {verdict}"


@dataclass(frozen=True)
class HeldOutEvaluation(Evaluation):
    """Utilities of the tuned setting and of the defaults on instances of their own.

    Attributes
    ----------
    tuning_value_exact : Fraction
        Mean utility of the setting on the instances that it was tuned on.
    utility_range : tuple of float
        Smallest and largest utility of any instance.
    n_known : int
        How many of the instances also occur among the tuning instances; intervals and guarantees
        need 0.
    """

    tuning_value_exact: Fraction = field(kw_only=True)
    utility_range: tuple[float, float] = field(kw_only=True)
    n_known: int = field(kw_only=True)

    @property
    def optimism(self) -> float:
        """Utility on the tuning instances minus utility here."""
        return float(self.tuning_value_exact - self.value_exact)

    def interval(self, delta: float = 0.05, method: str = "betting") -> Interval:
        """Return a confidence interval for the expected utility of the tuned setting.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the interval misses it.
        method : {"betting", "hoeffding", "empirical-bernstein"}
            Which inequality to use.
        """
        return mean_interval(self.utilities, delta, self.utility_range, method)

    def comparisons(self, delta: float = 0.05, method: str = "betting") -> list[Comparison]:
        """Compare the tuned setting with every default, instance by instance.

        The intervals share `delta`: all of them hold together.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that some interval misses the expected difference.
        method : {"betting", "hoeffding", "empirical-bernstein"}
            Which inequality to use.
        """
        low, high = (Fraction(end) for end in self.utility_range)
        pairs: list[Comparison] = []
        for name, others in self.baseline_utilities.items():
            differences = [u - v for u, v in zip(self.utilities, others, strict=True)]
            share = delta / len(self.baseline_utilities)
            interval = mean_interval(differences, share, (low - high, high - low), method)
            mean: Any = sum(differences, Fraction(0)) / len(differences)
            pairs.append(Comparison(name, float(mean), interval))
        return pairs

    def __str__(self) -> str:
        lines = [
            super().__str__(),
            f"expected utility of the tuned setting: {self.interval()}",
            f"on the tuning instances: {float(self.tuning_value_exact):.4f}, optimism "
            f"{self.optimism:+.4f}",
            *map(str, self.comparisons()),
        ]
        if self.n_known:
            lines.append(
                f"note: {self.n_known} of the instances were used for tuning, so that the "
                "intervals do not hold"
            )
        return "\n".join(lines)
