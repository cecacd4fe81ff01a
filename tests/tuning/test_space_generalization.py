"""What results for several parameters say about new instances, by a cover of all settings."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import Candidates, cover_of, rademacher
from certune.testing.boxes import random_setting

TWO = ("euclidean", "cityblock")
FAMILY = ct.Linkage(alpha=(0.5, 6), weights="tune", n_metrics=2)
N = 8


@pytest.fixture(scope="module")
def pool():
    return ct.datasets.digits_clustering(N + 4, n_classes=3, n_per_class=5, metrics=TWO)


@pytest.fixture(scope="module")
def result(pool):
    found = ct.tune(FAMILY, pool[:N])
    assert found.status is ct.Status.OPTIMAL
    return found


@pytest.fixture(scope="module")
def sampled(pool):
    """Utilities at many random settings: what the best of them reaches, all settings reach."""
    rng = np.random.default_rng(0)
    settings = [FAMILY.space.sample(rng) for _ in range(400)]
    return np.array([[FAMILY.run_exact(i, s) for i in pool[:N]] for s in settings], object)


def test_a_cover_holds_every_setting(result, pool):
    cover = result.cover(64)
    rng = np.random.default_rng(1)
    for cell, lower, upper in zip(cover.cells, cover.lower, cover.upper, strict=True):
        params = random_setting(cell.box, rng)
        for instance, low, high in zip(pool[:N], lower, upper, strict=True):
            assert low <= FAMILY.run_exact(instance, params) <= high
    volumes = [
        abs(np.linalg.det(np.array(cell.box.vertices("weights"))))
        * (cell.box.parts[0][1][0] - cell.box.parts[0][0][0])
        for cell in cover.cells
        if len(cell.box.vertices("weights")) == 2
    ]
    assert sum(volumes) == pytest.approx(5.5)


def test_settings_of_a_cover_have_the_utilities_of_runs(result, pool):
    cover = result.cover(64)
    for k in range(0, cover.n_cells, 7):
        runs = [FAMILY.run_exact(instance, cover.settings[k]) for instance in pool[:N]]
        assert runs == cover.utilities[k].tolist()


def test_a_finer_cover_is_kept_and_knows_more(result):
    coarse = result.cover(16)
    fine = result.cover(512)
    assert fine.n_cells >= 512 and result.cover(16) is fine

    def mean_spread(cover):
        return sum(cell.spread for cell in cover.cells) / cover.n_cells

    assert mean_spread(fine) < mean_spread(coarse)


def test_rademacher_complexity_is_bounded_from_both_sides(result, sampled):
    """All 2^8 signs: random settings give a lower bound of the complexity, the cover an upper."""
    brute = rademacher(cover_of(sampled, sampled))
    found = rademacher(result.cover(512).sums)
    assert found.exhaustive and brute.exhaustive
    assert found.lower <= brute.upper <= found.upper
    assert found.upper <= 1.5 * brute.upper


def test_the_guarantee_uses_the_cover(result, pool):
    guarantee = result.guarantee(held_out=pool[N:])
    names = [bound.name for bound in guarantee.bounds]
    assert "empirical Rademacher" in names and "held-out betting" in names
    assert not any("Rademacher" in reason for reason in guarantee.omitted)
    assert any("Massart" in reason for reason in guarantee.omitted)
    own = {bound.name: bound.value for bound in guarantee.bounds}["empirical Rademacher"]
    complexity = rademacher(result.cover().sums)
    assert own >= 2 * complexity.upper


def test_cross_validation_states_its_gaps(result, pool):
    found = result.cross_validate(4)
    assert len(found.folds) == 4 and len(found.utilities) == N and "4-fold" in str(found)
    for fold in found.folds:
        chosen = fold.selection
        others = [i for i in range(N) if i not in fold.left_out]
        runs = [FAMILY.run_exact(pool[i], chosen.params) for i in range(N)]
        assert chosen.value_exact == sum(runs[i] for i in others) / len(others)
        assert fold.value_exact == sum(runs[i] for i in fold.left_out) / len(fold.left_out)
        assert chosen.gap >= 0
        exact = ct.tune(FAMILY, [pool[i] for i in others])
        assert chosen.value_exact <= exact.best_value_exact <= chosen.upper_bound_exact


def test_learning_curve_states_what_could_be_reached(result, sampled):
    curve = result.learning_curve([2, 4], n_splits=50)
    assert curve.tuning_bound is not None and curve.n_splits == 50
    assert (curve.tuning <= curve.tuning_bound).all()
    assert (curve.tuning_bound <= curve.tuning + 0.2).all()
    again = result.learning_curve([2, 4], n_splits=50)
    assert np.array_equal(curve.held_out, again.held_out)
    # The same subsets, with the best of random settings: never above the bound.
    rng = np.random.default_rng(0)
    ranks = rng.permuted(np.tile(np.arange(N), (50, 1)), axis=1)
    weights = (ranks < 2).astype(float)
    best = (weights @ sampled.astype(float).T / 2).max(axis=1)
    assert best.mean() <= curve.tuning_bound[0] + 1e-9


@pytest.mark.parametrize("rule", ["optimum", "plateau", "one-standard-error"])
def test_rules_choose_boxes_that_are_good_everywhere(result, pool, rule):
    chosen = result.select(rule)
    runs = [FAMILY.run_exact(item, chosen.params) for item in pool[:N]]
    assert chosen.rule == rule and chosen.value_exact == sum(runs) / N
    assert chosen.value_exact >= result.best_value_exact - chosen.tolerance
    rng = np.random.default_rng(0)
    for _ in range(5 if chosen.box else 0):
        params = random_setting(chosen.box, rng)
        value = sum(FAMILY.run_exact(item, params) for item in pool[:N]) / N
        assert value >= chosen.lower_bound_exact >= result.best_value_exact - chosen.tolerance


def test_a_plateau_of_everything_is_the_largest_box(result):
    assert result.select("plateau", epsilon=1).tolerance == 1
    with pytest.raises(ct.ParameterError, match="with several parameters"):
        result.select("smoothed")


def test_bootstrap_counts_the_best_candidates(result):
    cover = result.cover()
    found = result.bootstrap(200, random_state=3)
    assert found.n_resamples == 200 and sum(found.shares) == pytest.approx(1.0)
    assert (np.diff(found.shares) <= 0).all() and "200 resamples" in str(found)
    # By hand, in floats: how often no candidate has a larger sum than the best setting.
    rng = np.random.default_rng(3)
    weights = rng.multinomial(N, np.full(N, 1 / N), size=200).astype(float)
    tuned = np.array([result.evaluation.utilities], dtype=float)
    totals = weights @ np.concatenate([tuned, cover.utilities.astype(float)]).T
    share = (totals[:, 0] >= totals.max(axis=1) - 1e-9).mean()
    assert found.first_share == pytest.approx(share)
    bounds = (weights @ cover.upper.astype(float).T).max(axis=1)
    gaps = np.maximum(bounds - totals.max(axis=1), 0) / N
    assert found.gap_estimate == pytest.approx(gaps.mean(), abs=1e-9)


def test_instances_needed_use_the_cover(result):
    labels = {answer.label for answer in result.instances_needed(0.1)}
    assert "G3" in labels and "Bernstein" in labels


class WithoutBounds(ct.Linkage):
    """A family that can only be searched along lines."""

    bounds_boxes = False


def test_families_without_bounds_keep_what_needs_none(pool):
    family = WithoutBounds(alpha=(0.5, 6), weights="tune", n_metrics=2)
    found = ct.tune(family, pool[:3])
    with pytest.raises(ct.ParameterError, match="no bounds on boxes"):
        found.cover()
    guarantee = found.guarantee(held_out=pool[N:], kinds=["rademacher", "hoeffding"])
    assert [bound.name for bound in guarantee.bounds] == ["held-out Hoeffding"]


def test_candidates_check_their_tables():
    table = np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], object)
    found = Candidates([{"x": 0}, {"x": 1}], table, table)
    best = found.best([1])
    assert best.params == {"x": 1} and best.value == 1.0 and best.gap == 0.0
    with pytest.raises(ct.InputError, match="every candidate needs utilities"):
        Candidates([{"x": 0}], table, table)
    with pytest.raises(ct.InputError, match="same instances"):
        Candidates([{"x": 0}, {"x": 1}], table, table[:, :1])
    single = Candidates([{"x": 0}, {"x": 1}], table[:, :1], table[:, :1])
    with pytest.raises(ct.ParameterError, match="at least 2 instances"):
        single.learning_curve()
