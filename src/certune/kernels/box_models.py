"""First-order models of linkage values on a box of parameters, with a proved remainder.

On a box with centre c every pair of points has one smooth value w(p) (``sec:linkage``).  A model
says |w(p) - v - (linear part)| <= rho there.  Its record is ``v``, one number for every interval
of the box (the linear part at its upper end; at the lower end it is the negative), one number for
every vertex of a simplex of weights, and ``rho``.  Records of cluster pairs are averages of
records (power-mean and product linkage) or enclosures of minima and maxima (min-max linkage).

Values are multiplied by the sense of the order, so that smaller is always nearer, and by a common
positive function of the parameters, which does not change any order but keeps linear parts small.
``rho`` also covers every rounding error up to and including a comparison of two records; the
derivation is in ``docs/theory/branch-and-bound.md``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.box_orders import UNCERTAIN, take_extreme
from certune.kernels.series import UNIT

WEIGHTED = 0  # value = (sum_l beta_l delta_l)^alpha
PRODUCT = 1  # value = prod_l delta_l^alpha_l

LARGEST_EXPONENT = 1.5  # an exponent that moves more than this on the box has no useful model
LARGEST_SHARE = 0.5  # nor has a distance that changes by more than this share


@njit(cache=True, nogil=True)
def features(mode, data, vertices, labels, rows):
    """Logarithm at the centre and linear parts of all pairs of points in different clusters.

    ``data`` are distances and ``vertices`` weights (WEIGHTED), or logarithms of distances, centre
    and half widths of the exponents (PRODUCT).  A row gets: the logarithm of the value at
    alpha = 1; its linear parts, one for an interval, m for a simplex with m > 2 vertices; and the
    largest absolute linear part.  Returns the number of rows.
    """
    n_metrics, n = data.shape[0], data.shape[1]
    m = vertices.shape[0]
    count = 0
    for a in range(n):
        for b in range(a):
            if labels[a] == labels[b]:
                continue
            row = rows[count]
            count += 1
            if mode == PRODUCT:
                total = 0.0
                reach = 0.0
                lane = 1
                for i in range(n_metrics):
                    total += vertices[0, i] * data[i, a, b]
                    if vertices[1, i] > 0.0:
                        part = vertices[1, i] * data[i, a, b]
                        row[lane] = part
                        reach += abs(part)
                        lane += 1
                row[0] = total
                row[lane] = reach
                continue
            for k in range(m):
                distance = 0.0
                for i in range(n_metrics):
                    distance += vertices[k, i] * data[i, a, b]
                row[1 + k] = distance
    if mode == WEIGHTED:
        _normalise(rows, count, m)
    return count


@njit(cache=True, nogil=True)
def _normalise(rows, count, m):
    """Turn the distances at the m vertices into the features of a row.

    Distances at a vertex are divided by their mean: this amounts to a projective change of the
    barycentric coordinates, which maps the simplex onto itself, and to a common factor.
    """
    means = np.zeros(m)
    for i in range(count):
        for k in range(m):
            means[k] += rows[i, 1 + k]
    means /= max(1, count)
    for i in range(count):
        row = rows[i]
        centre = 0.0
        for k in range(m):
            row[1 + k] /= means[k]
            centre += row[1 + k]
        centre /= m
        row[0] = math.log(centre)
        if m == 1:
            row[1] = 0.0
        elif m == 2:
            row[1] = 0.5 * (row[2] - row[1]) / centre
            row[2] = abs(row[1])
        else:
            reach = 0.0
            for k in range(m):
                row[1 + k] = row[1 + k] / centre - 1.0
                reach = max(reach, abs(row[1 + k]))
            row[1 + m] = reach


@njit(cache=True, nogil=True)
def middles(rows, count, tilts):
    """Middle of the range of every column: the common factor that keeps linear parts small."""
    for c in range(tilts.size):
        low = np.inf
        high = -np.inf
        for i in range(count):
            low = min(low, rows[i, c])
            high = max(high, rows[i, c])
        tilts[c] = 0.5 * low + 0.5 * high


@njit(cache=True, nogil=True)
def mean_parts(rows, count, tilts, n_linear):
    """Mean absolute deviation of the logarithm and of every linear part, then of their edges.

    They say how much it would help to halve the box in each direction.
    """
    shares = np.zeros(1 + n_linear + n_linear * (n_linear - 1) // 2)
    for i in range(count):
        row = rows[i]
        shares[0] += abs(row[0] - tilts[0])
        edge = 1 + n_linear
        for c in range(n_linear):
            part = row[1 + c] - tilts[1 + c]
            shares[1 + c] += abs(part)
            for b in range(c):
                shares[edge] += 0.5 * abs(part - row[1 + b] + tilts[1 + b])
                edge += 1
    return shares / max(1, count)


@njit(cache=True, nogil=True)
def power_record(row, tilts, alpha, half, n_linear, n_simplex, sense, error, record):
    """Record of the value exp(alpha (log - tilt)) of a pair; returns False if there is none.

    With the exponent x + y, |y| <= Y, and y2 its part that is not linear:
    exp(y) - 1 - (linear part) = (exp(y) - 1 - y) + y2, and 0 <= exp(y) - 1 - y <= ey.
    """
    share = row[n_linear + 1]
    if not share <= LARGEST_SHARE:
        return False
    lane = 1
    linear = 0.0
    if half > 0.0:
        part = half * (row[0] - tilts[0])
        record[lane] = part
        linear += abs(part)
        lane += 1
    largest = 0.0
    tilt = 0.0
    for c in range(n_linear):
        part = alpha * (row[1 + c] - tilts[1 + c])
        record[lane] = part
        largest = max(largest, abs(part))
        tilt = max(tilt, abs(tilts[1 + c]))
        lane += 1
    bend = abs(alpha) * share * share / (2.0 * (1.0 - share))
    cross = half * share / (1.0 - share)
    reach = linear + largest + bend + cross
    if not reach <= LARGEST_EXPONENT:
        return False
    excess = reach * reach / (2.0 - reach / 1.5)
    low = -cross - (bend if alpha > 0.0 else 0.0)
    high = excess + cross + (bend if alpha < 0.0 else 0.0)
    value = math.exp(alpha * (row[0] - tilts[0]))
    _finish(record, lane, value, sense, low, high, error)
    turn = math.exp(reach) / (1.0 - share) - 1.0
    moves = abs(alpha) * (share + tilt) * turn + half * share * (1.0 + turn)
    record[lane + 1] = 2.0 * value * (moves + error)
    return True


@njit(cache=True, nogil=True)
def _finish(record, lane, value, sense, low, high, error):
    """Scale the linear parts, and put the middle of the remainder into the value."""
    for c in range(1, lane):
        record[c] *= sense * value
    record[0] = sense * value * (1.0 + 0.5 * (low + high))
    record[lane] = value * (0.5 * (high - low) + error)


@njit(cache=True, nogil=True)
def product_record(row, tilts, scale, half, n_linear, sense, error, record):
    """Record of a product of powers whose exponents are s times a box; False if there is none.

    ``scale`` and ``half`` are centre and half width of s. The logarithm is bilinear: what is not
    linear is at most half * share.
    """
    lane = 1
    reach = 0.0
    if half > 0.0:
        record[lane] = half * (row[0] - tilts[0])
        reach += abs(record[lane])
        lane += 1
    share = 0.0
    for c in range(n_linear):
        part = row[1 + c] - tilts[1 + c]
        record[lane] = scale * part
        share += abs(part)
        lane += 1
    cross = half * share
    reach += scale * share + cross
    if not reach <= LARGEST_EXPONENT:
        return False
    excess = reach * reach / (2.0 - reach / 1.5)
    value = math.exp(scale * (row[0] - tilts[0]))
    _finish(record, lane, value, sense, -cross, excess + cross, error)
    moves = (scale + half) * share * math.exp(reach) - scale * share
    record[lane + 1] = 2.0 * value * (moves + error)
    return True


@njit(cache=True, nogil=True)
def box_cox_record(row, tilts, half, n_linear, curved, sense, error, record):
    """Record of (exp(a l) - 1) / a for |a| <= half, l = l0 + log(1 + r) or l0 + r.

    Expanded at a = 0: l0 + a l0^2 / 2 + r.
    """
    share = row[n_linear + 1]
    if not curved:
        share = 0.0
        for c in range(n_linear):
            share += abs(row[1 + c] - tilts[1 + c])
    if not share <= LARGEST_SHARE:
        return False
    log = row[0] - tilts[0]
    moved = share / (1.0 - share) if curved else share
    size = abs(log) + moved
    reach = half * size
    if not reach <= LARGEST_SHARE:
        return False
    bend = share * share / (2.0 * (1.0 - share)) if curved else 0.0
    cross = half * moved * (abs(log) + 0.5 * moved)
    third = half * half * size * size * size / (6.0 * (1.0 - reach))
    record[1] = sense * 0.5 * half * log * log
    for c in range(n_linear):
        record[2 + c] = sense * (row[1 + c] if curved else row[1 + c] - tilts[1 + c])
    low = -bend - cross - third
    high = cross + third
    record[0] = sense * (log + 0.5 * (low + high))
    record[2 + n_linear] = 0.5 * (high - low) + error * (1.0 + size)
    turn = math.exp(reach) / (1.0 - share) if curved else math.exp(reach)
    record[3 + n_linear] = 2.0 * (share * (turn - 1.0) + error * (1.0 + size))
    return True


@njit(cache=True, nogil=True)
def build_models(
    mode,
    minmax,
    data,
    vertices,
    alpha,
    half,
    box_cox,
    sense,
    error,
    labels,
    pair_codes,
    faces,
    face_codes,
):
    """Records of all pairs of clusters.

    ``alpha`` and ``half`` are centre and half width of the exponent (WEIGHTED) or of the factor of
    all exponents (PRODUCT); in Box-Cox form, ``half`` is the reach of either.  ``error`` is the
    relative rounding error that records must cover.

    Returns the records, the extreme pairs of points, the numbers of interval and simplex lanes,
    the mean share of every lane, and whether every pair has a model.
    """
    n_metrics, n = data.shape[0], data.shape[1]
    slots = labels.max() + 1
    if mode == PRODUCT:
        n_linear = 0
        for i in range(n_metrics):
            n_linear += vertices[1, i] > 0.0
        n_simplex = 0
    else:
        n_linear = (
            0 if vertices.shape[0] == 1 else (1 if vertices.shape[0] == 2 else vertices.shape[0])
        )
        n_simplex = n_linear if n_linear > 2 else 0
    has_power = box_cox or half > 0.0
    n_intervals = (1 if has_power else 0) + n_linear - n_simplex
    width = n_intervals + n_simplex + 3
    channels = 3 if minmax else 1
    models = np.zeros((slots, slots, channels * width))
    extremes = np.full((slots, slots, 2) if minmax else (1, 1, 2), UNCERTAIN)
    rows = np.empty((n * (n - 1) // 2, n_linear + 3))
    count = features(mode, data, vertices, labels, rows)
    tilts = np.zeros(1 + n_linear)
    middles(rows, count, tilts)
    shares = mean_parts(rows, count, tilts, n_linear)
    record = np.empty(width)
    seen = np.zeros((slots, slots), np.int64)
    i = 0
    for a in range(n):
        for b in range(a):
            x, z = labels[a], labels[b]
            if x == z:
                continue
            row = rows[i]
            i += 1
            if box_cox:
                good = box_cox_record(
                    row, tilts, half, n_linear, mode == WEIGHTED, sense, error, record
                )
            elif mode == PRODUCT:
                good = product_record(row, tilts, alpha, half, n_linear, sense, error, record)
            else:
                good = power_record(
                    row, tilts, alpha, half, n_linear, n_simplex, sense, error, record
                )
            if not good:
                return models, extremes, n_intervals, n_simplex, shares, False
            if x < z:
                x, z = z, x
            if not minmax:
                for c in range(width):
                    models[x, z, c] += record[c]
            elif seen[x, z] == 0:
                extremes[x, z] = a * n + b
                for c in range(width):
                    models[x, z, width + c] = record[c]
                    models[x, z, 2 * width + c] = record[c]
            else:
                for larger in range(2):
                    start = width * (1 + larger)
                    extremes[x, z, larger] = take_extreme(
                        models[x, z, start : start + width],
                        extremes[x, z, larger],
                        record,
                        a * n + b,
                        n_intervals,
                        n_simplex,
                        pair_codes,
                        faces,
                        face_codes,
                        -1.0 if larger == 1 else 1.0,
                    )
            seen[x, z] += 1
    for x in range(slots):
        for z in range(x):
            if minmax:
                for c in range(width):
                    models[x, z, c] = models[x, z, width + c] + models[x, z, 2 * width + c]
                extremes[z, x] = extremes[x, z]
            else:
                for c in range(width):
                    models[x, z, c] /= seen[x, z]
            models[z, x] = models[x, z]
    return models, extremes, n_intervals, n_simplex, shares, True


@njit(cache=True, nogil=True)
def rounding_error(n, n_metrics, n_vertices, exponent, largest_log, minmax):
    """Rounding errors that a record must cover, as a share of its value.

    The first part is for sums of up to n^2/4 records, n merges and a comparison (min-max: up to
    n^2/4 extremes, each with a comparison), the second one for the value of a pair.
    """
    steps = 512.0 + 64.0 * n + (128.0 if minmax else 8.0) * n * n
    inputs = n_metrics + n_vertices + 8 + 4 * largest_log
    return UNIT * (steps + 16.0 * max(1.0, exponent) * inputs)
