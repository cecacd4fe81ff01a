"""How far the weights of a graph can move on a box of rates.

The weight of an edge is exp(-sum_k rate_k distance_k).  A common factor of all weights changes no
soft label, so that distances count relatively to a mean.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Edges below exp(-FIXED) of the largest weight count as constant on a box.
FIXED = 650.0
# Exponents of edges above exp(-STRONG) may change by LARGEST_REACH at most; no edge may grow beyond
# exp(GROWTH) times the largest weight at the centre, and no constant one beyond exp(-HARMLESS).
STRONG, LARGEST_REACH = 300.0, 60.0
GROWTH, HARMLESS = 40.0, 500.0
# Reaches are enlarged so far that this share of them covers the rounding of an exponent.
REACH_ROUNDING = 2.0**-20


@njit(cache=True, nogil=True)
def log_weights(between, to_labelled, is_edge, is_edge_to_labelled, rates, shift):
    """Shifted logarithms of weights above the diagonal and to labels; -inf without an edge."""
    n, n_labelled = to_labelled.shape[1:]
    among = np.full((n, n), -np.inf)
    to = np.full((n, n_labelled), -np.inf)
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j]:
                total = shift
                for k in range(len(rates)):
                    total -= rates[k] * between[k, i, j]
                among[i, j] = total
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                total = shift
                for k in range(len(rates)):
                    total -= rates[k] * to_labelled[k, i, j]
                to[i, j] = total
    return among, to


@njit(cache=True, nogil=True)
def moments(between, to_labelled, among, to, inverse):
    """Means and covariances of the distances over a random spanning forest.

    An edge has Kirchhoff's share, weight times resistance.  Taking the means away from the
    distances is a common factor of all weights, which changes no label and keeps exponents small.
    """
    n_metrics, n, n_labelled = to_labelled.shape
    means = np.zeros(n_metrics)
    products = np.zeros((n_metrics, n_metrics))
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] > -FIXED:
                resistance = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]
                share = math.exp(among[i, j]) * max(resistance, 0.0)
                total += share
                _add_moments(between[:, i, j], share, means, products)
        for j in range(n_labelled):
            if to[i, j] > -FIXED:
                share = math.exp(to[i, j]) * inverse[i, i]
                total += share
                _add_moments(to_labelled[:, i, j], share, means, products)
    means /= total
    for k in range(n_metrics):
        for m in range(n_metrics):
            products[k, m] = products[k, m] / total - means[k] * means[m]
    return means, products


@njit(cache=True, nogil=True)
def _add_moments(distances, share, means, products):
    for k in range(len(distances)):
        means[k] += share * distances[k]
        for m in range(len(distances)):
            products[k, m] += share * distances[k] * distances[m]


@njit(cache=True, nogil=True)
def _reach(distances, i, j, means, moves):
    """Largest change of the exponent of an edge over the vertices of the box."""
    largest = 0.0
    for v in range(moves.shape[0]):
        change = 0.0
        for k in range(moves.shape[1]):
            change += moves[v, k] * (distances[k, i, j] - means[k])
        largest = max(largest, abs(change))
    return largest


@njit(cache=True, nogil=True)
def extent(distances, i, j, means, moves):
    """Bound of the terms of which the change of an exponent is the sum."""
    largest = 0.0
    for v in range(moves.shape[0]):
        total = 0.0
        for k in range(moves.shape[1]):
            total += abs(moves[v, k] * (distances[k, i, j] - means[k]))
        largest = max(largest, total)
    return largest


@njit(cache=True, nogil=True)
def _has_model(log_weight, reach):
    if log_weight <= -FIXED:
        return log_weight + reach <= -HARMLESS
    if log_weight >= -STRONG and reach > LARGEST_REACH:
        return False
    return log_weight + reach <= GROWTH


@njit(cache=True, nogil=True)
def reaches(between, to_labelled, among, to, means, moves, rounding):
    """Largest changes of all exponents on the box; False if one is too large for a model."""
    n, n_labelled = to.shape
    reach = np.zeros((n, n))
    reach_to = np.zeros((n, n_labelled))
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] > -np.inf:
                reach[i, j] = _reach(between, i, j, means, moves) + rounding / REACH_ROUNDING
                if not _has_model(among[i, j], reach[i, j]):
                    return reach, reach_to, False
        for j in range(n_labelled):
            if to[i, j] > -np.inf:
                reach_to[i, j] = _reach(to_labelled, i, j, means, moves)
                reach_to[i, j] += rounding / REACH_ROUNDING
                if not _has_model(to[i, j], reach_to[i, j]):
                    return reach, reach_to, False
    return reach, reach_to, True
