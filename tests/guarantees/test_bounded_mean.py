"""Confidence limits for means: formulas, exact capital, coverage."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import betting, betting_sequence, mean_interval
from certune.guarantees.betting import STAKES, betting_lower
from certune.guarantees.bounded_mean import bernstein_lower, hoeffding_lower

DELTA = Fraction(1, 20)


def fractions(seed, n):
    tops = np.random.default_rng(seed).binomial(20, 0.8, size=n)
    return [Fraction(int(top), 20) for top in tops]


def capital(sample, mean):
    """Exact capital of the fixed mixture of stakes."""
    total = Fraction(0)
    for stake in STAKES.tolist():
        product = Fraction(1)
        for number in sample:
            product *= 1 + Fraction(stake) * (number / mean - 1)
        total += product
    return total / len(STAKES)


def test_hoeffding_and_bernstein_formulas():
    sample = fractions(0, 30)
    floats = np.array([float(x) for x in sample])
    below = math.sqrt(math.log(20) / 60)
    assert hoeffding_lower(sample, DELTA) == pytest.approx(floats.mean() - below, rel=1e-12)
    spread = math.sqrt(2 * floats.var(ddof=1) * math.log(40) / 30) + 7 * math.log(40) / (3 * 29)
    assert bernstein_lower(sample, DELTA) == pytest.approx(floats.mean() - spread, rel=1e-9)
    assert bernstein_lower(sample[:1], DELTA) == 0.0


@pytest.mark.parametrize("n", [1, 3, 12, 40])
def test_betting_limit_is_where_the_capital_reaches_its_target(n):
    sample = fractions(n, n)
    limit = betting_lower(sample, DELTA)
    assert 0 < limit < sum(sample) / n
    # Numbers were rounded down by less than a unit of rounding, which the second margin covers.
    assert capital(sample, Fraction(limit)) >= 1 / DELTA
    assert capital(sample, Fraction(limit) + Fraction(1, 10**9)) < 1 / DELTA


def test_betting_does_not_depend_on_the_order():
    sample = fractions(1, 25)
    assert betting_lower(sample, DELTA) == pytest.approx(betting_lower(sample[::-1], DELTA), 1e-9)


def test_extreme_samples():
    assert betting_lower([Fraction(0)] * 9, DELTA) == 0.0
    ones = betting_lower([Fraction(1)] * 100, DELTA)
    # The best stake below 1 gives (1 - g + g/m)^n; a full stake would give m = delta^(1/n).
    assert 0.93 < ones < 0.05 ** (1 / 100) < 1


def test_sequence_is_the_running_best():
    sample = fractions(2, 15)
    sequence = betting_sequence(sample, DELTA)
    singles = [betting_lower(sample[:n], DELTA) for n in range(1, 16)]
    best = np.maximum.accumulate(singles)
    assert (sequence <= best + 1e-12).all() and (sequence >= best - 1e-6).all()
    # Every limit is proved at the first n that has it.
    for n in np.flatnonzero(np.diff(sequence, prepend=0.0)):
        assert capital(sample[: n + 1], Fraction(sequence[n])) >= 1 / DELTA
    floats = betting_sequence((float(x) for x in sample), 0.05)
    assert floats == pytest.approx(sequence, abs=1e-6)
    assert betting_sequence([], 0.05).size == 0


def test_long_sequences_end_at_the_mean():
    sample = fractions(3, 2000)
    sequence = betting_sequence(sample, DELTA)
    assert abs(sequence[-1] - 0.8) < 0.02


@pytest.mark.parametrize(
    ("sample", "delta", "error", "message"),
    [
        ([0.5, 2], 0.05, ct.InputError, r"lie in \[0, 1\], got 2"),
        ([0.5, math.nan], 0.05, ct.InputError, "nan"),
        (0.5, 0.05, ct.InputError, "list of numbers"),
        ([0.5], 0, ct.ParameterError, "delta"),
        ([0.5], 2, ct.ParameterError, "delta"),
    ],
)
def test_bad_sequences(sample, delta, error, message):
    with pytest.raises(error, match=message):
        betting_sequence(sample, delta)


def test_a_proof_by_floats_is_a_proof():
    sample = np.array([float(x) for x in fractions(6, 30)])
    exact = [Fraction(x) for x in sample]
    limit = betting_lower(exact, DELTA)
    assert betting._proved_by_floats(sample, limit - 1e-9, DELTA)
    assert capital(exact, Fraction(limit - 1e-9)) >= 1 / DELTA
    assert not betting._proved_by_floats(sample, limit + 1e-9, DELTA)
    # Tiny means would overflow a plain product.
    assert betting._proved_by_floats(np.full(400, 1.0), 1e-9, DELTA)
    assert not betting._proved_by_floats(np.zeros(9), 1e-9, DELTA)


def test_tiny_probabilities_and_generators():
    assert betting_lower(fractions(0, 5), Fraction(1, 10**330)) == 0.0
    interval = mean_interval((x for x in fractions(0, 30)), 1e-300)
    assert 0 <= interval.low < interval.high <= 1
    assert str(mean_interval([0] * 50)).startswith("[0, ")
    assert str(mean_interval([1, -1] * 20, utility_range=(-1, 1), method="hoeffding"))[1] == "-"


@pytest.mark.parametrize("method", ["betting", "hoeffding", "empirical-bernstein"])
def test_intervals_shift_and_scale_with_the_range(method):
    sample = fractions(4, 50)
    unit = mean_interval(sample, 0.1, method=method)
    moved = mean_interval([3 * x - 1 for x in sample], 0.1, (-1, 2), method)
    assert moved.low == pytest.approx(3 * unit.low - 1, abs=1e-9)
    assert moved.high == pytest.approx(3 * unit.high - 1, abs=1e-9)
    mirrored = mean_interval([1 - x for x in sample], 0.1, method=method)
    assert mirrored.low == pytest.approx(1 - unit.high, abs=1e-9)
    assert unit.low <= sum(sample) / 50 <= unit.high


@pytest.mark.parametrize("method", ["betting", "hoeffding", "empirical-bernstein"])
@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_coverage_on_coins(method, probability):
    rng = np.random.default_rng(7)
    misses = 0
    for _ in range(200):
        sample = (rng.random(30) < probability).astype(int).tolist()
        interval = mean_interval(sample, 0.1, method=method)
        misses += not interval.low <= probability <= interval.high
    # At most 20 expected; more than 38 has a probability below 1e-4 for a valid interval.
    assert misses <= 38


@pytest.mark.parametrize(
    ("sample", "options", "error", "message"),
    [
        ([], {}, ct.InputError, "at least one"),
        ([0.5, 1.5], {}, ct.InputError, "1.5"),
        ([0.5, math.nan], {}, ct.InputError, "nan"),
        ([0.5], {"delta": 0}, ct.ParameterError, "delta"),
        ([0.5], {"utility_range": (1, 1)}, ct.ParameterError, "utility_range"),
        ([0.5], {"utility_range": 5}, ct.ParameterError, "utility_range"),
        ([0.5], {"utility_range": (1, 2, 3)}, ct.ParameterError, "utility_range"),
        (0.5, {}, ct.InputError, "list of numbers"),
        ([0.5], {"method": "guessing"}, ct.ParameterError, "method"),
    ],
)
def test_bad_input(sample, options, error, message):
    with pytest.raises(error, match=message):
        mean_interval(sample, **options)


def test_a_limit_that_floats_propose_wrongly_is_lowered(monkeypatch):
    honest = betting._log_capital
    monkeypatch.setattr(betting, "_log_capital", lambda numbers, mean: honest(numbers, mean) + 0.5)
    sample = fractions(8, 20)
    limit = betting.betting_lower(sample, DELTA)
    assert limit > 0 and capital(sample, Fraction(limit)) >= 1 / DELTA
