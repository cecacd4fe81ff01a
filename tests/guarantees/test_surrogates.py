"""Step surrogates of smooth utilities: distances at points, complexity, bounds, coverage."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import certune as ct
from certune.guarantees import (
    SurrogateClass,
    Tuned,
    bootstrap,
    cross_validate,
    learning_curve,
    make_guarantee,
    rademacher,
    rademacher_bound,
    refine,
    smooth_sample,
    step_surrogate,
    sup_distance,
    surrogate_bound,
)
from certune.guarantees.rademacher import optimism_from_complexity

RANGE = (Fraction(0), Fraction(1))


def random_curve(rng, scale):
    """Three pieces; the first two touch and agree there, a gap with bounds follows."""
    low = 0.001 if scale == "log" else -1.0
    ends = [low, 0.1, 0.5, 2.0]
    coefficients = rng.normal(size=(3, 7)) * 0.03
    coefficients[:, 0] = 0.5
    # T_k(1) = 1 and T_k(-1) = (-1)^k: shift the second piece to meet the first.
    first = coefficients[0].sum()
    coefficients[1, 0] += first - (coefficients[1] * (-1.0) ** np.arange(7)).sum()
    starts, stops = [ends[0], ends[1], 0.6], [ends[1], ends[2], ends[3]]
    return ct.PiecewisePolynomial(
        starts, stops, coefficients, [1e-9] * 3, [0, 0.1], [0, 0.9], "t", scale
    )


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("error", [Fraction(1, 20), Fraction(1, 1000)])
def test_steps_stay_within_their_error(scale, error):
    rng = np.random.default_rng(1)
    for _ in range(5):
        curve = random_curve(rng, scale)
        steps, reached = step_surrogate(curve, error)
        assert reached <= error * Fraction(102, 100)
        points = rng.uniform(curve.low, curve.high, 3000)
        if scale == "log":
            points = np.exp(rng.uniform(math.log(curve.low), math.log(curve.high), 3000))
        points = np.concatenate((points, steps.starts, steps.stops))
        values, wanted = steps(points), curve(points)
        decided = ~np.isnan(wanted)
        assert np.array_equal(decided, (points <= 0.5) | (points >= 0.6))
        assert not np.isnan(values[decided]).any()
        assert np.abs(values - wanted)[decided].max() <= float(reached) + 1e-8
        low, high = steps.enclose_exact(0.55)
        assert low <= Fraction(1, 10) and high >= Fraction(9, 10)
        # No more steps than the total variation needs, up to a factor.
        grid = np.linspace(curve.low, curve.high, 20001)
        swing = np.abs(np.diff(curve(grid)))
        assert steps.n_pieces <= 4 + 2 * np.nansum(swing) / float(error)


def test_steps_are_their_own_surrogates():
    step = ct.PiecewiseFunction([0, 0.5], [0.25, 1], [1, 0], [0], [1], 1)
    assert step_surrogate(step, Fraction(1, 9)) == (step, 0)
    assert smooth_sample([step], RANGE) is None
    with pytest.raises(ct.InputError, match="surrogate needs"):
        step_surrogate(1.0, Fraction(1))
    with pytest.raises(ct.InputError, match="positive error"):
        step_surrogate(random_curve(np.random.default_rng(0), "log"), Fraction(0))


def test_distance_of_functions_on_different_scales():
    hill = ct.PiecewisePolynomial([1], [3], [[0.5, 0, -0.5]], [0], [], [])
    # The same line in t and, shifted by at most an eighth, in log t.
    line = ct.PiecewisePolynomial([1], [3], [[0.5, 0.25]], [0], [], [])
    curved = ct.PiecewisePolynomial([1], [3], [[0.5, 0.25]], [0], [], [], "t", "log")
    points = np.linspace(1, 3, 20001)
    for one, two in ((hill, line), (line, curved), (curved, hill)):
        truth = np.abs(one(points) - two(points)).max()
        found = float(sup_distance(one, two, Fraction(1, 2000)))
        assert truth - 1e-6 <= found <= truth + 5 / 2000
    assert sup_distance(hill, hill, Fraction(1, 100)) <= Fraction(3, 100)


def lines(slopes):
    """Utilities 1/2 + slope (t - 1/2) on [0, 1]."""
    return [
        ct.PiecewisePolynomial([0], [1], [[0.5, slope / 2]], [1e-12], [], []) for slope in slopes
    ]


def test_complexity_of_smooth_functions_is_enclosed():
    slopes = [0.9, -0.3, 0.5, 0.1, -0.7]
    smooth = smooth_sample(lines(slopes), RANGE)
    found = rademacher(refine(smooth.steps), middle=Fraction(1, 2))
    # A signed sum of lines is largest at an end: |sum of signed slopes| / 2.
    exact = sum(
        abs(sum(s * k for s, k in zip(signs, slopes, strict=True))) / 2
        for signs in product((-1, 1), repeat=5)
    ) / (5 * 32)
    xi = float(smooth.mean_error)
    assert 0 < xi <= 0.00102
    assert found.upper - xi <= exact + 1e-12 and exact <= found.upper + xi
    # A common centre changes nothing in the mean over all signs.
    assert found.upper == pytest.approx(rademacher(refine(smooth.steps)).upper, abs=1e-9)
    tuned = Tuned(Fraction(1, 2), 5, *RANGE)
    bound = rademacher_bound(tuned, found, Fraction(1, 20), smooth.mean_error)
    expected = 2 * (found.upper + xi) + math.sqrt(9 * math.log(20) / 10)
    assert bound.value == pytest.approx(expected, rel=1e-12)
    assert bound.name == "surrogate Rademacher" and "steps within" in bound.note


def test_guarantees_of_smooth_samples_hold_often_enough():
    # E u(t) = 1/2 for all t: what tuning gains is optimism.
    rng = np.random.default_rng(5)
    failures = 0
    for _ in range(15):
        duals = lines(rng.uniform(-1, 1, 30).tolist())
        landscape = ct.mean(duals)
        tuned = Tuned(landscape.enclose_exact(landscape.best_point)[0], 30, *RANGE)
        found = make_guarantee(
            tuned, landscape.upper_bound_exact, duals=duals, delta=0.2, n_draws=99
        )
        assert {b.name for b in found.bounds} == {"surrogate Rademacher", "surrogate Massart"}
        assert found.simple.expected_utility > 0.1
        holds = found.expected_utility <= 0.5 <= found.best_possible
        failures += not (holds and found.simple.expected_utility <= 0.5)
    # 3 are allowed on average; a valid guarantee has more than 10 with chance < 1e-4.
    assert failures <= 10


def test_the_surrogate_class_has_its_formula():
    tuned = Tuned(Fraction(1), 50, Fraction(0), Fraction(2))
    found = surrogate_bound(tuned, SurrogateClass(300, Fraction(1, 100)), Fraction(1, 20))
    cells = 2 * (299 + 600 * 50) + 1
    complexity = math.sqrt(2 * math.log(cells) / 50) + 0.01
    expected, _ = optimism_from_complexity(tuned, complexity, Fraction(1, 20), None)
    assert found.value == pytest.approx(float(expected), rel=1e-12)
    assert found.label == "thm:balcal2023" and "300 intervals" in found.note


# Stability


def parabolas(n, seed=0):
    """Utilities 3/4 - (t - c)^2 / 2 with peaks c in [0, 1], and the peaks."""
    peaks = np.random.default_rng(seed).uniform(0, 1, n)
    curves = []
    for c in peaks:
        # On [0, 1] with t = (1 + s) / 2: 3/4 - ((1 - 2c)^2 + 2 (1 - 2c) s + s^2) / 8.
        a = 1 - 2 * c
        rows = [[0.75 - a * a / 8 - 1 / 16, -a / 4, -1 / 16]]
        curves.append(ct.PiecewisePolynomial([0], [1], rows, [1e-13], [], []))
    return curves, peaks


def test_folds_of_smooth_functions_are_tuned_to_their_errors():
    curves, peaks = parabolas(7)
    found = cross_validate(curves, 7)
    for fold in found.folds:
        (i,) = fold.left_out
        best = np.delete(peaks, i).mean()
        assert fold.selection.coordinate == pytest.approx(best, abs=1e-5)
        assert fold.selection.interval[0] <= best <= fold.selection.interval[1]
        assert float(fold.value_exact) == pytest.approx(0.75 - (best - peaks[i]) ** 2 / 2, abs=1e-5)
        spread = np.delete(peaks, i).var()
        assert float(fold.tuning_value_exact) == pytest.approx(0.75 - spread / 2, abs=1e-9)


def test_bootstrap_of_smooth_functions_is_close():
    curves, peaks = parabolas(8)
    smooth = smooth_sample(curves, RANGE)
    found = bootstrap(refine(smooth.steps), 60, 3, smooth)
    weights = np.random.default_rng(3).multinomial(8, np.full(8, 1 / 8), size=60)
    best = weights @ peaks / 8
    # The loss at distance d from the best is d^2 / 2, at most twice the error.
    assert ((found.coordinates - best) ** 2 / 2 <= 2.1e-3).all()
    assert found.tolerance == pytest.approx(4e-3, rel=0.05)
    proved = (best - peaks.mean()) ** 2 / 2
    assert (proved <= 0.0018).mean() <= found.chosen_share <= (proved <= 0.0041).mean()
    assert "of the optimum" in str(found)


def test_learning_curve_of_smooth_functions():
    curves, peaks = parabolas(10)
    smooth = smooth_sample(curves, RANGE)
    curve = learning_curve(refine(smooth.steps), [2, 5], 30, 1, smooth=smooth)
    rng = np.random.default_rng(1)
    for column, size in enumerate((2, 5)):
        ranks = rng.permuted(np.tile(np.arange(10), (30, 1)), axis=1)
        means = np.array([peaks[row < size].mean() for row in ranks])
        spread = np.array([peaks[row < size].var() for row in ranks])
        assert curve.tuning[column] == pytest.approx((0.75 - spread / 2).mean(), abs=2.1e-3)
        rest = np.array(
            [((peaks[row >= size] - m) ** 2).mean() for row, m in zip(ranks, means, strict=True)]
        )
        assert curve.held_out[column] == pytest.approx((0.75 - rest / 2).mean(), abs=0.03)
        truth = (0.75 - spread / 2).mean()
        assert truth - 1e-9 <= curve.tuning_bound[column] <= truth + 2.1e-3
