"""What a tuning result says about instances that it has not seen.

The methods here join the two sides: the family and its instances from tuning, and the bounds and
estimates of :mod:`certune.guarantees`, which know numbers and functions only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from certune.dual import DualFunction, PiecewiseFunction, mean
from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.guarantees import (
    Bootstrap,
    CellCover,
    CrossValidation,
    Guarantee,
    InstancesNeeded,
    JointRefinement,
    LearningCurve,
    Selection,
    Tuned,
    best_simple_setting,
    bootstrap,
    cross_validate,
    instances_needed,
    learning_curve,
    make_guarantee,
    one_standard_error,
    rademacher,
    refine,
    smoothed_optimum,
    widest_plateau,
)
from certune.guarantees.rademacher import DEFAULT_DRAWS
from certune.pfaffian.structure import Structure
from certune.space import Segment
from certune.tuning.evaluation import Evaluation, evaluate
from certune.tuning.held_out import HeldOutEvaluation
from certune.tuning.instances import checked_instances

RULES = ("optimum", "plateau", "one-standard-error", "smoothed", "guaranteed")
# Shares of the utility range and of the domain that plateau and smoothed rules use by default.
PLATEAU_SHARE = Fraction(1, 100)
WINDOW_SHARE = Fraction(1, 20)
# Confidence at which the guaranteed rule compares settings.
SELECTION_DELTA = Fraction(1, 20)

RandomState = int | np.random.Generator


class Generalization:
    """Methods of a tuning result that look beyond its instances.

    With one free parameter, all use the exact functions of the finished instances. A line through
    a larger space was chosen by looking at the instances: functions along it say nothing about
    new ones, so that with several parameters only what needs no functions remains, or can do with
    bounds on a cover of all settings.
    """

    family: Family
    upper_bound_exact: Fraction
    evaluation: Evaluation
    instances: list[Any]

    if TYPE_CHECKING:

        @property
        def segment(self) -> Segment:
            """The line of the functions."""

        @property
        def landscape(self) -> DualFunction:
            """Mean utility along the line."""

        @property
        def duals(self) -> list[DualFunction]:
            """Utility of each finished instance along the line."""

    def evaluate(self, instances: Iterable[Any], n_jobs: int | None = 1) -> HeldOutEvaluation:
        """Run the best setting and the defaults on other instances.

        Parameters
        ----------
        instances : iterable
            Instances of the family that took no part in tuning, at least one.
        n_jobs : int or None, default=1
            Number of parallel workers, as in joblib.

        Returns
        -------
        HeldOutEvaluation
            Mean utilities, a confidence interval, the optimism, and paired comparisons with the
            defaults.
        """
        listed = checked_instances(self.family, instances)
        found = evaluate(self.family, listed, self.evaluation.params, n_jobs)
        known = set(map(self.family.instance_fingerprint, self.instances))
        return HeldOutEvaluation(
            **{name: getattr(found, name) for name in found.__dataclass_fields__},
            tuning_value_exact=self._tuned.value,
            utility_range=self.family.utility_range,
            n_known=sum(self.family.instance_fingerprint(item) in known for item in listed),
        )

    def guarantee(
        self,
        delta: float = 0.05,
        *,
        held_out: Iterable[Any] | HeldOutEvaluation | None = None,
        structure: Structure | None = None,
        kinds: Iterable[str] | None = None,
        n_draws: int = DEFAULT_DRAWS,
        random_state: RandomState = 0,
    ) -> Guarantee:
        """Return every bound on what the best setting does on new instances.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that something in the guarantee does not hold.
        held_out : iterable of instances or HeldOutEvaluation, optional
            Instances that took no part in tuning, or what `evaluate` returned for them. They give
            by far the tightest bounds.
        structure : Structure, optional
            Counts that are proved for every instance, for worst-case bounds; by default what the
            family proves for instances no larger than those tuned on.
        kinds : iterable of str, optional
            Which bounds to use, see :func:`certune.guarantees.make_guarantee`.
        n_draws : int, default=1024
            Sign vectors for the Rademacher complexity.
        random_state : int or numpy Generator, default=0
            Source of the signs.

        Returns
        -------
        Guarantee
            The bounds, tightest first; ``print`` shows them in words.
        """
        if structure is None:
            structure = self.family.structure_of(self.instances)
        duals = self._functions if self.family.proves_duals else None
        return make_guarantee(
            self._tuned,
            self.upper_bound_exact if duals is None else self.landscape.upper_bound_exact,
            duals=duals,
            cover=self._cover_sums,
            delta=delta,
            held_out=self._held_out_utilities(held_out),
            structure=structure,
            kinds=kinds,
            n_draws=n_draws,
            random_state=random_state,
        )

    def instances_needed(
        self,
        epsilon: float,
        delta: float = 0.05,
        *,
        structure: Structure | None = None,
        random_state: RandomState = 0,
    ) -> list[InstancesNeeded]:
        """Return how many instances are enough for an accuracy epsilon, by every result.

        Parameters
        ----------
        epsilon : float
            Accuracy, in units of the utility.
        delta : float, default=0.05
            Probability of failure of each answer.
        structure : Structure, optional
            As for `guarantee`.
        random_state : int or numpy Generator, default=0
            Source of randomness of the estimates.

        Returns
        -------
        list of InstancesNeeded
            Fewest first; ``is_estimate`` tells extrapolations from proved numbers.
        """
        if structure is None:
            structure = self.family.structure_of(self.instances)
        complexity, curve = None, None
        has_functions = self._functions is not None
        sums = self._refinement if has_functions else self._cover_sums
        if sums is not None:
            if self.family.proves_duals:
                complexity = rademacher(sums, random_state=random_state)
            if sums.n_functions > 1:
                curve = self.learning_curve(random_state=random_state)
        return instances_needed(
            self._tuned,
            self._utilities,
            epsilon=epsilon,
            delta=delta,
            complexity=complexity,
            structure=structure,
            curve=curve,
        )

    def cross_validate(
        self, n_folds: int | None = None, random_state: RandomState = 0
    ) -> CrossValidation:
        """Tune without each fold of the instances in turn, exactly, and evaluate on the fold.

        Parameters
        ----------
        n_folds : int, optional
            Number of folds; by default 10, or one for each instance if there are fewer.
        random_state : int or numpy Generator, default=0
            Source of the random assignment to folds.
        """
        return cross_validate(self._exact_functions, n_folds, random_state, self._run_at)

    def bootstrap(self, n_resamples: int = 1000, random_state: RandomState = 0) -> Bootstrap:
        """Tune samples drawn from the instances with replacement, exactly.

        Parameters
        ----------
        n_resamples : int, default=1000
            Number of resamples.
        random_state : int or numpy Generator, default=0
            Source of the resamples.
        """
        return bootstrap(self._refinement, n_resamples, random_state)

    def learning_curve(
        self,
        sizes: Sequence[int] | None = None,
        n_splits: int = 200,
        random_state: RandomState = 0,
    ) -> LearningCurve:
        """Tune random subsets of the instances, exactly, and evaluate on the others.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of tuning instances; by default 1, 2, 5, 10, ... up to half of them.
        n_splits : int, default=200
            Random splits for each size.
        random_state : int or numpy Generator, default=0
            Source of the splits.
        """
        return learning_curve(self._refinement, sizes, n_splits, random_state, self._run_at)

    def select(
        self, rule: str = "one-standard-error", *, epsilon: Any = None, width: Any = None
    ) -> Selection:
        """Choose a setting by another rule than the plain optimum.

        Parameters
        ----------
        rule : {"one-standard-error", "plateau", "smoothed", "guaranteed", "optimum"}
            The widest interval within one standard error of the optimum, or within `epsilon` of
            it; the best average over a window; the short number for which the tuning instances
            promise most at 95 % confidence; the plain optimum.
        epsilon : float, int or Fraction, optional
            For "plateau": how much worse than the optimum a setting may be; by default a
            hundredth of the utility range.
        width : float, int or Fraction, optional
            For "smoothed": width of the window; by default a twentieth of the domain.

        Returns
        -------
        Selection
            The setting, and the interval around it that the rule found.
        """
        chosen = self._selected(rule, epsilon, width)
        return replace(chosen, params=self.segment.at(chosen.coordinate))

    def _selected(self, rule: str, epsilon: Any, width: Any) -> Selection:
        low, high = (Fraction(end) for end in self.family.utility_range)
        duals = self._exact_functions
        landscape = mean(duals)
        if rule == "optimum":
            return widest_plateau(landscape, rule=rule)
        if rule == "plateau":
            slack = PLATEAU_SHARE * (high - low) if epsilon is None else epsilon
            return widest_plateau(landscape, slack)
        if rule == "one-standard-error":
            return one_standard_error(landscape, duals)
        if rule == "smoothed":
            domain = Fraction(landscape.high) - Fraction(landscape.low)
            window = WINDOW_SHARE * domain if width is None else width
            return smoothed_optimum(landscape, window)
        if rule == "guaranteed":
            simple = best_simple_setting(landscape, duals, (low, high), SELECTION_DELTA)
            value, t = landscape.enclose_exact(simple.coordinate)[0], simple.coordinate
            return Selection(rule, t, (t, t), value, Fraction(0))
        raise ParameterError(f"rule must be one of {list(RULES)}, got {rule!r}")

    @property
    def _cover_sums(self) -> CellCover | None:
        """Bounds of the utilities on a cover of the settings, if there are such."""
        return None

    @property
    def _functions(self) -> list[PiecewiseFunction] | None:
        """Exact functions over all settings, if there are such."""
        if self.family.space.n_free != 1:
            return None
        constant = [dual for dual in self.duals if isinstance(dual, PiecewiseFunction)]
        return constant if len(constant) == len(self.duals) else None

    @property
    def _exact_functions(self) -> list[PiecewiseFunction]:
        duals = self._functions
        if duals is None:
            raise ParameterError(
                "This needs piecewise constant utilities of one free parameter, which are exact "
                f"in every fold and resample; {self.family!r} has {self.family.space.n_free} free "
                "coordinates: use evaluate and guarantee with held-out instances."
            )
        return duals

    @cached_property
    def _refinement(self) -> JointRefinement:
        return refine(self._exact_functions)

    @property
    def _utilities(self) -> tuple[Fraction, ...]:
        """Utilities of the best setting on the instances that bounds are about."""
        duals = self._functions
        utilities = self.evaluation.utilities
        return utilities if duals is None else utilities[: len(duals)]

    @property
    def _tuned(self) -> Tuned:
        utilities = self._utilities
        low, high = (Fraction(end) for end in self.family.utility_range)
        mean = Fraction(sum(utilities, Fraction(0))) / len(utilities)
        return Tuned(mean, len(utilities), low, high)

    def _run_at(self, index: int, t: float) -> Fraction:
        return self.family.run_exact(self.instances[index], self.segment.at(t))

    def _held_out_utilities(
        self, held_out: Iterable[Any] | HeldOutEvaluation | None
    ) -> tuple[Fraction, ...] | None:
        if held_out is None:
            return None
        found = held_out if isinstance(held_out, HeldOutEvaluation) else self.evaluate(held_out)
        if found.n_known:
            raise InputError(
                f"{found.n_known} of the {found.n_instances} held-out instances were used for "
                "tuning, so that they prove nothing: leave them out."
            )
        if found.params != self.evaluation.params:
            raise InputError(
                f"held_out is about the setting {found.params}, this result about "
                f"{self.evaluation.params}: pass what evaluate of this result returned."
            )
        return found.utilities
