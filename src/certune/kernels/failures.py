"""Failures of proofs: which merge fails first, where, and what settles the change of order."""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import LOCATED
from certune.kernels.frames import AVERAGE
from certune.kernels.sharpening import mark_members, narrowed
from certune.kernels.tree_records import place_of


@borrowing
def first_failure(forest, proofs):
    """Node whose proof ends first, the one (-1: the same) that may be next, and where that is."""
    node = -1
    other = -1
    low = np.inf
    second = np.inf
    for i in range(forest.n_first - 1):
        here = forest.order[i]
        if proofs.low[here] < low:
            second = low
            other = node
            low = proofs.low[here]
            node = here
        elif proofs.low[here] < second:
            second = proofs.low[here]
            other = here
    if node >= 0 and proofs.second[node] < second:
        second = proofs.second[node]
        other = -1
    return node, other, second


@borrowing
def mark_failure(forest, proofs, node, marks):
    """Mark the members of the row, its nearest and its rival by 1, 2, 3."""
    row = proofs.row[node]
    near = forest.left[node] if forest.right[node] == row else forest.right[node]
    mark_members(forest, row, near, proofs.rival[node], marks)


@borrowing
def narrow(panel, state, node):
    """Make the zone of a failure as narrow as can be.

    Returns False, and leaves it, if that does not succeed or the same merge may fail otherwise
    before the end of the narrow zone.
    """
    proofs = state.proofs
    mark_failure(state.forest, proofs, node, state.work.marks)
    low, high = narrowed(panel, state, proofs.low[node], proofs.high[node])
    if not low < high < proofs.second[node]:
        return False
    proofs.low[node] = low
    proofs.high[node] = high
    proofs.code[node] = LOCATED
    return True


@borrowing
def force(form, records, forest, proofs, work, node):
    """Let the change of order that breaks a merge be settled behind its zone."""
    row = proofs.row[node]
    near = forest.left[node] if forest.right[node] == row else forest.right[node]
    rival = proofs.rival[node]
    work.forced[0] = row
    work.forced[1] = near
    work.forced[2] = rival
    work.forced[3] = forest.version[row] + forest.version[near] + forest.version[rival]
    work.zone[0] = proofs.high[node]
    if form != AVERAGE:
        for side in range(2):
            at = place_of(records, row, near if side == 0 else rival)
            work.forced_codes[2 * side] = records.bits[at + 3]
            work.forced_codes[2 * side + 1] = records.bits[at + 7]
