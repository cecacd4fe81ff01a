"""The guarantee through a surrogate path, for logistic regression (`thm:balcal2023`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from certune.dual import DualFunction, PiecewisePolynomial
from certune.errors import ParameterError
from certune.families.base import Family
from certune.guarantees import SurrogateClass, sup_distance
from certune.pfaffian.structure import HomogeneousStructure, Structure

# Resolution at which distances are measured, as a share of the utility range.
DISTANCE_SHARE = Fraction(1, 10_000)


def has_surrogates(family: Family, duals: Sequence[DualFunction] | None) -> bool:
    """Tell whether a family has surrogate paths for its smooth utility functions."""
    smooth = duals is not None and all(isinstance(d, PiecewisePolynomial) for d in duals)
    return smooth and hasattr(family, "surrogate_dual")


def check_structure(family: Family, structure: Structure | None) -> None:
    """Raise `ParameterError` for counts that hold for surrogates only."""
    if isinstance(structure, HomogeneousStructure) and hasattr(family, "surrogate_dual"):
        raise ParameterError(
            "the counts of RegularizedLogistic.structure hold for its surrogate, not for the "
            "utility itself: pass surrogate_step to guarantee, or use certune.sample_size"
        )


def surrogate_class(
    family: Family,
    instances: Sequence[Any],
    duals: Sequence[DualFunction] | None,
    step: float,
) -> SurrogateClass:
    """Follow the surrogate paths of instances and measure how far they are from the utilities.

    Parameters
    ----------
    family : RegularizedLogistic
        The family, with the log-loss as its metric.
    instances : sequence of ClassificationInstance
        The instances.
    duals : sequence of PiecewisePolynomial
        Their utility functions.
    step : float
        Step of lam.

    Raises
    ------
    ParameterError
        For a family without surrogates.
    """
    if duals is None or not has_surrogates(family, duals):
        raise ParameterError(
            f"surrogate_step is for RegularizedLogistic(metric='log-loss'), got {family!r}"
        )
    low, high = (Fraction(end) for end in family.utility_range)
    resolution = DISTANCE_SHARE * (high - low)
    logistic: Any = family
    distances = [
        sup_distance(dual, logistic.surrogate_dual(instance, step), resolution)
        for instance, dual in zip(instances, duals, strict=True)
    ]
    path = logistic.surrogate(instances[0], step)
    mean_error = sum(distances, Fraction(0)) / len(distances)
    return SurrogateClass(path.n_intervals, min(mean_error, high - low))
