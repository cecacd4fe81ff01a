"""Aggregates of numbers, held to independent definitions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import certune as ct
from certune.aggregates import Criterion, Mean, Minimum, aggregate_from

NUMBERS = st.lists(st.integers(-20, 20), min_size=1, max_size=8)
SHARES = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)


@given(NUMBERS, SHARES)
def test_a_quantile_is_the_inverse_of_the_distribution_function(values, q):
    expected = min(v for v in values if Fraction(sum(x <= v for x in values), len(values)) >= q)
    assert ct.Quantile(q).value(values) == expected
    if q.denominator <= 8:
        exact = (q * len(values)).denominator > 1  # floats of numpy are right where nothing ties
        if exact:
            assert np.quantile(values, float(q), method="inverted_cdf") == expected


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 4)), min_size=1, max_size=6), SHARES)
def test_weights_repeat_instances(pairs, q):
    values, weights = zip(*pairs, strict=True)
    repeated = [value for value, weight in pairs for _ in range(weight)]
    for aggregate in (Mean(), Minimum(), ct.Quantile(q), ct.CVaR(q)):
        assert aggregate.value(values, weights) == aggregate.value(repeated)
    assert Mean().value(repeated) == Fraction(sum(repeated), len(repeated))
    assert Minimum().value(repeated) == min(repeated)


@pytest.mark.parametrize("seed", range(5))
def test_a_tail_mean_is_the_worst_admissible_reweighting(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(0, 50, 7), rng.integers(1, 5, 7)
    q = Fraction(int(rng.integers(1, 20)), 20)
    most = weights / weights.sum() / float(q)
    found = linprog(values, A_eq=np.ones((1, 7)), b_eq=[1], bounds=[(0, m) for m in most])
    exact = ct.CVaR(q).value(values.tolist(), weights.tolist())
    assert float(exact) == pytest.approx(found.fun, abs=1e-9)


@given(NUMBERS, SHARES)
def test_aggregates_grow_with_every_number_and_with_the_share(values, q):
    for aggregate in (ct.Quantile(q), ct.CVaR(q)):
        larger = [values[0] + 3, *values[1:]]
        assert aggregate.value(values) <= aggregate.value(larger)
        assert aggregate.value([v + 7 for v in values]) == aggregate.value(values) + 7
    assert min(values) <= ct.CVaR(q).value(values) <= ct.Quantile(q).value(values)
    assert ct.CVaR(q).value(values) <= ct.CVaR(1).value(values) == Mean().value(values)
    assert ct.Quantile(1).value(values) == max(values)


def test_floats_are_the_decimals_that_they_are_written_as():
    assert ct.Quantile(0.1).share == Fraction(1, 10)
    assert ct.Quantile(np.float64(0.1)) == ct.Quantile("1/10") == ct.Quantile(Fraction(1, 10))
    assert ct.Quantile(0.1).value(range(10)) == 0
    criterion = Criterion.checked("mean", [0.1, 0.2, 0.7], 3)
    assert criterion.weights == (1, 2, 7)
    assert Criterion.checked("min", [0.3, 0.3], 2).weights is None


@pytest.mark.parametrize("q", [0, -0.1, 1.5, float("nan"), None, True, "1e9", "1/0", [0.1]])
def test_shares_that_are_none_are_refused(q):
    for kind in (ct.Quantile, ct.CVaR):
        with pytest.raises(ct.ParameterError, match="above 0 and at most 1"):
            kind(q)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0], "positive numbers, got 0 for instance 1: leave out"),
        ([1, -2], "positive numbers, got -2"),
        ([1, float("nan")], "positive numbers"),
        ([1, float("inf")], "positive numbers"),
        ([1], "each of the 2 instances, got 1"),
        (3, "must be a list"),
        ([1, 1e-300], "more than 100 digits"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(ct.InputError, match=message):
        Criterion.checked("mean", weights, 2)


@pytest.mark.parametrize("aggregate", ["median", 0.5, None, ct.Quantile])
def test_aggregates_that_are_none_are_refused(aggregate):
    with pytest.raises(ct.ParameterError, match="aggregate must be"):
        Criterion.checked(aggregate, None, 2)


def test_files_keep_aggregates():
    for aggregate in (Mean(), Minimum(), ct.Quantile(0.25), ct.CVaR("1/3")):
        assert aggregate_from(aggregate.code) == aggregate
    with pytest.raises(ct.ParameterError):
        aggregate_from(["quantile"])


@pytest.mark.parametrize("utilities", [5, None, [], [1, "x"], [0.5, float("nan")], [[1]]])
def test_utilities_that_are_no_numbers_are_refused(utilities):
    with pytest.raises(ct.InputError, match="utilities and weights must be finite numbers"):
        ct.Quantile(0.5).value(utilities)


def test_an_aggregate_of_nothing_is_refused():
    with pytest.raises(ct.InputError, match="there must be one at least"):
        ct.Quantile(0.5).value([])


def test_every_utility_needs_its_weight():
    with pytest.raises(ct.InputError, match="as many of each"):
        ct.CVaR(0.5).value([1, 2], [1])
