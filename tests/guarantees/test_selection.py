"""Selection rules against brute force in rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import one_standard_error, smoothed_optimum, widest_plateau
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
