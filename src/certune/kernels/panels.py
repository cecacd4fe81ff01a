"""Before the sweep: merges that hold for every parameter, and panels narrow enough for models.

`contract` carries out the merges that are certain on the whole segment because every distance
between the two clusters is smaller than every distance from them to any other cluster (for
min-max linkage: because the smallest and the largest distance both are).  `panel_edges` cuts the
segment so that on every panel the models of `frames` are accurate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from certune.kernels.borrowing import borrowing
from certune.kernels.frames import pair_range, range_error
from certune.kernels.linking import linked
from certune.kernels.series import AFFINE, MINMAX, MOVING

MOST_EQUAL = 32  # panels of equal widths where distances move
MOST_PANELS = 1_000_000
SHORTEST = 2.0**-40  # panels, as a share of the whole, where their widths differ


class Rows(NamedTuple):
    """Distances from a slot to all others: merged slots have rows of their own.

    A row hears of the merges of others (pairs of slots in ``events``) when it is looked at;
    ``heard`` says how many it knows of.
    """

    low_end: Any
    high_end: Any
    member: Any
    smallest: Any
    largest: Any
    place: Any
    heard: Any
    events: Any


@njit(cache=True, nogil=True)
def contract(kind, low_end, high_end, margin, left, right, labels):
    """Merge what is nearest at every parameter, starting from the clusters ``labels``.

    The first clusters are groups of identical points.  ``low_end`` and ``high_end`` order the
    pairs at the two ends of the segment (smaller is nearer at both; the same array twice if the
    order does not move).  Merges are appended to ``left``/``right``; ``labels`` becomes the
    remaining clusters.  O(n^2), and O(n) for each neighbour of a merge.

    Returns the number of merges made so far, those in ``labels`` on entry included.
    """
    n = labels.size
    slots = labels.max() + 1
    n_made = n - slots
    member = np.empty(slots, np.int64)
    for p in range(n - 1, -1, -1):
        member[labels[p]] = p
    # `left`/`right` already hold the merges behind the labels: the last node above a point wins.
    node = member.copy()
    highest = np.arange(2 * n - 1)
    for made in range(n, n + n_made):
        highest[made] = max(highest[left[made]], highest[right[made]])
        node[labels[highest[made]]] = made
    layers = 1 if low_end is high_end else 2
    smallest = np.empty((slots + 1, layers, slots))
    largest = np.empty((slots + 1, layers, slots))
    place = np.full(slots, -1, np.int64)
    heard = np.zeros(slots, np.int64)
    events = np.empty((slots, 2), np.int64)
    rows = Rows(low_end, high_end, member, smallest, largest, place, heard, events)
    n_events = 0
    spare = 0
    active = np.arange(slots)
    n_active = slots
    merged_into = np.arange(slots)
    blocker = np.full(slots, -1, np.int64)
    certain = np.full(slots, -1, np.int64)
    stale = np.ones(slots, np.bool_)
    progress = True
    while progress and n_active > 2:
        progress = False
        for i in range(n_active):
            x = active[i]
            if stale[x]:
                stale[x] = False
                row = _row_of(rows, x, spare, n_events)
                certain[x] = _certain_neighbour(
                    kind, smallest[row], largest[row], margin, x, blocker
                )
        i = 0
        while i < n_active and n_active > 2:
            x = active[i]
            y = certain[x]
            if y < 0 or certain[y] != x:
                i += 1
                continue
            progress = True
            a = node[x]
            b = node[y]
            if highest[a] > highest[b]:
                a, b = b, a
            made = n + n_made
            left[made] = a
            right[made] = b
            highest[made] = highest[b]
            n_made += 1
            node[x] = made
            merged_into[y] = x
            row = _row_of(rows, x, spare, n_events)
            other = _row_of(rows, y, spare + 1, n_events)
            _join(smallest[row], largest[row], smallest[other], largest[other], x, y)
            if place[x] < 0:
                place[x] = spare
                spare += 1
            events[n_events, 0] = x
            events[n_events, 1] = y
            n_events += 1
            heard[x] = n_events
            j = 0
            while active[j] != y:
                j += 1
            n_active -= 1
            while j < n_active:
                active[j] = active[j + 1]
                j += 1
            certain[x] = -1
            stale[x] = True
            for j in range(n_active):
                z = active[j]
                if certain[z] == x or certain[z] == y or blocker[z] == x or blocker[z] == y:
                    certain[z] = -1
                    stale[z] = True
            i = 0 if i >= n_active else i
    rank = np.full(slots, -1, np.int64)
    for i in range(n_active):
        rank[active[i]] = i
    for p in range(n):
        x = labels[p]
        while merged_into[x] != x:
            x = merged_into[x]
        labels[p] = rank[x]
    return n_made


@borrowing
def _row_of(rows, x, spare, n_events):
    """Bring the distances from slot x to the others up to date; returns the row that has them.

    A single point has no row of its own and takes the spare one.  Distances to itself and to what
    is merged away are infinite.
    """
    row = rows.place[x]
    if row < 0:
        row = spare
        rows.heard[x] = 0
        p = rows.member[x]
        for layer in range(rows.smallest.shape[1]):
            for z in range(rows.member.size):
                q = rows.member[z]
                value = rows.low_end[p, q] if layer == 0 else rows.high_end[p, q]
                rows.smallest[row, layer, z] = value
                rows.largest[row, layer, z] = value
            rows.smallest[row, layer, x] = np.inf
            rows.largest[row, layer, x] = np.inf
    for layer in range(rows.smallest.shape[1]):
        low = rows.smallest[row, layer]
        high = rows.largest[row, layer]
        for i in range(rows.heard[x], n_events):
            kept = rows.events[i, 0]
            gone = rows.events[i, 1]
            low[kept] = min(low[kept], low[gone])
            high[kept] = max(high[kept], high[gone])
            low[gone] = np.inf
            high[gone] = np.inf
    rows.heard[x] = n_events
    return row


@borrowing
def _join(low, high, other_low, other_high, x, y):
    """Make the rows of the slot x those of the union of x and y."""
    for layer in range(low.shape[0]):
        for z in range(low.shape[1]):
            low[layer, z] = min(low[layer, z], other_low[layer, z])
            high[layer, z] = max(high[layer, z], other_high[layer, z])
        low[layer, x] = np.inf
        low[layer, y] = np.inf


@borrowing
def _certain_neighbour(kind, low, high, margin, x, blocker):
    """Find the slot nearest to x at every parameter, or -1 (then ``blocker[x]`` says why)."""
    best = 0
    nearest = high[0, 0]
    for z in range(1, high.shape[1]):
        if high[0, z] < nearest:
            nearest = high[0, z]
            best = z
    for layer in range(low.shape[0]):
        bar = high[layer, best] + margin
        small_bar = low[layer, best] + margin
        within = 0
        for z in range(low.shape[1]):
            within += low[layer, z] <= bar
        if within == 1:
            continue
        by_both = kind == MINMAX and low.shape[0] == 1
        for z in range(low.shape[1]):
            if (
                z != best
                and low[layer, z] <= bar
                and not (by_both and low[layer, z] > small_bar and high[layer, z] > bar)
            ):
                blocker[x] = z
                return -1
    return best


@njit(cache=True, nogil=True)
def panel_edges(mode, first, second, labels, power, low, high, input_error, tolerance):
    """Edges of panels on [low, high] on which models have at most the error ``tolerance``.

    A panel around a zero of alpha, where powers are compared in their Box-Cox form, is centred
    there; the others have equal widths on each side, as long as they are few.
    """
    extent = np.zeros(2)
    if mode != MOVING:
        extent[0], extent[1] = pair_range(mode, first, second, labels, low, high)
    pairs = (mode, first, second, labels, power, input_error, extent)
    if mode == AFFINE or power[1] == 0.0:
        box_cox = mode != AFFINE and power[0] == 0.0
        return _cut(pairs, box_cox, low, high, tolerance)
    zero = -power[0] / power[1]
    reach = max(abs(high - zero), abs(low - zero))
    while reach > 1e-12 and not _error(pairs, True, zero - reach, zero + reach) <= tolerance:
        reach *= 0.85
    start = max(low, zero - reach)
    stop = min(high, zero + reach)
    if start >= stop:
        return _cut(pairs, False, low, high, tolerance)
    edges = np.array([start, stop])
    if low < start:
        before = _cut(pairs, False, low, start, tolerance)
        edges = np.concatenate((before[:-1], edges))
    if stop < high:
        after = _cut(pairs, False, stop, high, tolerance)
        edges = np.concatenate((edges, after[1:]))
    return edges


@linked
def _error(pairs, box_cox, low, high):
    """Model error on one panel; the extent is `pair_range`, which moves in the MOVING mode only."""
    mode, first, second, labels, power, input_error, extent = pairs
    smallest, largest = extent[0], extent[1]
    if mode == MOVING:
        smallest, largest = pair_range(mode, first, second, labels, low, high)
        if not smallest > 0.0:
            return np.inf
    error, _ = range_error(
        mode, box_cox, smallest, largest, first, second, labels, power, low, high, input_error
    )
    return error


@linked
def _error_of_cut(pairs, box_cox, low, high, count):
    """Largest error on so many panels of equal widths: that of one of the outer ones."""
    step = (high - low) / count
    return max(
        _error(pairs, box_cox, low, low + step),
        _error(pairs, box_cox, low + (count - 1) * step, high),
    )


@linked
def _cut_by_steps(pairs, box_cox, low, high, tolerance):
    """Edges of panels as wide as the tolerance allows, or nearly so.

    Where a moving distance is far smaller than others it grows by factors in no time; panels there
    would be too narrow for the rest.
    """
    shortest = SHORTEST * (high - low)
    step = high - low
    edge = low
    edges = [low]
    while edge < high:
        step = min(2.0 * step, high - edge)
        error = _error(pairs, box_cox, edge, edge + step)
        while error > tolerance and step > shortest:
            step *= 0.5
            error = _error(pairs, box_cox, edge, edge + step)
        if error > tolerance:
            # The error of the inputs stays, however narrow panels are.
            tolerance = 2.0 * error
        edge = edge + step if edge < edge + step < high else high
        edges.append(edge)
    return np.array(edges)


@linked
def _cut(pairs, box_cox, low, high, tolerance):
    """Edges of panels of equal widths, unless there would be many on which distances move."""
    if pairs[0] == MOVING and _error_of_cut(pairs, box_cox, low, high, MOST_EQUAL) > tolerance:
        return _cut_by_steps(pairs, box_cox, low, high, tolerance)
    # The error of the inputs stays, however narrow panels are.
    narrowest = _error_of_cut(pairs, box_cox, low, high, MOST_PANELS)
    tolerance = max(tolerance, 2.0 * narrowest)
    count = 1.0
    while narrowest < np.inf and count < MOST_PANELS:
        if _error_of_cut(pairs, box_cox, low, high, int(count)) <= tolerance:
            break
        count = max(count + 1.0, count * 1.2)
    edges = low + (high - low) * (np.arange(int(count) + 1) / int(count))
    edges[edges.size - 1] = high
    return edges
