"""Curves of regularised logistic regression against solvers that share no code with them.

The oracles are scikit-learn's solvers at tight tolerances and a plain coordinate-wise check of
the optimality conditions; both see the data as the user gave them.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import certune as ct

ERROR = 1e-8
RANGE = (1e-4, 2.0)


def synthetic(m, p, seed, sparsity=1.0, validation=40):
    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=p) * (rng.random(p) < sparsity) / math.sqrt(max(1, p * sparsity))
    X = rng.normal(size=(m + validation, p)) * rng.uniform(0.5, 2.0, p)
    y = np.where(rng.random(m + validation) < expit(X @ truth - 0.3), 1, 0)
    return ct.ClassificationInstance(X[:m], y[:m], X[m:], y[m:], name=f"synthetic {m}x{p} {seed}")


def digit_pair(first, second, seed):
    images, labels = load_digits(return_X_y=True)
    members = np.flatnonzero((labels == first) | (labels == second))
    rows = np.random.default_rng(seed).permutation(members)
    X, y, name = images[rows] / 16.0, labels[rows], f"digits {first}-{second}"
    return ct.ClassificationInstance(X[:120], y[:120], X[120:200], y[120:200], name=name)


def mean_log_loss(instance, coef, intercept):
    margins = instance.y_val * (instance.X_val @ coef + intercept)
    return float(np.logaddexp(0.0, -margins).mean())


def objective_and_gradient(b, X, y, lam, has_intercept):
    p = X.shape[1]
    margins = y * (X @ b[:p] + (b[p] if has_intercept else 0.0))
    chances = expit(-margins) * y / len(y)
    gradient = np.zeros(b.size)
    gradient[:p] = -X.T @ chances + 2 * lam * b[:p]
    if has_intercept:
        gradient[p] = -chances.sum()
    return np.logaddexp(0.0, -margins).mean() + lam * b[:p] @ b[:p], gradient


def newton_reference(X, y, lam, has_intercept):
    """A textbook Newton method on the l2 objective, with steps halved until it decreases."""
    A = np.column_stack((X, np.ones(len(X)))) if has_intercept else X
    penalty = np.full(A.shape[1], 2 * lam)
    penalty[X.shape[1] :] = 0.0
    b = np.zeros(A.shape[1])
    for _ in range(100):
        value, gradient = objective_and_gradient(b, X, y, lam, has_intercept)
        chances = expit(A @ b)
        hessian = (A.T * (chances * (1 - chances))) @ A / len(A) + np.diag(penalty)
        step, share = np.linalg.solve(hessian, gradient), 1.0
        while objective_and_gradient(b - share * step, X, y, lam, has_intercept)[0] > value + 1e-15:
            share /= 2
        b = b - share * step
        if np.abs(step).max() < 1e-14 * max(1.0, np.abs(b).max()):
            break
    return b[: X.shape[1]], b[-1] if has_intercept else 0.0


INSTANCES = [
    *(synthetic(m, p, seed) for seed, (m, p) in enumerate([(100, 10), (250, 20), (60, 90)])),
    synthetic(400, 60, 7, sparsity=0.2),
    digit_pair(3, 8, 0),
    *ct.datasets.breast_cancer_classification(2, random_state=5),
]
IDS = [instance.name for instance in INSTANCES]


def standardized(instance):
    scale = instance.X.std(axis=0)
    scale[scale == 0] = 1.0
    centre = instance.X.mean(axis=0)
    return (instance.X - centre) / scale, (instance.X_val - centre) / scale


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("instance", INSTANCES, ids=IDS)
def test_l2_curve_against_newton(instance, fit_intercept):
    family = ct.RegularizedLogistic(
        "l2", lam=RANGE, fit_intercept=fit_intercept, standardize=True, max_loss=50.0
    )
    dual = family.dual(instance)
    assert dual.error <= ERROR / 4
    X, X_val = standardized(instance)
    rng = np.random.default_rng(0)
    for lam in np.exp(rng.uniform(*np.log(RANGE), 8)).tolist():
        coef, intercept = newton_reference(X, instance.y, lam, fit_intercept)
        margins = instance.y_val * (X_val @ coef + intercept)
        expected = 50.0 - np.logaddexp(0.0, -margins).mean()
        assert abs(dual(lam) - expected) <= ERROR
        assert abs(family.run(instance, lam) - expected) <= ERROR


@pytest.mark.parametrize("instance", INSTANCES[:4], ids=IDS[:4])
def test_l2_curve_against_scikit_learn(instance):
    family = ct.RegularizedLogistic("l2", lam=RANGE, max_loss=50.0)
    dual = family.dual(instance)
    for lam in np.geomspace(*RANGE, 5).tolist():
        model = LogisticRegression(
            C=1 / (2 * len(instance.X) * lam), solver="newton-cholesky", tol=1e-13, max_iter=1000
        ).fit(instance.X, instance.y)
        loss = mean_log_loss(instance, model.coef_[0], model.intercept_[0])
        # scikit-learn stops where its gradient is small, not where its error is.
        assert dual(min(max(lam, RANGE[0]), RANGE[1])) == pytest.approx(50.0 - loss, abs=3e-7)


@pytest.mark.parametrize("instance", INSTANCES, ids=IDS)
def test_l1_solutions_fulfil_the_optimality_conditions(instance):
    family = ct.RegularizedLogistic("l1", lam=RANGE, standardize=True, max_loss=50.0)
    dual, path = family.dual(instance), family.path(instance)
    assert dual.error <= ERROR / 4
    X, _ = standardized(instance)
    data = family.data(instance)
    rng = np.random.default_rng(1)
    for lam in np.exp(rng.uniform(*np.log(RANGE), 8)).tolist():
        model = family.solve(instance, lam)
        b = path.at(lam)
        fits = np.abs(data.design[:, :-1].T @ expit(-(data.design @ b))) / len(X) / data.penalties
        active = b[:-1] != 0
        assert np.abs(fits[active] - lam).max(initial=0.0) <= 1e-7 * max(1.0, lam)
        assert (fits[~active] - lam).max(initial=-1.0) <= 1e-7 * max(1.0, lam)
        assert abs(dual(lam) - family.run(instance, lam)) <= ERROR
        loss = mean_log_loss(instance, model.coef, model.intercept)
        assert abs(dual(lam) - (50.0 - loss)) <= ERROR


@pytest.mark.parametrize("instance", INSTANCES[:3], ids=IDS[:3])
def test_l1_curve_against_a_general_solver(instance):
    """b = plus - minus with both parts non-negative makes the problem smooth for L-BFGS-B."""
    lam, p = 0.02, instance.n_features
    X, y = instance.X, instance.y

    def smooth(z):
        b = np.append(z[:p] - z[p : 2 * p], z[-1])
        margins = y * (X @ b[:p] + b[p])
        chances = expit(-margins) * y / len(y)
        gradient = -X.T @ chances
        value = np.logaddexp(0.0, -margins).mean() + lam * z[: 2 * p].sum()
        return value, np.concatenate((gradient + lam, lam - gradient, [-chances.sum()]))

    bounds = [(0, None)] * (2 * p) + [(None, None)]
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-11}
    found = minimize(smooth, np.zeros(2 * p + 1), jac=True, bounds=bounds, options=options)
    coef = found.x[:p] - found.x[p : 2 * p]
    loss = mean_log_loss(instance, coef, found.x[-1])
    family = ct.RegularizedLogistic("l1", lam=RANGE, max_loss=50.0)
    assert family.dual(instance)(lam) == pytest.approx(50.0 - loss, abs=2e-6)
    value, _ = smooth(found.x)
    model = family.solve(instance, lam)
    parts = np.maximum(model.coef, 0), np.maximum(-model.coef, 0), [model.intercept]
    ours = np.concatenate(parts)
    assert smooth(ours)[0] <= value + 1e-13


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("instance", INSTANCES[:3] + INSTANCES[4:6], ids=IDS[:3] + IDS[4:6])
def test_accuracy_counts_right_answers(instance, penalty):
    family = ct.RegularizedLogistic(penalty, lam=RANGE, metric="accuracy", standardize=True)
    dual = family.dual(instance)
    rng = np.random.default_rng(2)
    for lam in np.exp(rng.uniform(*np.log(RANGE), 12)).tolist():
        model = family.solve(instance, lam)
        names = np.where(instance.y_val > 0, instance.classes[1], instance.classes[0])
        hits = int(np.count_nonzero(model.predict(instance.X_val) == names))
        assert dual.value_at(lam) in (Fraction(hits, len(names)), None)
    assert (np.diff(dual.breakpoints, axis=1) < 1e-9).all()
