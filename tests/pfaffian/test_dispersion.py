"""Constants of online learning, against enumeration and simulation."""

from itertools import combinations
from math import ceil, comb, e, log, sqrt

import numpy as np
import pytest

from certune.errors import ParameterError
from certune.pfaffian.bounds.dispersion import (
    discontinuity_deviation,
    dispersion_regret,
    hit_subsets,
    line_intersections,
    linkage_dispersion,
    linkage_window_probability,
    logistic_regret,
    power_density_bound,
    shattering_constant,
)


@pytest.mark.parametrize(("surfaces", "meets"), [(1, 1), (2, 1), (3, 1), (2, 2), (3, 3)])
def test_runs_of_intersection_points(surfaces, meets):
    points = [k % surfaces for k in range(surfaces * meets)]
    runs = {tuple(range(i, j)) for i, j in combinations(range(len(points) + 1), 2)} | {()}
    assert hit_subsets(surfaces, meets) == len(runs)
    assert len({frozenset(points[i] for i in run) for run in runs}) <= len(runs)


def test_line_intersections_with_one_variable():
    # 2^(q(q-1)/2) Delta (M + Delta)^q, q = 3, M = 2, Delta = 4.
    assert line_intersections(3, 2, 4).value == 8 * 4 * 6**3


def test_shattering_constant_on_a_line():
    # R = 2^0 * 1 * (1 + 1)^1 = 2 for exp: 2^K against C(2K + 1, 2) + 1.
    constant = shattering_constant(1, 1, 1)
    assert 2**constant > comb(2 * constant + 1, 2) + 1
    assert 2 ** (constant - 1) <= comb(2 * constant - 1, 2) + 1


def test_shattering_constant_in_the_plane_needs_an_assumption():
    with pytest.raises(ParameterError, match="leaves constants unspecified"):
        shattering_constant(1, 1, 1, n_parameters=2)
    small = shattering_constant(2, 1, 1, n_parameters=2, hidden_constant=1)
    # 2^K > 2 (C(18K+1, 2) + 1) K^((2!)^2 (4 (4 + 2))^2) 2^(2^8), with R = 2 * 2^2 = 8 ... in logs.
    power, degrees, meets = 4 * 24**2, 2**8, 2 * 1 * 2**2

    def log2_patterns(k):
        return 1 + log(comb(meets * k + 1, 2) + 1, 2) + power * log(k, 2) + degrees * log(2, 2)

    assert log2_patterns(small) < small and log2_patterns(small - 1) >= small - 1


def test_deviation_of_discontinuity_counts():
    # One uniform discontinuity for each of T functions: sup over intervals of D - E D.
    rng = np.random.default_rng(0)
    horizon, suprema = 100, []
    for _ in range(200):
        x = np.concatenate([[0.0], np.sort(rng.random(horizon)), [1.0]])
        empirical = np.arange(horizon + 2) - horizon * x
        suprema.append(empirical.max() - np.minimum.accumulate(empirical).min())
    assert np.mean(suprema) <= discontinuity_deviation(horizon, 1).value
    assert discontinuity_deviation(100, 1).value == pytest.approx(sqrt(200 * log(comb(101, 2) + 1)))


def test_window_probability_of_min_max_linkage():
    # Three points: m = 3 pairs, 6 events; distances uniform on [0, 1] (kappa = R = 1).
    rng = np.random.default_rng(2)
    d = np.sort(rng.random((400_000, 3)), axis=1)
    for low, width in ((0.5, 0.02), (1.0, 0.05), (3.0, 0.2)):
        ends = [2 * d[:, 1] ** a - d[:, 0] ** a - d[:, 2] ** a for a in (low, low + width)]
        share = np.mean(np.sign(ends[0]) != np.sign(ends[1]))
        bound = linkage_window_probability(3, 1, 1, low, width)
        assert 0 < share <= bound.value
        assert bound.value == pytest.approx(12 * width / (e * low**2))


def test_derivative_bound_behind_the_window_probability():
    # v = (a^alpha + b^alpha - c^alpha)^(1/alpha) >= a, b, c has |dv/dalpha| <= 2 R / (e alpha^2).
    rng = np.random.default_rng(3)
    a, b, c = rng.random((3, 500_000))
    for alpha in (0.3, 1.0, 2.5, 8.0):
        step = 1e-6
        inside = a**alpha + b**alpha - c**alpha
        keep = inside > np.maximum(np.maximum(a, b), c) ** alpha
        v = [
            (a[keep] ** x + b[keep] ** x - c[keep] ** x) ** (1 / x)
            for x in (alpha - step, alpha + step)
        ]
        slopes = np.abs(v[1] - v[0]) / (2 * step)
        within = v[0] <= 1
        assert slopes[within].max() <= 2 / (e * alpha**2) * (1 + 1e-4)


def test_dispersion_adds_deviation():
    window = linkage_window_probability(4, 2.0, 1.5, 0.5, 1e-9).value
    total = linkage_dispersion(4, 2.0, 1.5, 0.5, 1e-9, 50).value
    deviation = discontinuity_deviation(50, comb(7, 4)).value
    assert total == pytest.approx(50 * window + deviation)


def test_density_of_a_power():
    # X uniform on [0, 4]: density of X^(1/2) at y is 2 y / 4, at most 1 = (1/4) (1/2)^-1 4^(1/2).
    assert power_density_bound(0.25, 4, 0.5).value == pytest.approx(1.0)
    assert power_density_bound(1, 0.5, 0.5).value == pytest.approx(2.0)


def test_regret_formulas():
    bound = dispersion_regret(100, 2.0, 0.01, 5.0, lipschitz=3.0, n_parameters=2, utility_range=2.0)
    by_hand = 2 * sqrt(100 * 2 * log(200) / 2) + 2 * 5 + 100 * 3 * 0.01
    assert bound.value == pytest.approx(by_hand)
    t = 10_000
    deviation = discontinuity_deviation(t, ceil(9.9 * t**0.25) + 1).value
    expected = sqrt(t * log(9.9 * t**0.75) / 2) + sqrt(t) + deviation + 2 * t**0.25 + 6 * sqrt(t)
    assert logistic_regret(t, (0.1, 10.0), 2.0, 3.0).value == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linkage_window_probability(2, 1, 1, 1, 1), "no order of merges can change"),
        (lambda: linkage_window_probability(3, -1, 1, 1, 1), "density must be positive"),
        (lambda: power_density_bound(1, 1, 2), "at most 1"),
        (lambda: dispersion_regret(10, 1, 2, 1), "width must not exceed radius"),
        (lambda: dispersion_regret(10, 2, 1, -1), "dispersion must not be negative"),
        (lambda: logistic_regret(10, (1, 0.1), 1, 1), "low < high"),
        (lambda: logistic_regret(1, (1, 1.1), 1, 1), "too short"),
        (lambda: logistic_regret(10, (0.1, 1), -1, 1), "lipschitz must not be negative"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
