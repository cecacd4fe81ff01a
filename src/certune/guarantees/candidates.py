"""Tuning re-weighted samples over several parameters, with stated bounds.

Where there are no exact functions, the utilities of candidate settings say what can be reached, and
bounds on a cover of all settings what can not: every fold and every subset of the instances has a
best candidate, and a bound of how much better any other setting could be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.dual.integers import FloatArray, IntArray
from certune.errors import InputError, ParameterError
from certune.guarantees.learning import LearningCurve, curve_of, random_subsets, sizes_of
from certune.guarantees.randomness import MOST_DRAWS, RandomState, generator
from certune.guarantees.stability import CrossValidation, Fold, folds_of
from certune.pfaffian.structure import whole_number

# Values are compared as multiples of a common denominator, of this one if that is larger; sums of
# 2^20 of them stay exact.
LARGEST_SCALE = 2**40
MEAN = Criterion()

Table = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Candidate:
    """The best candidate on some instances.

    Attributes
    ----------
    params : dict
        The setting.
    value_exact : Fraction
        Its mean utility on them, or what else is maximised.
    upper_bound_exact : Fraction
        No setting has a larger one.
    """

    params: dict[str, Any]
    value_exact: Fraction
    upper_bound_exact: Fraction

    @property
    def value(self) -> float:
        """`value_exact`, correctly rounded."""
        return float(self.value_exact)

    @property
    def gap(self) -> float:
        """How much better another setting could be, at most."""
        return float(self.upper_bound_exact - self.value_exact)


@dataclass(frozen=True, eq=False)
class CandidateBootstrap:
    """Best candidates of samples drawn from the instances with replacement: an estimate.

    Attributes
    ----------
    settings : tuple of dict
        The settings that were chosen, most frequent first.
    shares : ndarray of float
        In which share of the resamples each of them was.
    first_share : float
        Share of the resamples in which the first candidate is as good as any other.
    gap_estimate : float
        Mean over resamples of how much better any other setting could be, at most.
    n_resamples : int
        Number of resamples.
    """

    settings: tuple[dict[str, Any], ...]
    shares: FloatArray
    first_share: float
    gap_estimate: float
    n_resamples: int

    def __str__(self) -> str:
        return (
            f"{self.n_resamples} resamples: the tuned setting is the best candidate in "
            f"{100 * self.first_share:.1f}%, {len(self.settings)} settings are chosen, others can "
            f"be better by {self.gap_estimate:.4f} on average at most"
        )


@dataclass(frozen=True, eq=False)
class Candidates:
    """Settings with their utilities, and bounds on a cover of all settings.

    Attributes
    ----------
    settings : sequence of dict
        The candidates.
    utilities : object array (n_candidates, n_instances)
        Their utilities, exact.
    upper : object array (n_cells, n_instances)
        Upper bounds of the utilities on cells that hold every setting.
    """

    settings: Sequence[dict[str, Any]]
    utilities: Table
    upper: Table

    def __post_init__(self) -> None:
        if len(self.settings) != len(self.utilities) or not len(self.settings):
            raise InputError(
                f"every candidate needs utilities, got {len(self.settings)} candidates and "
                f"utilities of the shape {self.utilities.shape}"
            )
        if self.utilities.shape[1:] != self.upper.shape[1:]:
            raise InputError(
                "utilities and bounds must be about the same instances, got the shapes "
                f"{self.utilities.shape} and {self.upper.shape}"
            )

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return int(self.utilities.shape[1])

    @cached_property
    def _integers(self) -> tuple[IntArray, IntArray, int]:
        """Utilities rounded down and bounds rounded up to multiples of 1 / scale, and the scale."""
        tables = self.utilities, self.upper
        entries = (entry for table in tables for row in table.tolist() for entry in row)
        scale = 1
        for entry in entries:
            scale = math.lcm(scale, Fraction(entry).denominator)
            if scale > LARGEST_SCALE:
                scale = LARGEST_SCALE
                break
        values = _scaled(self.utilities, scale, math.floor)
        return values, _scaled(self.upper, scale, math.ceil), scale

    def best(self, instances: Sequence[int], criterion: Criterion = MEAN) -> Candidate:
        """Return the best candidate on some instances, the first of several, exactly."""
        chosen = list(instances)
        value = criterion.of(chosen).value
        values = [value(row[chosen]) for row in self.utilities]
        place = max(range(len(values)), key=values.__getitem__)
        bound = max(values[place], *(value(row[chosen]) for row in self.upper))
        return Candidate(dict(self.settings[place]), values[place], bound)

    def utility(self, instance: int, params: dict[str, Any]) -> Fraction:
        """Return the utility of a candidate on an instance."""
        return Fraction(self.utilities[list(self.settings).index(params), instance])

    def cross_validate(
        self,
        n_folds: int | None = None,
        random_state: RandomState = 0,
        criterion: Criterion = MEAN,
    ) -> CrossValidation:
        """Choose the best candidate on all folds but one, and look it up on the one left out.

        Parameters
        ----------
        n_folds : int, optional
            Number of folds, 2 to N; by default 10, or N if there are fewer instances.
        random_state : int or numpy Generator, default=0
            Source of the random assignment to folds.
        criterion : Criterion
            What is maximised, in each fold on the instances that stay; by default the mean.
        """
        n = self.n_instances
        utilities: list[Fraction] = [Fraction(0)] * n
        folds = []
        for left_out in folds_of(n, n_folds, random_state):
            chosen = self.best([i for i in range(n) if i not in left_out], criterion)
            for i in left_out:
                utilities[i] = self.utility(i, chosen.params)
            value = criterion.of(left_out).value([utilities[i] for i in left_out])
            folds.append(Fold(left_out, chosen, value))
        return CrossValidation(tuple(folds), tuple(utilities), criterion=criterion)

    def learning_curve(
        self,
        sizes: Sequence[int] | None = None,
        n_splits: int = 200,
        random_state: RandomState = 0,
    ) -> LearningCurve:
        """Choose the best candidate on random subsets, and look it up on the other instances.

        O(C N) a split for C candidates and cells.

        Parameters
        ----------
        sizes : sequence of int, optional
            Numbers of tuning instances; by default 1, 2, 5, 10, 20, 50, ... up to N/2, and N/2.
        n_splits : int, default=200
            Random splits for each size.
        random_state : int or numpy Generator, default=0
            Source of the splits.
        """
        n, count = self.n_instances, whole_number("n_splits", n_splits, 2)
        if n < 2:
            raise ParameterError(f"a learning curve needs at least 2 instances, got {n}")
        values, bounds, scale = self._integers
        rng = generator(random_state)
        chosen_sizes = sizes_of(n, sizes)
        columns = []
        for size in chosen_sizes:
            weights = random_subsets(n, size, count, rng)
            totals = weights @ values.T
            places = totals.argmax(axis=1)
            tuning = totals[np.arange(count), places] / (scale * float(size))
            held_out = ((1 - weights) * values[places]).sum(axis=1) / (scale * float(n - size))
            best = (weights @ bounds.T).max(axis=1) / (scale * float(size))
            columns.append((tuning, held_out, np.maximum(best, tuning)))
        reached: FloatArray = np.array([column[2].mean() for column in columns])
        parts = [(tuning, held_out) for tuning, held_out, _ in columns]
        return curve_of(chosen_sizes, parts, n, tuning_bound=reached)

    def bootstrap(
        self, n_resamples: int = 1000, random_state: int | np.random.Generator = 0
    ) -> CandidateBootstrap:
        """Choose the best candidate on samples drawn from the instances with replacement.

        O(C N) a resample for C candidates and cells.

        Parameters
        ----------
        n_resamples : int, default=1000
            Number of resamples.
        random_state : int or numpy Generator, default=0
            Source of the resamples.
        """
        count, n = whole_number("n_resamples", n_resamples, 1, MOST_DRAWS), self.n_instances
        weights = generator(random_state).multinomial(n, np.full(n, 1 / n), size=count)
        values, bounds, scale = self._integers
        totals = weights @ values.T
        best = totals.max(axis=1)
        gaps = np.maximum((weights @ bounds.T).max(axis=1) - best, 0) / (scale * float(n))
        places, counts = np.unique(totals.argmax(axis=1), return_counts=True)
        order = np.lexsort((places, -counts))
        return CandidateBootstrap(
            tuple(dict(self.settings[place]) for place in places[order].tolist()),
            counts[order] / count,
            float((totals[:, 0] == best).mean()),
            float(gaps.mean()),
            count,
        )


def _scaled(table: Table, scale: int, rounding: Any) -> IntArray:
    entries = [rounding(Fraction(entry) * scale) for row in table.tolist() for entry in row]
    return np.array(entries, dtype=np.int64).reshape(table.shape)
