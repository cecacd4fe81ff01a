"""How many instances are enough? Proved answers and estimates, kept apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from certune.guarantees.learning import LearningCurve
from certune.guarantees.rademacher import RademacherComplexity, optimism_from_complexity
from certune.guarantees.records import INDEPENDENT, Tuned
from certune.pfaffian.bounds.arithmetic import ball, certified, first_true, positive, probability
from certune.pfaffian.bounds.records import Provenance, SampleSize
from certune.pfaffian.bounds.tightest import sample_size
from certune.pfaffian.structure import Structure

SHORTFALL = "tuning instances until no setting is better by epsilon in expectation"
OPTIMISM = "tuning instances until the optimism is at most epsilon"
HELD_OUT = "held-out instances until the expected utility is known to within epsilon"


@dataclass(frozen=True, kw_only=True, repr=False)
class InstancesNeeded(SampleSize):
    """A number of instances for an accuracy epsilon.

    Parameters
    ----------
    n_instances, epsilon, delta, utility_range, label, provenance, formula, assumptions, note
        As in :class:`certune.pfaffian.bounds.SampleSize`.
    purpose : str
        What the instances are for.
    is_estimate : bool
        Whether the number is extrapolated from what was seen; otherwise it is proved.
    """

    purpose: str
    is_estimate: bool

    def __str__(self) -> str:
        kind = "estimate" if self.is_estimate else "proved"
        return f"{self.n_instances:>12,} {kind:<9} {self.purpose} ({self.label}; {self.note})"


def instances_needed(
    tuned: Tuned,
    utilities: Sequence[Fraction],
    *,
    epsilon: float,
    delta: float = 0.05,
    complexity: RademacherComplexity | None = None,
    structure: Structure | None = None,
    curve: LearningCurve | None = None,
) -> list[InstancesNeeded]:
    """Return how many instances each result asks for, fewest first.

    Parameters
    ----------
    tuned : Tuned
        The tuned setting.
    utilities : sequence of Fraction
        Its utilities on the tuning instances.
    epsilon : float
        Accuracy.
    delta : float, default=0.05
        Probability of failure of each answer.
    complexity : RademacherComplexity, optional
        Of the tuning instances.
    structure : Structure, optional
        Counts that are proved for every instance.
    curve : LearningCurve, optional
        Learning curve of the tuning instances.
    """
    targets = _Targets(
        positive("epsilon", epsilon), probability("delta", delta), tuned.span, tuned.n_instances
    )
    answers = [_hoeffding(targets), _from_variance(targets, utilities)]
    if complexity is not None:
        answers.append(_from_rademacher(targets, complexity))
    if structure is not None:
        size = sample_size(structure, epsilon, delta, float(tuned.span))
        answers += [
            targets.answer(
                row.n_instances,
                SHORTFALL,
                False,
                label=row.label,
                provenance=row.provenance,
                formula=row.formula,
                assumptions=row.assumptions,
                note=row.note or "every instance",
            )
            for row in (size, *size.others)
        ]
    law = None if curve is None else curve.fit()
    if law is not None and curve is not None:
        answers.append(
            targets.answer(
                law.instances_for(float(epsilon)),
                OPTIMISM,
                True,
                label="learning curve",
                provenance=Provenance.CLASSICAL,
                formula=rf"{law.scale:.4g}\, N^{{-{law.exponent:.4g}}} \le \epsilon",
                assumptions=("the mean optimism follows the power law fitted to it",),
                note=f"mean optimism, fitted on up to {int(curve.sizes.max())} instances",
            )
        )
    return sorted(answers, key=lambda answer: answer.n_instances)


@dataclass(frozen=True)
class _Targets:
    epsilon: Any
    delta: Any
    span: Fraction
    n_seen: int

    @property
    def two_sided(self) -> Any:
        """Logarithm of 2 / delta, a ball: half of delta for an error on either side."""
        return (2 / ball(self.delta)).log()

    def answer(
        self, n_instances: int, purpose: str, is_estimate: bool, **described: Any
    ) -> InstancesNeeded:
        return InstancesNeeded(
            n_instances=n_instances,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            utility_range=float(self.span),
            purpose=purpose,
            is_estimate=is_estimate,
            **described,
        )

    def smallest(self, enough: Callable[[int], bool]) -> int:
        with certified():
            return first_true(lambda n: bool(enough(n)))


def _hoeffding(targets: _Targets) -> InstancesNeeded:
    with certified():
        needed = ball(targets.span) ** 2 * targets.two_sided / (2 * ball(targets.epsilon) ** 2)
    n = targets.smallest(lambda n: needed <= n)
    return targets.answer(
        n,
        HELD_OUT,
        False,
        label="Hoeffding 1963",
        provenance=Provenance.CLASSICAL,
        formula=r"H^2 \ln(2/\delta) / (2 \epsilon^2)",
        assumptions=(INDEPENDENT,),
        note="range of the utility only",
    )


def _from_variance(targets: _Targets, utilities: Sequence[Fraction]) -> InstancesNeeded:
    mean = sum(utilities, Fraction(0)) / len(utilities)
    # One more square than there are degrees of freedom, so that equal utilities do not count as 0.
    squares = sum(((u - mean) ** 2 for u in utilities), targets.span**2 / 4)
    with certified():
        epsilon, logarithm = ball(targets.epsilon), targets.two_sided
        needed = 2 * ball(squares / len(utilities)) * logarithm / epsilon**2
        needed += 2 * ball(targets.span) * logarithm / (3 * epsilon)
    n = targets.smallest(lambda n: needed <= n)
    return targets.answer(
        n,
        HELD_OUT,
        True,
        label="Bernstein",
        provenance=Provenance.CLASSICAL,
        formula=r"2 V \ln(2/\delta) / \epsilon^2 + 2 H \ln(2/\delta) / (3 \epsilon)",
        assumptions=(INDEPENDENT, "the variance V is that seen on the tuning instances"),
        note="variance on the tuning instances",
    )


def _from_rademacher(targets: _Targets, complexity: RademacherComplexity) -> InstancesNeeded:
    """Solve the bound for N, as if the complexity fell like the square root of N."""

    def enough(n: int) -> bool:
        scaled = arb(max(complexity.upper, 0.0)) * (arb(targets.n_seen) / n).sqrt()
        tuned = Tuned(Fraction(0), n, Fraction(0), targets.span)
        optimism, _ = optimism_from_complexity(tuned, scaled, targets.delta, None)
        return bool(optimism <= ball(targets.epsilon))

    return targets.answer(
        targets.smallest(enough),
        OPTIMISM,
        True,
        label="G3",
        provenance=Provenance.CLASSICAL,
        formula=r"G3(\hat R \sqrt{N_{seen} / N}, N) \le \epsilon",
        assumptions=(INDEPENDENT, "the complexity falls like the square root of N"),
        note="Rademacher complexity on the tuning instances",
    )
