"""Which function of the parameter a cluster pair has, and what is settled about it on a branch.

Averages are the same function exactly if the multisets of their pair codes agree up to the common
factor; that is looked up only when two averages cannot be told apart.  Minima and maxima are
functions of few point pairs; their codes travel with the records of the frame.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing, lending
from certune.kernels.ends import UNKNOWN_CODE
from certune.kernels.frames import ENDS, members_by_slot
from certune.kernels.linking import linked
from certune.kernels.series import DEGREE, MAXIMUM, MEAN, MINIMUM, MINMAX

TIED = 2  # the two values are equal wherever this branch looks


@linked
def mix(code):
    """Bijective mixing of 64 bits, so that sums of codes identify multisets."""
    x = code + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@borrowing
def code_lane(bits, form, sign, larger):
    """Lane of the code of the pair with the smaller or the larger value."""
    if form == ENDS:
        return 7 if larger == (sign > 0) else 3
    return bits.shape[2] - (1 if larger else 2)


@linked
def enclosure_codes(bits, sign, first, second, codes, labels, low, high):
    """Fill the codes of an ENCLOSURE.

    They are those of the pairs that attain the smallest and the largest value on all of
    [low, high], or UNKNOWN_CODE if such a pair is not certain.
    """
    slots = bits.shape[0]
    members, start = members_by_slot(labels, slots)
    for x in range(slots):
        for z in range(x + 1, slots):
            for larger in range(2):
                lane = bits.shape[2] - 2 + larger
                code = _extreme_code(
                    (larger == 0) == (sign > 0),
                    first,
                    second,
                    codes,
                    members[start[x] : start[x + 1]],
                    members[start[z] : start[z + 1]],
                    low,
                    high,
                )
                bits[x, z, lane] = code
                bits[z, x, lane] = code


@linked
def _extreme_code(smaller, first, second, codes, members, others, low, high):
    """Code of the distance that is smallest (or largest) on all of [low, high]."""
    best_a = members[0]
    best_b = others[0]
    middle = 0.5 * (low + high)
    for a in members:
        for b in others:
            value = first[a, b] + middle * second[a, b]
            best = first[best_a, best_b] + middle * second[best_a, best_b]
            if value != best and (value < best) == smaller:
                best_a = a
                best_b = b
    code = codes[best_a, best_b]
    for a in members:
        for b in others:
            if codes[a, b] == code:
                continue
            for t in (low, high):
                value = first[a, b] + t * second[a, b]
                best = first[best_a, best_b] + t * second[best_a, best_b]
                margin = 1e-13 * (1.0 + abs(value) + abs(best))
                if (value - best if smaller else best - value) <= margin:
                    return UNKNOWN_CODE
    return code ^ UNKNOWN_CODE


@borrowing
def merge_enclosure_codes(frame, bits, kind, error, x, y, active, n_active):
    """Codes of the union of slots x and y, before the rows of the frame are merged."""
    for larger in range(2):
        if (kind == MINIMUM and larger == 1) or (kind == MAXIMUM and larger == 0):
            continue
        lane = bits.shape[2] - 2 + larger
        lower = DEGREE if kind == MINMAX and larger == 1 else 0
        upper = lower + (2 * DEGREE if kind == MINMAX else DEGREE)
        for i in range(n_active):
            z = active[i]
            here = bits[x, z, lane]
            there = bits[y, z, lane]
            if here != there:
                below = _separated(frame, lower, upper, error, x, y, z)
                above = _separated(frame, lower, upper, error, y, x, z)
                if not below and not above:
                    here = UNKNOWN_CODE
                elif below == (larger == 1):
                    here = there
            bits[x, z, lane] = here
            bits[z, x, lane] = here


@borrowing
def _separated(frame, lower, upper, error, x, y, z):
    """Say whether the value of (x, z) is proved smaller than that of (y, z)."""
    for k in range(DEGREE):
        top = frame[x, z, upper + k] * (1.0 + error)
        if not top < frame[y, z, lower + k] * (1.0 - error):
            return False
    return True


@lending
def identical(bits, form, kind, sign, marks, x, y, z, size, head, tail, nxt, pair_codes):
    """Say whether (x, y) and (x, z) have the same function; False means "not proved here".

    ``marks`` are the node ids of the slots.
    """
    if kind != MEAN:
        same = True
        for larger in range(2):
            if (kind == MINIMUM and larger == 1) or (kind == MAXIMUM and larger == 0):
                continue
            code = bits[x, y, code_lane(bits, form, sign, larger == 1)]
            same = same and code != UNKNOWN_CODE
            same = same and code == bits[x, z, code_lane(bits, form, sign, larger == 1)]
        return same
    size_y = np.uint64(size[marks[y]])
    size_z = np.uint64(size[marks[z]])
    hash_y = _hash(marks[x], marks[y], head, tail, nxt, pair_codes)
    hash_z = _hash(marks[x], marks[z], head, tail, nxt, pair_codes)
    if hash_y * size_z != hash_z * size_y:
        return False
    first = _gather(marks[x], marks[y], size, head, tail, nxt, pair_codes)
    second = _gather(marks[x], marks[z], size, head, tail, nxt, pair_codes)
    i = 0
    j = 0
    while i < first.size and j < second.size:
        code = first[i]
        if second[j] != code:
            return False
        start_i = i
        start_j = j
        while i < first.size and first[i] == code:
            i += 1
        while j < second.size and second[j] == code:
            j += 1
        if np.uint64(i - start_i) * size_z != np.uint64(j - start_j) * size_y:
            return False
    return i == first.size and j == second.size


@borrowing
def list_members(forest, merging, row, near, rival):
    """Hand over the members of three clusters to `identical`."""
    slot = 0
    for node in (row, near, rival):
        size = forest.size[node]
        merging.size[slot] = size
        merging.head[slot] = forest.members[node, 0]
        merging.tail[slot] = forest.members[node, size - 1]
        for i in range(size - 1):
            merging.nxt[forest.members[node, i]] = forest.members[node, i + 1]
        slot += 1


@borrowing
def same_with(panel, merging, desk, codes):
    """Are the values of the listed pairs of clusters the same, by these codes?"""
    return identical(
        desk.bits,
        panel.form,
        panel.kind,
        panel.sign,
        merging.marks,
        0,
        1,
        2,
        merging.size,
        merging.head,
        merging.tail,
        merging.nxt,
        codes,
    )


@linked
def _hash(a, b, head, tail, nxt, pair_codes):
    """Sum of the mixed codes of the point pairs of two nodes."""
    total = np.uint64(0)
    p = head[a]
    while True:
        q = head[b]
        while True:
            total += mix(pair_codes[p, q])
            if q == tail[b]:
                break
            q = nxt[q]
        if p == tail[a]:
            break
        p = nxt[p]
    return total


@linked
def _gather(a, b, size, head, tail, nxt, pair_codes):
    """Sorted codes of the point pairs of two nodes."""
    out = np.empty(size[a] * size[b], dtype=np.uint64)
    i = 0
    p = head[a]
    while True:
        q = head[b]
        while True:
            out[i] = pair_codes[p, q]
            i += 1
            if q == tail[b]:
                break
            q = nxt[q]
        if p == tail[a]:
            break
        p = nxt[p]
    out.sort()
    return out


@borrowing
def known_order(forced, forced_codes, n_forced, bits, form, kind, sign, marks, x, y, z):
    """Order of (x, y) against (x, z) settled on this branch: 1, -1, TIED, or 0 if it is not.

    A tie settles the function only; who wins it depends on the clusters.
    Extremes are functions of few point pairs, so the same comparison returns for larger clusters
    and is recognised by its codes.
    """
    y0 = y1 = z0 = z1 = UNKNOWN_CODE
    by_codes = False
    if kind != MEAN:
        y0, y1 = _codes_of(bits, form, kind, sign, x, y)
        z0, z1 = _codes_of(bits, form, kind, sign, x, z)
        by_codes = min(y0, y1, z0, z1) != UNKNOWN_CODE
    for i in range(n_forced - 1, -1, -1):
        if forced[i, 0] == marks[x]:
            if forced[i, 1] == marks[y] and forced[i, 2] == marks[z]:
                return forced[i, 3] if forced[i, 3] != 0 else TIED
            if forced[i, 1] == marks[z] and forced[i, 2] == marks[y]:
                return -forced[i, 3] if forced[i, 3] != 0 else TIED
        if by_codes:
            f0, f1, f2, f3 = (
                forced_codes[i, 0],
                forced_codes[i, 1],
                forced_codes[i, 2],
                forced_codes[i, 3],
            )
            if f0 == y0 and f1 == y1 and f2 == z0 and f3 == z1:
                return forced[i, 3] if forced[i, 3] != 0 else TIED
            if f0 == z0 and f1 == z1 and f2 == y0 and f3 == y1:
                return -forced[i, 3] if forced[i, 3] != 0 else TIED
    return 0


@borrowing
def _codes_of(bits, form, kind, sign, x, z):
    """Return the two codes that identify the value of (x, z); one code twice for one extreme."""
    small = bits[x, z, code_lane(bits, form, sign, kind == MAXIMUM)]
    large = bits[x, z, code_lane(bits, form, sign, kind != MINIMUM)]
    return small, large


@borrowing
def remember(forced, forced_codes, i, bits, form, kind, sign, marks, x, y, z, order):
    """Write entry i of what is settled on this branch."""
    forced[i, 0] = marks[x]
    forced[i, 1] = marks[y]
    forced[i, 2] = marks[z]
    forced[i, 3] = order
    if kind == MEAN:
        forced_codes[i, 0] = UNKNOWN_CODE  # the hash of `difference_terms`, found when needed
    else:
        forced_codes[i, 0], forced_codes[i, 1] = _codes_of(bits, form, kind, sign, x, y)
        forced_codes[i, 2], forced_codes[i, 3] = _codes_of(bits, form, kind, sign, x, z)


@linked
def difference_terms(a, b, c, size, head, tail, nxt, pair_codes):
    """Terms of the difference of the averages of (a, b) and (a, c), up to a positive factor.

    Returns the pair codes in order, their coprime integer coefficients, and a hash of both in
    which a difference and its negative agree.
    """
    first = _gather(a, b, size, head, tail, nxt, pair_codes)
    second = _gather(a, c, size, head, tail, nxt, pair_codes)
    codes = np.empty(first.size + second.size, np.uint64)
    counts = np.empty(codes.size, np.int64)
    n = 0
    i = 0
    j = 0
    common = np.int64(0)
    while i < first.size or j < second.size:
        if j == second.size or (i < first.size and first[i] <= second[j]):
            code = first[i]
        else:
            code = second[j]
        count = np.int64(0)
        while i < first.size and first[i] == code:
            count += size[c]
            i += 1
        while j < second.size and second[j] == code:
            count -= size[b]
            j += 1
        if count != 0:
            codes[n] = code
            counts[n] = count
            n += 1
            rest = abs(count)
            while rest != 0:
                common, rest = rest, common % rest
    digest = np.uint64(n)
    lead = np.int64(1) if n == 0 or counts[0] > 0 else np.int64(-1)
    for k in range(n):
        counts[k] //= common
        digest = mix(digest ^ mix(codes[k])) + np.uint64(counts[k] * lead)
    return codes[:n], counts[:n], max(digest, UNKNOWN_CODE + np.uint64(1))


@lending
def same_average_comparison(
    forced, forced_codes, n_forced, marks, x, y, z, size, head, tail, nxt, pair_codes
):
    """Order of (x, y) against (x, z) if a settled comparison of averages is the same one.

    With few distinct distances, many cluster pairs compare by the same function of the parameter
    and change order at the same root.  Nodes of settled comparisons are still in the tree, so
    equal hashes are checked term by term.
    """
    if n_forced == 0:
        return 0
    codes, counts, digest = difference_terms(
        marks[x], marks[y], marks[z], size, head, tail, nxt, pair_codes
    )
    for i in range(n_forced - 1, -1, -1):
        known = forced_codes[i, 0]
        if known != UNKNOWN_CODE and known != digest:
            continue
        other_codes, other_counts, other_digest = difference_terms(
            forced[i, 0], forced[i, 1], forced[i, 2], size, head, tail, nxt, pair_codes
        )
        forced_codes[i, 0] = other_digest
        if other_digest != digest or other_codes.size != codes.size:
            continue
        flip = 1 if codes.size == 0 or counts[0] == other_counts[0] else -1
        same = True
        for k in range(codes.size):
            same = same and codes[k] == other_codes[k] and counts[k] == flip * other_counts[k]
        if same:
            return flip * forced[i, 3] if forced[i, 3] != 0 else TIED
    return 0
