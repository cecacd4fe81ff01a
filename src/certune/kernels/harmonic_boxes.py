"""Soft labels on a box of parameters: linear models with a proved remainder.

At the centre of the box the graph is eliminated once (`kernels.gth`).  The inverse of its grounded
Laplacian, the Green functions, turns changes of edge weights into changes of soft labels; it also
bounds what the first order leaves out.  ``docs/theory/harmonic-boxes.md`` has the inequalities, the
names used here, and the share of rounding in every one of them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.edge_reaches import (
    FIXED,
    REACH_ROUNDING,
    extent,
    log_weights,
    moments,
    reaches,
)
from certune.kernels.gth import green_functions

# Edges this much below all that are needed, in logarithms, are bounded node by node.
WEAK = 30.0
# Relative error of a weight, and slack for sums of non-negative terms.
WEIGHT_ERROR, SLACK = 1e-12, 1.0 + 1e-9
# Rounds in which the bound of the remainder is improved.
ROUNDS = 24
# Edges whose current would be lost in the rounding of Green functions are looked at one by one.
TIGHT = 1e-9
# Green functions are accurate relatively, and where products underflow up to this.
UNDERFLOW = 1e-40


@njit(cache=True, nogil=True)
def _is_tight(weight, inverse, i, j, green_error):
    """Is the rounding of Green functions not small against the current through an edge?"""
    return weight * (inverse[i, i] + inverse[j, j]) * green_error > TIGHT


@njit(cache=True, nogil=True)
def residuals(
    between, to_labelled, among, to, means, moves, class_of, column, soft, inverse, green_error
):  # fmt: skip
    """What a change of every rate does to the balance of the nodes, and its moduli on the box.

    Tight edges are left out.
    """
    n_metrics, n, n_labelled = to_labelled.shape
    changes = np.zeros((n_metrics, n))
    moduli = np.zeros(n)
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] > -FIXED:
                weight = math.exp(among[i, j])
                if _is_tight(weight, inverse, i, j, green_error):
                    continue
                difference = soft[i] - soft[j]
                for k in range(n_metrics):
                    change = weight * (between[k, i, j] - means[k]) * difference
                    changes[k, i] += change
                    changes[k, j] -= change
                size = weight * extent(between, i, j, means, moves) * abs(difference)
                moduli[i] += size
                moduli[j] += size
        for j in range(n_labelled):
            if to[i, j] > -FIXED:
                weight = math.exp(to[i, j])
                difference = soft[i] - (1.0 if class_of[j] == column else 0.0)
                for k in range(n_metrics):
                    changes[k, i] += weight * (to_labelled[k, i, j] - means[k]) * difference
                size = extent(to_labelled, i, j, means, moves)
                moduli[i] += weight * size * abs(difference)
    return changes, moduli


@njit(cache=True, nogil=True)
def responses(between, among, means, moves, soft, inverse, green_error, changes, moduli):
    """Linear parts (vertices, n) of a soft label at the vertices of the box, and their error."""
    n = inverse.shape[0]
    n_metrics = changes.shape[0]
    slopes = np.zeros((n_metrics, n))
    error = np.zeros(n)
    for k in range(n_metrics):
        _apply(inverse, changes[k], slopes[k])
    _apply(inverse, moduli, error)
    for u in range(n):
        error[u] *= green_error
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] <= -FIXED:
                continue
            weight = math.exp(among[i, j])
            if not _is_tight(weight, inverse, i, j, green_error):
                continue
            # The current through an edge is at most 1.
            most = SLACK / weight
            size = weight * extent(between, i, j, means, moves) * abs(soft[i] - soft[j])
            for u in range(n):
                drop = min(max(inverse[i, u] - inverse[j, u], -most), most)
                unsure = min(green_error * (inverse[i, u] + inverse[j, u]) + UNDERFLOW, 2.0 * most)
                error[u] += size * unsure
                for k in range(n_metrics):
                    change = weight * (between[k, i, j] - means[k]) * (soft[i] - soft[j])
                    slopes[k, u] += change * drop
    linear = np.zeros((moves.shape[0], n))
    for v in range(moves.shape[0]):
        for k in range(n_metrics):
            for u in range(n):
                linear[v, u] += moves[v, k] * slopes[k, u]
    return linear, error


@njit(cache=True, nogil=True)
def _apply(matrix, vector, result):
    """Add ``vector @ matrix`` to ``result``, row by row: the same bits on every machine."""
    for i in range(matrix.shape[0]):
        value = vector[i]
        row = matrix[i]
        for u in range(matrix.shape[1]):
            result[u] += value * row[u]


@njit(cache=True, nogil=True)
def _change(log_weight, reach):
    """Bound of the change of a weight on the box."""
    if reach < 0.5:
        return math.exp(log_weight) * math.expm1(reach)
    return math.exp(log_weight + reach)


@njit(cache=True, nogil=True)
def _curve(log_weight, reach):
    """Bound of the change of a weight on the box beyond the first order."""
    if reach < 0.5:
        return math.exp(log_weight) * reach * reach / (2.0 - reach / 1.5)
    return math.exp(log_weight + reach)


@njit(cache=True, nogil=True)
def transfer(among, to, reach, reach_to, inverse, green_error, needed):
    """M[i, u]: how much an error of one at node i can move node u, by changes of weights at i."""
    n, n_labelled = to.shape
    matrix = np.zeros((n, n))
    for i in range(n):
        row = matrix[i]
        for j in range(i + 1, n):
            if among[i, j] <= -FIXED:
                continue
            change = _change(among[i, j], reach[i, j])
            first, second, column = inverse[i], inverse[j], matrix[j]
            if among[i, j] + reach[i, j] < -needed - WEAK:
                for u in range(n):
                    part = change * max(first[u], second[u])
                    row[u] += part
                    column[u] += part
                continue
            most = math.exp(-among[i, j])
            for u in range(n):
                slope = abs(first[u] - second[u]) + green_error * (first[u] + second[u])
                part = change * min(slope + UNDERFLOW, most)
                row[u] += part
                column[u] += part
        own = 0.0
        for j in range(n_labelled):
            if to[i, j] > -FIXED:
                own += _change(to[i, j], reach_to[i, j])
        for u in range(n):
            row[u] += own * inverse[i, u]
    return SLACK * matrix


@njit(cache=True, nogil=True)
def remainders(
    among, to, reach, reach_to, class_of, column, soft, linear, linear_error, inverse, matrix,
    soft_error, green_error, rounding, needed,
):  # fmt: skip
    """How far a soft label can be from its linear model on the box, for every node."""
    n, n_labelled = to.shape
    n_vertices = linear.shape[0]
    # Errors of the linear parts, for the differences that enter the next order.
    noise = linear_error.copy()
    for i in range(n):
        for u in range(n):
            noise[u] += (2.0 * soft_error + REACH_ROUNDING + WEIGHT_ERROR) * matrix[i, u]
    errors, own = linear_error.copy(), np.zeros(n)
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] <= -FIXED:
                continue
            step = 0.0
            for v in range(n_vertices):
                step = max(step, abs(linear[v, i] - linear[v, j]))
            difference = abs(soft[i] - soft[j]) + 2.0 * soft_error
            weight = math.exp(among[i, j])
            charge = _curve(among[i, j], reach[i, j]) * difference
            charge += _change(among[i, j], reach[i, j]) * (step + noise[i] + noise[j])
            charge += weight * reach[i, j] * (2.0 * soft_error + WEIGHT_ERROR * difference)
            charge += weight * rounding * difference
            if among[i, j] + reach[i, j] < -needed - WEAK:
                own[i] += charge
                own[j] += charge
                continue
            first, second = inverse[i], inverse[j]
            most = math.exp(-among[i, j])
            for u in range(n):
                slope = abs(first[u] - second[u]) + green_error * (first[u] + second[u])
                errors[u] += charge * min(slope + UNDERFLOW, most)
        for j in range(n_labelled):
            if to[i, j] <= -FIXED:
                continue
            step = 0.0
            for v in range(n_vertices):
                step = max(step, abs(linear[v, i]))
            difference = abs(soft[i] - (1.0 if class_of[j] == column else 0.0)) + soft_error
            weight = math.exp(to[i, j])
            charge = _curve(to[i, j], reach_to[i, j]) * difference
            charge += _change(to[i, j], reach_to[i, j]) * (step + noise[i])
            charge += weight * reach_to[i, j] * (soft_error + WEIGHT_ERROR * difference)
            charge += weight * rounding * difference
            own[i] += charge
    _apply(inverse, own, errors)
    for u in range(n):
        errors[u] *= SLACK
    return _fixed_point(matrix, errors, linear, noise, soft_error)


@njit(cache=True, nogil=True)
def _fixed_point(matrix, errors, linear, noise, soft_error):
    """Improve the trivial bound of the error by ``error <= errors + error @ matrix``."""
    n = len(errors)
    bound = 1.0 + noise
    for v in range(linear.shape[0]):
        for u in range(n):
            bound[u] = max(bound[u], 1.0 + noise[u] + abs(linear[v, u]))
    for _ in range(ROUNDS):
        better = np.zeros(n)
        _apply(matrix, bound, better)
        gained = False
        for u in range(n):
            value = SLACK * better[u] + errors[u]
            if value < bound[u]:
                gained = gained or value < 0.99 * bound[u]
                bound[u] = value
        if not gained:
            break
    for u in range(n):
        bound[u] += soft_error
    return bound


@njit(cache=True, nogil=True)
def soft_models(
    between, to_labelled, is_edge, is_edge_to_labelled, class_of, soft, weights, sums, rates, moves,
    shift, needed, soft_error, green_error, rounding,
):  # fmt: skip
    """Linear models of all soft labels on a box around ``rates``.

    ``weights`` and ``sums`` are what `gth.eliminate` has left at the centre, ``soft`` the soft
    labels there, and ``moves`` (vertices, n_metrics) lead from it to the vertices of the box.

    Returns values at the vertices (vertices, n, classes), their errors (n, classes), covariances
    of the distances, and whether there are models.
    """
    n, n_classes = soft.shape
    inverse = green_functions(weights, sums)
    among, to = log_weights(between, to_labelled, is_edge, is_edge_to_labelled, rates, shift)
    means, spread = moments(between, to_labelled, among, to, inverse)
    values = np.empty((moves.shape[0], n, n_classes))
    errors = np.empty((n, n_classes))
    reach, reach_to, good = reaches(between, to_labelled, among, to, means, moves, rounding)
    if not good:
        return values, errors, spread, False
    matrix = transfer(among, to, reach, reach_to, inverse, green_error, needed)
    # The soft labels of two classes sum to 1.
    for column in range(1 if n_classes == 2 else 0, n_classes):
        own = soft[:, column].copy()
        changes, moduli = residuals(
            between, to_labelled, among, to, means, moves, class_of, column, own, inverse,
            green_error,
        )  # fmt: skip
        linear, lost = responses(
            between, among, means, moves, own, inverse, green_error, changes, moduli
        )
        errors[:, column] = remainders(
            among, to, reach, reach_to, class_of, column, own, linear, lost, inverse, matrix,
            soft_error, green_error, rounding, needed,
        )  # fmt: skip
        for v in range(moves.shape[0]):
            for u in range(n):
                values[v, u, column] = own[u] + linear[v, u]
    if n_classes == 2:
        values[:, :, 0] = 1.0 - values[:, :, 1]
        errors[:, 0] = errors[:, 1]
    return values, errors, spread, True
