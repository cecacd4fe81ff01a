"""What is said about new instances is said in the score's own words and direction."""

import numpy as np
import pytest

import certune as ct


@pytest.fixture(scope="module")
def instances():
    rng = np.random.default_rng(0)
    return [
        ct.RegressionInstance(rows[:12], targets[:12], rows[12:], targets[12:], name=f"draw {n}")
        for n in range(8)
        for rows in [rng.normal(size=(20, 2))]
        for targets in [rows @ [1.0, -1.0] + 0.3 * rng.normal(size=20)]
    ]


@pytest.fixture(scope="module", params=["squared-error", "r2"])
def tuned(request, instances):
    family = ct.RegularizedRegression(alpha=(1e-2, 1e2), max_error=8.0, metric=request.param)
    return ct.tune(family, instances[:5], progress=False), instances[5:]


def test_held_out_evaluations_show_the_score(tuned):
    result, unseen = tuned
    score, held_out = result.family.score, result.evaluate(unseen)
    text = str(held_out)
    interval = held_out.interval()
    ends = sorted([score.of(interval.low), score.of(interval.high)])
    assert f"expected {score.name} of the tuned setting: [{ends[0]:.4g}, {ends[1]:.4g}]" in text
    assert f"on the tuning instances: {result.best_score:.4f}, optimism" in text
    assert "utility" not in text
    comparison = held_out.comparisons()[-1]
    shown = comparison.difference if score.greater_is_better else -comparison.difference
    baseline = held_out.baselines[comparison.name]
    assert shown == pytest.approx(float(score.of(held_out.value)) - float(score.of(baseline)))
    assert f"against {comparison.name}: {shown:+.4f} [" in text


def test_guarantees_speak_of_the_score_in_its_direction(tuned):
    result, unseen = tuned
    score = result.family.score
    found = result.guarantee(held_out=unseen)
    lines = str(found).splitlines()
    assert lines[0] == f"on 5 tuning instances: {result.best_score:.4f}, {score}"
    at_least, sign = ("at least", ">=") if score.greater_is_better else ("at most", "<=")
    assert f"{score.name} {sign}" in str(found)
    if not found.vacuous:
        expected = score.of(found.expected_utility)
        assert f"on a new instance, expect {at_least} {expected:.4f}" in lines[1]


def test_estimates_speak_of_the_score(tuned):
    result, _ = tuned
    score = result.family.score
    folds = result.cross_validate()
    estimate = score.of(folds.value_estimate)
    assert f"estimated {score.name} {estimate:.4f} ± " in str(folds)
    curve = result.learning_curve(sizes=[1, 2], n_splits=3)
    assert str(curve).splitlines()[0] == f"mean {score}"
    assert f"{score.of(curve.tuning[0]):.4f}    {score.of(curve.held_out[0]):.4f}" in str(curve)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (ct.Linkage(), "clustering accuracy"),
        (ct.Linkage(utility="adjusted-rand"), "adjusted Rand index"),
        (ct.Linkage(utility="normalized-mutual-info"), "normalized mutual information"),
        (ct.ThresholdLinkage(cut_height=(0.1, 2)), "clustering accuracy"),
        (ct.GenieClustering(), "clustering accuracy"),
        (ct.HarmonicLabeling(sigma=(0.5, 3)), "accuracy"),
    ],
)
def test_utilities_have_the_name_that_people_know(family, words):
    assert str(family.score) == words and family.score.is_utility


def test_a_function_of_ones_own_is_called_by_its_name():
    def purity(target, labels):
        return sum(int(np.bincount(target[labels == k]).max()) for k in set(labels)) / len(labels)

    items = ct.datasets.random_clustering(2, n_per_cluster=4, random_state=0)
    assert "mean purity" in str(ct.tune(ct.Linkage(utility=purity), items, progress=False))
    assert ct.Linkage(utility=lambda target, labels: 1).score.name == "utility"
