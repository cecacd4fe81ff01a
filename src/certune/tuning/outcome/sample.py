"""The sample behind a tuning result, as guarantees need it.

Utility functions of the finished instances or step functions close to them, utilities of settings,
fingerprints of what was used, and notes on what a reader should know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from certune.aggregates import Criterion
from certune.dual import DualFunction, PiecewiseFunction, mean
from certune.dual.integers import rounded_up
from certune.errors import ParameterError
from certune.families.base import Family
from certune.guarantees import (
    CellCover,
    JointRefinement,
    RademacherComplexity,
    Smooth,
    Tuned,
    rademacher,
    refine,
    smooth_sample,
)
from certune.guarantees.randomness import RandomState
from certune.guarantees.shared_points import decided_at_shared_points
from certune.space import LogReal, Segment
from certune.tuning.outcome.evaluation import Evaluation, mean_of


class TunedSample:
    """What a tuning result knows about its instances; part of every result."""

    family: Family
    upper_bound_exact: Fraction
    evaluation: Evaluation
    instances: list[Any]

    if TYPE_CHECKING:

        @property
        def criterion(self) -> Criterion:
            """What was maximised."""

        @property
        def segment(self) -> Segment:
            """The line of the functions."""

        @property
        def landscape(self) -> DualFunction:
            """Mean utility along the line."""

        @property
        def duals(self) -> list[DualFunction]:
            """Utility of each finished instance along the line."""

        @property
        def best_region(self) -> list[Any]:
            """Where the mean utility is at its maximum."""

    @property
    def _scale(self) -> str:
        """Whether the coordinate of the segment is a parameter with a logarithmic scale."""
        free = {item.name: item for item in self.family.space.parameters}
        return "log" if isinstance(free.get(self.segment.name), LogReal) else "linear"

    @property
    def _cover_sums(self) -> CellCover | None:
        """Bounds of the utilities on a cover of the settings, if there are such."""
        return None

    @property
    def _functions(self) -> list[DualFunction] | None:
        """Functions over all settings, if there are such."""
        return self.duals if self.family.space.n_free == 1 else None

    @property
    def _known_functions(self) -> list[DualFunction]:
        duals = self._functions
        if duals is None:
            raise ParameterError(
                "This needs utilities as functions of one free parameter, and "
                f"{self.family!r} has {self.family.space.n_free} free coordinates: use evaluate "
                "and guarantee with held-out instances."
            )
        return duals

    @cached_property
    def _proved_functions(self) -> list[DualFunction] | None:
        """Functions that bounds may use, decided also where several change at the same float."""
        duals = self._functions
        if duals is None or not self.family.proves_duals:
            return None
        constant = [dual for dual in duals if isinstance(dual, PiecewiseFunction)]
        if len(constant) < len(duals):
            return duals
        return [*decided_at_shared_points(constant, self._run_at)]

    @cached_property
    def _smooth(self) -> Smooth | None:
        low, high = (Fraction(end) for end in self.family.utility_range)
        return smooth_sample(self._known_functions, (low, high))

    @cached_property
    def _refinement(self) -> JointRefinement:
        smooth, duals = self._smooth, self._known_functions
        constant = [dual for dual in duals if isinstance(dual, PiecewiseFunction)]
        return refine(constant if smooth is None else smooth.steps)

    def _complexity(self, random_state: RandomState) -> RademacherComplexity:
        found = rademacher(self._refinement, random_state=random_state)
        error = Fraction(0) if self._smooth is None else self._smooth.mean_error
        return replace(found, upper=rounded_up(Fraction(found.upper) + error))

    def _setting(self, params: Any) -> dict[str, Any]:
        """Return a checked setting, by default the best one."""
        is_best = isinstance(params, Mapping) and params == self.evaluation.params
        if params is None or is_best:
            return dict(self.evaluation.params)
        setting = dict(self.family.space.validate(params))
        if self.family.space.n_free == 1:
            name = self.segment.name
            value = setting.get(name, next(iter(setting.values())))
            t = value[1] if isinstance(value, tuple) else value
            if not self.segment.low <= t <= self.segment.high or self.segment.at(t) != setting:
                raise ParameterError(
                    f"params must be a setting of the line that was tuned, got {params!r}: pass "
                    "such as select(...).params"
                )
        return setting

    @property
    def _tuned(self) -> Tuned:
        """The best setting."""
        return self._tuned_at(dict(self.evaluation.params))

    def _utilities_at(self, setting: dict[str, Any]) -> tuple[Fraction, ...]:
        """Utilities of a setting on the instances that bounds are about."""
        duals = self._functions
        count = len(self.instances if duals is None else duals)
        if setting == self.evaluation.params:
            return self.evaluation.utilities[:count]
        return tuple(self.family.run_exact(item, setting) for item in self.instances[:count])

    def _value_at(self, setting: dict[str, Any]) -> Fraction:
        """What was maximised, at a setting, over the instances that bounds are about."""
        utilities = self._utilities_at(setting)
        return self.criterion.of(range(len(utilities))).value(utilities)

    @cached_property
    def _mean_landscape(self) -> DualFunction:
        """Mean utility along the line, whatever was maximised."""
        return self.landscape if self.criterion.is_plain else mean(self.duals)

    @property
    def _mean_bound(self) -> Fraction:
        """No setting has a larger mean utility over the instances, whatever was maximised."""
        if self._proved_functions is not None:
            return self._mean_landscape.upper_bound_exact
        if self.criterion.is_plain:
            return self.upper_bound_exact
        return Fraction(self.family.utility_range[1])

    def _need_mean(self, what: str) -> None:
        """Raise `ParameterError` for what is known of the mean without weights only."""
        if not self.criterion.is_plain:
            raise ParameterError(
                f"{what} is about the mean utility, and this result has maximised the "
                f"{self.criterion.words('utility')}: use cross_validate, or evaluate and guarantee "
                "with held-out instances."
            )

    def _tuned_at(self, setting: dict[str, Any]) -> Tuned:
        utilities = self._lowered(self._utilities_at(setting))
        low, high = (Fraction(end) for end in self.family.utility_range)
        return Tuned(mean_of(utilities), len(utilities), low, high)

    def _lowered(self, utilities: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Lower ends of utilities that are known up to the tolerance of the family."""
        error, low = Fraction(self.family.tolerance), Fraction(self.family.utility_range[0])
        return (
            tuple(max(utility - error, low) for utility in utilities)
            if error
            else (tuple(utilities))
        )

    def _run_at(self, index: int, t: float) -> Fraction:
        return self.family.run_exact(self.instances[index], self.segment.at(t))

    @cached_property
    def _fingerprints(self) -> frozenset[str]:
        return frozenset(map(self.family.instance_fingerprint, self.instances))

    @property
    def _notes(self) -> tuple[str, ...]:
        """What readers of a guarantee should know about the tuning instances."""
        notes = []
        duals = self._functions
        if duals is not None and len(duals) < len(self.instances):
            notes.append(
                f"tuning ended early: only the {len(duals)} finished of {len(self.instances)} "
                "instances count"
            )
        if not self.criterion.is_plain:
            notes.append(
                f"tuning has maximised the {self.criterion.words('utility')}; these bounds are "
                "about the expected utility of the setting, in which all instances count the same"
            )
        if not self.family.proves_duals:
            notes.append(
                "the utility functions are not proved, so that no bound uses them; what is "
                "estimated from them is as good as they are"
            )
        return tuple(notes)
