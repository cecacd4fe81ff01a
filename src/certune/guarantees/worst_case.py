"""Worst-case bounds: what holds for every distribution of instances of a proved structure.

The Pfaffian structure of a family (`def:pfaffian-piecewise-structure`) bounds how many patterns
the utilities of N instances can form, and Massart's lemma turns each such count into a bound on
the optimism. These numbers are known before any instance is seen, and are often too large to help.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned
from certune.pfaffian.bounds.arithmetic import ball, certified
from certune.pfaffian.bounds.growth import SauerGrowth
from certune.pfaffian.bounds.tightest import growths, pdim_bound
from certune.pfaffian.structure import Structure


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
