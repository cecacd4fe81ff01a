"""Tuning, certificates and pictures where the utility varies smoothly with the parameter."""

import dataclasses
import hashlib
import math
from fractions import Fraction

import joblib
import numpy as np
import pytest

import certune as ct
from certune.families.base import Family
from certune.testing import StepFamily, StepInstance, check_family

ERROR = 1e-11


@dataclasses.dataclass(frozen=True)
class Hill:
    """Utility 1 - (x - top)^2, with x in [0, 1]."""

    top: float
    name: str


class HillFamily(Family):
    """The simplest family with a smooth utility: one parabola for each instance."""

    def __init__(self, pieces=2):
        self.pieces = pieces

    @property
    def space(self):
        return ct.ParameterSpace((ct.Real("x", 0.0, 1.0),))

    @property
    def tolerance(self):
        return 1e-9

    @property
    def fingerprint(self):
        return hashlib.sha256(f"hills {self.pieces}".encode()).hexdigest()

    @property
    def baselines(self):
        return {"half": {"x": 0.5}}

    def check_instance(self, instance):
        if not isinstance(instance, Hill):
            raise ct.InputError("expected a Hill")

    def instance_fingerprint(self, instance):
        return hashlib.sha256(repr(instance).encode()).hexdigest()

    def run_exact(self, instance, params):
        x = Fraction(self.space.validate(params)["x"])
        return 1 - (x - Fraction(instance.top)) ** 2

    def solve(self, instance, params):
        return self.space.validate(params)["x"]

    def dual(self, instance, along=None):
        segment = self.space.default_segment() if along is None else along
        ends = np.linspace(segment.low, segment.high, self.pieces + 1)
        ends[-1] = segment.high
        middle, half = 0.5 * (ends[:-1] + ends[1:]), 0.5 * np.diff(ends)
        away = middle - instance.top
        # (half s + away)^2 = half^2 (T_2 + 1) / 2 + 2 half away T_1 + away^2.
        rows = np.column_stack((1 - away**2 - half**2 / 2, -2 * half * away, -(half**2) / 2))
        nothing = np.zeros(self.pieces - 1)
        errors = np.full(self.pieces, ERROR)
        return ct.PiecewisePolynomial(
            ends[:-1], ends[1:], rows, errors, nothing, nothing, segment.name
        )


HILLS = [Hill(0.25, "first"), Hill(0.5, "second"), Hill(0.875, "third")]
BEST = sum(hill.top for hill in HILLS) / 3


@pytest.fixture(scope="module")
def result():
    return ct.tune(HillFamily(), HILLS)


def test_the_family_conforms():
    check_family(HillFamily(), HILLS)


@pytest.mark.parametrize("pieces", [1, 2, 37])
def test_the_optimum_is_the_mean_of_the_tops(pieces):
    result = ct.tune(HillFamily(pieces), HILLS)
    exact = 1 - sum((Fraction(BEST) - Fraction(hill.top)) ** 2 for hill in HILLS) / 3
    assert result.status is ct.Status.OPTIMAL
    assert result.landscape.max_exact <= exact <= result.upper_bound_exact
    assert abs(result.best_params["x"] - BEST) < 1e-4
    assert result.gap <= HillFamily().tolerance and exact - result.best_value_exact <= 1e-10
    [(low, high)] = result.best_region
    assert low <= BEST <= high and high - low < 1e-4
    assert result.baselines["half"] < result.best_value


def test_robust_setting(result):
    # The mean is its maximum minus (x - best)^2, so that it stays within 1/100 up to 1/10 away.
    low, high = result.landscape.widest_plateau(0.01)
    assert (low, high) == (pytest.approx(BEST - 0.1, abs=1e-8), pytest.approx(BEST + 0.1, abs=1e-8))
    assert result.robust_params["x"] == pytest.approx(BEST)


def test_parallel_runs_are_identical(result):
    with joblib.parallel_config("threading"):
        again = ct.tune(HillFamily(), HILLS, n_jobs=2)
    assert again.landscape == result.landscape and again.best_params == result.best_params


def test_loose_errors_are_not_called_optimal():
    class Loose(HillFamily):
        tolerance = 1e-13

    assert ct.tune(Loose(), HILLS).status is ct.Status.UNDECIDED


def test_a_run_that_disagrees_is_noticed():
    class Wrong(HillFamily):
        def run_exact(self, instance, params):
            return super().run_exact(instance, params) - Fraction(1, 10**6)

    with pytest.raises(ct.CertificateError, match="dual and run disagree"):
        ct.tune(Wrong(), HILLS)


def test_certificate_is_verified_also_from_a_file(result, tmp_path):
    path = tmp_path / "certificate.json"
    result.certificate.save(path)
    loaded = ct.Certificate.load(path)
    assert loaded == result.certificate
    report = ct.verify(loaded, HillFamily(), HILLS)
    assert report.optimal and report.n_runs >= 9


def test_certificate_of_a_part_of_the_instances():
    def stop(progress):
        return progress.n_finished == 2

    result = ct.tune(HillFamily(), HILLS, callbacks=[stop])
    report = ct.verify(result.certificate, HillFamily(), HILLS)
    assert not report.optimal and report.n_covered == 2


def changed(certificate, **changes):
    return dataclasses.replace(certificate, **changes).sealed()


def refuse(certificate, message):
    with pytest.raises(ct.CertificateError, match=message):
        ct.verify(certificate, HillFamily(), HILLS)


def test_false_claims_are_refused(result):
    certificate = result.certificate
    best, bound = certificate.best_value, certificate.upper_bound
    [(low, high)] = certificate.best_region
    refuse(changed(certificate, best_value=best + Fraction(1, 10**9)), "is not attained")
    refuse(changed(certificate, upper_bound=best - Fraction(1, 10**9)), "upper bound cannot be")
    away = changed(certificate, best_region=((low, BEST - 1e-6),), best_point=low)
    refuse(away, "optimal set cannot be proved|not attained")
    refuse(changed(certificate, best_region=((high, low),)), "outside of|not in order")
    refuse(changed(certificate, best_point=0.1), "outside of the optimal set")
    assert bound > best


def test_changed_functions_are_refused(result):
    certificate = result.certificate
    first = certificate.duals[0]
    lower = first - ct.PiecewisePolynomial([0], [1], [[1e-6]], [0.0], [], [], "x")
    duals = (lower, *certificate.duals[1:])
    landscape = ct.mean(duals)
    forged = changed(
        certificate,
        duals=duals,
        best_value=landscape.max_exact,
        best_region=tuple(landscape.argmax()),
        best_point=landscape.best_point,
        upper_bound=landscape.upper_bound_exact,
    )
    refuse(forged, "first: .* family.run gives")


def test_a_bump_between_the_runs_is_refused(result):
    """T_4 vanishes nowhere at the ends and in the middle, but its shift by 1 does."""
    certificate = result.certificate
    arrays = certificate.duals[0].to_arrays()
    rows = np.pad(arrays["coefficients"], ((0, 0), (0, 2)))
    rows[:, 0] -= 1e-6
    rows[:, 4] += 1e-6
    duals = (
        ct.PiecewisePolynomial.from_arrays({**arrays, "coefficients": rows}),
        *certificate.duals[1:],
    )
    landscape = ct.mean(duals)
    forged = changed(
        certificate,
        duals=duals,
        best_value=landscape.max_exact,
        best_region=tuple(landscape.argmax()),
        best_point=landscape.best_point,
        upper_bound=landscape.upper_bound_exact,
    )
    refuse(forged, "a fresh function differs")


def test_mixed_functions_can_be_averaged():
    step = StepFamily().dual(StepInstance((0.25,), (0, 1)))
    total = ct.mean([step, HillFamily().dual(HILLS[0])])
    assert isinstance(total, ct.PiecewisePolynomial)
    assert total(1.0) == pytest.approx((1 + 1 - 0.75**2) / 2)


def test_pictures(result, tmp_path):
    figure = result.plot_landscape(tmp_path / "hills.png")
    line = figure.axes[0].lines[0]
    x, y = line.get_data()
    expected = 1 - np.mean([(x - hill.top) ** 2 for hill in HILLS], axis=0)
    np.testing.assert_allclose(y, expected, atol=1e-9)
    assert (tmp_path / "hills.png").stat().st_size > 1000


def test_summary(result):
    text = str(result)
    assert "OPTIMAL" in text and "best parameter" in text and not math.isnan(result.gap)
