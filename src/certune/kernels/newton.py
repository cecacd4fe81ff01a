"""Steps towards the minimum of a logistic loss, with a factor of the Hessian from close by.

The loss is the mean of log(1 + exp(-a_i . b)) over the rows a_i of a design, which is given with
its transpose, as both are read along their rows. A factor is the lower triangular Cholesky factor
in the column order of LAPACK.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.products import accurate_transposed_product

UNIT = 2.0**-53


@njit(cache=True, nogil=True)
def accurate_residual(design, transposed, point, penalty):
    """Return penalty plus the gradient of the loss, accurately, and two bounds of its errors.

    The first bound is of the Euclidean norm of the errors of the last operations; the second of
    sqrt(mean(e^2 / w)) for the errors e of the probabilities, w being the weights of the rows.
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
    return gradient, 8.0 * UNIT * math.sqrt(rounding), math.sqrt(spread / n_rows)


@njit(cache=True, nogil=True)
def chord(design, transposed, penalty, lower, start, moved, most_moved, enough):
    """Take steps with one factor until none moves a margin by more than `enough`.

    Returns the point, by how much margins have moved at most from where the factor belongs to
    (`moved` at the start), and whether the steps have shrunk fast and stayed close.
    """
    n_rows = design.shape[0]
    point = start.copy()
    before = most_moved
    chances = np.empty(n_rows)
    while moved <= most_moved:
        margins = np.dot(design, point)
        for i in range(n_rows):
            chances[i] = 1.0 / (1.0 + math.exp(margins[i]))
        step = np.dot(transposed, chances)
        for j in range(step.size):
            step[j] = step[j] / n_rows - penalty[j]
        _solve_in_place(lower, step)
        changes = np.dot(design, step)
        reach = 0.0
        for i in range(n_rows):
            reach = max(reach, abs(changes[i]))
        point += step
        moved += reach
        if not reach <= 0.5 * before:
            return point, moved, False
        if reach <= enough:
            return point, moved, True
        before = reach
    return point, moved, False


@njit(cache=True, nogil=True)
def _solve_in_place(lower, vector):
    """Replace a vector by the solution of ``lower @ lower.T @ x = vector``."""
    size = vector.size
    for j in range(size):
        vector[j] /= lower[j, j]
        pivot = vector[j]
        for i in range(j + 1, size):
            vector[i] -= pivot * lower[i, j]
    for j in range(size - 1, -1, -1):
        total = vector[j]
        for i in range(j + 1, size):
            total -= lower[i, j] * vector[i]
        vector[j] = total / lower[j, j]
