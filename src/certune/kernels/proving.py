"""Proofs that two clusters are nearest to each other, from one point of the panel on.

Every proof knows until where it holds: a lower bound first, the zone of the failure when the
bound is reached.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import (
    AGAIN,
    FINEST,
    HOLDS,
    UNCLEAR,
    WRONG,
    judge,
    part_of,
    restrict_to_rest,
    set_bar,
    set_window,
    until_average,
    until_ends,
)
from certune.kernels.chords import (
    chord_of,
    doubtful_among,
    doubtful_chords,
    nobody_alive,
    set_alive,
    until_chord,
)
from certune.kernels.doubts import (
    doubtful_averages,
    doubtful_ends,
    unite_averages,
)
from certune.kernels.ends import UNKNOWN_CODE
from certune.kernels.frames import AVERAGE
from certune.kernels.meetings import judge_meeting
from certune.kernels.pair_keys import key_of
from certune.kernels.records import below_scaled
from certune.kernels.sharpening import BOUNDED, FOUND, sharpen, tied
from certune.kernels.tree_records import ensure


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
def prove(panel, state, p, q, all_alive, t, sharp, union):
    """Prove from t on that p and q are nearest to each other.

    Rivals are all that are alive, or else the fresh clusters only.

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
    found = work.found
    forced = work.forced
    bar = desk.bar
    rivals = work.alive if all_alive else work.fresh
    n_rivals = work.n_alive[0] if all_alive else work.n_fresh[0]
    found[0] = np.inf
    found[1] = np.inf
    found[2] = np.inf
    average = panel.form == AVERAGE
    by_chords = panel.dense
    own = 8 * key_of(p, q)
    share = 0.0
    bars = work.bars
    if by_chords:
        share = part_of(panel, t)
        if all_alive:
            n_doubtful = doubtful_chords(
                records, work.absent, work.crowd, bars, share, p, q, work.doubtful
            )
        else:
            n_doubtful = doubtful_among(records, rivals, n_rivals, bars, share, p, q, work.doubtful)
    elif average and union >= 0:
        n_doubtful = unite_averages(
            flat,
            known,
            own,
            panel.factor,
            panel.flip,
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
            p,
            q,
            rivals,
            n_rivals,
            work.doubtful,
        )
    else:
        set_bar(panel, flat, own, bar)
        n_doubtful = doubtful_ends(
            flat, known, bar, panel.kind, panel.sign, p, q, rivals, n_rivals, work.doubtful
        )
    n_candidates = 0
    on_desk = False
    for i in range(n_doubtful):
        row = work.doubtful[i, 0]
        c = work.doubtful[i, 1]
        key = key_of(row, c)
        if not by_chords and known[key] == 0:
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
            own_chord = chord_of(records, p, q)
            rival_chord = chord_of(records, row, c)
            until = until_chord(panel, records.chords, bars, share, own_chord, rival_chord)
            if (
                until < t
                and until_chord(panel, records.chords, bars, share, rival_chord, own_chord) > t
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
            order = tied(panel, forest, merging, desk, row, near, c) if code == UNCLEAR else 0
            if order != 0:
                code = HOLDS if order > 0 else WRONG
            else:
                code, low, high = judge_meeting(panel, state, row, near, c, start, code, low, high)
        if code == UNCLEAR:
            work.zone[1] = high
            return UNCLEAR
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
        sharpen(panel, state, own, n_candidates, t)
    return HOLDS


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
    nobody_alive(work.absent, work.crowd)
    for x in range(forest.n_first):
        if forest.until[x] >= stage:
            work.alive[count] = x
            set_alive(work.absent, work.crowd, state.records.slots[x])
            count += 1
    for i in range(stage):
        other = forest.order[i]
        if forest.until[other] >= stage:
            work.alive[count] = other
            set_alive(work.absent, work.crowd, state.records.slots[other])
            count += 1
    work.n_alive[0] = count
    code = prove(panel, state, forest.left[node], forest.right[node], True, t, True, -1)
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
