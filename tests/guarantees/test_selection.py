"""Selection rules against brute force in rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import one_standard_error, optimum, smoothed_optimum, widest_plateau
from certune.guarantees.occam import level_coordinates
from certune.testing import StepFamily, WindowDomain


def sample(n, seed=0):
    instances = WindowDomain().sample(n, np.random.default_rng(seed))
    return instances, [StepFamily().dual(instance) for instance in instances]


@pytest.mark.parametrize("seed", range(4))
def test_one_standard_error_is_the_widest_good_interval(seed):
    instances, duals = sample(8, seed)
    landscape = ct.mean(duals)
    chosen = one_standard_error(landscape, duals)
    best = ct.tune(StepFamily(), instances)
    utilities = [float(u) for u in best.evaluation.utilities]
    error = np.std(utilities, ddof=1) / math.sqrt(8)
    steps = sorted(step for instance in instances for step in instance.thresholds)
    widths, start = [], None
    for low, high in zip([0.0, *steps], [*steps, 1.0], strict=True):
        good = landscape(low) >= float(landscape.max_exact) - error
        start = low if good and start is None else start
        if start is not None and good:
            widths.append((high - start, start))
        start = start if good else None
    widest, left = max(widths)
    assert chosen.interval == (left, pytest.approx(left + widest, abs=1e-12))
    assert chosen.interval[0] <= chosen.coordinate <= chosen.interval[1]
    assert landscape.max_exact - chosen.value_exact <= chosen.tolerance <= error + 1e-12


def test_a_standard_error_that_is_attained_counts():
    # Utilities 0 and 1 at the optimum: mean 1/2, variance 1/2, standard error exactly 1/2.
    first = ct.PiecewiseFunction([0, 0.25], [0.125, 1], [0, 0], [0], [0], 1)
    second = ct.PiecewiseFunction([0, 0.25], [0.125, 1], [1, 0], [0], [1], 1)
    landscape = ct.mean([first, second])
    chosen = one_standard_error(landscape, [first, second])
    assert chosen.tolerance == Fraction(1, 2) and chosen.interval == (0.0, 1.0)
    with pytest.raises(ct.ParameterError, match="at least 2"):
        one_standard_error(first, [first])


def test_plateau_is_that_of_the_function():
    _, duals = sample(6)
    landscape = ct.mean(duals)
    for epsilon in (0, 0.05, Fraction(1, 3)):
        assert widest_plateau(landscape, epsilon).interval == landscape.widest_plateau(epsilon)
    assert widest_plateau(landscape).value_exact == landscape.max_exact


def averaged(instances, centre, width):
    """Bounds-free oracle: integrate the steps of every instance in rational arithmetic."""
    low, high = centre - width / 2, centre + width / 2
    total = Fraction(0)
    for instance in instances:
        ends = [low, *(Fraction(s) for s in instance.thresholds if low < s < high), high]
        for left, right in zip(ends, ends[1:], strict=False):
            middle = (left + right) / 2
            index = sum(Fraction(step) <= middle for step in instance.thresholds)
            total += (right - left) * instance.utilities[index]
    return total / (len(instances) * width)


@pytest.mark.parametrize("width", [Fraction(1, 20), 0.3, 1])
def test_smoothed_optimum_beats_every_other_window(width):
    instances, duals = sample(5, seed=1)
    landscape = ct.mean(duals)
    chosen = smoothed_optimum(landscape, width)
    exact = Fraction(width)
    low, high = chosen.smoothed
    value = averaged(instances, Fraction(chosen.coordinate), exact)
    # Gaps are one unit of rounding wide here, so that the bounds are too.
    assert abs(value - low) < 1e-14 and low <= high < low + Fraction(1, 10**14)
    kinks = [
        Fraction(s) + sign * exact / 2 for i in instances for s in i.thresholds for sign in (-1, 1)
    ]
    centres = [c for c in [*kinks, exact / 2, 1 - exact / 2] if exact / 2 <= c <= 1 - exact / 2]
    assert max(averaged(instances, c, exact) for c in centres) <= high + Fraction(1, 10**14)


# Logarithmic scales: the same rule on the function of the logarithm


def on_logarithms(function):
    """The function of x = log t, with rounded ends."""
    starts, stops = np.log(function.starts), np.log(function.stops)
    return ct.PiecewiseFunction(
        starts,
        stops,
        function.numerators,
        function.gap_lower,
        function.gap_upper,
        function.denominator,
    )


def decades(seed, n_pieces=9):
    """A function on [1e-4, 10] with random pieces, uniform in the logarithm, and visible gaps."""
    rng = np.random.default_rng(seed)
    cuts = np.exp(np.sort(rng.uniform(math.log(1e-4), math.log(10), n_pieces - 1)))
    starts, stops = np.append(1e-4, cuts * 1.01), np.append(cuts, 10.0)
    values = rng.integers(0, 6, n_pieces)
    lower, upper = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    return ct.PiecewiseFunction(starts, stops, values, lower, upper, 6)


@pytest.mark.parametrize("seed", range(6))
def test_logarithmic_rules_are_linear_rules_of_the_logarithm(seed):
    function = decades(seed)
    image = on_logarithms(function)
    for epsilon in (0, Fraction(1, 6), Fraction(1, 3)):
        found = widest_plateau(function, epsilon, scale="log")
        wanted = widest_plateau(image, epsilon)
        assert np.log(found.interval) == pytest.approx(wanted.interval, abs=1e-12)
        assert math.log(found.coordinate) == pytest.approx(wanted.coordinate, abs=1e-12)
    for width in (0.5, Fraction(3), 8):
        found, wanted = smoothed_optimum(function, width, "log"), smoothed_optimum(image, width)
        assert math.log(found.coordinate) == pytest.approx(wanted.coordinate, abs=1e-9)
        assert np.log(found.interval) == pytest.approx(wanted.interval, abs=1e-9)
        for one, two in zip(found.smoothed, wanted.smoothed, strict=True):
            assert float(one) == pytest.approx(float(two), abs=1e-9)
    points = [math.log(t) for t in level_coordinates(1e-4, 10.0, 4, "log")]
    plain = level_coordinates(math.log(1e-4), math.log(10), 4)
    assert points == pytest.approx(plain, abs=1e-12)


def test_scales_differ_where_they_should():
    # Wide in t: [5, 10]; wide in log t: [0.001, 0.01].
    function = ct.PiecewiseFunction(
        [0.001, 0.02, 5.0], [0.01, 4.9, 10.0], [1, 0, 1], [0, 0], [1, 1], 1
    )
    assert widest_plateau(function).interval == (5.0, 10.0)
    chosen = widest_plateau(function, scale="log")
    assert chosen.interval == (0.001, 0.01)
    assert chosen.coordinate == pytest.approx(math.sqrt(1e-5), rel=1e-15)
    for bad in (-1.0, 0.0):
        linear = ct.PiecewiseFunction.constant(bad, 1, 1)
        with pytest.raises(ct.ParameterError, match="positive domain"):
            widest_plateau(linear, scale="log")
    with pytest.raises(ct.ParameterError, match="scale must be one of"):
        widest_plateau(function, scale="cubic")
    with pytest.raises(ct.ParameterError, match="in logarithms"):
        smoothed_optimum(function, 10, "log")


def test_smooth_functions_have_every_rule():
    # 1 - (log t)^2 / 8 on [1/e^2, e^4], in polynomials of log t: s = (x - 1) / 3.
    # x = 1 + 3 s: x^2 / 8 = (1 + 6 s + 9 s^2) / 8, and s^2 = (1 + T_2) / 2.
    rows = [[1 - 1 / 8 - 9 / 16, -6 / 8, -9 / 16]]
    low, high = math.exp(-2), math.exp(4)
    hill = ct.PiecewisePolynomial([low], [high], rows, [1e-12], [], [], "t", "log")
    assert optimum(hill).coordinate == pytest.approx(1, abs=1e-5)
    chosen = widest_plateau(hill, 1 / 8, scale="log")
    assert np.log(chosen.interval) == pytest.approx([-1, 1], abs=1e-5)
    assert chosen.coordinate == pytest.approx(1, abs=1e-5)
    # The average of x^2 / 8 over [-1, 1] is 1 / 24.
    averaged = smoothed_optimum(hill, 2, "log")
    assert averaged.smoothed[0] <= 1 - 1 / 24 <= averaged.smoothed[1]
    assert averaged.smoothed[1] - averaged.smoothed[0] < 0.01
    assert math.log(averaged.coordinate) == pytest.approx(0, abs=0.1)
    # Utilities 1 +- 1/2 at the optimum: a standard error of 1/2, x^2 / 8 = 1/2 at x = +- 2.
    duals = [hill * Fraction(1, 2), hill * Fraction(3, 2)]
    found = one_standard_error(hill, duals, "log")
    assert np.log(found.interval) == pytest.approx([-2, 2], abs=1e-5)


def test_smoothing_many_pieces_finds_the_best_window():
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.uniform(0, 1, 9999))
    values = rng.integers(0, 100, 10_000)
    function = ct.PiecewiseFunction(
        np.append(0, np.nextafter(cuts, 2)),
        np.append(cuts, 1),
        values,
        np.minimum(values[:-1], values[1:]),
        np.maximum(values[:-1], values[1:]),
        100,
    )
    found = smoothed_optimum(function, Fraction(1, 20))
    ends = np.concatenate(([0.0], cuts, [1.0]))
    integral = np.concatenate(([0.0], np.cumsum(np.diff(ends) * values / 100)))

    def average(centre):
        window = np.interp([centre - 1 / 40, centre + 1 / 40], ends, integral)
        return (window[1] - window[0]) * 20

    grid = np.concatenate((cuts - 1 / 40, cuts + 1 / 40))
    grid = grid[(grid >= 1 / 40) & (grid <= 39 / 40)]
    assert average(found.coordinate) == pytest.approx(max(map(average, grid)), abs=1e-9)
    assert float(found.smoothed[0]) == pytest.approx(average(found.coordinate), abs=1e-9)


def test_smoothing_prefers_wide_plateaus():
    peak = ct.PiecewiseFunction(
        [0, 0.25, 0.5], [0.125, 0.3125, 1], [0, 10, 9], [0, 0], [10, 10], 10
    )
    assert widest_plateau(peak).interval == (0.25, 0.3125)
    chosen = smoothed_optimum(peak, 0.25)
    assert chosen.interval == (0.625, 0.875) and chosen.smoothed == (Fraction(9, 10),) * 2
    assert chosen.coordinate == 0.75
    for width in (0, -1, 2, math.nan, "wide"):
        with pytest.raises(ct.ParameterError, match="width"):
            smoothed_optimum(peak, width)


def test_a_selection_is_printed_in_words():
    instances = ct.datasets.random_clustering(4, n_clusters=3, n_per_cluster=4, spread=0.4)
    result = ct.tune(ct.Linkage("power-mean", alpha=(-4, 4)), instances)
    told = str(result.select("plateau", epsilon=0.02))
    assert told.startswith(f"alpha = {result.select('plateau', epsilon=0.02).params['alpha']:.8g}")
    assert "mean utility 0." in told and "'plateau' from [" in told and "Fraction" not in told
    metrics = ("euclidean", "cityblock")
    pairs = ct.datasets.random_clustering(2, n_clusters=3, n_per_cluster=4, metrics=metrics)
    both = ct.Linkage("power-mean", alpha=(0.5, 4), weights="tune", n_metrics=2)
    told = str(ct.tune(both, pairs).select("one-standard-error"))
    assert "weights = (" in told and "Fraction" not in told
