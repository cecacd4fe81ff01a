"""Sums of Chebyshev polynomials against numpy."""

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

from certune.kernels.numeric import ChebyshevRows, add_samples, evaluate, interpolate

RNG = np.random.default_rng(0)
COEFFICIENTS = RNG.normal(size=(4, 7))
N_TERMS = np.array([7, 1, 3, 5])
ROWS = ChebyshevRows(COEFFICIENTS, N_TERMS)


def value(row, s):
    return chebval(s, COEFFICIENTS[row, : N_TERMS[row]])


def test_values_are_those_of_numpy():
    rows, points = RNG.integers(0, 4, 50), RNG.uniform(-1, 1, 50)
    expected = [value(row, s) for row, s in zip(rows, points, strict=True)]
    np.testing.assert_allclose(evaluate(ROWS, rows, points), expected, atol=1e-13)
    assert evaluate(ROWS, [], []).size == 0


def test_expansions_on_parts_are_the_polynomials_there():
    rows = np.array([0, 3, -1, 2])
    left, right = np.array([-1.0, 0.2, 0.0, -0.5]), np.array([0.0, 0.9, 1.0, -0.4])
    n_nodes = np.array([7, 5, 2, 3])
    samples = np.zeros((4, 7))
    for _ in range(2):  # samples are added up
        add_samples(samples, n_nodes, ROWS, (rows, left, right))
    expanded = interpolate(samples, n_nodes)
    s = np.linspace(-1, 1, 9)
    for cell, row in enumerate(rows):
        place = 0.5 * (left[cell] + right[cell]) + 0.5 * (right[cell] - left[cell]) * s
        expected = 2 * value(row, place) if row >= 0 else np.zeros(9)
        np.testing.assert_allclose(chebval(s, expanded[cell]), expected, atol=1e-12)
        assert (expanded[cell, n_nodes[cell] :] == 0.0).all()


@pytest.mark.parametrize("n_terms", [[7, 0, 3, 5], [7, 8, 3, 5], [7, 1, 3]])
def test_numbers_of_terms_must_fit(n_terms):
    with pytest.raises(ValueError, match="terms"):
        evaluate(ChebyshevRows(COEFFICIENTS, np.array(n_terms)), [0], [0.0])


def test_rows_cells_and_nodes_must_fit():
    samples = np.zeros((1, 3))
    for rows in ([4], [-1]):
        with pytest.raises(ValueError, match="no polynomial"):
            evaluate(ROWS, rows, [0.0])
    with pytest.raises(ValueError, match="each point"):
        evaluate(ROWS, [0], [0.0, 0.5])
    with pytest.raises(ValueError, match="no polynomial"):
        add_samples(samples, [3], ROWS, ([-2], [0.0], [1.0]))
    for n_nodes in ([4], [-1]):
        with pytest.raises(ValueError, match="samples"):
            add_samples(samples, n_nodes, ROWS, ([0], [0.0], [1.0]))
        with pytest.raises(ValueError, match="samples"):
            interpolate(samples, n_nodes)
    with pytest.raises(ValueError, match="each cell"):
        add_samples(samples, [3], ROWS, ([0, 1], [0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(TypeError):
        add_samples(samples[:, ::2], [1], ROWS, ([0], [0.0], [1.0]))
