"""Adversaries are what they claim to be."""

import math
from itertools import islice

import numpy as np
import pytest
from scipy import stats

import certune as ct
from certune.online.streams import (
    drifting,
    halving,
    independent,
    smoothed_clustering,
    threshold_clustering,
)


def test_independent_draws_from_any_sampler_and_is_reproducible():
    def sample(rng):
        return ct.datasets.random_clustering(1, 2, 3, random_state=rng)[0]

    first = list(islice(independent(sample, 0), 3))
    assert first == list(islice(independent(sample, 0), 3))
    assert len({instance.fingerprint for instance in first}) == 3


def test_drifting_moves_evenly():
    samplers = [lambda rng: 0, lambda rng: 1, lambda rng: 2]
    drawn = np.array(list(islice(drifting(samplers, 3000, 1), 4000)))
    assert (drawn[3000:] == 2).all() and (drawn[:5] <= 1).all() and not (drawn[:1400] == 2).any()
    # Half way to the first change half of the draws are of each kind.
    window = drawn[700:800]
    assert stats.binomtest(int(window.sum()), 100, 0.5).pvalue > 1e-3
    with pytest.raises(ct.ParameterError, match="two samplers"):
        next(drifting(samplers[:1], 10))


def test_halving_leaves_one_point_that_is_always_better():
    made = list(halving(0.0, 1.0, lambda place, below: (place, below), 3))
    assert 50 <= len(made) <= 60
    low = max([0.0, *(place for place, below in made if not below)])
    high = min([1.0, *(place for place, below in made if below)])
    assert low < high and math.nextafter(low, high) == high
    assert 15 <= sum(below for _, below in made) <= 40


def test_smoothed_distances_have_the_promised_density():
    base = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float)
    drawn = [i.distances[0] for i in islice(smoothed_clustering(base, [0, 0, 1], 4.0, 0), 2000)]
    for row, column in ((0, 1), (0, 2), (1, 2)):
        values = np.array([matrix[row, column] for matrix in drawn])
        shift = values - base[row, column]
        assert stats.kstest(shift, "uniform", (0, 0.25)).pvalue > 1e-3
    pairs = np.array([(m[0, 1], m[0, 2]) for m in drawn])
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 4 / math.sqrt(2000)
    several = next(smoothed_clustering(np.stack([base, base]), [0, 0, 1], 4.0, 0))
    assert several.n_metrics == 2 and not np.array_equal(*several.distances)
    with pytest.raises(ct.ParameterError, match="density"):
        next(smoothed_clustering(base, [0, 0, 1], 0.0))


@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("alpha", [-2.3, 0.7, 3.3])
def test_threshold_instances_change_at_their_threshold(kind, below, alpha):
    family = ct.Linkage(kind, alpha=(alpha - 1.1, alpha + 1.2))
    if family.space.parameters[0].low < 0 < family.space.parameters[0].high:
        family = ct.Linkage(kind, alpha=(alpha - 0.5, alpha + 0.5))
    dual = family.dual(threshold_clustering(alpha, below))
    assert dual.values.tolist() == ([1.0, 0.5] if below else [0.5, 1.0])
    np.testing.assert_allclose(dual.breakpoints, alpha, rtol=1e-9)
