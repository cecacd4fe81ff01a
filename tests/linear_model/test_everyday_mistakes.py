"""Mistakes and oddities of everyday data: a right answer, or a message that names the place."""

import os
import signal
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as grid_models
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import certune as ct
from certune.errors import InputError, ParameterError, RangeWarning
from certune.linear_model import ElasticNetCV, LassoCV, LogisticRegressionCV, RidgeCV

RNG = np.random.default_rng(5)
X = RNG.normal(size=(36, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + RNG.normal(size=36)
LABELS = np.where(NUMBERS > 0.0, "yes", "no")
SITES = np.repeat(np.arange(6), 6)
FRAME = pd.DataFrame(X, columns=["age", "income", "score"])
ESTIMATORS = {
    "logistic": (LogisticRegressionCV(Cs=(0.1, 10.0), cv=3, scoring="neg_log_loss"), LABELS),
    "ridge": (RidgeCV(alphas=(0.1, 10.0), cv=3), NUMBERS),
    "lasso": (LassoCV(alphas=(0.01, 1.0), cv=3), NUMBERS),
    "net": (ElasticNetCV(alphas=(0.01, 1.0), cv=3), NUMBERS),
}
one_of_each = pytest.mark.parametrize("name", sorted(ESTIMATORS))


@pytest.fixture(autouse=True)
def _ranges_may_be_narrow():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        yield


def fitted(name, features, **options):
    model, target = ESTIMATORS[name]
    return clone(model).fit(features, target, **options)


@one_of_each
def test_missing_cells_and_texts_are_named_by_column_and_row(name):
    with pytest.raises(ct.InputError, match="column 'income' of X has the value NaN in row 7"):
        fitted(name, FRAME.assign(income=FRAME["income"].where(FRAME.index != 7)))
    with pytest.raises(ct.InputError, match="column 'score' of X must be numbers, got 'high'"):
        fitted(name, FRAME.assign(score="high"))


@one_of_each
def test_negative_weights_are_refused(name):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        fitted(name, X, sample_weight=np.r_[-1.0, np.ones(35)])


@one_of_each
def test_a_constant_column_has_no_coefficient_and_changes_nothing(name):
    plain, wide = fitted(name, X), fitted(name, np.column_stack((X, np.full(36, 7.0))))
    assert np.ravel(wide.coef_)[-1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.ravel(wide.coef_)[:3], np.ravel(plain.coef_), rtol=1e-6)


@one_of_each
def test_repeated_rows_count_twice_wherever_they_fall(name):
    model, target = ESTIMATORS[name]
    rows, targets = np.concatenate((X, X)), np.concatenate((target, target))
    found = type(model)(**model.get_params()).fit(rows, targets)
    grid = {"logistic": "Cs", "ridge": "alphas", "lasso": "alphas", "net": "alphas"}[name]
    peer = getattr(grid_models, type(model).__name__)
    # At the value that was chosen, scikit-learn's estimator finds the same coefficients.
    options = {"solver": "newton-cholesky", "l1_ratios": (0.0,)} if name == "logistic" else {}
    chosen = np.ravel(found.C_ if name == "logistic" else found.alpha_)[:1]
    if name in ("lasso", "net"):
        options = {"tol": 1e-12, "max_iter": 100_000}
    if name == "logistic":
        options |= {"tol": 1e-12, "use_legacy_attributes": False, "scoring": "neg_log_loss"}
    theirs = peer(**{grid: chosen, "cv": 3, **options}).fit(rows, targets)
    np.testing.assert_allclose(np.ravel(found.coef_), np.ravel(theirs.coef_), rtol=1e-5, atol=1e-9)


@one_of_each
def test_groups_weights_frames_and_outputs_pass_through_pipelines(name):
    model, target = ESTIMATORS[name]
    weights = np.arange(36) % 3 + 1.0
    with config_context(enable_metadata_routing=True):
        routed = type(model)(**{**model.get_params(), "cv": GroupKFold(3)})
        if name in ("logistic", "ridge"):
            scorer = get_scorer("neg_log_loss" if name == "logistic" else "r2")
            routed.set_params(scoring=scorer.set_score_request(sample_weight=True))
        routed.set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, routed).set_output(transform="pandas")
        pipeline.fit(FRAME, target, sample_weight=weights, groups=SITES)
    plain = type(model)(**{**model.get_params(), "cv": GroupKFold(3)})
    plain.fit(StandardScaler().fit_transform(X), target, sample_weight=weights, groups=SITES)
    np.testing.assert_allclose(pipeline[-1].coef_, plain.coef_, rtol=1e-9)
    assert pipeline[-1].feature_names_in_.tolist() == ["age", "income", "score"]


def test_one_class_in_a_fold_is_named():
    ordered = np.sort(LABELS)
    with pytest.raises(ct.InputError, match=r"fold \d: y must have at least two classes.*stratif"):
        LogisticRegressionCV(Cs=(0.1, 1.0), cv=KFold(2)).fit(X[np.argsort(LABELS)], ordered)
    with pytest.raises(ct.InputError, match="class 'no' has 1 row, and folds need 2"):
        ct.folds(X[:4], ["yes", "yes", "yes", "no"], cv=3)


@one_of_each
def test_what_is_wrong_with_all_rows_is_not_blamed_on_a_fold(name):
    with pytest.raises(ct.InputError, match="beyond 1e100; divide the columns") as refused:
        fitted(name, X * 1e120)
    assert "fold" not in str(refused.value)


def test_a_number_in_place_of_a_range_is_told():
    with pytest.raises(ct.ParameterError, match=r"C must be a range \(low, high\), got 1.0"):
        ct.RegularizedLogistic(C=1.0)
    with pytest.raises(ct.ParameterError, match=r"Cs must be a range \(low, high\)[^$]*got 1.0"):
        LogisticRegressionCV(Cs=1.0).fit(X, LABELS)
    with pytest.raises(
        ct.ParameterError, match=r"alphas must be a range \(low, high\)[^$]*got '1'"
    ):
        RidgeCV(alphas="1").fit(X, NUMBERS)


def test_numbers_are_not_taken_for_classes():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        LogisticRegressionCV(Cs=(0.1, 1.0)).fit(X, NUMBERS)
    with pytest.raises(ct.InputError, match=r"numbers with fractions.*RegressionInstance"):
        ct.ClassificationInstance(X, NUMBERS, X, NUMBERS)


def test_folds_of_numbers_are_offered_as_a_regression():
    with pytest.raises(ct.InputError, match=r"numbers with fractions such as .*task='regression'"):
        ct.folds(X, NUMBERS, cv=3)
    assert len(ct.folds(X, NUMBERS, cv=3, task="regression")) == 3


def test_a_scorer_says_whether_weights_count_in_the_score():
    weights = np.arange(36) % 4 + 1.0
    model = ESTIMATORS["logistic"][0]
    found = {}
    with config_context(enable_metadata_routing=True):
        for counts in (True, False):
            scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=counts)
            own = clone(model).set_params(scoring=scorer).set_fit_request(sample_weight=True)
            own.fit(X, LABELS, sample_weight=weights)
            found[counts] = own.scores_["yes"]
            theirs = grid_models.LogisticRegressionCV(
                Cs=own.Cs_, cv=3, scoring=scorer, solver="newton-cholesky", tol=1e-11,
                l1_ratios=(0.0,), use_legacy_attributes=False,
            ).set_fit_request(sample_weight=True)  # fmt: skip
            theirs.fit(X, LABELS, sample_weight=weights)
            np.testing.assert_allclose(found[counts], theirs.scores_[:, 0], atol=1e-8)
    assert np.abs(found[True] - found[False]).max() > 1e-3


ROWS = np.arange(24.0).reshape(12, 2) % 7
WITH_A_HOLE = ROWS.copy()
WITH_A_HOLE[3, 1] = np.nan


@pytest.mark.parametrize("estimator", [LogisticRegressionCV, RidgeCV, LassoCV, ElasticNetCV])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WITH_A_HOLE, [0, 1] * 6), "value NaN in row 3, column 1 .*SimpleImputer"),
        ((WITH_A_HOLE.tolist(), [0, 1] * 6), "value NaN in row 3, column 1"),
        ((np.where(ROWS == 6, np.inf, ROWS), [0, 1] * 6), r"infinity \(inf\) in row"),
        ((ROWS, [0, 1] * 6, [1.0] * 5 + [-2.0] + [1.0] * 6), "got -2 in row 5"),
    ],
    ids=["array", "list", "inf", "weight"],
)
def test_the_row_of_a_wrong_number_is_named(estimator, arguments, message):
    with pytest.raises(InputError, match=message):
        estimator(cv=2).fit(*arguments)


@pytest.mark.parametrize("estimator", [RidgeCV, LassoCV, ElasticNetCV])
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["cheap"] * 12, "got 'cheap' in row 0; for classes use LogisticRegressionCV"),
        ([1.0, None] * 6, "got None in row 1"),
        ([1.0, 2.0, np.nan] * 4, "value NaN in row 2"),
    ],
)
def test_the_row_of_a_wrong_target_is_named(estimator, targets, message):
    with pytest.raises(InputError, match=message):
        estimator(cv=2).fit(ROWS, targets)


@pytest.mark.parametrize(
    ("estimator", "meant"),
    [
        (LogisticRegressionCV(scoring="neg_log_los"), "neg_log_loss"),
        (RidgeCV(scoring="neg_mean_squared_eror"), "neg_mean_squared_error"),
    ],
)
def test_a_misspelt_score_is_guessed(estimator, meant):
    with pytest.raises(ParameterError, match=f"did you mean '{meant}'"):
        estimator.fit(ROWS, [0, 1] * 6)


@pytest.mark.parametrize("estimator", [LassoCV, ElasticNetCV])
def test_constant_targets_have_a_model(estimator):
    model = estimator(cv=2).fit(ROWS, [3.0] * 12)
    assert not model.coef_.any() and model.intercept_ == 3.0 and 0.0 < model.alpha_ <= 1.0


@pytest.mark.parametrize(
    "labels", [["a", None, "b"] * 4, [0.0, np.nan, 1.0] * 4, pd.array([0, pd.NA, 1] * 4)]
)
def test_a_missing_label_is_named_by_its_row(labels):
    with pytest.raises(ct.InputError, match="no label in row 1 "):
        LogisticRegressionCV(Cs=(0.1, 1.0), cv=2).fit(ROWS, labels)


@pytest.mark.parametrize("estimator", [LogisticRegressionCV, LassoCV])
def test_a_missing_weight_is_named_by_its_row(estimator):
    weights = [1.0] * 11 + [np.nan]
    with pytest.raises(ct.InputError, match="sample_weight has the value NaN in row 11"):
        estimator(cv=2).fit(ROWS, [0, 1] * 6, sample_weight=weights)
    weights[-1] = 10**400
    with pytest.raises(ct.InputError, match="sample_weight has a whole number beyond"):
        estimator(cv=2).fit(ROWS, [0, 1] * 6, sample_weight=weights)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegressionCV(Cs=(1e-4, 1e4), l1_ratios=(1.0,), cv=60),
        ElasticNetCV(l1_ratio=(0.1, 1.0), tol=1e-9),
    ],
    ids=["logistic", "net over ratios"],
)
def test_an_interrupted_fit_leaves_no_model_of_some_folds(model):
    rows = np.random.default_rng(0).normal(size=(240, 10))
    targets = (rows.sum(axis=1) + rows[:, 0] ** 3 > 0.0).astype(int)
    # Background jobs of a shell ignore Ctrl-C, and so would the fit.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows, targets)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert not hasattr(model, "coef_")
