"""What a cover of several parameters misses: proved where boxes have bounds, else estimated."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.online import cover, cover_error

METRICS = ("euclidean", "cityblock")
FAMILY = ct.Linkage("power-mean", alpha=(-3, 3), weights="tune", n_metrics=2)
INSTANCES = ct.datasets.random_clustering(
    5, n_clusters=3, n_per_cluster=4, spread=0.3, metrics=METRICS
)


def best_found(family, instances, n_points, rng):
    settings = [family.space.sample(rng) for _ in range(n_points)]
    return max(sum(family.run_exact(i, params) for i in instances) for params in settings)


def test_no_setting_of_the_space_exceeds_the_bound():
    segments = cover(FAMILY.space, 3)
    on_cover = max((ct.mean([FAMILY.dual(i, along=s) for i in INSTANCES]) * 5).max_exact
                   for s in segments)  # fmt: skip
    tried = best_found(FAMILY, INSTANCES, 150, np.random.default_rng(0))
    errors = [cover_error(FAMILY, INSTANCES, segments, n_boxes=n) for n in (1, 30, 1000)]
    for error in errors:
        assert error.is_proved and error.best == on_cover
        assert error.highest >= max(tried, on_cover)
        assert error.total == float(error.highest - error.best)
        assert "at most" in str(error) and "proved" in str(error)
    # More boxes prove more; with enough of them the bound is below the trivial one.
    assert errors[0].highest >= errors[1].highest >= errors[2].highest
    assert errors[2].highest < 5 and errors[2].average == pytest.approx(errors[2].total / 5)


def test_settings_inside_of_the_space_count():
    """Here some weights between the corners are better than both corners at every exponent."""
    instances = ct.datasets.random_clustering(
        2, n_clusters=3, n_per_cluster=4, spread=0.5, metrics=METRICS, random_state=18
    )
    corners = [
        ct.Segment.coordinate("alpha", -3, 3, {"weights": weights})
        for weights in ((1.0, 0.0), (0.0, 1.0))
    ]
    error = cover_error(FAMILY, instances, corners, n_boxes=300)
    tried = best_found(FAMILY, instances, 150, np.random.default_rng(0))
    assert error.best < tried <= error.highest


def test_a_poor_cover_has_an_error_that_is_found():
    # One line, at the exponent and weights that are worst among a few: others are better.
    candidates = [ct.Segment.coordinate("alpha", a, a + 0.05, {"weights": w})
                  for a in (-2.5, -0.5, 1.0, 2.5) for w in ((1.0, 0.0), (0.0, 1.0))]  # fmt: skip
    totals = [
        sum((FAMILY.dual(i, along=s).max_exact for i in INSTANCES), Fraction(0)) for s in candidates
    ]
    worst = candidates[int(np.argmin(totals))]
    error = cover_error(FAMILY, INSTANCES, [worst], n_boxes=300)
    assert error.highest >= max(totals) > error.best and error.total > 0


LABELINGS = ct.datasets.random_labeling(
    2, 2, 4, 1, metrics=("sqeuclidean", "cityblock"), random_state=3
)


def test_bound_for_bandwidth_and_weights():
    family = ct.HarmonicLabeling(sigma=(0.5, 2.0), weights="tune", n_metrics=2)
    error = cover_error(family, LABELINGS, cover(family.space, 2), n_boxes=200)
    tried = best_found(family, LABELINGS, 100, np.random.default_rng(1))
    assert error.is_proved and error.highest >= max(tried, error.best)


def test_without_bounds_on_boxes_the_error_is_an_estimate():
    family = ct.HarmonicLabeling(sigma=(0.2, 2.0), weights="tune", n_metrics=2, certified=False)
    instances, segments = LABELINGS, cover(family.space, 2)
    error = cover_error(family, instances, segments)
    assert not error.is_proved and error.n_boxes == 0
    assert error.highest >= error.best and "not a bound" in str(error)
    crossing = ct.Segment({"sigma": 0.5, "weights": (1.0, 0.0)}, {"sigma": 0.5, "weights": (0, 1)})
    assert max(family.dual(i, along=crossing).max() for i in instances) <= 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((FAMILY, [], cover(FAMILY.space, 2)), ct.InputError, "got 0 and 2"),
        ((FAMILY, INSTANCES, []), ct.InputError, "got 5 and 0"),
        ((FAMILY, INSTANCES, cover(FAMILY.space, 2), 0), ct.ParameterError, "n_boxes"),
        ((FAMILY, ["no"], cover(FAMILY.space, 2)), ct.InputError, "ClusteringInstance"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        cover_error(*arguments)
