"""Theorems with their constants beside what is measured."""

import math
from itertools import islice

import numpy as np
import pytest

import certune as ct
from certune.online import forms
from certune.online.random_grid import RandomGrid
from certune.online.schedule import Schedule
from certune.online.streams import smoothed_clustering
from certune.pfaffian.bounds.product_dispersion import (
    product_comparisons,
    product_discontinuities,
    product_window_probability,
)


def deviation(n_functions, n_changes):
    return math.sqrt(2 * n_functions * math.log(math.comb(n_functions * n_changes + 1, 2) + 1))


def smoothed_duals(family, n_points, n_metrics, n_functions):
    base = np.ones((n_metrics, n_points, n_points))
    stream = smoothed_clustering(base, np.arange(n_points) % 2, 1.0, 7)
    return [family.dual(instance) for instance in islice(stream, n_functions)]


def test_min_max_linkage_stays_under_its_form():
    duals = smoothed_duals(ct.Linkage("min-max", alpha=(0.5, 4)), 7, 1, 250)
    measured = ct.dispersion(duals)
    form = forms.min_max_linkage(7, density=1.0, largest_distance=2.0, smallest_exponent=0.5)
    # T (12 C(m,4) + 6 C(m,3)) 2 kappa R w / (e alpha_min^2) + deviation, m = 21, P = C(22, 4).
    events = 12 * math.comb(21, 4) + 6 * math.comb(21, 3)
    width = 1e-7
    spread = 250 * events * 2 * 2 * width / (math.e * 0.25)
    assert form(250, width) == pytest.approx(spread + deviation(250, math.comb(22, 4)), rel=1e-9)
    compared = measured.compare(form)
    assert compared.holds and compared.quotients.max() <= 1
    assert compared.bounds.shape == measured.at_most.shape
    # Not for a trivial reason: there are windows on which the form is below T, and counts above 0.
    assert compared.informative[-1].any() and compared.counts[-1][compared.informative[-1]].max()
    text = str(compared)
    assert "thm:linkage-dispersion" in text and "D stays under it" in text and "kappa" in text


def test_product_linkage_stays_under_its_form():
    duals = smoothed_duals(ct.Linkage("product", alpha=[(0.5, 4), 1.0]), 6, 2, 300)
    form = forms.product_linkage(6, 1.0, 2.0, 0.5, [1.0])
    compared = ct.dispersion(duals, widths=np.geomspace(1e-10, 1.0, 6)).compare(form)
    assert compared.holds and compared.informative[-1].any()
    assert compared.counts[-1][compared.informative[-1]].max() > 0
    assert compared.label == "thm:linkage-dispersion-geometric"


def test_product_constants():
    # n = 3: one comparison for each single X, m = 2 pairs in each, one root.
    assert product_comparisons(3) == 3 and product_discontinuities(3) == 3
    # n = 4, by enumeration of disjoint non-empty X and unordered {Y, Z}.
    sets = [s for s in range(1, 16)]
    count = sum(
        x & y == 0 and x & z == 0 and y & z == 0 for x in sets for y in sets for z in sets if y < z
    )
    assert product_comparisons(4) == count
    with pytest.raises(ct.ParameterError, match="product must be at least 1"):
        product_window_probability(3, 0.1, 1.0, 1.0, [1.0], 0.1)


@pytest.mark.parametrize("other", [0.0, 0.7, -2.0])
def test_window_probability_of_product_linkage(other):
    # Three points with uniform distances on [0, 1]: pairs i, j swap at a = -other ln(e_i/e_j) /
    # ln(d_i/d_j), d and e their distances in the moving and in the other metric.
    rng = np.random.default_rng(2)
    d, e = np.log(rng.random((2, 200_000, 3)))
    for low, width in ((0.5, 0.02), (1.0, 0.1), (3.0, 0.3)):
        hit = np.zeros(len(d), dtype=bool)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            root = -other * (e[:, i] - e[:, j]) / (d[:, i] - d[:, j])
            hit |= (root >= low) & (root <= low + width)
        bound = product_window_probability(3, 1.0, 1.0, low, [other], width).value
        assert hit.mean() <= bound
        # K m (m-1) (kappa R w / alpha_min^2) (1/e + 2 |other| + ln 1) with K = 3, m = 2.
        expected = 3 * 2 * width / low**2 * (1 / math.e + 2 * abs(other))
        assert bound == pytest.approx(expected, rel=1e-12)


def test_expected_logarithm_behind_the_constants():
    # ln(R/d) with density at most kappa: largest for the uniform density on [0, 1/kappa].
    rng, largest, kappa = np.random.default_rng(3), 5.0, 2.0
    worst = np.mean(np.log(largest / (rng.random(400_000) / kappa)))
    assert worst == pytest.approx(1 + math.log(kappa * largest), abs=0.01)
    assert np.mean(np.log(largest / (rng.random(400_000) * largest))) <= worst


def test_independent_functions_and_pfaffian_boundaries():
    form = forms.independent_functions(2, lambda width: 3 * width)
    assert form(1000, 0.01) == pytest.approx(30 + deviation(1000, 2))
    assert form(1000, 5.0) == 1000 and form(10, 0.01) == 10 and form(1000, 0.0) < form(1000, 0.01)
    # exp: q = M = Delta = 1, R = 2 points on a line; 4 boundaries have P = 8.
    pfaffian = forms.pfaffian_boundaries(4, 1, 1, 1, lambda width: width)
    assert pfaffian.n_discontinuities == 8
    constant = ct.pfaffian.bounds.dispersion.shattering_constant(1, 1, 1)
    assert f"shatter {constant} such" in pfaffian.note and "thm:alg-hyp" in pfaffian.note
    step = ct.PiecewiseFunction.constant(0, 1, 1)
    assert "thm:alg-hyp" in str(ct.dispersion([step] * 5).compare(pfaffian))


def test_the_kinks_of_the_random_grid_are_dispersed():
    horizon = 256
    line = ct.online.OnlineTuner(ct.testing.StepFamily(), horizon).lines[0]
    learner = RandomGrid([line], Schedule("horizon", horizon, 1.0))
    rng, kinks = np.random.default_rng(0), []
    for _ in range(horizon):
        inner = learner.questions(rng)[1:-1]
        below = np.nextafter(inner, 0)
        values = np.arange(inner.size + 1) % 2
        kinks.append(
            ct.PiecewiseFunction(
                np.append(0.0, inner), np.append(below, 1.0), values,
                [0] * inner.size, [1] * inner.size, 1,
            )
        )  # fmt: skip
    compared = ct.dispersion(kinks, widths=[1e-3, 0.01, 0.1]).compare(forms.random_grid(horizon))
    assert compared.holds and compared.informative[-1].all()
    # f(T, r) = r T / epsilon + deviation, epsilon = T^(-1/4).
    assert forms.random_grid(horizon)(horizon, 0.01) == pytest.approx(
        0.01 * 256 * 4 + deviation(256, 4)
    )
    with pytest.raises(ct.ParameterError, match="horizon must be a whole number"):
        forms.random_grid(0)


def test_any_function_can_be_compared_with():
    step = ct.PiecewiseFunction([0, 0.5], [0.4, 1], [0, 1], [0], [1], 1)
    compared = ct.dispersion([step] * 4, widths=[0.1]).compare(lambda size, width: 1.0)
    assert not compared.holds and compared.quotients.max() == 4
    assert "D exceeds it" in str(compared) and compared.label == "the given form"


@pytest.mark.parametrize(
    "call",
    [
        lambda: forms.random_grid("a"),
        lambda: forms.random_grid(0),
        lambda: forms.random_grid(10, "a"),
        lambda: forms.random_grid(10, math.nan),
        lambda: forms.random_grid(10)(0, 0.1),
        lambda: forms.random_grid(10)(10, math.nan),
        lambda: forms.random_grid(10)(10, -1.0),
        lambda: forms.independent_functions(0, lambda width: width),
        lambda: forms.independent_functions(1, 0.3),
    ],
)
def test_bad_constants_are_refused(call):
    with pytest.raises(ct.ParameterError, match="must be"):
        call()


def test_numbers_of_numpy_are_numbers():
    expected = forms.random_grid(16)(100, 0.25)
    assert forms.random_grid(np.int64(16))(np.int64(100), np.float64(0.25)) == expected
