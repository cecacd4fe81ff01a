"""Steps to the minimum of a penalised logistic loss, with the factor of a Hessian from close by.

The loss is the mean of log(1 + exp(-a_i . b)) over the rows a_i of a design, which is given with
its transpose, as both are read along their rows; the gradient of the penalty is
lam (linear + quadratic * b). A factor is the lower triangular Cholesky factor in the column order
of LAPACK. The error bound is derived in :mod:`certune.families.logistic.smooth`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.products import accurate_transposed_product

UNIT = 2.0**-53
# Rounding errors of the factorisation may change its norms by this factor.
FACTOR_SLACK = 1.01
MOST_REFINEMENTS = 12
# A factor is tried if no margin differs by more than this from where it belongs to; steps are
# taken in plain precision up to the second number.
REUSED, REFINED = 0.3, 1e-11


@njit(cache=True, nogil=True)
def accurate_residual(design, transposed, point, penalty):
    """Return penalty plus gradient of the loss, accurately, two bounds of its errors, and chances.

    The first bound is of the Euclidean norm of the errors of the last operations; the second of
    sqrt(mean(e^2 / w)) for the errors e of the chances, w being the weights of the rows.
    """
    n_rows = design.shape[0]
    margins = accurate_transposed_product(transposed, point)
    chances = np.empty(n_rows)
    spread = 0.0
    for i in range(n_rows):
        chance = 1.0 / (1.0 + math.exp(margins[i]))
        weight = max(chance * (1.0 - chance), 1e-300)
        error = 4.0 * UNIT * (weight * (abs(margins[i]) + 1.0) + chance)
        spread += error * error / weight
        chances[i] = chance
    gradient = accurate_transposed_product(design, chances)
    rounding = 0.0
    for j in range(gradient.size):
        gradient[j] = penalty[j] - gradient[j] / n_rows
        size = abs(penalty[j]) + abs(gradient[j])
        rounding += size * size
    return gradient, 8.0 * UNIT * math.sqrt(rounding), math.sqrt(spread / n_rows), chances


@njit(cache=True, nogil=True)
def distance_bound(nu, inverse_norm, largest_row):
    """Bound the distance to the minimum from the gradient's norm with respect to H^-1."""
    reach = largest_row * inverse_norm * nu
    if not reach < 0.5:
        return np.inf
    # t / (1 - exp(-t)) <= 1 + t.
    return inverse_norm * nu * (1.0 - math.log1p(-reach))


@njit(cache=True, nogil=True)
def refined(
    design,
    transposed,
    lam,
    linear,
    quadratic,
    lower,
    inverse_norm,
    largest_row,
    start,
    moved,
    target,
):
    """Refine a point with the factor of a Hessian close by, and bound its error.

    No margin differs by more than `moved` from where the factor belongs to. Residuals have twice
    the working precision, and every step gains a factor of about `moved`. Returns the point, the
    bound of its distance to the minimum, the derivative of the minimum by lam, and the chances.
    """
    point = start
    best, smallest, chances = start, np.inf, np.empty(0)
    for _ in range(MOST_REFINEMENTS):
        penalty = lam * (linear + quadratic * point)
        step, rounding, spread, trial = accurate_residual(design, transposed, point, penalty)
        _forward(lower, step)
        nu = FACTOR_SLACK * math.sqrt((step * step).sum()) + inverse_norm * rounding + spread
        grown = math.exp(0.5 * moved)
        radius = distance_bound(grown * nu, grown * inverse_norm, largest_row)
        gain = 1.0
        if radius < smallest or chances.size == 0:
            gain = radius / smallest if radius < smallest else 1.0
            best, smallest, chances = point, radius, trial
        if smallest <= target or gain > 0.5:
            break
        _backward(lower, step)
        moved += largest_change(design, step)
        point = point - step
    slope = -(linear + quadratic * best)
    _forward(lower, slope)
    _backward(lower, slope)
    return best, smallest, slope, chances


@njit(cache=True, nogil=True)
def solved_near(
    design, transposed, lams, linear, lower, inverse_norm, largest_row, anchor, starts, target
):
    """Solve for several lam, without quadratic penalty, with the factor of the Hessian at `anchor`.

    Returns arrays with a row of what `refined` gives for each; the bound is infinite if the steps
    do not converge fast.
    """
    points, slopes = np.empty_like(starts), np.empty_like(starts)
    radii, chances = np.full(lams.size, np.inf), np.empty((lams.size, design.shape[0]))
    quadratic = np.zeros(linear.size)
    for k in range(lams.size):
        moved = largest_change(design, starts[k] - anchor)
        point, moved, settled = _chord(
            design, transposed, lams[k] * linear, lower, starts[k], moved
        )
        if settled:
            points[k], radii[k], slopes[k], chances[k] = refined(
                design, transposed, lams[k], linear, quadratic, lower, inverse_norm, largest_row,
                point, moved, target,
            )  # fmt: skip
    return points, radii, slopes, chances


@njit(cache=True, nogil=True)
def largest_change(design, step):
    """Return the largest absolute change of a margin by a step."""
    changes = np.dot(design, step)
    largest = 0.0
    for i in range(changes.size):
        largest = max(largest, abs(changes[i]))
    return largest


@njit(cache=True, nogil=True)
def _chord(design, transposed, penalty, lower, start, moved):
    """Take steps with one factor until none moves a margin by more than `REFINED`.

    The penalty's gradient must be constant. Returns the point, by how much margins have moved at
    most from where the factor belongs to (`moved` at the start), and whether the steps have
    shrunk fast and stayed close.
    """
    n_rows = design.shape[0]
    point = start.copy()
    before = REUSED
    chances = np.empty(n_rows)
    while moved <= REUSED:
        margins = np.dot(design, point)
        for i in range(n_rows):
            chances[i] = 1.0 / (1.0 + math.exp(margins[i]))
        step = np.dot(transposed, chances)
        for j in range(step.size):
            step[j] = step[j] / n_rows - penalty[j]
        _forward(lower, step)
        _backward(lower, step)
        reach = largest_change(design, step)
        point += step
        moved += reach
        if not reach <= 0.5 * before:
            return point, moved, False
        if reach <= REFINED:
            return point, moved, True
        before = reach
    return point, moved, False


@njit(cache=True, nogil=True)
def _forward(lower, vector):
    """Replace a vector by the solution of ``lower @ x = vector``."""
    size = vector.size
    for j in range(size):
        vector[j] /= lower[j, j]
        pivot = vector[j]
        for i in range(j + 1, size):
            vector[i] -= pivot * lower[i, j]


@njit(cache=True, nogil=True)
def _backward(lower, vector):
    """Replace a vector by the solution of ``lower.T @ x = vector``."""
    size = vector.size
    for j in range(size - 1, -1, -1):
        total = vector[j]
        for i in range(j + 1, size):
            total -= lower[i, j] * vector[i]
        vector[j] = total / lower[j, j]
