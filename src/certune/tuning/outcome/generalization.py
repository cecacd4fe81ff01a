"""What a tuning result says about instances that it has not seen.

The methods here join the two sides: the family and its instances from tuning, and the bounds and
estimates of :mod:`certune.guarantees`, which know numbers and functions only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from certune.aggregates import Criterion
from certune.errors import InputError
from certune.guarantees import (
    Bootstrap,
    CandidateBootstrap,
    CrossValidation,
    Guarantee,
    InstancesNeeded,
    LearningCurve,
    Selection,
    SignedSums,
    instances_needed,
    make_guarantee,
    rademacher,
)
from certune.guarantees.rademacher import DEFAULT_DRAWS
from certune.guarantees.randomness import RandomState
from certune.pfaffian.structure import Structure
from certune.stages import stage
from certune.tuning.instances import checked_instances
from certune.tuning.outcome.evaluation import evaluate
from certune.tuning.outcome.held_out import HeldOutEvaluation, check_unseen
from certune.tuning.outcome.sample import TunedSample
from certune.tuning.outcome.surrogate import check_structure, has_surrogates, surrogate_class
from certune.tuning.space.box_selection import BoxSelection


class Generalization(TunedSample, ABC):
    """Methods of every tuning result that look beyond its instances.

    With one free parameter, all use the exact functions of the finished instances
    (`LineGeneralization`). A line through a larger space was chosen by looking at the instances:
    functions along it say nothing about new ones, so that with several parameters only what needs
    no functions remains, or can do with bounds on a cover of all settings (`SpaceGeneralization`).
    """

    @stage("judging on other instances")
    def evaluate(
        self,
        instances: Iterable[Any],
        n_jobs: int | None = 1,
        *,
        params: Any = None,
        independent: bool = False,
    ) -> HeldOutEvaluation:
        """Run the best setting, or another one, and the defaults on other instances.

        Parameters
        ----------
        instances : iterable
            Instances of the family that took no part in tuning, at least one.
        n_jobs : int or None, default=1
            Number of parallel workers, as in joblib.
        params : mapping or float, optional
            Another setting that was chosen without these instances, such as
            ``result.select(...).params``; by default the best one.
        independent : bool, default=False
            States that the instances are an independent draw from the distribution of the tuning
            instances even though some coincide with those; only a distribution that repeats
            instances makes such draws.

        Returns
        -------
        HeldOutEvaluation
            Mean utilities, or what else was maximised, a confidence interval, the optimism, and
            paired comparisons with the defaults. All instances count the same there.
        """
        listed = checked_instances(self.family, instances, "evaluation")
        setting = self._setting(params)
        found = evaluate(self.family, listed, setting, n_jobs, Criterion(self.criterion.aggregate))
        prints = [self.family.instance_fingerprint(item) for item in listed]
        return HeldOutEvaluation(
            **{name: getattr(found, name) for name in found.__dataclass_fields__},
            instances=tuple(listed),
            family_fingerprint=self.family.fingerprint,
            tuning_value_exact=self._value_at(setting),
            tuned_with_weights=self.criterion.weights is not None,
            utility_range=self.family.utility_range,
            tolerance=self.family.tolerance,
            n_known=sum(print_ in self._fingerprints for print_ in prints),
            n_repeated=len(prints) - len(set(prints)),
            independent=bool(independent),
        )

    @stage("computing the guarantee")
    def guarantee(
        self,
        delta: float = 0.05,
        *,
        held_out: Iterable[Any] | HeldOutEvaluation | None = None,
        structure: Structure | None = None,
        kinds: Iterable[str] | None = None,
        n_draws: int = DEFAULT_DRAWS,
        random_state: RandomState = 0,
        params: Any = None,
        independent: bool = False,
        surrogate_step: float | None = None,
    ) -> Guarantee:
        """Return every bound on what the best setting, or another one, does on new instances.

        Bounds are about the expected utility. They hold for every setting at once, so also for one
        that maximises something else than the mean; of a quantile or a tail mean on new instances
        only held-out instances tell something, see `HeldOutEvaluation.interval`.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that something in the guarantee does not hold.
        held_out : iterable of instances or HeldOutEvaluation, optional
            Instances that took no part in tuning, or what `evaluate` returned for them. They give
            by far the tightest bounds.
        structure : Structure, optional
            Counts that are proved for every instance, for worst-case bounds; by default what the
            family proves for instances no larger than those given here and in tuning.
        kinds : iterable of str, optional
            Which bounds to use, see :func:`certune.guarantees.make_guarantee`.
        n_draws : int, default=1024
            Sign vectors for the Rademacher complexity.
        random_state : int or numpy Generator, default=0
            Source of the signs.
        params : mapping or float, optional
            Another setting, such as ``result.select(...).params``; by default the best one.
        independent : bool, default=False
            As in `evaluate`.
        surrogate_step : float, optional
            For logistic regression by log-loss: step of the surrogate path of `thm:rosset1`, for
            the bound of `thm:balcal2023`. It takes longer than tuning.

        Returns
        -------
        Guarantee
            The bounds, tightest first; ``print`` shows them in words.
        """
        setting = self._setting(params)
        evidence = self._evidence(held_out, setting, independent)
        check_structure(self.family, structure)
        if structure is None:
            unseen = () if evidence is None else evidence.instances
            structure = self.family.structure_of([*self.instances, *unseen])
        duals = self._proved_functions
        tuned = self._tuned_at(setting)
        surrogate, notes = None, list(self._notes)
        if surrogate_step is None and has_surrogates(self.family, duals):
            notes.append("surrogate_step=... adds the bound of thm:balcal2023 by surrogate paths")
        elif surrogate_step is not None:
            finished = self.instances[: tuned.n_instances]
            surrogate = surrogate_class(self.family, finished, duals, surrogate_step)
        found = make_guarantee(
            tuned,
            self._mean_bound,
            duals=duals,
            cover=self._cover_sums,
            delta=delta,
            held_out=None if evidence is None else self._lowered(evidence.utilities),
            structure=structure,
            kinds=kinds,
            n_draws=n_draws,
            random_state=random_state,
            scale="linear" if duals is None else self._scale,
            surrogate=surrogate,
            notes=[*notes, *(() if evidence is None else evidence.notes)],
        )
        return replace(found, score=self.family.score)

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
        self._need_mean("instances_needed")
        check_structure(self.family, structure)
        if structure is None:
            structure = self.family.structure_of(self.instances)
        complexity, curve = None, None
        has_functions = self._functions is not None
        sums: SignedSums | None = self._refinement if has_functions else self._cover_sums
        if sums is not None:
            if self.family.proves_duals:
                complexity = (
                    self._complexity(random_state)
                    if has_functions
                    else rademacher(sums, random_state=random_state)
                )
            if sums.n_functions > 1:
                curve = self.learning_curve(random_state=random_state)
        return instances_needed(
            self._tuned,
            self._utilities_at(self.evaluation.params),
            epsilon=epsilon,
            delta=delta,
            complexity=complexity,
            structure=structure,
            curve=curve,
        )

    @stage("cross-validating")
    def cross_validate(
        self, n_folds: int | None = None, random_state: RandomState = 0
    ) -> CrossValidation:
        """Tune without each fold of the instances in turn, and evaluate on the fold.

        In every fold the same is maximised as in this result, and the estimate is the same
        aggregate of all instances, each under the setting that was tuned without it.

        With one free parameter, exactly. With several, candidates are the best setting and the
        centres of the boxes of `cover`; each fold states how much better any other setting could
        be on the instances it was chosen on.

        Parameters
        ----------
        n_folds : int, optional
            Number of folds; by default 10, or one for each instance if there are fewer.
        random_state : int or numpy Generator, default=0
            Source of the random assignment to folds.
        """
        found = self._cross_validation(n_folds, random_state)
        return replace(found, score=self.family.score)

    @abstractmethod
    def _cross_validation(
        self, n_folds: int | None, random_state: RandomState
    ) -> CrossValidation: ...

    def bootstrap(
        self, n_resamples: int = 1000, random_state: RandomState = 0
    ) -> Bootstrap | CandidateBootstrap:
        """Tune samples drawn from the instances with replacement.

        With one free parameter, exactly; with several, candidates as in `cross_validate`, the best
        setting first.

        Parameters
        ----------
        n_resamples : int, default=1000
            Number of resamples.
        random_state : int or numpy Generator, default=0
            Source of the resamples.
        """
        return self._bootstrap(n_resamples, random_state)

    @abstractmethod
    def _bootstrap(
        self, n_resamples: int, random_state: RandomState
    ) -> Bootstrap | CandidateBootstrap: ...

    @stage("computing the learning curve")
    def learning_curve(
        self,
        sizes: Sequence[int] | None = None,
        n_splits: int = 200,
        random_state: RandomState = 0,
    ) -> LearningCurve:
        """Tune random subsets of the instances, and evaluate on the others.

        With one free parameter, exactly; with several, candidates as in `cross_validate`, and
        ``tuning_bound`` of the curve states what the best of all settings could have reached.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of tuning instances; by default 1, 2, 5, 10, ... up to half of them.
        n_splits : int, default=200
            Random splits for each size.
        random_state : int or numpy Generator, default=0
            Source of the splits.
        """
        found = self._learning_curve(sizes, n_splits, random_state)
        return replace(found, score=self.family.score)

    @abstractmethod
    def _learning_curve(
        self, sizes: Sequence[int] | None, n_splits: int, random_state: RandomState
    ) -> LearningCurve: ...

    @abstractmethod
    def select(
        self, rule: str = "one-standard-error", *, epsilon: Any = None
    ) -> Selection | BoxSelection:
        """Choose a setting by another rule than the plain optimum; rules depend on the space."""

    def _evidence(
        self,
        held_out: Iterable[Any] | HeldOutEvaluation | None,
        setting: dict[str, Any],
        independent: bool,
    ) -> HeldOutEvaluation | None:
        """Return an evaluation that is about this setting and unseen instances."""
        if held_out is None:
            return None
        if isinstance(held_out, HeldOutEvaluation):
            if self.family.fingerprint_doubts:
                raise InputError(
                    f"whether held_out was made with {self.family!r} as it is now cannot be told: "
                    f"{'; '.join(self.family.fingerprint_doubts)}. Pass the instances instead of "
                    "their evaluation."
                )
            if held_out.family_fingerprint != self.family.fingerprint:
                raise InputError(
                    f"held_out was made with another family than {self.family!r}, or with another "
                    "value of something that its functions use: pass what evaluate of this result "
                    "returned, or the instances."
                )
            if held_out.params != setting:
                raise InputError(
                    f"held_out is about the setting {held_out.params}, this guarantee about "
                    f"{setting}: pass what evaluate of this result returned."
                )
            prints = map(self.family.instance_fingerprint, held_out.instances)
            n_known = sum(print_ in self._fingerprints for print_ in prints)
            stated = held_out.independent or independent
            held_out = replace(held_out, n_known=n_known, independent=stated)
        else:
            held_out = self.evaluate(held_out, params=setting, independent=independent)
        check_unseen(held_out.n_known, held_out.n_instances, held_out.independent)
        return held_out
