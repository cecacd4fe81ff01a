"""The path estimator, and scikit-learn's LogisticRegression with the tuned strength."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import certune as ct
from certune.estimators import estimator_for

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


@parametrize_with_checks(
    [
        ct.RegularizedLogisticPath(lam_range=(1e-2, 1.0)),
        ct.RegularizedLogisticPath("l1", lam_range=(1e-2, 1.0), standardize=True),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_path_agrees_with_fits_at_single_values(penalty):
    model = ct.RegularizedLogisticPath(penalty, lam_range=(1e-3, 1.0)).fit(X[:200], Y[:200])
    assert model.path_error_ <= 1e-7
    assert (np.diff(model.lambdas_) > 0).all()
    assert model.coefs_.shape == (model.lambdas_.size, 30)
    for lam in (1e-3, 0.0123, 0.2, 1.0):
        single = clone(model).set_params(lam=lam).fit(X[:200], Y[:200])
        coef, intercept = model.coefficients_at(lam)
        np.testing.assert_allclose(coef, single.coef_[0], atol=1e-7)
        assert intercept == pytest.approx(single.intercept_[0], abs=1e-7)
        chances = model.predict_proba(X[200:], lam)
        np.testing.assert_allclose(chances, single.predict_proba(X[200:]), atol=1e-6)
        assert (model.predict(X[200:], lam) == model.classes_[np.argmax(chances, axis=1)]).all()


def test_l2_agrees_with_scikit_learn():
    model = ct.RegularizedLogisticPath(lam=0.01).fit(X[:200], Y[:200])
    reference = LogisticRegression(C=1 / (2 * 200 * 0.01), solver="newton-cholesky", tol=1e-12)
    np.testing.assert_allclose(model.coef_, reference.fit(X[:200], Y[:200]).coef_, atol=1e-8)


def test_standardisation_does_not_change_predictions_with_scaled_data():
    raw = load_breast_cancer().data[:200]
    plain = ct.RegularizedLogisticPath(standardize=True).fit(raw, Y[:200])
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    other = ct.RegularizedLogisticPath().fit(scaled, Y[:200])
    np.testing.assert_allclose(plain.predict_proba(raw), other.predict_proba(scaled), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "penalty must be"),
        ({"lam": -1}, "lam must be a positive"),
        ({"lam_range": (1.0, 0.1)}, "lam_range must be"),
        ({"lam_range": 3}, "lam_range must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.RegularizedLogisticPath(**options).fit(X[:50], Y[:50])


def test_values_outside_the_path_are_refused():
    model = ct.RegularizedLogisticPath().fit(X[:50], Y[:50])
    with pytest.raises(ct.ParameterError, match="lam must lie in the range"):
        model.predict(X[:2], lam=100.0)


# The estimator of a tuning result


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_best_estimator_has_the_tuned_utility(penalty, standardize, fit_intercept):
    instances = [
        ct.ClassificationInstance(X[a:b], Y[a:b], X[b : b + 60], Y[b : b + 60])
        for a, b in ((0, 90), (200, 290))
    ]
    family = ct.RegularizedLogistic(
        penalty, lam=(0.05, 1.0), standardize=standardize, fit_intercept=fit_intercept
    )
    result = ct.tune(family, instances)
    losses = []
    for instance in instances:
        model = clone(result.best_estimator).fit(instance.X, instance.y)
        again = clone(result.best_estimator).fit(instance.X, instance.y)
        assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
        scores = model.decision_function(instance.X_val)
        losses.append(np.logaddexp(0.0, -instance.y_val * scores).mean())
    assert 2.0 - np.mean(losses) == pytest.approx(result.best_value, abs=1e-3)


def test_instances_of_different_sizes_have_no_common_strength():
    instances = [ct.ClassificationInstance(X[:m], Y[:m], X[100:150], Y[100:150]) for m in (60, 70)]
    family = ct.RegularizedLogistic()
    with pytest.raises(ct.ParameterError, match=r"have \[60, 70\].*tune C itself"):
        estimator_for(family, {"lam": 0.1}, instances)


def test_instances_of_different_sizes_have_a_common_C():
    instances = [ct.ClassificationInstance(X[:m], Y[:m], X[100:150], Y[100:150]) for m in (60, 70)]
    result = ct.tune(ct.RegularizedLogistic(C=(1e-3, 1.0)), instances)
    model = result.best_estimator
    assert model.C == result.best_params["C"]
    losses = []
    for m in (60, 70):
        chances = model.fit(X[:m], Y[:m]).predict_proba(X[100:150])
        losses.append(log_loss(Y[100:150], chances))
    assert np.mean(losses) == pytest.approx(result.best_score, abs=1e-7)
