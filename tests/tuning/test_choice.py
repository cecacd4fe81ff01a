"""A choice among families: exact over the union, no more work than needed, one certificate."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.aggregates import Criterion
from certune.testing import StepFamily, StepInstance

FAMILIES = {"narrow": StepFamily(0.0, 0.5), "wide": StepFamily(0.0, 1.0), "far": StepFamily(0.5, 1)}


def instance(number, lowest=0, highest=8):
    rng = np.random.default_rng(number)
    places = tuple(np.sort(rng.uniform(0.01, 0.99, 5)).tolist())
    values = tuple(Fraction(int(v), 8) for v in rng.integers(lowest, highest + 1, 6))
    return StepInstance(places, values, f"number {number}")


INSTANCES = [instance(number) for number in range(16)]
# The same instances for three algorithms, of which one is hopeless and one is nearly as good.
FORMS = {
    "good": [instance(number, 5, 8) for number in range(16)],
    "fair": [instance(100 + number, 4, 8) for number in range(16)],
    "poor": [instance(200 + number, 0, 2) for number in range(16)],
}
CHOICE = ct.Choice(FAMILIES)
FORMS_CHOICE = ct.Choice(dict.fromkeys(FORMS, StepFamily()))


def optimum(family, instances, **options):
    return ct.tune(family, instances, **options).best_value_exact


@pytest.mark.parametrize("aggregate", ["mean", "min", ct.Quantile(0.3), ct.CVaR(0.3)])
def test_the_optimum_is_the_best_of_all(aggregate):
    weights = [1, 2, 3, 4] * 4
    for choice, instances in ((CHOICE, INSTANCES), (FORMS_CHOICE, FORMS)):
        result = ct.tune(choice, instances, aggregate=aggregate, weights=weights)
        forms = instances if isinstance(instances, dict) else dict.fromkeys(FAMILIES, instances)
        each = {
            name: optimum(family, forms[name], aggregate=aggregate, weights=weights)
            for name, family in choice.alternatives.items()
        }
        assert result.status is ct.Status.OPTIMAL and result.gap == 0
        assert result.best_value_exact == result.upper_bound_exact == max(each.values())
        assert each[result.best_alternative] == max(each.values())
        for name, item in result.alternatives.items():
            assert each[name] <= item.upper_bound_exact
        best = choice.alternatives[result.best_alternative]
        setting = {k: v for k, v in result.best_params.items() if k != "choice"}
        runs = [best.run_exact(item, setting) for item in forms[result.best_alternative]]
        criterion = Criterion.checked(aggregate, weights, 16)
        assert criterion.value(runs) == result.best_value_exact
        assert ct.verify(result.certificate, choice, instances).optimal


def test_hopeless_alternatives_are_not_computed_on_all_instances():
    calls = []

    class Counting(StepFamily):
        fingerprint = StepFamily.fingerprint

        def dual(self, instance, along=None):
            calls.append(instance.name)
            return super().dual(instance, along)

    result = ct.tune(ct.Choice(dict.fromkeys(FORMS, Counting())), FORMS)
    assert result.best_alternative == "good"
    computed = {name: item.n_computed for name, item in result.alternatives.items()}
    assert computed["good"] == 16 and computed["poor"] < 8 and computed["poor"] <= computed["fair"]
    assert len(calls) == result.n_computed == sum(computed.values()) < result.n_functions == 48
    assert f"{result.n_computed} of 48 computed" in str(result)
    # No alternative was computed further than needed: two instances less, and it could have won.
    for name, item in result.alternatives.items():
        fewer = [*FORMS[name][: item.n_computed - 2]]
        perfect = [StepInstance((), (Fraction(1),))] * (16 - len(fewer))
        assert optimum(StepFamily(), [*fewer, *perfect]) >= result.best_value_exact


def test_workers_change_nothing():
    one, two = (ct.tune(FORMS_CHOICE, FORMS, n_jobs=n) for n in (1, 2))
    assert one.certificate == two.certificate


def test_forged_certificates_are_refused(tmp_path):
    result = ct.tune(FORMS_CHOICE, FORMS)
    honest = result.certificate
    honest.save(tmp_path / "c.json")
    assert ct.ChoiceCertificate.load(tmp_path / "c.json") == honest
    assert "optimality among 3 alternatives" in str(
        ct.verify(tmp_path / "c.json", FORMS_CHOICE, FORMS)
    )
    without = {**honest.proofs, "fair": None}
    other = ct.tune(StepFamily(), FORMS["poor"], aggregate="min").certificate
    forged = [
        ({"best_value": honest.best_value + 1}, "best value .* does not follow"),
        ({"upper_bound": honest.upper_bound - Fraction(1, 100)}, "upper bound .* does not follow"),
        ({"best_alternative": "poor"}, "other instances"),
        ({"best_alternative": "none"}, "no proof for its best"),
        ({"proofs": without}, "upper bound .* does not follow"),
        ({"proofs": {"good": honest.proofs["good"]}}, "proofs for"),
        ({"proofs": {**honest.proofs, "poor": other}}, "different things"),
        ({"proofs": {**honest.proofs, "poor": honest.proofs["good"]}}, "not the instance"),
        ({"family_fingerprint": "0" * 64}, "other alternatives"),
    ]
    for change, message in forged:
        with pytest.raises(ct.CertificateError, match=message):
            ct.verify(dataclasses.replace(honest, **change).sealed(), FORMS_CHOICE, FORMS)
    with pytest.raises(ct.CertificateError, match="checked with the choice"):
        ct.verify(honest, StepFamily(), FORMS["good"])
    with pytest.raises(ct.CertificateError, match="checked with the choice"):
        ct.verify(honest.proofs["good"], FORMS_CHOICE, FORMS)


@pytest.mark.parametrize(
    "proofs", [[], [["good"]], [[1, None]], [["a", None], ["a", None]], [["a", 3]], 3]
)
def test_hostile_files_are_refused(proofs, tmp_path):
    honest = ct.tune(FORMS_CHOICE, FORMS).certificate
    content = {**honest._content(), "checksum": honest.checksum, "proofs": proofs}
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(ct.CertificateError):
        ct.verify(tmp_path / "c.json", FORMS_CHOICE, FORMS)


def test_a_run_directory_is_continued(tmp_path):
    calls = []

    class Counting(StepFamily):
        fingerprint = StepFamily.fingerprint

        def dual(self, instance, along=None):
            calls.append(instance.name)
            return super().dual(instance, along)

    choice = ct.Choice(dict.fromkeys(FORMS, Counting()))
    stopped = ct.tune(
        choice, FORMS, run_dir=tmp_path, callbacks=[lambda state: state.n_computed >= 12]
    )
    assert stopped.status is ct.Status.STOPPED and len(calls) < 48
    assert stopped.best_value_exact <= optimum(StepFamily(), FORMS["good"]) <= stopped.upper_bound
    assert not ct.verify(tmp_path, FORMS_CHOICE, FORMS).optimal
    whole = ct.tune(choice, FORMS, run_dir=tmp_path)
    assert len(calls) == whole.n_computed
    assert whole.certificate == ct.tune(FORMS_CHOICE, FORMS).certificate
    before = len(calls)
    assert ct.tune(choice, FORMS, run_dir=tmp_path).certificate == whole.certificate
    assert len(calls) == before
    assert ct.verify(tmp_path, FORMS_CHOICE, FORMS).optimal


def test_failures_carry_what_is_finished():
    class Failing(StepFamily):
        def dual(self, instance, along=None):
            if instance.name == "number 9":
                raise ZeroDivisionError("no such thing")
            return super().dual(instance, along)

    choice = ct.Choice(dict.fromkeys(FORMS, Failing()))
    with pytest.raises(ct.TuningError, match="number 9") as caught:
        ct.tune(choice, FORMS)
    assert caught.value.result.status is ct.Status.FAILED
    assert caught.value.result.n_computed > 0
    with pytest.raises(ct.ParameterError, match="on_error='skip' is for a single family"):
        ct.tune(choice, FORMS, on_error="skip")


def test_the_guarantee_is_for_all_alternatives_at_once():
    result = ct.tune(CHOICE, INSTANCES)
    promise, single = result.guarantee(0.08), result.best.guarantee(0.02)
    assert promise.delta == 0.08 and promise.bounds == single.bounds
    assert any("chosen among 3" in note for note in promise.notes)
    assert promise.best_possible >= float(result.upper_bound_exact)
    others = [instance(number) for number in range(300, 330)]
    held_out = result.evaluate(others)
    setting = {"x": result.best_params["x"]}
    runs = [result.best.family.run_exact(item, setting) for item in others]
    assert held_out.value_exact == sum(runs) / 30


def test_pictures_and_reports(tmp_path):
    result = ct.tune(FORMS_CHOICE, FORMS)
    figure = result.plot_landscape(tmp_path / "choice.png")
    assert (tmp_path / "choice.png").stat().st_size > 5000
    assert len(figure.axes[0].lines) == 3
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert "good" in labels and "poor (bound, not all instances computed)" in labels
    other = ct.tune(CHOICE, INSTANCES).plot_landscape()
    assert other.axes[0].get_xlabel() == "each parameter over its range"
    few = ct.tune(FORMS_CHOICE, {name: items[:3] for name, items in FORMS.items()})
    few.report(tmp_path / "report.html")
    assert "good, chosen among 3" in (tmp_path / "report.html").read_text()
    assert "good" in repr(result) and result.to_frame().shape[0] == 16


def test_several_parameters_take_part():
    rng = np.random.default_rng(0)
    metrics = ("euclidean", "cityblock")
    items = [
        ct.ClusteringInstance(
            points=rng.normal(size=(7, 2)), metrics=metrics, target=[0, 0, 0, 1, 1, 1, 1]
        )
        for _ in range(3)
    ]
    alternatives = {
        "one": ct.Linkage("min-max", alpha=(0.5, 2), weights=(1, 0)),
        "two": ct.Linkage("min-max", alpha=(0.5, 2), weights="tune", n_metrics=2),
    }
    choice = ct.Choice(alternatives)
    result = ct.tune(choice, items, progress=False)
    each = [optimum(family, items, progress=False) for family in alternatives.values()]
    assert result.best_value_exact == max(each)
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, choice, items).optimal
    assert result.best_estimator.get_params()["kind"] == "min-max"


def test_a_failure_in_several_parameters_keeps_its_reason_and_the_rest(monkeypatch):
    def broken(*_):
        raise ct.TuningError("broken on purpose")

    monkeypatch.setattr("certune.tuning.choice.search.tune_space", broken)
    rng = np.random.default_rng(0)
    item = ct.ClusteringInstance(
        points=rng.normal(size=(6, 2)),
        metrics=("euclidean", "cityblock"),
        target=[0, 0, 0, 1, 1, 1],
    )
    alternatives = {
        "one": ct.Linkage("min-max", alpha=(0.5, 2), weights=(1, 0)),
        "two": ct.Linkage("min-max", alpha=(0.5, 2), weights="tune", n_metrics=2),
    }
    with pytest.raises(ct.TuningError, match="broken on purpose") as caught:
        ct.tune(ct.Choice(alternatives), [item], progress=False)
    assert caught.value.result.alternatives["one"].n_computed == 1
    assert caught.value.result.alternatives["two"].n_computed == 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ct.Choice({}), ct.ParameterError, "needs families by name"),
        (lambda: ct.Choice([StepFamily()]), ct.ParameterError, "needs families by name"),
        (lambda: ct.Choice({"a": 3}), ct.ParameterError, "Family"),
        (lambda: ct.Choice({1: StepFamily()}), ct.ParameterError, "short strings"),
        (
            lambda: ct.Choice({"a": StepFamily(), "b": ct.RegularizedLogistic()}),
            ct.ParameterError,
            "same score and range",
        ),
        (lambda: ct.tune(CHOICE, []), ct.InputError, "alternative 'narrow'.*empty"),
        (lambda: ct.tune(CHOICE, [3]), ct.InputError, "alternative 'narrow'.*StepInstance"),
        (lambda: ct.tune(CHOICE, {"narrow": INSTANCES}), ct.InputError, "need the names"),
        (
            lambda: ct.tune(CHOICE, {**dict.fromkeys(FAMILIES, INSTANCES), "far": INSTANCES[:3]}),
            ct.InputError,
            "a form of every instance",
        ),
        (lambda: ct.tune(CHOICE, INSTANCES, method="magic"), ct.ParameterError, "method"),
        (lambda: ct.tune(CHOICE, INSTANCES, timeout=-1), ct.ParameterError, "timeout"),
    ],
)
def test_mistakes_have_messages(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_instances_may_be_an_iterator():
    assert ct.tune(CHOICE, iter(INSTANCES)).best_value == ct.tune(CHOICE, INSTANCES).best_value


def test_weights_of_alternatives_belong_to_the_same_instances():
    """One alternative is good at the first instance, the other at the second, which counts more."""
    good, bad = (StepInstance((0.5,), (Fraction(v), Fraction(v))) for v in (1, 0))
    forms = {"first": [good, bad], "second": [bad, good]}
    choice = ct.Choice(dict.fromkeys(forms, StepFamily()))
    result = ct.tune(choice, forms, weights=[1, 9])
    assert result.best_alternative == "second" and result.best_value == 0.9
    honest = result.certificate
    turned = ct.tune(StepFamily(), [good, bad], weights=[1, 9]).certificate
    forged = dataclasses.replace(
        honest,
        best_alternative="first",
        proofs={"first": turned, "second": turned},
        best_value=turned.best_value,
        upper_bound=turned.upper_bound,
        instance_fingerprints=turned.instance_fingerprints,
    )
    assert float(forged.upper_bound) == 0.1
    with pytest.raises(ct.CertificateError, match="maximised different things"):
        ct.verify(forged.sealed(), choice, forms)
    # The same claims, with the instances of one proof in another order.
    other = ct.tune(StepFamily(), [good, bad], weights=[9, 1]).certificate
    proofs = {**honest.proofs, "second": other}
    prints = other.instance_fingerprints
    moved = dataclasses.replace(honest, proofs=proofs, instance_fingerprints=prints)
    assert ct.verify(moved.sealed(), choice, forms).optimal


def test_what_was_verified_is_said_by_the_score_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    folds = ct.folds(X, X[:, 0] + rng.normal(size=60) > 0, cv=2, task="classification")
    choice = ct.Choice({name: ct.RegularizedLogistic(name, lam=(0.01, 1)) for name in ("l1", "l2")})
    result = ct.tune(choice, folds, progress=False)
    said = str(ct.verify(result.certificate, choice, folds))
    assert f"best mean log-loss {result.best_score:.6g} by" in said
