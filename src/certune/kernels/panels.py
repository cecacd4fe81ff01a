"""Before the sweep: merges that hold for every parameter, and panels narrow enough for models.

`contract` carries out the merges that are certain on the whole segment because every distance
between the two clusters is smaller than every distance from them to any other cluster (for
min-max linkage: because the smallest and the largest distance both are).  `panel_edges` cuts the
segment so that on every panel the models of `frames` are accurate.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.frames import WIDE_TOLERANCE, pair_range, range_error
from certune.kernels.series import AFFINE, MINMAX, MOVING


@njit(cache=True, nogil=True)
def contract(kind, low_end, high_end, margin, left, right, labels):
    """Merge what is nearest at every parameter, starting from the clusters ``labels``.

    ``low_end`` and ``high_end`` order the pairs at the two ends of the segment (smaller is
    nearer at both; the same array twice if the order does not move).  Merges are appended to
    ``left``/``right``; ``labels`` becomes the remaining clusters.  O(n^2) per pass.

    Returns the number of merges made so far, those in ``labels`` on entry included.
    """
    n = labels.size
    same = low_end is high_end
    slots = 0
    for p in range(n):
        slots = max(slots, labels[p] + 1)
    n_made = n - slots
    node = np.empty(slots, np.int64)
    for p in range(n):
        node[labels[p]] = p
    # `left`/`right` already hold the merges behind the labels: the last node above a point wins.
    top = np.arange(2 * n - 1)
    for i in range(n_made):
        top[left[n + i]] = n + i
        top[right[n + i]] = n + i
    for x in range(slots):
        while top[node[x]] != node[x]:
            node[x] = top[node[x]]
    highest = np.arange(2 * n - 1)
    for i in range(n_made):
        highest[n + i] = max(highest[left[n + i]], highest[right[n + i]])
    layers = 1 if same else 2
    smallest = np.full((layers, slots, slots), np.inf)
    largest = np.full((layers, slots, slots), -np.inf)
    for a in range(n):
        for b in range(a):
            x = labels[a]
            z = labels[b]
            if x == z:
                continue
            for layer in range(layers):
                value = low_end[a, b] if layer == 0 else high_end[a, b]
                smallest[layer, x, z] = min(smallest[layer, x, z], smallest[layer, z, x], value)
                largest[layer, x, z] = max(largest[layer, x, z], largest[layer, z, x], value)
                smallest[layer, z, x] = smallest[layer, x, z]
                largest[layer, z, x] = largest[layer, x, z]
    active = np.arange(slots)
    n_active = slots
    certain = np.full(slots, -1, np.int64)
    stale = np.ones(slots, np.bool_)
    blocker = np.full(slots, -1, np.int64)
    merged_into = np.arange(slots)
    progress = True
    while progress and n_active > 2:
        progress = False
        for i in range(n_active):
            x = active[i]
            if stale[x]:
                stale[x] = False
                certain[x] = _certain_neighbour(
                    kind, smallest, largest, margin, x, active, n_active, blocker
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
            j = 0
            while active[j] != y:
                j += 1
            n_active -= 1
            while j < n_active:
                active[j] = active[j + 1]
                j += 1
            for layer in range(layers):
                for j in range(n_active):
                    z = active[j]
                    if z == x:
                        continue
                    low = min(smallest[layer, x, z], smallest[layer, y, z])
                    high = max(largest[layer, x, z], largest[layer, y, z])
                    smallest[layer, x, z] = low
                    smallest[layer, z, x] = low
                    largest[layer, x, z] = high
                    largest[layer, z, x] = high
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


@njit(cache=True, nogil=True)
def _certain_neighbour(kind, smallest, largest, margin, x, active, n_active, blocker):
    """Find the slot nearest to x at every parameter, or -1 (then ``blocker[x]`` says why)."""
    best = -1
    for i in range(n_active):
        z = active[i]
        if z != x and (best < 0 or largest[0, x, z] < largest[0, x, best]):
            best = z
    for layer in range(smallest.shape[0]):
        bar = largest[layer, x, best] + margin
        small_bar = smallest[layer, x, best] + margin
        for i in range(n_active):
            z = active[i]
            if z == x or z == best:
                continue
            if smallest[layer, x, z] > bar:
                continue
            if (
                kind == MINMAX
                and smallest.shape[0] == 1
                and smallest[0, x, z] > small_bar
                and largest[0, x, z] > bar
            ):
                continue
            blocker[x] = z
            return -1
    return best


@njit(cache=True, nogil=True)
def panel_edges(mode, first, second, labels, power, low, high, input_error):
    """Edges of panels on [low, high] on which models are accurate.

    A panel around a zero of alpha, where powers are compared in their Box-Cox form, is centred
    there; the others have equal widths on each side.
    """
    extent = np.zeros(2)
    if mode != MOVING:
        extent[0], extent[1] = pair_range(mode, first, second, labels, low, high)
    if mode == AFFINE or power[1] == 0.0:
        box = mode != AFFINE and power[0] == 0.0
        return _cut_evenly(mode, box, first, second, labels, power, low, high, input_error, extent)
    zero = -power[0] / power[1]
    reach = max(abs(high - zero), abs(low - zero))
    while reach > 1e-12:
        error = _error(
            mode,
            True,
            first,
            second,
            labels,
            power,
            zero - reach,
            zero + reach,
            input_error,
            extent,
        )
        if error <= WIDE_TOLERANCE:
            break
        reach *= 0.85
    start = max(low, zero - reach)
    stop = min(high, zero + reach)
    if start >= stop:
        return _cut_evenly(
            mode, False, first, second, labels, power, low, high, input_error, extent
        )
    edges = np.array([start, stop])
    if low < start:
        before = _cut_evenly(
            mode, False, first, second, labels, power, low, start, input_error, extent
        )
        edges = np.concatenate((before[:-1], edges))
    if stop < high:
        after = _cut_evenly(
            mode, False, first, second, labels, power, stop, high, input_error, extent
        )
        edges = np.concatenate((edges, after[1:]))
    return edges


@njit(cache=True, nogil=True)
def _error(mode, box_cox, first, second, labels, power, low, high, input_error, extent):
    """Model error on one panel; ``extent`` is `pair_range`, which moves in the MOVING mode only."""
    smallest, largest = extent[0], extent[1]
    if mode == MOVING:
        smallest, largest = pair_range(mode, first, second, labels, low, high)
        if not smallest > 0.0:
            return np.inf
    error, _ = range_error(
        mode, box_cox, smallest, largest, first, second, labels, power, low, high, input_error
    )
    return error


@njit(cache=True, nogil=True)
def _cut_evenly(mode, box_cox, first, second, labels, power, low, high, input_error, extent):
    count = 1.0
    while count < 1e6:
        accurate = True
        n = int(count)
        step = (high - low) / n
        for i in range(n):
            if i > 1 and i < n - 1:
                continue  # the error is largest at one of the ends
            error = _error(
                mode,
                box_cox,
                first,
                second,
                labels,
                power,
                low + i * step,
                low + (i + 1) * step,
                input_error,
                extent,
            )
            if not error <= WIDE_TOLERANCE:
                accurate = False
                break
        if accurate:
            break
        count = max(count + 1.0, count * 1.2)
    edges = low + (high - low) * (np.arange(int(count) + 1) / int(count))
    edges[-1] = high
    return edges
