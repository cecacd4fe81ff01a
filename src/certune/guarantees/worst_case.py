"""Worst-case bounds: what holds for every distribution of instances of a proved structure.

The Pfaffian structure of a family (`def:pfaffian-piecewise-structure`) bounds how many patterns
the utilities of N instances can form, and Massart's lemma turns each such count into a bound on
the optimism. These numbers are known before any instance is seen, and are often too large to help.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from certune.guarantees.rademacher import optimism_from_complexity
from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned
from certune.pfaffian.bounds.arithmetic import ball, certified
from certune.pfaffian.bounds.growth import SauerGrowth
from certune.pfaffian.bounds.records import Provenance
from certune.pfaffian.bounds.tightest import growths, pdim_bound
from certune.pfaffian.structure import Structure


@dataclass(frozen=True)
class SurrogateClass:
    """Surrogates whose level sets are counted for every instance, and their measured errors.

    On each of `n_intervals` intervals of the parameter, the same for all instances, the surrogate
    of every instance is concave, as the log-loss of the path of `thm:rosset1` is.

    Attributes
    ----------
    n_intervals : int
        Number n of intervals.
    mean_error : Fraction
        Mean over the tuning instances of the largest distance of a utility from its surrogate.
    """

    n_intervals: int
    mean_error: Fraction


def surrogate_bound(tuned: Tuned, surrogate: SurrogateClass, delta: Any) -> OptimismBound:
    """Bound the optimism by the cells of a surrogate class (`thm:balcal2023`, with constants).

    Only the errors on the tuning instances enter, since the surrogates bound the *empirical*
    complexity; the step of the surrogates may be chosen after looking at the instances.

    Parameters
    ----------
    tuned : Tuned
        The setting and the range of utilities.
    surrogate : SurrogateClass
        The surrogates of the tuning instances.
    delta : Fraction
        Probability of failure.
    """
    n, intervals = tuned.n_instances, surrogate.n_intervals
    cells = 2 * (intervals - 1 + 2 * intervals * n) + 1
    with certified():
        complexity = ball(tuned.span) / 2 * (2 * arb(cells).log() / n).sqrt()
        upper = complexity + ball(surrogate.mean_error)
    optimism, formula = optimism_from_complexity(tuned, upper, delta, None)
    return tuned.bound(
        optimism,
        name="surrogate class",
        delta=float(delta),
        evidence=Evidence.TUNING,
        label="thm:balcal2023",
        provenance=Provenance.CLASSICAL,
        formula=formula + r",\ \hat R = \tfrac{H}{2} \sqrt{2 \ln(2 (n - 1 + 2 n N) + 1) / N} + \xi",
        assumptions=(INDEPENDENT,),
        note=f"{intervals} intervals, surrogates within {float(surrogate.mean_error):.2g}",
    )


def worst_case_bounds(tuned: Tuned, structure: Structure, delta: Any) -> list[OptimismBound]:
    """Bound the optimism by every count of patterns that is proved for a structure.

    All of them rest on one event: they hold together with probability 1 - delta.

    Parameters
    ----------
    tuned : Tuned
        The setting and the range of utilities.
    structure : Structure
        Counts proved for every instance, as ``family.structure(...)`` returns them.
    delta : Fraction
        Probability of failure.
    """
    n = tuned.n_instances
    dimension = pdim_bound(structure)
    through_dimension = SauerGrowth(
        dimension.dimension,
        note=f"D = {dimension.dimension} by {dimension.label}",
        assumptions=dimension.assumptions,
    )
    bounds: list[OptimismBound] = []
    for growth in [*growths(structure), through_dimension]:
        repeated = sum(bound.label == growth.label for bound in bounds)
        with certified():
            complexity = (2 * arb(growth.count(n)).log() / n).sqrt()
            confidence = ((1 / ball(delta)).log() / (2 * n)).sqrt()
            optimism = ball(tuned.span) * (complexity + confidence)
        bounds.append(
            tuned.bound(
                optimism,
                name=f"worst case {growth.label}" + (f" ({repeated + 1})" if repeated else ""),
                delta=float(delta),
                evidence=Evidence.WORST_CASE,
                label=growth.label,
                provenance=growth.provenance,
                formula=r"H \sqrt{2 \ln \Pi(N) / N} + H \sqrt{\ln(1/\delta) / (2N)},\ "
                rf"\Pi(N) = {growth.formula}",
                assumptions=(*growth.assumptions, INDEPENDENT),
                note=growth.note or str(growth.provenance),
            )
        )
    return bounds
