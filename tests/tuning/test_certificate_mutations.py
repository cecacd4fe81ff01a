"""Forged certificates: a sample of the campaign in ``benchmarks/certificate_mutations.py``."""

import dataclasses
import importlib.util
import json
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance
from certune.tuning.proof import choice_verification, verification

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "certificate_mutations.py"


@pytest.fixture(scope="module")
def mutations():
    spec = importlib.util.spec_from_file_location("certificate_mutations", SCRIPT)
    made = importlib.util.module_from_spec(spec)
    sys.modules["certificate_mutations"] = made
    spec.loader.exec_module(made)
    return made


def test_no_forgery_is_accepted(mutations):
    outcomes = mutations.campaign(100, seed=0)
    assert outcomes.total() == 100 and any("accepted" in name for name in outcomes)


def test_the_campaign_notices_a_check_that_is_missing(mutations, monkeypatch):
    monkeypatch.setattr(verification, "check_windows", lambda case: None)
    with pytest.raises(AssertionError, match="of steps: function"):
        mutations.campaign(500, seed=0, names=["steps"])


def test_the_campaign_notices_weights_that_are_those_of_others(mutations, monkeypatch):
    monkeypatch.setattr(choice_verification, "_check_criteria", lambda *given: None)
    with pytest.raises(AssertionError, match="of choice: upper bound"):
        mutations.campaign(60, seed=6, names=["choice"])


# Files that a checksum does not protect from


@pytest.fixture
def path(tmp_path):
    return tmp_path / "certificate.json"


def line_content():
    instances = [StepInstance((0.25, 0.5), (Fraction(0), Fraction(1), Fraction(1, 2)))]
    certificate = ct.tune(StepFamily(), instances).certificate
    return {**certificate._content(), "checksum": certificate.checksum}


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("best_value", '"1e10000000"', "must be fractions"),
        ("best_value", '"' + "9" * 100_000 + '"', "must be fractions"),
        ("best_value", '"0x' + "f" * 50_000 + '/0x1"', "must be fractions"),
        ("best_value", "1e400", "must be fractions"),
        ("best_value", '"1/0"', "must be fractions"),
        ("best_value", "9" * 100_000, "not a complete certificate"),
        ("best_point", "1e400", "must be a finite number"),
        ("best_point", "Infinity", "no number of JSON"),
        ("best_point", "NaN", "no number of JSON"),
        ("best_region", "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("best_region", "[" * 500 + "]" * 500, "must be a list of pairs"),
        ("duals", '[{"a": 1, "a": 2}]', "a name twice"),
        ("duals", "[]", "has no function"),
        ("instance_fingerprints", "[1]", "must be a list of short strings"),
        ("extra", "1", "must have the fields"),
    ],
)
def test_hostile_fields_are_refused(path, field, text, message):
    content = line_content()
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content.items()
             if name != field]  # fmt: skip
    path.write_text("{" + ", ".join([*parts, f'"{field}": {text}']) + "}")
    with pytest.raises(ct.CertificateError, match=message):
        ct.Certificate.load(path)


def test_files_that_are_no_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "none"):
        with pytest.raises(ct.CertificateError, match="cannot read"):
            ct.Certificate.load(tmp_path / name)
    with pytest.raises(ct.CertificateError, match="cannot read"):
        ct.Certificate.load("/dev/zero")


def test_a_certificate_with_infinite_bounds_of_gaps_is_json(path):
    """Where polynomials touch there is no gap, and its bounds are the empty interval."""
    instances = ct.datasets.breast_cancer_classification(1)
    family = ct.RegularizedLogistic(penalty="l1", lam=(0.01, 0.1))
    certificate = ct.tune(family, instances, progress=False).certificate
    assert any(np.isinf(dual.gap_lower).any() for dual in certificate.duals)
    certificate.save(path)
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert ct.Certificate.load(path) == certificate


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.json", tmp_path / "link.json"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    instances = [StepInstance((0.25,), (Fraction(0), Fraction(1)))]
    certificate = ct.tune(StepFamily(), instances).certificate
    certificate.save(link)
    assert link.is_symlink() and ct.Certificate.load(target) == certificate
    assert target.stat().st_mode & 0o777 == 0o640
    with pytest.raises(ct.InputError, match="cannot write"):
        certificate.save(tmp_path / "none" / "c.json")


# What weaker and stronger functions may say

ONE = StepInstance((0.5,), (Fraction(1, 4), Fraction(3, 4)))


def stated(stops, starts, lower, upper):
    honest = ct.tune(StepFamily(), [ONE]).certificate
    dual = ct.PiecewiseFunction([0, starts], [stops, 1], [1, 3], [lower], [upper], 4, "x")
    landscape = ct.mean([dual])
    return dataclasses.replace(
        honest,
        duals=(dual,),
        best_value=landscape.max_exact,
        best_region=tuple(landscape.argmax()),
        best_point=landscape.best_point,
        upper_bound=landscape.upper_bound_exact,
    ).sealed()


@pytest.mark.parametrize(
    ("stops", "starts", "lower", "upper"),
    [
        (0.25, 0.5, 1, 3),  # a wider gap
        (0.25, 0.75, 0, 3),  # with wider bounds
        (0.25, 0.75, -100, 400),
    ],
)
def test_weaker_functions_are_accepted_with_the_claims_that_follow(stops, starts, lower, upper):
    report = ct.verify(stated(stops, starts, lower, upper), StepFamily(), [ONE])
    assert report.best_value == Fraction(3, 4) <= report.upper_bound == Fraction(max(upper, 3), 4)


@pytest.mark.parametrize(
    ("stops", "starts", "lower", "upper"),
    [
        (0.25, 0.5, 3, 3),  # in the gap the value would be that behind it
        (0.25, 0.75, 2, 3),
        (0.25, 0.75, 1, 2),
        (0.25, 0.75, 1, 1),
        (float(np.nextafter(0.5, 0)), float(np.nextafter(0.5, 1)), 1, 1),
        (0.5, float(np.nextafter(0.5, 1)), 1, 3),  # the piece goes too far
        (0.25, float(np.nextafter(0.5, 0)), 1, 3),
    ],
)
def test_stronger_functions_are_refused(stops, starts, lower, upper):
    with pytest.raises(ct.CertificateError):
        ct.verify(stated(stops, starts, lower, upper), StepFamily(), [ONE])


def test_a_setting_beyond_the_range_is_refused():
    """Also an infinite exponent, which the family can run but no box has."""
    metrics = ("euclidean", "cityblock")
    instances = ct.datasets.digits_clustering(1, n_classes=2, n_per_class=4, metrics=metrics)
    family = ct.Linkage(alpha=(-1, 2), weights="tune", n_metrics=2)
    honest = ct.tune(family, instances, progress=False, max_nodes=20).certificate
    for alpha in (100.0, -3.0, float("inf")):
        params = {**honest.best_params, "alpha": alpha}
        forged = dataclasses.replace(honest, best_params=params)
        with pytest.raises((ct.CertificateError, ValueError)):
            ct.verify(forged.sealed(), family, instances)


def test_boxes_of_families_that_prove_nothing_are_refused(monkeypatch):
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] >= x else 0, space)
    certificate = ct.tune(family, [1], progress=False).certificate
    assert ct.verify(certificate, family, [1]).optimal
    monkeypatch.setattr(ct.ProgramFamily, "proves_duals", False)
    with pytest.raises(ct.CertificateError, match="are not proved"):
        ct.verify(certificate, family, [1])


def test_a_tolerance_counts_for_boxes_as_for_lines():
    def hill(x, p):
        return ct.pfaffian.exp(-p["a"]) * x + (1 if p["b"] >= 0.5 else 0)

    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(hill, space, utility_range=(0, 2), tolerance=1e-6)
    honest = ct.tune(family, [1], progress=False, gap=1e-3).certificate
    ct.verify(honest, family, [1])
    near = dataclasses.replace(
        honest,
        best_value=honest.best_value - Fraction(1, 10**7),
        upper_bound=honest.upper_bound,
    )
    ct.verify(near.sealed(), family, [1])
    far = dataclasses.replace(honest, best_value=honest.best_value - Fraction(1, 10**5))
    with pytest.raises(ct.CertificateError, match="not what runs give"):
        ct.verify(far.sealed(), family, [1])
