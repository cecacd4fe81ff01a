"""The dynamic programme against all prunings of small trees, and its ties and labels."""

import itertools

import numpy as np
import pytest

from certune._core.linkage_parts import costs_of
from certune.kernels import linkage
from certune.kernels.linkage import K_CENTER, K_MEANS, K_MEDIAN, Pruning

OBJECTIVES = [K_MEANS, K_MEDIAN, K_CENTER]


def prune(objective, reference, left, right, n, k):
    assert len(reference) == n
    return linkage.prune(Pruning(objective, reference, k), left[None], right[None])[0]


def random_reference(rng, n, largest):
    upper = np.triu(rng.integers(1, largest + 1, size=(n, n)), 1)
    return (upper + upper.T).astype(np.int64)


def random_tree(rng, n):
    """Children arrays of a random binary tree, left child = smaller highest member index."""
    left = np.full(2 * n - 1, -1)
    right = np.full(2 * n - 1, -1)
    active = {node: node for node in range(n)}
    for node in range(n, 2 * n - 1):
        a, b = rng.choice(sorted(active), size=2, replace=False)
        left[node], right[node] = sorted((a, b), key=active.__getitem__)
        active[node] = max(active.pop(a), active.pop(b))
    return left, right


def members(node, left, right, n):
    if node < n:
        return (node,)
    return members(left[node], left, right, n) + members(right[node], left, right, n)


def slow_cost(objective, reference, cluster):
    block = reference[np.ix_(cluster, cluster)]
    if objective == K_MEANS:
        return int(np.triu(block).sum()) // len(cluster)
    per_centre = block.sum(axis=0) if objective == K_MEDIAN else block.max(axis=0)
    return int(per_centre.min())


def total_cost(objective, costs):
    return max(costs) if objective == K_CENTER else sum(costs)


def all_prunings(node, left, right, n, k):
    """Every pruning into k clusters, those with fewer clusters in the left child first."""
    if k == 1:
        yield (members(node, left, right, n),)
    elif node >= n:
        for to_left in range(1, k):
            lefts = list(all_prunings(left[node], left, right, n, to_left))
            rights = list(all_prunings(right[node], left, right, n, k - to_left))
            for a, b in itertools.product(lefts, rights):
                yield a + b


def slow_best(objective, reference, node, left, right, n, k):
    """Best (cost, pruning) by recursion over the tie rule, without a table; None if impossible."""
    if k == 1:
        cluster = members(node, left, right, n)
        return slow_cost(objective, reference, cluster), (cluster,)
    best = None
    if node < n:
        return best
    for to_left in range(1, k):
        a = slow_best(objective, reference, left[node], left, right, n, to_left)
        b = slow_best(objective, reference, right[node], left, right, n, k - to_left)
        if a is not None and b is not None:
            value = total_cost(objective, (a[0], b[0]))
            if best is None or value < best[0]:
                best = value, a[1] + b[1]
    return best


def canonical(clusters, n):
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(sorted(clusters, key=min)):
        labels[list(cluster)] = number
    return labels


def clusters_of(labels):
    return [tuple(np.flatnonzero(labels == value)) for value in np.unique(labels)]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("largest", [2, 4, 10**6])
def test_lowest_cost_of_all_prunings(objective, largest):
    rng = np.random.default_rng(largest)
    for _ in range(40):
        n = int(rng.integers(1, 9))
        reference = random_reference(rng, n, largest)
        left, right = random_tree(rng, n)
        for k in range(1, n + 1):
            prunings = list(all_prunings(2 * n - 2, left, right, n, k))
            costs = [
                total_cost(objective, [slow_cost(objective, reference, c) for c in pruning])
                for pruning in prunings
            ]
            labels = prune(objective, reference, left, right, n, k)
            found = [slow_cost(objective, reference, c) for c in clusters_of(labels)]
            assert len(found) == k
            assert total_cost(objective, found) == min(costs)
            assert sorted(clusters_of(labels)) in [
                sorted(tuple(sorted(c)) for c in pruning) for pruning in prunings
            ]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ties_give_the_left_child_the_fewest_clusters(objective):
    rng = np.random.default_rng(7)
    n_tied = 0
    for _ in range(60):
        n = int(rng.integers(3, 9))
        reference = random_reference(rng, n, 2)
        left, right = random_tree(rng, n)
        for k in range(1, n + 1):
            cost, clusters = slow_best(objective, reference, 2 * n - 2, left, right, n, k)
            labels = prune(objective, reference, left, right, n, k)
            np.testing.assert_array_equal(labels, canonical(clusters, n))
            costs = [
                total_cost(objective, [slow_cost(objective, reference, c) for c in pruning])
                for pruning in all_prunings(2 * n - 2, left, right, n, k)
            ]
            n_tied += costs.count(cost) > 1
    assert n_tied > 50


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_merge_by_merge_bookkeeping(objective):
    rng = np.random.default_rng(3)
    n = 12
    reference = random_reference(rng, n, 1000)
    left, right = random_tree(rng, n)
    for k in (1, 3, n):
        costs = costs_of(objective, reference, left.tolist(), right.tolist(), k)
        clusters = [members(node, left, right, n) for node in range(n, 2 * n - 1)]
        assert costs == [slow_cost(objective, reference, cluster) for cluster in clusters]


def test_more_clusters_than_a_subtree_has_points():
    """The subtree (0, 1) can have two clusters at most, single points one."""
    left, right = np.array([-1, -1, -1, 0, 3]), np.array([-1, -1, -1, 1, 2])
    reference = np.array([[0, 4, 9], [4, 0, 9], [9, 9, 0]])
    for k, expected in ((1, [0, 0, 0]), (2, [0, 0, 1]), (3, [0, 1, 2])):
        assert prune(K_MEDIAN, reference, left, right, 3, k).tolist() == expected


def test_labels_are_numbered_by_lowest_member():
    # The tree ((2, 3), (0, 1)): the right cluster holds point 0 and must be number 0.
    left, right = np.array([-1, -1, -1, -1, 2, 0, 4]), np.array([-1, -1, -1, -1, 3, 1, 5])
    near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]])
    assert prune(K_MEDIAN, near, left, right, 4, 2).tolist() == [0, 0, 1, 1]


def test_trees_that_are_none_are_refused():
    reference = np.ones((3, 3), dtype=np.int64)
    for left, right in (
        ([0, 0, 0, 0, 3], [0, 0, 0, 1, 1]),  # a node joined twice
        ([0, 0, 0, 0, 4], [0, 0, 0, 1, 2]),  # a child after its parent
        ([0, 0, 0, 0, -1], [0, 0, 0, 1, 2]),
        ([0, 0, 0, 0], [0, 0, 0, 1]),
    ):
        with pytest.raises(ValueError, match="must"):
            prune(K_MEDIAN, reference, np.array(left), np.array(right), 3, 2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_chain_shaped_tree_of_many_points_needs_only_the_stated_stack(objective):
    n = 200
    left = np.concatenate([np.full(n, -1), [0], np.arange(n, 2 * n - 2)])
    right = np.concatenate([np.full(n, -1), np.arange(1, n)])
    positions = np.arange(n)
    reference = np.abs(positions[:, None] - positions)
    assert prune(objective, reference, left, right, n, n).tolist() == list(range(n))
    two = prune(objective, reference, left, right, n, 2)
    assert two.tolist() == [0] * (n - 1) + [1]


def test_one_point():
    none = np.array([-1])
    assert prune(K_MEDIAN, np.zeros((1, 1), dtype=np.int64), none, none, 1, 1).tolist() == [0]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_trees_that_share_first_merges_are_pruned_as_each_alone(objective):
    rng = np.random.default_rng(3)
    n, k = 12, 4
    reference = random_reference(rng, n, 9)
    trees = []
    for _ in range(40):
        left, right = random_tree(rng, n)
        trees.append((left, right))
        # The same below a random merge, and another order of what is left above it.
        kept = int(rng.integers(n, 2 * n - 1))
        left, right = left.copy(), right.copy()
        joined = {*left[n:kept].tolist(), *right[n:kept].tolist()}
        active = [node for node in range(kept) if node not in joined]
        for node in range(kept, 2 * n - 1):
            a, b = sorted(rng.choice(active, size=2, replace=False).tolist())
            left[node], right[node] = a, b
            active = [other for other in active if other not in (a, b)] + [node]
        trees.append((left, right))
    children = np.array(trees)
    pruning = Pruning(objective, reference, k)
    together = linkage.prune(pruning, children[:, 0], children[:, 1])
    alone = [prune(objective, reference, left, right, n, k) for left, right in trees]
    assert together.tolist() == [labels.tolist() for labels in alone]


def test_no_tree_has_no_pruning():
    none = np.zeros((0, 5), dtype=np.int64)
    labels = linkage.prune(Pruning(K_MEDIAN, np.ones((3, 3), dtype=np.int64), 2), none, none)
    assert labels.shape == (0, 3)
