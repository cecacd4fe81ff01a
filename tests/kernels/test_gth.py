"""Elimination without subtraction, settling of polynomials, bottlenecks: against brute force."""

import itertools

import numpy as np
import pytest

from certune.kernels.bottlenecks import crossing_sums, path_maxima, spanning_tree
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


def test_crossing_sums_by_definition():
    n = 6
    between = RNG.random((n, n))
    between += between.T
    resistance, is_edge = RNG.random(n), ~np.eye(n, dtype=bool)
    ranked = np.argsort(resistance)
    sums = crossing_sums(between, is_edge, resistance, ranked)
    for i in range(1, n):
        expected = sum(
            np.exp(resistance[j] - between[u, j]) for u in ranked[i:] for j in ranked[:i]
        )
        assert sums[i] == pytest.approx(expected)


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
