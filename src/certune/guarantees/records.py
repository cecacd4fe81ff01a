"""Records of what a sample says about the next instance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from certune.pfaffian.bounds.arithmetic import ball, certified, upper_float
from certune.pfaffian.bounds.records import Bound

INDEPENDENT = "instances are drawn independently from one distribution"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 instance", "2 instances"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Evidence(StrEnum):
    """What a bound was computed from; its value is what tables show."""

    WORST_CASE = "every instance"
    TUNING = "tuning instances"
    HELD_OUT = "held-out instances"


@dataclass(frozen=True, kw_only=True, repr=False)
class OptimismBound(Bound):
    """An upper bound on the optimism of a tuned setting, and what it leaves of its utility.

    Optimism is the mean utility on the tuning instances minus the expected utility on a new
    instance. A bound may be negative, if held-out instances are easier than the tuning instances.

    Parameters
    ----------
    value, label, provenance, formula, assumptions, note
        As in :class:`certune.pfaffian.bounds.Bound`.
    name : str
        Short name, unique among the bounds of a guarantee.
    delta : float
        The bound fails with at most this probability, over the draw of the instances.
    expected_utility : float
        Mean utility on the tuning instances minus the bound, rounded down: the expected utility
        of the tuned setting is at least this.
    vacuous : bool
        Whether that says nothing, because no utility is smaller.
    evidence : Evidence
        What it was computed from.
    """

    log2: float = field(init=False, repr=False)
    name: str
    delta: float
    expected_utility: float
    vacuous: bool
    evidence: Evidence

    def __str__(self) -> str:
        told = (
            "says nothing" if self.vacuous else f"expected utility >= {self.expected_utility:.6g}"
        )
        return f"{self.name}: {told} ({self.label}, from {self.evidence})"

    def __post_init__(self) -> None:
        exponent = -math.inf
        if self.value > 0:
            exponent = math.nextafter(math.log2(self.value), math.inf)
        object.__setattr__(self, "log2", exponent)

    @property
    def probability(self) -> float:
        """Probability with which the bound holds, at least."""
        return 1.0 - self.delta


@dataclass(frozen=True)
class Tuned:
    """The numbers of a tuned setting that bounds refer to.

    Attributes
    ----------
    value : Fraction
        Mean utility on the tuning instances.
    n_instances : int
        Their number N.
    low, high : Fraction
        Smallest and largest utility that any instance can have.
    """

    value: Fraction
    n_instances: int
    low: Fraction
    high: Fraction

    @property
    def span(self) -> Fraction:
        """Length H of the range of utilities."""
        return self.high - self.low

    def bound(self, optimism: Any, **described: Any) -> OptimismBound:
        """Return the record of a ball that bounds the optimism."""
        with certified():
            expected = -upper_float(optimism - ball(self.value))
            return OptimismBound(
                value=upper_float(optimism),
                expected_utility=expected,
                vacuous=expected <= self.low,
                **described,
            )
