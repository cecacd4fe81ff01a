"""LogisticRegressionCV as a drop-in for scikit-learn's, and its proof."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as grid_models
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import certune as ct
from certune.errors import RangeWarning
from certune.linear_model import LogisticRegressionCV

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[::3, :6], Y[::3]

# Ranges of examples are short; the tests of this warning ask for it.
pytestmark = pytest.mark.filterwarnings("ignore::certune.errors.RangeWarning")

SCORINGS = ["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc", "neg_brier_score"]


@parametrize_with_checks(
    [
        LogisticRegressionCV(Cs=(1e-2, 1.0), cv=3),
        LogisticRegressionCV(Cs=(1e-2, 1.0), cv=3, l1_ratios=(1.0,), scoring="neg_log_loss"),
    ]
)
@pytest.mark.filterwarnings("ignore:The least populated class in y")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_those_of_scikit_learn_and_the_optimum_is_no_worse(scoring, weighted):
    weights = np.random.default_rng(0).integers(1, 4, len(Y)) / 2 if weighted else None
    grid = np.geomspace(1e-2, 10.0, 9)
    shared = {"Cs": grid, "scoring": scoring, "cv": 4, "class_weight": "balanced"}
    ours = LogisticRegressionCV(**shared).fit(X, Y, sample_weight=weights)
    theirs = grid_models.LogisticRegressionCV(
        **shared, solver="newton-cholesky", tol=1e-10, l1_ratios=(0.0,), use_legacy_attributes=False
    ).fit(X, Y, sample_weight=weights)
    scores = ours.scores_[ours.classes_[1]]
    np.testing.assert_allclose(scores, theirs.scores_[:, 0], atol=1e-7)
    assert (ours.Cs_ == grid).all()
    assert ours.best_score_ >= scores.mean(axis=0).max() - 1e-8
    assert ours.upper_bound_ - ours.best_score_ <= max(ours.gap_, 1e-12) <= 1e-7
    assert ours.landscape_(float(ours.C_[0])) == pytest.approx(ours.best_score_, abs=1e-8)
    if scoring in ("neg_log_loss", "accuracy"):
        assert ct.verify(ours.certificate_, ours.result_.family, ours.result_.instances).optimal


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_the_refitted_model_is_that_of_scikit_learn(l1_ratio):
    model = LogisticRegressionCV(Cs=(0.05, 5.0), l1_ratios=(l1_ratio,)).fit(X, Y)
    solver = {0.0: "newton-cholesky", 1.0: "saga"}[l1_ratio]
    plain = grid_models.LogisticRegression(
        C=model.C_[0], l1_ratio=l1_ratio, solver=solver, tol=1e-10, max_iter=100_000
    ).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    assert model.score(X, Y) == plain.score(X, Y)


def test_without_refit_the_folds_are_averaged():
    model = LogisticRegressionCV(Cs=(0.05, 5.0), refit=False, scoring="neg_log_loss").fit(X, Y)
    best = [dual.best_point for dual in model.result_.duals]
    assert model.C_[0] == pytest.approx(np.mean(best))
    coefficients = []
    for C, (train, _) in zip(best, StratifiedKFold(5).split(X, Y), strict=True):
        plain = grid_models.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
        coefficients.append(plain.fit(X[train], Y[train]).coef_)
    np.testing.assert_allclose(model.coef_, np.mean(coefficients, axis=0), atol=1e-6)


def test_attributes_of_both_styles():
    legacy = LogisticRegressionCV(Cs=4, cv=3).fit(X, Y)
    modern = LogisticRegressionCV(Cs=4, cv=3, use_legacy_attributes=False).fit(X, Y)
    assert legacy.C_.shape == (1,) and isinstance(modern.C_, float) and legacy.C_[0] == modern.C_
    assert legacy.scores_[1].shape == (3, 4) and modern.scores_.shape == (3, 1, 4)
    assert legacy.coefs_paths_[1].shape == (3, 4, 7)
    assert modern.coefs_paths_.shape == (3, 1, 4, 1, 7)
    np.testing.assert_allclose(legacy.Cs_, np.geomspace(1e-4, 1e4, 4))


def test_one_standard_error_is_the_simplest_model_close_to_the_best():
    options = {"Cs": (1e-3, 1e2), "scoring": "neg_log_loss"}
    best = LogisticRegressionCV(**options).fit(X, Y)
    simple = LogisticRegressionCV(selection="one-standard-error", **options).fit(X, Y)
    robust = LogisticRegressionCV(selection="robust", **options).fit(X, Y)
    at_best = [dual(float(best.C_[0])) for dual in best.result_.duals]
    level = best.best_score_ - np.std(at_best, ddof=1) / np.sqrt(5)
    C = float(simple.C_[0])
    assert C < best.C_[0]
    assert best.landscape_(C) == pytest.approx(level, abs=1e-6)
    assert (best.landscape_(np.geomspace(1e-3, 0.999 * C, 50)) < level).all()
    assert best.landscape_(float(robust.C_[0])) >= best.best_score_ - 0.01 * 32


def test_an_optimum_at_the_end_of_the_range_is_told():
    with pytest.warns(RangeWarning, match=r"C = 0.001 lies at the end.*\(1e-05, 1\)"):
        LogisticRegressionCV(Cs=(1e-5, 1e-3), scoring="neg_log_loss").fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegressionCV(Cs=(1e-3, 1e3), scoring="neg_log_loss").fit(X, Y)


def test_of_equally_good_values_the_middle_in_decades_is_taken():
    labels = np.arange(40) % 2
    separable = (np.random.default_rng(0).uniform(0.5, 1.0, 40) * (2 * labels - 1))[:, None]
    model = LogisticRegressionCV(cv=4).fit(separable, labels)
    [(low, high)] = [ends for ends in model.best_region_ if ends[0] <= model.C_[0] <= ends[1]]
    assert model.C_[0] == pytest.approx(np.sqrt(low * high))
    assert model.landscape_(float(model.C_[0])) == model.best_score_


def test_sparse_frames_strings_pipelines_and_clones():
    plain = LogisticRegressionCV(Cs=(0.01, 10.0)).fit(X, Y)
    names = np.array(["benign", "malignant"])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    other = clone(plain).fit(frame, names[Y])
    assert other.feature_names_in_.tolist() == list("abcdef")
    assert other.C_[0] == plain.C_[0] and set(other.predict(frame)) == set(names)
    few = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    from_sparse = clone(plain).fit(few, Y)
    assert from_sparse.C_[0] == clone(plain).fit(few.toarray(), Y).C_[0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain)).predict(X), plain.predict(X))
    pipeline = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=(0.01, 10.0)))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.85


def test_splitters_and_groups():
    groups = np.arange(len(Y)) % 7
    splitter = GroupKFold(3)
    expected = [dual for dual in LogisticRegressionCV(
        Cs=(0.1, 1.0), cv=list(splitter.split(X, Y, groups))
    ).fit(X, Y).result_.duals]  # fmt: skip
    model = LogisticRegressionCV(Cs=(0.1, 1.0), cv=splitter).fit(X, Y, groups=groups)
    assert model.result_.duals == expected
    with config_context(enable_metadata_routing=True):
        routed = LogisticRegressionCV(Cs=(0.1, 1.0), cv=splitter).fit(X, Y, groups=groups)
    assert routed.result_.duals == expected
    one_each = LogisticRegressionCV(Cs=(0.1, 1.0), cv=LeaveOneOut()).fit(X[:40], Y[:40])
    assert len(one_each.result_.duals) == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, "Cs must be a range"),
        ({"Cs": [1.0, 0.0]}, r"Cs\[1\] == 0.0, must be > 0.0"),
        ({"Cs": [-1.0, 1.0]}, r"Cs\[0\] == -1.0, must be > 0.0"),
        ({"scoring": "f1"}, "scoring must be one of.*GridSearchCV"),
        ({"l1_ratios": (0.5,)}, "The penalty must be l2"),
        ({"penalty": "elasticnet"}, "The penalty must be l2"),
        ({"selection": "worst"}, "selection must be one of"),
        ({"class_weight": {2: 1.0}}, "class_weight dict must have the class labels"),
        ({"class_weight": "even"}, "class_weight must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(**options).fit(X, Y)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize("refit", [True, False])
def test_a_single_value_is_taken_as_it_is(scoring, refit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegressionCV(Cs=[0.3], scoring=scoring, refit=refit, cv=3).fit(X, Y)
    grid = grid_models.LogisticRegressionCV(
        Cs=[0.3], scoring=scoring, refit=refit, cv=3, tol=1e-10, l1_ratios=(0.0,),
        use_legacy_attributes=False,
    ).fit(X, Y)  # fmt: skip
    assert model.C_.tolist() == [0.3] and model.Cs_.tolist() == [0.3]
    np.testing.assert_allclose(model.coef_, grid.coef_, rtol=1e-4)
    assert model.best_score_ == pytest.approx(grid.scores_.mean(), abs=1e-7)
    assert model.result_.status is ct.Status.OPTIMAL


def test_bad_data_are_refused():
    model = LogisticRegressionCV(Cs=(0.1, 1.0))
    with pytest.raises(ValueError, match="only one class: 1"):
        model.fit(X, np.ones(len(Y), dtype=int))
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(X, Y, sample_weight=-np.ones(len(Y)))
    blocks = [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0)), (np.arange(50), np.arange(50, 99))]
    with pytest.raises(ct.InputError, match="fold 1: y must have at least two classes, got only"):
        clone(model).set_params(cv=blocks).fit(X, Y)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(ct.InputError, match="column 'b' of X .*'text' in row 0.*OneHotEncoder"):
        model.fit(frame.assign(b="text"), Y)
    frame.loc[3, "c"] = np.nan
    with pytest.raises(ct.InputError, match="column 'c' of X .*NaN in row 3.*SimpleImputer"):
        model.fit(frame, Y)
    with pytest.raises(ct.ParameterError, match=r"unexpected arguments \['fruit'\]"):
        model.fit(X, Y, fruit=3)


def test_constant_and_duplicate_columns():
    wide = np.column_stack((X, np.ones(len(Y)), X[:, 0]))
    for ratio in (0.0, 1.0):
        model = LogisticRegressionCV(Cs=(0.1, 1.0), l1_ratios=(ratio,)).fit(wide, Y)
        assert model.coef_[0, 6] == 0.0
        assert np.isfinite(model.coef_).all()


SEVERAL, CLASSES = load_iris(return_X_y=True)
SEVERAL, CLASSES = scale(SEVERAL)[::2], np.array(["rose", "lily", "iris"])[CLASSES[::2]]
SEVERAL_SCORINGS = ["accuracy", "neg_log_loss", "roc_auc_ovr", "neg_brier_score"]


@pytest.mark.parametrize("scoring", SEVERAL_SCORINGS)
def test_several_classes_as_in_scikit_learn(scoring):
    shared = {"Cs": np.geomspace(0.1, 2.0, 3), "scoring": scoring, "cv": 2}
    shared["class_weight"] = {"rose": 2.0}
    theirs = grid_models.LogisticRegressionCV(
        **shared, solver="newton-cholesky", tol=1e-11, l1_ratios=(0.0,), use_legacy_attributes=False
    ).fit(SEVERAL, CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        ours = LogisticRegressionCV(**shared, use_legacy_attributes=False).fit(SEVERAL, CLASSES)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-8)
    assert ours.best_score_ >= theirs.scores_.mean(axis=0).max() - 1e-8
    assert ours.upper_bound_ >= ours.best_score_ >= ours.landscape_(1.0) - 1e-8
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == (3,)
    np.testing.assert_allclose(ours.coefs_paths_, theirs.coefs_paths_, atol=1e-6)
    plain = grid_models.LogisticRegression(
        C=ours.C_, solver="newton-cholesky", tol=1e-12, class_weight={"rose": 2.0}
    ).fit(SEVERAL, CLASSES)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, plain.intercept_, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(SEVERAL), plain.predict_proba(SEVERAL), atol=1e-8)


@pytest.mark.parametrize("l1_ratios", [None, (0.0,)])
@pytest.mark.parametrize("legacy", [True, False])
def test_shapes_of_attributes_are_those_of_scikit_learn(l1_ratios, legacy):
    shared = {"Cs": [0.1, 1.0], "cv": 2, "use_legacy_attributes": legacy, "scoring": "accuracy"}
    for rows, labels in ((X, Y), (SEVERAL, CLASSES)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = LogisticRegressionCV(**shared, l1_ratios=l1_ratios).fit(rows, labels)
            theirs = grid_models.LogisticRegressionCV(**shared, l1_ratios=l1_ratios)
            theirs.fit(rows, labels)
        for name in ("C_", "Cs_", "l1_ratio_", "l1_ratios_", "coef_", "intercept_", "n_iter_"):
            assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name
        for name in ("scores_", "coefs_paths_"):
            found, expected = getattr(ours, name), getattr(theirs, name)
            if legacy:
                assert list(found) == list(expected)
                found, expected = list(found.values()), list(expected.values())
            assert np.shape(found) == np.shape(expected), name


def test_one_model_for_each_class():
    options = {"Cs": (0.1, 1.0), "cv": 2, "multi_class": "ovr", "scoring": "neg_log_loss"}
    model = LogisticRegressionCV(**options).fit(SEVERAL, CLASSES)
    single = grid_models.LogisticRegression(C=model.C_[0], solver="newton-cholesky", tol=1e-12)
    plain = OneVsRestClassifier(single).fit(SEVERAL, CLASSES)
    np.testing.assert_allclose(
        model.predict_proba(SEVERAL), plain.predict_proba(SEVERAL), atol=1e-8
    )
    assert model.predict(SEVERAL).tolist() == plain.predict(SEVERAL).tolist()
    sparse_model = LogisticRegressionCV(**options, l1_ratios=(1.0,)).fit(SEVERAL, CLASSES)
    assert sparse_model.coef_.shape == (3, 4) and (sparse_model.coef_ == 0.0).any()
    own = OneVsRestClassifier(LogisticRegressionCV(Cs=(0.1, 1.0), cv=2)).fit(SEVERAL, CLASSES)
    assert len({float(part.C_[0]) for part in own.estimators_}) > 1


def test_what_several_classes_cannot_have_is_refused():
    for options, message in (
        ({"scoring": "roc_auc"}, "is for two classes, and y has 3; use scoring='roc_auc_ovr'"),
        ({"l1_ratios": (1.0,)}, "multi_class='ovr'"),
        ({"multi_class": "auto"}, "multi_class must be one of"),
    ):
        with pytest.raises(ct.ParameterError, match=message):
            LogisticRegressionCV(Cs=(0.1, 1.0), **options).fit(SEVERAL, CLASSES)
    ordered = np.sort(CLASSES)
    with pytest.raises(ct.InputError, match="fold 1: y_val has the label .*stratified folds"):
        LogisticRegressionCV(Cs=(0.1, 1.0), cv=KFold(3)).fit(SEVERAL, ordered)


def test_the_optimum_is_found_where_every_loss_is_large():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    labels = (rows[:, 0] > 0.0).astype(int)
    # Without this point the others can be told apart, and it is far on the wrong side.
    rows[0], labels[0] = 5e3 * rows[0], 1 - labels[0]
    strengths = np.geomspace(1.0, 1e3, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        model = LogisticRegressionCV(Cs=strengths, scoring="neg_log_loss").fit(rows, labels)
    assert -min(model.scores_[1].min(axis=1)) > 32.0
    losses = []
    for C in [*strengths, model.C_[0]]:
        folds = []
        for train, test in StratifiedKFold(5).split(rows, labels):
            plain = grid_models.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
            margins = plain.fit(rows[train], labels[train]).decision_function(rows[test])
            folds.append(np.logaddexp(0.0, (1 - 2 * labels[test]) * margins).mean())
        losses.append(np.mean(folds))
    assert -model.upper_bound_ <= min(losses) * (1.0 + 1e-6)
    assert -model.best_score_ == pytest.approx(losses[-1], rel=1e-5)
