"""What a result for one parameter says about instances that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from certune.checks import is_one_of
from certune.guarantees import (
    Bootstrap,
    CrossValidation,
    LearningCurve,
    Selection,
    bootstrap,
    cross_validate,
    learning_curve,
)
from certune.guarantees.randomness import RandomState
from certune.tuning.outcome.generalization import Generalization
from certune.tuning.outcome.rules import Options, chosen_by


class LineGeneralization(Generalization):
    """Methods of a result for one parameter that look beyond its instances.

    They use exact functions; smooth ones up to their stated errors, or through step functions close
    to them.
    """

    def _cross_validation(self, n_folds: int | None, random_state: RandomState) -> CrossValidation:
        criterion = self.criterion.of(range(len(self.duals)))
        functions = self._known_functions
        return cross_validate(functions, n_folds, random_state, self._run_at, criterion)

    def _bootstrap(self, n_resamples: int, random_state: RandomState) -> Bootstrap:
        self._need_mean("bootstrap")
        return bootstrap(self._refinement, n_resamples, random_state, self._smooth)

    def _learning_curve(
        self, sizes: Sequence[int] | None, n_splits: int, random_state: RandomState
    ) -> LearningCurve:
        self._need_mean("learning_curve")
        return learning_curve(
            self._refinement, sizes, n_splits, random_state, self._run_at, self._smooth
        )

    def select(
        self, rule: str = "one-standard-error", *, epsilon: Any = None, width: Any = None
    ) -> Selection:
        """Choose a setting by another rule than the plain optimum.

        For a parameter with a logarithmic scale, widths, centres, windows and short numbers are
        those of its logarithm; the plain optimum is always `best_params`.

        Parameters
        ----------
        rule : {"one-standard-error", "plateau", "smoothed", "guaranteed", "optimum"}
            The widest interval within one standard error of the optimum, or within `epsilon` of
            it; the best average over a window; the short number for which the tuning instances
            promise most at 95% confidence; the plain optimum.
        epsilon : float, int or Fraction, optional
            For "plateau": how much worse than the optimum a setting may be; by default a
            hundredth of the utility range.
        width : float, int or Fraction, optional
            For "smoothed": width of the window; by default a twentieth of the domain. For a
            logarithmic scale, the logarithm of the ratio of its ends.

        Returns
        -------
        Selection
            The setting, and the interval around it that the rule found.
        """
        if is_one_of(rule, ("one-standard-error", "guaranteed")):
            self._need_mean(f"the rule {rule!r}")
        span = Fraction(self.family.utility_range[1]) - Fraction(self.family.utility_range[0])
        chosen = chosen_by(
            rule,
            self.landscape,
            self._known_functions,
            Options(epsilon, width, self._scale, span, Fraction(self.family.utility_range[0])),
        )
        return replace(chosen, params=self.segment.at(chosen.coordinate))
