"""How many pieces can Pfaffian equations cut out?  Component, intersection and cell counts.

These are the counts under all bounds: solutions of a square system (`thm:pfaffian-intersections`),
components of a solution set (`lm:kho-91`, `cor:kho-91`), and the passage from components to the
VC-dimension (`lm:km-97`).  Proofs of the corrected forms: ``docs/theory/errata.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flint import arb

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import certified, log2
from certune.pfaffian.bounds.records import (
    Bound,
    PdimBound,
    Provenance,
    bound_from_ball,
    pdim_from_ball,
)
from certune.pfaffian.structure import whole_number

SMOOTH = "the chain is defined on all of R^d and the system is non-singular"


def component_ball(
    n_equations: int,
    n_parameters: int,
    chain_length: int,
    chain_degree: int,
    function_degree: int,
) -> Any:
    """Corrected `lm:kho-91` as a ball: 2^(q(q-1)/2) D^r S^(d-r) ((d-r+1)S - (d-r))^q."""
    r, d, q = n_equations, n_parameters, chain_length
    if r == 0:
        return arb(1)
    s = r * (function_degree - 1) + (d * chain_degree if q else 0) + 1
    with certified():
        bracket = arb((d - r + 1) * s - (d - r)) ** q
        return (
            arb(2) ** (q * (q - 1) // 2) * arb(function_degree) ** r * arb(s) ** (d - r) * bracket
        )


def khovanskii_components(
    n_equations: int,
    n_parameters: int,
    chain_length: int,
    chain_degree: int,
    function_degree: int,
) -> Bound:
    """Bound the components of a non-singular Pfaffian solution set (`lm:kho-91`, corrected).

    Parameters
    ----------
    n_equations, n_parameters : int
        r <= d.
    chain_length, chain_degree : int
        q and M of the chain of the whole system.
    function_degree : int
        Largest degree Delta of an equation.

    Returns
    -------
    Bound
        An astronomical number as a rule; see its ``log2``.
    """
    _check_system(n_equations, n_parameters, chain_length, chain_degree, function_degree)
    number = component_ball(n_equations, n_parameters, chain_length, chain_degree, function_degree)
    return bound_from_ball(
        number,
        label="lm:kho-91",
        provenance=Provenance.CORRECTED,
        formula=r"2^{q(q-1)/2} \Delta^r S^{d-r} [(d-r+1)S-(d-r)]^q,\ S = r(\Delta-1)+dM+1",
        assumptions=(SMOOTH,),
    )


def khovanskii_components_as_printed(
    n_equations: int,
    n_parameters: int,
    chain_length: int,
    chain_degree: int,
    function_degree: int,
) -> int:
    """Value of the formula printed as `lm:kho-91`: not a bound, it can be negative.

    Parameters are those of :func:`khovanskii_components`.
    """
    _check_system(n_equations, n_parameters, chain_length, chain_degree, function_degree)
    r, d, q = n_equations, n_parameters, chain_length
    s = r * (function_degree - 1) + d * chain_degree + 1
    bracket = (r - d + 1) * s - (r - d)
    return int(2 ** (q * (q - 1)) * function_degree**d * s ** (d - r) * bracket**q)


def corollary_components(
    n_parameters: int, chain_length: int, chain_degree: int, function_degree: int
) -> Bound:
    """Bound the components of all systems of at most d predicates at once (`cor:kho-91`).

    Parameters
    ----------
    n_parameters : int
        d.
    chain_length, chain_degree, function_degree : int
        q >= 1, M and Delta of a single predicate; r predicates have a chain of length r q.
    """
    if chain_length == 0:
        raise ParameterError(
            "cor:kho-91 does not hold for chain_length=0 (polynomials); use warren_cells"
        )
    _check_system(0, n_parameters, chain_length, chain_degree, function_degree)
    return bound_from_ball(
        _corollary_ball(n_parameters, chain_length, chain_degree, function_degree),
        label="cor:kho-91",
        provenance=Provenance.CORRECTED,
        formula=r"2^{dq(dq-1)/2} \Delta^d [d^2(\Delta+M)]^{dq}",
        assumptions=(SMOOTH, "a system of r predicates has chain length rq, q >= 1"),
    )


def _corollary_ball(d: int, q: int, chain_degree: int, function_degree: int) -> Any:
    with certified():
        power = arb(d**2 * (function_degree + chain_degree)) ** (d * q)
        return arb(2) ** (d * q * (d * q - 1) // 2) * arb(function_degree) ** d * power


def intersection_count(degrees: Sequence[int], chain_length: int, chain_degree: int) -> Bound:
    """Bound the non-degenerate solutions of n equations in n unknowns.

    The result is `thm:pfaffian-intersections`.

    Parameters
    ----------
    degrees : sequence of int
        Degree of each equation; as many as unknowns.
    chain_length, chain_degree : int
        q and M of the common chain.
    """
    if not degrees:
        raise ParameterError("degrees must name the degree of each equation, got none")
    for degree in degrees:
        whole_number("a degree", degree, 1)
    q = whole_number("chain_length", chain_length, 0)
    n = len(degrees)
    base = min(q, n) * whole_number("chain_degree", chain_degree, 0) + sum(degrees) - n + 1
    with certified():
        number = arb(2) ** (q * (q - 1) // 2) * prod(degrees) * arb(base) ** q
    return bound_from_ball(
        number,
        label="thm:pfaffian-intersections",
        provenance=Provenance.CLASSICAL,
        formula=r"2^{q(q-1)/2} d_1 \cdots d_n (\min\{q,n\}M + d_1 + \dots + d_n - n + 1)^q",
        assumptions=("the chain is defined on all of R^n",),
    )


def warren_cells(n_functions: int, n_parameters: int, function_degree: int) -> Bound:
    """Bound the cells of polynomials, the case q = 0: Warren's (4 e Delta N / d)^d.

    Parameters
    ----------
    n_functions : int
        N >= d polynomials.
    n_parameters, function_degree : int
        d and Delta.
    """
    whole_number("n_functions", n_functions, whole_number("n_parameters", n_parameters, 1))
    whole_number("function_degree", function_degree, 1)
    with certified():
        number = (4 * arb(1).exp() * function_degree * n_functions / n_parameters) ** n_parameters
    return bound_from_ball(
        number,
        label="lm:cc-solution-set-cc",
        provenance=Provenance.CLASSICAL,
        formula=r"(4e\Delta N/d)^d",
        assumptions=("polynomials, N >= d (Warren 1968)",),
    )


def vc_from_components(components: Bound, n_predicates: int, n_parameters: int) -> PdimBound:
    """Bound the VC-dimension from a solution set components bound (`lm:km-97`).

    Parameters
    ----------
    components : Bound
        B, for every system of at most d predicates.
    n_predicates, n_parameters : int
        K and d.
    """
    whole_number("n_predicates", n_predicates, 1)
    whole_number("n_parameters", n_parameters, 1)
    with certified():
        number = 2 * arb(components.log2) + n_parameters * (16 + 2 * log2(n_predicates))
    return pdim_from_ball(
        number,
        label="lm:km-97",
        provenance=components.provenance,
        formula=r"2 \log_2 B + (16 + 2 \log_2 K) d",
        assumptions=components.assumptions,
    )


def cells(n_functions: int, weights: Sequence[Any]) -> Any:
    """Sum of C(n, r) * weights[r] as a ball: the cells of n surfaces (`lm:cc-solution-set-cc`)."""
    total, binomial = arb(0), arb(1)
    with certified():
        for r, weight in enumerate(weights):
            total += binomial * weight
            binomial = binomial * (n_functions - r) / (r + 1)
    return total


def _check_system(r: int, d: int, q: int, chain_degree: int, function_degree: int) -> None:
    whole_number("n_parameters", d, 1)
    whole_number("n_equations", r, 0)
    if r > d:
        raise ParameterError(f"n_equations must not exceed n_parameters, got {r} > {d}")
    whole_number("chain_length", q, 0)
    whole_number("chain_degree", chain_degree, 1 if q else 0)
    whole_number("function_degree", function_degree, 1)
