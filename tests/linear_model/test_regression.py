"""RidgeCV, LassoCV and ElasticNetCV as drop-ins for scikit-learn's, and their proofs."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as grid_models
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import certune as ct
from certune.errors import RangeWarning
from certune.linear_model import ElasticNetCV, LassoCV, RidgeCV

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:150], Y[:150]
W = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))

# Ranges of examples are short; the tests of this warning ask for it.
pytestmark = pytest.mark.filterwarnings("ignore::certune.errors.RangeWarning")


# Weights do not enter the score of folds, in scikit-learn's RidgeCV as here.
@parametrize_with_checks(
    [RidgeCV(), LassoCV(cv=3), ElasticNetCV(cv=3, l1_ratio=0.7)],
)
def test_scikit_learn_conventions(estimator, check):
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
        (LassoCV(positive="yes"), "positive must be True or False"),
        (LassoCV(eps=2.0), "eps must be greater than 0 and at most 1"),
        (LassoCV(selection="worst"), "selection must be one of"),
        (LassoCV(alphas=[1.0, -1.0]), r"alphas\[1\] == -1.0, must be >= 0.0"),
        (LassoCV(alphas=[0.0]), "alphas must have a value above 0"),
        (LassoCV(alphas=[1.0, "2"]), r"alphas\[1\] must be an instance of float, not str"),
        (ElasticNetCV(l1_ratio=0.0), "not supported for l1_ratio=0"),
        (ElasticNetCV(l1_ratio=0.0, alphas=[0.1, 1.0], positive=True), "ridge regression"),
        (ElasticNetCV(l1_ratio="much"), "l1_ratio must lie between"),
        (RidgeCV(alphas=[0.0, 1.0]), r"alphas\[0\] == 0.0, must be > 0.0"),
        (RidgeCV(cv=3, alpha_per_target=True), "alpha_per_target=True are incompatible"),
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
        LassoCV().fit(X, np.column_stack((Y, Y)))
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_coefficients_that_must_not_be_negative(ratio, weighted):
    weights = W[:60] if weighted else None
    rows, targets = X[:60, :6], Y[:60]
    options = {"alphas": 12, "cv": 3, "l1_ratio": ratio, "positive": True, "eps": 1e-2}
    ours = ElasticNetCV(**options).fit(rows, targets, sample_weight=weights)
    theirs = grid_models.ElasticNetCV(**options, tol=1e-10, max_iter=100_000)
    theirs.fit(rows, targets, sample_weight=weights)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert -ours.best_score_ <= theirs.mse_path_.mean(axis=-1).min() * (1 + 1e-9)
    free = ElasticNetCV(**{**options, "positive": False}).fit(rows, targets, weights)
    assert free.coef_.min() < 0.0 <= ours.coef_.min()
    assert 0.0 <= ours.dual_gap_ <= 1e-6
    certificate = ours.certificate_
    assert ct.verify(certificate, ours.result_.family, ours.result_.instances).optimal
    assert ours.result_.family.fingerprint != free.result_.family.fingerprint
    assert ours.result_.best_estimator.positive


def test_a_range_of_ratios_with_coefficients_that_must_not_be_negative():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(40, 3))
    targets = rows @ [1.0, -1.0, 0.3] + rng.normal(size=40)
    options = {"cv": 2, "positive": True}
    model = ElasticNetCV(l1_ratio=(0.5, 1.0), tol=1e-2, **options).fit(rows, targets)
    grid = grid_models.ElasticNetCV(l1_ratio=[0.5, 0.7, 0.9, 1.0], tol=1e-9, **options)
    grid.fit(rows, targets)
    assert -model.upper_bound_ <= grid.mse_path_.mean(axis=-1).min() * (1 + 1e-9)
    assert model.coef_.min() >= 0.0


@pytest.mark.parametrize(
    "estimator",
    [
        RidgeCV(alphas=2.0),
        RidgeCV(alphas=[2.0], cv=3),
        LassoCV(alphas=[2.0], cv=3),
        ElasticNetCV(alphas=[2.0], cv=3, l1_ratio=0.5),
        ElasticNetCV(alphas=[2.0], cv=3, l1_ratio=0.0),
    ],
)
def test_a_single_alpha_is_taken_as_it_is(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(estimator).fit(X, Y)
    name = type(estimator).__name__
    options = {**estimator.get_params(), "alphas": [2.0]}
    del options["selection"]
    grid = getattr(grid_models, name)(**options).fit(X, Y)
    assert model.alpha_ == 2.0
    np.testing.assert_allclose(model.coef_, grid.coef_, rtol=1e-4)
    expected = grid.best_score_ if name == "RidgeCV" else -grid.mse_path_.mean()
    assert model.best_score_ == pytest.approx(expected, rel=1e-6)
    assert model.result_.status is ct.Status.OPTIMAL


@pytest.mark.parametrize("cv", [None, 3])
def test_ridge_with_several_targets_tunes_their_mean(cv):
    targets = np.column_stack((Y, np.roll(Y, 1), X[:, 0] * 100.0))
    alphas = np.geomspace(1e-3, 10.0, 30)
    ours = RidgeCV(alphas, cv=cv).fit(X, targets)
    theirs = grid_models.RidgeCV(alphas, cv=cv).fit(X, targets)
    assert ours.best_score_ >= theirs.best_score_ - 1e-9
    plain = grid_models.Ridge(alpha=ours.alpha_).fit(X, targets)
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.intercept_, plain.intercept_, rtol=1e-9)
    assert ours.predict(X).shape == targets.shape


def test_each_target_can_have_its_own_alpha():
    targets = np.column_stack((Y, X[:, 0] + X[:, 3]))
    alphas = [1e-3, 1.0]
    together = RidgeCV(alphas, alpha_per_target=True).fit(X, targets)
    alone = [RidgeCV(alphas).fit(X, target) for target in targets.T]
    assert together.alpha_.tolist() == [model.alpha_ for model in alone]
    np.testing.assert_array_equal(together.best_score_, [model.best_score_ for model in alone])
    np.testing.assert_array_equal(together.coef_, [model.coef_ for model in alone])
    assert len(together.results_) == 2 and not hasattr(together, "result_")
    assert isinstance(together.fit(X, Y).best_score_, float) and not hasattr(together, "results_")


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_stored_results_are_those_of_scikit_learn(scoring):
    targets = np.column_stack((Y, np.roll(Y, 1)))
    options = {"alphas": [0.01, 1.0], "scoring": scoring, "store_cv_results": True}
    for y in (Y, targets):
        ours = RidgeCV(**options).fit(X, y, sample_weight=W)
        theirs = grid_models.RidgeCV(**options).fit(X, y, sample_weight=W)
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)


def test_data_with_little_noise_are_tuned_as_closely():
    """The least error is far below the variance; leave-one-out is done in two ways."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(14, 10))
    targets = rows @ rng.uniform(50.0, 100.0, 10) + 10.0 * rng.normal(size=14)
    closed = RidgeCV((1e-6, 10.0)).fit(rows, targets)
    scoring = "neg_mean_squared_error"
    folds = RidgeCV((1e-6, 10.0), cv=LeaveOneOut(), scoring=scoring).fit(rows, targets)
    assert closed.alpha_ == pytest.approx(folds.alpha_, rel=1e-4) and closed.alpha_ > 1e-3
    assert closed.result_.status is folds.result_.status is ct.Status.OPTIMAL
    assert closed.gap_ <= 1e-7 * -closed.best_score_
    net = ElasticNetCV(l1_ratio=0.5, alphas=(1e-3, 1.0), cv=3).fit(rows, targets)
    assert net.gap_ <= 1e-6 * -net.best_score_


@pytest.mark.parametrize("ratio", [(0.9, 0.5), (0.0, 0.5), (0.5, 1.5)])
def test_bad_ranges_of_ratios_are_refused(ratio):
    with pytest.raises(ct.ParameterError, match="l1_ratio must (be|lie)"):
        ElasticNetCV(l1_ratio=ratio).fit(X[:50], Y[:50])


def test_leave_one_out_lasso_is_that_of_bbai():
    """The numbers are those of bbai 1.16, Lasso(loo_mode="lambda"), whose lambda is 39 alpha."""
    model = LassoCV(cv=LeaveOneOut(), alphas=(0.2, 2.0)).fit(X[:40], Y[:40])
    assert model.alpha_ == pytest.approx(0.6405262762506292, rel=1e-6)
    assert -model.best_score_ == pytest.approx(3477.8848384748576, rel=1e-12)


@pytest.mark.parametrize("shape", [(12, 12), (8, 12), (12, 5)])
def test_an_alpha_next_to_zero_gives_least_squares(shape):
    """Centred square data have a direction without variance, which normal equations lose."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=shape)
    targets = 10.0 * rng.normal(size=shape[0])
    plain = grid_models.LinearRegression().fit(rows, targets)
    family = ct.RegularizedRegression("l2", metric="r2")
    model = family.solve(ct.RegressionInstance(rows, targets), {"alpha": 1e-16})
    np.testing.assert_allclose(model.coef, plain.coef_, atol=1e-9)


def test_warnings_point_at_the_line_of_the_user():
    pipeline = make_pipeline(StandardScaler(), LassoCV(alphas=(10.0, 20.0), cv=2))
    with pytest.warns(RangeWarning) as caught:
        pipeline.fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]


def _left_out(rows, targets, weights, alpha, intercept):
    """Error of leaving out each row in turn, each with a decomposition of the others."""
    errors = []
    for i in range(len(rows)):
        kept = np.arange(len(rows)) != i
        shares = weights[kept] / weights[kept].sum() * intercept
        centre, level = shares @ rows[kept], shares @ targets[kept]
        roots = np.sqrt(weights[kept])
        scaled = roots[:, None] * (rows[kept] - centre)
        left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
        found = sizes > 1e-12 * sizes[0]
        along = left.T[found] @ (roots * (targets[kept] - level))
        coefficients = right[found].T @ (sizes[found] * along / (sizes[found] ** 2 + alpha))
        errors.append((targets[i] - level - (rows[i] - centre) @ coefficients) ** 2)
    return np.average(errors, weights=weights)


@pytest.mark.parametrize("n_features", [11, 12, 30])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_leaving_out_rows_is_known_where_more_columns_than_rows_meet_every_target(
    n_features, intercept, weighted
):
    rng = np.random.default_rng(n_features)
    rows = rng.normal(size=(11, n_features))
    targets = rows[:, 0] + rng.normal(size=11) + 3.0
    weights = rng.uniform(0.2, 1.2, 11) if weighted else np.ones(11)
    for alphas in ((1e-16,), (1e-16, 1e3)):
        model = RidgeCV(alphas=alphas, fit_intercept=intercept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RangeWarning)
            model.fit(rows, targets, sample_weight=weights)
        assert model.gap_ <= 1e-8 * -model.best_score_
        least = _left_out(rows, targets, weights, model.alpha_, intercept)
        assert -model.best_score_ == pytest.approx(least, rel=1e-8)
        for alpha in np.geomspace(alphas[0], alphas[-1], 9):
            error = _left_out(rows, targets, weights, alpha, intercept)
            assert -error <= model.upper_bound_ + 1e-12 * error


@pytest.mark.parametrize(
    "name", ["ridge, folds", "ridge, r2", "ridge, left out", "lasso", "net", "net, range"]
)
def test_the_optimum_is_found_where_every_error_is_large(name):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    # Without an intercept no model comes near these targets.
    targets = 1000.0 + rows[:, 0] + 0.1 * rng.normal(size=60)
    kind = {
        "ridge, folds": {"cv": 5, "scoring": "neg_mean_squared_error"},
        "ridge, r2": {"cv": 5},
        "net": {"l1_ratio": [0.1, 0.5]},
        "net, range": {"l1_ratio": (0.4, 0.5)},
    }.get(name, {})
    kind["fit_intercept"] = False
    prefix = name.split(",")[0]
    if prefix == "ridge":
        kind["alphas"] = np.geomspace(1e-3, 1e3, 30)
    estimator = {"ridge": RidgeCV, "lasso": LassoCV, "net": ElasticNetCV}[prefix]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)
        ours = estimator(**kind).fit(rows, targets)
    peer = getattr(grid_models, estimator.__name__)(**kind).fit(rows, targets)
    theirs = peer.best_score_ if prefix == "ridge" else -peer.mse_path_.mean(axis=-1).min()
    assert theirs <= ours.upper_bound_ + 1e-9 * abs(theirs)
    assert ours.best_score_ >= theirs - max(ours.gap_, 1e-9 * abs(theirs))
    assert ours.gap_ <= 2e-4 * abs(theirs)


@pytest.mark.parametrize(("scale", "unit"), [(1e8, 1.0), (1.0, 1e10), (1e-8, 1e-8), (1e20, 1e20)])
def test_the_lasso_does_not_depend_on_units(scale, unit):
    plain, other = LassoCV(cv=3).fit(X, Y), LassoCV(cv=3).fit(scale * X, unit * Y)
    assert other.result_.status.name == "OPTIMAL"
    assert other.alpha_ == pytest.approx(scale * unit * plain.alpha_, rel=1e-6)
    assert other.best_score_ == pytest.approx(unit**2 * plain.best_score_, rel=1e-8)


@pytest.mark.parametrize("estimator", [LassoCV, ElasticNetCV])
def test_zero_in_a_grid_has_a_place_in_the_curves(estimator):
    model = estimator(cv=3, alphas=[0.0, 0.1, 1.0]).fit(X, Y)
    assert model.mse_path_.shape == (3, 3) and np.isfinite(model.mse_path_).all()
    theirs = grid_models.LinearRegression()
    errors = [
        np.mean((Y[test] - theirs.fit(X[train], Y[train]).predict(X[test])) ** 2)
        for train, test in KFold(3).split(X)
    ]
    assert model.alphas_[-1] == 0.0
    np.testing.assert_allclose(model.mse_path_[-1], errors, rtol=1e-6)


@pytest.mark.parametrize("estimator", [RidgeCV, LassoCV, ElasticNetCV])
def test_a_warning_about_the_range_points_at_the_program(estimator):
    with pytest.warns(RangeWarning) as told:
        estimator(alphas=(1e-9, 1e-8), cv=3).fit(X, Y)
    assert told[0].filename == __file__


def _more_columns_than_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 300))
    return rows, rows[:, :5].sum(axis=1) + rng.normal(size=40)


@pytest.mark.parametrize(("ratio", "alphas"), [(0.5, (2e-8, 10.0)), (1.0, 100)])
def test_the_optimum_is_proved_where_columns_outnumber_rows(ratio, alphas):
    model = ElasticNetCV(l1_ratio=ratio, alphas=alphas).fit(*_more_columns_than_rows())
    assert model.result_.status is ct.Status.OPTIMAL


def test_what_is_not_proved_is_told_with_a_range_that_is():
    data = _more_columns_than_rows()
    with pytest.warns(ct.UndecidedWarning, match="up to a gap of") as caught:
        wide = ElasticNetCV(alphas=(1e-9, 1e2)).fit(*data)
    low = float(re.search(r"proof for alphas=\((\S+), 100\)", str(caught[0].message))[1])
    assert 1e-9 < low < 1e-7
    model = ElasticNetCV(alphas=(low, 1e2)).fit(*data)
    assert model.result_.status is ct.Status.OPTIMAL
    assert model.alpha_ == pytest.approx(wide.alpha_, rel=1e-9)
