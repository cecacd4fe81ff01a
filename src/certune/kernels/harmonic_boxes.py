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

# Edges below exp(-FIXED) of the largest weight count as constant on a box.
FIXED = 650.0
# Exponents of edges above exp(-STRONG) may change by LARGEST_REACH at most; no edge may grow beyond
# exp(GROWTH) times the largest weight at the centre, and no constant one beyond exp(-HARMLESS).
STRONG, LARGEST_REACH = 300.0, 60.0
GROWTH, HARMLESS = 40.0, 500.0
# Edges this much below all that are needed, in logarithms, are bounded node by node.
WEAK = 30.0
# Relative error of a weight, and slack for sums of non-negative terms.
WEIGHT_ERROR, SLACK = 1e-12, 1.0 + 1e-9
# Green functions are accurate relatively, and where products underflow up to this.
UNDERFLOW = 1e-40


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
def log_weights(between, to_labelled, is_edge, is_edge_to_labelled, rates, shift):
    """Logarithms of the weights, shifted; -inf without an edge. Above the diagonal, and to labels."""
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
                reach[i, j] = _reach(between, i, j, means, moves) + rounding
                if not _has_model(among[i, j], reach[i, j]):
                    return reach, reach_to, False
        for j in range(n_labelled):
            if to[i, j] > -np.inf:
                reach_to[i, j] = _reach(to_labelled, i, j, means, moves) + rounding
                if not _has_model(to[i, j], reach_to[i, j]):
                    return reach, reach_to, False
    return reach, reach_to, True


@njit(cache=True, nogil=True)
def residuals(between, to_labelled, among, to, means, reach, reach_to, class_of, column, soft):
    """What a change of every rate does to the balance of the nodes, and sums for its rounding.

    Returns r (n_metrics, n), its moduli for the whole box (n,), and the sums over all edges of
    weight times squared change, and times squared difference of the soft label.
    """
    n_metrics, n, n_labelled = to_labelled.shape
    changes = np.zeros((n_metrics, n))
    moduli = np.zeros(n)
    energy, dirichlet = 0.0, 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] > -FIXED:
                weight = math.exp(among[i, j])
                difference = soft[i] - soft[j]
                for k in range(n_metrics):
                    change = weight * (between[k, i, j] - means[k]) * difference
                    changes[k, i] += change
                    changes[k, j] -= change
                size = weight * reach[i, j]
                moduli[i] += size * abs(difference)
                moduli[j] += size * abs(difference)
                energy += size * reach[i, j]
                dirichlet += weight * difference * difference
        for j in range(n_labelled):
            if to[i, j] > -FIXED:
                weight = math.exp(to[i, j])
                difference = soft[i] - (1.0 if class_of[j] == column else 0.0)
                for k in range(n_metrics):
                    changes[k, i] += weight * (to_labelled[k, i, j] - means[k]) * difference
                size = weight * reach_to[i, j]
                moduli[i] += size * abs(difference)
                energy += size * reach_to[i, j]
                dirichlet += weight * difference * difference
    return changes, moduli, energy, dirichlet


@njit(cache=True, nogil=True)
def responses(inverse, changes, moves):
    """Linear parts (vertices, n) of a soft label at the vertices of the box."""
    n = inverse.shape[0]
    slopes = np.zeros((changes.shape[0], n))
    for k in range(changes.shape[0]):
        slope = slopes[k]
        for i in range(n):
            change = changes[k, i]
            row = inverse[i]
            for u in range(n):
                slope[u] += change * row[u]
    linear = np.zeros((moves.shape[0], n))
    for v in range(moves.shape[0]):
        for k in range(moves.shape[1]):
            for u in range(n):
                linear[v, u] += moves[v, k] * slopes[k, u]
    return linear


@njit(cache=True, nogil=True)
def _edge_terms(log_weight, reach, first, step, soft_error, rounding):
    """Coefficients of an edge: s for |grad G|, q for the norm N, and t for |grad G|^2."""
    weight = math.exp(log_weight)
    if reach < 0.5:
        curve = weight * reach * reach / (2.0 - reach / 1.5)
        change = weight * math.expm1(reach)
        root = math.sqrt(weight)
        bent = root * 0.5 * reach * reach * math.exp(0.5 * reach)
        moved = root * 2.0 * math.sinh(0.5 * reach)
    else:
        curve = change = math.exp(log_weight + reach)
        moved = math.exp(0.5 * (log_weight + reach))
        bent = moved * 0.5 * reach * reach
    s = curve * first + change * step + weight * (2.0 * soft_error * reach)
    s += weight * (rounding + WEIGHT_ERROR * reach) * first
    return s, bent * first + moved * step, moved * moved


@njit(cache=True, nogil=True)
def remainders(
    among, to, reach, reach_to, class_of, column, soft, linear, inverse, nodes, moduli, energy,
    dirichlet, soft_error, green_error, rounding, needed,
):  # fmt: skip
    """How far a soft label can be from its linear model on the box, for some nodes."""
    n, n_labelled = to.shape
    n_vertices, m = linear.shape[0], len(nodes)
    green = np.empty((n, m))
    for i in range(n):
        for u in range(m):
            green[i, u] = inverse[i, nodes[u]]
    # Error of the linear part at every node, for the differences that enter the next order.
    noise = np.empty(n)
    spread = 2.0 * soft_error * math.sqrt(energy) + 2.0 * rounding * math.sqrt(dirichlet)
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += inverse[i, j] * moduli[j]
        noise[i] = spread * math.sqrt(inverse[i, i]) + (green_error + WEIGHT_ERROR) * total
    by_edges, squares = np.zeros(m), np.zeros(m)
    own, own_squares = np.zeros(n), np.zeros(n)  # bounded by the Green functions themselves
    all_of, all_squares = np.zeros(n), np.zeros(n)  # for the rounding of Green functions
    norm = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if among[i, j] <= -FIXED:
                continue
            step = 0.0
            for v in range(n_vertices):
                step = max(step, abs(linear[v, i] - linear[v, j]))
            s, q, t = _edge_terms(
                among[i, j], reach[i, j], abs(soft[i] - soft[j]) + 2.0 * soft_error,
                step + noise[i] + noise[j], soft_error, rounding,
            )  # fmt: skip
            norm += q * q
            for node in (i, j):
                all_of[node] += s
                all_squares[node] += 2.0 * t
            if among[i, j] + reach[i, j] < -needed - WEAK:
                for node in (i, j):
                    own[node] += s
                    own_squares[node] += 2.0 * t
                continue
            first, second = green[i], green[j]
            for u in range(m):
                slope = abs(first[u] - second[u])
                by_edges[u] += s * slope
                squares[u] += t * slope * slope
        for j in range(n_labelled):
            if to[i, j] <= -FIXED:
                continue
            step = 0.0
            for v in range(n_vertices):
                step = max(step, abs(linear[v, i]))
            value = 1.0 if class_of[j] == column else 0.0
            s, q, t = _edge_terms(
                to[i, j], reach_to[i, j], abs(soft[i] - value) + 2.0 * soft_error,
                step + noise[i], soft_error, rounding,
            )  # fmt: skip
            norm += q * q
            own[i] += s
            own_squares[i] += t
            all_of[i] += s
            all_squares[i] += t
    norm = math.sqrt(norm)
    result = np.empty(m)
    for u in range(m):
        charged, lost, sure, square, whole = 0.0, 0.0, 0.0, squares[u], 0.0
        for i in range(n):
            value = green[i, u]
            charged += own[i] * value
            lost += moduli[i] * value
            sure += all_of[i] * (green_error * value + UNDERFLOW)
            square += own_squares[i] * value * value
            whole += all_squares[i] * value * value
        distance = math.sqrt(square) + green_error * math.sqrt(whole)
        result[u] = SLACK * (
            by_edges[u] + charged + sure + norm * distance + green_error * lost + soft_error
        )
    return result


@njit(cache=True, nogil=True)
def conflicts(room):
    """A maximal set of disjoint pairs of rows that are nowhere on the box both >= 0.

    ``room`` (rows, vertices) are linear functions by their values at the vertices.  Two of them
    exclude each other if a mixture of both is negative at every vertex.  Returns the number.
    """
    m, n_vertices = room.shape
    taken = np.zeros(m, np.bool_)
    count = 0
    for a in range(m):
        for b in range(a + 1, m):
            if taken[a]:
                break
            if not taken[b] and _exclude(room[a], room[b], n_vertices):
                taken[a] = taken[b] = True
                count += 1
    return count


@njit(cache=True, nogil=True)
def _exclude(first, second, n_vertices):
    """Is some mixture of two rows negative everywhere? The best one balances two vertices."""
    for v in range(n_vertices):
        for w in range(v):
            slope_v = second[v] - first[v]
            slope_w = second[w] - first[w]
            if slope_v == slope_w:
                continue
            share = (first[v] - first[w]) / (slope_w - slope_v)
            if not 0.0 < share < 1.0:
                continue
            negative = True
            for x in range(n_vertices):
                mixed = (1.0 - share) * first[x] + share * second[x]
                if mixed > -1e-12 * (abs(first[x]) + abs(second[x])):
                    negative = False
                    break
            if negative:
                return True
    return False
