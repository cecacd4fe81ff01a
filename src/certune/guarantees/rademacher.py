"""Empirical Rademacher complexity: how well can settings follow random signs on this sample?

For signs xi_i = ±1 the supremum over *all* settings, which are floats, of the signed mean of the
utilities is the maximum of one step function. On the joint refinement it is computed without error
where utilities are decided, and bounded from above where different functions are open at the same
float, which keeps the guarantee valid. Few signs are
enumerated, many are drawn; the chance of the draw is part of the bound. It is the quantity of
`lm:balcan-refined-icml` and `lm:pdim-to-rademacher`, evaluated rather than bounded.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, fmpq

from certune.errors import ParameterError
from certune.guarantees.randomness import RandomState, generator
from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned
from certune.guarantees.refinement import JointRefinement
from certune.guarantees.sums import SignedSums
from certune.guarantees.vectors import count_utility_vectors
from certune.pfaffian.bounds.arithmetic import ball, certified, upper_float
from certune.pfaffian.bounds.records import Provenance

DEFAULT_DRAWS = 1024
# From so many instances on the self-bounding form is used. The choice must not depend on the data.
SELF_BOUNDING_FROM = 30
# Rows of signs held in memory at once.
_CHUNK = 4096


@dataclass(frozen=True)
class RademacherComplexity:
    """Mean over sign vectors of sup_t (1/N) sum_i xi_i (u_i(t) - c_i).

    c_i is the middle of the range of u_i, or of all utilities; it does not change the expectation
    over signs, and makes the mean over a few draws more accurate.

    Attributes
    ----------
    lower, upper : float
        Bounds of the mean over the sign vectors that were used, rounded outward; they differ
        only by what is undecided about the utilities.
    n_draws : int
        Number of sign vectors.
    exhaustive : bool
        Whether these are all 2^N, so that the mean is the complexity itself.
    standard_error : float
        Estimated standard error of the mean if signs were drawn, else 0.
    """

    lower: float
    upper: float
    n_draws: int
    exhaustive: bool
    standard_error: float


def rademacher(
    sums: SignedSums,
    n_draws: int = DEFAULT_DRAWS,
    random_state: RandomState = 0,
    middle: Fraction | None = None,
) -> RademacherComplexity:
    """Compute the empirical Rademacher complexity of a sample of utility functions.

    O(B) a sign vector for B breakpoints in all, or for B entries of a cover.

    Parameters
    ----------
    sums : JointRefinement or CellCover
        The utility functions on their joint refinement, or bounds of them on a cover.
    n_draws : int, default=1024
        Number of sign vectors; all 2^N are used if they are not more than this.
    random_state : int or numpy Generator, default=0
        Source of the signs.
    middle : Fraction, optional
        Centre c of all utilities, for surrogates, whose own centres are not those of the
        utilities; by default that of each function.
    """
    n, wanted = sums.n_functions, _count(n_draws)
    exhaustive = n < 63 and 2**n <= wanted
    total = 2**n if exhaustive else wanted
    rng = generator(random_state)
    doubled_middles, rounding = sums.doubled_middles, sums.rounding
    if middle is not None:
        doubled_middles = np.full(n, math.floor(2 * middle * sums.scale))
        rounding = max(rounding, int((2 * middle * sums.scale).denominator > 1))
    # A rounded middle depends on the scale, hence on all instances; the true one is this close.
    slack = 2 * n * rounding
    lower_sum, upper_sum, doubles = 0, 0, []
    for start in range(0, total, _CHUNK):
        rows = min(_CHUNK, total - start)
        signs = _all_signs(n, start, rows) if exhaustive else _random_signs(rng, rows, n)
        lower, upper = sums.signed_suprema(signs)
        shifts = signs.astype(np.int64) @ doubled_middles
        lower_sum += int((2 * lower - shifts - slack).sum(dtype=object))
        upper_sum += int((2 * upper - shifts + slack).sum(dtype=object))
        doubles.append((2 * upper - shifts) / (2.0 * sums.scale * n))
    bottom = 2 * sums.scale * n * total
    spread = 0.0 if exhaustive else float(np.concatenate(doubles).std(ddof=1)) / total**0.5
    with certified():
        return RademacherComplexity(
            lower=-upper_float(arb(fmpq(-lower_sum, bottom))),
            upper=upper_float(arb(fmpq(upper_sum, bottom))),
            n_draws=total,
            exhaustive=exhaustive,
            standard_error=spread,
        )


def _count(n_draws: Any) -> int:
    try:
        count = operator.index(n_draws)
    except TypeError:
        count = 0
    if count < 2:
        raise ParameterError(f"n_draws must be a whole number >= 2, got {n_draws!r}")
    return count


def _all_signs(n: int, start: int, rows: int) -> npt.NDArray[np.int8]:
    bits = (np.arange(start, start + rows)[:, None] >> np.arange(n)) & 1
    return (2 * bits - 1).astype(np.int8)


def _random_signs(rng: np.random.Generator, rows: int, n: int) -> npt.NDArray[np.int8]:
    return 2 * rng.integers(0, 2, size=(rows, n), dtype=np.int8) - 1


def rademacher_bound(
    tuned: Tuned, complexity: RademacherComplexity, delta: Any, sup_error: Any = 0
) -> OptimismBound:
    """Bound the optimism by the empirical Rademacher complexity.

    Parameters
    ----------
    tuned : Tuned
        The setting and the range of utilities.
    complexity : RademacherComplexity
        Of the same instances.
    delta : Fraction
        Probability of failure, the draw of the signs included.
    sup_error : float or Fraction, default=0
        If the functions are surrogates: the mean over instances of the largest difference of a
        utility from its surrogate (`lm:balcan-refined-icml`).
    """
    n_draws = None if complexity.exhaustive else complexity.n_draws
    through = bool(sup_error)
    with certified():
        upper = arb(max(complexity.upper, 0.0)) + ball(sup_error)
    optimism, formula = optimism_from_complexity(tuned, upper, delta, n_draws)
    return tuned.bound(
        optimism,
        name="surrogate Rademacher" if through else "empirical Rademacher",
        delta=float(delta),
        evidence=Evidence.TUNING,
        label="lm:balcan-refined-icml" if through else "G3",
        provenance=Provenance.CLASSICAL,
        formula=formula + (r",\ \hat R = \hat R_{surrogate} + \xi" if through else ""),
        assumptions=(INDEPENDENT,),
        note=("all sign vectors" if n_draws is None else f"{n_draws} random sign vectors")
        + _within(sup_error),
    )


def _within(sup_error: Any) -> str:
    return f" of steps within {float(sup_error):.2g}" if sup_error else ""


def massart_bound(
    tuned: Tuned, refinement: JointRefinement, delta: Any, sup_error: Any = 0
) -> OptimismBound:
    """Bound the optimism by the number of utility vectors and the ranges of the utilities.

    Parameters
    ----------
    tuned : Tuned
        The setting and the range of utilities.
    refinement : JointRefinement
        The utility functions of the tuning instances.
    delta : Fraction
        Probability of failure.
    sup_error : float or Fraction, default=0
        As for `rademacher_bound`.
    """
    n, n_vectors = tuned.n_instances, count_utility_vectors(refinement)
    spans = (refinement.highest - refinement.lowest).tolist()
    with certified():
        mean_square = arb(fmpq(sum(h * h for h in spans), n * refinement.scale**2))
        upper = (mean_square * arb(n_vectors).log() / (2 * n)).sqrt() + ball(sup_error)
    optimism, formula = optimism_from_complexity(tuned, upper, delta, None)
    return tuned.bound(
        optimism,
        name="surrogate Massart" if sup_error else "Massart",
        delta=float(delta),
        evidence=Evidence.TUNING,
        label="G4",
        provenance=Provenance.R7,
        formula=formula
        + r",\ \hat R = \tfrac{h}{2} \sqrt{2 \ln \hat M / N}"
        + (r" + \xi" if sup_error else ""),
        assumptions=(INDEPENDENT,),
        note=(f"{n_vectors} utility vectors" if n_vectors < 10**9 else "over 10^9 utility vectors")
        + _within(sup_error),
    )


def optimism_from_complexity(
    tuned: Tuned, complexity: Any, delta: Any, n_draws: int | None
) -> tuple[Any, str]:
    """Bound the optimism by an empirical complexity, and the formula (G3).

    Few instances: one application of McDiarmid's inequality to everything at once. Many: the
    complexity is self-bounding, so that it is close to its expectation where it is small.
    """
    n, span = tuned.n_instances, ball(tuned.span)
    with certified():
        if n < SELF_BOUNDING_FROM:
            factor = arb(9) if n_draws is None else 9 + arb(4) / n_draws
            confidence = span * (factor * (1 / ball(delta)).log() / (2 * n)).sqrt()
            draws = "" if n_draws is None else r" + 4/K"
            formula = rf"2 \hat R + H \sqrt{{(9{draws}) \ln(1/\delta) / (2N)}}"
            return 2 * complexity + confidence, formula
        parts = 2 if n_draws is None else 3
        logarithm = (parts / ball(delta)).log()
        drawn = ""
        if n_draws is not None:
            complexity = complexity + span * (logarithm / (2 * n_draws * arb(n))).sqrt()
            drawn = r" + H \sqrt{x / (2KN)}"
        root = (logarithm / 2).sqrt() + (logarithm / 2 + 2 * n * complexity / span).sqrt()
        optimism = span * root**2 / n + span * (logarithm / (2 * n)).sqrt()
    formula = (
        r"\tfrac{H}{N} (\sqrt{x/2} + \sqrt{x/2 + 2N(\hat R"
        + drawn
        + rf")/H}})^2 + H \sqrt{{x / (2N)}},\ x = \ln({parts}/\delta)"
    )
    return optimism, formula
