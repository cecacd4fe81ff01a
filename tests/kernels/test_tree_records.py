"""Records of pairs of nodes: where they are, what they average, and when they are forgotten."""

from itertools import combinations

import numpy as np
import pytest
from numba import njit

from certune.kernels.borrowing import bundled
from certune.kernels.certificates import Panel
from certune.kernels.frames import AVERAGE
from certune.kernels.kinetic_start import new_records, room_for_records
from certune.kernels.kinetic_state import Forest
from certune.kernels.pair_keys import key_of
from certune.kernels.tree_records import PARTNERS, ensure, forget

COUNT = 40


def test_keys_number_all_pairs():
    keys = [key_of(a, b) for a, b in combinations(range(30), 2)]
    assert sorted(keys) == list(range(30 * 29 // 2))
    assert keys == [key_of(b, a) for a, b in combinations(range(30), 2)]
    assert {key_of(a, b) for a, b in combinations(range(7), 2)} == set(range(21))


def tree_of(rng, width, sizes):
    """A random binary tree over first clusters of so many points each."""
    n = int(sum(sizes))
    left, right = np.zeros(width, np.int64), np.zeros(width, np.int64)
    size = np.ones(width, np.int64)
    members = np.zeros((width, n), np.int32)
    first = np.repeat(np.arange(COUNT), sizes)
    for x in range(COUNT):
        size[x] = sizes[x]
        members[x, : sizes[x]] = np.flatnonzero(first == x)
    stage = np.full(width, -1)
    alive = list(range(COUNT))
    for node in range(COUNT, 2 * COUNT - 1):
        a, b = (alive.pop(rng.integers(len(alive))) for _ in range(2))
        left[node], right[node] = a, b
        size[node] = size[a] + size[b]
        both = np.concatenate((members[a, : size[a]], members[b, : size[b]]))
        members[node, : size[node]] = both
        stage[node] = node - COUNT
        alive.append(node)
    empty = np.zeros(width, np.int64)
    return Forest(
        COUNT, left, right, size, empty, empty, members, empty, stage, empty, empty, empty, first
    )


def records_on(forest, rng):
    """Records of the first clusters with random positive numbers, and these as a square."""
    width = forest.left.size
    records = new_records(np.full(room_for_records(COUNT), np.nan), True, False)
    assert records.width == width
    pairs = COUNT * (COUNT - 1) // 2
    records.flat[: 8 * pairs] = rng.uniform(0.5, 2.0, 8 * pairs)
    records.known[:pairs] = 1
    square = np.zeros((COUNT, COUNT, 8))
    for a, b in combinations(range(COUNT), 2):
        square[a, b] = square[b, a] = records.flat[8 * key_of(a, b) :][:8]
    return records, square


@njit
def fill(panel, records, forest, a, b, stack):
    return ensure(bundled(panel), bundled(records), bundled(forest), a, b, stack)


@njit
def forget_node(records, node, dense):
    forget(bundled(records), node, dense)


def panel_of(dense):
    where = 0.0, 1.0, 0.0, 1.0
    return Panel(AVERAGE, 0, 1, 1e-9, *where, False, 0.0, np.ones(2), 0, 1.0, 1.0, dense, 1.0, 0.0)


def members_of(forest, node):
    return forest.members[node, : forest.size[node]]


def check_all(panel, records, forest, square):
    """Every record of disjoint nodes is the average over their members."""
    stack = np.empty(4 * records.width + 4, np.int64)
    nodes = range(2 * COUNT - 1)
    for a, b in combinations(nodes, 2):
        mine, theirs = members_of(forest, a), members_of(forest, b)
        if set(mine) & set(theirs):
            continue
        at = fill(panel, records, forest, a, b, stack)
        mean = square[np.ix_(forest.first[mine], forest.first[theirs])].mean(axis=(0, 1))
        np.testing.assert_allclose(records.flat[at : at + 8], mean, rtol=1e-12)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("largest", [1, 30])
def test_records_are_averages_over_members_also_of_nodes_that_changed(dense, largest):
    rng = np.random.default_rng(7)
    width = room_for_records(COUNT)[0]
    sizes = rng.integers(1, largest + 1, COUNT)
    panel = panel_of(dense)
    forest = tree_of(rng, width, sizes)
    records, square = records_on(forest, rng)
    check_all(panel, records, forest, square)
    other = tree_of(rng, width, sizes)
    for node in range(COUNT, 2 * COUNT - 1):
        forget_node(records, node, dense)
    check_all(panel, records, other, square)


@pytest.mark.parametrize("many", [False, True])
def test_a_forgotten_node_has_no_records_and_others_keep_theirs(many):
    rng = np.random.default_rng(3)
    forest = tree_of(rng, room_for_records(COUNT)[0], np.ones(COUNT, np.int64))
    records, _ = records_on(forest, rng)
    stack = np.empty(4 * records.width + 4, np.int64)
    node = 2 * COUNT - 3
    others = [x for x in range(COUNT) if x not in members_of(forest, node)]
    for x in others[: 2 if not many else None]:
        fill(panel_of(True), records, forest, node, x, stack)
    if many:
        records.n_partners[node] = PARTNERS + 1  # more than are remembered
    before = records.known.copy()
    own = [key_of(node, x) for x in range(records.width) if x != node]
    assert before[own].sum() >= 2
    forget_node(records, node, True)
    assert not records.known[own].any()
    rest = np.setdiff1d(np.arange(before.size), own)
    np.testing.assert_array_equal(records.known[rest], before[rest])
