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
    set_basis,
    share_of,
    value_at,
)
from certune.kernels.frames import AVERAGE
from certune.kernels.guessing import nearest_alive
from certune.kernels.proving import note, prove
from certune.kernels.records import below_scaled, blend_records
from certune.kernels.tree_records import (
    blend_chords,
    combine,
    ensure,
    forget,
)


@borrowing
def _leave(work, node):
    """Take a node out of the alive ones."""
    last = work.n_alive[0] - 1
    place = work.place[node]
    moved = work.alive[last]
    work.alive[place] = moved
    work.place[moved] = place
    work.place[node] = -1
    work.n_alive[0] = last
    if work.is_fresh[node]:
        work.is_fresh[node] = False
        kept = 0
        for i in range(work.n_fresh[0]):
            if work.fresh[i] != node:
                work.fresh[kept] = work.fresh[i]
                kept += 1
        work.n_fresh[0] = kept


@borrowing
def _enter(work, node, fresh):
    """Add a node to the alive ones."""
    count = work.n_alive[0]
    work.alive[count] = node
    work.place[node] = count
    work.n_alive[0] = count + 1
    if fresh:
        _freshen(work, node)


@borrowing
def _freshen(work, node):
    """Mark an alive node as one that the old tree does not have at this stage."""
    if not work.is_fresh[node]:
        work.is_fresh[node] = True
        work.fresh[work.n_fresh[0]] = node
        work.n_fresh[0] += 1
        work.nearest[node] = -1


@borrowing
def _same_members(forest, work, p, q, node):
    """Has the node the members of p and q together? Equal sizes are known."""
    mark = work.mark
    members = forest.members
    for i in range(forest.size[node]):
        mark[members[node, i]] = 1
    found = 0
    for part in (p, q):
        for i in range(forest.size[part]):
            found += mark[members[part, i]]
    for i in range(forest.size[node]):
        mark[members[node, i]] = 0
    return found == forest.size[node]


@borrowing
def _new_node(records, dense, forest, work, p, q, n_queue):
    """Node of the union of p and q, which is an old one if it has the same members.

    Returns the node, -1 if there is none left for it, and whether the old tree does not have it at
    this stage.
    """
    if forest.highest[p] > forest.highest[q]:
        p, q = q, p
    code = forest.hashes[p] + forest.hashes[q]
    size = forest.size[p] + forest.size[q]
    node = -1
    for i in range(n_queue):
        if work.codes[i] == code:
            old = work.queue[i]
            # A node that was given other members has another hash by now.
            if not work.formed[old] and forest.hashes[old] == code and forest.size[old] == size:
                if _same_members(forest, work, p, q, old):
                    node = old
                    break
    is_new = node < 0
    if is_new:
        spare = forest.spare
        last = spare.size - 1
        if spare[last] > 0:
            spare[last] -= 1
            node = spare[spare[last]]
        else:
            for i in range(n_queue):
                old = work.queue[i]
                if not work.formed[old] and work.dropped[old]:
                    node = old
                    break
        if node < 0:
            return node, is_new
        forget(records, node, dense, work.stack)
        forest.hashes[node] = code
        forest.size[node] = size
        forest.version[node] += 1
        at = 0
        for part in (p, q):
            for i in range(forest.size[part]):
                forest.members[node, at] = forest.members[part, i]
                at += 1
        work.born[node] = True
    forest.left[node] = p
    forest.right[node] = q
    forest.highest[node] = forest.highest[q]
    work.changed[node] = True
    if not is_new:
        above = forest.until[node] - (forest.n_first - 1 - n_queue)
        is_new = above < n_queue and work.dropped[work.queue[above]]
    return node, is_new


@borrowing
def _make(work, forest, node, is_fresh, n_made):
    """Carry out the merge that makes a node."""
    p = forest.left[node]
    q = forest.right[node]
    _leave(work, p)
    _leave(work, q)
    _enter(work, node, is_fresh)
    work.formed[node] = True
    forest.order[n_made] = node
    forest.stage[node] = n_made
    forest.until[p] = n_made
    forest.until[q] = n_made


@borrowing
def _fill_row(panel, records, forest, work, node):
    """Fill the records of a node that was just made; in dense panels its chords instead."""
    p = forest.left[node]
    q = forest.right[node]
    total = forest.size[node]
    weight_p = forest.size[p] / total
    weight_q = forest.size[q] / total
    width = records.width
    if panel.dense:
        blend_chords(
            records.chords, width, node, p, q, weight_p, weight_q, work.alive, work.n_alive[0]
        )
        return
    if panel.form == AVERAGE:
        _fill_averages(
            records.flat,
            records.known,
            width,
            node,
            p,
            q,
            weight_p,
            weight_q,
            work.alive,
            work.n_alive[0],
        )
        return
    known = records.known
    for i in range(work.n_alive[0]):
        c = work.alive[i]
        if c == node:
            continue
        key = node * width + c if node < c else c * width + node
        key_p = p * width + c if p < c else c * width + p
        key_q = q * width + c if q < c else c * width + q
        if not known[key] and known[key_p] and known[key_q]:
            combine(panel, records, 8 * key_p, 8 * key_q, weight_p, weight_q, 8 * key)
            known[key] = 1


@borrowing
def _fill_averages(flat, known, width, node, p, q, weight_p, weight_q, alive, n_alive):
    for i in range(n_alive):
        c = alive[i]
        if c == node:
            continue
        key = node * width + c if node < c else c * width + node
        key_p = p * width + c if p < c else c * width + p
        key_q = q * width + c if q < c else c * width + q
        if not known[key] and known[key_p] and known[key_q]:
            blend_records(flat, 8 * key_p, 8 * key_q, weight_p, weight_q, flat, 8 * key, 8 * key)
            known[key] = 1


@borrowing
def _pair_up(panel, records, forest, work, share):
    """Where guesses go round in a circle (ties), let the closest two point at each other."""
    work.n_wrong[0] += 1
    best = np.inf
    chosen = -1
    for i in range(work.n_fresh[0]):
        x = work.fresh[i]
        at = ensure(panel, records, forest, x, work.nearest[x], work.stack)
        value = value_at(panel, records.flat, at, share, work.basis)
        if value < best:
            best = value
            chosen = x
    if chosen < 0 or work.n_wrong[0] > 4 * work.n_fresh[0]:
        return False
    work.nearest[work.nearest[chosen]] = chosen
    return True


@borrowing
def _merge_fresh(panel, state, n_made, n_queue, t, share, proving):
    """Merge fresh clusters that are nearest to each other; returns a code and the merges made.

    Without ``proving``, guesses are taken for the truth.
    """
    records = state.records
    forest = state.forest
    work = state.work
    proofs = state.proofs
    progress = True
    while work.n_fresh[0] > 1:
        if not progress:
            if work.n_fresh[0] < work.n_alive[0] or not _pair_up(
                panel, records, forest, work, share
            ):
                break
        progress = False
        i = 0
        while i < work.n_fresh[0]:
            x = work.fresh[i]
            i += 1
            y = nearest_alive(panel, records, forest, work, x, share)
            if not work.is_fresh[y] or nearest_alive(panel, records, forest, work, y, share) != x:
                continue
            code = HOLDS
            if proving:
                code = prove(panel, state, x, y, work.alive, work.n_alive[0], t, False, -1)
            if code == UNCLEAR:
                return UNCLEAR, n_made
            if code == WRONG:
                work.n_wrong[0] += 1
                if work.n_wrong[0] > 4 * forest.n_first:
                    return UNCLEAR, n_made
                work.nearest[work.found_at[1]] = work.found_at[2]
                progress = True
                continue
            node, is_new = _new_node(records, panel.dense, forest, work, x, y, n_queue)
            if node < 0:
                return UNCLEAR, n_made
            note(proofs, forest, work, node, True)
            _make(work, forest, node, is_new, n_made)
            _fill_row(panel, records, forest, work, node)
            n_made += 1
            progress = True
            i = 0
    return HOLDS, n_made


@borrowing
def _lost_nearest(fresh, n_fresh, nearest, p, q):
    """Has a fresh cluster lost its nearest, p or q, to a merge? Only then it may merge itself."""
    for i in range(n_fresh):
        near = nearest[fresh[i]]
        if near == p or near == q:
            return True
    return False


@borrowing
def _clears(form, kind, sign, factor, flat, known, width, fresh, n_fresh, p, q):
    """Is it plain that no fresh cluster comes between p and q on this panel?"""
    own = p * width + q if p < q else q * width + p
    if known[own] == 0:
        return False
    flip = 0 if sign > 0 else -1
    side = 1.0 if sign > 0 else -1.0
    for i in range(n_fresh):
        c = fresh[i]
        if c == p or c == q:
            continue
        for row in (p, q):
            key = row * width + c if row < c else c * width + row
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
    share = share_of(panel, guess)
    set_basis(share, work.basis)
    work.n_alive[0] = 0
    work.n_fresh[0] = 0
    work.n_wrong[0] = 0
    work.zone[1] = t
    work.place[:] = -1
    work.formed[:] = False
    work.is_fresh[:] = False
    work.changed[:] = False
    work.born[:] = False
    work.dropped[:] = False
    has_tree = forest.order[0] >= 0
    for x in range(count):
        if not has_tree or forest.until[x] >= first:
            _enter(work, x, not has_tree)
    n_queue = 0
    if has_tree:
        for i in range(first):
            node = forest.order[i]
            if forest.until[node] >= first:
                _enter(work, node, False)
        for i in range(first, n_merges):
            work.queue[n_queue] = forest.order[i]
            work.codes[n_queue] = forest.hashes[forest.order[i]]
            n_queue += 1
    n_made = first
    for i in range(n_queue):
        node = work.queue[i]
        if work.formed[node]:
            continue
        p = forest.left[node]
        q = forest.right[node]
        # An old node that was given other members is not the part that this merge had.
        reused = work.born[p] or work.born[q]
        if work.place[p] >= 0 and work.place[q] >= 0 and node != failed and not reused:
            if trusted:
                code = HOLDS
                clear = work.n_fresh[0] == 0
                if not clear and not panel.dense:
                    clear = _clears(
                        panel.form,
                        panel.kind,
                        panel.sign,
                        panel.factor,
                        records.flat,
                        records.known,
                        records.width,
                        work.fresh,
                        work.n_fresh[0],
                        p,
                        q,
                    )
                if not clear:
                    code = prove(panel, state, p, q, work.fresh, work.n_fresh[0], t, False, -1)
                    if code == HOLDS:
                        note(proofs, forest, work, node, False)
            else:
                union = node if panel.form == AVERAGE and not panel.dense else -1
                code = prove(panel, state, p, q, work.alive, work.n_alive[0], t, False, union)
                if code == HOLDS:
                    note(proofs, forest, work, node, True)
            if code == UNCLEAR:
                return UNCLEAR
            if code == HOLDS:
                _make(work, forest, node, False, n_made)
                if not trusted and (panel.dense or panel.form != AVERAGE):
                    _fill_row(panel, records, forest, work, node)
                elif panel.dense:
                    blend_chords(
                        records.chords,
                        records.width,
                        node,
                        p,
                        q,
                        forest.size[p] / forest.size[node],
                        forest.size[q] / forest.size[node],
                        work.fresh,
                        work.n_fresh[0],
                    )
                n_made += 1
                if _lost_nearest(work.fresh, work.n_fresh[0], work.nearest, p, q):
                    code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
                    if code == UNCLEAR:
                        return UNCLEAR
                continue
        work.dropped[node] = True
        for part in (p, q):
            if work.place[part] >= 0:
                _freshen(work, part)
        code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
        if code == UNCLEAR:
            return UNCLEAR
    code, n_made = _merge_fresh(panel, state, n_made, n_queue, t, share, has_tree)
    if code == UNCLEAR or n_made < n_merges:
        return UNCLEAR
    spare = forest.spare
    for i in range(n_queue):
        node = work.queue[i]
        if not work.formed[node]:
            forest.until[node] = -1
            spare[spare[spare.size - 1]] = node
            spare[spare.size - 1] += 1
    forest.until[forest.order[n_merges - 1]] = n_merges
    return HOLDS
