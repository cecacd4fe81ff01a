"""Sample sizes and deviations: recomputed, and held against simulations with a known truth."""

from math import e, log, sqrt

import numpy as np
import pytest

import certune as ct
from certune.errors import ParameterError
from certune.pfaffian.bounds.generalization import (
    excess_bound,
    instances_by_chaining,
    instances_by_pollard,
    instances_for_growth,
    observed_excess_bound,
    observed_gap_bound,
    rademacher_bound,
    rademacher_through_surrogate,
)
from certune.pfaffian.bounds.growth import LineGrowth, SauerGrowth
from certune.pfaffian.structure import HomogeneousStructure, LineCount

THRESHOLDS = LineGrowth(LineCount(n_breakpoints=1))


def test_rademacher_bound_holds_for_thresholds():
    # u_a(x) = [x <= a] has dimension 1; sup_a of the signed sum is the largest prefix sum.
    rng = np.random.default_rng(0)
    for n in (20, 200):
        signs = rng.choice([-1, 1], size=(4000, n))
        suprema = np.maximum(np.cumsum(signs, axis=1).max(axis=1), 0) / n
        assert suprema.mean() + 4 * suprema.std() / sqrt(4000) <= rademacher_bound(1, n).value


def test_rademacher_bound_is_the_smaller_of_two():
    assert rademacher_bound(3, 100).value == pytest.approx(sqrt(2 * 3 * log(100 * e / 3) / 100) / 2)
    # Chaining wins when ln(eN/D) > 288 (1 + ln 2).
    n = 10**220
    assert rademacher_bound(1, n, 2.0).value == pytest.approx(24 * sqrt(1 + log(2)) / sqrt(n))


def test_excess_bound_covers():
    # Instances are uniform x; u_a(x) = [x <= a] with probability 0.8 and [x > a] otherwise: the
    # best expectation is 0.8, at a = 1, and the expectation at a is 0.8 a + 0.2 (1 - a).
    rng = np.random.default_rng(1)
    n, delta, failures = 200, 0.2, 0
    bound = excess_bound(THRESHOLDS, n, delta).value
    for _ in range(300):
        x, flip = rng.random(n), rng.random(n) < 0.2
        order = np.argsort(x)
        below = np.where(flip, 0, 1)[order]
        above = np.where(flip, 1, 0)[order]
        totals = np.concatenate([[0], np.cumsum(below)]) + above.sum()
        totals -= np.concatenate([[0], np.cumsum(above)])
        a = np.concatenate([[0.0], np.sort(x)])[np.argmax(totals)]
        failures += 0.8 - (0.8 * a + 0.2 * (1 - a)) > bound
        gap = totals.max() / n - (0.8 * a + 0.2 * (1 - a))
        assert gap <= observed_gap_bound(n + 1, n, 1e-4).value
    assert failures <= 0.2 * 300


def test_excess_bound_formula():
    value = excess_bound(THRESHOLDS, 50, 0.1, utility_range=2.0).value
    assert value == pytest.approx(2 * sqrt(2 * log(51) / 50) + 2 * sqrt(2 * log(10) / 50))
    through = excess_bound(THRESHOLDS, 50, 0.1, 2.0, surrogate_error=0.25)
    assert through.value == pytest.approx(value + 0.5)
    assert through.label == "lm:approximation-peice-wise-struture-1"


def test_observed_bounds():
    gap, excess = observed_gap_bound(7, 100, 0.05), observed_excess_bound(7, 100, 0.05)
    assert gap.value == pytest.approx(sqrt(2 * log(7) / 100) + 3 * sqrt(log(40) / 200))
    assert excess.value == pytest.approx(sqrt(2 * log(7) / 100) + 4 * sqrt(log(60) / 200))


def test_sample_size_is_the_first_that_suffices():
    size = instances_for_growth(THRESHOLDS, 0.1, 0.05)

    def excess(n):
        return sqrt(2 * log(1 + n) / n) + sqrt(2 * log(20) / n)

    assert excess(size.n_instances) <= 0.1 < excess(size.n_instances - 1)


def test_classical_sample_sizes():
    by_hand = (24 * sqrt((1 + log(2)) * 7) + sqrt(2 * log(20))) ** 2 / 0.1**2
    assert instances_by_chaining(7, 0.1, 0.05).n_instances == pytest.approx(by_hand, abs=1)
    packing = log(8 * e * 8 / 0.05) + 7 * log(32 * e / 0.1)
    by_hand = 512 * packing / 0.01
    assert instances_by_pollard(7, 0.1, 0.05).n_instances == pytest.approx(by_hand, abs=1)


def test_sample_size_of_a_structure_lists_all_results():
    size = ct.sample_size(ct.Linkage("min-max").structure(20), 0.1, 0.05)
    everything = [size, *size.others]
    assert [s.n_instances for s in everything] == sorted(s.n_instances for s in everything)
    assert {s.label for s in everything} == {
        "R7", "lm:pdim-to-rademacher", "def:pseudo-dimension",
        "appx:classical-generalization-results",
    }  # fmt: skip
    double = ct.sample_size(ct.Linkage("min-max").structure(20), 0.2, 0.05, utility_range=2.0)
    assert double.n_instances == size.n_instances
    assert size.to_dict()["others"][0]["provenance"] == size.others[0].provenance


def test_constant_class_needs_confidence_only():
    constant = HomogeneousStructure(
        n_regions=1, chain_length=0, chain_degree=0, function_degree=1, n_parameters=1,
        n_level_crossings=0, source="test",
    )  # fmt: skip
    size = ct.sample_size(constant, 0.1, 0.05)
    assert size.n_instances == int(np.ceil(2 * log(20) / 0.01))


def test_surrogate_rademacher():
    assert rademacher_through_surrogate(0.5, [0.1, 0.3]).value == pytest.approx(0.7)
    assert rademacher_through_surrogate(0, [0.0]).value == 0.0
    with pytest.raises(ParameterError, match="one number for each instance"):
        rademacher_through_surrogate(0.5, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": "x"}, "epsilon must be a number"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": -0.1}, "delta must be positive"),
        ({"utility_range": float("inf")}, "utility_range must be finite"),
        ({"epsilon": float("nan")}, "epsilon must be finite"),
    ],
)
def test_bad_targets_are_refused(options, message):
    given = {"epsilon": 0.1, "delta": 0.05, **options}
    with pytest.raises(ParameterError, match=message):
        ct.sample_size(ct.Linkage("min-max").structure(5), **given)


def test_sauer_growth_is_used_for_a_known_dimension():
    size = instances_for_growth(SauerGrowth(2), 0.5, 0.5)
    n = size.n_instances
    assert sqrt(4 * log(e * n / 2) / n) + sqrt(2 * log(2) / n) <= 0.5
