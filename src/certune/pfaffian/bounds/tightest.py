"""The tightest bound that applies to a structure, with all the others beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from certune.errors import InputError
from certune.pfaffian.bounds.arithmetic import Real
from certune.pfaffian.bounds.closed_forms import (
    closed_form,
    earlier_growth,
    own_predicates,
    warren_form,
)
from certune.pfaffian.bounds.generalization import (
    instances_by_chaining,
    instances_by_pollard,
    instances_for_growth,
)
from certune.pfaffian.bounds.growth import Growth, LineGrowth, PredicateGrowth, SauerGrowth
from certune.pfaffian.bounds.records import PdimBound, Provenance, SampleSize
from certune.pfaffian.structure import (
    GJStructure,
    HomogeneousStructure,
    LineCount,
    PiecewiseStructure,
    PredicateCount,
    Structure,
)


def pdim_bound(structure: Structure) -> PdimBound:
    """Return the tightest bound on the pseudo-dimension of a class with a proved structure.

    Parameters
    ----------
    structure : PiecewiseStructure, GJStructure or HomogeneousStructure
        Counts that hold for every instance, as ``family.structure(...)`` returns them.

    Returns
    -------
    PdimBound
        The tightest bound; ``others`` has all further ones with their provenance. Bounds as
        printed in the paper are listed for comparison and never chosen.

    Raises
    ------
    InputError
        If `structure` is anything else, such as counts observed on a trace.

    Examples
    --------
    >>> import certune as ct
    >>> structure = ct.Linkage("min-max").structure(n=100)
    >>> bound = ct.pdim_bound(structure)
    >>> bound.dimension, str(bound.provenance)
    (50, 'certune R6')
    """
    _check_proved(structure)
    bounds = [*_closed_forms(structure), *(g.pdim_bound() for g in growths(structure))]
    proved = sorted((b for b in bounds if b.proved), key=lambda b: b.value)
    printed = [b for b in bounds if not b.proved]
    return replace(proved[0], others=(*proved[1:], *printed))


def sample_size(
    structure: Structure, epsilon: float, delta: float, utility_range: float = 1.0
) -> SampleSize:
    """Return how many instances suffice to tune a class with a proved structure.

    Parameters
    ----------
    structure : PiecewiseStructure, GJStructure or HomogeneousStructure
        Counts that hold for every instance.
    epsilon : float
        The tuned setting shall be within epsilon of the best one in expectation ...
    delta : float
        ... with probability at least 1 - delta.
    utility_range : float, default=1.0
        Length H of an interval that contains all utilities.

    Returns
    -------
    SampleSize
        The smallest number that one of the results yields; ``others`` has what the rest ask for.

    Examples
    --------
    >>> import certune as ct
    >>> structure = ct.Linkage("min-max").structure(n=100)
    >>> ct.sample_size(structure, epsilon=0.1, delta=0.05).n_instances
    13062
    """
    _check_proved(structure)
    dimension = pdim_bound(structure).dimension
    targets: tuple[Real, Real, Real] = (epsilon, delta, utility_range)
    sizes = [instances_for_growth(growth, *targets) for growth in growths(structure)]
    note = f"D = {dimension}"
    sizes += [
        instances_for_growth(SauerGrowth(dimension, note=note), *targets),
        instances_by_chaining(dimension, *targets),
        instances_by_pollard(dimension, *targets),
    ]
    sizes.sort(key=lambda size: size.n_instances)
    return replace(sizes[0], others=tuple(sizes[1:]))


def growths(structure: Structure) -> list[Growth]:
    """Return every count of patterns that is known for a structure."""
    if isinstance(structure, HomogeneousStructure):
        return _homogeneous_growths(structure)
    found: list[Growth] = []
    assumptions = structure.assumptions
    declared = structure.predicates if isinstance(structure, PiecewiseStructure) else ()
    found += [
        PredicateGrowth(count, note=count.name, assumptions=assumptions) for count in declared
    ]
    if not declared:
        own = own_predicates(structure)
        found.append(
            PredicateGrowth(own, label="R4", provenance=Provenance.R4, assumptions=assumptions)
        )
    if isinstance(structure, PiecewiseStructure):
        found.append(earlier_growth(structure))
        if structure.line is not None:
            found.append(LineGrowth(structure.line, assumptions=assumptions))
    return found


def _homogeneous_growths(structure: HomogeneousStructure) -> list[Growth]:
    found: list[Growth] = [_region_growth(structure, Provenance.R4)]
    if structure.n_level_crossings is not None:
        line = LineCount(n_breakpoints=0, n_level_crossings=structure.n_level_crossings)
        assumptions = structure.assumptions
        found.append(LineGrowth(line, n_regions=structure.n_regions, assumptions=assumptions))
    return found


def _region_growth(structure: HomogeneousStructure, provenance: Provenance) -> PredicateGrowth:
    """Count region by region; see `lm:approximation-peice-wise-struture`."""
    single = PredicateCount(
        n_parameters=structure.n_parameters,
        n_predicates=1,
        chain_length=structure.chain_length,
        chain_degree=structure.chain_degree,
        function_degree=structure.function_degree,
    )
    return PredicateGrowth(
        single,
        n_regions=structure.n_regions,
        label="lm:approximation-peice-wise-struture",
        provenance=provenance,
        note="region by region",
        assumptions=structure.assumptions,
    )


def _closed_forms(structure: Structure) -> list[PdimBound]:
    if isinstance(structure, HomogeneousStructure):
        printed = structure.as_printed
        return [_region_growth(printed, Provenance.AS_PRINTED).pdim_bound()] if printed else []
    if structure.n_predicates == 0:
        return []
    if structure.chain_length == 0:
        return [warren_form(structure)]
    piecewise = isinstance(structure, PiecewiseStructure)
    label = "thm:piecewise-pfaffian" if piecewise else "thm:pfaffian-gj-algorithm"
    forms = [
        closed_form(structure, label=label),
        closed_form(
            structure,
            label="lm:pfaffian-algorithm",
            keep_dropped_term=True,
            note="before a term is dropped",
        ),
    ]
    if isinstance(structure, PiecewiseStructure) and structure.as_printed is not None:
        forms.append(
            closed_form(structure.as_printed, label=label, provenance=Provenance.AS_PRINTED)
        )
    return forms


def _check_proved(structure: Any) -> None:
    if not isinstance(structure, (PiecewiseStructure, GJStructure, HomogeneousStructure)):
        raise InputError(
            "a worst-case bound needs counts that are proved for every instance: a "
            "PiecewiseStructure, GJStructure or HomogeneousStructure, such as "
            f"family.structure(n=...); got {type(structure).__name__}. Counts observed on a trace "
            "or a sample hold for those instances only; they may enter results about the sample, "
            "such as certune.pfaffian.bounds.generalization.observed_excess_bound."
        )
