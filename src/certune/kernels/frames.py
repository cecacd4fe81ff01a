"""Frames: the linkage values of all current cluster pairs, modelled on one interval.

A frame is an array ``frame[x, z, lane]`` over cluster slots, symmetric in (x, z): the record of a
pair is contiguous, so a merge touches one or two cache lines per pair.  Three forms:

AVERAGE    the DEGREE Bernstein coefficients of an average;
ENDS       minima and maxima of fixed distances, see `certune.kernels.ends`;
ENCLOSURE  minima and maxima of moving distances: the pair that attains the minimum may change
           inside the interval, so lower and upper coefficients enclose it, channel by channel
           ``(min lower, max lower, min upper, max upper)`` or ``(lower, upper)``, followed by the
           codes of the two extreme pairs; see `certune.kernels.enclosures`.

All coefficients are positive, so they are ordered like the integers with the same bits.  Records
of removed slots and of the diagonal hold meaningless positive numbers.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked
from certune.kernels.pair_keys import key_of
from certune.kernels.records import add_model, blend_records, transform_record
from certune.kernels.series import (
    AFFINE,
    DEGREE,
    DIFFERENCE_QUOTIENT,
    EXPONENTIAL,
    MAXIMUM,
    MEAN,
    MINIMUM,
    MINMAX,
    MONOMIALS,
    MOVING,
    TERMS,
    UNIT,
    exponentials,
    model_error,
    moving_series,
)

AVERAGE, ENDS, ENCLOSURE = 0, 1, 2


@linked
def frame_form(kind, mode):
    """Form of the frames of a linkage kind."""
    if kind == MEAN:
        return AVERAGE
    return ENCLOSURE if mode == MOVING else ENDS


@linked
def record_width(kind, form):
    """Lanes of a record."""
    if form == ENCLOSURE:
        return (4 if kind == MINMAX else 2) * DEGREE + 2
    return DEGREE


@linked
def kind_of_values(kind, sign):
    """Express the kind in terms of values: where larger values are nearer, minima become maxima."""
    if sign < 0 and kind == MINIMUM:
        return MAXIMUM
    if sign < 0 and kind == MAXIMUM:
        return MINIMUM
    return kind


@linked
def pair_range(mode, first, second, labels, low, high):
    """Smallest and largest log value parameter over pairs of different clusters on [low, high].

    Returns (smallest, largest) of A (POWER), of the distance (MOVING), and of B (AFFINE).
    """
    n = labels.size
    smallest = np.inf
    largest = -np.inf
    for a in range(n):
        for b in range(a):
            if labels[a] != labels[b]:
                if mode == MOVING:
                    left = first[a, b] + low * second[a, b]
                    right = first[a, b] + high * second[a, b]
                    smallest = min(smallest, left, right)
                    largest = max(largest, left, right)
                else:
                    value = second[a, b] if mode == AFFINE else first[a, b]
                    smallest = min(smallest, value)
                    largest = max(largest, value)
    return smallest, largest


@linked
def range_error(
    mode, box_cox, smallest, largest, first, second, labels, power, low, high, input_error
):
    """Relative model error on a panel and the common scale (log) to divide the values by.

    ``power`` is (alpha at t = 0, d alpha / dt); ``smallest`` and ``largest`` are those of
    `pair_range`.  Returns (error, scale).
    """
    if not smallest <= largest:
        return 0.0, 0.0
    half = 0.5 * (high - low)
    centre = low + half
    at_centre = power[0] + power[1] * centre
    reach = abs(at_centre) + abs(power[1]) * half
    n = labels.size
    if mode == AFFINE:
        scale = 0.5 * (smallest + largest)
        rate = 0.5 * (largest - smallest)
        error = input_error + 8.0 * UNIT
        return model_error(half, rate, 0.0, 0.0, 0.0, 0.0, n, error), scale
    if mode != MOVING:
        scale = smallest - 1.0 if box_cox else 0.5 * (smallest + largest)
        size = max(abs(largest - scale), abs(smallest - scale))
        error = input_error * (1.0 + reach) + 8.0 * UNIT * (2.0 + reach * size)
        return model_error(half, abs(power[1]) * size, 0.0, 0.0, 0.0, 0.0, n, error), scale
    log_small = math.log(smallest)
    log_large = math.log(largest)
    scale = log_small - 1.0 if box_cox else 0.5 * (log_small + log_large)
    size = max(abs(log_large - scale), abs(log_small - scale))
    ratio = 0.0
    for a in range(n):
        for b in range(a):
            if labels[a] != labels[b]:
                ratio = max(ratio, abs(second[a, b]) / (first[a, b] + centre * second[a, b]))
    bend = 1.0 if box_cox else abs(at_centre)
    error = input_error * (1.0 + reach) + 16.0 * UNIT * (1.0 + reach * size)
    return model_error(half, 0.0, ratio, bend, abs(power[1]), size, n, error), scale


@linked
def members_by_slot(labels, slots):
    """Points sorted by slot, and where each slot starts."""
    n = labels.size
    start = np.zeros(slots + 1, np.int64)
    for p in range(n):
        start[labels[p] + 1] += 1
    for x in range(slots):
        start[x + 1] += start[x]
    fill = start[:-1].copy()
    members = np.empty(n, np.int64)
    for p in range(n):
        members[fill[labels[p]]] = p
        fill[labels[p]] += 1
    return members, start


@borrowing
def row_start(mirrored, slots, x):
    """Where the records of slot x with those before it start."""
    return (x * slots if mirrored else key_of(x, 0)) * DEGREE


@borrowing
def record_places(mirrored, slots, x, z):
    """Where the record of slots z < x starts, and its mirror image (itself if there is none)."""
    here = row_start(mirrored, slots, x) + z * DEGREE
    return here, (z * slots + x) * DEGREE if mirrored else here


@linked
def build_mean(
    flat,
    mirrored,
    mode,
    box_cox,
    first,
    second,
    offset,
    labels,
    size,
    power,
    low,
    high,
    scale,
):
    """Fill records of averages on [low, high] from the point pairs.

    They are ``mirrored`` in a square frame, or a triangle that has every pair once.
    """
    n = labels.size
    slots = size.size
    half = 0.5 * (high - low)
    centre = low + half
    at_centre = power[0] + power[1] * centre
    slope = power[1] * half
    bend = 1.0 if box_cox else at_centre
    members, start = members_by_slot(labels, slots)
    place = np.empty(n, np.int64)
    is_first = np.empty(n, np.bool_)
    for j in range(n):
        place[j] = labels[members[j]] * DEGREE
        is_first[j] = j == start[labels[members[j]]]
    zeros = np.zeros(DEGREE)
    weights = np.empty(n)
    factors = np.empty(n)
    exponents = np.empty(n, np.int64)
    series = np.empty(TERMS)
    work = np.empty(TERMS + 1)
    unscale = math.exp(-scale)
    table = DIFFERENCE_QUOTIENT if box_cox else EXPONENTIAL
    one = np.empty(slots * DEGREE)
    for x in range(slots):
        count = start[x]
        begin = row_start(mirrored, slots, x)
        row = flat[begin : begin + (x + 1 if mirrored else x) * DEGREE]
        # Sums over the members of z, then over those of x: shallow, see `model_error`.
        for i in range(count, start[x + 1]):
            a = members[i]
            values = first[a]
            slopes = second[a]
            target = row if i == start[x] else one
            if mode == MOVING:
                for j in range(count):
                    b = members[j]
                    moving_series(
                        (values[b] + centre * slopes[b]) * unscale,
                        slopes[b] * unscale,
                        at_centre,
                        power[1],
                        half,
                        box_cox,
                        series,
                        work,
                    )
                    if is_first[j]:
                        target[place[j] : place[j] + DEGREE] = 0.0
                    add_series(target, place[j], series)
            else:
                if mode == AFFINE:
                    for j in range(count):
                        rate = slopes[members[j]] - scale
                        weights[j] = values[members[j]] - offset + centre * rate
                        factors[j] = half * rate
                else:
                    for j in range(count):
                        difference = values[members[j]] - scale
                        weights[j] = bend * difference
                        factors[j] = slope * difference
                if mode == AFFINE or not box_cox:
                    exponentials(weights, exponents, count)
                for j in range(count):
                    at = place[j]
                    if is_first[j]:
                        add_model(table, weights[j], factors[j], zeros, 0, target, at)
                    else:
                        add_model(table, weights[j], factors[j], target, at, target, at)
            if i > start[x]:
                for j in range(x * DEGREE):
                    row[j] += one[j]
        row[x * DEGREE :] = 1.0
        for z in range(x):
            here, there = record_places(mirrored, slots, x, z)
            weight = size[x] * size[z]
            if mirrored or weight > 1.0:
                blend_records(flat, here, here, 1.0 / weight, 0.0, flat, here, there)


@linked
def add_series(target, start, series):
    """Add the Bernstein coefficients of a Taylor series to the record at ``start``."""
    for j in range(DEGREE):
        total = 0.0
        for k in range(TERMS):
            total += series[k] * MONOMIALS[k, j]
        target[start + j] += total


@linked
def build_point_mean(frame, values, labels, size):
    """Fill a frame of averages that are constant: the values at one parameter."""
    slots = frame.shape[0]
    members, start = members_by_slot(labels, slots)
    frame[:] = 1.0
    for x in range(slots):
        for z in range(x + 1, slots):
            total = 0.0
            for j in range(start[z], start[z + 1]):
                part = 0.0
                for i in range(start[x], start[x + 1]):
                    part += values[members[i], members[j]]
                total += part
            frame[x, z] = total / (size[x] * size[z])
            frame[z, x] = total / (size[x] * size[z])


@borrowing
def merge_average(flat, slots, x, y, weight_x, weight_y, active, n_active):
    """Put the union of slots x and y into slot x of a flat frame; y must have left ``active``."""
    for i in range(n_active):
        z = active[i]
        here = (x * slots + z) * DEGREE
        blend_records(
            flat,
            here,
            (y * slots + z) * DEGREE,
            weight_x,
            weight_y,
            flat,
            here,
            (z * slots + x) * DEGREE,
        )


@linked
def restriction(low, high):
    """Flat matrix (from, to) that restricts Bernstein coefficients to [low, high] in [0, 1].

    De Casteljau's algorithm on unit vectors.  Convex combinations of positive numbers: applying
    the matrix to positive coefficients adds a relative error of at most 8 DEGREE roundings.
    """
    matrix = np.zeros(DEGREE * DEGREE)
    share = low / high if high > 0.0 else 0.0
    for source in range(DEGREE):
        row = matrix[source * DEGREE : (source + 1) * DEGREE]
        row[source] = 1.0
        if high < 1.0:
            for r in range(1, DEGREE):
                for k in range(DEGREE - 1, r - 1, -1):
                    row[k] = (1.0 - high) * row[k - 1] + high * row[k]
        if low > 0.0:
            for r in range(1, DEGREE):
                for k in range(DEGREE - r):
                    row[k] = (1.0 - share) * row[k] + share * row[k + 1]
    return matrix


@linked
def restrict_frame(source, target, channels, active, n_active, low, high):
    """Copy the active slots of a frame, restricted to the part [low, high] of its interval."""
    matrix = restriction(low, high)
    slots = source.shape[0]
    width = source.shape[2]
    old = source.reshape(source.size)
    new = target.reshape(target.size)
    for i in range(n_active):
        target[i, i] = 1.0
        start = active[i] * slots
        for j in range(i + 1, n_active):
            for channel in range(channels):
                lane = channel * DEGREE
                transform_record(
                    old,
                    (start + active[j]) * width + lane,
                    matrix,
                    new,
                    (i * n_active + j) * width + lane,
                    (j * n_active + i) * width + lane,
                )
