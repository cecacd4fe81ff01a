"""Regularised logistic regression: what it refuses, and what it answers in odd cases."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.families.logistic import inverse_strength

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] + RNG.normal(size=40) > 0, "yes", "no")
GOOD = ct.ClassificationInstance(X[:30], Y[:30], X[30:], Y[30:], name="good")


# Instances


def test_labels_become_signs():
    assert GOOD.classes == ("no", "yes")
    np.testing.assert_array_equal(GOOD.y, np.where(Y[:30] == "yes", 1.0, -1.0))
    assert repr(GOOD) == (
        "ClassificationInstance('good', 30 + 10 points, 3 features, classes ('no', 'yes'))"
    )


def test_arrays_are_copied_and_read_only():
    values = X[:30].copy()
    instance = ct.ClassificationInstance(values, Y[:30], X[30:], Y[30:])
    values[0, 0] = 99.0
    assert instance.X[0, 0] != 99.0
    with pytest.raises(ValueError, match="read-only"):
        instance.X[0, 0] = 1.0
    assert instance.fingerprint == GOOD.fingerprint


def test_fingerprint_sees_every_part():
    other = X[30:].copy()
    other[0, 0] += 1e-9
    changed = [
        ct.ClassificationInstance(X[:30], Y[:30], other, Y[30:]),
        ct.ClassificationInstance(X[:30], np.roll(Y[:30], 1), X[30:], Y[30:]),
        ct.ClassificationInstance(X[:30], Y[:30], X[30:], np.roll(Y[30:], 1)),
    ]
    assert len({GOOD.fingerprint, *(item.fingerprint for item in changed)}) == 4


NAN = X[:30].copy()
NAN[4, 1] = np.nan


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((NAN, Y[:30], X[30:], Y[30:]), "X has the value nan in row 4, column 1"),
        ((X[:30], Y[:30], NAN[:10], Y[30:]), "X_val has the value nan"),
        ((X[:30], ["yes"] * 30, X[30:], Y[30:]), "at least two classes, got only 'yes'"),
        ((X[:30], np.arange(30) + 0.5, X[30:], Y[30:]), "numbers with fractions such as 0.5"),
        ((X[:30], Y[:30], X[30:], ["other"] * 10), "y_val has the label .*other"),
        ((X[:30], Y[:29], X[30:], Y[30:]), "one label for each of 30 rows"),
        ((X[:30], Y[:30], X[30:, :2], Y[30:]), "same columns, got 3 and 2"),
        ((X[0], Y[:1], X[30:], Y[30:]), "X must be a table"),
        ((np.empty((0, 3)), [], X[30:], Y[30:]), "at least one row and column"),
        (([["a"]], [0], X[30:], Y[30:]), "X must be numbers"),
        ((1e200 * X[:30], Y[:30], X[30:], Y[30:]), "beyond 1e100"),
        ((X[:30], np.full(30, np.nan), X[30:], Y[30:]), "labels that are not finite"),
        ((X[:30], np.array([1, "a"] * 15, dtype=object), X[30:], Y[30:]), "sortable"),
    ],
)
def test_bad_data_are_refused(arguments, message):
    with pytest.raises(ct.InputError, match=message):
        ct.ClassificationInstance(*arguments)


def test_one_class_in_validation_is_fine():
    instance = ct.ClassificationInstance(X[:30], Y[:30], X[30:], ["yes"] * 10)
    for metric in ("log-loss", "accuracy"):
        result = ct.tune(ct.RegularizedLogistic(metric=metric), [instance])
        assert result.status is ct.Status.OPTIMAL


# The family


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "penalty must be one of"),
        ({"metric": "auc"}, "metric must be one of"),
        ({"lam": (1.0, 0.1)}, "low < high"),
        ({"lam": (0.0, 1.0)}, "low > 0"),
        ({"lam": 0.1}, "a range"),
        ({"lam": (1e-3, math.inf)}, "finite ends"),
        ({"max_loss": -1.0}, "max_loss must be a positive"),
        ({"tolerance": 0}, "tolerance must be a positive"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.RegularizedLogistic(**options)


@pytest.mark.parametrize("lam", [0.0, -1.0, math.nan, math.inf, "one", None, {"C": 1.0}, {}])
def test_bad_lam_is_refused(lam):
    with pytest.raises(ct.ParameterError, match="lam"):
        ct.RegularizedLogistic().run(GOOD, lam)


def test_other_instances_and_lines_are_refused():
    family = ct.RegularizedLogistic()
    with pytest.raises(ct.InputError, match="expected a ClassificationInstance, got list"):
        family.dual([1, 2])
    with pytest.raises(ct.ParameterError, match="lam must be the coordinate"):
        family.dual(GOOD, ct.Segment({"lam": 0.1}, {"lam": 0.2}))


def test_fingerprints_tell_families_apart():
    options = [
        {},
        {"penalty": "l1"},
        {"metric": "accuracy"},
        {"standardize": True},
        {"lam": (1, 2)},
    ]
    prints = {ct.RegularizedLogistic(**item).fingerprint for item in options}
    assert len(prints) == len(options)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_large_lam_leaves_the_intercept(penalty):
    family = ct.RegularizedLogistic(penalty, lam=(1.0, 1e9), max_loss=2.0)
    share = np.mean(GOOD.y > 0)
    expected = 2.0 + np.mean(np.log(np.where(GOOD.y_val > 0, share, 1 - share)))
    assert family.run(GOOD, 1e9) == pytest.approx(expected, abs=1e-8)
    assert family.dual(GOOD)(1e9) == pytest.approx(expected, abs=1e-8)


def test_without_intercept_a_large_lam_guesses():
    family = ct.RegularizedLogistic("l1", lam=(1e-3, 1e3), fit_intercept=False)
    assert family.dual(GOOD)(1e3) == pytest.approx(2.0 - math.log(2.0), abs=1e-12)
    accuracy = ct.RegularizedLogistic("l1", (1e-3, 1e3), "accuracy", fit_intercept=False)
    # A decision function of zero stands for the first class, as in scikit-learn.
    share = Fraction(int(np.count_nonzero(GOOD.y_val < 0)), len(GOOD.y_val))
    assert accuracy.run_exact(GOOD, 1e3) == accuracy.dual(GOOD).value_at(1e3) == share


def test_balanced_classes_have_an_exact_answer_above_the_largest_lam():
    y = np.array([0, 1] * 15)
    instance = ct.ClassificationInstance(X[:30], y, X[30:], [0, 1] * 5)
    family = ct.RegularizedLogistic("l1", lam=(1e-3, 1e3), metric="accuracy")
    assert family.dual(instance).value_at(500.0) == family.run_exact(instance, 500.0) == 0.5


def test_losses_beyond_the_largest_count_as_the_largest():
    y_val = np.where(Y[30:] == "yes", "no", "yes")
    instance = ct.ClassificationInstance(X[:30], Y[:30], 5 * X[30:], y_val)
    family = ct.RegularizedLogistic(lam=(1e-6, 10.0), max_loss=1.0)
    dual = family.dual(instance)
    assert dual(1e-6) == pytest.approx(0.0, abs=1e-9) == family.run(instance, 1e-6)
    assert dual(10.0) > 0.1 and -(-dual).upper_bound >= -1e-9


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_separable_data_and_a_tiny_lam(penalty):
    """Coefficients grow like -log(lam) without bound; curves keep their stated error."""
    points = np.concatenate((X[:30] + [6.0, 0.0, 0.0], X[:30] - [6.0, 0.0, 0.0]))
    labels = np.repeat([1, 0], 30)
    instance = ct.ClassificationInstance(points, labels, X[30:], Y[30:] == "yes")
    family = ct.RegularizedLogistic(penalty, lam=(1e-9, 1.0), max_loss=100.0)
    dual = family.dual(instance)
    assert dual.error < 1e-8
    assert abs(dual(1e-9) - family.run(instance, 1e-9)) < 1e-8
    assert np.abs(family.solve(instance, 1e-9).coef).max() > 1.0


def test_more_columns_than_rows():
    wide = RNG.normal(size=(30, 60))
    instance = ct.ClassificationInstance(wide[:20], [0, 1] * 10, wide[20:], [0, 1] * 5)
    for penalty in ("l1", "l2"):
        family = ct.RegularizedLogistic(penalty, lam=(1e-3, 1.0), max_loss=50.0)
        dual = family.dual(instance)
        for lam in (1e-3, 0.017, 1.0):
            assert abs(dual(lam) - family.run(instance, lam)) <= 1e-8


def test_duplicate_and_constant_columns_are_reported():
    columns = np.column_stack((X, X[:, 0], -X[:, 1], np.full(40, 3.0), np.zeros(40)))
    instance = ct.ClassificationInstance(columns[:30], Y[:30], columns[30:], Y[30:])
    for penalty in ("l1", "l2"):
        family = ct.RegularizedLogistic(penalty, lam=(1e-3, 1.0), max_loss=10.0)
        model = family.solve(instance, 0.01)
        assert model.duplicate_columns == {3: 0, 4: 1}
        assert model.constant_columns == (5, 6)
        assert abs(family.dual(instance)(0.01) - family.run(instance, 0.01)) <= 1e-8
        assert model.coef[6] == 0.0
    lasso = ct.RegularizedLogistic("l1", lam=(1e-3, 1.0), max_loss=10.0)
    # Without the copies the l1 solution has the same predictions.
    assert lasso.run(instance, 0.01) == pytest.approx(lasso.run(GOOD, 0.01), abs=1e-9)


def test_binary_features_with_many_ties():
    bits = np.array([[i >> k & 1 for k in range(4)] for i in range(16)] * 2, dtype=float)
    y = (bits.sum(axis=1) + np.arange(32) // 16 >= 3).astype(int)
    instance = ct.ClassificationInstance(bits, y, bits[:16], y[:16])
    family = ct.RegularizedLogistic("l1", lam=(1e-3, 1.0), max_loss=10.0)
    dual = family.dual(instance)
    for lam in np.geomspace(1e-3, 1.0, 7).tolist():
        lam = min(max(lam, 1e-3), 1.0)
        assert abs(dual(lam) - family.run(instance, lam)) <= 1e-8


def one_hot_instance(seed, n_levels=(2, 3, 4, 5), m=80):
    """Indicators of the levels of a few variables: with an intercept they are dependent."""
    rng = np.random.default_rng(seed)
    levels = [rng.integers(count, size=m) for count in n_levels]
    columns = [np.eye(count)[level] for count, level in zip(n_levels, levels, strict=True)]
    effect = sum(
        rng.normal(size=count)[level] for count, level in zip(n_levels, levels, strict=True)
    )
    y, table = (effect + rng.normal(size=m) > 0).astype(int), np.hstack(columns)
    return ct.ClassificationInstance(table[:60], y[:60], table[60:], y[60:])


@pytest.mark.parametrize("seed", range(8))
def test_indicator_columns(seed):
    """Gradients of dependent columns stay at lam; paths and single fits choose the same ones."""
    instance = one_hot_instance(seed)
    family = ct.RegularizedLogistic("l1", lam=(1e-3, 1.0), max_loss=10.0)
    dual = family.dual(instance)
    for lam in np.random.default_rng(seed).uniform(1e-3, 0.1, 5).tolist():
        assert abs(dual(lam) - family.run(instance, lam)) <= 1e-8
    assert family.solve(instance, 0.01).duplicate_columns == {1: 0}


def test_standardised_coefficients_are_for_the_given_columns():
    shifted = ct.ClassificationInstance(100 * X[:30] + 7, Y[:30], 100 * X[30:] + 7, Y[30:])
    family = ct.RegularizedLogistic(standardize=True)
    first, second = family.solve(GOOD, 0.01), family.solve(shifted, 0.01)
    np.testing.assert_allclose(100 * second.coef, first.coef, rtol=1e-9)
    np.testing.assert_allclose(
        second.predict_proba(shifted.X_val), first.predict_proba(GOOD.X_val), rtol=1e-9
    )
    assert family.run(GOOD, 0.01) == pytest.approx(family.run(shifted, 0.01), abs=1e-10)


def test_conversion_to_scikit_learn_and_back():
    # lam |b|^2 + mean = (sum + m lam |b|^2) / m, and scikit-learn has C sum + |b|^2 / 2.
    assert inverse_strength(0.01, 50, "l2") == pytest.approx(1.0)
    assert inverse_strength(0.01, 50, "l1") == pytest.approx(2.0)
    for penalty in ("l1", "l2"):
        c = inverse_strength(0.3, 17, penalty)
        assert inverse_strength(c, 17, penalty) == pytest.approx(0.3)


def test_the_path_has_the_coefficients():
    for penalty in ("l1", "l2"):
        family = ct.RegularizedLogistic(penalty, lam=(1e-3, 1.0))
        path, model = family.path(GOOD), family.solve(GOOD, 0.02)
        np.testing.assert_allclose(path.at(0.02)[:3], model.coef, atol=1e-7)
        assert path.n_steps > 0


@pytest.mark.parametrize("seed", [0, 5, 9])
@pytest.mark.parametrize("metric", ["accuracy", "balanced-accuracy", "roc-auc"])
def test_exact_ties_end_before_the_coefficient_that_breaks_them(seed, metric):
    """The lam of an event is known up to roundings; what is proved must not reach up to it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3))
    y = (X @ rng.normal(size=3) + 0.5 * rng.normal(size=14) > 0).astype(int)
    y[:2] = 0, 1
    X_val, y_val = rng.integers(-1, 2, (6, 3)).astype(float), rng.integers(0, 2, 6)
    y_val[:2] = 0, 1
    instance = ct.ClassificationInstance(X, y, X_val, y_val)
    family = ct.RegularizedLogistic(
        "l1", lam=(1e-3, 1.0), metric=metric, fit_intercept=metric == "roc-auc" and seed == 9
    )
    result = ct.tune(family, [instance])
    for start, stop in zip(result.landscape.starts, result.landscape.stops, strict=True):
        for lam in (float(start), float(stop)):
            assert family.run(instance, {"lam": lam}) == result.landscape(lam)
    assert ct.verify(result.certificate, family, [instance]).n_runs > 0


@pytest.mark.parametrize("metric", ["accuracy", "roc-auc"])
def test_a_coefficient_smaller_than_its_error_has_the_sign_of_its_face(metric):
    """Within a rounding of the largest lam points may tie, but their order is not turned round."""
    family = ct.RegularizedLogistic("l1", lam=(1e-3, 1.0), metric=metric, fit_intercept=False)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(14, 3))
        y = (X @ rng.normal(size=3) + 0.5 * rng.normal(size=14) > 0).astype(int)
        y[:2] = 0, 1
        X_val, y_val = rng.integers(-1, 2, (6, 3)).astype(float), rng.integers(0, 2, 6)
        y_val[:2] = 0, 1
        instance = ct.ClassificationInstance(X, y, X_val, y_val)
        largest = float(np.abs(X.T @ (y - 0.5)).max()) / 14
        possible = {family.run(instance, largest * factor) for factor in (1 - 1e-8, 1 + 1e-8)}
        for lam in (math.nextafter(largest, 0.0), largest, math.nextafter(largest, 1.0)):
            assert family.run(instance, lam) in possible


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_constant_columns_leave_the_intercept(penalty, multi_class):
    labels = np.repeat([0, 1], [21, 9])
    held_out = np.repeat([0, 1], [6, 4])
    instance = ct.ClassificationInstance(np.ones((30, 2)), labels, np.ones((10, 2)), held_out)
    family = ct.RegularizedLogistic(penalty, C=(0.01, 10.0), multi_class=multi_class)
    expected = -(6 * math.log(0.7) + 4 * math.log(0.3)) / 10
    assert ct.tune(family, [instance]).best_score == pytest.approx(expected, abs=1e-9)
    assert 2.0 - family.run(instance, 0.5) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_columns_of_zeros_without_an_intercept_leave_nothing(penalty):
    labels = np.repeat([0, 1], [21, 9])
    held_out = np.repeat([0, 1], [6, 4])
    instance = ct.ClassificationInstance(np.zeros((30, 2)), labels, np.zeros((10, 2)), held_out)
    family = ct.RegularizedLogistic(penalty, lam=(0.01, 10.0), fit_intercept=False)
    assert ct.tune(family, [instance]).best_score == pytest.approx(math.log(2), abs=1e-9)
