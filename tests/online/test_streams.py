"""Adversaries are what they claim to be."""

import math
from itertools import islice

import numpy as np
import pytest
from scipy import stats

import certune as ct
from certune.online import streams
from certune.online.streams import (
    drifting,
    halving,
    independent,
    smoothed_classification,
    smoothed_clustering,
    smoothed_labeling,
    threshold_classification,
    threshold_clustering,
    threshold_labeling,
)


def test_independent_draws_from_any_sampler_and_is_reproducible():
    def cancer(rng):
        return ct.datasets.breast_cancer_classification(1, 20, 20, random_state=rng)[0]

    samplers = [
        lambda rng: ct.datasets.random_clustering(1, 2, 3, random_state=rng)[0],
        lambda rng: ct.datasets.random_labeling(1, 2, 4, 1, random_state=rng)[0],
        cancer,
    ]
    for sample in samplers:
        first, again = ([i.fingerprint for i in islice(independent(sample, 0), 3)] for _ in "ab")
        assert first == again and len(set(first)) == 3


@pytest.mark.parametrize("sample", ["clustering", "labeling", "classification"])
def test_drifting_works_for_instances_of_every_family(sample):
    makers = {
        "clustering": lambda spread, rng: ct.datasets.random_clustering(
            1, 2, 3, spread=spread, random_state=rng
        )[0],
        "labeling": lambda spread, rng: ct.datasets.random_labeling(
            1, 2, 4, 1, spread=spread, random_state=rng
        )[0],
        "classification": lambda spread, rng: ct.ClassificationInstance(
            spread * rng.normal(size=(6, 2)), [0, 1] * 3, rng.normal(size=(2, 2)), [0, 1]
        ),
    }
    family = {
        "clustering": ct.Linkage("power-mean", alpha=(-3, 3)),
        "labeling": ct.HarmonicLabeling(sigma=(0.1, 3)),
        "classification": ct.RegularizedLogistic(lam=(0.01, 1), metric="accuracy"),
    }[sample]
    ends = [lambda rng, s=spread: makers[sample](s, rng) for spread in (0.1, 1.0)]
    tuner = ct.OnlineTuner(family, random_state=0)
    for instance in islice(drifting(ends, 4, 0), 6):
        tuner.update(instance)
    assert tuner.regret().is_exact and tuner.n_rounds == 6


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


def test_smoothed_labelings_have_the_promised_density():
    base = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float)
    drawn = list(islice(smoothed_labeling(base, [0, 2], [0, 0, 1], 4.0, 0), 1000))
    shift = np.array([i.distances[0][0, 1] - 1 for i in drawn])
    assert stats.kstest(shift, "uniform", (0, 0.25)).pvalue > 1e-3
    assert drawn[0].labeled.tolist() == [0, 2] and drawn[0].truth.tolist() == [0, 0, 1]
    with pytest.raises(ct.ParameterError, match="density"):
        next(smoothed_labeling(base, [0], [0, 0, 1], -1.0))


def test_smoothed_classification_perturbs_every_feature():
    base = ct.ClassificationInstance([[0.0], [1.0]], [0, 1], [[2.0], [3.0]], [1, 0])
    drawn = list(islice(smoothed_classification(base, 2.0, 0), 1000))
    for values in (np.array([i.X[1, 0] - 1 for i in drawn]), [i.X_val[0, 0] - 2 for i in drawn]):
        assert stats.kstest(values, "uniform", (-0.25, 0.5)).pvalue > 1e-3
    assert all((i.y == base.y).all() and (i.y_val == base.y_val).all() for i in drawn)
    with pytest.raises(ct.ParameterError, match="density"):
        next(smoothed_classification(base, 0.0))


def test_an_adversary_can_choose_anew_in_every_round():
    bases = [np.full((3, 3), float(level)) for level in (1, 5, 9)]
    drawn = list(smoothed_clustering(iter(bases), [0, 0, 1], 1.0, 0))
    assert [int(i.distances[0][0, 1]) for i in drawn] == [1, 5, 9]
    chosen = [ct.ClassificationInstance([[v], [v + 1]], [0, 1], [[v]], [1]) for v in (0.0, 9.0)]
    drawn = list(smoothed_classification(iter(chosen), 1.0, 0))
    assert [round(i.X[0, 0] / 9) for i in drawn] == [0, 1]


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("place", [0.06, 0.4, 0.9])
def test_threshold_labelings_and_classifications_change_at_their_threshold(place, below):
    expected = [1.0, 0.0] if below else [0.0, 1.0]
    sigma = ct.HarmonicLabeling(sigma=(0.05, 1.0)).dual(threshold_labeling(place, below))
    lam = ct.RegularizedLogistic("l2", lam=(0.05, 1.0), metric="accuracy").dual(
        threshold_classification(place, below)
    )
    for dual in (sigma, lam):
        assert dual.values.tolist() == expected
        np.testing.assert_allclose(dual.breakpoints, place, rtol=1e-8)


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


def sampler(rng):
    return rng.random()


@pytest.mark.parametrize(
    "call",
    [
        lambda: next(streams.drifting([sampler], 3)),
        *[lambda n=n: next(streams.drifting([sampler, sampler], n)) for n in (0, -1, 1.5, "a")],
        *[
            lambda ends=ends: next(streams.halving(*ends, lambda x, below: x))
            for ends in ((1, 0), (0, 0), (math.nan, 1), (0, math.inf))
        ],
        *[lambda a=a: streams.threshold_clustering(a, True) for a in (0, math.nan, 1e4)],
        *[lambda s=s: streams.threshold_labeling(s, True) for s in (0, -1, math.inf)],
        *[lambda x=x: streams.threshold_classification(x, True) for x in (0, -1, math.nan)],
        *[
            lambda base=base: next(streams.smoothed_clustering(base, [0, 0, 1], 1.0))
            for base in ("abc", np.ones((3, 2)), 1.0, [[[[1.0]]]])
        ],
    ],
)
def test_bad_adversaries_are_refused(call):
    with pytest.raises((ct.ParameterError, ct.InputError), match="must|needs"):
        call()
