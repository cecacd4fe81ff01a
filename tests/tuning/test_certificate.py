"""Certificates: they survive files, they verify, and no corrupted one does."""

import dataclasses
import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.aggregates import Criterion
from certune.dual import mean
from certune.testing import StepFamily, StepInstance
from certune.tuning.proof.claims import claims_from

INSTANCES = [
    StepInstance((0.25, 0.5), (Fraction(0), Fraction(1), Fraction(1, 2)), name="first"),
    StepInstance((0.375, 0.75), (Fraction(1, 3), Fraction(2, 3), Fraction(1)), name="second"),
    StepInstance((0.125,), (Fraction(1), Fraction(1, 4)), name="third"),
]


@pytest.fixture(scope="module")
def certificate():
    return ct.tune(StepFamily(), INSTANCES).certificate


def resealed(certificate, **changes):
    """Change fields and give the result the checksum that belongs to it."""
    return dataclasses.replace(certificate, **changes).sealed()


def with_dual(certificate, number, **changes):
    """Replace arrays of one stored function; derive the claims anew, as a forger would."""
    arrays = {
        key: getattr(certificate.duals[number], key)
        for key in ("starts", "stops", "numerators", "gap_lower", "gap_upper", "denominator")
    }
    duals = list(certificate.duals)
    duals[number] = ct.PiecewiseFunction(**{**arrays, **changes}, name="x")
    return forged(certificate, duals)


def forged(certificate, duals):
    landscape = mean(duals)
    return resealed(
        certificate,
        duals=tuple(duals),
        best_value=landscape.max_exact,
        best_region=tuple(landscape.argmax()),
        best_point=landscape.best_point,
        upper_bound=landscape.upper_bound_exact,
    )


def moved(array, index, value):
    copied = list(array)
    copied[index] = value
    return copied


def refuse(certificate, message, family=None, instances=INSTANCES):
    with pytest.raises(ct.CertificateError, match=message):
        ct.verify(certificate, family or StepFamily(), instances)


# What is right


def test_verification_counts_what_it_checked(certificate):
    report = ct.verify(certificate, StepFamily(), INSTANCES)
    assert (report.n_instances, report.n_covered) == (3, 3)
    assert (report.n_pieces, report.n_gaps, report.n_runs) == (8, 5, 24)
    assert report.optimal and report.best_value == report.upper_bound == certificate.best_value
    assert str(report).startswith("certificate verified: optimality on 3 instances")


@pytest.mark.parametrize(
    ("kind", "alpha"), [("power-mean", (-5, 5)), ("min-max", (-5, 5)), ("product", [(-3, 3)])]
)
def test_linkage_is_verified(kind, alpha, tmp_path):
    instances = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=8)
    family = ct.Linkage(kind, alpha=alpha)
    result = ct.tune(family, instances)
    result.certificate.save(tmp_path / "certificate.json")
    report = ct.verify(ct.Certificate.load(tmp_path / "certificate.json"), family, instances)
    assert report.optimal and report.n_pieces == sum(dual.n_pieces for dual in result.duals) > 4


def test_weights_are_verified():
    metrics = ("euclidean", "cityblock")
    instances = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=8, metrics=metrics)
    family = ct.Linkage(alpha=-1.5, weights="tune", n_metrics=2)
    result = ct.tune(family, instances)
    report = ct.verify(result.certificate, family, instances)
    assert report.n_runs >= report.n_pieces == sum(dual.n_pieces for dual in result.duals) > 2


def test_partial_certificate_proves_the_bound_only():
    result = ct.tune(StepFamily(), INSTANCES, callbacks=[lambda state: True])
    report = ct.verify(result.certificate, StepFamily(), INSTANCES)
    assert (report.n_covered, report.n_instances) == (1, 3)
    assert not report.optimal and report.upper_bound == 1 == result.upper_bound_exact
    assert "the upper bound 1 on 3 instances" in str(report)


def test_file_keeps_everything(certificate, tmp_path):
    certificate.save(tmp_path / "c.json")
    assert ct.Certificate.load(tmp_path / "c.json") == certificate
    huge = ct.PiecewiseFunction.constant(0, 1, Fraction(2**70 + 1, 3**50), name="x")
    large = resealed(certificate, duals=(huge,))
    large.save(tmp_path / "c.json")
    assert ct.Certificate.load(tmp_path / "c.json").duals == (huge,)
    assert os.listdir(tmp_path) == ["c.json"]


def test_a_file_is_written_as_a_whole_or_not_at_all(certificate, tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    path.write_text("before")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ct.InputError, match="cannot write .*disk full"):
        certificate.save(path)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["c.json"]


@pytest.mark.parametrize("seed", range(20))
def test_claims_by_the_second_algorithm_are_those_of_the_first(seed):
    """Random functions with wide, overlapping and touching gaps on a coarse grid."""
    rng = np.random.default_rng(seed)
    duals = []
    for _ in range(rng.integers(1, 5)):
        m = int(rng.integers(1, 6))
        inner = np.sort(rng.choice(np.arange(1, 16), 2 * m - 2, replace=False))
        if m > 2:
            inner[2] = inner[1]  # a piece that is a single point
        ends = [0, *inner.tolist(), 16]
        values = rng.integers(0, 4, m)
        lower = np.minimum(values[:-1], values[1:]) - rng.integers(0, 2, m - 1)
        upper = np.maximum(values[:-1], values[1:]) + rng.integers(0, 2, m - 1)
        denominator = int(rng.integers(1, 4))
        duals.append(ct.PiecewiseFunction(ends[::2], ends[1::2], values, lower, upper, denominator))
    landscape = mean(duals)
    claims = claims_from(duals, Criterion(), len(duals), Fraction(1))
    assert claims.best_value == landscape.max_exact
    assert claims.best_region == tuple(landscape.argmax())
    assert claims.upper_bound == landscape.upper_bound_exact


# What is wrong


def test_changed_content_does_not_match_its_checksum(certificate):
    refuse(dataclasses.replace(certificate, best_value=Fraction(1)), "changed after it was written")
    refuse(dataclasses.replace(certificate, checksum="0" * 64), "checksum is '0000")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"best_value": Fraction(99, 100)}, "claimed best value 99/100 does not follow"),
        ({"best_region": ((0.0, 0.1),)}, "claimed optimal set"),
        ({"best_region": ()}, "claimed optimal set"),
        ({"best_point": 0.0}, "best point 0.0 is outside"),
        ({"upper_bound": Fraction(99, 100)}, "claimed upper bound 99/100"),
        ({"best_region": ((-1.0, 2.0),)}, "claimed optimal set"),
        ({"duals": ()}, "has no function"),
        ({"segment": ct.Segment.coordinate("x", 0, 2)}, "expected the whole range"),
    ],
)
def test_wrong_claims_are_refused(certificate, change, message):
    refuse(resealed(certificate, **change), message)


def test_another_family_is_refused(certificate):
    refuse(certificate, "another family", family=StepFamily(0.0, 2.0))


def test_other_instances_are_refused(certificate):
    twice = [INSTANCES[0], INSTANCES[0], INSTANCES[2]]
    refuse(certificate, "first is not the instance of the certificate", instances=twice)
    refuse(certificate, "3 instances, got 2", instances=INSTANCES[:2])
    changed = dataclasses.replace(INSTANCES[2], utilities=(Fraction(1), Fraction(1, 5)))
    refuse(certificate, "third is not", instances=[*INSTANCES[:2], changed])


def test_instances_may_come_in_any_order(certificate):
    swapped = [INSTANCES[1], INSTANCES[2], INSTANCES[0]]
    assert ct.verify(certificate, StepFamily(), swapped).n_instances == 3


def test_swapped_functions_are_refused(certificate):
    first, second, third = certificate.duals
    refuse(forged(certificate, (second, first, third)), "first: the certificate has the value")


def test_a_changed_value_is_refused(certificate):
    numerators = moved(certificate.duals[0].numerators, 1, 1)
    refuse(with_dual(certificate, 0, numerators=numerators), "first: .* family.run gives 1")


def test_a_breakpoint_moved_into_a_piece_is_refused(certificate):
    first = certificate.duals[0]
    later = math.nextafter(0.25, 1)
    wrong = with_dual(
        certificate, 0, stops=moved(first.stops, 0, 0.25), starts=moved(first.starts, 1, later)
    )
    refuse(wrong, "first: the certificate has the value 0 at x = 0.25")


def test_a_function_on_part_of_the_range_is_refused(certificate):
    short = certificate.duals[0].restrict(0.0, 0.9)
    refuse(
        resealed(certificate, duals=(short, *certificate.duals[1:])), r"covers .x. in \[0.0, 0.9\]"
    )


# Plain runs at the ends and in the middle of the made-up pieces do not meet the peak.
PEAK = StepInstance((0.6, 0.7), (Fraction(1, 2), Fraction(1), Fraction(1, 2)), name="peak")


def hidden_peak(**arrays):
    """Make a certificate for PEAK whose function is made up."""
    honest = ct.tune(StepFamily(), [PEAK]).certificate
    function = ct.PiecewiseFunction(**arrays, denominator=2, name="x")
    return forged(honest, [function])


def test_a_piece_that_hides_a_peak_is_refused():
    flat = hidden_peak(starts=[0], stops=[1], numerators=[1], gap_lower=[], gap_upper=[])
    assert PEAK.utilities[0] == StepFamily().run_exact(PEAK, 0.5)
    refuse(flat, "peak, .* one value, a fresh proof gives", instances=[PEAK])


def test_a_gap_that_hides_a_peak_is_refused():
    gapped = hidden_peak(
        starts=[0, 0.75], stops=[0.55, 1], numerators=[1, 1], gap_lower=[0], gap_upper=[1]
    )
    refuse(gapped, "fresh proof gives 1 on", instances=[PEAK])


def test_gap_bounds_below_what_can_be_proved_are_refused():
    """Two targets for the same points: their breakpoints coincide, and so do the gaps."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(14, 2))
    instances = [
        ct.ClusteringInstance(points=points, target=rng.integers(0, 3, 14), k=3) for _ in range(2)
    ]
    family = ct.Linkage()
    honest = ct.tune(family, instances, progress=False).certificate
    ct.verify(honest, family, instances)
    duals = []
    for dual in honest.duals:
        lower = np.minimum(dual.numerators[:-1], dual.numerators[1:])
        duals.append(
            ct.PiecewiseFunction(
                dual.starts, dual.stops, dual.numerators, lower, lower, dual.denominator, dual.name
            )
        )
    refuse(forged(honest, duals), "a fresh proof only by", family, instances)


def test_a_missing_breakpoint_is_refused():
    # Correct at all ends and middles of its pieces, but blind between 0.6 and 0.7.
    blind = hidden_peak(
        starts=[0, 0.5], stops=[0.4, 1], numerators=[1, 1], gap_lower=[0], gap_upper=[1]
    )
    refuse(blind, "fresh proof", instances=[PEAK])


@pytest.mark.parametrize("thing", [None, {}, 3])
def test_what_is_not_a_certificate_is_refused(thing):
    refuse(thing, "Expected a Certificate")


# Files


@pytest.fixture
def path(certificate, tmp_path):
    certificate.save(tmp_path / "c.json")
    return tmp_path / "c.json"


def cannot_load(path, message):
    with pytest.raises(ct.CertificateError, match=message):
        ct.Certificate.load(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_torn_file_is_refused(path, share):
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    cannot_load(path, "not a complete certificate file")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PNG\x89\x00\xff", "not a complete certificate file"),
        (b'{"labels": [1, 2]}', "written by something else"),
        (b"[1, 2]", "written by something else"),
        (b'{"format": "certune certificate", "format_version": 99}', "format version 99"),
        (b'{"format": "certune certificate", "format_version": 3}', "must have the fields"),
        (b'{"format": "certune box certificate"}', "read it with BoxCertificate.load, or"),
    ],
)
def test_a_foreign_file_is_refused(path, content, message):
    path.write_bytes(content)
    cannot_load(path, message)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("best_value",), "1"),
        (("best_value",), "1/0"),
        (("upper_bound",), "none"),
        (("best_region", 0, 1), 0.875),
        (("segment", "high"), 2.0),
        (("segment", "high"), -1.0),
        (("instance_fingerprints", 1), "abc"),
        (("family_fingerprint",), "abc"),
        (("checksum",), "0" * 64),
        (("duals", 0, "numerators", 0), 1),
        (("duals", 0, "numerators", 0), 0.5),
        (("duals", 0, "starts", 1), 0.375),
        (("duals", 0, "starts", 1), 7.0),
        (("duals", 0, "gap_upper", 0), 5),
        (("duals", 0, "denominator"), [3]),
        (("duals", 0, "denominator"), [0]),
        (("duals", 0, "denominator"), []),
    ],
)
def test_a_changed_file_is_refused(path, keys, value):
    stored = json.loads(path.read_text())
    target = stored
    for key in keys[:-1]:
        target = target[key]
    assert target[keys[-1]] != value
    target[keys[-1]] = value
    path.write_text(json.dumps(stored))
    cannot_load(path, "was changed after it was written|must be|must have")


def test_a_missing_file_is_named(tmp_path):
    cannot_load(tmp_path / "none.json", "cannot read .*none.json: No such file")


def test_a_certificate_says_which_family_it_is_about(tmp_path):
    """In plain data, for programs that check it without certune."""
    instances = ct.datasets.random_clustering(2, random_state=0)
    family = ct.Linkage("min-max", alpha=(-1, 2), objective="k-means")
    certificate = ct.tune(family, instances, progress=False).certificate
    certificate.save(tmp_path / "c.json")
    stored = json.loads((tmp_path / "c.json").read_text())["family"]
    assert stored == certificate.family == family.description
    assert (stored["kind"], stored["alpha"]) == ("min-max", [[-1.0, 2.0]])
    assert stored["objective"] == "k-means"
    forged = dataclasses.replace(certificate, family={**stored, "objective": "k-median"}).sealed()
    with pytest.raises(ct.CertificateError, match="describes another family"):
        ct.verify(forged, family, instances)


def test_programs_are_described_by_their_options():
    family = ct.DensityClustering(eps=(0, 20), min_samples=2)
    assert family.description == {
        "family": "DensityClustering",
        "program": "DensityProgram",
        "options": {"min_samples": "2"},
        "utility_range": [0.0, 1.0],
        "tolerance": 0.0,
    }


@pytest.mark.parametrize("hostile", [[], "x", {"a": "y" * 2000}, {"a": [[]] * 2000}, {"a": 1e999}])
def test_a_description_that_is_not_small_plain_data_is_refused(hostile):
    instances = ct.datasets.random_clustering(1, random_state=0)
    honest = ct.tune(ct.Linkage(), instances, progress=False).certificate
    forged = dataclasses.replace(honest, family=hostile)
    with pytest.raises((ct.CertificateError, ValueError)):
        ct.verify(forged, ct.Linkage(), instances)
