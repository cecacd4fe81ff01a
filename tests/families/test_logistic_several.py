"""Logistic regression of several classes: solutions, curves and scores against other programs."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale

import certune as ct
from certune.families.logistic.several.certain import all_of
from certune.families.logistic.several.classes import SeveralClasses
from certune.families.logistic.several.multinomial import MultinomialProblem, contrasts
from certune.families.logistic.training import TrainingData
from certune.testing import check_family

X, Y = load_iris(return_X_y=True)
X, Y = scale(X)[::2], Y[::2]
ORDER = np.random.default_rng(3).permutation(len(Y))
TRAIN, TEST = ORDER[:45], ORDER[45:]
WEIGHTS = np.random.default_rng(4).integers(1, 5, len(Y)) / 2.0
METRICS = ["log-loss", "brier", "accuracy", "balanced-accuracy", "roc-auc"]
SCHEMES = [("multinomial", "l2"), ("ovr", "l2"), ("ovr", "l1")]


def instance(weighted=False):
    weights = {}
    if weighted:
        weights = {"sample_weight": WEIGHTS[TRAIN], "sample_weight_val": WEIGHTS[TEST]}
    return ct.ClassificationInstance(X[TRAIN], Y[TRAIN], X[TEST], Y[TEST], **weights)


def peer(scheme, penalty, C, weights=None):
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    if penalty == "l1":
        model = LogisticRegression(
            C=C, solver="liblinear", l1_ratio=1.0, tol=1e-12, max_iter=100_000,
            intercept_scaling=1e5, random_state=0,
        )  # fmt: skip
    if scheme == "multinomial":
        return model.fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    return OneVsRestClassifier(model).fit(X[TRAIN], Y[TRAIN])


def score_of(metric, model, weights=None):
    chances, truth = model.predict_proba(X[TEST]), Y[TEST]
    if metric == "log-loss":
        return 32.0 - log_loss(truth, chances, sample_weight=weights)
    if metric == "brier":
        return 1.0 - brier_score_loss(truth, chances, sample_weight=weights, scale_by_half=True)
    if metric == "roc-auc":
        return roc_auc_score(truth, chances, multi_class="ovr", sample_weight=weights)
    score = accuracy_score if metric == "accuracy" else balanced_accuracy_score
    return score(truth, model.predict(X[TEST]), sample_weight=weights)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("scheme", "penalty"), SCHEMES)
def test_curves_are_the_scores_of_scikit_learn(scheme, penalty, metric):
    weighted = scheme == "multinomial"
    weights = (WEIGHTS[TRAIN], WEIGHTS[TEST]) if weighted else (None, None)
    family = ct.RegularizedLogistic(
        penalty, C=(0.02, 5.0), metric=metric, max_loss=32.0, multi_class=scheme
    )
    dual = family.dual(instance(weighted))
    for C in (0.0437, 0.36, 3.1):
        model = peer(scheme, penalty, C, weights[0])
        # liblinear has a small penalty on intercepts.
        tolerance = 1e-8 if penalty == "l2" else 2e-6
        expected = score_of(metric, model, weights[1])
        assert float(dual(C)) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("metric", ["log-loss", "accuracy"])
@pytest.mark.parametrize(("scheme", "penalty"), SCHEMES)
def test_runs_and_curves_agree_at_breakpoints(scheme, penalty, metric):
    family = ct.RegularizedLogistic(penalty, C=(0.1, 1.0), metric=metric, multi_class=scheme)
    check_family(family, [instance()], n_points=2)


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_distance_to_the_exact_solution_is_within_the_proved_bound(lam, weighted):
    rng = np.random.default_rng(1)
    rows = np.column_stack((rng.normal(size=(9, 2)), np.ones(9)))
    codes = np.arange(9) % 3
    weights = rng.integers(1, 4, 9) / 2.0 if weighted else np.ones(9)
    weights = weights / weights.mean()
    problem = MultinomialProblem(rows, codes, 3, np.array([2.0, 2.0, 0.0]), weights)
    node = problem.solve(lam, np.zeros(problem.size), 1e-14)
    exact = _exact_solution(rows, codes, weights, lam)
    found = problem.expanded(node.point).reshape(3, 3)
    distance = mpmath.mnorm(mpmath.matrix(found.tolist()) - exact, "f")
    # Rounding of the expansion to three classes is not part of the bound.
    assert distance <= node.radius + 8 * 2.0**-53 * np.linalg.norm(found)
    assert node.radius < 1e-9


def _exact_solution(rows, codes, weights, lam):
    """Newton's method with fifty digits; the intercepts sum to zero."""
    mpmath.mp.dps = 50
    n, q, classes = len(rows), rows.shape[1], 3
    size = q * classes
    point = mpmath.zeros(size, 1)
    for _ in range(200):
        gradient, hessian = mpmath.zeros(size, 1), mpmath.zeros(size, size)
        for row, code, weight in zip(rows, codes, weights, strict=True):
            x = [mpmath.mpf(float(entry)) for entry in row]
            powers = [
                mpmath.exp(sum(x[j] * point[k * q + j] for j in range(q))) for k in range(classes)
            ]
            chances = [power / sum(powers) for power in powers]
            share = mpmath.mpf(float(weight)) / n
            for k in range(classes):
                for j in range(q):
                    gradient[k * q + j] += share * (chances[k] - (k == code)) * x[j]
                    for other in range(classes):
                        bend = chances[k] * ((k == other) - chances[other])
                        for i in range(q):
                            hessian[k * q + j, other * q + i] += share * bend * x[j] * x[i]
        for k in range(classes):
            for j in range(q - 1):
                gradient[k * q + j] += 2 * mpmath.mpf(lam) * point[k * q + j]
                hessian[k * q + j, k * q + j] += 2 * mpmath.mpf(lam)
            # Any weight on the sum of the intercepts makes it zero and changes nothing else.
            for other in range(classes):
                hessian[k * q + q - 1, other * q + q - 1] += 1
        step = mpmath.lu_solve(hessian, gradient)
        length = max(abs(entry) for entry in step)
        point -= step * min(1, 1 / length)
        if length < mpmath.mpf(10) ** -40:
            return mpmath.matrix([[point[k * q + j] for j in range(q)] for k in range(classes)])
    raise AssertionError("Newton's method converges on a small problem")


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(30, 60))
    labels = np.arange(30) % 3
    family = ct.RegularizedLogistic(C=(0.01, 1.0), metric="log-loss")
    problem = ct.ClassificationInstance(wide[:24], labels[:24], wide[24:], labels[24:])
    model = family.solve(problem, 0.3)
    plain = LogisticRegression(C=0.3, solver="newton-cg", tol=1e-12, max_iter=1000)
    plain.fit(wide[:24], labels[:24])
    np.testing.assert_allclose(model.coef, plain.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept, plain.intercept_, atol=1e-8)
    assert model.radius < 1e-11
    assert family.dual(problem)(0.3) == pytest.approx(family.run(problem, 0.3), abs=1e-8)


def test_two_classes_are_the_binary_model_in_both_schemes():
    two = Y < 2
    binary = ct.ClassificationInstance(X[two][::2], Y[two][::2], X[two], Y[two])
    plain, other = (
        ct.RegularizedLogistic(C=(0.1, 1.0), multi_class=scheme).solve(binary, 0.5)
        for scheme in ("multinomial", "ovr")
    )
    np.testing.assert_array_equal(plain.coef, other.coef)
    assert plain.coef.shape == (4,)


def test_the_model_predicts_as_scikit_learn_does():
    for scheme, penalty in SCHEMES[:2]:
        family = ct.RegularizedLogistic(penalty, C=(0.1, 1.0), multi_class=scheme)
        model, theirs = family.solve(instance(), 0.7), peer(scheme, penalty, 0.7)
        np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
        np.testing.assert_allclose(
            model.decision_function(X), theirs.decision_function(X), atol=1e-8
        )


def test_an_optimum_of_several_classes_is_proved_and_verified():
    folds = ct.folds(X, Y, cv=2)
    assert folds[0].classes == (0, 1, 2)
    for metric in ("log-loss", "accuracy"):
        family = ct.RegularizedLogistic(C=(0.1, 10.0), metric=metric, max_loss=8.0)
        result = ct.tune(family, folds)
        assert result.status.name == "OPTIMAL"
        assert ct.verify(result.certificate, family, folds).optimal
        model = result.best_estimator.fit(X, Y)
        assert model.coef_.shape == (3, 4)
    ovr = ct.RegularizedLogistic(C=(0.1, 1.0), metric="accuracy", multi_class="ovr")
    assert isinstance(ct.tune(ovr, folds).best_estimator, OneVsRestClassifier)


def test_classes_without_features_are_ordered_by_their_weights():
    # With strong l1 penalties only intercepts are left; the larger class wins, the first at a tie.
    labels = np.array([0] * 9 + [1] * 9 + [2] * 12)
    rows = np.random.default_rng(2).normal(size=(30, 2))
    problem = ct.ClassificationInstance(rows, labels, rows, labels)
    family = ct.RegularizedLogistic("l1", C=(1e-4, 1e-3), metric="accuracy", multi_class="ovr")
    assert family.dual(problem).max_exact == family.run_exact(problem, 1e-4)
    assert family.run(problem, 5e-4) == 12 / 30
    tied = ct.ClassificationInstance(rows[:27], labels[:27], rows, labels)
    assert family.run(tied, 5e-4) == 9 / 30
    assert family.dual(tied)(5e-4) == 9 / 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l1"}, "3 classes.*multi_class='ovr'"),
        ({"metric": "roc-auc"}, "class does not occur in the validation data, as 2 in half"),
    ],
)
def test_what_is_not_defined_is_refused(options, message):
    few = TEST[Y[TEST] < 2]
    problem = ct.ClassificationInstance(X[TRAIN], Y[TRAIN], X[few], Y[few], name="half")
    with pytest.raises(ct.InputError, match=message):
        ct.tune(ct.RegularizedLogistic(C=(0.1, 1.0), **options), [problem])
    with pytest.raises(ct.ParameterError, match="multi_class must be one of"):
        ct.RegularizedLogistic(multi_class="many")
    with pytest.raises(ct.ParameterError, match="two classes, got 3"):
        ct.RegularizedLogistic(lam=(0.1, 1.0)).surrogate(problem, 0.01)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9))
def test_contrasts_are_an_orthonormal_basis(n_classes):
    basis = contrasts(n_classes)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_classes - 1), atol=1e-14)
    np.testing.assert_allclose(basis.sum(axis=0), 0.0, atol=1e-14)


@st.composite
def answers(draw):
    ends = sorted(draw(st.sets(st.integers(0, 20), min_size=0, max_size=6)))
    parts, last = [], None
    for start, stop in zip(ends[::2], ends[1::2], strict=False):
        last = draw(st.integers(0, 1))
        parts.append((float(start), float(stop), last))
    return parts


@settings(max_examples=100, deadline=None)
@given(st.lists(answers(), min_size=1, max_size=4))
def test_answers_that_are_right_together(lists):
    found = all_of(lists, 0.0, 20.0)
    for place in np.arange(0.5, 20.0, 1.0):
        single = [
            next((answer for start, stop, answer in parts if start < place < stop), None)
            for parts in lists
        ]
        expected = 0 if 0 in single else None if None in single else 1
        here = [answer for start, stop, answer in found if start < place < stop]
        assert here == ([] if expected is None else [expected])


def test_chances_of_one_versus_rest_are_those_of_the_models_over_their_sum():
    data = SeveralClasses(TrainingData(instance(), "l2", True, False), False)
    decisions = np.array([[1000.0, -3.0, -800.0], [-900.0, -800.0, -850.0]])
    chances = np.exp(data.log_chances(decisions))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert chances[1].argmax() == 1 and chances[0, 0] > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.log_chances(np.full((1, 3), -5000.0))


@pytest.mark.parametrize("scheme", ["multinomial", "ovr"])
def test_ties_behind_a_class_that_is_ahead_do_not_matter(scheme):
    """The first two classes have the same points, and so the same decisions at every lam."""
    rows = [[0.0], [0.0], [-2.0], [0.0], [-1.0], [0.0], [1.0], [1.0], [1.0], [2.0], [1.0]]
    labels = [0, 1, 2, 3, 2, 3, 2, 2, 0, 3, 1]
    instance = ct.ClassificationInstance(rows, labels, [[-2.0], [-1.0], [2.0], [0.3]], [0, 1, 2, 0])
    family = ct.RegularizedLogistic(lam=(1e-3, 3.0), metric="accuracy", multi_class=scheme)
    result = ct.tune(family, [instance])
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, family, [instance]).optimal
    for lam in (1e-3, 0.0129, 0.84, 3.0):
        assert result.landscape(lam) == family.run(instance, lam)


def test_a_tie_that_matters_is_named_with_what_can_be_done():
    mirrored = [[-2.0, 0.0], [-1.5, 0.0], [1.0, 1.0], [1.5, 2.0], [1.0, -1.0], [1.5, -2.0]]
    instance = ct.ClassificationInstance(mirrored, [0, 0, 1, 1, 2, 2], [[1.0, 0.0]], [1])
    family = ct.RegularizedLogistic(metric="accuracy")
    with pytest.raises(ct.UndecidedError, match="mirrored, the log-loss or the Brier score"):
        family.run(instance, 0.1)
