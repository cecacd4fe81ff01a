"""Structures of graph labelling and of regularised logistic regression, for every instance.

The counts are those of `thm:pdim-graph-1` and `sec:logistic-distributional`, corrected, and the
sharper ones after a change of variables (R5) or by convexity (R6); proofs in
``docs/theory/structures.md``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import Real, positive
from certune.pfaffian.structure import (
    HomogeneousStructure,
    LineCount,
    PiecewiseStructure,
    PredicateCount,
    whole_number,
)

SOURCE = "docs/theory/structures.md"


def harmonic_labeling_structure(
    n_unlabeled: int, n_labeled: int, n_metrics: int = 1, *, tuned_weights: bool = False
) -> PiecewiseStructure:
    """Structure of harmonic labels with weights exp(-delta/sigma^2) (`thm:pdim-graph-1`, R5).

    Parameters
    ----------
    n_unlabeled, n_labeled : int
        |U| and the number of labelled points of each instance.
    n_metrics : int, default=1
        L.
    tuned_weights : bool, default=False
        Whether the weights of the metrics are tuned besides the bandwidth sigma.

    Returns
    -------
    PiecewiseStructure
        Accuracy on the unlabelled points as a function of (sigma, weights).
    """
    u = whole_number("n_unlabeled", n_unlabeled, 1)
    labeled = whole_number("n_labeled", n_labeled, 1)
    metrics = whole_number("n_metrics", n_metrics, 1)
    if tuned_weights and metrics < 2:
        raise ParameterError(f"tuned weights need n_metrics >= 2, got {metrics}")
    n = u + labeled
    edges = u * (u - 1) // 2 + u * labeled
    d = metrics if tuned_weights else 1
    reparametrised = PredicateCount(
        n_parameters=d,
        n_predicates=u,
        chain_length=edges,
        chain_degree=1,
        function_degree=u,
        name="R5: gamma = beta / sigma^2",
    )
    name = f"harmonic labelling, {u} unlabelled and {labeled} labelled points"
    assumptions = ("two classes, label 1 if f >= 1/2", "every point is linked to every other")
    if not tuned_weights:
        forests = labeled * n ** (u - 1)
        return PiecewiseStructure(
            n_piece_forms=u + 1,
            n_boundaries=u,
            chain_length=edges,
            chain_degree=1,
            function_degree=u,
            n_parameters=1,
            piecewise_constant=True,
            predicates=(reparametrised,),
            line=LineCount(n_breakpoints=u * (forests - 1)),
            name=name,
            source=SOURCE,
            assumptions=assumptions,
        )

    printed = PiecewiseStructure(
        n_piece_forms=u + 1,
        n_boundaries=u + 1,
        chain_length=n**2 + 1,
        chain_degree=5,
        function_degree=u,
        n_parameters=metrics + 1,
        piecewise_constant=True,
        name=f"{name}, {metrics} metrics with tuned weights",
        source="thm:pdim-graph-1",
        assumptions=assumptions,
    )
    return replace(
        printed,
        n_boundaries=u,
        predicates=(reparametrised,),
        as_printed=printed,
        source=SOURCE,
    )


def logistic_surrogate_structure(
    n_training: int, n_validation: int, lam: tuple[Real, Real], step: Real
) -> HomogeneousStructure:
    """Structure of the validation loss along the piecewise linear path (`thm:balcal2023`).

    Parameters
    ----------
    n_training, n_validation : int
        m and m' of `sec:logistic-distributional`.
    lam : pair of float
        Range of the penalty.
    step : float
        Step of the path: on each of ceil((high - low) / step) intervals the coefficients are
        affine in the penalty.

    Returns
    -------
    HomogeneousStructure
        The surrogate class; its distance from the true losses is a separate assumption
        (`thm:rosset1`).
    """
    m = whole_number("n_training", n_training, 1)
    m_validation = whole_number("n_validation", n_validation, 1)
    low, high = (Fraction(positive("an end of lam", end)) for end in lam)
    if not low < high:
        raise ParameterError(f"lam must be a range (low, high) with low < high, got {lam!r}")
    regions = math.ceil((high - low) / Fraction(positive("step", step)))
    name = f"logistic regression, {m_validation} validation samples, {regions} path segments"
    printed = HomogeneousStructure(
        n_regions=regions,
        chain_length=m,
        chain_degree=m,
        function_degree=m,
        n_parameters=1,
        name=name,
        source="thm:balcal2023",
    )
    return HomogeneousStructure(
        n_regions=regions,
        chain_length=m_validation,
        chain_degree=1,
        function_degree=m_validation,
        n_parameters=1,
        n_level_crossings=2,
        name=name,
        source=SOURCE,
        as_printed=printed,
        assumptions=("the utility is the log-loss of the piecewise linear path",),
    )
