"""The incremental quadratic surrogates of the path (`alg:rosset-ridge`, `alg:rosset-lasso`).

Starting from the solution at the lower end of the range, lam grows by epsilon at a time, and each
time one Newton step for the new lam is taken from the point before. Between two values the
surrogate is linear in lam (`thm:rosset1`), which gives the dual utility a piecewise structure that
does not depend on the instance and with it the guarantee of `thm:balcal2023`.

The l1 algorithm needs a mend. As printed, a coefficient leaves when it is smaller than a constant
and enters when its gradient exceeds lam after the step, with the sign 0 of a coefficient that is
zero; coefficients then jump across zero, several enter at once by mistake, and the surrogate
diverges. Here the active coefficients and their signs at the new lam are those that the quadratic
model itself has at its penalised minimum; the step on them is the printed one.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from certune.dual import PiecewisePolynomial
from certune.errors import ParameterError
from certune.families.logistic.panels import chebyshev_coefficients
from certune.families.logistic.path import solution_at
from certune.families.logistic.threads import one_thread
from certune.families.logistic.training import TrainingData
from certune.kernels.logistic import penalised_minimum

FloatArray = npt.NDArray[np.float64]

MOST_STEPS = 1_000_000
# Degrees and accuracy of the polynomials that represent the utility between two knots.
UTILITY_DEGREE = 8
START_TARGET = 1e-12
MOST_SWEEPS = 10_000
SWEEP_TOLERANCE = 1e-12


@dataclass(frozen=True)
class SurrogatePath:
    """Coefficients that are linear in lam between knots, the intercept last if there is one.

    Attributes
    ----------
    knots : ndarray of shape (n + 1,)
        Values of lam, epsilon apart except for the last step.
    starts, slopes : ndarray of shape (n, d)
        On ``[knots[t], knots[t + 1]]`` the coefficients are ``starts[t] + (lam - knots[t]) *
        slopes[t]``. They jump at the knots, by the Newton correction of the step.
    """

    knots: FloatArray
    starts: FloatArray
    slopes: FloatArray

    @property
    def n_intervals(self) -> int:
        """Number of intervals."""
        return len(self.starts)

    def at(self, lam: float) -> FloatArray:
        """Return the coefficients at lam, those of the interval below at a knot."""
        if not self.knots[0] <= lam <= self.knots[-1]:
            raise ParameterError(
                f"lam must lie in the range [{self.knots[0]}, {self.knots[-1]}] of the surrogate, "
                f"got {lam!r}."
            )
        index = int(np.searchsorted(self.knots, lam, side="left")) - 1
        index = min(max(index, 0), self.n_intervals - 1)
        found: FloatArray = self.starts[index] + (lam - self.knots[index]) * self.slopes[index]
        return found


@one_thread
def surrogate_path(data: TrainingData, low: float, high: float, epsilon: float) -> SurrogatePath:
    """Follow the incremental quadratic algorithm of `thm:rosset1`.

    Parameters
    ----------
    data : TrainingData
        The data.
    low, high : float
        The range of lam.
    epsilon : float
        Step of lam. The error is of the order of epsilon squared only for epsilon up to about a
        third of `low`, see ``docs/theory/logistic-path.md``.
    """
    is_number = isinstance(epsilon, numbers.Real) and 0.0 < epsilon < math.inf
    if not is_number or (high - low) / epsilon > MOST_STEPS:
        raise ParameterError(
            f"epsilon must be positive and give at most {MOST_STEPS} steps over [{low}, {high}], "
            f"got {epsilon!r}"
        )
    count = max(1, math.ceil((high - low) / epsilon - 1e-9))
    knots = np.append(low + epsilon * np.arange(count), high)
    start = data.plain(solution_at(data, low, START_TARGET).coefficients)
    follow = _ridge_steps if data.penalty == "l2" else _lasso_steps
    starts, slopes = zip(*follow(data, knots, start), strict=True)
    return SurrogatePath(knots, np.array(starts), np.array(slopes))


def _ridge_steps(
    data: TrainingData, knots: FloatArray, point: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    design = data.plain_rows(data.instance.X, data.instance.y)
    n_features = data.instance.n_features
    penalised = np.arange(design.shape[1]) < n_features
    steps: list[tuple[FloatArray, FloatArray]] = []
    for lam, following in zip(knots[:-1].tolist(), knots[1:].tolist(), strict=True):
        gradient, hessian = _derivatives(design, point)
        hessian[penalised, penalised] += 2.0 * following
        # point - H^-1 (gradient + 2 lam point), as a function of lam.
        slope = -np.linalg.solve(hessian, 2.0 * penalised * point)
        begin = point - np.linalg.solve(hessian, gradient) + lam * slope
        steps.append((np.asarray(begin), np.asarray(slope)))
        point = begin + (following - lam) * slope
    return steps


def _lasso_steps(
    data: TrainingData, knots: FloatArray, point: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    p, size = data.kept.size, point.size
    kept = np.append(data.kept, np.arange(data.instance.n_features, size))
    design = np.ascontiguousarray(data.plain_rows(data.instance.X, data.instance.y)[:, kept])
    point = point[kept]
    steps = []
    for lam, following in zip(knots[:-1].tolist(), knots[1:].tolist(), strict=True):
        gradient, hessian = _derivatives(design, point)
        # gradient - H point: the model's gradient at zero, whatever has been active before.
        base = gradient - hessian @ point
        weights = np.full(p, following)
        minimum = penalised_minimum(hessian, -base, point, weights, MOST_SWEEPS, SWEEP_TOLERANCE)
        signs = np.sign(minimum)
        signs[p:] = 0.0
        active = np.append(np.flatnonzero(signs), np.arange(p, point.size))
        inner = hessian[np.ix_(active, active)]
        slope, begin = np.zeros(point.size), np.zeros(point.size)
        slope[active] = -np.linalg.solve(inner, signs[active])
        begin[active] = -np.linalg.solve(inner, base[active]) + lam * slope[active]
        steps.append((_filled(begin, kept, size), _filled(slope, kept, size)))
        point = begin + (following - lam) * slope
    return steps


def _filled(values: FloatArray, kept: npt.NDArray[np.intp], size: int) -> FloatArray:
    everything = np.zeros(size)
    everything[kept] = values
    return everything


def _derivatives(design: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    chances = expit(-(design @ point))
    weights = chances * (1.0 - chances) / len(design)
    hessian: FloatArray = np.ascontiguousarray((design.T * weights) @ design)
    return -(design.T @ chances) / len(design), hessian


def surrogate_dual(
    path: SurrogatePath, rows: FloatArray, largest: float, name: str
) -> PiecewisePolynomial:
    """Return ``largest - loss`` along a surrogate path, cut off at 0.

    The loss of coefficients that are linear in lam is convex and smooth, and a polynomial of
    low degree between two knots. At a knot the function jumps; a gap of one float encloses it.
    """
    nodes = np.cos(np.pi * np.arange(UTILITY_DEGREE + 1) / UTILITY_DEGREE)
    widths = np.diff(path.knots)
    places = 0.5 * widths[:, None] * (nodes + 1.0)
    base, slope = path.starts @ rows.T, path.slopes @ rows.T
    margins = base[:, None] + places[:, :, None] * slope[:, None]
    values = largest - np.logaddexp(0.0, -margins).mean(axis=2)
    coefficients = chebyshev_coefficients(values.T).T
    errors = 2.0 * np.abs(coefficients[:, -2:]).sum(axis=1) + 2.0**-40 * (1.0 + largest)
    stops = path.knots[1:].copy()
    stops[:-1] = np.nextafter(stops[:-1], -np.inf)
    ends = np.column_stack((values[:-1, 0], values[1:, -1]))
    slack = errors[:-1] + errors[1:]
    curve = PiecewisePolynomial(
        path.knots[:-1],
        stops,
        coefficients,
        errors,
        ends.min(axis=1) - slack,
        ends.max(axis=1) + slack,
        name=name,
    )
    return curve.clip(0.0, largest)


def surrogate_excess_bound(
    n_instances: int, n_intervals: int, surrogate_error: float, largest: float, delta: float
) -> float:
    """Bound how much worse than the best lam the tuned one is on new instances.

    The guarantee of `thm:balcal2023` with constants: with probability at least 1 - delta over
    N i.i.d. instances, the expected utility of the lam that is best on them is at least the best
    expected utility minus

        H sqrt(2 log(cells) / N) + 2 xi + H sqrt(2 log(1 / delta) / N),

    cells = 2 n N + 1. On each of the n intervals the surrogate utility is concave in
    lam, so that it crosses a level at most twice, which is sharper than a count through Pfaffian
    chains; the proof is in ``docs/theory/logistic-path.md``.

    Parameters
    ----------
    n_instances : int
        Number N of instances.
    n_intervals : int
        Number n of intervals of the surrogate, the range divided by epsilon.
    surrogate_error : float
        Bound xi of the distance between utility and surrogate, for every instance.
    largest : float
        Range H of the utility.
    delta : float
        Probability of failure.

    Examples
    --------
    >>> round(surrogate_excess_bound(1000, 500, 1e-3, 1.0, 0.05), 3)
    0.246
    """
    for name, count in (("n_instances", n_instances), ("n_intervals", n_intervals)):
        if not isinstance(count, numbers.Integral) or count < 1:
            raise ParameterError(f"{name} must be a positive integer, got {count!r}")
    for name, size in (("surrogate_error", surrogate_error), ("largest", largest)):
        if not isinstance(size, numbers.Real) or not 0.0 <= size < math.inf:
            raise ParameterError(f"{name} must be a finite number >= 0, got {size!r}")
    if not isinstance(delta, numbers.Real) or not 0.0 < delta < 1.0:
        raise ParameterError(f"delta must be a number in (0, 1), got {delta!r}")
    cells = 2 * n_intervals * n_instances + 1
    complexity = math.sqrt(2.0 * math.log(cells) / n_instances)
    confidence = math.sqrt(2.0 * math.log(1.0 / delta) / n_instances)
    return largest * (complexity + confidence) + 2.0 * surrogate_error
