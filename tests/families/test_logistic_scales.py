"""Logistic regression on columns of any scale, next to events, and where margins vanish."""

import warnings

import numpy as np
import pytest

import certune as ct
from certune.families.logistic import inverse_strength
from certune.families.logistic.smooth import SmoothProblem

PENALTIES = ("l1", "l2")


def draw(seed, m=24, p=3, n_validation=10):
    """Draw an instance whose numbers are multiples of 2**-16, so that shifts are exact."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(m + n_validation, p)) * 2**16) / 2**16
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    y[:2] = 0, 1
    return X, y, m


def instance(X, y, m):
    return ct.ClassificationInstance(X[:m], y[:m], X[m:], y[m:])


def largest_difference(first, second, factor=1.0):
    """Compare two curves of which the second has lam multiplied by a factor."""
    points = np.geomspace(first.low, first.high, 60)[1:-1]
    return float(np.abs(first(points) - second(points * factor)).max())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("exponent", [-40, -27, 27, 40])
def test_scaling_all_columns_scales_lam(penalty, exponent):
    """With b / s for columns s x the losses agree, and the penalty has the factor 1/s or 1/s^2."""
    X, y, m = draw(1)
    scale = 2.0**exponent
    factor = scale if penalty == "l1" else scale**2
    low, high = 1e-3, 1.0
    for intercept in (True, False):
        plain = ct.RegularizedLogistic(penalty, (low, high), fit_intercept=intercept)
        other = ct.RegularizedLogistic(
            penalty, (low * factor, high * factor), fit_intercept=intercept
        )
        first, second = plain.dual(instance(X, y, m)), other.dual(instance(X * scale, y, m))
        assert largest_difference(first, second, factor) < 1e-9
        assert second.error < 1e-8
        run = other.run(instance(X * scale, y, m), 0.01 * factor)
        assert run == pytest.approx(first(0.01), abs=1e-10)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("shift", [2.0**11, 2.0**20, 2.0**30])
def test_an_intercept_makes_up_for_shifts(penalty, shift):
    X, y, m = draw(2)
    family = ct.RegularizedLogistic(penalty, (1e-3, 1.0))
    shifted = X + shift * np.array([1.0, -1.0, 0.0])
    first, second = family.dual(instance(X, y, m)), family.dual(instance(shifted, y, m))
    assert largest_difference(first, second) < 1e-9
    model = family.solve(instance(shifted, y, m), 0.01)
    expected = family.solve(instance(X, y, m), 0.01).predict_proba(X[m:])
    np.testing.assert_allclose(model.predict_proba(shifted[m:]), expected, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_mixed_scales_are_tuned_to_a_proved_optimum(penalty):
    X, y, m = draw(3)
    mixed = instance(X * np.array([2.0**27, 1.0, 2.0**-27]), y, m)
    result = ct.tune(ct.RegularizedLogistic(penalty), [mixed], progress=False)
    assert result.status is ct.Status.OPTIMAL and result.gap <= 1e-8


@pytest.mark.parametrize("penalty", PENALTIES)
def test_raw_columns_of_breast_cancer_with_the_default_range(penalty):
    instances = ct.datasets.breast_cancer_classification(3)
    family = ct.RegularizedLogistic(penalty)
    result = ct.tune(family, instances, progress=False)
    assert result.status is ct.Status.OPTIMAL and result.gap <= 1e-8
    assert set(result.baselines) == {
        "weakest penalty", "middle penalty", "strongest penalty", "scikit-learn's default",
    }  # fmt: skip
    own = family.instance_baselines(instances[0])["scikit-learn's default"]
    assert family.strength(instances[0]).factor * own["lam"] == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = result.best_estimator.fit(instances[0].X, instances[0].y)
    expected = family.solve(instances[0], result.best_params).predict_proba(instances[0].X_val)
    found = model.predict_proba(instances[0].X_val)[:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-3 if penalty == "l1" else 1e-8)


def test_a_run_next_to_an_event_is_on_the_right_face():
    """Close to an event and with almost dependent columns the wrong face is far off."""
    rng = np.random.default_rng(167)
    m, p = int(rng.integers(6, 60)), int(rng.integers(2, 30))
    rng.integers(0, 5)
    X = np.cumsum(rng.normal(size=(m, p)), axis=1) * 0.05 + rng.normal(size=(m, 1))
    y = X @ rng.normal(size=p) / X.std() + rng.choice([0, 0.1, 3]) * rng.normal(size=m) > 0
    V = X[rng.integers(0, m, 8)] + 0.3 * X.std(axis=0) * rng.normal(size=(8, p))
    case = ct.ClassificationInstance(X, y.astype(int), V, rng.integers(0, 2, 8))
    event = 1.9212522761574014e-05
    span = event * (1 + 1e-6), event * (1 + 5e-6)
    family = ct.RegularizedLogistic("l1", lam=span, standardize=True, max_loss=1e3)
    dual = family.dual(case)
    for share in np.linspace(0.05, 0.95, 19):
        lam = float(span[0] + share * (span[1] - span[0]))
        assert family.run(case, lam) == pytest.approx(dual(lam), abs=1e-8)
    certificate = ct.tune(family, [case], progress=False).certificate
    assert ct.verify(certificate, family, [case]).optimal


def test_violations_that_errors_explain_are_mended_if_signs_allow():
    """A coefficient whose gradient exceeds lam by less than is known enters all the same."""
    rng = np.random.default_rng(240)
    m, p = int(rng.integers(6, 60)), int(rng.integers(2, 30))
    rng.integers(0, 5)
    X = np.cumsum(rng.normal(size=(m, p)), axis=1) * 0.02 + rng.normal(size=(m, 1))
    y = X @ rng.normal(size=p) / X.std() + rng.choice([0, 0.1, 3]) * rng.normal(size=m) > 0
    case = ct.ClassificationInstance(X, y, X[rng.integers(0, m, 8)], rng.integers(0, 2, 8) > 0)
    lam = 2.7703675580551732e-06
    family = ct.RegularizedLogistic("l1", (lam / 2, 2 * lam), standardize=True, max_loss=1e3)
    assert family.run(case, lam) == pytest.approx(family.dual(case)(lam), abs=1e-11)


def test_factors_are_judged_whatever_the_scales():
    """Almost dependent columns spoil a factor of the Hessian, columns of other scales do not."""
    X, _, _ = draw(9, m=40, p=3)
    weights = np.full(len(X), 0.25)

    def is_accurate(design):
        problem = SmoothProblem(design, np.zeros(3), np.zeros(3))
        factor = problem.factorise(1.0, np.zeros(3), weights)
        return factor is not None and factor.is_accurate

    dependent = np.column_stack((X[:, :2], X[:, 0] + 1e-7 * X[:, 2]))
    assert is_accurate(X) and is_accurate(X * np.array([1e9, 1.0, 1e-9]))
    assert not is_accurate(dependent)


def test_columns_that_are_constant_up_to_rounding():
    """As in scikit-learn's StandardScaler they carry no information."""
    X, y, m = draw(4)
    noise = np.where(np.arange(len(X)) % 2, 0.3, 0.1 + 0.2)
    assert len(np.unique(noise)) == 2
    family = ct.RegularizedLogistic("l2", standardize=True)
    model = family.solve(instance(np.column_stack((X, noise)), y, m), 1e-3)
    plain = family.solve(instance(X, y, m), 1e-3)
    assert model.constant_columns == (3,) and model.coef[3] == 0.0
    np.testing.assert_allclose(model.coef[:3], plain.coef, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_accuracy_where_all_margins_vanish_together(fit_intercept, seed):
    """From some lam on all coefficients are zero; just below the signs are known all the same."""
    rng = np.random.default_rng(seed)
    y = np.arange(20) % 2
    X, V = rng.normal(size=(20, 2)) + y[:, None] / 2, rng.normal(size=(9, 2))
    case = ct.ClassificationInstance(X, y, V, (V[:, 0] > 0).astype(int))
    family = ct.RegularizedLogistic(
        "l1", lam=(1e-3, 1.0), metric="accuracy", fit_intercept=fit_intercept
    )
    result = ct.tune(family, [case], progress=False)
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, family, [case]).optimal
    [dual] = result.duals
    top = dual.breakpoints[-1]
    for t in (top[0], top[0] * (1 - 1e-9), top[0] * (1 - 1e-6), top[1], top[1] * (1 + 1e-9)):
        assert dual.value_at(float(t)) == family.run_exact(case, float(t))


def test_rows_that_are_zero_where_coefficients_are_not():
    """Such a margin is exactly zero and counts for the first class."""
    X, y, m = draw(5, p=2)
    case = ct.ClassificationInstance(X[:m], y[:m], [[0.0, 1.0], [1.0, 0.0]], [1, 1])
    sparse = ct.RegularizedLogistic("l1", (1e-3, 1.0), "accuracy", fit_intercept=False)
    assert sparse.dual(case).undecided.size == 0
    empty = np.column_stack((X[:m, 0], np.zeros(m)))
    case = ct.ClassificationInstance(empty, y[:m], [[0.0, 1.0], [1.0, 0.0]], [0, 1])
    dual = ct.RegularizedLogistic("l2", (1e-3, 1.0), "accuracy", fit_intercept=False).dual(case)
    assert dual.n_pieces == 1 and dual.max() == 1.0


def test_values_outside_of_a_fitted_path_are_refused():
    X, y, m = draw(6)
    model = ct.RegularizedLogisticPath(lam_range=(1e-2, 1.0)).fit(X[:m], y[:m])
    with pytest.raises(ct.ParameterError, match=r"range \[0.01, 1.0\] of the path, got 100.0"):
        model.set_params(lam_range=(1e-9, 1e3)).coefficients_at(100.0)
    family = ct.RegularizedLogistic(lam=(0.1, 1.0))
    with pytest.raises(ct.ParameterError, match="of the surrogate, got 5.0"):
        family.surrogate(instance(X, y, m), 0.1).at(5.0)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("metric", ["log-loss", "accuracy"])
def test_ranges_of_a_few_floats(penalty, metric):
    X, y, m = draw(7)
    case = instance(X, y, m)
    family = ct.RegularizedLogistic(penalty, (0.01, np.nextafter(0.01, 1)), metric)
    dual = family.dual(case)
    assert dual(0.01) == pytest.approx(family.run(case, 0.01), abs=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda case: ct.RegularizedLogistic(fit_intercept="no"), "must be True or False"),
        (lambda case: ct.RegularizedLogistic(penalty=np.array(["l1"])), "penalty must be one of"),
        (lambda case: ct.RegularizedLogistic(lam=(1.0, 1e200)), "at most 1e"),
        (lambda case: ct.RegularizedLogistic().run(case, 10**400), "positive finite number"),
        (lambda case: ct.RegularizedLogistic().run(case, 1e300), "at most 1e"),
        (lambda case: ct.RegularizedLogistic().surrogate(case, "a"), "epsilon must be positive"),
        (lambda case: inverse_strength(0.1, 10, "l3"), "penalty must be one of"),
        (lambda case: inverse_strength(0.0, 10, "l1"), "lam must be a positive"),
        (
            lambda case: ct.RegularizedLogistic(metric="accuracy").surrogate_dual(case, 0.1),
            "surrogates are for metric",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ct.ParameterError, match=message):
        make(instance(*draw(8)))


@pytest.mark.parametrize("X", [np.ones((4, 1)) * 1j, np.ma.masked_array(np.ones((4, 1)), True)])
def test_features_must_be_real_and_known(X):
    with pytest.raises(ct.InputError, match="X must be .*real"):
        ct.ClassificationInstance(X, [0, 1, 0, 1], np.ones((1, 1)), [0])


def test_tables_for_groups_are_checked():
    table, labels = np.ones((4, 1)), [0, 1, 0, 1]
    sample = ct.datasets.grouped_classification
    with pytest.raises(ct.InputError, match="sortable and not missing"):
        sample(table, labels, [None] * 4, 2, 1)
    with pytest.raises(ct.InputError, match="X must be a table"):
        sample(None, labels, [0] * 4, 2, 1)
    rare = (np.arange(40_000) == 7).astype(int)
    with pytest.raises(ct.InputError, match="so rare"):
        sample(np.ones((40_000, 1)), rare, np.zeros(40_000), 2, 2)
