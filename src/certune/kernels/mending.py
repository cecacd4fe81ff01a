"""Mend a tree from the stage on at which a merge fails.

The old merges are replayed.  One is kept if no *fresh* cluster, one that the old tree does not have
at that stage, comes between; otherwise its parts become fresh.  Fresh clusters that are nearest to
each other are merged, and a union with the members of an old node takes its place.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import (
    HOLDS,
    UNCLEAR,
    WRONG,
    end_of,
    part_of,
    set_basis,
    value_at,
)
from certune.kernels.chords import chord_at, doubtful_among, nobody_alive
from certune.kernels.frames import AVERAGE
from certune.kernels.guessing import nearest_alive
from certune.kernels.pair_keys import key_of
from certune.kernels.proving import note, prove
from certune.kernels.records import below_scaled
from certune.kernels.roster import enter, freshen, in_time, leave
from certune.kernels.tree_records import ensure
from certune.kernels.unions import fill_fresh, fill_row, new_node


@borrowing
def _make(slots, work, forest, node, is_fresh, n_made):
    """Carry out the merge that makes a node."""
    p = forest.left[node]
    q = forest.right[node]
    leave(slots, work, p)
    leave(slots, work, q)
    enter(slots, work, node, is_fresh)
    work.formed[node] = True
    forest.order[n_made] = node
    forest.stage[node] = n_made
    forest.until[p] = n_made
    forest.until[q] = n_made


@borrowing
def _pair_up(panel, records, forest, work, share):
    """Where guesses go round in a circle (ties), let the closest two point at each other."""
    work.n_wrong[0] += 1
    best = np.inf
    chosen = -1
    for i in range(work.n_fresh[0]):
        x = work.fresh[i]
        if panel.dense:
            value = chord_at(records, x, work.nearest[x], share)
        else:
            at = ensure(panel, records, forest, x, work.nearest[x], work.stack)
            value = value_at(panel, records.flat, at, share, work.basis)
        if value < best:
            best = value
            chosen = x
    if chosen < 0 or work.n_wrong[0] > 4 * forest.n_first:
        return False
    work.nearest[work.nearest[chosen]] = chosen
    return True


@borrowing
def _next_fresh(fresh, n_fresh, is_fresh, nearest, place):
    """Two fresh clusters that are nearest to each other, or one (and -1) to find the nearest of.

    Returns (-1, -1) if all others have to wait.
    """
    for i in range(n_fresh):
        x = fresh[i]
        y = nearest[x]
        if y < 0 or place[y] < 0:
            return x, -1
        if is_fresh[y]:
            z = nearest[y]
            if z == x:
                return x, y
            if z < 0 or place[z] < 0:
                return y, -1
    return -1, -1


@borrowing
def _merge_fresh(panel, state, n_made, n_queue, t, share, proving):
    """Merge fresh clusters that are nearest to each other; returns a code and the merges made.

    Without ``proving``, guesses are taken for the truth.
    """
    records = state.records
    forest = state.forest
    work = state.work
    proofs = state.proofs
    while work.n_fresh[0] > 1:
        x, y = _next_fresh(work.fresh, work.n_fresh[0], work.is_fresh, work.nearest, work.place)
        if x < 0:
            if work.n_fresh[0] < work.n_alive[0] or not _pair_up(
                panel, records, forest, work, share
            ):
                break
            continue
        if y < 0:
            y = nearest_alive(panel, records, forest, work, x, share)
            if y < 0 or work.place[y] < 0:
                return UNCLEAR, n_made
            work.nearest[x] = y
            continue
        code = HOLDS
        if proving:
            code = prove(panel, state, x, y, True, t, False, -1)
        if code == UNCLEAR:
            return UNCLEAR, n_made
        if code == WRONG:
            work.n_wrong[0] += 1
            if work.n_wrong[0] > 4 * forest.n_first:
                return UNCLEAR, n_made
            work.nearest[work.found_at[1]] = work.found_at[2]
            continue
        node, is_new = new_node(records, panel.dense, forest, work, x, y, n_queue)
        if node < 0:
            return UNCLEAR, n_made
        note(proofs, forest, work, node, True)
        _make(records.slots, work, forest, node, is_new, n_made)
        fill_row(panel, records, forest, work, node, not work.born[node])
        n_made += 1
    return HOLDS, n_made


@borrowing
def _guess_among_fresh(records, work, x, partner, share):
    """Guess the nearest of a cluster that was to be merged with the partner.

    No cluster of the old tree is nearer than that, but fresh ones may be.
    """
    nearest = partner if work.place[partner] >= 0 else -1
    least = chord_at(records, x, partner, share)
    for i in range(work.n_fresh[0]):
        c = work.fresh[i]
        if c != x:
            key = chord_at(records, x, c, share)
            if key < least:
                least = key
                nearest = c
    work.nearest[x] = nearest


@borrowing
def _lost_nearest(fresh, n_fresh, nearest, p, q):
    """Has a fresh cluster lost its nearest, p or q, to a merge? Only then it may merge itself."""
    for i in range(n_fresh):
        near = nearest[fresh[i]]
        if near == p or near == q:
            return True
    return False


@borrowing
def _clears(form, kind, sign, factor, flat, known, fresh, n_fresh, p, q):
    """Is it plain that no fresh cluster comes between p and q on this panel?"""
    own = key_of(p, q)
    if known[own] == 0:
        return False
    flip = 0 if sign > 0 else -1
    side = 1.0 if sign > 0 else -1.0
    for i in range(n_fresh):
        c = fresh[i]
        if c == p or c == q:
            continue
        for row in (p, q):
            key = key_of(row, c)
            if known[key] == 0:
                return False
            if form == AVERAGE:
                if below_scaled(flat, 8 * key, 8 * own, factor, flip) != 0:
                    return False
            else:
                for end in range(2):
                    bar = factor * end_of(kind, flat, 8 * own + end)
                    if not side * end_of(kind, flat, 8 * key + end) > side * bar:
                        return False
    return True


@borrowing
def replay(panel, state, first, failed, t, guess):
    """Build the tree from t on, starting from its merges before stage ``first``.

    ``failed`` is the merge that fails there; all proofs are then trusted as far as they do not
    concern fresh clusters.  With -1 every merge is proved anew.  Guesses are made near ``guess``.
    Returns HOLDS or UNCLEAR.
    """
    records = state.records
    forest = state.forest
    work = state.work
    proofs = state.proofs
    count = forest.n_first
    n_merges = count - 1
    trusted = failed >= 0
    share = part_of(panel, guess)
    now = part_of(panel, t)
    set_basis(share, work.basis)
    work.n_alive[0] = 0
    work.n_fresh[0] = 0
    work.n_wrong[0] = 0
    work.zone[1] = t
    work.n_early[0] = 0
    work.place[:] = -1
    nobody_alive(work.absent, work.crowd)
    work.formed[:] = False
    work.is_fresh[:] = False
    work.is_early[:] = False
    work.changed[:] = False
    work.born[:] = False
    work.dropped[:] = False
    has_tree = forest.order[0] >= 0
    for x in range(count):
        if not has_tree or forest.until[x] >= first:
            enter(records.slots, work, x, not has_tree)
    n_queue = 0
    if has_tree:
        for i in range(first):
            node = forest.order[i]
            if forest.until[node] >= first:
                enter(records.slots, work, node, False)
        for i in range(first, n_merges):
            work.queue[n_queue] = forest.order[i]
            work.codes[n_queue] = forest.hashes[forest.order[i]]
            n_queue += 1
    n_made = first
    n_seen = n_queue
    for i in range(n_queue):
        if trusted and i == n_made - first > 0 and work.n_fresh[0] == 0:
            # Nothing is fresh, so what is alive are clusters of the old tree at this stage, or
            # unions of them; there are as many, hence no unions.  It goes on as it did.
            n_seen = i
            n_made = n_merges
            break
        node = work.queue[i]
        if work.formed[node]:
            in_time(work, node)
            continue
        p = forest.left[node]
        q = forest.right[node]
        # An old node that was given other members is not the part that this merge had.
        reused = work.born[p] or work.born[q]
        if work.place[p] >= 0 and work.place[q] >= 0 and node != failed and not reused:
            if trusted:
                code = HOLDS
                clear = work.n_fresh[0] == 0
                if not clear and panel.dense:
                    clear = (
                        doubtful_among(
                            records,
                            work.fresh,
                            work.n_fresh[0],
                            work.bars,
                            now,
                            p,
                            q,
                            work.doubtful,
                        )
                        == 0
                    )
                elif not clear:
                    clear = _clears(
                        panel.form,
                        panel.kind,
                        panel.sign,
                        panel.factor,
                        records.flat,
                        records.known,
                        work.fresh,
                        work.n_fresh[0],
                        p,
                        q,
                    )
                if not clear:
                    code = prove(panel, state, p, q, False, t, False, -1)
                    if code == HOLDS:
                        note(proofs, forest, work, node, False)
            else:
                union = node if panel.form == AVERAGE and not panel.dense else -1
                code = prove(panel, state, p, q, True, t, False, union)
                if code == HOLDS:
                    note(proofs, forest, work, node, True)
            if code == UNCLEAR:
                return UNCLEAR
            if code == HOLDS:
                _make(records.slots, work, forest, node, False, n_made)
                if not trusted and (panel.dense or panel.form != AVERAGE):
                    fill_row(panel, records, forest, work, node, False)
                elif panel.dense:
                    fill_fresh(panel, records, forest, work, node)
                n_made += 1
                if _lost_nearest(work.fresh, work.n_fresh[0], work.nearest, p, q):
                    code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
                    if code == UNCLEAR:
                        return UNCLEAR
                continue
        work.dropped[node] = True
        for part in (p, q):
            if work.place[part] >= 0 and not work.is_fresh[part]:
                freshen(work, part)
                if panel.dense and not reused:
                    _guess_among_fresh(records, work, part, q if part == p else p, share)
        if node == failed:
            work.nearest[work.forced[0]] = work.forced[2]
        code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
        if code == UNCLEAR:
            return UNCLEAR
    code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
    if code == UNCLEAR or n_made < n_merges:
        return UNCLEAR
    spare = forest.spare
    for i in range(n_seen):
        node = work.queue[i]
        if not work.formed[node]:
            forest.until[node] = -1
            spare[spare[spare.size - 1]] = node
            spare[spare.size - 1] += 1
    forest.until[forest.order[n_merges - 1]] = n_merges
    return HOLDS
