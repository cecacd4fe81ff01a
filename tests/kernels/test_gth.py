"""Elimination without subtraction, settling of polynomials, bottlenecks: against brute force."""

import itertools

import numpy as np
import pytest

import certune as ct
from certune.kernels.bottlenecks import (
    gates,
    joined_groups,
    path_below,
    path_maxima,
    path_ranks,
    phase_links,
    spanning_tree,
    tree_exponents,
)
from certune.kernels.gth import (
    class_energies,
    eliminate,
    inverse_diagonal,
    solve_grounded,
    substitute,
)
from certune.kernels.settling import OPEN, coefficients, halving_matrix, settle

RNG = np.random.default_rng(0)


def random_graph(n, n_classes):
    weights = np.triu(RNG.random((n, n)), 1)
    classes = RNG.random((n, n_classes))
    full = weights + weights.T
    laplacian = np.diag(full.sum(axis=1) + classes.sum(axis=1)) - full
    return weights, classes, laplacian


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
def test_elimination_solves_the_laplacian(n):
    weights, classes, laplacian = random_graph(n, 3)
    right = classes.copy()
    sums, soft = np.zeros(n), np.zeros((n, 3))
    assert eliminate(weights, classes, sums)
    substitute(weights, classes, sums, soft)
    expected = np.linalg.solve(laplacian, right)
    np.testing.assert_allclose(soft, expected, rtol=1e-12)
    np.testing.assert_allclose(
        inverse_diagonal(weights, sums), np.diag(np.linalg.inv(laplacian)), rtol=1e-12
    )
    vectors = RNG.normal(size=(n, 2))
    solution = vectors.copy()
    solve_grounded(weights, sums, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(laplacian, vectors), rtol=1e-10)
    # Energy of class c: conductance to the others = sum of its weights minus what returns.
    energies = right.sum(axis=0) - np.einsum("ic,ic->c", right, expected)
    np.testing.assert_allclose(class_energies(classes, sums), energies, rtol=1e-10)


def test_a_node_without_weight_is_reported():
    assert not eliminate(np.zeros((2, 2)), np.array([[1.0], [0.0]]), np.zeros(2))


def test_tree_and_bottlenecks_by_enumeration():
    """The largest exponent on the tree path is the smallest over all paths."""
    n, n_labelled = 5, 2
    between = RNG.random((n, n))
    between = np.triu(between, 1) + np.triu(between, 1).T
    to_labelled = RNG.random((n, n_labelled))
    everything = np.ones((n, n), bool), np.ones((n, n_labelled), bool)
    order, parent, _, via = spanning_tree(between, to_labelled, *everything)
    largest = path_maxima(between, to_labelled, order, parent, via)
    joined = np.zeros((n + 1, n + 1))
    joined[:n, :n] = between
    joined[:n, n] = joined[n, :n] = to_labelled.min(axis=1)
    for i, j in itertools.combinations(range(n + 1), 2):
        others = [k for k in range(n + 1) if k not in (i, j)]
        paths = (
            (i, *middle, j)
            for size in range(len(others) + 1)
            for middle in itertools.permutations(others, size)
        )
        best = min(max(joined[a, b] for a, b in itertools.pairwise(path)) for path in paths)
        assert largest[i, j] == best


def tree_path(i, j, parent, depth):
    """Tree edges, known by their lower nodes, between two nodes."""
    found = []
    while i != j:
        if depth[i] < depth[j]:
            i, j = j, i
        found.append(i)
        i = parent[i]
    return found


def test_groups_of_tree_edges_by_walking_paths():
    n, n_labelled = 9, 3
    points, centres = RNG.random((n, 2)), RNG.random((n_labelled, 2))
    between = 9 * ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    to_labelled = 9 * ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
    edges = ~np.eye(n, dtype=bool), np.ones((n, n_labelled), bool)
    order, parent, depth, via = spanning_tree(between, to_labelled, *edges)
    lengths = tree_exponents(between, to_labelled, order, parent, via)
    rank_of = np.argsort(np.argsort(lengths))
    ranks = path_ranks(rank_of, order, parent)
    links = phase_links(between, to_labelled, *edges, parent, depth, lengths, rank_of, ranks)
    expected = np.zeros((n, n))
    group_of = RNG.integers(3, size=n)
    below = path_below(order, parent, lengths, rank_of, group_of, ranks)
    one_group = path_below(order, parent, lengths, rank_of, np.zeros(n, dtype=int), ranks)
    assert (one_group == -np.inf).all()
    for i, j in itertools.combinations(range(n + 1), 2):
        path = tree_path(i, j, parent, depth)
        top = max(rank_of[k] for k in path)
        assert ranks[i, j] == top
        others = [lengths[k] for k in path if group_of[rank_of[k]] != group_of[top]]
        assert below[i, j] >= max(others, default=-np.inf)
        assert below[i, j] <= max(lengths[k] for k in path)
        exponents = to_labelled[i].tolist() if j == n else [between[i, j]]
        for k in path:
            if rank_of[k] != top:
                expected[top, rank_of[k]] += sum(np.exp(lengths[k] - e) for e in exponents)
    np.testing.assert_allclose(links, expected, rtol=1e-12)


def test_gates_by_taking_every_node_away():
    """A node hangs on another one if it does not reach the ground without it."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 14))
        edges = np.triu(rng.random((n, n)) < rng.choice([0.1, 0.2, 0.4]), 1)
        edges |= edges.T
        grounded = rng.random((n, 2)) < 0.15

        def reached(without, n=n, edges=edges, grounded=grounded):
            found = {i for i in range(n) if grounded[i].any() and i != without}
            pending = list(found)
            while pending:
                i = pending.pop()
                new = {j for j in range(n) if edges[i, j] and j != without} - found
                found |= new
                pending += new
            return found

        everything = reached(None)
        gate = gates(edges, grounded)
        for i in everything:
            others = [v for v in range(n) if v != i and i not in reached(v)]
            # Of all nodes that i hangs on, the first one hangs on no other.
            first = [v for v in others if not any(v not in reached(w) for w in range(n) if w != v)]
            assert [gate[i]] == (first or [i])


def test_joined_groups():
    groups = joined_groups(6, np.array([0, 4, 1]), np.array([2, 5, 2]))
    assert len(set(groups[[0, 1, 2]])) == 1 and groups[4] == groups[5]
    assert len(set(groups)) == 3


def test_coefficients_are_those_of_numpy():
    values = RNG.random((9, 4))
    nodes = np.cos(np.pi * np.arange(9) / 8)
    expected = np.polynomial.chebyshev.chebfit(nodes, values, 8)
    np.testing.assert_allclose(coefficients(values), expected.T, atol=1e-14)


@pytest.mark.parametrize("degree", [2, 5, 30])
def test_halving_is_a_change_of_variable(degree):
    series = RNG.normal(size=degree + 1)
    x = np.linspace(-1, 1, 17)
    direct = np.polynomial.chebyshev.chebval((x - 1) / 2, series)
    halved = np.polynomial.chebyshev.chebval(x, halving_matrix(degree) @ series)
    np.testing.assert_allclose(halved, direct, atol=1e-12)


def test_settled_parts_cover_the_panel_and_are_right():
    """Random polynomials: outside zones the winner is the largest, zones are narrow."""
    degree, error = 20, 1e-12
    for n_classes in (2, 4):
        series = RNG.normal(size=(30, n_classes, degree + 1)) * 0.7 ** np.arange(degree + 1)
        admitted = np.ones((30, n_classes), dtype=bool)
        info, ends = settle(series, admitted, np.full(30, error), halving_matrix(degree))
        for node in range(30):
            own = info[:, 0] == node
            assert ends[own][0, 0] == -1 and ends[own][-1, 1] == 1
            assert (ends[own][1:, 0] == ends[own][:-1, 1]).all()
            for (_, winner, rival), (low, high) in zip(info[own], ends[own], strict=True):
                if winner != rival or winner == OPEN:
                    assert high - low < 1e-9
                    continue
                x = np.linspace(low, high, 9)
                values = np.polynomial.chebyshev.chebval(x, series[node].T)
                assert (values.max(axis=0) - values[winner] <= 1e-13).all()


def test_classes_that_are_not_admitted_never_win():
    series = np.zeros((1, 2, 3))
    series[0, 0, 0] = 1.0
    info, _ = settle(series, np.array([[False, True]]), np.array([0.1]), halving_matrix(2))
    assert info.tolist() == [[0, 1, 1]]


def test_equal_polynomials_are_one_zone():
    info, ends = settle(
        np.full((1, 2, 5), 0.25), np.ones((1, 2), bool), np.array([1e-13]), halving_matrix(4)
    )
    assert info.tolist() == [[0, 0, 1]] and ends.tolist() == [[-1, 1]]


def test_shares_that_underflow_are_not_lost():
    # Four near points pass everything that the label of the first one sends to the sixth point;
    # the exact soft label there is 1.70241e-9 for class "b" (ball arithmetic at 20,000 bits).
    points = [[0.0], [0.05], [0.04], [0.03], [0.02], [3.40], [6.78]]
    instance = ct.LabelingInstance(points, labeled=[0, 6], labels=["a", "b"], truth=list("aaaaaab"))
    family = ct.HarmonicLabeling(sigma=(0.095, 1.0))
    assert family.solve(instance, 0.1).soft[5, 1] == pytest.approx(1.7024e-9, rel=1e-4)
    assert family.run(instance, 0.0975) == 1.0
    assert family.dual(instance).n_pieces == 1
