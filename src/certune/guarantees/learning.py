"""Learning curves: utility and optimism against the number of tuning instances.

Subsets of the instances are tuned exactly and looked up on the instances left over, which costs
additions only, so that a curve has hundreds of repetitions for each size. Curves are estimates;
what they say beyond the largest size is an extrapolation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certune.cards import Carded
from certune.dual import DualFunction
from certune.dual.integers import FloatArray, IntArray
from certune.errors import ParameterError
from certune.guarantees.randomness import MOST_DRAWS, RandomState, generator
from certune.guarantees.refinement import JointRefinement
from certune.guarantees.stability import Resolve
from certune.guarantees.surrogates import Smooth
from certune.pfaffian.structure import whole_number
from certune.scores import Score

# Sizes with this share of the largest optimism say nothing about how it falls.
SATURATED = 0.9
FEWEST_SIZES = 3
# Relative error of the power law itself, beside that of the means over splits.
MODEL_ERROR = 0.05


@dataclass(frozen=True)
class PowerLaw:
    """The fit ``optimism = scale * size ** -exponent``: an estimate.

    Attributes
    ----------
    scale, exponent : float
        Weighted least squares in logarithms; the exponent is kept between 1/2, which bounds of
        the optimism have, and 1.
    n_sizes : int
        Number of sizes that the fit uses.
    """

    scale: float
    exponent: float
    n_sizes: int

    def instances_for(self, epsilon: float) -> int:
        """Return the number of instances at which the fit falls to epsilon."""
        exponent = math.log(self.scale / epsilon) / self.exponent
        return max(1, math.ceil(math.exp(min(exponent, 700.0))))


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Carded):
    """Mean over random splits, for each number of tuning instances; all are estimates.

    Attributes
    ----------
    sizes : ndarray of int
        Numbers of tuning instances.
    tuning, held_out : ndarray of float
        Mean utility of the tuned setting on the tuning instances and on all others.
    tuning_spread, held_out_spread, optimism_spread : ndarray of float
        Standard deviations over splits.
    n_splits : int
        Number of random splits for each size.
    n_instances : int
        Number of instances in all.
    tuning_bound : ndarray of float, optional
        Mean of proved bounds of the best utility on the tuning instances, if settings were chosen
        from candidates or by surrogates; None if they are the proved optima.
    score : Score
        What the utility means to people; the text speaks of it.
    """

    sizes: IntArray
    tuning: FloatArray
    held_out: FloatArray
    tuning_spread: FloatArray
    held_out_spread: FloatArray
    optimism_spread: FloatArray
    n_splits: int
    n_instances: int
    tuning_bound: FloatArray | None = None
    score: Score = Score()

    @property
    def optimism(self) -> FloatArray:
        """Mean utility on the tuning instances minus that on the others."""
        return self.tuning - self.held_out

    def fit(self) -> PowerLaw | None:
        """Fit a power law to the optimism; None if fewer than three sizes can be used.

        Sizes at which the optimism is saturated, nine tenths of the largest or more, are left
        out: with so few instances nearly everything can be attained on them. Weights grow with
        the size and fall with the spread over splits.
        """
        usable = (self.optimism > 0) & (self.optimism < SATURATED * self.optimism.max())
        if usable.sum() < FEWEST_SIZES:
            return None
        x, y = np.log(self.sizes[usable]), np.log(self.optimism[usable])
        noise = (self.optimism_spread[usable] / self.optimism[usable]) ** 2 / self.n_splits
        weights = self.sizes[usable] / (noise + MODEL_ERROR**2)
        # np.polyfit squares its weights.
        slope = float(np.polyfit(x, y, 1, w=np.sqrt(weights))[0])
        exponent = min(max(-slope, 0.5), 1.0)
        scale = float(np.exp(np.average(y + exponent * x, weights=weights)))
        return PowerLaw(scale, exponent, int(usable.sum()))

    def __str__(self) -> str:
        lines = ["instances  tuning  held-out  optimism"]
        if self.score.name != "utility":
            lines.insert(0, f"mean {self.score}")
        tuning, held_out = self.score.of(self.tuning), self.score.of(self.held_out)
        for row in zip(self.sizes, tuning, held_out, self.optimism, strict=True):
            lines.append("{:9d}  {:.4f}    {:.4f}    {:.4f}".format(*row))
        if self.fit() is None:
            lines.append("too few sizes to extrapolate: pass more instances, or other sizes")
        return "\n".join(lines)


def learning_curve(
    refinement: JointRefinement,
    sizes: Sequence[int] | None = None,
    n_splits: int = 200,
    random_state: RandomState = 0,
    resolve: Resolve | None = None,
    smooth: Smooth | None = None,
) -> LearningCurve:
    """Tune random subsets exactly and evaluate them on the other instances.

    O(B + N log m) a split for B breakpoints of N functions with up to m pieces.

    Parameters
    ----------
    refinement : JointRefinement
        Utility functions of at least two instances.
    sizes : sequence of int, optional
        Numbers of tuning instances, 1 to N - 1; by default 1, 2, 5, 10, 20, 50, ... up to N/2,
        and N/2.
    n_splits : int, default=200
        Random splits for each size.
    random_state : int or numpy Generator, default=0
        Source of the splits.
    resolve : callable, optional
        Gives the utility of an instance where its function is not decided; its lower bound
        counts otherwise.
    smooth : Smooth, optional
        The utility functions themselves, if those of the refinement are surrogates: settings are
        chosen by the surrogates, within twice their error of the best, and evaluated by these.
    """
    n, count = refinement.n_functions, whole_number("n_splits", n_splits, 2, MOST_DRAWS)
    if n < 2:
        raise ParameterError(f"a learning curve needs at least 2 instances, got {n}")
    rng = generator(random_state)
    chosen = sizes_of(n, sizes)
    columns = [_splits(refinement, size, count, rng, resolve, smooth) for size in chosen]
    reached = None
    if smooth is not None:
        error = float(max(surrogate.error for surrogate in smooth.surrogates))
        reached = np.array([best.mean() + error for _, _, best in columns])
    return curve_of(chosen, [column[:2] for column in columns], n, reached)


def curve_of(
    sizes: Sequence[int],
    columns: Sequence[tuple[FloatArray, FloatArray]],
    n_instances: int,
    tuning_bound: FloatArray | None = None,
) -> LearningCurve:
    """Return the curve of utilities on tuning and on other instances, split by split.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of tuning instances.
    columns : sequence of pair of ndarray
        For each size, mean utilities on the tuning instances and on the others, one for a split.
    n_instances : int
        Number of instances in all.
    tuning_bound : ndarray of float, optional
        As in :class:`LearningCurve`.
    """
    tuning, held_out = np.array([c[0] for c in columns]), np.array([c[1] for c in columns])
    return LearningCurve(
        sizes=np.array(sizes),
        tuning=tuning.mean(axis=1),
        held_out=held_out.mean(axis=1),
        tuning_spread=tuning.std(axis=1, ddof=1),
        held_out_spread=held_out.std(axis=1, ddof=1),
        optimism_spread=(tuning - held_out).std(axis=1, ddof=1),
        n_splits=tuning.shape[1],
        n_instances=n_instances,
        tuning_bound=tuning_bound,
    )


def sizes_of(n: int, sizes: Sequence[int] | None) -> list[int]:
    """Return checked numbers of tuning instances, smaller than n; by default 1, 2, 5, 10, ..."""
    if sizes is not None and (isinstance(sizes, str) or not isinstance(sizes, Iterable)):
        raise ParameterError(f"sizes must be a list of whole numbers, got {sizes!r}")
    chosen = _default_sizes(n) if sizes is None else [whole_number("size", s, 1) for s in sizes]
    if not chosen or max(chosen) >= n:
        raise ParameterError(f"sizes must be smaller than the number of instances, {n}: {sizes!r}")
    return chosen


def random_subsets(n: int, size: int, count: int, rng: np.random.Generator) -> IntArray:
    """Return rows of zeros and ones, each with ``size`` ones at random places."""
    ranks = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return (ranks < size).astype(np.int64)


def _default_sizes(n: int) -> list[int]:
    half = max(n // 2, 1)
    steps = (factor * 10**power for power in range(len(str(half))) for factor in (1, 2, 5))
    return [*(size for size in steps if size < half), half]


def _splits(
    refinement: JointRefinement,
    size: int,
    n_splits: int,
    rng: np.random.Generator,
    resolve: Resolve | None,
    smooth: Smooth | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Utilities on the tuning instances and on the others, and the best of the refinement."""
    n = refinement.n_functions
    weights = random_subsets(n, size, n_splits, rng)
    optima = refinement.optima(weights)
    functions = refinement.functions if smooth is None else smooth.functions
    utilities = utilities_at(functions, optima.centres, resolve)
    held_out = np.where(weights == 0, utilities, 0.0).sum(axis=1) / (n - size)
    if smooth is None:
        return optima.values, held_out, optima.values
    tuning = np.where(weights == 1, utilities, 0.0).sum(axis=1) / size
    return tuning, held_out, optima.values


def utilities_at(
    functions: Sequence[DualFunction], coordinates: FloatArray, resolve: Resolve | None
) -> FloatArray:
    """Utility of every instance (columns) at coordinates (rows), as floats."""
    table = np.column_stack([function(coordinates) for function in functions])
    for row, column in np.argwhere(np.isnan(table)):
        t = float(coordinates[row])
        if resolve is None:
            value: Fraction = functions[column].enclose_exact(t)[0]
        else:
            value = resolve(int(column), t)
        table[row, column] = float(value)
    return table
