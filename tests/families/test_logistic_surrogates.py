"""The surrogates of the paper: how their error depends on the step, and what follows from it."""

import math

import numpy as np
import pytest

import certune as ct
from certune.families.logistic import surrogate_excess_bound
from certune.pfaffian.bounds.generalization import excess_bound
from certune.pfaffian.bounds.tightest import growths

INSTANCE = ct.datasets.breast_cancer_classification(1, n_train=80, n_validation=40)[0]
LOW, HIGH = 0.05, 0.3


def worst_error(family, epsilon, n_points=60):
    path = family.surrogate(INSTANCE, epsilon)
    data = family.data(INSTANCE)
    errors = []
    for lam in np.linspace(LOW, HIGH, n_points).tolist():
        model = family.solve(INSTANCE, lam)
        coef = path.at(lam)[: INSTANCE.n_features] / data.scale[1]
        errors.append(np.linalg.norm((coef - model.coef) * data.scale[1]))
    return max(errors)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_error_is_of_second_order(fit_intercept):
    family = ct.RegularizedLogistic(
        "l2", lam=(LOW, HIGH), standardize=True, fit_intercept=fit_intercept
    )
    coarse, fine = worst_error(family, LOW / 4), worst_error(family, LOW / 16)
    # A quarter of the step: a sixteenth of the error, up to terms of third order.
    assert fine < coarse / 10
    assert fine < 0.01


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_lasso_error_decreases(fit_intercept):
    family = ct.RegularizedLogistic(
        "l1", lam=(LOW, HIGH), standardize=True, fit_intercept=fit_intercept
    )
    coarse, fine = worst_error(family, LOW / 4), worst_error(family, LOW / 64)
    assert fine < coarse / 4 and fine < 0.02


def test_knots_begin_at_the_solution_and_end_at_the_range():
    family = ct.RegularizedLogistic("l2", lam=(LOW, HIGH), standardize=True)
    path, model = family.surrogate(INSTANCE, 0.01), family.solve(INSTANCE, LOW)
    centre, spread = family.data(INSTANCE).scale
    *slopes, intercept = path.at(LOW).tolist()
    np.testing.assert_allclose(slopes / spread, model.coef, atol=1e-9)
    assert intercept - model.coef @ centre == pytest.approx(model.intercept, abs=1e-9)
    assert path.n_intervals == 25 and path.knots[-1] == HIGH


def test_the_surrogate_dual_is_the_utility_of_the_surrogate():
    for penalty in ("l1", "l2"):
        family = ct.RegularizedLogistic(penalty, lam=(LOW, HIGH), standardize=True)
        path, dual = family.surrogate(INSTANCE, 0.02), family.surrogate_dual(INSTANCE, 0.02)
        rows = family.data(INSTANCE).plain_rows(INSTANCE.X_val, INSTANCE.y_val)
        for lam in np.random.default_rng(0).uniform(LOW, HIGH, 30).tolist():
            expected = 2.0 - np.logaddexp(0.0, -(rows @ path.at(lam))).mean()
            lower, upper = dual.enclose(lam)
            assert lower <= expected <= upper and upper - lower < 1e-6
        difference = (dual - family.surrogate_dual(INSTANCE, 0.0005)).upper_bound
        assert 0 <= difference < 0.01


def test_steps_must_be_possible():
    family = ct.RegularizedLogistic(lam=(LOW, HIGH))
    for epsilon in (0.0, -1.0, math.inf, 1e-9):
        with pytest.raises(ct.ParameterError, match="epsilon must be positive"):
            family.surrogate(INSTANCE, epsilon)


def test_excess_bound():
    # cells = 2 * 10 * 100 + 1 = 2001; sqrt(2 ln 2001 / 100) + 2 * 0.01
    # + sqrt(2 ln 20 / 100) for H = 1, delta = 0.05.
    expected = math.sqrt(2 * math.log(2001) / 100) + 0.02 + math.sqrt(2 * math.log(20) / 100)
    assert surrogate_excess_bound(100, 10, 0.01, 1.0, 0.05) == pytest.approx(expected)
    assert surrogate_excess_bound(100, 10, 0.0, 2.0, 0.05) == pytest.approx(2 * (expected - 0.02))
    with pytest.raises(ct.ParameterError, match="delta must be"):
        surrogate_excess_bound(100, 10, 0.01, 1.0, 1.5)


@pytest.mark.parametrize("n_instances", [30, 100, 1000, 10000])
def test_the_excess_bound_of_concave_surrogates_is_no_looser_than_the_general_one(n_instances):
    family = ct.RegularizedLogistic("l2", lam=(0.01, 1.0))
    for growth in growths(family.structure(120, 80, epsilon=0.01)):
        general = excess_bound(growth, n_instances, 0.05, surrogate_error=0.001).value
        assert surrogate_excess_bound(n_instances, 99, 0.001, 1.0, 0.05) <= general


def test_the_excess_bound_covers_a_known_distribution():
    """Utilities of random concave tents: the tuned peak is within the bound of the best one."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0.0, 1.0, 401)
    peaks = rng.normal(0.5, 0.15, 20000)
    truth = np.array([np.clip(1 - 2 * np.abs(t - peaks), 0, 1).mean() for t in grid])
    n_failed = 0
    for _ in range(200):
        sample = rng.normal(0.5, 0.15, 30)
        means = np.clip(1 - 2 * np.abs(grid[:, None] - sample), 0, 1).mean(axis=1)
        excess = truth.max() - truth[np.argmax(means)]
        n_failed += excess > surrogate_excess_bound(30, 1, 0.0, 1.0, 0.1)
    assert n_failed <= 0.1 * 200


def test_surrogates_pass_a_level_no_more_often_than_the_structure_says():
    family = ct.RegularizedLogistic("l2", lam=(LOW, HIGH), standardize=True)
    epsilon = 0.05
    structure = family.structure(80, 40, epsilon)
    dual = family.surrogate_dual(INSTANCE, epsilon)
    values = dual(np.linspace(LOW, HIGH, 4001))
    for level in np.quantile(values, [0.1, 0.5, 0.9]):
        crossings = np.count_nonzero(np.diff(values > level))
        assert crossings <= structure.n_regions * structure.n_level_crossings
    assert structure.n_regions == math.ceil((HIGH - LOW) / epsilon)
    with pytest.raises(ct.ParameterError, match="log-loss"):
        ct.RegularizedLogistic("l2", metric="accuracy").structure(80, 40, epsilon)
