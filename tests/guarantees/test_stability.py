"""Cross-validation, bootstrap and learning curves against tuning from scratch."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import bootstrap, cross_validate, learning_curve, refine
from certune.guarantees.learning import LearningCurve, utilities_at
from certune.testing import StepFamily, WindowDomain


def sample(n, seed=0):
    instances = WindowDomain().sample(n, np.random.default_rng(seed))
    return instances, [StepFamily().dual(instance) for instance in instances]


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_every_fold_is_tuned_exactly(n_folds):
    instances, duals = sample(7)
    found = cross_validate(duals, n_folds)
    left_out = [i for fold in found.folds for i in fold.left_out]
    assert sorted(left_out) == list(range(7)) and len(found.folds) == n_folds
    for fold in found.folds:
        others = [instances[i] for i in range(7) if i not in fold.left_out]
        result = ct.tune(StepFamily(), others)
        assert fold.tuning_value_exact == result.best_value_exact
        assert {"x": fold.selection.coordinate} == result.best_params
        held = [StepFamily().run_exact(instances[i], result.best_params) for i in fold.left_out]
        assert fold.value_exact == sum(held) / len(held)
        assert [found.utilities[i] for i in fold.left_out] == held
    assert found.value_exact == sum(found.utilities) / 7
    promised = sum(f.tuning_value_exact * len(f.left_out) for f in found.folds) / 7
    assert found.optimism_estimate == float(promised - found.value_exact)
    assert f"{n_folds}-fold" in str(found)


def test_undecided_utilities_are_resolved_or_bounded():
    # Tuned without `wide`, the best setting is 0.5, inside its gap.
    wide = ct.PiecewiseFunction([0, 0.75], [0.25, 1], [1, 1], [0], [1], 1)
    peak = ct.PiecewiseFunction([0, 0.5, 0.625], [0.375, 0.5, 1], [0, 1, 0], [0, 0], [1, 1], 1)
    bounded = cross_validate([wide, peak], 2)
    assert bounded.utilities[0] == 0
    resolved = cross_validate([wide, peak], 2, resolve=lambda index, t: Fraction(index == 0, 2))
    assert resolved.utilities[0] == Fraction(1, 2)
    table = utilities_at([wide, peak], np.array([0.5]), None)
    assert table.tolist() == [[0.0, 1.0]]


def test_bad_folds():
    _, duals = sample(3)
    for n_folds in (1, 4, 2.0):
        with pytest.raises(ct.ParameterError, match="n_folds"):
            cross_validate(duals, n_folds)
    with pytest.raises(ct.ParameterError, match="at least 2 instances"):
        cross_validate(duals[:1])


def test_bootstrap_is_tuning_of_resamples():
    instances, duals = sample(6, seed=2)
    found = bootstrap(refine(duals), 40, random_state=9)
    weights = np.random.default_rng(9).multinomial(6, np.full(6, 1 / 6), size=40)
    grid = np.linspace(0, 1, 201)
    counts = np.zeros(grid.size)
    for row, coordinate in zip(weights, found.coordinates, strict=True):
        result = ct.tune(StepFamily(), [instances[i] for i in np.repeat(np.arange(6), row)])
        assert {"x": coordinate} == result.best_params
        counts += [any(low <= x <= high for low, high in result.best_region) for x in grid]
    assert found.optimal_share(grid) == pytest.approx(counts / 40)
    chosen = ct.tune(StepFamily(), instances).best_params["x"]
    assert found.chosen_share == found.optimal_share(chosen)
    low, high = found.quantiles(0.5)
    for outside in (found.coordinates < low, found.coordinates > high):
        assert outside.sum() <= 10
    assert found.n_resamples == 40
    assert found.optimal_share.max() >= found.chosen_share
    assert "40 resamples" in str(found)
    with pytest.raises(ct.ParameterError, match="delta"):
        found.quantiles(1.0)


def test_a_common_peak_is_optimal_in_every_resample():
    duals = [
        ct.PiecewiseFunction([0, 0.5, 0.75], [0.375, 0.625, 1], [k, 6, k], [k, k], [6, 6], 7)
        for k in range(4)
    ]
    found = bootstrap(refine(duals), 100)
    assert found.chosen_share == 1.0 and found.most_frequent == [(0.5, 0.625)]
    assert set(found.coordinates.tolist()) == {0.5625}
    single = bootstrap(refine([ct.PiecewiseFunction.constant(0, 1, 1)]), 3)
    assert single.chosen_share == 1.0


def test_learning_curve_is_tuning_of_subsets():
    instances, duals = sample(9, seed=4)
    curve = learning_curve(refine(duals), [2, 5], n_splits=15, random_state=1)
    rng = np.random.default_rng(1)
    for column, size in enumerate((2, 5)):
        ranks = rng.permuted(np.tile(np.arange(9), (15, 1)), axis=1)
        rows = []
        for row in ranks:
            result = ct.tune(
                StepFamily(), [i for i, r in zip(instances, row, strict=True) if r < size]
            )
            rest = [i for i, r in zip(instances, row, strict=True) if r >= size]
            rows.append((result.best_value, result.evaluate(rest).value))
        tuning, held_out = np.mean(rows, axis=0)
        assert curve.tuning[column] == pytest.approx(tuning, abs=1e-12)
        assert curve.held_out[column] == pytest.approx(held_out, abs=1e-12)
        assert curve.optimism[column] == pytest.approx(tuning - held_out, abs=1e-12)
    assert "instances" in str(curve)


def test_default_sizes_and_bad_sizes():
    _, duals = sample(45)
    assert learning_curve(refine(duals), n_splits=2).sizes.tolist() == [1, 2, 5, 10, 20, 22]
    assert learning_curve(refine(duals[:2]), n_splits=2).sizes.tolist() == [1]
    for sizes in ([45], [], [0], 5, "12"):
        with pytest.raises(ct.ParameterError, match="size"):
            learning_curve(refine(duals), sizes)
    with pytest.raises(ct.ParameterError, match="at least 2 instances"):
        learning_curve(refine(duals[:1]))


def test_the_power_law_is_recovered():
    sizes = np.array([1, 4, 16, 64])
    zeros = np.zeros(4)
    curve = LearningCurve(sizes, 0.5 + 0.3 * sizes**-0.5, zeros + 0.5, zeros, zeros, zeros, 2, 99)
    law = curve.fit()
    assert law.scale == pytest.approx(0.3) and law.exponent == pytest.approx(0.5)
    assert law.n_sizes == 3
    # 0.3 / sqrt(N) <= 0.015 from N = 400 on.
    assert law.instances_for(0.015) in (400, 401)
    flat = LearningCurve(sizes, zeros + 0.5, zeros + 0.5, zeros, zeros, zeros, 2, 99)
    assert flat.fit() is None and "too few sizes" in str(flat)


def test_saturated_sizes_do_not_flatten_the_fit():
    # 0.4 / sqrt(N), cut off at 0.2: the sizes 1, 2 and 4 say nothing about how it falls.
    sizes = np.array([1, 2, 4, 8, 16, 32])
    optimism = np.minimum(0.4 / np.sqrt(sizes), 0.2)
    zeros = np.zeros(6)
    curve = LearningCurve(sizes, 0.5 + optimism, zeros + 0.5, zeros, zeros, zeros, 2, 99)
    law = curve.fit()
    assert law.n_sizes == 3 and law.exponent == pytest.approx(0.5)
    assert law.scale == pytest.approx(0.4)
    two = LearningCurve(*(a[:4] for a in (sizes, curve.tuning, curve.held_out)), *[zeros] * 3, 2, 9)
    assert two.fit() is None and "too few sizes" in str(two)


def test_estimates_are_about_right_on_known_domains():
    # The optimism of the domain is 0.053 at N = 100 (docs/guarantees.md), so that 0.05 needs
    # somewhat more than 100 instances; an estimate from 30 of them is right up to a factor.
    estimates = []
    for seed in range(6):
        _, duals = sample(30, seed=seed)
        law = learning_curve(refine(duals), n_splits=100).fit()
        assert law is not None and 0.5 <= law.exponent <= 1.0
        estimates.append(law.instances_for(0.05))
    assert 30 < np.median(estimates) < 400
