"""The tree of exponential weights against the definition of the density."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from certune.online.weights import LineWeights, Weights


def random_function(rng, n_edges, low=0.0, high=1.0):
    return np.sort(rng.uniform(low, high, n_edges)), rng.random(n_edges + 1)


def brute_force_masses(functions, rate, edges, low, high):
    """Integrate exp(rate * sum) cell by cell from its definition; return shares."""
    cuts = np.unique(np.concatenate([[low, high], edges, *(f[0] for f in functions)]))
    middles = 0.5 * (cuts[1:] + cuts[:-1])
    total = sum(values[np.searchsorted(ends, middles)] for ends, values in functions)
    masses = np.diff(cuts) * np.exp(rate * (total - total.max()))
    cells = np.searchsorted(edges, middles)
    return np.bincount(cells, masses, len(edges) + 1) / masses.sum()


@pytest.mark.parametrize("rate", [0.01, 0.7, 40.0])
def test_masses_are_the_integrals_of_the_definition(rate):
    rng = np.random.default_rng(int(100 * rate))
    weights = LineWeights(-2.0, 3.0, rate)
    functions = []
    for n_edges in rng.integers(0, 9, 120).tolist():
        functions.append(random_function(rng, n_edges, -2.0, 3.0))
        weights.add(*functions[-1])
    weights._check()
    edges = np.linspace(-2, 3, 38)[1:-1]
    masses = weights.masses(edges)
    expected = brute_force_masses(functions, rate, edges, -2.0, 3.0)
    np.testing.assert_allclose(masses / masses.sum(), expected, rtol=1e-9, atol=1e-11)


def test_a_new_rate_gives_the_tree_of_that_rate():
    rng = np.random.default_rng(5)
    changed, fresh = LineWeights(0, 1, 3.0), LineWeights(0, 1, 0.25)
    for _ in range(50):
        function = random_function(rng, 4)
        changed.add(*function)
        fresh.add(*function)
    changed.rate = 0.25
    edges = np.linspace(0, 1, 11)[1:-1]
    np.testing.assert_allclose(changed.masses(edges), fresh.masses(edges), rtol=1e-12)


def test_weights_beyond_the_floats_do_not_overflow():
    weights = LineWeights(0, 1, 5.0)
    for _ in range(2000):
        weights.add(np.array([0.5]), np.array([1.0, 0.0]))
    assert weights.top == 2000 and weights.mass == 0.5
    assert weights.draw(0.999, 0.5) == 0.25
    assert weights.n_pieces == 2  # equal places share one jump


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(np.linspace(0, 1, 9).tolist()), st.floats(0, 1))),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_coinciding_edges_and_the_ends_of_the_domain(rounds):
    weights, functions = LineWeights(0.0, 1.0, 1.5), []
    for steps in rounds:
        edges = np.array(sorted({edge for edge, _ in steps}))
        values = np.array([0.5, *(value for _, value in steps)][: edges.size + 1])
        functions.append((edges, values))
        weights.add(edges, values)
    positions, values = weights.function()
    middles = 0.5 * (positions + np.append(positions[1:], 1.0))
    inside = positions < 1.0
    expected = sum((v[np.searchsorted(e, middles)] for e, v in functions), np.zeros(middles.size))
    np.testing.assert_allclose(values[inside], expected[inside], atol=1e-12)


def test_draws_follow_a_density_known_in_closed_form():
    # One round with utility 1 on the right quarter: P(right) = e^rate / (3 + e^rate).
    rate, n_draws = 1.3, 20_000
    weights = LineWeights(0.0, 1.0, rate)
    weights.add(np.array([0.75]), np.array([0.0, 1.0]))
    rng = np.random.default_rng(0)
    points = np.array([weights.draw(*rng.random(2)) for _ in range(n_draws)])
    right = math.exp(rate) / (3 + math.exp(rate))
    assert stats.binomtest(int((points >= 0.75).sum()), n_draws, right).pvalue > 1e-3
    # Given the side, the point is uniform.
    assert stats.kstest(points[points >= 0.75], "uniform", (0.75, 0.25)).pvalue > 1e-3
    assert stats.kstest(points[points < 0.75], "uniform", (0.0, 0.75)).pvalue > 1e-3


def test_draws_fit_the_masses_of_many_pieces():
    rng = np.random.default_rng(1)
    weights = LineWeights(0.0, 1.0, 0.3)
    for _ in range(200):
        weights.add(*random_function(rng, 5))
    edges = np.linspace(0, 1, 41)[1:-1]
    masses = weights.masses(edges)
    points = [weights.draw(*rng.random(2)) for _ in range(20_000)]
    counts = np.bincount(np.searchsorted(edges, points), minlength=40)
    assert stats.chisquare(counts, 20_000 * masses / masses.sum()).pvalue > 1e-3


def test_several_intervals_share_the_probability():
    weights = Weights([(0.0, 1.0), (10.0, 12.0)], 2.0)
    weights.lines[0].add(np.empty(0), np.array([1.0]))
    share = math.exp(2.0) / (math.exp(2.0) + 2.0)
    np.testing.assert_allclose(weights.shares, [share, 1 - share], rtol=1e-14)
    rng = np.random.default_rng(2)
    lines = [weights.draw(rng) for _ in range(5000)]
    assert all((0 <= x <= 1) if line == 0 else (10 <= x <= 12) for line, x in lines)
    hits = sum(line == 0 for line, _ in lines)
    assert stats.binomtest(hits, 5000, share).pvalue > 1e-3
    np.testing.assert_allclose(
        weights.probabilities(1, np.array([10.5])), (1 - share) * np.array([0.25, 0.75])
    )
