"""The closed forms of the paper for the pseudo-dimension.

`thm:pfaffian-gj-algorithm` and `thm:piecewise-pfaffian` are one formula in (q, M, Delta, K, d); it
follows from `lm:km-97` and `cor:kho-91` after a term -dq is dropped.  Whether a row is "as printed"
or "corrected" depends on the counts that are put in (``docs/theory/errata.md``).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import certified, log2
from certune.pfaffian.bounds.growth import EarlierGrowth, PredicateGrowth
from certune.pfaffian.bounds.records import PdimBound, Provenance, pdim_from_ball
from certune.pfaffian.structure import GJStructure, PiecewiseStructure, PredicateCount, whole_number

FORMULA = r"d^2q^2 + 2dq\log_2(\Delta+M) + 4dq\log_2 d + 2d\log_2(\Delta K) + 16d"
ASSUMPTION = "a system of r predicates has chain length rq, on a chain defined on all of R^d"


def closed_form(
    structure: GJStructure | PiecewiseStructure,
    *,
    label: str,
    provenance: Provenance = Provenance.CORRECTED,
    keep_dropped_term: bool = False,
    note: str = "",
) -> PdimBound:
    """Evaluate d^2 q^2 + 2dq log(Delta+M) + 4dq log d + 2d log(Delta K) + 16d.

    Parameters
    ----------
    structure : GJStructure or PiecewiseStructure
        The counts, with chain_length >= 1 and at least one predicate.
    label : str
        Result to be cited: `thm:pfaffian-gj-algorithm`, `thm:piecewise-pfaffian` or
        `lm:pfaffian-algorithm`.
    provenance : Provenance
        Whether the counts are those printed or corrected ones.
    keep_dropped_term : bool, default=False
        Subtract dq, which the paper drops in the last step.
    note : str
        What distinguishes this row.

    Returns
    -------
    PdimBound
        The real value, rounded up, and its integer part.
    """
    d, q = structure.n_parameters, structure.chain_length
    count = structure.n_predicates
    if q == 0:
        raise ParameterError(
            "the closed form is not proved for chain_length=0 (polynomials); warren_form applies"
        )
    if count == 0:
        raise ParameterError("the closed form needs at least one predicate, got none")
    degree = structure.function_degree
    with certified():
        number = (
            arb(d * d * q * q)
            + 2 * d * q * log2(degree + structure.chain_degree)
            + 4 * d * q * log2(d)
            + 2 * d * log2(degree * count)
            + 16 * d
            - (d * q if keep_dropped_term else 0)
        )
    return pdim_from_ball(
        number,
        label=label,
        provenance=provenance,
        formula=FORMULA + (" - dq" if keep_dropped_term else ""),
        assumptions=(*structure.assumptions, ASSUMPTION),
        note=note,
    )


def warren_form(structure: GJStructure | PiecewiseStructure) -> PdimBound:
    """Bound the pseudo-dimension for polynomials (q = 0) by Warren's count of cells.

    From 2^N <= (4 e Delta N K / d)^d follows N <= 2d log2(8 e Delta K) (``docs/theory/errata.md``).

    Parameters
    ----------
    structure : GJStructure or PiecewiseStructure
        Counts with chain_length = 0 and at least one predicate.
    """
    whole_number("n_predicates", structure.n_predicates, 1)
    d = structure.n_parameters
    with certified():
        product = 8 * arb(1).exp() * structure.function_degree * structure.n_predicates
        number = 2 * d * log2(product)
    return pdim_from_ball(
        number,
        label="thm:pfaffian-gj-algorithm",
        provenance=Provenance.CORRECTED,
        formula=r"2d\log_2(8e\Delta K)",
        assumptions=(*structure.assumptions, "polynomials (q = 0)"),
        note="Warren, q = 0",
    )


def earlier_growth(structure: PiecewiseStructure) -> EarlierGrowth:
    """Return the count of the earlier framework for a Pfaffian structure (`thm-apx:using-stoc`).

    The dimensions of the dual classes are those of a single predicate per instance, solved.
    """
    d_boundary = _dual_dimension(structure)
    return EarlierGrowth(
        boundary_dimension=d_boundary,
        piece_dimension=0 if structure.piecewise_constant else d_boundary,
        n_boundaries=structure.n_boundaries,
        assumptions=(*structure.assumptions, ASSUMPTION),
    )


def _dual_dimension(structure: PiecewiseStructure) -> int:
    single = PredicateCount(
        n_parameters=structure.n_parameters,
        n_predicates=1,
        chain_length=structure.chain_length,
        chain_degree=structure.chain_degree,
        function_degree=structure.function_degree,
    )
    return PredicateGrowth(single).shattered_size()


def own_predicates(structure: GJStructure | PiecewiseStructure) -> PredicateCount:
    """Return the counts of a structure for R1, with the chain of the structure for each predicate.

    Constant pieces ask nothing about the parameters, so that k_F drops out.
    """
    count = structure.n_predicates
    if isinstance(structure, PiecewiseStructure) and structure.piecewise_constant:
        count = structure.n_boundaries
    fields: dict[str, Any] = {
        name: getattr(structure, name)
        for name in ("n_parameters", "chain_length", "chain_degree", "function_degree")
    }
    return PredicateCount(n_predicates=count, **fields)
