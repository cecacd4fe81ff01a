"""RidgeCV, LassoCV and ElasticNetCV as drop-ins for scikit-learn's, and their proofs."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as grid_models
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold, LeaveOneOut
from sklearn.utils.estimator_checks import parametrize_with_checks

import certune as ct
from certune.errors import RangeWarning
from certune.linear_model import ElasticNetCV, LassoCV, RidgeCV

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:150], Y[:150]
W = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))


# Weights do not enter the score of folds, in scikit-learn's RidgeCV as here.
@parametrize_with_checks(
    [RidgeCV(), LassoCV(cv=3), ElasticNetCV(cv=3, l1_ratio=0.7)],
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        check(estimator)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV"])
def test_nets_show_the_curves_of_scikit_learn_and_are_no_worse(name, weighted):
    weights = W if weighted else None
    options = {"cv": 4} if name == "LassoCV" else {"cv": 4, "l1_ratio": [0.4, 0.9]}
    ours = {"LassoCV": LassoCV, "ElasticNetCV": ElasticNetCV}[name](alphas=20, **options)
    theirs = getattr(grid_models, name)(alphas=20, tol=1e-10, max_iter=100_000, **options)
    ours.fit(X, Y, sample_weight=weights)
    theirs.fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    best = theirs.mse_path_.mean(axis=-1).min()
    assert -ours.best_score_ <= best * (1 + 1e-9)
    assert ours.upper_bound_ - ours.best_score_ <= ours.gap_ + 1e-9
    assert ours.result_.status is ct.Status.OPTIMAL and ours.gap_ <= 1e-3
    assert ct.verify(ours.certificate_, ours.result_.family, ours.result_.instances).optimal
    plain = grid_models.ElasticNet(
        alpha=ours.alpha_, l1_ratio=getattr(ours, "l1_ratio_", 1.0), tol=1e-12, max_iter=1_000_000
    ).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), rtol=1e-6)
    assert 0.0 <= ours.dual_gap_ <= 1e-6


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_no_worse_than_any_grid(cv, weighted):
    weights = W if weighted else None
    grid = np.geomspace(1e-4, 10.0, 25)
    ours = RidgeCV(grid, cv=cv).fit(X, Y, sample_weight=weights)
    theirs = grid_models.RidgeCV(grid, cv=cv).fit(X, Y, sample_weight=weights)
    if not weighted:
        assert ours.best_score_ >= theirs.best_score_ - 1e-9 * abs(theirs.best_score_)
        assert ours.landscape_(theirs.alpha_) == pytest.approx(theirs.best_score_, rel=1e-9)
    plain = grid_models.Ridge(alpha=ours.alpha_).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-7)
    assert ours.intercept_ == pytest.approx(plain.intercept_)
    assert ct.verify(ours.certificate_, ours.result_.family, ours.result_.instances).optimal


def test_errors_of_single_points():
    grid = [0.01, 0.1, 1.0]
    ours = RidgeCV(grid, store_cv_results=True).fit(X, Y)
    theirs = grid_models.RidgeCV(grid, store_cv_results=True).fit(X, Y)
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-8)


def test_one_standard_error_prefers_fewer_coefficients():
    best = LassoCV().fit(X, Y)
    simple = LassoCV(selection="one-standard-error").fit(X, Y)
    assert simple.alpha_ > best.alpha_
    assert np.count_nonzero(simple.coef_) <= np.count_nonzero(best.coef_)
    errors = [dual(best.alpha_) for dual in best.result_.duals]
    level = best.best_score_ - np.std(errors, ddof=1) / np.sqrt(5)
    assert best.landscape_(simple.alpha_) == pytest.approx(level, rel=1e-6)
    assert LassoCV(selection="cyclic").fit(X, Y).alpha_ == best.alpha_


def test_sparse_frames_groups_and_pickles():
    plain = LassoCV().fit(X, Y)
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    assert clone(plain).fit(frame, Y).alpha_ == plain.alpha_
    few = sparse.csr_matrix(np.where(np.abs(X) < 0.03, 0.0, X))
    assert clone(plain).fit(few, Y).alpha_ == clone(plain).fit(few.toarray(), Y).alpha_
    groups = np.arange(len(Y)) % 5
    grouped = LassoCV(cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert len(grouped.result_.duals) == 3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain)).predict(X), plain.predict(X))


def test_an_optimum_at_the_end_of_the_range_is_told():
    with pytest.warns(RangeWarning, match="best alpha = 1 lies at the end"):
        RidgeCV(alphas=(1.0, 10.0)).fit(X, Y)
    noise = np.random.default_rng(1).normal(size=len(Y))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RangeWarning)
        assert not LassoCV().fit(X, noise).coef_.any()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LassoCV(positive=True), "positive=True"),
        (LassoCV(eps=2.0), "eps must lie"),
        (LassoCV(selection="worst"), "selection must be one of"),
        (LassoCV(alphas=[0.0, 1.0]), "alphas must be a range"),
        (ElasticNetCV(l1_ratio=0.0), "use RidgeCV for 0"),
        (ElasticNetCV(l1_ratio="much"), "l1_ratio must be greater"),
        (RidgeCV(scoring="neg_mean_absolute_error"), "scoring must be one of"),
        (RidgeCV(selection="one-standard-error"), "compares folds"),
        (RidgeCV(cv=3, store_cv_results=True), "incompatible"),
    ],
)
def test_bad_options_are_refused(estimator, message):
    with pytest.raises(ct.ParameterError, match=message):
        estimator.fit(X, Y)


def test_bad_data_are_refused():
    with pytest.raises(ct.InputError, match="one target for each row, got 2"):
        RidgeCV().fit(X, np.column_stack((Y, Y)))
    with pytest.raises(ValueError, match="Negative values"):
        LassoCV().fit(X, Y, sample_weight=-W)
    frame = pd.DataFrame(X, columns=list("abcdefghij")).assign(b="text")
    with pytest.raises(ct.InputError, match="column 'b' of X must be numbers, got 'text' in row 0"):
        LassoCV().fit(frame, Y)
    with pytest.raises(ct.InputError, match="R2 is not defined .* fold 1"):
        RidgeCV(cv=3).fit(X, np.where(np.arange(len(Y)) < 60, 1.0, Y))


@pytest.mark.slow
def test_a_range_of_ratios_is_no_worse_than_any_list():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    targets = rows @ [1.0, 0.5, 0.0] + rng.normal(size=60)
    model = ElasticNetCV(l1_ratio=(0.5, 1.0), cv=2, tol=1e-3).fit(rows, targets)
    listed = ElasticNetCV(l1_ratio=[0.5, 0.6, 0.8, 0.9, 1.0], cv=2).fit(rows, targets)
    grid = grid_models.ElasticNetCV(l1_ratio=[0.5, 0.7, 0.9], cv=2).fit(rows, targets)
    assert model.upper_bound_ >= listed.best_score_ - 1e-9
    assert model.best_score_ + model.gap_ == pytest.approx(model.upper_bound_)
    assert -model.upper_bound_ <= grid.mse_path_.mean(axis=-1).min()
    assert model.gap_ <= 1.001e-3 * np.var(targets) * 1.5
    assert 0.5 <= model.l1_ratio_ <= 1.0 and list(model.results_) == [model.l1_ratio_]
    assert model.search_ is not None and listed.search_ is None
    assert model.alphas_.shape == (100,) and model.mse_path_.shape == (100, 2)
    refitted = grid_models.ElasticNet(alpha=model.alpha_, l1_ratio=model.l1_ratio_, tol=1e-12)
    np.testing.assert_allclose(refitted.fit(rows, targets).coef_, model.coef_, atol=1e-6)
    report = ct.verify(model.certificate_, model.search_.family, model.search_.instances)
    assert not report.optimal or model.gap_ < 1e-6


def test_a_ratio_at_the_end_of_its_range_is_told():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    targets = rows @ [3.0, 0.0] + 0.1 * rng.normal(size=40)
    with pytest.warns(RangeWarning, match=r"best l1_ratio = 0.3 .* try the range \(0.2, 1.0\)"):
        ElasticNetCV(l1_ratio=(0.2, 0.3), cv=2, tol=0.1).fit(rows, targets)


@pytest.mark.parametrize("ratio", [(0.9, 0.5), (0.0, 0.5), (0.5, 1.5)])
def test_bad_ranges_of_ratios_are_refused(ratio):
    with pytest.raises(ct.ParameterError, match="l1_ratio must be"):
        ElasticNetCV(l1_ratio=ratio).fit(X[:50], Y[:50])


def test_leave_one_out_lasso_is_that_of_bbai():
    """The numbers are those of bbai 1.16, Lasso(loo_mode="lambda"), whose lambda is 39 alpha."""
    model = LassoCV(cv=LeaveOneOut(), alphas=(0.2, 2.0)).fit(X[:40], Y[:40])
    assert model.alpha_ == pytest.approx(0.6405262762506292, rel=1e-6)
    assert -model.best_score_ == pytest.approx(3477.8848384748576, rel=1e-12)
