"""Proofs that two clusters are nearest to each other, from one point of the panel on.

Every proof knows until where it holds: a lower bound first, the zone of the failure when the
bound is reached.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import (
    AGAIN,
    FAILS,
    FINEST,
    HOLDS,
    LOCATED,
    UNCLEAR,
    WRONG,
    judge,
    restrict_to_rest,
    set_bar,
    set_window,
    share_of,
    until_average,
    until_chord,
    until_ends,
)
from certune.kernels.compare import tie_prefers
from certune.kernels.doubts import (
    doubtful_averages,
    doubtful_chords,
    doubtful_ends,
    unite_averages,
)
from certune.kernels.ends import UNKNOWN_CODE
from certune.kernels.frames import AVERAGE
from certune.kernels.identities import identical
from certune.kernels.polish import polish
from certune.kernels.records import below_scaled, move_record
from certune.kernels.tree_records import ensure, set_chord

# How well the first failure of a candidate is located: a lower bound, a zone, a zone polished.
BOUNDED, FOUND, POLISHED = 0, 1, 2


@borrowing
def _tied(panel, forest, merging, desk, row, near, rival):
    """Order of two pairs if they have the same function: 1, -1, or 0 if they have not.

    Their records are on the desk.
    """
    slot = 0
    for node in (row, near, rival):
        size = forest.size[node]
        merging.size[slot] = size
        merging.head[slot] = forest.members[node, 0]
        merging.tail[slot] = forest.members[node, size - 1]
        for i in range(size - 1):
            merging.nxt[forest.members[node, i]] = forest.members[node, i + 1]
        slot += 1
    if not identical(
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
        merging.codes,
    ):
        return 0
    highest = forest.highest
    return 1 if tie_prefers(highest[row], highest[near], highest[rival]) else -1


@borrowing
def _same_codes(bits, near, rival, codes):
    """Are two min-max values those of the last change, in one order or the other?"""
    near_low, near_high = bits[near + 3], bits[near + 7]
    rival_low, rival_high = bits[rival + 3], bits[rival + 7]
    if min(near_low, near_high, rival_low, rival_high) == UNKNOWN_CODE:
        return False
    return (
        near_low == codes[0]
        and near_high == codes[1]
        and rival_low == codes[2]
        and rival_high == codes[3]
    ) or (
        near_low == codes[2]
        and near_high == codes[3]
        and rival_low == codes[0]
        and rival_high == codes[1]
    )


@borrowing
def _found(work, code, low, high, row, rival):
    """Keep the earliest failure, and where the next one may begin."""
    found = work.found
    if low < found[0]:
        found[2] = found[0]
        found[0] = low
        found[1] = high
        work.found_at[0] = code
        work.found_at[1] = row
        work.found_at[2] = rival
    elif low < found[2]:
        found[2] = low


@borrowing
def prove(panel, state, p, q, rivals, n_rivals, t, sharp, union):
    """Prove from t on that p and q are nearest to each other, as far as the rivals go.

    Returns HOLDS, with the first failure in ``found``, or WRONG with the row and the rival that is
    nearer, or UNCLEAR with the end of what is unclear in ``zone[1]``.  Unless ``sharp``, the proof
    has to be looked at AGAIN before it fails.  With ``union`` >= 0, all records are known, and
    those of this node are filled (averages in panels that are not dense).
    """
    records = state.records
    forest = state.forest
    merging = state.merging
    desk = state.desk
    work = state.work
    flat = records.flat
    bits = records.bits
    known = records.known
    width = records.width
    found = work.found
    forced = work.forced
    bar = desk.bar
    found[0] = np.inf
    found[1] = np.inf
    found[2] = np.inf
    average = panel.form == AVERAGE
    by_chords = panel.dense
    own = 8 * (p * width + q if p < q else q * width + p)
    start_own = 0.0
    end_own = 0.0
    share = 0.0
    chords = records.chords
    key = 2 * (p * width + q)
    if not by_chords or np.isnan(chords[key]):
        ensure(panel, records, forest, p, q, work.stack)
        if by_chords:
            set_chord(records, panel.sign, p, q)
    if by_chords:
        share = share_of(panel, t)
        start_own = chords[key]
        end_own = chords[key + 1]
        n_doubtful = doubtful_chords(
            chords,
            share,
            ((1.0 - share) * start_own + share * end_own) * panel.slack,
            end_own * panel.slack,
            width,
            p,
            q,
            rivals,
            n_rivals,
            work.doubtful,
        )
    elif average and union >= 0:
        n_doubtful = unite_averages(
            flat,
            known,
            own,
            panel.factor,
            panel.flip,
            width,
            p,
            q,
            forest.size[p] / forest.size[union],
            forest.size[q] / forest.size[union],
            union,
            rivals,
            n_rivals,
            work.doubtful,
        )
    elif average:
        n_doubtful = doubtful_averages(
            flat,
            known,
            own,
            panel.factor,
            panel.flip,
            width,
            p,
            q,
            rivals,
            n_rivals,
            work.doubtful,
        )
    else:
        set_bar(panel, flat, own, bar)
        n_doubtful = doubtful_ends(
            flat, known, bar, panel.kind, panel.sign, width, p, q, rivals, n_rivals, work.doubtful
        )
    n_candidates = 0
    on_desk = False
    for i in range(n_doubtful):
        row = work.doubtful[i, 0]
        c = work.doubtful[i, 1]
        key = row * width + c if row < c else c * width + row
        if by_chords:
            if np.isnan(chords[2 * (row * width + c)]):
                ensure(panel, records, forest, row, c, work.stack)
                set_chord(records, panel.sign, row, c)
        elif known[key] == 0:
            ensure(panel, records, forest, row, c, work.stack)
            if average and below_scaled(flat, 8 * key, own, panel.factor, panel.flip) == 0:
                continue
        near = p if row == q else q
        start = t
        if row == forced[0] and (
            (near == forced[1] and c == forced[2]) or (near == forced[2] and c == forced[1])
        ):
            version = forest.version[row] + forest.version[near] + forest.version[c]
            if version == forced[3]:
                start = max(t, work.zone[0])
        elif not average and _same_codes(bits, own, 8 * key, work.forced_codes):
            start = max(t, work.zone[0])
        until = -np.inf
        if not average:
            middle = start + 0.5 * (panel.high - start)
            until = until_ends(
                panel,
                flat,
                own,
                8 * key,
                start,
                found[1] if sharp else min(found[1], middle),
                FINEST if not sharp else 1 if found[1] < np.inf else 0,
                bar,
            )
        elif start == t and by_chords:
            at = 2 * (row * width + c)
            until = until_chord(panel, share, chords[at], chords[at + 1], start_own, end_own)
            if (
                until < t
                and until_chord(panel, share, start_own, end_own, chords[at], chords[at + 1]) > t
            ):
                work.found_at[1] = row
                work.found_at[2] = c
                return WRONG
        elif start == t:
            if not on_desk:
                on_desk = True
                set_window(panel, t, desk)
                restrict_to_rest(panel, flat, own, t, desk, 0)
            until = until_average(panel, flat, 8 * key, t, found[1], desk)
        if until >= found[1]:
            continue
        code = AGAIN
        low = high = until
        if not until > start:
            if by_chords:
                ensure(panel, records, forest, p, q, work.stack)
                ensure(panel, records, forest, row, c, work.stack)
            code, low, high = judge(panel, flat, own, 8 * key, start, desk)
        if code == UNCLEAR:
            order = _tied(panel, forest, merging, desk, row, near, c)
            if order == 0:
                work.zone[1] = high
                return UNCLEAR
            code = HOLDS if order > 0 else WRONG
        if code == WRONG:
            work.found_at[1] = row
            work.found_at[2] = c
            return WRONG
        if code == HOLDS:
            continue
        if not (sharp and average):
            _found(work, code, low, high, row, c)
            continue
        work.bounds[n_candidates, 0] = low
        work.bounds[n_candidates, 1] = high
        work.candidates[n_candidates, 0] = row
        work.candidates[n_candidates, 1] = c
        work.candidates[n_candidates, 2] = code
        work.candidates[n_candidates, 3] = BOUNDED if until > start else FOUND
        n_candidates += 1
    if n_candidates > 0:
        ensure(panel, records, forest, p, q, work.stack)
        work.near[0] = p
        work.near[1] = q
        _sharpen(panel, state, own, n_candidates, t)
    return HOLDS


@borrowing
def _least_bound(work, n_candidates, but):
    least = -1
    for i in range(n_candidates):
        if i != but and (least < 0 or work.bounds[i, 0] < work.bounds[least, 0]):
            least = i
    return least


@borrowing
def mark_members(forest, row, near, rival, marks):
    """Mark the members of the three clusters of a comparison by 1, 2, 3."""
    marks[:] = 0
    mark = 1
    for cluster in (row, near, rival):
        for i in range(forest.size[cluster]):
            marks[forest.members[cluster, i]] = mark
        mark += 1


@borrowing
def narrowed(panel, state, low, high):
    """Polish the zone of the comparison of averages whose members are marked."""
    pairs = state.pairs
    low, high, _ = polish(
        panel.kind,
        pairs.mode,
        pairs.first,
        pairs.second,
        pairs.power,
        state.work.marks,
        low,
        high,
        1.0,
        pairs.input_error,
    )
    return low, high


@borrowing
def _polish(panel, state, i):
    """Make the zone of a failure as narrow as can be; False if it was so before or is not found."""
    forest = state.forest
    work = state.work
    bounds = work.bounds
    candidates = work.candidates
    if candidates[i, 3] == POLISHED or candidates[i, 2] != FAILS:
        return False
    candidates[i, 3] = POLISHED
    row = candidates[i, 0]
    near = work.near[0] if work.near[1] == row else work.near[1]
    mark_members(forest, row, near, candidates[i, 1], work.marks)
    low, high = narrowed(panel, state, bounds[i, 0], bounds[i, 1])
    if low < high:
        candidates[i, 2] = LOCATED
        bounds[i, 0] = low
        bounds[i, 1] = high
    return True


@borrowing
def _sharpen(panel, state, own, n_candidates, t):
    """Locate the first failure among candidates of which lower bounds are known."""
    records = state.records
    forest = state.forest
    merging = state.merging
    desk = state.desk
    work = state.work
    bounds = work.bounds
    candidates = work.candidates
    while True:
        first = _least_bound(work, n_candidates, -1)
        second = _least_bound(work, n_candidates, first)
        to_locate = first
        if bounds[first, 0] == np.inf:
            break
        if candidates[first, 3] != BOUNDED:
            if second < 0 or bounds[second, 0] > bounds[first, 1]:
                break
            row = candidates[first, 0]
            rival = candidates[first, 1]
            other = candidates[second, 1]
            if candidates[second, 0] == row:
                # Two rivals with the same function fail together: the tie rule picks one.
                at = ensure(panel, records, forest, row, rival, work.stack)
                move_record(records.flat, at, desk.flat, 8)
                at = ensure(panel, records, forest, row, other, work.stack)
                move_record(records.flat, at, desk.flat, 16)
                order = _tied(panel, forest, merging, desk, row, rival, other)
                if order != 0:
                    bounds[first if order < 0 else second, 0] = np.inf
                    continue
            if candidates[second, 3] != BOUNDED:
                if not (_polish(panel, state, first) or _polish(panel, state, second)):
                    break
                continue
            to_locate = second
        row = candidates[to_locate, 0]
        at = ensure(panel, records, forest, row, candidates[to_locate, 1], work.stack)
        code, low, high = judge(panel, records.flat, own, at, t, desk)
        candidates[to_locate, 3] = FOUND
        if code == UNCLEAR and bounds[to_locate, 0] < high < panel.high and desk.zone[3] < 0.0:
            # It begins at t, but nothing fails before the bound, and the rival is nearer behind it.
            code = FAILS
            low = bounds[to_locate, 0]
        if code == UNCLEAR or code == WRONG:
            candidates[to_locate, 2] = AGAIN
            bounds[to_locate, 1] = bounds[to_locate, 0]
            continue
        candidates[to_locate, 2] = code
        bounds[to_locate, 0] = np.inf if code == HOLDS else low
        bounds[to_locate, 1] = np.inf if code == HOLDS else high
    work.found[0] = bounds[first, 0]
    work.found[1] = bounds[first, 1]
    work.found[2] = np.inf if second < 0 else bounds[second, 0]
    work.found_at[0] = candidates[first, 2]
    work.found_at[1] = candidates[first, 0]
    work.found_at[2] = candidates[first, 1]


@borrowing
def note(proofs, forest, work, node, anew):
    """Keep what was found: the whole proof of a merge, or an addition to it."""
    found = work.found
    found_at = work.found_at
    if anew or found[0] < proofs.low[node]:
        second = found[2]
        if not anew:
            second = min(second, proofs.low[node])
        proofs.low[node] = found[0]
        proofs.high[node] = found[1]
        proofs.code[node] = found_at[0]
        proofs.row[node] = found_at[1]
        proofs.rival[node] = found_at[2]
        proofs.rival_version[node] = forest.version[found_at[2]]
        proofs.second[node] = second
    else:
        proofs.second[node] = min(proofs.second[node], found[0])


@borrowing
def prove_again(panel, state, node, t):
    """Prove one merge anew from t on, against all that is left at its stage."""
    forest = state.forest
    work = state.work
    proofs = state.proofs
    stage = forest.stage[node]
    count = 0
    for x in range(forest.n_first):
        if forest.until[x] >= stage:
            work.alive[count] = x
            count += 1
    for i in range(stage):
        other = forest.order[i]
        if forest.until[other] >= stage:
            work.alive[count] = other
            count += 1
    code = prove(
        panel, state, forest.left[node], forest.right[node], work.alive, count, t, True, -1
    )
    if code == HOLDS:
        note(proofs, forest, work, node, True)
    return code


@borrowing
def is_stale(forest, proofs, node):
    """Is the rival of the first failure not there any more at the stage of the merge?"""
    rival = proofs.rival[node]
    stage = forest.stage[node]
    return (
        forest.stage[rival] >= stage
        or forest.until[rival] < stage
        or proofs.rival_version[node] != forest.version[rival]
    )
