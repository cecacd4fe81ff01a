"""Aggregates of functions against aggregates of their values, point by point."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.aggregates import Criterion, Mean, Minimum
from certune.dual import aggregated
from certune.tuning.proof.claims import claims_from

AGGREGATES = [Mean(), Minimum(), ct.Quantile("3/10"), ct.Quantile(1), ct.CVaR("7/20"), ct.CVaR(1)]


def steps(rng):
    m = int(rng.integers(1, 6))
    cuts = np.sort(rng.choice(np.arange(1, 40), m - 1, replace=False)) / 40
    stops = [*(cuts - rng.choice([1 / 160, 1 / 80], m - 1)), 1]
    values = rng.integers(0, 6, m).tolist()
    lower = [min(pair) - int(rng.integers(0, 2)) for pair in zip(values, values[1:], strict=False)]
    upper = [max(pair) for pair in zip(values, values[1:], strict=False)]
    return ct.PiecewiseFunction([0, *cuts], stops, values, lower, upper, int(rng.integers(1, 5)))


def curves(rng, scale):
    m = int(rng.integers(1, 4))
    cuts = np.sort(rng.choice(np.arange(1, 40), m - 1, replace=False)) / 40 + 1
    edges = np.array([1, *cuts, 2.0])
    stops = edges[1:].copy()
    stops[:-1] -= 1 / 200
    gaps = [-9.0] * (m - 1), [9.0] * (m - 1)
    rows = rng.normal(size=(m, 4))
    return ct.PiecewisePolynomial(edges[:-1], stops, rows, [1e-12] * m, *gaps, "t", scale)


def sample(functions, rng, n_points=15):
    low, high = functions[0].low, functions[0].high
    ends = [end for f in functions for end in (*f.starts, *f.stops)]
    return np.unique([*rng.uniform(low, high, n_points), *ends])


def enclosed(functions, criterion, t):
    pairs = [function.enclose_exact(t) for function in functions]
    return tuple(criterion.value([pair[side] for pair in pairs]) for side in (0, 1))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(AGGREGATES), st.booleans())
def test_aggregates_of_steps_are_exact(seed, aggregate, weighted):
    rng = np.random.default_rng(seed)
    functions = [steps(rng) for _ in range(int(rng.integers(1, 7)))]
    weights = rng.integers(1, 5, len(functions)).tolist() if weighted else None
    criterion = Criterion.checked(
        "mean" if isinstance(aggregate, Mean) else aggregate, weights, len(functions)
    )
    found = aggregated(functions, criterion)
    found._check()
    for t in sample(functions, rng):
        lower, upper = enclosed(functions, criterion, t)
        below, above = found.enclose_exact(t)
        assert below <= lower <= upper <= above
        if all(function.value_at(t) is not None for function in functions):
            assert below == above
    claims = claims_from(functions, criterion, len(functions), Fraction(9))
    assert claims.best_value == found.max_exact
    assert claims.best_region == tuple(found.argmax())
    assert claims.upper_bound == found.upper_bound_exact


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(AGGREGATES[1:]), st.booleans())
def test_aggregates_of_curves_hold_up_to_their_errors(seed, aggregate, weighted):
    rng = np.random.default_rng(seed)
    scale = ["linear", "log"][seed % 2]
    functions = [curves(rng, scale) for _ in range(int(rng.integers(1, 6)))]
    if seed % 3 == 0:
        functions.append(functions[0])  # a crossing everywhere
    if seed % 5 == 0:
        functions.append(ct.PiecewiseFunction([1, 1.5], [1.4, 2], [0, 1], [0], [1], 2))
    weights = rng.integers(1, 5, len(functions)).tolist() if weighted else None
    criterion = Criterion.checked(aggregate, weights, len(functions))
    found = aggregated(functions, criterion)
    found._check()
    for t in [*sample(functions, rng), *found.starts, *found.stops]:
        lower, upper = enclosed(functions, criterion, float(t))
        below, above = found.enclose_exact(float(t))
        # Both enclose the truth, which is not known to the test.
        assert below <= upper and lower <= above
        if not np.isnan(found(float(t))):
            assert above - below < 1e-9
    grid = np.linspace(1, 2, 60)
    best = max(enclosed(functions, criterion, t)[0] for t in grid)
    assert found.upper_bound_exact >= best


@pytest.mark.parametrize("aggregate", AGGREGATES[1:])
def test_the_order_of_crossing_lines_changes_at_their_crossings(aggregate):
    """Lines with known crossings: the aggregate at rational points, exactly."""
    tops = [(0.0, 1.0), (1.0, -1.0), (0.25, 0.5), (0.75, -0.25)]
    lines = [ct.PiecewisePolynomial([0], [1], [[a + b / 2, b / 2]], [0.0], [], []) for a, b in tops]
    criterion = Criterion(aggregate)
    found = aggregated(lines, criterion)
    for k in range(129):
        t = k / 128
        exact = criterion.value([Fraction(a) + Fraction(b) * Fraction(t) for a, b in tops])
        below, above = found.enclose_exact(t)
        assert below <= exact <= above and above - below < 1e-11


def test_many_functions_and_large_integers():
    big = 10**40
    functions = [
        ct.PiecewiseFunction([0, 0.5], [0.25, 1], [big + k, k], [0], [big + k], 7) for k in range(5)
    ]
    worst = aggregated(functions, Criterion(Minimum(), None))
    assert worst.max_exact == Fraction(big, 7)
    weighted = aggregated(functions, Criterion(ct.CVaR("1/2"), (big, 1, 1, 1, 1)))
    values = [Fraction(big + k, 7) for k in range(5)]
    assert weighted.max_exact == ct.CVaR("1/2").value(values, (big, 1, 1, 1, 1))
