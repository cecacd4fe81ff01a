"""Rivals of a merge that plain tests on the whole panel, or its rest, do not settle."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.pair_keys import key_of
from certune.kernels.records import below_scaled, blend_records
from certune.kernels.series import MAXIMUM, MINIMUM


@borrowing
def doubtful_averages(flat, known, own, factor, flip, p, q, rivals, n_rivals, doubtful):
    """List the (row, rival) whose record does not clear the bar on the whole panel.

    The bar is the record of (p, q), ``own``, times a factor.  Unknown records are listed as well.
    """
    count = 0
    for i in range(n_rivals):
        c = rivals[i]
        if c == p or c == q:
            continue
        key = key_of(p, c)
        if known[key] == 0 or below_scaled(flat, 8 * key, own, factor, flip) != 0:
            doubtful[count, 0] = p
            doubtful[count, 1] = c
            count += 1
        key = key_of(q, c)
        if known[key] == 0 or below_scaled(flat, 8 * key, own, factor, flip) != 0:
            doubtful[count, 0] = q
            doubtful[count, 1] = c
            count += 1
    return count


@borrowing
def unite_averages(
    flat,
    known,
    own,
    factor,
    flip,
    p,
    q,
    weight_p,
    weight_q,
    node,
    rivals,
    n_rivals,
    doubtful,
):
    """Do the same where all records are known, and fill those of the union ``node`` on the way."""
    count = 0
    for i in range(n_rivals):
        c = rivals[i]
        if c == p or c == q:
            continue
        at_p = 8 * key_of(p, c)
        at_q = 8 * key_of(q, c)
        if below_scaled(flat, at_p, own, factor, flip) != 0:
            doubtful[count, 0] = p
            doubtful[count, 1] = c
            count += 1
        if below_scaled(flat, at_q, own, factor, flip) != 0:
            doubtful[count, 0] = q
            doubtful[count, 1] = c
            count += 1
        key = key_of(node, c)
        blend_records(flat, at_p, at_q, weight_p, weight_q, flat, 8 * key, 8 * key)
        known[key] = 1
    return count


@borrowing
def doubtful_ends(flat, known, bar, kind, sign, p, q, rivals, n_rivals, doubtful):
    """Do the same for ENDS."""
    side = 1.0 if sign > 0 else -1.0
    low = side * bar[0]
    high = side * bar[1]
    with_min = kind != MAXIMUM
    with_max = kind != MINIMUM
    count = 0
    for i in range(n_rivals):
        c = rivals[i]
        if c == p or c == q:
            continue
        for row in (p, q):
            key = key_of(row, c)
            at = 8 * key
            at_low = 0.0
            at_high = 0.0
            if with_min:
                at_low = flat[at]
                at_high = flat[at + 1]
            if with_max:
                at_low += flat[at + 4]
                at_high += flat[at + 5]
            if known[key] == 0 or not (side * at_low > low and side * at_high > high):
                doubtful[count, 0] = row
                doubtful[count, 1] = c
                count += 1
    return count
