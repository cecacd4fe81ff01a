"""Regret against brute force, under its bound, and how fast it falls."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import certune as ct
from certune.online.streams import (
    halving,
    smoothed_classification,
    smoothed_clustering,
    smoothed_labeling,
    threshold_classification,
    threshold_clustering,
    threshold_labeling,
)
from certune.testing import StepFamily, StepInstance

FAMILY = StepFamily()


def random_steps(rng, n_steps=3, n_values=7):
    places = tuple(np.sort(rng.uniform(0.02, 0.98, n_steps)).tolist())
    values = [Fraction(int(rng.integers(n_values + 1)), n_values) for _ in range(n_steps + 1)]
    return StepInstance(places, tuple(values))


def play(tuner, instances, duals=None):
    """Return what was played, as parameters and utilities from plain runs."""
    earned = Fraction(0)
    for number, instance in enumerate(instances):
        params = tuner.propose()
        earned += tuner.family.run_exact(instance, params)
        finished = tuner.update(instance, None if duals is None else duals[number])
        assert finished.params == params
    return earned


def best_by_brute_force(family, instances, breakpoints):
    """Best total over one point between any two neighbouring breakpoints, by plain runs."""
    low, high = family.space.parameters[0].low, family.space.parameters[0].high
    cuts = np.unique(np.concatenate(([low, high], breakpoints)))
    return max(
        sum((family.run_exact(instance, t) for instance in instances), Fraction(0))
        for t in (0.5 * (cuts[1:] + cuts[:-1])).tolist()
    )


OPTIONS = [
    {"horizon": 40},
    {"schedule": "doubling"},
    {"schedule": "anytime"},
    {"schedule": "adaptive"},
    {"learner": "semi-bandit"},
    {"learner": "fixed-share", "horizon": 40, "shifts": 2},
    {"learner": "random-grid", "horizon": 40},
    {"learner": "random-grid", "schedule": "doubling"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_regret_equals_brute_force(options):
    rng = np.random.default_rng(0)
    instances = [random_steps(rng) for _ in range(40)]
    tuner = ct.OnlineTuner(FAMILY, random_state=1, **options)
    earned = play(tuner, instances)
    places = np.array([place for instance in instances for place in instance.thresholds])
    regret = tuner.regret()
    assert regret.is_exact
    assert regret.value_bounds[0] == best_by_brute_force(FAMILY, instances, places) - earned
    assert regret.average == pytest.approx(regret.value / 40, rel=1e-15)
    assert [point.n_rounds for point in tuner.regret_curve()][-1] == 40
    assert tuner.regret_curve()[-1].value == regret.value


def test_regret_of_linkage_equals_brute_force():
    family = ct.Linkage("power-mean", alpha=(-4, 4))
    instances = ct.datasets.random_clustering(12, n_clusters=3, n_per_cluster=4, spread=0.3)
    tuner = ct.OnlineTuner(family, horizon=12, random_state=0)
    earned = play(tuner, instances)
    breakpoints = [family.dual(instance).breakpoints.ravel() for instance in instances]
    best = best_by_brute_force(family, instances, np.concatenate(breakpoints))
    assert tuner.regret().value_bounds == (best - earned, best - earned)


def test_expected_utility_is_the_mean_of_the_density():
    rng = np.random.default_rng(2)
    tuner = ct.OnlineTuner(FAMILY, horizon=60, random_state=0)
    total = 0.0
    grid = (np.arange(200_000) + 0.5) / 200_000
    for _ in range(30):
        instance = random_steps(rng)
        density = tuner.learner.density(0, grid)
        assert density.mean() == pytest.approx(1.0, abs=1e-3)
        total += float(np.mean(density * FAMILY.dual(instance)(grid)))
        tuner.update(instance)
    regret = tuner.regret()
    assert regret.expected_earned == pytest.approx(total, abs=0.02)
    assert regret.expected == pytest.approx(float(regret.best_bounds[1]) - total, abs=0.02)


def test_a_parameter_played_in_a_gap_is_run():
    # The function is known nowhere but at the ends, and yet what was earned is.
    class Vague(StepFamily):
        def dual(self, instance, along=None):
            return ct.PiecewiseFunction([0, 1], [0, 1], [0, 1], [0], [1], 1, name="x")

    instance = StepInstance((0.5,), (0, 1))
    tuner = ct.OnlineTuner(Vague(), horizon=5, random_state=0)
    earned = play(tuner, [instance] * 5)
    regret = tuner.regret()
    assert regret.earned_bounds == (earned, earned) and regret.best_bounds == (5, 5)
    blind = ct.OnlineTuner(Vague(), horizon=5, random_state=0)
    finished = blind.update(dual=Vague().dual(instance))
    assert finished.utility_bounds == (0, 1) and finished.utility == 0.5
    assert blind.regret().value_bounds == (0, 1) and not blind.regret().is_exact


def test_undecided_gaps_bound_the_best_parameter():
    vague = ct.PiecewiseFunction([0, 0.6], [0.4, 1], [1, 1], [0], [2], 4)
    tuner = ct.OnlineTuner(FAMILY, horizon=4, random_state=3)
    while not (tuner.propose()["x"] <= 0.4 or tuner.propose()["x"] >= 0.6):
        tuner = ct.OnlineTuner(FAMILY, horizon=4, random_state=tuner._randomness.seed + 1)
    tuner.update(dual=vague)
    assert tuner.regret().best_bounds == (Fraction(1, 4), Fraction(1, 2))
    assert tuner.regret().value_bounds == (0, Fraction(1, 4))


def test_resolution_bounds_memory_and_keeps_every_statement_true():
    rng = np.random.default_rng(4)
    instances = [random_steps(rng) for _ in range(400)]
    exact = ct.OnlineTuner(FAMILY, horizon=400, random_state=0)
    small = ct.OnlineTuner(FAMILY, horizon=400, random_state=0, resolution=1 / 64)
    play(exact, instances)
    earned = play(small, instances)
    assert exact.n_pieces > 2000 and small.n_pieces <= 2 * 64 + 1
    best = exact.regret().best_bounds[0]
    low, high = small.regret().best_bounds
    assert low <= best <= high and small.regret().earned_bounds == (earned, earned)
    worst = ct.dispersion([FAMILY.dual(i) for i in instances], widths=[2 / 64]).at_most[-1, 0]
    assert high - low <= worst


# The bound of thm:dispersion-no-regret


@pytest.mark.parametrize(
    "options",
    [
        {"horizon": 600},
        {"schedule": "doubling"},
        {"schedule": "anytime"},
        {},
        {"learner": "fixed-share", "horizon": 600, "shifts": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("adversary", ["spread", "one place", "halving"])
def test_expected_regret_stays_under_the_curve(options, adversary):
    rng = np.random.default_rng(5)
    if adversary == "spread":
        instances = [random_steps(rng) for _ in range(600)]
    elif adversary == "one place":
        instances = [StepInstance((0.9,), (0, 1)) for _ in range(600)]
    else:
        instances = list(islice(halving_steps(6), 50))
    tuner = ct.OnlineTuner(FAMILY, random_state=1, **options)
    play(tuner, instances)
    for point in tuner.regret_curve():
        assert point.expected <= point.bound + 1e-9


def test_bound_is_the_formula():
    # One step at 0.5 in half of T rounds: D(T, w) = T/2 for every w, so that the least bound is the
    # one of the whole domain, ln(1/1)/rate + rate T/8 + T/2; without steps D = 0.
    horizon = 100
    step, flat = StepInstance((0.5,), (0, 1)), StepInstance((), (1,))
    tuner = ct.OnlineTuner(FAMILY, horizon=horizon, random_state=0)
    play(tuner, [step, flat] * (horizon // 2))
    rate = math.sqrt(8 * math.log(horizon) / horizon)
    assert tuner.regret().bound == pytest.approx(horizon * rate / 8 + horizon / 2, rel=1e-12)
    constant = ct.OnlineTuner(FAMILY, horizon=horizon, random_state=0)
    play(constant, [StepInstance((), (1,))] * horizon)
    assert constant.regret().bound == pytest.approx(horizon * rate / 8, rel=1e-12)


def test_a_pile_that_does_no_harm():
    """Dispersion suffices for vanishing regret, but is not needed; the bound is capped at T H."""
    steps = [StepInstance((0.5,), (0, 1))] * 200
    tuner = ct.OnlineTuner(FAMILY, random_state=0)
    play(tuner, steps)
    verdict = ct.dispersion([FAMILY.dual(step) for step in steps]).verdict
    assert verdict.name == "CONCENTRATED" and "may vanish" in verdict.value
    assert tuner.regret().average < 0.05
    assert tuner.regret().bound == 200 and float(tuner.regret()) == tuner.regret().value
    assert all(point.bound <= point.n_rounds for point in tuner.regret_curve())


def test_semi_bandit_regret_stays_under_its_curve_on_average():
    rng = np.random.default_rng(7)
    instances = [random_steps(rng) for _ in range(300)]
    regrets = []
    for seed in range(8):
        tuner = ct.OnlineTuner(FAMILY, random_state=seed, learner="semi-bandit")
        play(tuner, instances)
        regrets.append((tuner.regret().expected, tuner.regret().bound))
    expected, bound = np.mean(regrets, axis=0)
    assert expected < bound


# How fast regret falls


def halving_steps(seed):
    return halving(0, 1, lambda x, below: StepInstance((x,), (int(below), int(not below))), seed)


LINKAGES = {
    "min-max": ct.Linkage("min-max", alpha=(1, 4)),
    "power-mean": ct.Linkage("power-mean", alpha=(1, 4)),
    "product": ct.Linkage("product", alpha=[(1, 4), 1.0]),
}


def smoothed_thresholds(rng, n_metrics):
    """A change at a place around 2.8 or 2.2, every distance perturbed; kappa = 4."""

    def chosen(below):
        while True:
            place = float(np.clip(rng.normal(2.8 if below else 2.2, 0.4), 1.02, 3.98))
            [matrix] = threshold_clustering(place, below).distances
            yield np.stack([matrix, 1.0 - np.eye(6)][:n_metrics])

    sides = [
        smoothed_clustering(chosen(below), threshold_clustering(2.0, below).target, 4.0, rng)
        for below in (False, True)
    ]
    while True:
        yield next(sides[int(rng.random() < 0.5)])


def labelings(rng):
    truth = np.arange(8) % 2
    base = 1.0 + 0.5 * (truth[:, None] != truth[None, :])
    return smoothed_labeling(base, [0, 1], truth, 1.0, rng)


def classifications(rng):
    def chosen():
        while True:
            X = rng.normal(size=(40, 3))
            y = np.where(X[:, 0] + 1.5 * rng.normal(size=40) > 0, 1, -1)
            if np.unique(y[:12]).size == 2:
                yield ct.ClassificationInstance(X[:12], y[:12], X[12:], y[12:])

    return smoothed_classification(chosen(), 4.0, rng)


DISPERSED = {
    "min-max": (LINKAGES["min-max"], lambda rng: smoothed_thresholds(rng, 1), 600, 3000, {}),
    "power-mean": (LINKAGES["power-mean"], lambda rng: smoothed_thresholds(rng, 1), 600, 3000, {}),
    "product": (LINKAGES["product"], lambda rng: smoothed_thresholds(rng, 2), 600, 3000, {}),
    "graphs": (ct.HarmonicLabeling(sigma=(0.1, 3.0)), labelings, 150, 2000, {}),
    "logistic": (
        ct.RegularizedLogistic("l2", lam=(1e-2, 10.0)), classifications, 40, 300,
        {"learner": "random-grid"},
    ),
}  # fmt: skip


def fitted_slope(curves):
    """Slope of log(average regret) over T = 10 .. the end, regrets averaged over the curves."""
    rounds = np.array([point.n_rounds for point in curves[0]])
    regrets = np.mean([[point.value for point in curve] for curve in curves], axis=0)
    kept = rounds >= 10
    return np.polyfit(np.log(rounds[kept]), np.log(regrets[kept] / rounds[kept]), 1)[0]


@pytest.mark.parametrize("case", DISPERSED)
def test_average_regret_falls_on_dispersed_streams(case):
    # Exact functions of smoothed adversaries, drawn independently, so that each comes back several
    # times; benchmarks/online_regret.py plays 3000 different ones.
    family, stream, n_functions, n_rounds, options = DISPERSED[case]
    instances = list(islice(stream(np.random.default_rng(8)), n_functions))
    duals = [family.dual(instance) for instance in instances]
    assert ct.dispersion(duals).verdict.name == "DISPERSED"
    curves = []
    for seed in range(2):
        tuner = ct.OnlineTuner(family, random_state=seed, **options)
        for number in np.random.default_rng(seed).integers(n_functions, size=n_rounds).tolist():
            tuner.update(instances[number], duals[number])
        curves.append(tuner.regret_curve())
        assert all(point.expected <= point.bound for point in curves[-1])
    assert fitted_slope(curves) <= -0.4


def test_average_regret_does_not_fall_on_the_undispersed_stream():
    curves = []
    for seed in range(20):
        tuner = ct.OnlineTuner(FAMILY, random_state=seed)
        play(tuner, islice(halving_steps(seed), 50))
        curves.append(tuner.regret_curve())
        assert tuner.regret().best_bounds == (50, 50)
    assert fitted_slope(curves) > -0.1
    # Any learner is wrong every other time: 25 of 50, up to four standard errors of the mean.
    mean = np.mean([curve[-1].value for curve in curves])
    assert abs(mean - 25) < 4 * math.sqrt(50 * 0.25 / 20)


# Ends off the simple fractions, at which sweeps look for exact ties; what a wrong side loses; how
# many halvings the gaps of exact functions leave room for.
UNDISPERSED = {
    "linkage": (LINKAGES["power-mean"], threshold_clustering, 1.0123, 3.9876, 0.5, 36),
    "graphs": (ct.HarmonicLabeling(sigma=(0.5, 2)), threshold_labeling, 0.5123, 1.9876, 1.0, 36),
    "logistic": (
        ct.RegularizedLogistic("l2", lam=(0.01, 1.0), metric="accuracy"),
        threshold_classification, 0.0123, 0.9876, 1.0, 25,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDISPERSED)
def test_average_regret_does_not_fall_on_undispersed_instances(case):
    family, make, low, high, loss, n_rounds = UNDISPERSED[case]
    curves, n_seeds = [], 6
    for seed in range(n_seeds):
        tuner = ct.OnlineTuner(family, random_state=seed)
        play(tuner, islice(halving(low, high, make, seed), n_rounds))
        assert tuner.regret().best_bounds == (n_rounds, n_rounds)
        curves.append(tuner.regret_curve())
    # The wrong side is played every other time.
    mean = np.mean([curve[-1].average for curve in curves])
    assert abs(mean - loss / 2) < 4 * (loss / 2) / math.sqrt(n_rounds * n_seeds)
    assert fitted_slope(curves) > -0.3


def test_fixed_share_follows_a_best_parameter_that_moves():
    rng, n_rounds = np.random.default_rng(9), 900
    centres = [[0.15, 0.85, 0.4][3 * number // n_rounds] for number in range(n_rounds)]
    instances = []
    for centre in centres:
        ends = np.clip(centre + np.array([-0.1, 0.1]) + rng.normal(0, 0.02, 2), 0.001, 0.999)
        instances.append(StepInstance(tuple(np.sort(ends).tolist()), (0, 1, 0)))
    tuners = {
        "share": ct.OnlineTuner(FAMILY, n_rounds, 0, learner="fixed-share", shifts=2),
        "plain": ct.OnlineTuner(FAMILY, n_rounds, 0),
    }
    earned = {name: play(tuner, instances) for name, tuner in tuners.items()}
    assert earned["share"] > earned["plain"] + 100
    # The bound for K = 3 windows of share w: (K ln(1/w) + (K - 1) ln(1/s) + (T - K) ln(1/(1 - s)))
    # / rate + rate T/8, plus the rounds in which the function changes inside the window.
    width, share, rate = 0.1, 2 / n_rounds, tuners["share"].learner._rate
    learning = 3 * math.log(1 / width) - 2 * math.log(share) - (n_rounds - 3) * math.log1p(-share)
    changes = sum(
        any(abs(place - centre) <= width / 2 for place in instance.thresholds)
        for instance, centre in zip(instances, centres, strict=True)
    )
    thirds = [instances[i : i + n_rounds // 3] for i in range(0, n_rounds, n_rounds // 3)]
    best = sum(_best(third) for third in thirds)
    bound = learning / rate + rate * n_rounds / 8 + changes
    assert best - tuners["share"].regret().expected_earned <= bound < n_rounds / 4


def _best(instances):
    return float(ct.mean([FAMILY.dual(i) for i in instances]).max_exact * len(instances))


def test_regret_needs_a_round():
    with pytest.raises(ct.InputError, match="no finished round"):
        ct.OnlineTuner(FAMILY).regret()
