"""Tuning something else than the mean: exact, certified, and stated everywhere."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.aggregates import Criterion, Minimum
from certune.testing import StepFamily, StepInstance

FAMILY = StepFamily()
AGGREGATES = ["mean", "min", ct.Quantile(0.3), ct.CVaR(0.35)]
WEIGHTS = [1, 2, 1, 0.5, 4, 1, 1, 3]


def instance(number):
    rng = np.random.default_rng(number)
    places = tuple((np.sort(rng.choice(63, 5, replace=False) + 1) / 64).tolist())
    return StepInstance(
        places, tuple(Fraction(int(v), 8) for v in rng.integers(0, 9, 6)), f"number {number}"
    )


INSTANCES = [instance(number) for number in range(8)]


def brute_force(instances, criterion):
    """Best value over all places of steps and the middles between them, with plain runs."""
    places = sorted({0.0, 1.0, *(t for item in instances for t in item.thresholds)})
    points = [*places, *((a + b) / 2 for a, b in zip(places, places[1:], strict=False))]
    return max(
        criterion.value([FAMILY.run_exact(item, {"x": t}) for item in instances]) for t in points
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_optimum_is_that_of_brute_force(aggregate, weights):
    result = ct.tune(FAMILY, INSTANCES, aggregate=aggregate, weights=weights)
    criterion = Criterion.checked(aggregate, weights, 8)
    assert result.status is ct.Status.OPTIMAL
    assert result.best_value_exact == result.upper_bound_exact == brute_force(INSTANCES, criterion)
    assert result.criterion == criterion
    report = ct.verify(result.certificate, FAMILY, INSTANCES)
    assert report.optimal and criterion.words("utility") in str(report)
    words = criterion.words("utility")
    assert words in str(result) and words in str(result.evaluation)
    assert result.baselines["lowest"] == float(
        criterion.value([FAMILY.run_exact(item, {"x": 0.0}) for item in INSTANCES])
    )


@pytest.mark.parametrize("aggregate", AGGREGATES[1:])
def test_certificates_that_claim_another_aggregate_are_refused(aggregate, tmp_path):
    result = ct.tune(FAMILY, INSTANCES, aggregate=aggregate, weights=WEIGHTS)
    honest = result.certificate
    honest.save(tmp_path / "c.json")
    assert ct.Certificate.load(tmp_path / "c.json") == honest
    forged = [
        {"criterion": Criterion()},
        {"criterion": Criterion(ct.Quantile(0.9), honest.criterion.weights)},
        {"best_value": honest.best_value + Fraction(1, 1000)},
        {"upper_bound": honest.upper_bound - Fraction(1, 1000)},
        {"best_region": ((0.0, 1.0),)},
    ]
    for change in forged:
        with pytest.raises(ct.CertificateError, match="does not follow"):
            ct.verify(dataclasses.replace(honest, **change).sealed(), FAMILY, INSTANCES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"aggregate": ["median"]}, "no aggregate"),
        ({"aggregate": ["quantile", "2"]}, "above 0"),
        ({"aggregate": ["quantile", "0.30"]}, "usual form"),
        ({"weights": ["1"]}, "one positive number for each"),
        ({"weights": ["2"] * 8}, "usual form"),
        ({"weights": ["0"] + ["1"] * 7}, "positive numbers"),
        ({"weights": [1] * 8}, "short strings"),
        ({"aggregate": None}, "list"),
    ],
)
def test_hostile_criteria_are_refused(change, message, tmp_path):
    honest = ct.tune(FAMILY, INSTANCES, aggregate=ct.Quantile(0.3)).certificate
    content = {**honest._content(), "checksum": honest.checksum, **change}
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(ct.CertificateError, match=message):
        ct.Certificate.load(tmp_path / "c.json")


def test_certificates_of_the_mean_are_as_ever():
    content = ct.tune(FAMILY, INSTANCES, weights=[2] * 8).certificate._content()
    assert "aggregate" not in content and "weights" not in content


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_unfinished_instances_are_perfect_in_the_bound(aggregate):
    result = ct.tune(
        FAMILY, INSTANCES, aggregate=aggregate, weights=WEIGHTS,
        callbacks=[lambda state: state.n_finished == 5],
    )  # fmt: skip
    assert result.status is ct.Status.STOPPED and len(result.duals) == 5
    criterion = Criterion.checked(aggregate, WEIGHTS, 8)
    perfect = StepInstance((), (Fraction(1),))
    assert result.upper_bound_exact == brute_force([*INSTANCES[:5], *[perfect] * 3], criterion)
    assert result.best_value_exact <= brute_force(INSTANCES, criterion) <= result.upper_bound_exact
    assert not ct.verify(result.certificate, FAMILY, INSTANCES).optimal


def test_callbacks_see_what_is_maximised():
    seen = []
    result = ct.tune(FAMILY, INSTANCES, aggregate="min", callbacks=[seen.append])
    assert [state.criterion.aggregate for state in seen] == [Minimum()] * 8
    assert seen[-1].best_value == result.best_value and seen[-1].gap == 0
    assert all(a.upper_bound >= b.upper_bound for a, b in zip(seen, seen[1:], strict=False))


def test_a_run_directory_serves_every_aggregate(tmp_path):
    class Counting(StepFamily):
        calls = 0
        fingerprint = StepFamily.fingerprint

        def dual(self, instance, along=None):
            Counting.calls += 1
            return super().dual(instance, along)

    family = Counting()
    for aggregate in (*AGGREGATES, "mean"):
        kept = ct.tune(family, INSTANCES, aggregate=aggregate, weights=WEIGHTS, run_dir=tmp_path)
        fresh = ct.tune(FAMILY, INSTANCES, aggregate=aggregate, weights=WEIGHTS)
        assert kept.best_value_exact == fresh.best_value_exact
        stored = ct.load(tmp_path)
        assert stored.criterion == fresh.criterion
        assert stored.best_value == stored.upper_bound == fresh.best_value
        assert stored.certificate.criterion == fresh.criterion
        assert fresh.criterion.words("utility") in str(stored)
    assert Counting.calls >= 8 and len(list(tmp_path.rglob("*.npz"))) in (0, 8)


def test_other_instances_keep_aggregate_and_weights():
    result = ct.tune(FAMILY, INSTANCES, aggregate=ct.CVaR(0.5), weights=WEIGHTS)
    fewer = result.without("number 3")
    kept = [n for n in range(8) if n != 3]
    again = ct.tune(
        FAMILY, [INSTANCES[n] for n in kept], aggregate=ct.CVaR(0.5),
        weights=[WEIGHTS[n] for n in kept],
    )  # fmt: skip
    assert fewer.best_value_exact == again.best_value_exact
    assert fewer.criterion == again.criterion
    with pytest.raises(ct.ParameterError, match="weights: pass those of all instances"):
        fewer.with_instances([INSTANCES[3]])
    order = [*kept, 3]
    whole = fewer.with_instances([INSTANCES[3]], weights=[WEIGHTS[n] for n in order])
    assert whole.best_value_exact == result.best_value_exact
    assert ct.tune(FAMILY, INSTANCES[:7], aggregate="min").with_instances(
        INSTANCES[7:]
    ).best_value_exact == brute_force(INSTANCES, Criterion(Minimum()))


def test_failures_keep_their_weights():
    class Failing(StepFamily):
        def dual(self, instance, along=None):
            if instance.name == "number 2":
                raise ZeroDivisionError("no such thing")
            return super().dual(instance, along)

    result = ct.tune(Failing(), INSTANCES, aggregate="mean", weights=WEIGHTS, on_error="skip")
    assert result.criterion.weights == (2, 4, 1, 8, 2, 2, 6, 2)
    kept = [INSTANCES[n] for n in range(8) if n != 2]
    best = brute_force(kept, Criterion(weights=(2, 4, 1, 8, 2, 2, 6)))
    assert result.upper_bound_exact == (best * 25 + 2) / 27


@pytest.mark.parametrize("aggregate", AGGREGATES[1:])
def test_held_out_instances_and_folds_are_judged_by_the_same(aggregate):
    result = ct.tune(FAMILY, INSTANCES, aggregate=aggregate)
    others = [instance(number) for number in range(100, 160)]
    held_out = result.evaluate(others)
    utilities = [FAMILY.run_exact(item, result.best_params) for item in others]
    assert held_out.value_exact == result.criterion.value(utilities)
    assert held_out.tuning_value_exact == result.best_value_exact
    interval = held_out.interval()
    assert interval.low <= held_out.value <= interval.high
    assert result.criterion.words("utility") in str(held_out)
    crossed = result.cross_validate(4)
    for fold in crossed.folds:
        kept = [n for n in range(8) if n not in fold.left_out]
        best = brute_force([INSTANCES[n] for n in kept], result.criterion)
        assert fold.tuning_value_exact == best
    assert crossed.value_exact == result.criterion.value(crossed.utilities)
    assert result.criterion.words("utility") in str(crossed)


def test_bounds_are_stated_for_the_mean_only():
    result = ct.tune(FAMILY, INSTANCES, aggregate="min", weights=WEIGHTS)
    promise = result.guarantee()
    assert any("maximised the worst utility" in note for note in promise.notes)
    utilities = [FAMILY.run_exact(item, result.best_params) for item in INSTANCES]
    assert promise.tuning_value == float(sum(utilities) / 8)
    best = ct.tune(FAMILY, INSTANCES)
    assert promise.best_possible == best.guarantee().best_possible
    for method in (
        result.bootstrap, result.learning_curve, lambda: result.instances_needed(0.1),
        lambda: result.select("one-standard-error"), lambda: result.select("guaranteed"),
    ):  # fmt: skip
        with pytest.raises(ct.ParameterError, match="is about the mean utility"):
            method()
    assert result.select("optimum").value == result.best_value


def test_intervals_of_quantiles_and_tails_cover():
    """A uniform distribution, of which everything is known."""
    truths = {ct.Quantile(0.2): 0.2, ct.CVaR(0.2): 0.1, ct.Quantile(0.5): 0.5}
    for aggregate, truth in truths.items():
        missed = 0
        for seed in range(60):
            sample = np.random.default_rng(seed).uniform(size=80)
            found = ct.guarantees.tail_interval(sample, aggregate, 0.1)
            missed += not found.low <= truth <= found.high
        assert missed <= 6
    one = ct.guarantees.tail_interval([0.5], Minimum(), 0.1)
    assert (one.low, one.high) == (0.0, 1.0)


@pytest.mark.parametrize("aggregate", AGGREGATES[1:])
def test_reports_and_pictures_name_what_was_maximised(aggregate, tmp_path):
    result = ct.tune(FAMILY, INSTANCES, aggregate=aggregate)
    words = result.criterion.words("utility")
    figure = result.plot_landscape()
    assert words in " ".join(figure.axes[0].get_ylabel().split()) and words in figure.get_suptitle()
    result.report(tmp_path / "report.html", held_out=[instance(n) for n in range(50, 70)])
    page = (tmp_path / "report.html").read_text()
    assert f"No setting with x in [0, 1] has a {words}" in page.replace("&#x27;", "'")


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_curves_with_errors(aggregate):
    """Lasso: errors of validation sets, smooth on pieces, against plain fits on a grid."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, -0.5, 0.0, 0.25] + 0.3 * rng.normal(size=60)
    folds = [
        ct.RegressionInstance(X[keep], y[keep], X[~keep], y[~keep], name=f"fold {k}")
        for k in range(4)
        for keep in [np.arange(60) % 4 != k]
    ]
    family = ct.RegularizedRegression("l1", alpha=(1e-3, 1.0), max_error=4.0)
    weights = [1, 2, 1, 1]
    result = ct.tune(family, folds, aggregate=aggregate, weights=weights, progress=False)
    criterion = Criterion.checked(aggregate, weights, 4)
    slack = Fraction(family.tolerance)
    for alpha in np.geomspace(1e-3, 1.0, 40):
        value = criterion.value(
            [Fraction(family.run_exact(item, {"alpha": alpha})) for item in folds]
        )
        assert value <= result.upper_bound_exact + slack
        below, above = result.landscape.enclose_exact(float(alpha))
        assert below - slack <= value <= above + slack
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, family, folds).optimal
    better = dataclasses.replace(
        result.certificate, upper_bound=result.certificate.best_value - Fraction(1, 10**6)
    ).sealed()
    with pytest.raises(ct.CertificateError, match="upper bound cannot be proved"):
        ct.verify(better, family, folds)
