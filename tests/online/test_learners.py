"""Learners one by one: their densities against definitions, their options, their lines."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import certune as ct
from certune.online.fixed_share import FixedShare
from certune.online.learner import Observed
from certune.online.lines import Line, lines_of
from certune.online.random_grid import RandomGrid
from certune.online.schedule import Schedule
from certune.online.steps import coarsened
from certune.space import LogReal, ParameterSpace, Real, Segment, Simplex
from certune.testing import StepFamily, StepInstance

FAMILY = StepFamily()
LINE = Line(Segment.coordinate("x", 0, 1), logarithmic=False)
GRID = (np.arange(4000) + 0.5) / 4000


def instance_of(rng, n_steps=2):
    places = np.sort(rng.integers(1, 80, n_steps)) / 80
    places = np.unique(places)
    values = tuple(Fraction(int(v), 4) for v in rng.integers(0, 5, len(places) + 1))
    return StepInstance(tuple(places.tolist()), values)


def observed(dual, position=0.3, points=(), values=()):
    return Observed(
        (LINE,), 0, position, float(dual(position)), (dual,), np.array(points), np.array(values)
    )


# Densities


@pytest.mark.parametrize("schedule", ["horizon", "anytime", "doubling"])
def test_exponential_weights_follow_the_definition(schedule):
    rng = np.random.default_rng(0)
    horizon = 20 if schedule == "horizon" else None
    tuner = ct.OnlineTuner(FAMILY, horizon, 0, schedule=schedule)
    total = np.zeros(GRID.size)
    rates = Schedule(schedule, horizon, 1.0)
    for number in range(1, 41):
        if schedule == "doubling" and number in (2, 4, 8, 16, 32):
            total[:] = 0
        weights = np.exp(rates.rate(number) * total)
        np.testing.assert_allclose(tuner.learner.density(0, GRID), weights / weights.mean())
        instance = instance_of(rng)
        tuner.update(instance)
        total += FAMILY.dual(instance)(GRID)


def test_adaptive_rates_follow_the_definition():
    # The mixability gap ln(mean of exp(rate u))/rate - mean of u, under the density of the round;
    # steps lie at multiples of 1/80, so that sums over the grid are integrals.
    rng = np.random.default_rng(5)
    tuner = ct.OnlineTuner(FAMILY, None, 0)
    total, gaps, rate = np.zeros(GRID.size), 0.0, 100.0
    for number in range(1, 60):
        weights = np.exp(rate * (total - total.max()))
        np.testing.assert_allclose(
            tuner.learner.density(0, GRID), weights / weights.mean(), rtol=1e-6, atol=1e-9
        )
        instance = instance_of(rng)
        utility = FAMILY.dual(instance)(GRID)
        tuner.update(instance)
        share = weights / weights.sum()
        gaps += math.log(share @ np.exp(rate * utility)) / rate - share @ utility
        total += utility
        target = math.log(number + 1 + 64) / (math.log(65) / 100 + gaps)
        if math.sqrt(1.1) * target < rate:
            rate = target
    assert rate < 10 and tuner.learner.learning_bound(0.25) == pytest.approx(
        math.log(4) / rate + gaps, rel=1e-6
    )


def test_rates():
    known = Schedule("horizon", 100, 2.0)
    assert known.rate(1) == known.rate(500) == math.sqrt(8 * math.log(100) / 100) / 2
    doubling = Schedule("doubling", None, 1.0)
    assert [n for n in range(1, 40) if doubling.restarts(n)] == [2, 4, 8, 16, 32]
    assert doubling.rate(16) == doubling.rate(31) == math.sqrt(8 * math.log(16) / 16)
    anytime = Schedule("anytime", None, 1.0)
    rates = [anytime.rate(n) for n in range(1, 2000)]
    assert all(a >= b for a, b in zip(rates, rates[1:], strict=False))
    assert len(set(rates)) <= 1 + math.log(2000) / math.log(1.1)
    for number in (1, 10, 1999):
        # Never below the rate of the moment, and above it by less than the step.
        wanted = math.sqrt(8 * math.log1p(number) / number)
        assert wanted <= anytime.rate(number) <= math.sqrt(1.1) * wanted


def test_fixed_share_follows_the_definition():
    rng = np.random.default_rng(1)
    learner = FixedShare([LINE], horizon=50, shifts=5, span=1.0)
    density = np.ones(GRID.size)
    for _ in range(50):
        dual = FAMILY.dual(instance_of(rng))
        lower, upper = learner.learn(observed(dual))
        assert lower == pytest.approx(upper, abs=1e-9)
        assert lower == pytest.approx(float(np.mean(density * dual(GRID))), abs=1e-9)
        density = density * np.exp(learner._rate * dual(GRID))
        density = 0.9 * density / density.mean() + 0.1
        np.testing.assert_allclose(learner.density(0, GRID), density, rtol=1e-9)
    points = [learner.draw(np.random.default_rng(seed))[1] for seed in range(4000)]
    cells = np.bincount((np.array(points) * 16).astype(int), minlength=16)
    shares = density.reshape(16, -1).mean(axis=1) / 16
    assert stats.chisquare(cells, 4000 * shares).pvalue > 1e-3


def test_fixed_share_forgets_old_pieces():
    # Nothing happens any more on [0, 1/2) after round 40: its pieces are joined.
    rng = np.random.default_rng(2)
    learner = FixedShare([LINE], horizon=1000, shifts=300, span=1.0)
    for _ in range(40):
        place = rng.random() / 2
        learner.learn(observed(FAMILY.dual(StepInstance((place,), (0, 1)))))
    assert learner.n_pieces > 20
    for _ in range(300):
        learner.learn(observed(FAMILY.dual(StepInstance((0.75,), (0, 1)))))
    assert learner.n_pieces == 3  # two sides of 0.75 and the gap there


def test_semi_bandit_estimates_losses_without_bias():
    dual = FAMILY.dual(StepInstance((0.25, 0.5), (Fraction(1, 4), 1, Fraction(1, 2))))
    estimates = np.zeros(GRID.size)
    n_runs = 1000
    for seed in range(n_runs):
        tuner = ct.OnlineTuner(FAMILY, None, seed, learner="semi-bandit")
        tuner.update(dual=dual)
        starts, values = tuner.learner._weights.lines[0].function()
        estimates += values[np.searchsorted(starts, GRID, side="right") - 1]
    # The played cell of probability p is charged loss/p: the mean is minus the loss, and its
    # standard error loss * sqrt((1/p - 1) / n).
    for place, chance in ((0.1, 0.25), (0.3, 0.25), (0.9, 0.5)):
        loss = 1 - dual(place)
        error = loss * math.sqrt((1 / chance - 1) / n_runs)
        mean = estimates[np.searchsorted(GRID, place)] / n_runs
        assert abs(mean + loss) <= 4 * error


def test_semi_bandit_learns_from_the_played_piece_alone():
    first = FAMILY.dual(StepInstance((0.25, 0.5), (0, 1, 0)))
    other = FAMILY.dual(StepInstance((0.25, 0.5), (Fraction(1, 2), 1, Fraction(1, 2))))
    for seed in range(20):
        one, two = (ct.OnlineTuner(FAMILY, None, seed, learner="semi-bandit") for _ in range(2))
        if 0.25 < one.propose()["x"] < 0.5:
            one.update(dual=first)
            two.update(dual=other)
            assert one.propose() == two.propose()
            return
    pytest.fail("no seed plays the middle piece")


def test_random_grid_density_is_exp_linear_and_draws_follow_it():
    learner = RandomGrid([LINE], Schedule("horizon", 200, 1.0))
    rng = np.random.default_rng(3)
    for _ in range(60):
        knots = learner.questions(rng)
        assert knots[0] == 0 and knots[-1] == 1 and (np.diff(knots) > 0).all()
        assert knots.size == math.ceil(200**0.25) + 2
        dual = FAMILY.dual(StepInstance((), (0,)))
        learner.learn(observed(dual, points=knots, values=0.1 * knots))
    assert learner.n_pieces == max(64, math.ceil(200**0.75))
    fine = (np.arange(200_000) + 0.5) / 200_000
    density = learner.density(0, fine)
    assert density.mean() == pytest.approx(1.0, rel=1e-6)
    # The interpolant of a linear function is the function.
    slope = learner._rates.current * 60 * 0.1
    np.testing.assert_allclose(density, slope * np.exp(slope * fine) / np.expm1(slope), rtol=1e-9)
    points = [learner.draw(rng)[1] for _ in range(5000)]
    distribution = np.expm1(slope * np.sort(points)) / np.expm1(slope)
    assert stats.kstest(distribution, "uniform").pvalue > 1e-3


def test_random_grid_asks_the_surrogate_and_has_no_regret():
    calls = []

    def surrogate(instance, values):
        calls.append(len(values))
        return [1 - (value - 0.7) ** 2 for value in values]

    tuner = ct.OnlineTuner(FAMILY, 500, 0, learner="random-grid", surrogate=surrogate)
    places = []
    for _ in range(500):
        places.append(tuner.propose()["x"])
        tuner.update(StepInstance((), (1,)))
    assert set(calls) == {math.ceil(500**0.25) + 2}
    losses = (np.array(places) - 0.7) ** 2
    assert losses[250:].mean() < 0.5 * losses[:50].mean()
    # Nothing is said about expected utilities that are piecewise constant.
    assert tuner.regret().expected is None


def test_smooth_regret_of_the_random_grid_is_of_order_root_t():
    # Utility 1 - (x - place)^2 with random places, in Chebyshev form: with h = 1/2 - place and
    # x = (s + 1)/2, (x - place)^2 = h^2 + h s + s^2/4 and s^2 = (1 + T_2)/2.
    curves = []
    for seed in range(2):
        tuner = ct.OnlineTuner(FAMILY, None, seed, learner="random-grid")
        for h in (0.5 - np.random.default_rng(seed).normal(0.6, 0.1, 300)).tolist():
            coefficients = [[1 - h * h - 1 / 8, -h, -1 / 8]]
            tuner.update(dual=ct.PiecewisePolynomial([0], [1], coefficients, [1e-15], [], [], "x"))
        curves.append(tuner.regret_curve())
        assert all(point.expected <= point.bound for point in curves[-1])
    rounds = np.array([point.n_rounds for point in curves[0]])
    averages = np.mean([[point.average for point in curve] for curve in curves], axis=0)
    kept = rounds >= 10
    assert np.polyfit(np.log(rounds[kept]), np.log(averages[kept]), 1)[0] <= -0.4


# Lines


def test_a_logarithmic_parameter_is_drawn_on_its_scale():
    space = ParameterSpace((LogReal("s", 0.01, 100.0),))
    [line] = lines_of(space, None)
    assert line.logarithmic and line.length == pytest.approx(math.log(1e4))
    ends = [line.coordinate(line.low), line.coordinate(line.high)]
    assert ends == pytest.approx([0.01, 100.0], rel=1e-14)
    assert 0.01 <= ends[0] and ends[1] <= 100.0
    positions = line.positions(np.array([0.01, 1.0, 100.0]))
    np.testing.assert_allclose(positions, [line.low, 0, line.high], atol=1e-15)


def test_cover_follows_lines_through_the_space():
    space = ParameterSpace((Real("a", -1, 1), LogReal("s", 1, 16), Simplex("w", 2)))
    segments = ct.online.cover(space, 2)
    settings = [segment.at(0.5) for segment in segments]
    assert [(p["s"], p["w"]) for p in settings] == [
        (2.0, (0.0, 1.0)), (2.0, (1.0, 0.0)), (8.0, (0.0, 1.0)), (8.0, (1.0, 0.0)),
    ]  # fmt: skip
    assert all(segment.name == "a" for segment in segments)
    with pytest.raises(ct.ParameterError, match="n_values"):
        ct.online.cover(space, 1)
    with pytest.raises(ct.ParameterError, match="segments of your own"):
        ct.online.cover(ParameterSpace((Simplex("w", 3),)), 3)


@pytest.mark.parametrize(
    "options", [{}, {"learner": "semi-bandit"}, {"learner": "fixed-share", "shifts": 2}], ids=str
)
def test_several_parameters_on_a_cover(options):
    metrics = ("euclidean", "cityblock")
    family = ct.Linkage("power-mean", alpha=(-3, 3), weights="tune", n_metrics=2)
    instances = ct.datasets.random_clustering(
        8, n_clusters=3, n_per_cluster=4, spread=0.3, metrics=metrics
    )
    with pytest.raises(ct.ParameterError, match="cover"):
        ct.OnlineTuner(family, horizon=8)
    segments = ct.online.cover(family.space, 3)
    horizon = None if options.get("learner") == "semi-bandit" else 8
    tuner = ct.OnlineTuner(family, horizon, 0, along=segments, **options)
    earned = Fraction(0)
    for instance in instances:
        params = tuner.propose()
        family.space.validate(params)
        earned += family.run_exact(instance, params)
        tuner.update(instance)
    totals = [ct.mean([family.dual(i, along=s) for i in instances]) * 8 for s in segments]
    best = max(total.max_exact for total in totals)
    assert tuner.regret().value_bounds == (best - earned, best - earned)
    shares = [
        float(np.mean(tuner.learner.density(n, np.linspace(-3, 3, 6001)))) * 6 for n in range(3)
    ]
    assert sum(shares) == pytest.approx(1.0, abs=1e-2)


# Coarsening


def test_coarsened_functions_state_nothing_wrong():
    rng = np.random.default_rng(6)
    for _ in range(50):
        dual = FAMILY.dual(instance_of(rng, n_steps=6))
        coarse = coarsened(dual, 0.07)
        coarse._check()
        for t in rng.random(60).tolist():
            low, high = coarse.enclose_exact(t)
            value_low, value_high = dual.enclose_exact(t)
            assert low <= value_low <= value_high <= high
    assert coarsened(ct.PiecewiseFunction.constant(0, 1, 1), 0.1).n_pieces == 1
    with pytest.raises(ct.ParameterError, match="resolution"):
        coarsened(dual, 0.0)


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "guess"}, "unknown learner 'guess'"),
        ({"horizon": 0}, "horizon must be a positive whole number"),
        ({"horizon": 2.5}, "horizon must be a positive whole number"),
        ({"schedule": "later"}, "unknown schedule 'later'"),
        ({"schedule": "horizon"}, "does not fit horizon=None"),
        ({"schedule": "anytime", "horizon": 5}, "does not fit horizon=5"),
        ({"shifts": 2}, "does not fit learner"),
        ({"learner": "fixed-share", "shifts": 2}, "needs a horizon"),
        ({"learner": "fixed-share", "horizon": 5}, "expected number of shifts"),
        ({"learner": "fixed-share", "horizon": 5, "shifts": 5}, "less than the horizon"),
        ({"learner": "semi-bandit", "schedule": "anytime"}, "step sizes of its own"),
        ({"resolution": -1.0}, "resolution must be a positive"),
        ({"random_state": -1}, "random_state must not be negative"),
        ({"random_state": "seed"}, "random_state must be a whole number"),
        ({"surrogate": len}, "for the learner 'random-grid'"),
        ({"along": []}, "along must be a Segment"),
        ({"along": "x"}, "along must be a Segment"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.OnlineTuner(FAMILY, **options)


def test_bad_rounds_are_refused():
    with pytest.raises(ct.ParameterError, match="expected a Family"):
        ct.OnlineTuner("linkage")
    tuner = ct.OnlineTuner(FAMILY, 5, 0)
    with pytest.raises(ct.InputError, match="needs an instance"):
        tuner.update()
    with pytest.raises(ct.InputError, match="StepInstance"):
        tuner.update("no")
    with pytest.raises(ct.InputError, match="one function for each of the domains"):
        tuner.update(dual=ct.PiecewiseFunction.constant(0, 2, 1))
    grid = ct.OnlineTuner(FAMILY, 5, 0, learner="random-grid", surrogate=lambda i, x: [math.nan])
    with pytest.raises(ct.InputError, match="finite utilities"):
        grid.update(StepInstance((), (1,)))
    asking = ct.OnlineTuner(FAMILY, 5, 0, learner="random-grid", surrogate=lambda i, x: 0 * x)
    with pytest.raises(ct.InputError, match="needs the instance itself"):
        asking.update(dual=ct.PiecewiseFunction.constant(0, 1, 1))
    assert tuner.n_rounds == grid.n_rounds == asking.n_rounds == 0


@pytest.mark.parametrize(
    "along",
    [
        3,
        "x",
        [],
        ct.Segment.coordinate("x", 0, 5),
        ct.Segment.coordinate("beta", 0, 1),
        ct.Segment.coordinate("x", 0, 1, {"beta": 1.0}),
        [ct.Segment.coordinate("x", 0, 1)] * 2,
    ],
    ids=str,
)
def test_lines_must_be_different_segments_of_the_space(along):
    with pytest.raises(ct.ParameterError, match="along must"):
        ct.OnlineTuner(StepFamily(), along=along)


def test_integers_of_numpy_are_whole_numbers():
    options = {"learner": "fixed-share", "random_state": 0}
    plain = ct.OnlineTuner(StepFamily(), 10, shifts=2, **options)
    given = ct.OnlineTuner(StepFamily(), np.int64(10), shifts=np.int32(2), **options)
    assert given.options == plain.options and type(given.options.horizon) is int


@pytest.mark.parametrize(
    "options",
    [{"resolution": value} for value in ("a", 0, math.nan, math.inf)]
    + [{"learner": ["x"]}, {"learner": "random-grid", "surrogate": 3}],
)
def test_options_of_a_wrong_kind_are_refused(options):
    with pytest.raises(ct.ParameterError):
        ct.OnlineTuner(StepFamily(), **options)


def test_updates_and_pictures_of_a_wrong_kind_are_refused(tmp_path):
    tuner = ct.OnlineTuner(StepFamily(), random_state=0)
    for dual in (3, [], [3], StepFamily(0, 2).dual(StepInstance((0.5,), (0, 1)))):
        with pytest.raises(ct.InputError, match="dual must be one function"):
            tuner.update(dual=dual)
    assert tuner.n_rounds == 0
    tuner.update(StepInstance((0.5,), (0, 1)))
    for line in (1, -1, "a"):
        with pytest.raises(ct.ParameterError, match="line must be 0 to 0"):
            tuner.plot_density(line=line)
    for draw in (tuner.plot_regret, tuner.plot_density):
        with pytest.raises(ct.InputError, match="cannot write the figure"):
            draw(tmp_path / "nowhere" / "a.png")
    for answers in (["a"], [1.0], "text", None):
        asked = ct.OnlineTuner(
            StepFamily(), random_state=0, learner="random-grid", surrogate=lambda *_, a=answers: a
        )
        with pytest.raises(ct.InputError, match="the surrogate must return"):
            asked.update(StepInstance((0.5,), (0, 1)))
        assert asked.n_rounds == 0
