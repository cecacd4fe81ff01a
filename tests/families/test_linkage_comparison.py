"""Answers of the exact layer against rational arithmetic: for alpha = 2 all values are rational."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.families.linkage.comparison import FARTHER, NEARER, TIE, UNKNOWN, Comparison
from certune.families.linkage.lines import Line

N = 12


def clusters(rng):
    """Points of a small grid, so that many distances and many extremes are equal."""
    places = rng.permutation(16)[:N]
    points = np.stack((places % 4, places // 4), axis=1).astype(float)
    instance = ct.ClusteringInstance(
        points, metrics=("euclidean", "cityblock"), target=np.arange(N) % 2
    )
    marks = np.zeros(N, dtype=np.uint8)
    sizes = [(2, 3, 4), (1, 1, 1)][rng.integers(2)]
    marks[rng.permutation(N)[: sum(sizes)]] = np.repeat([1, 2, 3], sizes)
    return instance, marks


def order(instance, marks, kind, weights, t):
    """1 if (x, y) is nearer than (x, z) at t, -1 if farther, 0 for a tie."""
    value = {}
    for other in (2, 3):
        squares = []
        for a in np.flatnonzero(marks == 1):
            for b in np.flatnonzero(marks == other):
                parts = [Fraction(matrix[a, b]) for matrix in instance.distances]
                at_t = [Fraction(start) + t * Fraction(rate) for start, rate in weights]
                squares.append(sum(w * d for w, d in zip(at_t, parts, strict=True)) ** 2)
        if kind == "min-max":
            value[other] = min(squares) + max(squares)
        else:
            value[other] = sum(squares) / len(squares)
    return (value[3] > value[2]) - (value[3] < value[2])


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_orders_agree_with_rational_arithmetic(kind):
    rng = np.random.default_rng(3)
    weights = ((0.75, -0.5), (0.25, 0.5))
    line = Line(kind, ((2.0, 0.0),), weights)
    seen = []
    for _ in range(40):
        instance, marks = clusters(rng)
        comparison = Comparison(instance, line, marks)
        for t in (0.0, 0.25, 0.7):
            truth = order(instance, marks, kind, weights, Fraction(t))
            assert comparison.at(t) == truth
            seen.append(truth)
        answer = comparison.on(0.25, 0.7)
        if answer != UNKNOWN:
            inside = {
                order(instance, marks, kind, weights, Fraction(t))
                for t in np.linspace(0.25, 0.7, 7)
            }
            assert inside == {answer}
            seen.append(answer)
    assert {-1, 0, 1} <= set(seen)
    assert len(seen) > 120 + 20


def product_comparison(near, far, alpha):
    """Point 0 against the next ones, whose distances from it are given per metric."""
    n = 1 + len(near) + len(far)
    distances = np.full((2, n, n), 8.0)
    for metric in range(2):
        column = [0.0, *(pair[metric] for pair in (*near, *far))]
        distances[metric, 0] = distances[metric, :, 0] = column
        np.fill_diagonal(distances[metric], 0.0)
    instance = ct.ClusteringInstance(distances=distances, target=np.arange(n) % 2)
    marks = np.array([1] + [2] * len(near) + [3] * len(far), dtype=np.uint8)
    return Comparison(instance, Line("product", alpha, ()), marks)


def test_order_where_all_exponents_vanish_is_not_that_beside_it():
    """At exponents (0, 0): d_0 d_1 = 2 against 4. At (t, -t), t > 0: 2^t against 4^-t."""
    comparison = product_comparison([(2.0, 1.0)], [(1.0, 4.0)], ((0.0, 1.0), (0.0, -1.0)))
    assert comparison.at(0.0) == NEARER
    assert comparison.at(0.5) == FARTHER
    assert comparison.on(0.0, 1.0, low_end=True) == FARTHER
    assert comparison.on(0.0, 1.0) == UNKNOWN


def test_products_with_the_same_factor_that_moves_are_put_together():
    """2^t (1 + 3) = 2^t (2 + 2) for every t, with the second exponent 1."""
    alpha = ((0.0, 1.0), (1.0, 0.0))
    far = [(2.0, 2.0), (2.0, 2.0)]
    assert product_comparison([(2.0, 1.0), (2.0, 3.0)], far, alpha).on(0.3, 0.9) == TIE
    more = np.nextafter(3.0, 4.0)
    assert product_comparison([(2.0, 1.0), (2.0, more)], far, alpha).on(0.3, 0.9) == FARTHER
