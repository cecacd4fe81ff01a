"""Where a proof fails first: the zone of the earliest failure among candidates.

Of each candidate a lower bound is known.  They are located in the order of these bounds, until the
first failure is certain.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import AGAIN, FAILS, HOLDS, LOCATED, UNCLEAR, WRONG, judge
from certune.kernels.compare import tie_prefers
from certune.kernels.identities import list_members, same_with
from certune.kernels.meetings import judge_meeting
from certune.kernels.polish import polish
from certune.kernels.records import move_record
from certune.kernels.tree_records import ensure

# How well the first failure of a candidate is located: a lower bound, a zone, a zone polished.
BOUNDED, FOUND, POLISHED = 0, 1, 2


@borrowing
def tied(panel, forest, merging, desk, row, near, rival):
    """Order of two pairs if they have the same function: 1, -1, or 0 if they have not.

    Their records are on the desk.
    """
    list_members(forest, merging, row, near, rival)
    if not same_with(panel, merging, desk, merging.codes):
        return 0
    highest = forest.highest
    return 1 if tie_prefers(highest[row], highest[near], highest[rival]) else -1


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
def sharpen(panel, state, own, n_candidates, t):
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
                order = tied(panel, forest, merging, desk, row, rival, other)
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
        near = work.near[0] if work.near[1] == row else work.near[1]
        rival = candidates[to_locate, 1]
        code, low, high = judge_meeting(panel, state, row, near, rival, t, code, low, high)
        candidates[to_locate, 3] = FOUND
        if code == UNCLEAR and bounds[to_locate, 0] < high < panel.stop and desk.zone[3] < 0.0:
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
