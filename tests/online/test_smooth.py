"""Smooth utilities: the randomised grid on logistic regression, its regret, bound and state."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.online.interpolation import distance_bound, middles
from certune.online.learner import Observed
from certune.online.lines import Line
from certune.online.random_grid import RandomGrid, _centre_of_growth
from certune.online.schedule import Rates, Schedule
from certune.pfaffian import exp
from certune.space import Segment

LAM = (1e-2, 10.0)
SMOOTH = {"l1": (1e-2, 1.0), "l2": LAM}


def problem(rng, n_train=16):
    while True:
        X = rng.normal(size=(n_train + 20, 3))
        y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1)
        if np.unique(y[:n_train]).size == 2:
            return ct.ClassificationInstance(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


PROBLEMS = [problem(np.random.default_rng(seed)) for seed in range(12)]
FAMILIES = {penalty: ct.RegularizedLogistic(penalty, lam=lam) for penalty, lam in SMOOTH.items()}
DUALS = {name: [family.dual(p) for p in PROBLEMS] for name, family in FAMILIES.items()}


@pytest.mark.parametrize("penalty", FAMILIES)
def test_regret_is_known_up_to_the_stated_errors_of_the_curves(penalty):
    family = FAMILIES[penalty]
    tuner = ct.OnlineTuner(family, random_state=0, learner="random-grid")
    earned = 0.0
    for instance in PROBLEMS:
        earned += family.run(instance, tuner.propose())
        tuner.update(instance)
    regret = tuner.regret()
    errors = 2 * len(PROBLEMS) * family.tolerance
    assert 0 <= regret.uncertainty <= errors and not regret.is_exact
    assert "known up to" in str(regret)
    assert abs(float(regret.earned_bounds[0]) - earned) <= errors
    # The best fixed lambda by plain runs: nothing on a grid is better, and the best point is so.
    total = tuner.landscapes()[0]
    grid = np.geomspace(family.lam[0], family.lam[1], 60)
    tried = max(sum(family.run(instance, lam) for instance in PROBLEMS) for lam in grid.tolist())
    reached = sum(family.run(instance, total.best_point) for instance in PROBLEMS)
    assert tried <= float(regret.best_bounds[1]) + errors
    assert reached == pytest.approx(float(regret.best_bounds[0]), abs=errors)


@pytest.mark.parametrize("schedule", ["horizon", "doubling", "anytime", "adaptive"])
@pytest.mark.parametrize("penalty", FAMILIES)
def test_expected_regret_is_right_and_under_its_bound(penalty, schedule):
    family, duals = FAMILIES[penalty], DUALS[penalty]
    horizon = 60 if schedule == "horizon" else None
    tuner = ct.OnlineTuner(family, horizon, 3, learner="random-grid", schedule=schedule)
    line = tuner.lines[0]
    positions = line.low + line.length * (np.arange(20_000) + 0.5) / 20_000
    coordinates = np.array([line.coordinate(x) for x in positions.tolist()])
    expected = 0.0
    for number in range(60):
        if number < 12:
            density = tuner.learner.density(0, positions)
            assert density.mean() * line.length == pytest.approx(1.0, rel=1e-6)
            expected += float(np.mean(density * duals[number](coordinates))) * line.length
        tuner.update(dual=duals[number % 12])
        if number == 11:
            # The stated expectation is known up to the distance from lines between the windows.
            known = tuner.regret().expected_earned
            assert known == pytest.approx(expected, abs=2e-3)
    for point in tuner.regret_curve():
        assert point.expected <= point.bound


def test_bound_is_the_formula():
    # The curves are linear in the logarithm, so that interpolants are exact: no surrogate error.
    line = Line(Segment.coordinate("t", 1.0, math.e), logarithmic=True)
    learner = RandomGrid([line], Schedule("horizon", 16, 2.0))
    dual = ct.PiecewisePolynomial([1.0], [math.e], [[0.5, 0.25]], [0.0], [], [], "t", "log")
    rng = np.random.default_rng(0)
    for _ in range(16):
        points = learner.questions(rng)
        learner.learn(Observed((line,), 0, 0.5, 0.5, (dual,), points, 0.25 + 0.5 * points))
    rate = math.sqrt(8 * math.log(16) / 16) / 2
    assert learner.surrogate_error < 1e-12
    # Slope 1/2 in each of 16 rounds, H = 2: ln(1/w)/rate + 16 rate H^2/8 + 16 w/2.
    expected = math.log(8) / rate + 16 * rate * 4 / 8 + 16 * 0.5 / 8
    assert learner.learning_bound(1 / 8) == pytest.approx(expected, rel=1e-9)


def test_surrogates_of_the_paper_can_be_learned_from():
    family = FAMILIES["l2"]
    epsilon = LAM[0] / 4
    tuner = ct.OnlineTuner(
        family, 40, 0, learner="random-grid",
        surrogate=lambda instance, lam: family.surrogate_dual(instance, epsilon)(lam),
    )  # fmt: skip
    exact = ct.OnlineTuner(family, 40, 0, learner="random-grid")
    for instance, dual in zip(PROBLEMS[:3], DUALS["l2"], strict=False):
        tuner.update(instance, dual)
        exact.update(instance, dual)
    # Close to the curves themselves, and further from them than these.
    np.testing.assert_allclose(tuner.learner._totals, exact.learner._totals, atol=1e-3)
    assert exact.learner.surrogate_error < tuner.learner.surrogate_error + 1e-3
    assert tuner.regret().best_bounds == exact.regret().best_bounds


@pytest.mark.parametrize("penalty", FAMILIES)
def test_distances_are_bounds_and_not_loose(penalty):
    for dual in DUALS[penalty][:4]:
        for n in (3, 9, 65):
            at = np.geomspace(dual.low, dual.high, n)
            at[0], at[-1] = dual.low, dual.high
            values = middles(dual, at)
            bound = distance_bound(dual, at, values, logarithmic=True)
            fine = np.geomspace(dual.low, dual.high, 5000)[1:-1]
            found = np.abs(dual(fine) - np.interp(np.log(fine), np.log(at), values)).max()
            assert found <= bound <= 4 * found + 1e-6
            # On the other scale interpolants differ by at most the step between two values.
            linear = distance_bound(dual, at, values, logarithmic=False)
            found = np.abs(dual(fine) - np.interp(fine, at, values)).max()
            assert found <= linear


def test_distance_of_a_step_is_its_height():
    step = ct.PiecewiseFunction([0, 0.5], [0.4, 1], [0, 1], [0], [1], 1)
    bound = distance_bound(step, np.array([0.0, 1.0]), np.array([0.0, 1.0]), False)
    assert 0.5 <= bound <= 1.0 + 1e-12
    assert middles(step, np.array([0.1, 0.45, 0.9])).tolist() == [0.0, 0.5, 1.0]


def test_centre_of_an_exponential_density():
    s = (np.arange(20_000) + 0.5) / 20_000
    for slope in (-800.0, -3.0, -0.02, -0.005, 0.0, 1e-8, 0.009, 0.5, 40.0):
        weights = np.exp(slope * s - max(slope, 0.0))
        found = float(_centre_of_growth(np.array([slope]))[0])
        assert found == pytest.approx(float(s @ weights / weights.sum()), abs=1e-6)


def test_windows_are_halved_without_changing_the_density():
    line = Line(Segment.coordinate("x", 0, 1), logarithmic=False)
    learner = RandomGrid([line], Schedule("anytime", None, 1.0))
    rng, total = np.random.default_rng(1), np.zeros(1001)
    fine = np.linspace(0, 1, 1001)
    flat = ct.PiecewiseFunction.constant(0, 1, Fraction(1, 2))
    for number in range(1, 300):
        points = learner.questions(rng)
        assert points.size == math.ceil(number**0.25) + 2
        added, grid = rng.random(points.size), learner._points
        learner.learn(Observed((line,), 0, 0.5, 0.5, (flat,), points, added))
        total += np.interp(fine, grid, np.interp(grid, points, added))
        np.testing.assert_allclose(np.interp(fine, learner._points, learner._totals), total)
        assert learner.n_pieces >= number**0.75
    assert learner.n_pieces == 128


@pytest.mark.parametrize("options", [{"horizon": 20}, {}, {"schedule": "doubling"}], ids=str)
def test_a_continued_run_equals_an_uninterrupted_one(tmp_path, options):
    family, duals = FAMILIES["l1"], DUALS["l1"]
    whole = ct.OnlineTuner(family, random_state=5, learner="random-grid", **options)
    expected = [whole.update(PROBLEMS[n % 12], duals[n % 12]).params for n in range(20)]
    played = []
    for stop in (1, 7, 20):
        with ct.OnlineTuner(
            family, random_state=5, learner="random-grid", state=tmp_path / "state", **options
        ) as tuner:
            while (n := tuner.n_rounds) < stop:
                played.append(tuner.update(PROBLEMS[n % 12], duals[n % 12]).params)
    assert played == expected
    with ct.OnlineTuner(
        family, random_state=5, learner="random-grid", state=tmp_path / "state", **options
    ) as restored:
        assert restored.regret() == whole.regret() and restored.propose() == whole.propose()


def test_pictures_of_smooth_runs(tmp_path):
    tuner = ct.OnlineTuner(FAMILIES["l2"], random_state=0, learner="random-grid")
    for dual in DUALS["l2"]:
        tuner.update(dual=dual)
    tuner.plot_regret(tmp_path / "regret.png")
    axes = tuner.plot_density(tmp_path / "density.png").axes[0]
    assert axes.get_xscale() == "log" or axes.get_yscale() == "log"
    assert {path.name for path in tmp_path.iterdir()} == {"regret.png", "density.png"}


def test_surrogates_stay_in_the_range_of_utilities():
    family = FAMILIES["l2"]
    tuner = ct.OnlineTuner(
        family, 9, 0, learner="random-grid", surrogate=lambda instance, lam: 50.0 - 90.0 * lam
    )
    finished = tuner.update(PROBLEMS[0], DUALS["l2"][0])
    assert set(finished.values.tolist()) == {0.0, family.max_loss}


def hill_or_decay(place, p):
    t = p["t"]
    return exp(-t) if t - place[0] >= 0 else t * t


@pytest.mark.parametrize("parameter", [ct.Real("t", 0.1, 1), ct.LogReal("t", 0.1, 1)], ids=repr)
def test_programs_with_smooth_pieces_and_jumps(parameter):
    # exp(-t) from the jump on and t^2 before it; polynomials in t on either scale of the learner.
    family = ct.ProgramFamily(hill_or_decay, parameter, tolerance=1e-9)
    tuner, earned = ct.OnlineTuner(family, random_state=0, learner="random-grid"), 0.0
    places = (0.3, 0.5, 0.8, 0.4)
    for place in places:
        t = tuner.propose()["t"]
        earned += math.exp(-t) if t >= place else t * t
        tuner.update((place,))
    regret = tuner.regret()
    tried = [*places, *np.linspace(0.1, 1, 901).tolist()]
    best = max(sum(math.exp(-t) if t >= place else t * t for place in places) for t in tried)
    assert regret.value == pytest.approx(best - earned, abs=1e-8) and regret.uncertainty < 1e-8
    assert regret.value <= regret.bound


def test_what_does_not_fit_smooth_utilities_is_refused():
    family = FAMILIES["l2"]
    with pytest.raises(ct.InputError, match="use learner='random-grid'"):
        ct.OnlineTuner(family, 5, 0).update(PROBLEMS[0])
    with pytest.raises(ct.InputError, match="leave resolution=None"):
        ct.OnlineTuner(family, 5, 0, learner="random-grid", resolution=0.1).update(PROBLEMS[0])


def test_the_accuracy_is_learned_exactly():
    family = ct.RegularizedLogistic("l2", lam=LAM, metric="accuracy")
    tuner = ct.OnlineTuner(family, random_state=0)
    earned = Fraction(0)
    for instance in PROBLEMS:
        earned += family.run_exact(instance, tuner.propose())
        tuner.update(instance)
    duals = [family.dual(instance) for instance in PROBLEMS]
    best = (ct.mean(duals) * len(duals)).max_exact
    assert tuner.regret().value_bounds == (best - earned, best - earned)


def test_smooth_curves_have_no_discontinuities_and_surrogates_have():
    measured = ct.dispersion(DUALS["l2"], widths=[1.0])
    assert measured.at_most.max() == 0
    surrogates = [FAMILIES["l2"].surrogate_dual(p, 0.5) for p in PROBLEMS[:3]]
    assert ct.dispersion(surrogates, widths=[1e-9]).at_most.max() == 3


# Adaptive rates


def test_adaptive_rates_keep_the_worst_case():
    # gap <= rate/8 and gap <= 1 whatever happens; the proof in docs/theory/online.md ends with
    # ln(T + 64)/rate + sum of gaps <= sqrt(g T ln(T + 64)) + lower order, g = sqrt(1.1).
    rng = np.random.default_rng(0)
    for hardness in (1.0, 0.3, 0.0):
        rates, total, previous = Rates(Schedule("adaptive", None, 1.0)), 0.0, math.inf
        n_rounds = 5000
        for _ in range(n_rounds):
            assert rates.current <= previous
            previous = rates.current
            gap = hardness * min(rates.current / 8, 1.0) * (1 if hardness == 1 else rng.random())
            total += gap
            rates.finish(gap)
        aim, factor = math.log(n_rounds + 65), math.sqrt(1.1)
        offset = math.log(65) / 100
        assert total <= 0.5 * math.sqrt(factor * n_rounds * aim) + 1 + offset
        bound = rates.learning_bound(1 / (n_rounds + 65))
        assert bound == pytest.approx(aim / rates.current + total, rel=1e-12)
        assert bound <= math.sqrt(factor * n_rounds * aim) + (1 + offset) * (1 + aim / 4)
    assert rates.current == 100.0  # nothing was hard to predict
