"""The first tree of a panel, and the order of its merges."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import HOLDS, part_of, set_basis, value_at
from certune.kernels.chords import chord_at
from certune.kernels.ends import UNKNOWN_CODE
from certune.kernels.mending import replay
from certune.kernels.tree_costs import refresh_tables
from certune.kernels.tree_records import ensure

BESIDE = 2.0**-10  # of a panel, where the first tree is guessed if values meet at its start


@borrowing
def sort_by_height(panel, records, forest, work, share):
    """Order the merges by their values near a share of the panel (insertion, nearly sorted)."""
    n_merges = forest.n_first - 1
    heights = work.heights
    set_basis(share, work.basis)
    for i in range(n_merges):
        node = forest.order[i]
        a = forest.left[node]
        b = forest.right[node]
        if panel.dense:
            heights[node] = chord_at(records, a, b, share)
            continue
        at = ensure(panel, records, forest, a, b, work.stack)
        heights[node] = value_at(panel, records.flat, at, share, work.basis)
    for i in range(1, n_merges):
        node = forest.order[i]
        j = i
        while (
            j > 0
            and heights[forest.order[j - 1]] > heights[node]
            and forest.order[j - 1] != forest.left[node]
            and forest.order[j - 1] != forest.right[node]
        ):
            forest.order[j] = forest.order[j - 1]
            j -= 1
        forest.order[j] = node
    for i in range(n_merges):
        node = forest.order[i]
        forest.stage[node] = i
        forest.until[forest.left[node]] = i
        forest.until[forest.right[node]] = i


@borrowing
def no_tree(forest):
    """Forget the tree."""
    width = forest.stage.size
    count = forest.n_first
    forest.order[0] = -1
    forest.stage[:count] = -1
    spare = forest.spare
    for i in range(width - count):
        spare[i] = width - 1 - i
    spare[spare.size - 1] = width - count


@borrowing
def build_tree(panel, state, costs, t):
    """Prove the tree from t on, or build one if there is none; returns HOLDS or UNCLEAR."""
    forest = state.forest
    work = state.work
    work.forced[0] = -1
    work.forced_codes[:] = UNKNOWN_CODE
    has_tree = forest.order[0] >= 0
    # Where values meet, they tell nothing of the order beside it.
    meets = t == state.meetings.low and state.meetings.low_codes.size > 0
    guess = t + BESIDE * (panel.stop - t) if meets else t
    code = replay(panel, state, 0, -1, t, guess)
    if code == HOLDS and not has_tree:
        refresh_tables(forest, costs, work, 0)
        sort_by_height(panel, state.records, forest, work, part_of(panel, guess))
        code = replay(panel, state, 0, -1, t, guess)
    return code
