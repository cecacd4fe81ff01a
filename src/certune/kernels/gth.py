"""Harmonic functions on a weighted graph by elimination without subtraction.

The unlabelled nodes of a graph are eliminated one after the other (Grassmann, Taksar and Heyman):
taking node k away puts the weight ``w_ik w_kj / s_k`` on every pair of its neighbours, where
``s_k`` is the sum of the weights at k.  Nothing is ever subtracted, so tightly bound groups of
nodes, for which Gaussian elimination cancels completely, keep their full relative accuracy.
The labelled nodes of one class act as one node, a column of ``classes``.

Only the part of a row above the diagonal is stored and used, so that every edge has one value and
the rounded graph stays symmetric; the error bound of `certune.families.graph_ssl.rounding` needs
that.  Sums over a row are compensated.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.series import exponentials

_TINY = 2.0**-960
_SPLITTER = 134217729.0  # 2**27 + 1: halves of a product are exact (Dekker)


@njit(cache=True, nogil=True)
def exponent_row(distances, rates, rate_errors, shift, high, low, count):
    """``shift - sum_k (rates + rate_errors)[k] * distances[k]`` as unevaluated sums high + low.

    Twice the precision of a double: products by Dekker's and sums by Knuth's algorithm.
    """
    for j in range(count):
        high[j] = shift
        low[j] = 0.0
    for k in range(len(rates)):
        rate = -rates[k]
        error = -rate_errors[k]
        if rate == 0.0 and error == 0.0:
            continue
        scaled = _SPLITTER * rate
        rate_top = scaled - (scaled - rate)
        rate_rest = rate - rate_top
        row = distances[k]
        for j in range(count):
            d = row[j]
            product = rate * d
            parts = _SPLITTER * d
            top = parts - (parts - d)
            rest = d - top
            remainder = (
                (rate_top * top - product) + rate_top * rest + rate_rest * top
            ) + rate_rest * rest
            total = high[j] + product
            part = total - high[j]
            lost = (high[j] - (total - part)) + (product - part)
            low[j] += lost + (remainder + error * d)
            high[j] = total


@njit(cache=True, nogil=True)
def fill_weights(
    between, to_labelled, is_edge, is_edge_to_labelled, class_of, rates, rate_errors, shift,
    weights, classes,
):  # fmt: skip
    """Weights ``exp(shift - sum_k rates[k] distances[k])`` of the graph, within 8 UNIT.

    ``weights`` receives the edges between unlabelled nodes above the diagonal, ``classes`` the
    total weight from each of them to the labelled nodes of each class.  Exponents below -700 are
    taken as -700: callers choose the shift so that this does not matter.
    """
    n, n_labelled = to_labelled.shape[1:]
    size = max(n, n_labelled)
    high, low = np.empty(size), np.empty(size)
    scales = np.empty(size, dtype=np.int64)
    lost = np.empty(classes.shape[1])
    for i in range(n):
        count = n - i - 1
        exponent_row(between[:, i, i + 1 :], rates, rate_errors, shift, high, low, count)
        exponentials(high, scales, count)
        row, linked = weights[i, i + 1 :], is_edge[i, i + 1 :]
        for j in range(count):
            row[j] = (high[j] + high[j] * low[j]) * linked[j]
        exponent_row(to_labelled[:, i], rates, rate_errors, shift, high, low, n_labelled)
        exponentials(high, scales, n_labelled)
        classes[i] = 0.0
        lost[:] = 0.0
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                c = class_of[j]
                term = (high[j] + high[j] * low[j]) - lost[c]
                total = classes[i, c] + term
                lost[c] = (total - classes[i, c]) - term
                classes[i, c] = total


@njit(cache=True, nogil=True)
def _row_sum(row, columns):
    """Sum of non-negative numbers, compensated: within 2 UNIT."""
    total, lost = 0.0, 0.0
    for values in (columns, row):
        for j in range(len(values)):
            term = values[j] - lost
            raised = total + term
            lost = (raised - total) - term
            total = raised
    return total


@njit(cache=True, nogil=True)
def _pass_on(weights, classes, sums, p, i):
    """What node i gets when p is eliminated, with quotients that cannot vanish by underflow.

    The plain order, ``(w_pi / s_p) w_pj``, loses everything if the quotient underflows while w_pj
    is large; the other order loses at most what is negligible.
    """
    own = weights[p, i]
    if own == 0.0:
        return
    for j in range(i + 1, len(sums)):
        weights[i, j] += own * (weights[p, j] / sums[p])
    for c in range(classes.shape[1]):
        classes[i, c] += own * (classes[p, c] / sums[p])


@njit(cache=True, nogil=True)
def eliminate(weights, classes, sums):
    """Eliminate all nodes in place; row k becomes the weights at node k when it was taken away.

    Four nodes at a time, so that the rest of the graph passes through memory once for four.
    Returns False if some node has no weight left.
    """
    n, n_classes = classes.shape
    for start in range(0, n, 4):
        stop = min(start + 4, n)
        for p in range(start, stop):
            sums[p] = _row_sum(weights[p, p + 1 :], classes[p])
            if not sums[p] > 0.0:
                return False
            for i in range(p + 1, stop):
                share = weights[p, i] / sums[p]
                if share < _TINY:
                    _pass_on(weights, classes, sums, p, i)
                    continue
                for j in range(i + 1, n):
                    weights[i, j] += share * weights[p, j]
                for c in range(n_classes):
                    classes[i, c] += share * classes[p, c]
        if stop - start < 4:
            break
        first, second, third, fourth = (
            weights[start], weights[start + 1], weights[start + 2], weights[start + 3],
        )  # fmt: skip
        for i in range(stop, n):
            a = first[i] / sums[start]
            b = second[i] / sums[start + 1]
            c = third[i] / sums[start + 2]
            d = fourth[i] / sums[start + 3]
            # A share of a positive weight may be 0 itself, so that weights say what is there.
            if (
                (a < _TINY and first[i] > 0.0)
                or (b < _TINY and second[i] > 0.0)
                or (c < _TINY and third[i] > 0.0)
                or (d < _TINY and fourth[i] > 0.0)
            ):
                for p in range(start, stop):
                    _pass_on(weights, classes, sums, p, i)
                continue
            row = weights[i]
            for j in range(i + 1, n):
                row[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
            for k in range(n_classes):
                classes[i, k] += (a * classes[start, k] + b * classes[start + 1, k]) + (
                    c * classes[start + 2, k] + d * classes[start + 3, k]
                )
    return True


@njit(cache=True, nogil=True)
def substitute(weights, classes, sums, soft):
    """Harmonic functions ``soft[i, c]`` (1 on class c, 0 on the others) after `eliminate`.

    Weights are divided by their sum first: a term then underflows only if the result does.
    """
    n, n_classes = classes.shape
    shares = np.empty(n)
    for i in range(n - 1, -1, -1):
        own = sums[i]
        for j in range(i + 1, n):
            shares[j] = weights[i, j] / own
        for c in range(n_classes):
            total, lost = classes[i, c] / own, 0.0
            for j in range(i + 1, n):
                term = shares[j] * soft[j, c] - lost
                raised = total + term
                lost = (raised - total) - term
                total = raised
            soft[i, c] = total


@njit(cache=True, nogil=True)
def solve_grounded(weights, sums, right):
    """Solve the grounded Laplacian system for right-hand sides (n, m), in place.

    Each entry is within a small multiple of what the moduli of the right-hand side would give,
    because the inverse of the matrix and of its factors have no negative entries.
    """
    n = len(sums)
    for i in range(n):
        for j in range(i + 1, n):
            share = weights[i, j] / sums[i]
            for c in range(right.shape[1]):
                right[j, c] += share * right[i, c]
    for i in range(n - 1, -1, -1):
        for c in range(right.shape[1]):
            total = right[i, c]
            for j in range(i + 1, n):
                total += weights[i, j] * right[j, c]
            right[i, c] = total / sums[i]


@njit(cache=True, nogil=True)
def inverse_diagonal(weights, sums):
    """Diagonal of the inverse of the grounded Laplacian after `eliminate`.

    The Laplacian is ``L diag(sums) L'`` with ``L_ik = -weights[k, i] / sums[k]``, so that the
    inverse of L has no negative entry and is found without subtraction too.
    """
    n = len(sums)
    inverse = np.zeros((n, n))
    diagonal = np.zeros(n)
    for k in range(n):
        row = inverse[k]
        for m in range(k):
            share = weights[m, k] / sums[m]
            other = inverse[m]
            for j in range(m + 1):
                row[j] += share * other[j]
        row[k] = 1.0
        for j in range(k + 1):
            diagonal[j] += row[j] * row[j] / sums[k]
    return diagonal


@njit(cache=True, nogil=True)
def green_functions(weights, sums):
    """Inverse of the grounded Laplacian after `gth.eliminate`, without subtraction."""
    n = len(sums)
    inverse = np.zeros((n, n))
    for k in range(n - 1, -1, -1):
        row = inverse[k]
        for i in range(k + 1, n):
            share = weights[k, i] / sums[k]
            if share > 0.0:
                other = inverse[i]
                for j in range(k + 1, n):
                    row[j] += share * other[j]
        own = 1.0 / sums[k]
        for i in range(k + 1, n):
            own += weights[k, i] / sums[k] * row[i]
        row[k] = own
        for j in range(k + 1, n):
            inverse[j, k] = row[j]
    return inverse


@njit(cache=True, nogil=True)
def class_energies(classes, sums):
    """Dirichlet energy of each harmonic function after `eliminate`: conductance to the rest."""
    n, n_classes = classes.shape
    energies = np.zeros(n_classes)
    for k in range(n):
        for c in range(n_classes):
            others = 0.0
            for d in range(n_classes):
                if d != c:
                    others += classes[k, d]
            energies[c] += classes[k, c] / sums[k] * others
    return energies
