"""What a result for several parameters says about instances that it has not seen.

There are no exact functions of several parameters; a cover of all settings by boxes, with bounds of
every utility on each, takes their place.  What follows is stated with the bounds that it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certune.box import Box
from certune.dual.integers import as_fraction
from certune.errors import ParameterError
from certune.families.base import Family
from certune.guarantees import (
    CandidateBootstrap,
    Candidates,
    CellCover,
    CrossValidation,
    LearningCurve,
    standard_error,
)
from certune.guarantees.randomness import RandomState
from certune.pfaffian.structure import whole_number
from certune.space import LogReal, Simplex
from certune.tuning.outcome.generalization import Generalization
from certune.tuning.outcome.rules import PLATEAU_SHARE
from certune.tuning.space.box_selection import BoxSelection
from certune.tuning.space.settings_cover import SettingsCover, cover_settings

RULES = ("optimum", "plateau", "one-standard-error")
# Boxes of the cover that guarantees and estimates use, unless there is a finer one.
N_CELLS = 256
# Denominator of standard errors, which are rounded down.
GRID = 2**40
# Boxes around the best setting that are tried as plateaus, each half as wide as the one before.
MOST_HALVINGS = 24


class SpaceGeneralization(Generalization):
    """Methods of a result for several parameters that look beyond its instances."""

    def cover(self, n_cells: int = N_CELLS) -> SettingsCover:
        """Cover all settings by boxes with bounds of the utility of every instance.

        Guarantees and estimates use the finest cover that was asked for.

        Parameters
        ----------
        n_cells : int, default=256
            Number of boxes, at least; fewer only if all is known.

        Returns
        -------
        SettingsCover
            Boxes, bounds, and a setting of each box with its utilities.

        Raises
        ------
        ParameterError
            If the family has no bounds on boxes.
        """
        count = whole_number("n_cells", n_cells, 1)
        found: SettingsCover | None = self.__dict__.get("_finest_cover")
        if found is None:
            if not self.family.bounds_boxes:
                raise ParameterError(
                    f"{self.family!r} has no bounds on boxes of parameters: use evaluate and "
                    "guarantee with held-out instances."
                )
            found = cover_settings(self.family, self.instances, count)
        elif found.n_cells < count:
            found = found.refined(count)
        self.__dict__["_finest_cover"] = found
        return found

    @property
    def _finest_cover(self) -> SettingsCover:
        found: SettingsCover | None = self.__dict__.get("_finest_cover")
        return self.cover() if found is None else found

    @property
    def _cover_sums(self) -> CellCover | None:
        proved = self.family.bounds_boxes and self.family.proves_duals
        return self._finest_cover.sums if proved else None

    @property
    def _mean_bound(self) -> Fraction:
        """No setting has a larger mean utility over the instances, whatever was maximised."""
        if self.criterion.is_plain or self._cover_sums is None:
            return super()._mean_bound
        rows = self._finest_cover.upper
        return Fraction(max(sum(row) for row in rows)) / len(self.instances)

    @property
    def _candidates(self) -> Candidates:
        """The centres of all boxes, and the best setting before them."""
        cover = self._finest_cover
        best = np.array([self.evaluation.utilities], dtype=object)
        settings = [dict(self.evaluation.params), *cover.settings]
        return Candidates(settings, np.concatenate([best, cover.utilities]), cover.upper)

    def _cross_validation(self, n_folds: int | None, random_state: RandomState) -> CrossValidation:
        return self._candidates.cross_validate(n_folds, random_state, self.criterion)

    def _bootstrap(self, n_resamples: int, random_state: RandomState) -> CandidateBootstrap:
        self._need_mean("bootstrap")
        return self._candidates.bootstrap(n_resamples, random_state)

    def _learning_curve(
        self, sizes: Sequence[int] | None, n_splits: int, random_state: RandomState
    ) -> LearningCurve:
        self._need_mean("learning_curve")
        return self._candidates.learning_curve(sizes, n_splits, random_state)

    def select(self, rule: str = "one-standard-error", *, epsilon: Any = None) -> BoxSelection:
        """Choose a setting by another rule than the plain optimum.

        Parameters
        ----------
        rule : {"one-standard-error", "plateau", "optimum"}
            The centre of the largest box, among those of `cover` and boxes around the best
            setting, on which the mean utility, or what else was maximised, is proved to stay
            within one standard error, or within `epsilon`, of the best value; the best setting
            itself.
        epsilon : float, int or Fraction, optional
            For "plateau": how much worse than the best setting a setting may be; by default a
            hundredth of the utility range.

        Returns
        -------
        BoxSelection
            The setting, and the box around it that the rule found.
        """
        if rule not in RULES:
            raise ParameterError(
                f"rule must be one of {list(RULES)} with several parameters, got {rule!r}"
            )
        if epsilon is not None and rule != "plateau":
            raise ParameterError(f"epsilon is an option of the rule 'plateau', not of {rule!r}")
        best = self.criterion.value(self._lowered(self.evaluation.utilities))
        if rule == "optimum":
            region = self.best_region
            box = region[0] if region else None
            params = dict(self.evaluation.params)
            return BoxSelection(rule, params, best, box, best, Fraction(0))
        if rule == "one-standard-error":
            self._need_mean(f"the rule {rule!r}")
            tolerance = standard_error(self.evaluation.utilities, GRID)
        elif epsilon is None:
            tolerance = PLATEAU_SHARE * self._tuned.span
        else:
            given = as_fraction(epsilon)
            if given is None or given < 0:
                raise ParameterError(f"epsilon must be a number >= 0, got {epsilon!r}")
            tolerance = given
        return self._largest_box(rule, best, tolerance)

    def _largest_box(self, rule: str, best: Fraction, tolerance: Fraction) -> BoxSelection:
        """Choose the largest box on which every setting is proved to be good enough."""
        enough, value_of = best - tolerance, self.criterion.value
        found: list[tuple[float, Box, Fraction]] = []
        for cell in self._finest_cover.cells:
            lower = value_of([bound.lower for bound in cell.bounds])
            if lower >= enough:
                found.append((_size(cell.box), cell.box, lower))
        for halvings in range(1, MOST_HALVINGS):
            box = box_around(self.family, self.evaluation.params, 2.0**-halvings)
            bounds = (self.family.bound_on_box(item, box) for item in self.instances)
            lower = value_of([bound.lower for bound in bounds])
            if lower >= enough:
                found.append((_size(box), box, lower))
                break
        if not found:
            params = dict(self.evaluation.params)
            return BoxSelection(rule, params, best, None, best, tolerance)
        _, box, lower = max(found, key=lambda entry: entry[0])
        params = dict(box.centre)
        runs = [self.family.run_exact(item, params) for item in self.instances]
        return BoxSelection(rule, params, value_of(runs), box, lower, tolerance)


def _size(box: Box) -> float:
    """Volume of a box relative to its space; faces of the space have none."""
    share = 1.0
    for item, part in zip(box.items, box.parts, strict=True):
        if isinstance(item, Simplex):
            flat = len(part) < item.size
            share *= 0.0 if flat else abs(float(np.linalg.det(np.array(part))))
            continue
        if box.stratum.rays and len(part) == 1:  # the facet that the rays go to
            continue
        ends = part[0][0], part[-1][0]
        if isinstance(item, LogReal):
            share *= math.log(ends[1] / ends[0]) / math.log(item.high / item.low)
        else:
            share *= (ends[1] - ends[0]) / (item.high - item.low)
    return share


def box_around(family: Family, params: dict[str, Any], share: float) -> Box:
    """Return a box around a setting whose edges are a share of those of the space."""
    parts: list[Any] = []
    for item in family.space.parameters:
        value = params[item.name]
        if isinstance(item, Simplex):
            corners = [i for i, weight in enumerate(value) if weight > 0.0]
            parts.append(
                tuple(
                    tuple(
                        (1.0 - share) * weight + share * float(i == corner)
                        for i, weight in enumerate(value)
                    )
                    for corner in corners
                )
            )
        else:
            reach = share * (item.high - item.low)
            parts.append(((max(item.low, value - reach),), (min(item.high, value + reach),)))
    return Box(family.space, tuple(parts))
