"""Merges on one frame: every merge that is certified on the whole interval of the frame.

A pair is merged when each cluster is proved to be the other's nearest.  Guesses of nearest
neighbours come from one coefficient and are made sure of only for pairs that would merge; a row
that cannot be decided is blocked until one of the two rivals is merged.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.compare import (
    CROSSING,
    FARTHER,
    HOPELESS,
    NEARER,
    TOO_WIDE,
    evidence,
    locate,
    next_doubtful_average,
    next_doubtful_enclosure,
    next_doubtful_end,
    set_bars,
    sign_at_end,
    tie_prefers,
)
from certune.kernels.cost_memory import recalled_cost
from certune.kernels.ends import locate_ends, merge_ends
from certune.kernels.frames import AVERAGE, ENDS, merge_average, merge_enclosure
from certune.kernels.identities import (
    TIED,
    identical,
    known_order,
    merge_enclosure_codes,
    remember,
    same_average_comparison,
)
from certune.kernels.polish import may_tie
from certune.kernels.pruning import fill_table, join
from certune.kernels.records import call
from certune.kernels.series import DEGREE, MAXIMUM, MEAN, MINMAX

MAX_DEPTH = 256
ASK_BELOW = 1e-9  # models this accurate that cannot tell two values apart suggest a tie
LARGEST = np.int64(2**63 - 1)
DONE, PLAIN, ZONE, UNKNOWN = 0, 1, 2, 3
IDENTITY, AT_POINT, AT_LOW_END, AT_HIGH_END = 0, 1, 2, 3  # kinds of questions


@njit(cache=True, nogil=True)
def guess_nearest(frame, form, kind, sign, x, removed, keys, key_bits):
    """Nearest slot of x by one coefficient: a guess that must be made sure of.

    Runs over all slots as integers, which vectorises; ``removed`` is the largest integer at
    removed slots and 0 at the others.
    """
    slots = frame.shape[0]
    row = frame[x]
    lane = DEGREE // 2
    other = DEGREE + DEGREE // 2
    if form == ENDS:
        lane = 4 if kind == MAXIMUM else 0
        other = 4
    if kind == MINMAX:
        for z in range(slots):
            keys[z] = row[z, lane] + row[z, other]
    else:
        for z in range(slots):
            keys[z] = row[z, lane]
    flip = np.int64(0) if sign > 0 else LARGEST
    least = LARGEST
    removed[x] = LARGEST
    for z in range(slots):
        key = (key_bits[z] ^ flip) | removed[z]
        least = min(least, key)
    best = 0
    while (key_bits[best] ^ flip) | removed[best] != least:
        best += 1
    removed[x] = 0
    return best


@njit(cache=True, nogil=True)
def mark_members(members, marks, x, y, z, head, tail, nxt):
    """Write 1, 2, 3 at the members of the three clusters."""
    members[:] = 0
    for value, slot in ((1, x), (2, y), (3, z)):
        node = marks[slot]
        p = head[node]
        while True:
            members[p] = value
            if p == tail[node]:
                break
            p = nxt[p]


@njit(cache=True, nogil=True)
def _ask(oracle, kind, question, interval, zone, marks, x, y, z, head, tail, nxt, members):
    """Put a question to the exact layer and return its answer.

    ``question`` receives the kind, the interval and, at an end, the order proved elsewhere: there
    only the zone is in question.
    """
    low = interval[0]
    high = interval[1]
    question[0] = kind
    question[1] = low
    question[2] = high
    if kind == AT_LOW_END:
        question[2] = min(high, low + 1.01 * zone[1] * (high - low))
        question[3] = zone[3]
    elif kind == AT_HIGH_END:
        question[1] = max(low, low + (1.01 * zone[0] - 0.01) * (high - low))
        question[3] = zone[2]
    mark_members(members, marks, x, y, z, head, tail, nxt)
    return call(oracle)


@njit(cache=True, nogil=True)
def _settle(
    frame,
    bits,
    form,
    kind,
    sign,
    error,
    point,
    interval,
    power,
    mode,
    first,
    second,
    input_error,
    box_cox,
    centre,
    marks,
    highest,
    size,
    head,
    tail,
    nxt,
    pair_codes,
    forced,
    forced_codes,
    n_forced,
    oracle,
    question,
    ends,
    members,
    x,
    y,
    z,
    nearer,
    farther,
    zone,
    stack,
):
    """Compare (x, y) with (x, z) where the bars leave a doubt; see `compare` for the codes."""
    code = evidence(frame, form, kind, sign, x, y, z, error, nearer, farther)
    if code == NEARER or code == FARTHER:
        return code
    known = known_order(forced, forced_codes, n_forced[0], bits, form, kind, sign, marks, x, y, z)
    wins = tie_prefers(highest[marks[x]], highest[marks[y]], highest[marks[z]])
    if known == TIED:
        return NEARER if wins else FARTHER
    if known != 0:
        return known
    room = n_forced[0] < forced.shape[0] - MAX_DEPTH
    if code == TOO_WIDE:
        if identical(bits, form, kind, sign, marks, x, y, z, size, head, tail, nxt, pair_codes):
            return NEARER if wins else FARTHER
        if error > ASK_BELOW and not point:
            return TOO_WIDE
        if kind == MEAN:
            known = same_average_comparison(
                forced,
                forced_codes,
                n_forced[0],
                marks,
                x,
                y,
                z,
                size,
                head,
                tail,
                nxt,
                pair_codes,
            )
            if known == TIED:
                return NEARER if wins else FARTHER
            if known != 0:
                return known
        what = AT_POINT if point else IDENTITY
        answer = _ask(
            oracle, what, question, interval, zone, marks, x, y, z, head, tail, nxt, members
        )
        if answer == HOPELESS:
            return HOPELESS
        if answer != 2:
            if room:
                remember(
                    forced,
                    forced_codes,
                    n_forced[0],
                    bits,
                    form,
                    kind,
                    sign,
                    marks,
                    x,
                    y,
                    z,
                    answer,
                )
                n_forced[0] += 1
            if answer == 0:
                return NEARER if wins else FARTHER
            return answer
        return TOO_WIDE
    if form == ENDS:
        result = locate_ends(
            frame,
            kind,
            sign,
            x,
            y,
            z,
            error,
            power,
            interval[0],
            interval[1] - interval[0],
            box_cox,
            centre,
            sign_at_end(nearer, farther, 0),
            sign_at_end(nearer, farther, 1),
            zone,
        )
    else:
        result = locate(nearer, farther, zone, stack)
    if result != CROSSING:
        return result
    if kind == MEAN and (zone[0] <= 0.0 or zone[1] >= 1.0):
        known = same_average_comparison(
            forced,
            forced_codes,
            n_forced[0],
            marks,
            x,
            y,
            z,
            size,
            head,
            tail,
            nxt,
            pair_codes,
        )
        if known == TIED:
            return NEARER if wins else FARTHER
        if known != 0:
            return known
    for end in range(2):
        touches = zone[0] <= 0.0 if end == 0 else zone[1] >= 1.0
        if touches and ends[end]:
            mark_members(members, marks, x, y, z, head, tail, nxt)
            if not may_tie(kind, mode, first, second, power, members, interval[end], input_error):
                continue
            what = AT_LOW_END if end == 0 else AT_HIGH_END
            answer = _ask(
                oracle, what, question, interval, zone, marks, x, y, z, head, tail, nxt, members
            )
            if answer != 2:
                if room:
                    remember(
                        forced,
                        forced_codes,
                        n_forced[0],
                        bits,
                        form,
                        kind,
                        sign,
                        marks,
                        x,
                        y,
                        z,
                        answer,
                    )
                    n_forced[0] += 1
                return answer
    return CROSSING


@njit(cache=True, nogil=True)
def _still(stop, x, marks):
    """Say whether both clusters that block row x are still there."""
    return marks[stop[x, 0]] == stop[x, 2] and marks[stop[x, 1]] == stop[x, 3]


@njit(cache=True, nogil=True)
def agglomerate(
    frame,
    form,
    kind,
    sign,
    error,
    point,
    interval,
    power,
    mode,
    first,
    second,
    input_error,
    box_cox,
    centre,
    marks,
    active,
    n_active,
    objective,
    reference,
    k,
    ordered,
    pair_codes,
    left,
    right,
    head,
    tail,
    nxt,
    size,
    highest,
    cost,
    point_sum,
    pair_sum,
    table,
    split,
    n_nodes,
    forced,
    forced_codes,
    n_forced,
    oracle,
    question,
    ends,
    best,
    members,
    nearest,
    scratch,
    hashes,
    memory,
):
    """Carry out every merge that is certified on the frame's interval.

    Returns (status, active slots left).  ``best`` receives the split: low, high, order left,
    order right, and the three slots.  ``nearest`` are guesses on entry and on return (-1: none).
    """
    slots = frame.shape[0]
    bits = frame.view(np.int64)
    resolved = np.zeros(slots, dtype=np.bool_)
    blocked = np.zeros(slots, dtype=np.int64)
    stop = np.empty((slots, 4), dtype=np.int64)  # slots and nodes of the two rivals
    zones = np.empty((slots, 4))
    flat = frame.reshape(frame.size)
    flat_bits = flat.view(np.int64)
    bars = np.empty(DEGREE)
    bar_bits = bars.view(np.int64)
    flip = np.int64(0) if sign > 0 else np.int64(-1)
    removed = np.full(slots, LARGEST)
    for i in range(n_active):
        removed[active[i]] = 0
    keys = np.empty(slots)
    key_bits = keys.view(np.int64)
    coefficients = 2 if form == ENDS else DEGREE
    nearer = np.empty(coefficients)
    farther = np.empty(coefficients)
    stack = np.empty((10, DEGREE + 1))
    zone = np.zeros(4)
    fresh = True
    for i in range(n_active):
        fresh = fresh and nearest[active[i]] < 0
    progress = True
    while n_active > 1 and (progress or not fresh):
        if not progress:
            # Guesses from the parent's interval may hide a pair: guess again, once.
            for i in range(n_active):
                x = active[i]
                if not resolved[x]:
                    nearest[x] = -1
            fresh = True
        progress = False
        i = 0
        while i < n_active:
            x = active[i]
            i += 1
            if blocked[x] != 0:
                if _still(stop, x, marks):
                    continue
                blocked[x] = 0
            if nearest[x] < 0:
                nearest[x] = guess_nearest(frame, form, kind, sign, x, removed, keys, key_bits)
            y = nearest[x]
            if nearest[y] < 0:
                nearest[y] = guess_nearest(frame, form, kind, sign, y, removed, keys, key_bits)
            if not resolved[x] and nearest[y] != x:
                continue
            merged = False
            for _ in range(2 * n_active + 2):
                stopped = False
                for turn in range(2):
                    row = x if turn == 0 else nearest[x]
                    if resolved[row]:
                        continue
                    if blocked[row] != 0 and _still(stop, row, marks):
                        stopped = True
                        break
                    if nearest[row] < 0:
                        nearest[row] = guess_nearest(
                            frame, form, kind, sign, row, removed, keys, key_bits
                        )
                    code = NEARER
                    rival = -1
                    switches = 0
                    set_bars(frame, form, kind, sign, row, nearest[row], error, bars)
                    j = 0
                    while True:
                        if form == AVERAGE:
                            j = next_doubtful_average(
                                flat_bits,
                                bar_bits,
                                flip,
                                row * slots * DEGREE,
                                active,
                                j,
                                n_active,
                            )
                        elif form == ENDS:
                            j = next_doubtful_end(
                                flat,
                                bars[0],
                                bars[1],
                                kind,
                                sign,
                                row * slots * 8,
                                active,
                                j,
                                n_active,
                            )
                        else:
                            j = next_doubtful_enclosure(
                                frame, form, kind, sign, row, bars, active, j, n_active
                            )
                        if j == n_active:
                            break
                        z = active[j]
                        j += 1
                        if z == row or z == nearest[row]:
                            continue
                        rival = z
                        code = _settle(
                            frame,
                            bits,
                            form,
                            kind,
                            sign,
                            error,
                            point,
                            interval,
                            power,
                            mode,
                            first,
                            second,
                            input_error,
                            box_cox,
                            centre,
                            marks,
                            highest,
                            size,
                            head,
                            tail,
                            nxt,
                            pair_codes,
                            forced,
                            forced_codes,
                            n_forced,
                            oracle,
                            question,
                            ends,
                            members,
                            row,
                            nearest[row],
                            z,
                            nearer,
                            farther,
                            zone,
                            stack,
                        )
                        if code == NEARER:
                            continue
                        if code != FARTHER:
                            break
                        switches += 1
                        if switches > slots + 2:
                            code = TOO_WIDE
                            break
                        rival = nearest[row]
                        nearest[row] = z
                        set_bars(frame, form, kind, sign, row, z, error, bars)
                        code = NEARER
                        j = 0
                    if code == HOPELESS:
                        return UNKNOWN, n_active
                    if code == NEARER:
                        resolved[row] = True
                        blocked[row] = 0
                    else:
                        blocked[row] = 1 if code == CROSSING else 2
                        stop[row, 0] = nearest[row]
                        stop[row, 1] = rival
                        stop[row, 2] = marks[nearest[row]]
                        stop[row, 3] = marks[rival]
                        for c in range(4):
                            zones[row, c] = zone[c]
                        stopped = True
                        break
                if stopped:
                    break
                y = nearest[x]
                if nearest[y] == x:
                    merged = True
                    break
                x = y
            if not merged:
                continue
            y = nearest[x]
            progress = True
            a = marks[x]
            b = marks[y]
            size_x = size[a]
            size_y = size[b]
            if highest[a] > highest[b]:
                a, b = b, a
            node = n_nodes[0]
            n_nodes[0] += 1
            left[node] = a
            right[node] = b
            highest[node] = highest[b]
            if n_active > 2 or k == 1:
                cost[node], pair_sum[node] = recalled_cost(
                    objective,
                    reference,
                    head,
                    tail,
                    nxt,
                    size,
                    a,
                    b,
                    point_sum,
                    pair_sum,
                    scratch,
                    hashes,
                    node,
                    memory,
                )
            join(node, a, b, head, tail, nxt, size)
            fill_table(objective, node, left, right, size, cost, k, table, split)
            # Take y out of the active slots, and forget guesses that pointed at x or y.
            kept = 0
            nearest[x] = -1
            resolved[x] = False
            for j in range(n_active):
                z = active[j]
                if z == y:
                    continue
                active[kept] = z
                kept += 1
                if nearest[z] == x or nearest[z] == y:
                    nearest[z] = -1
                    resolved[z] = False
            n_active = kept
            marks[x] = node
            marks[y] = -1
            removed[y] = LARGEST
            if n_active == 1:
                break
            if form == AVERAGE:
                total = size_x + size_y
                merge_average(flat, slots, x, y, size_x / total, size_y / total, active, n_active)
            elif form == ENDS:
                merge_ends(frame, flat_bits, ordered, error, x, y, active, n_active)
            else:
                merge_enclosure_codes(frame, bits, kind, error, x, y, active, n_active)
                merge_enclosure(frame, kind, x, y, active, n_active)
            i = 0 if i > n_active else i
    if n_active == 1:
        return DONE, n_active
    chosen = -1
    distance = 2.0
    for j in range(n_active):
        x = active[j]
        if blocked[x] == 1 and _still(stop, x, marks):
            away = abs(0.5 * (zones[x, 0] + zones[x, 1]) - 0.5)
            if away < distance:
                distance = away
                chosen = x
    if chosen < 0:
        return PLAIN, n_active
    for c in range(4):
        best[c] = zones[chosen, c]
    best[4] = chosen
    best[5] = stop[chosen, 0]
    best[6] = stop[chosen, 1]
    return ZONE, n_active
