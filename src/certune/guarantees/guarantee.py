"""The guarantee of a tuned setting: every bound that applies, the tightest first.

All bounds share one probability of failure, so that with probability 1 - delta *all* of them hold:
a reader may pick the best one after seeing them, which would not be honest if each failed with
probability delta on its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.cards import Carded
from certune.dual import DualFunction, PiecewiseFunction, mean
from certune.errors import InputError, ParameterError
from certune.guarantees.bounded_mean import METHODS, to_unit
from certune.guarantees.occam import SimpleSetting, best_simple_setting
from certune.guarantees.rademacher import (
    DEFAULT_DRAWS,
    massart_bound,
    rademacher,
    rademacher_bound,
)
from certune.guarantees.randomness import RandomState
from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned, counted
from certune.guarantees.refinement import refine
from certune.guarantees.sums import CellCover, SignedSums
from certune.guarantees.surrogates import Smooth, smooth_sample
from certune.guarantees.worst_case import SurrogateClass, surrogate_bound, worst_case_bounds
from certune.pfaffian.bounds.arithmetic import ball, certified, probability, upper_float
from certune.pfaffian.bounds.records import Provenance
from certune.pfaffian.structure import Structure
from certune.scores import Score

KINDS = ("worst-case", "surrogate", "rademacher", "massart", *METHODS, "occam")
_UNSEEN = "held-out instances took no part in tuning"


@dataclass(frozen=True, repr=False)
class Guarantee(Carded):
    """What can be promised about a tuned setting on new instances.

    With probability at least ``1 - delta`` over the draw of the instances, all bounds,
    `best_possible` and the promise of `simple` hold together.

    Attributes
    ----------
    tuning_value : float
        Mean utility on the tuning instances.
    n_instances, n_held_out : int
        Number of tuning instances and of held-out instances.
    bounds : tuple of OptimismBound
        Bounds on the optimism, tightest first.
    best_possible : float
        No setting has a larger expected utility.
    delta : float
        Probability that something here does not hold.
    utility_range : tuple of float
        Smallest and largest utility that any instance can have.
    simple : SimpleSetting, optional
        Another setting, a short number, for which the tuning instances alone promise most.
    omitted : tuple of str
        Which bounds are missing, and what they need.
    notes : tuple of str
        What a reader should know about the sample.
    score : Score
        What the utility means to people; the text speaks of it, numbers of the record are
        utilities.
    """

    tuning_value: float
    n_instances: int
    n_held_out: int
    bounds: tuple[OptimismBound, ...]
    best_possible: float
    delta: float
    utility_range: tuple[float, float]
    simple: SimpleSetting | None = None
    omitted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    score: Score = Score()

    @property
    def tightest(self) -> OptimismBound:
        """The tightest bound."""
        return self.bounds[0]

    @property
    def expected_utility(self) -> float:
        """Expected utility of the tuned setting on a new instance, at least."""
        return max(self.tightest.expected_utility, self.utility_range[0])

    @property
    def optimism(self) -> float:
        """Utility on the tuning instances minus expected utility, at most."""
        return self.tightest.value

    @property
    def shortfall(self) -> float:
        """How much better in expectation any other setting can be, at most."""
        with certified():
            return max(upper_float(ball(self.best_possible) - ball(self.expected_utility)), 0.0)

    @property
    def vacuous(self) -> bool:
        """Whether every bound says no more than the range of utilities does."""
        return all(bound.vacuous for bound in self.bounds)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bounds assume, all of them together."""
        return tuple(dict.fromkeys(a for bound in self.bounds for a in bound.assumptions))

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, for JSON."""
        return {
            "tuning_value": self.tuning_value,
            "n_instances": self.n_instances,
            "n_held_out": self.n_held_out,
            "delta": self.delta,
            "expected_utility": self.expected_utility,
            "best_possible": self.best_possible,
            "shortfall": self.shortfall,
            "vacuous": self.vacuous,
            "bounds": [bound.to_dict() for bound in self.bounds],
            "simple": None if self.simple is None else self.simple.to_dict(),
            "omitted": list(self.omitted),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from certune.guarantees.words import guarantee_in_words

        return guarantee_in_words(self)


def make_guarantee(
    tuned: Tuned,
    upper_bound: Fraction,
    *,
    duals: Sequence[DualFunction] | None = None,
    cover: CellCover | None = None,
    delta: float = 0.05,
    held_out: Sequence[Fraction] | None = None,
    structure: Structure | None = None,
    kinds: Iterable[str] | None = None,
    n_draws: int = DEFAULT_DRAWS,
    random_state: RandomState = 0,
    scale: str = "linear",
    surrogate: SurrogateClass | None = None,
    notes: Sequence[str] = (),
) -> Guarantee:
    """Collect every bound on the optimism of a setting that was tuned on a sample.

    Parameters
    ----------
    tuned : Tuned
        Mean utility of the tuned setting, number of tuning instances, range of utilities.
    upper_bound : Fraction
        No setting has a larger mean utility on the tuning instances.
    duals : sequence of PiecewiseFunction or PiecewisePolynomial, optional
        Utility functions of the tuning instances, if there is one parameter. Smooth ones enter
        the Rademacher and Massart bounds through step functions with a stated error.
    cover : CellCover, optional
        Bounds of the utilities on a cover of the settings, for the Rademacher complexity where
        there are no exact functions.
    delta : float, default=0.05
        Probability that something in the guarantee does not hold; its parts share it equally.
    held_out : sequence of Fraction, optional
        Utilities of the tuned setting on instances that took no part in tuning.
    structure : Structure, optional
        Counts that are proved for every instance.
    kinds : iterable of str, optional
        Which bounds to use, of "worst-case", "surrogate", "rademacher", "massart", "hoeffding",
        "empirical-bernstein", "betting" and "occam"; fewer of them share `delta`. By default
        all that apply; if none does, the range of utilities takes their place.
    n_draws : int, default=1024
        Sign vectors for the Rademacher complexity.
    random_state : int or numpy Generator, default=0
        Source of the signs.
    scale : {"linear", "log"}, default="linear"
        On which scale settings are simple, for the Occam bound.
    surrogate : SurrogateClass, optional
        A class of surrogates of the utilities with proved counts, and their measured errors.
    notes : sequence of str
        What a reader should know about the sample; kept in the result.

    Returns
    -------
    Guarantee
        All bounds, tightest first.
    """
    failure = Fraction(probability("delta", delta))
    smooth = None if duals is None else smooth_sample(duals, (tuned.low, tuned.high))
    refinement = None if duals is None else refine(_steps(duals, smooth))
    sums: SignedSums | None = refinement or cover
    if sums is not None:
        _check_sample(tuned, sums, smooth)
    available = {
        "worst-case": structure is not None,
        "surrogate": surrogate is not None,
        "rademacher": sums is not None,
        "massart": refinement is not None,
        "occam": refinement is not None,
        **dict.fromkeys(METHODS, bool(held_out)),
    }
    used, omitted = _applicable(kinds, available)
    share = failure / (len(used) + 1)
    bounds: list[OptimismBound] = []
    if structure is not None and "worst-case" in used:
        bounds += worst_case_bounds(tuned, structure, share)
    if surrogate is not None and "surrogate" in used:
        bounds.append(surrogate_bound(tuned, surrogate, share))
    sup_error = Fraction(0) if smooth is None else smooth.mean_error
    if sums is not None and "rademacher" in used:
        middle = None if smooth is None else (tuned.low + tuned.high) / 2
        complexity = rademacher(sums, n_draws, random_state, middle)
        bounds.append(rademacher_bound(tuned, complexity, share, sup_error))
    if refinement is not None and "massart" in used:
        bounds.append(massart_bound(tuned, refinement, share, sup_error))
    if held_out:
        bounds += [held_out_bound(tuned, held_out, kind, share) for kind in METHODS if kind in used]
    simple = None
    if duals is not None and "occam" in used:
        simple = best_simple_setting(mean(duals), duals, (tuned.low, tuned.high), share, scale)
    best_possible = best_expectation(upper_bound, (tuned.low, tuned.high), tuned.n_instances, share)
    return Guarantee(
        tuning_value=float(tuned.value),
        n_instances=tuned.n_instances,
        n_held_out=len(held_out or ()),
        bounds=tuple(sorted(bounds, key=lambda bound: bound.value)) or (_range_bound(tuned),),
        best_possible=best_possible,
        delta=float(delta),
        utility_range=(float(tuned.low), float(tuned.high)),
        simple=simple,
        omitted=omitted,
        notes=tuple(notes),
    )


def best_expectation(
    upper_bound: Fraction, utility_range: tuple[Any, Any], n_instances: int, delta: Any
) -> float:
    """Return what no setting exceeds in expectation, from a bound of its mean on the instances.

    By Hoeffding's inequality for the setting that is best in expectation, which does not depend on
    the instances.

    Parameters
    ----------
    upper_bound : Fraction
        No setting has a larger mean utility on the tuning instances.
    utility_range : tuple
        Smallest and largest utility.
    n_instances : int
        Number of tuning instances.
    delta : Fraction or float
        Probability of failure.
    """
    low, high = (Fraction(end) for end in utility_range)
    with certified():
        above = ball(high - low) * ((1 / ball(Fraction(delta))).log() / (2 * n_instances)).sqrt()
        return min(upper_float(ball(upper_bound) + above), float(high))


def _steps(duals: Sequence[DualFunction], smooth: Smooth | None) -> Sequence[PiecewiseFunction]:
    constant = [dual for dual in duals if isinstance(dual, PiecewiseFunction)]
    return constant if smooth is None else smooth.steps


def _range_bound(tuned: Tuned) -> OptimismBound:
    """What is known without any evidence: no utility is below the range."""
    return tuned.bound(
        ball(tuned.value - tuned.low),
        name="utility range",
        delta=0.0,
        evidence=Evidence.WORST_CASE,
        label="G1",
        provenance=Provenance.CLASSICAL,
        formula=r"\hat u - low",
        assumptions=(),
        note="no other bound applies",
    )


def held_out_bound(
    tuned: Tuned, utilities: Sequence[Fraction], method: str, delta: Fraction
) -> OptimismBound:
    """Bound the optimism by utilities on held-out instances.

    Parameters
    ----------
    tuned : Tuned
        The setting and the range of utilities.
    utilities : sequence of Fraction
        Utilities of the setting on instances that took no part in tuning.
    method : str
        One of the keys of ``certune.guarantees.bounded_mean.METHODS``.
    delta : Fraction
        Probability of failure.
    """
    limit = METHODS[method]
    lower = limit.lower(to_unit(utilities, tuned.low, tuned.high), delta)
    with certified():
        optimism = ball(tuned.value) - (ball(tuned.low) + ball(tuned.span) * lower)
    return tuned.bound(
        optimism,
        name=limit.name,
        delta=float(delta),
        evidence=Evidence.HELD_OUT,
        label=limit.label,
        provenance=Provenance.CLASSICAL,
        formula=rf"\hat u - \bar v + [{limit.formula}]",
        assumptions=(INDEPENDENT, _UNSEEN),
        note=limit.note,
    )


_NEEDS = {
    "worst-case": "worst-case bounds need a structure that is proved for the family",
    "surrogate": "the bound through a surrogate class needs one with proved counts",
    "rademacher": "the Rademacher bound needs utility functions, or bounds on a cover",
    "massart": "the Massart and Occam bounds need utility functions of one parameter",
    "occam": "the Massart and Occam bounds need utility functions of one parameter",
    **dict.fromkeys(
        METHODS, "held-out bounds need instances that took no part in tuning: pass held_out"
    ),
}


def _applicable(
    kinds: Iterable[str] | None, available: dict[str, bool]
) -> tuple[list[str], tuple[str, ...]]:
    """Kinds that are asked for and available, and what the others need."""
    if isinstance(kinds, str):
        raise ParameterError(f"kinds must be a list of names, got {kinds!r}: pass [{kinds!r}]")
    chosen = KINDS if kinds is None else tuple(kinds)
    if not chosen or any(kind not in KINDS for kind in chosen):
        raise ParameterError(f"kinds must be some of {list(KINDS)}, got {list(chosen)}")
    used = [kind for kind in KINDS if kind in chosen and available[kind]]
    missing = [_NEEDS[kind] for kind in KINDS if kind in chosen and not available[kind]]
    if kinds is None and not available["surrogate"]:
        missing.remove(_NEEDS["surrogate"])
    reasons = tuple(dict.fromkeys(missing))
    if kinds is not None and not set(used) - {"occam"}:
        raise ParameterError(
            f"no bound on the tuned setting itself is left of {list(chosen)}: add another kind"
            + "".join(f"; {reason}" for reason in reasons)
        )
    return used, reasons


def _check_sample(tuned: Tuned, sums: SignedSums, smooth: Smooth | None) -> None:
    """Raise `InputError` unless the functions belong to the tuned sample and its range."""
    if sums.n_functions != tuned.n_instances:
        raise InputError(
            f"expected utilities of {counted(tuned.n_instances, 'tuning instance')}, got "
            f"{sums.n_functions}"
        )
    errors = [Fraction(0)] if smooth is None else [found.error for found in smooth.surrogates]
    slack = sums.rounding + math.ceil(max(errors) * sums.scale)
    lowest = int(sums.lowest.min()) + slack
    highest = int(sums.highest.max()) - slack
    if lowest < tuned.low * sums.scale or highest > tuned.high * sums.scale:
        raise InputError(
            f"utilities must lie in the range [{tuned.low}, {tuned.high}], got bounds "
            f"[{lowest / sums.scale}, {highest / sums.scale}]; state the range that holds for "
            "every instance"
        )
