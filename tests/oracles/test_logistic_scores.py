"""Scores, weights and C of logistic regression, against scikit-learn's estimators and metrics."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import certune as ct
from certune.testing import check_family

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
X, Y = X[::3, :8], Y[::3]
RNG = np.random.default_rng(0)
W = RNG.uniform(0.2, 3.0, len(Y))

SCORES = {
    "log-loss": lambda y, p, w: metrics.log_loss(y, p, sample_weight=w),
    "brier": lambda y, p, w: metrics.brier_score_loss(y, p, sample_weight=w),
    "accuracy": lambda y, p, w: metrics.accuracy_score(y, p > 0.5, sample_weight=w),
    "balanced-accuracy": lambda y, p, w: metrics.balanced_accuracy_score(
        y, p > 0.5, sample_weight=w
    ),
    "roc-auc": lambda y, p, w: metrics.roc_auc_score(y, p, sample_weight=w),
}


def instance_of(weighted, train=slice(0, 120), test=slice(120, None)):
    weights = {}
    if weighted:
        weights = {"sample_weight": W[train], "sample_weight_val": W[test]}
    return ct.ClassificationInstance(X[train], Y[train], X[test], Y[test], **weights)


def reference(penalty, C):
    if penalty == "l2":
        return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=10_000)
    return LogisticRegression(C=C, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=200_000)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", sorted(SCORES))
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_every_score_is_that_of_scikit_learn(penalty, metric, weighted):
    instance = instance_of(weighted)
    family = ct.RegularizedLogistic(penalty, C=(1e-2, 10.0), metric=metric)
    curve = family.dual(instance)
    assert (curve.low, curve.high, curve.name) == (1e-2, 10.0, "C")
    train, test = slice(0, 120), slice(120, None)
    for C in (0.05, 0.4, 6.0):
        model = reference(penalty, C)
        model.fit(X[train], Y[train], sample_weight=W[train] if weighted else None)
        chances = model.predict_proba(X[test])[:, 1]
        expected = SCORES[metric](Y[test], chances, W[test] if weighted else None)
        assert family.score.of(curve(C)) == pytest.approx(expected, abs=1e-6)
        assert family.score.of(family.run(instance, C)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("metric", ["roc-auc", "balanced-accuracy", "brier"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_functions_agree_with_plain_runs_beside_every_breakpoint(penalty, metric):
    family = ct.RegularizedLogistic(penalty, C=(1e-2, 1.0), metric=metric)
    few, others = slice(0, 40), slice(60, 80)
    check_family(family, [instance_of(True, few, others), instance_of(False, few, others)])


@pytest.mark.parametrize("metric", ["log-loss", "accuracy"])
def test_a_common_C_shifts_the_curve_of_each_instance(metric):
    small, large = instance_of(False, slice(0, 90)), instance_of(False, slice(0, 120))
    by_C = ct.RegularizedLogistic("l1", C=(1e-2, 1.0), metric=metric)
    result = ct.tune(by_C, [small, large])
    best = result.best_params["C"]
    total = 0.0
    for instance in (small, large):
        lam = 1.0 / (len(instance.X) * best)
        by_lam = ct.RegularizedLogistic("l1", lam=(0.5 * lam, 2.0 * lam), metric=metric)
        total += by_lam.run(instance, lam)
        curve = by_lam.dual(instance)
        for C in np.geomspace(0.7 * best, min(1.4 * best, 1.0), 7):
            shifted = curve(1.0 / (len(instance.X) * C))
            assert by_C.dual(instance)(C) == pytest.approx(shifted, abs=1e-8)
    assert result.best_value == pytest.approx(total / 2, abs=1e-12)
    grid = np.geomspace(1e-2, 1.0, 50)
    runs = [np.mean([by_C.run(one, C) for one in (small, large)]) for C in grid[::5]]
    assert result.best_value >= max(runs) - 1e-9


def test_an_integer_weight_is_a_repeated_row():
    counts = RNG.integers(0, 4, 120)
    rows = np.repeat(np.arange(120), counts)
    repeated = ct.ClassificationInstance(X[rows], Y[rows], X[120:], Y[120:])
    weighted = ct.ClassificationInstance(X[:120], Y[:120], X[120:], Y[120:], sample_weight=counts)
    for penalty in ("l1", "l2"):
        family = ct.RegularizedLogistic(penalty, C=(1e-2, 10.0))
        places = np.geomspace(1e-2, 10.0, 23)
        one, other = family.dual(repeated)(places), family.dual(weighted)(places)
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_more_columns_than_rows_with_weights():
    wide = RNG.normal(size=(30, 60))
    labels = RNG.integers(0, 2, 30)
    weights = RNG.uniform(0.5, 2.0, 30)
    instance = ct.ClassificationInstance(
        wide[:20], labels[:20], wide[20:], labels[20:], sample_weight=weights[:20]
    )
    curve = ct.RegularizedLogistic("l2", C=(1e-3, 1.0)).dual(instance)
    for C in (2e-3, 0.1):
        model = reference("l2", C).fit(wide[:20], labels[:20], sample_weight=weights[:20])
        loss = metrics.log_loss(labels[20:], model.predict_proba(wide[20:]), labels=[0, 1])
        assert 2.0 - curve(C) == pytest.approx(loss, abs=1e-7)


def test_a_loss_is_shown_as_a_loss(tmp_path):
    family = ct.RegularizedLogistic("l2", C=(1e-3, 10.0))
    result = ct.tune(family, [instance_of(False)])
    loss = metrics.log_loss(
        Y[120:],
        reference("l2", result.best_params["C"]).fit(X[:120], Y[:120]).predict_proba(X[120:]),
    )
    assert result.best_score == pytest.approx(loss, abs=1e-7)
    assert result.score_bound <= result.best_score + 1e-12
    assert f"best log-loss {result.best_score!r}" in repr(result)
    text = str(result)
    assert f"{loss:.6g}"[:6] in text and "mean log-loss (lower is better)" in text
    assert "lower bound" in text and "utility" not in text
    assert result.to_frame()["tuned"].iloc[0] == pytest.approx(loss, abs=1e-7)
    assert "log-loss" in str(result.evaluation)
    figure = result.plot_landscape()
    axes = figure.axes[0]
    assert axes.get_ylabel().replace("\n", " ") == "mean log-loss (lower is better)"
    [line] = [line for line in axes.lines if line.get_label() == "exact mean log-loss"]
    assert min(line.get_ydata()) == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-1.0] + [1.0] * 119, "sample_weight has the value -1.0 in row 0"),
        ([np.nan] + [1.0] * 119, "in row 0"),
        ([1.0] * 5, "one number for each of 120 rows"),
        (np.zeros(120), "is 0 for all rows"),
        (["a"] * 120, "sample_weight must be numbers"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ct.InputError, match=message):
        ct.ClassificationInstance(X[:120], Y[:120], X[120:], Y[120:], sample_weight=weights)


def test_the_area_needs_both_classes():
    only = np.flatnonzero(Y[120:] == 1) + 120
    instance = ct.ClassificationInstance(X[:120], Y[:120], X[only], Y[only], name="fold 3")
    family = ct.RegularizedLogistic(metric="roc-auc")
    with pytest.raises(ct.InputError, match="one class only, as in fold 3"):
        ct.tune(family, [instance])


def test_points_without_weight_take_no_part_in_the_area():
    """One of them has the decision value of another point, up to rounding."""
    train, test = slice(0, 120), slice(120, None)
    nearly = X[120] * (1.0 + 2.0**-52)
    family = ct.RegularizedLogistic(metric="roc-auc", C=(1e-2, 10.0))
    instance = ct.ClassificationInstance(
        X[train], Y[train], np.vstack((X[test], nearly)), np.append(Y[test], 1 - Y[120]),
        sample_weight_val=np.append(W[test], 0.0),
    )  # fmt: skip
    without = ct.ClassificationInstance(
        X[train], Y[train], X[test], Y[test], sample_weight_val=W[test]
    )
    assert family.run(instance, 1.0) == family.run(without, 1.0)
    assert family.dual(instance) == family.dual(without)


def test_lam_and_C_exclude_each_other():
    with pytest.raises(ct.ParameterError, match="lam or of C, not both"):
        ct.RegularizedLogistic(lam=(0.1, 1.0), C=(0.1, 1.0))
    family = ct.RegularizedLogistic(C=(0.1, 1.0))
    with pytest.raises(ct.ParameterError, match="tuned over C"):
        family.lam  # noqa: B018
    with pytest.raises(ct.ParameterError, match="exactly 'C'"):
        family.run(instance_of(False), {"lam": 0.1})
