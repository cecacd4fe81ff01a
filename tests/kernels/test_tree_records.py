"""Records of pairs of nodes: what they average, and when they are forgotten."""

from itertools import combinations

import numpy as np
import pytest

from certune._core.linkage_parts import FollowedParts

COUNT = 40
PAIRS = COUNT * (COUNT - 1) // 2


def parts_of(rng, sizes):
    """Records of first clusters with random positive numbers, and these as a square."""
    records = rng.uniform(0.5, 2.0, (PAIRS, 8))
    labels = np.repeat(np.arange(COUNT), sizes)
    square = np.zeros((COUNT, COUNT, 8))
    pairs = [(x, z) for x in range(COUNT) for z in range(x)]
    for place, (a, b) in enumerate(pairs):
        square[a, b] = square[b, a] = records[place]
    return FollowedParts(labels.tolist(), records, 1, 1.0), labels, square


def unite_all(parts, rng):
    """A random binary tree; returns the number of nodes."""
    alive = list(range(COUNT))
    while len(alive) > 1:
        a, b = (alive.pop(rng.integers(len(alive))) for _ in range(2))
        alive.append(parts.unite(a, b, alive, True))
    return 2 * COUNT - 1


def check_all(parts, labels, square, n_nodes, dense):
    """Every record of disjoint nodes is the average over their members."""
    members = [parts.members(node) for node in range(n_nodes)]
    for a, b in combinations(range(n_nodes), 2):
        if set(members[a]) & set(members[b]):
            continue
        mean = square[np.ix_(labels[members[a]], labels[members[b]])].mean(axis=(0, 1))
        np.testing.assert_allclose(parts.record(a, b, dense), mean, rtol=1e-12)
        assert parts.knows(a, b) and parts.knows(b, a)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("largest", [1, 30])
def test_records_are_averages_over_members_also_of_nodes_that_changed(dense, largest):
    rng = np.random.default_rng(7)
    parts, labels, square = parts_of(rng, rng.integers(1, largest + 1, COUNT))
    check_all(parts, labels, square, unite_all(parts, rng), dense)
    parts.begin_again(dense)
    check_all(parts, labels, square, unite_all(parts, rng), dense)


@pytest.mark.parametrize("many", [False, True])
def test_a_forgotten_node_has_no_records_and_others_keep_theirs(many):
    rng = np.random.default_rng(3)
    parts, *_ = parts_of(rng, np.ones(COUNT, np.int64))
    n_nodes = unite_all(parts, rng)
    node = COUNT + 2
    nodes = [x for x in range(n_nodes) if not set(parts.members(x)) & set(parts.members(node))]
    for x in nodes if many else nodes[:2]:
        parts.record(node, x, True)
    assert (len(nodes) > 64) or not many  # more than are remembered
    others = [x for x in range(n_nodes) if x != node]
    before = {(a, b): parts.knows(a, b) for a, b in combinations(others, 2)}
    assert sum(parts.knows(node, x) for x in others) >= 2
    parts.forget(node, True)
    assert not any(parts.knows(node, x) for x in others)
    assert before == {(a, b): parts.knows(a, b) for a, b in combinations(others, 2)}
