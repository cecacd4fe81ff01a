"""The guarantee of a tuned setting: every bound that applies, the tightest first.

All bounds share one probability of failure, so that with probability 1 - delta *all* of them hold:
a reader may pick the best one after seeing them, which would not be honest if each failed with
probability delta on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.dual import PiecewiseFunction, mean
from certune.errors import InputError, ParameterError
from certune.guarantees.bounded_mean import METHODS, exact_range, to_unit
from certune.guarantees.occam import SimpleSetting, best_simple_setting
from certune.guarantees.rademacher import (
    DEFAULT_DRAWS,
    massart_bound,
    rademacher,
    rademacher_bound,
)
from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned
from certune.guarantees.refinement import refine
from certune.guarantees.worst_case import worst_case_bounds
from certune.pfaffian.bounds.arithmetic import ball, certified, probability, upper_float
from certune.pfaffian.bounds.records import Provenance
from certune.pfaffian.structure import Structure

KINDS = ("worst-case", "rademacher", "massart", *METHODS, "occam")
_UNSEEN = "held-out instances took no part in tuning"


@dataclass(frozen=True)
class Guarantee:
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
        }

    def __str__(self) -> str:
        from certune.guarantees.words import guarantee_in_words

        return guarantee_in_words(self)


def make_guarantee(
    duals: Sequence[PiecewiseFunction],
    value: Fraction,
    upper_bound: Fraction,
    *,
    delta: float = 0.05,
    utility_range: tuple[Any, Any] = (0, 1),
    held_out: Sequence[Fraction] | None = None,
    structure: Structure | None = None,
    kinds: Iterable[str] | None = None,
    n_draws: int = DEFAULT_DRAWS,
    random_state: int | np.random.Generator = 0,
) -> Guarantee:
    """Collect every bound on the optimism of a setting that was tuned on a sample.

    Parameters
    ----------
    duals : sequence of PiecewiseFunction
        Exact utility functions of the tuning instances.
    value : Fraction
        Mean utility of the tuned setting on them.
    upper_bound : Fraction
        No setting has a larger mean utility on them.
    delta : float, default=0.05
        Probability that something in the guarantee does not hold; its parts share it equally.
    utility_range : tuple, default=(0, 1)
        Smallest and largest utility of any instance.
    held_out : sequence of Fraction, optional
        Utilities of the tuned setting on instances that took no part in tuning.
    structure : Structure, optional
        Counts that are proved for every instance.
    kinds : iterable of str, optional
        Which bounds to use, of "worst-case", "rademacher", "massart", "hoeffding",
        "empirical-bernstein", "betting" and "occam"; fewer of them share `delta`. By default
        all that apply.
    n_draws : int, default=1024
        Sign vectors for the Rademacher complexity.
    random_state : int or numpy Generator, default=0
        Source of the signs.

    Returns
    -------
    Guarantee
        All bounds, tightest first.
    """
    failure = Fraction(probability("delta", delta))
    low, high = exact_range(utility_range)
    refinement = refine(duals)
    _check_range(refinement.functions, low, high)
    tuned = Tuned(Fraction(value), len(duals), low, high)
    used, omitted = _applicable(kinds, structure, held_out)
    share = failure / (len(used) + 1)
    bounds: list[OptimismBound] = []
    simple = None
    for kind in used:
        if kind == "worst-case":
            assert structure is not None
            bounds += worst_case_bounds(tuned, structure, share)
        elif kind == "rademacher":
            complexity = rademacher(refinement, n_draws, random_state)
            bounds.append(rademacher_bound(tuned, complexity, share))
        elif kind == "massart":
            bounds.append(massart_bound(tuned, refinement, share))
        elif kind == "occam":
            simple = best_simple_setting(mean(duals), duals, (low, high), share)
        else:
            assert held_out is not None
            bounds.append(held_out_bound(tuned, held_out, kind, share))
    with certified():
        above = ball(tuned.span) * ((1 / ball(share)).log() / (2 * len(duals))).sqrt()
        best_possible = min(upper_float(ball(upper_bound) + above), float(high))
    return Guarantee(
        tuning_value=float(value),
        n_instances=len(duals),
        n_held_out=len(held_out or ()),
        bounds=tuple(sorted(bounds, key=lambda bound: bound.value)),
        best_possible=best_possible,
        delta=float(delta),
        utility_range=(float(low), float(high)),
        simple=simple,
        omitted=omitted,
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


def _applicable(
    kinds: Iterable[str] | None, structure: Structure | None, held_out: Sequence[Fraction] | None
) -> tuple[list[str], tuple[str, ...]]:
    chosen = KINDS if kinds is None else tuple(kinds)
    unknown = [kind for kind in chosen if kind not in KINDS]
    if unknown or not chosen:
        raise ParameterError(f"kinds must be some of {list(KINDS)}, got {list(chosen)}")
    missing: dict[str, str] = {}
    if structure is None and "worst-case" in chosen:
        missing["worst-case"] = "worst-case bounds need a structure that is proved for the family"
    if not held_out:
        reason = "held-out bounds need instances that took no part in tuning: pass held_out"
        missing.update((kind, reason) for kind in METHODS if kind in chosen)
    used = [kind for kind in KINDS if kind in chosen and kind not in missing]
    reasons = tuple(dict.fromkeys(missing.values()))
    if not set(used) - {"occam"}:
        raise ParameterError(
            f"no bound on the tuned setting itself is left of {list(chosen)}: add another kind"
            + "".join(f"; {reason}" for reason in reasons)
        )
    return used, reasons


def _check_range(functions: Sequence[PiecewiseFunction], low: Fraction, high: Fraction) -> None:
    for number, function in enumerate(functions):
        least = -(-function).upper_bound_exact
        if least < low or function.upper_bound_exact > high:
            raise InputError(
                f"utility function {number} is not within the range [{low}, {high}]: its bounds "
                f"are [{least}, {function.upper_bound_exact}]; pass the utility_range that holds "
                "for every instance"
            )
