"""Kernels of logistic regression against rationals, optimality conditions and scipy."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from scipy.special import expit

from certune.kernels.logistic import (
    Design,
    NearFactor,
    accurate_residual,
    accurate_transposed_product,
    distance_bound,
    penalised_minimum,
    refined,
    solved_near,
)


def exact_product(matrix, vector):
    return [
        sum(Fraction(a) * Fraction(b) for a, b in zip(column, vector.tolist(), strict=True))
        for column in matrix.T.tolist()
    ]


@pytest.mark.parametrize("seed", range(10))
def test_products_are_rounded_once_even_where_everything_cancels(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(24, 3)) * 10.0 ** rng.integers(-8, 9, (24, 3))
    vector = rng.normal(size=24)
    matrix[12:] = -matrix[:12]
    vector[12:] = vector[:12] * (1 + 2.0**-40)
    found = accurate_transposed_product(matrix, vector)
    sizes = np.abs(matrix).T @ np.abs(vector)
    for value, exact, size in zip(found, exact_product(matrix, vector), sizes, strict=True):
        bound = 2.0**-53 * abs(exact) + Fraction((24 * 2.0**-53) ** 2 * size)
        assert abs(Fraction(value) - exact) <= bound


def problem(seed, m=40, r=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, r))
    return rows, design_of(rows)


def design_of(rows, weights=None):
    largest = float(np.linalg.norm(rows, axis=1).max())
    return Design(rows, np.ascontiguousarray(rows.T), largest, weights)


def factor_at(rows, point, curvature):
    chances = expit(-(rows @ point))
    hessian = rows.T @ (rows * (chances * (1 - chances))[:, None]) / len(rows)
    lower = np.asfortranarray(np.linalg.cholesky(hessian + np.diag(curvature)))
    return NearFactor(lower, float(np.linalg.norm(np.linalg.inv(lower))) * 1.01, point)


def minimum(rows, lam, linear, quadratic):
    """Minimum by scipy, then two Newton steps in plain numpy."""

    def objective(b):
        return np.logaddexp(0, -(rows @ b)).mean() + lam * (linear @ b + quadratic @ b**2 / 2)

    b = minimize(objective, np.zeros(rows.shape[1]), tol=1e-12).x
    for _ in range(4):
        chances = expit(-(rows @ b))
        gradient = -rows.T @ chances / len(rows) + lam * (linear + quadratic * b)
        hessian = rows.T @ (rows * (chances * (1 - chances))[:, None]) / len(rows)
        b = b - np.linalg.solve(hessian + lam * np.diag(quadratic), gradient)
    return b


@pytest.mark.parametrize("seed", range(5))
def test_refined_points_are_within_their_radius(seed):
    rows, design = problem(seed)
    lam, linear, quadratic = 0.1, np.full(4, 0.2), np.full(4, 2.0)
    exact = minimum(rows, lam, linear, quadratic)
    start = exact + 1e-3
    moved = float(np.abs(rows @ (start - exact)).max())
    factor = factor_at(rows, exact, lam * quadratic)
    solution = refined(design, (lam, linear, quadratic), factor, start, moved, 1e-14)
    assert solution.radius < 1e-12
    assert np.linalg.norm(solution.point - exact) <= solution.radius + 1e-13
    step = 1e-6
    moved_minimum = minimum(rows, lam + step, linear, quadratic)
    np.testing.assert_allclose(solution.slope, (moved_minimum - exact) / step, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(solution.chances, expit(-(rows @ solution.point)), rtol=1e-12)


def test_one_factor_solves_close_problems_and_says_where_it_does_not():
    rows, design = problem(7, m=60)
    linear, nothing = np.array([1.0, -1.0, 0.5, 0.0]), np.zeros(4)
    anchor = minimum(rows, 0.02, linear, nothing)
    factor = factor_at(rows, anchor, nothing)
    lams = np.array([0.02, 0.0201, 0.3])
    starts = np.stack([anchor, anchor, anchor + 3.0])
    found = solved_near(design, linear, factor, lams, starts, 1e-13)
    assert (found.radii[:2] < 1e-11).all() and found.radii[2] == np.inf
    assert np.isnan(found.points[2]).all() and np.isnan(found.chances[2]).all()
    for k in (0, 1):
        exact = minimum(rows, lams[k], linear, nothing)
        assert np.linalg.norm(found.points[k] - exact) <= found.radii[k] + 1e-13


def test_residuals_hold_their_bounds():
    rows, design = problem(3)
    point, penalty = np.array([0.3, -0.1, 0.7, 0.2]), np.full(4, 0.01)
    residual = accurate_residual(design, point, penalty)
    expected = penalty - rows.T @ expit(-(rows @ point)) / len(rows)
    np.testing.assert_allclose(residual.gradient, expected, rtol=0, atol=1e-15)
    assert 0 < residual.rounding < 1e-14 and 0 < residual.spread < 1e-14


def test_weights_stand_for_copies_of_rows():
    rows, _ = problem(5, m=30)
    copies = np.random.default_rng(5).integers(0, 4, 30)
    all_rows = np.repeat(rows, copies, axis=0)
    plain, weighted = design_of(all_rows), design_of(rows, copies / copies.mean())
    lam, linear, quadratic = 0.05, np.zeros(4), np.full(4, 2.0)
    exact = minimum(all_rows, lam, linear, quadratic)
    factor = factor_at(all_rows, exact, lam * quadratic)
    starts = exact + 1e-3
    found = [
        refined(design, (lam, linear, quadratic), factor, starts, 0.01, 1e-14)
        for design in (plain, weighted)
    ]
    assert all(solution.radius < 1e-12 for solution in found)
    np.testing.assert_allclose(found[0].point, found[1].point, rtol=0, atol=1e-13)
    residuals = [accurate_residual(d, starts, np.zeros(4)).gradient for d in (plain, weighted)]
    np.testing.assert_allclose(*residuals, rtol=0, atol=1e-15)
    near = factor_at(all_rows, exact, np.zeros(4))
    solved = [
        solved_near(design, 2 * exact, near, [lam], [exact], 1e-13) for design in (plain, weighted)
    ]
    assert np.isfinite(solved[0].radii).all()
    np.testing.assert_allclose(solved[0].points, solved[1].points, rtol=0, atol=1e-10)


def test_no_distance_follows_from_a_large_gradient():
    assert distance_bound(1e-8, 2.0, 3.0) >= 2e-8
    assert distance_bound(1.0, 2.0, 3.0) == np.inf
    assert distance_bound(np.nan, 2.0, 3.0) == np.inf


@pytest.mark.parametrize("seed", range(8))
def test_penalised_minima_satisfy_the_conditions_of_optimality(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    hessian, linear = root @ root.T, rng.normal(size=5)
    weights = np.full(4, 0.3)
    z = penalised_minimum(hessian, linear, np.zeros(5), weights, 100_000, 1e-14)
    gradient = hessian @ z - linear
    for j in range(5):
        if j == 4:
            assert abs(gradient[j]) < 1e-8
        elif z[j] == 0.0:
            assert abs(gradient[j]) <= 0.3 + 1e-8
        else:
            assert abs(gradient[j] + 0.3 * np.sign(z[j])) < 1e-8
    # Coordinates without curvature stay where they are.
    still = penalised_minimum(np.zeros((2, 2)), np.ones(2), [3.0, 4.0], [], 10, 0.0)
    assert still.tolist() == [3.0, 4.0]


def test_doors_refuse_what_does_not_fit():
    rows, design = problem(1)
    factor = factor_at(rows, np.zeros(4), np.ones(4))
    good, short = np.zeros(4), np.zeros(3)
    with pytest.raises(ValueError, match="transpose"):
        Design(rows, rows, 1.0)
    with pytest.raises(ValueError, match="row"):
        Design(np.empty((0, 4)), np.empty((4, 0)), 1.0)
    with pytest.raises(ValueError, match="one weight"):
        Design(rows, rows.T, 1.0, np.ones(3))
    with pytest.raises(ValueError, match="square"):
        NearFactor(np.zeros((3, 4)), 1.0, good)
    with pytest.raises(ValueError, match="column"):
        accurate_residual(design, short, good)
    with pytest.raises(ValueError, match="column"):
        refined(design, (1.0, good, short), factor, good, 0.1, 1e-9)
    with pytest.raises(ValueError, match="column"):
        refined(design, (1.0, good, good), factor_at(rows[:, :3], short, np.ones(3)), good, 0.1, 0)
    with pytest.raises(ValueError, match="start"):
        solved_near(design, good, factor, np.ones(2), np.zeros((3, 4)), 1e-9)
    with pytest.raises(ValueError, match="one size"):
        penalised_minimum(np.eye(3), good, good, good, 1, 0.0)
    with pytest.raises(ValueError, match="weights"):
        penalised_minimum(np.eye(4), good, good, np.zeros(5), 1, 0.0)
    with pytest.raises(ValueError, match="each row"):
        accurate_transposed_product(rows, good)
    with pytest.raises(TypeError):
        accurate_transposed_product(rows[0], good)
    with pytest.raises(TypeError):
        penalised_minimum(np.eye(4), good, good, good, -1, 0.0)


def test_a_minimum_without_negative_coordinates():
    """Against non-negative least squares, to which the problem is brought by a factor."""
    rng = np.random.default_rng(5)
    for size in (1, 4, 7):
        factor = rng.normal(size=(size + 2, size))
        linear, weights = rng.normal(size=size), rng.uniform(0.0, 1.0, size)
        hessian = factor.T @ factor
        found = penalised_minimum(hessian, linear, np.zeros(size), weights, 100_000, 1e-14, True)
        lower = np.linalg.cholesky(hessian)
        expected, _ = nnls(lower.T, np.linalg.solve(lower, linear - weights))
        np.testing.assert_allclose(found, expected, atol=1e-8)
