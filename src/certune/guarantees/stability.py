"""How stable is the optimum? Cross-validation over instances and the bootstrap, both exact.

Leaving instances out or repeating them only re-weights the sum of the utility functions, so that
the optimum of every fold and of every resample is the proved one, at the cost of an addition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from certune.aggregates import Criterion
from certune.cards import Carded
from certune.dual import DualFunction, PiecewiseFunction, aggregated, mean
from certune.dual.integers import FloatArray
from certune.errors import ParameterError
from certune.guarantees.randomness import MOST_DRAWS, RandomState, generator
from certune.guarantees.refinement import JointRefinement
from certune.guarantees.selection import Selection, optimum
from certune.guarantees.surrogates import Smooth
from certune.pfaffian.bounds.arithmetic import probability
from certune.pfaffian.structure import whole_number
from certune.scores import Score

if TYPE_CHECKING:
    from certune.guarantees.candidates import Candidate

# Utility of an instance (by its number) at a coordinate at which its function is not decided.
Resolve = Callable[[int, float], Fraction]


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation.

    Attributes
    ----------
    left_out : tuple of int
        Numbers of the instances that were left out.
    selection : Selection or Candidate
        The optimum on the others; with several parameters, the best candidate.
    value_exact : Fraction
        Its mean utility on those that were left out, or what else is maximised.
    """

    left_out: tuple[int, ...]
    selection: Selection | Candidate
    value_exact: Fraction

    @property
    def tuning_value_exact(self) -> Fraction:
        """Mean utility of the optimum on the instances that it was tuned on."""
        return self.selection.value_exact


@dataclass(frozen=True, repr=False)
class CrossValidation(Carded):
    """Cross-validation over instances: an estimate, not a bound.

    It estimates the expected utility of settings tuned on all but one fold.

    Attributes
    ----------
    folds : tuple of Fold
        The folds.
    utilities : tuple of Fraction
        Utility of each instance, in their order, under the setting tuned without its fold.
    score : Score
        What the utility means to people; the text speaks of it.
    criterion : Criterion
        What is maximised, in each fold and here: the mean by default.
    """

    folds: tuple[Fold, ...]
    utilities: tuple[Fraction, ...]
    score: Score = Score()
    criterion: Criterion = Criterion()

    @property
    def value_exact(self) -> Fraction:
        """Mean utility on left-out instances, or the other aggregate of all of them."""
        return self.criterion.value(self.utilities)

    @property
    def value_estimate(self) -> float:
        """`value_exact`, rounded: estimated utility on a new instance."""
        return float(self.value_exact)

    @property
    def optimism_estimate(self) -> float:
        """Mean over instances of what tuning promised in their fold minus what they got."""
        promised = sum(
            (fold.tuning_value_exact * len(fold.left_out) for fold in self.folds), Fraction(0)
        )
        return float(promised / len(self.utilities) - self.value_exact)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, as if instances of different folds were independent.

        NaN if something else than the mean without weights is maximised.
        """
        if not self.criterion.is_plain:
            return math.nan
        floats = [float(utility) for utility in self.utilities]
        return float(np.std(floats, ddof=1) / len(floats) ** 0.5)

    @property
    def coordinates(self) -> FloatArray:
        """The setting chosen in each fold, if there is one parameter."""
        chosen = [f.selection for f in self.folds if isinstance(f.selection, Selection)]
        return np.array([selection.coordinate for selection in chosen])

    def __str__(self) -> str:
        settings = f"{len({str(fold.selection.params) for fold in self.folds})} different settings"
        if self.coordinates.size:
            low, high = float(self.coordinates.min()), float(self.coordinates.max())
            settings = f"settings from {low:.6g} to {high:.6g}"
        plain = self.criterion.is_plain
        what = self.score.name if plain else self.criterion.words(self.score.name)
        spread = f" ± {self.standard_error:.4f}" if plain else ""
        return (
            f"{len(self.folds)}-fold cross-validation: estimated {what} "
            f"{self.score.of(self.value_estimate):.4f}{spread}, estimated optimism "
            f"{self.optimism_estimate:.4f}, {settings}"
        )


def cross_validate(
    duals: Sequence[DualFunction],
    n_folds: int | None = None,
    random_state: RandomState = 0,
    resolve: Resolve | None = None,
    criterion: Criterion | None = None,
) -> CrossValidation:
    """Tune on all folds but one, exactly, and look up the utility on the one left out.

    Smooth functions are tuned up to their stated errors, as by ``certune.tune``.

    Parameters
    ----------
    duals : sequence of PiecewiseFunction or PiecewisePolynomial
        Utility functions of at least two instances.
    n_folds : int, optional
        Number of folds, 2 to N; by default 10, or N if there are fewer instances.
    random_state : int or numpy Generator, default=0
        Source of the random assignment to folds.
    resolve : callable, optional
        Gives the utility of an instance where its function is not decided; its lower bound
        counts otherwise.
    criterion : Criterion, optional
        What is maximised, in each fold on the instances that stay; by default the mean.
    """
    n = len(duals)
    criterion = criterion or Criterion()
    utilities: list[Fraction] = [Fraction(0)] * n
    folds = []
    for left_out in folds_of(n, n_folds, random_state):
        kept = [i for i in range(n) if i not in left_out]
        landscape = aggregated([duals[i] for i in kept], criterion.of(kept))
        chosen = optimum(landscape, rule="best")
        for i in left_out:
            utilities[i] = utility_at(duals, i, chosen.coordinate, resolve)
        value = criterion.of(left_out).value([utilities[i] for i in left_out])
        folds.append(Fold(left_out, chosen, value))
    return CrossValidation(tuple(folds), tuple(utilities), criterion=criterion)


def folds_of(n: int, n_folds: int | None, random_state: RandomState) -> list[tuple[int, ...]]:
    """Return a random partition of n instances into folds, by default 10 or n if there are fewer.

    Parameters
    ----------
    n : int
        Number of instances.
    n_folds : int or None
        Number of folds, 2 to n.
    random_state : int or numpy Generator
        Source of the partition.
    """
    if n < 2:
        raise ParameterError(f"cross-validation needs at least 2 instances, got {n}")
    count = min(n, 10) if n_folds is None else whole_number("n_folds", n_folds, 2)
    if count > n:
        raise ParameterError(f"n_folds must be at most the number of instances, {n}, got {count}")
    order = generator(random_state).permutation(n)
    return [tuple(sorted(part.tolist())) for part in np.array_split(order, count)]


def utility_at(
    duals: Sequence[DualFunction], index: int, t: float, resolve: Resolve | None
) -> Fraction:
    """Utility of an instance at t; where it is not decided, by `resolve` or its lower bound."""
    lower, upper = duals[index].enclose_exact(t)
    return lower if lower == upper or resolve is None else resolve(index, t)


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Carded):
    """Optima of samples drawn from the instances with replacement.

    Attributes
    ----------
    coordinates : ndarray of float
        The setting that tuning would choose in each resample.
    optimal_share : PiecewiseFunction
        For each t the share of resamples in which t is optimal; in gaps, bounds of it. For smooth
        utilities, t is best for step functions close to them, hence within `tolerance`.
    chosen_share : float
        Share of resamples in which the tuned setting is optimal, up to `tolerance`.
    tolerance : float
        How much worse than the optimum an optimal setting may be: 0 unless utilities are smooth.
    """

    coordinates: FloatArray
    optimal_share: PiecewiseFunction
    chosen_share: float
    tolerance: float = 0.0

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return int(self.coordinates.size)

    @cached_property
    def most_frequent(self) -> list[tuple[float, float]]:
        """Intervals that are optimal in the largest share of resamples."""
        return self.optimal_share.argmax()

    def quantiles(self, delta: float = 0.1) -> tuple[float, float]:
        """Return the interval of the central share 1 - delta of the chosen settings.

        Parameters
        ----------
        delta : float, default=0.1
            Share that is cut off, half on each side.
        """
        share = float(probability("delta", delta)) / 2
        low, high = np.quantile(self.coordinates, (share, 1 - share)).tolist()
        return low, high

    def __str__(self) -> str:
        low, high = self.quantiles()
        optimal = f"within {self.tolerance:.2g} of the optimum" if self.tolerance else "optimal"
        return (
            f"{self.n_resamples} resamples: the tuned setting is {optimal} in "
            f"{100 * self.chosen_share:.1f}%, 90% of the chosen settings lie in "
            f"[{low:.6g}, {high:.6g}]"
        )


def bootstrap(
    refinement: JointRefinement,
    n_resamples: int = 1000,
    random_state: RandomState = 0,
    smooth: Smooth | None = None,
) -> Bootstrap:
    """Find the optimal set of samples drawn with replacement, exactly in each.

    O(B) a resample for B breakpoints in all.

    Parameters
    ----------
    refinement : JointRefinement
        The utility functions of the instances.
    n_resamples : int, default=1000
        Number of resamples.
    random_state : int or numpy Generator, default=0
        Source of the resamples.
    smooth : Smooth, optional
        The utility functions themselves, if those of the refinement are surrogates.
    """
    count, n = whole_number("n_resamples", n_resamples, 1, MOST_DRAWS), refinement.n_functions
    weights = generator(random_state).multinomial(n, np.full(n, 1 / n), size=count)
    optima = refinement.optima(weights)
    decided = refinement.n_open == 0
    ends = np.append(refinement.begins[1:], refinement.functions[0].high)
    (index,) = np.nonzero(decided)
    firsts = (index - np.arange(index.size))[:-1]
    share = PiecewiseFunction(
        refinement.begins[decided],
        ends[decided],
        optima.n_optimal[decided],
        np.minimum.reduceat(optima.n_optimal[~decided], firsts) if firsts.size else [],
        np.maximum.reduceat(optima.n_maybe_optimal[~decided], firsts) if firsts.size else [],
        count,
        refinement.functions[0].name,
    )
    if smooth is None:
        chosen = mean(refinement.functions).best_point
        return Bootstrap(optima.centres, share, float(share.enclose_exact(chosen)[0]))
    error = float(max(surrogate.error for surrogate in smooth.surrogates))
    chosen = mean(smooth.functions).best_point
    reached = weights @ [float(f.enclose_exact(chosen)[0]) for f in smooth.functions] / n
    errors = weights @ [float(surrogate.error) for surrogate in smooth.surrogates] / n
    close = optima.values + errors - reached <= 4 * error
    return Bootstrap(optima.centres, share, float(close.mean()), 4 * error)
