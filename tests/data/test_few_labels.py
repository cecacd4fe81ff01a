"""Data with few labels: instances whose truth is known for some points, and folds of labels."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import LeaveOneOut

import certune as ct

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1], 20)
X = RNG.normal(size=(40, 2)) + 2 * TRUTH[:, None]
Y = np.where(RNG.random(40) < 0.4, TRUTH, -1)
KNOWN = np.flatnonzero(Y != -1)


def test_every_known_label_is_hidden_once():
    folds = ct.labeling_folds(X, Y, cv=4)
    assert [fold.name for fold in folds] == [f"fold {i}" for i in (1, 2, 3, 4)]
    assert sorted(np.concatenate([fold.scored for fold in folds]).tolist()) == KNOWN.tolist()
    for fold in folds:
        assert fold.n_points == 40
        assert sorted([*fold.labeled, *fold.scored]) == KNOWN.tolist()
        assert (fold.truth[fold.scored] == Y[fold.scored]).all()
        assert (fold.labels == Y[fold.labeled]).all()
        assert fold.class_names == (0, 1)


def test_only_points_with_a_known_truth_count():
    family = ct.HarmonicLabeling(sigma=(0.05, 5))
    for fold in ct.labeling_folds(X, Y, cv=3):
        dual = family.dual(fold)
        for sigma in (0.05, 0.3, 1.0, 5.0):
            labels = family.solve(fold, sigma).labels
            share = Fraction(int(np.sum(labels[fold.scored] == Y[fold.scored])), len(fold.scored))
            assert family.run_exact(fold, sigma) == share
            assert dual.value_at(sigma) in (None, share)


def test_boxes_count_the_same_points():
    points = np.column_stack([X, RNG.normal(size=40)])
    fold = ct.labeling_folds(points, Y, cv=3, metrics=["sqeuclidean", "cityblock"])[0]
    family = ct.HarmonicLabeling(sigma=(0.8, 0.9), weights="tune", n_metrics=2)
    bound = family.bound_on_box(fold, family.strata()[-1])
    for share in (0.2, 0.7):
        value = family.run_exact(fold, {"sigma": 0.85, "weights": (share, 1 - share)})
        assert bound.lower <= value <= bound.upper


def test_tuning_over_folds():
    instances = ct.labeling_folds(X, Y, cv=3)
    family = ct.HarmonicLabeling.for_instances(instances)
    result = ct.tune(family, instances, progress=False)
    assert result.status is ct.Status.OPTIMAL
    for sigma in np.geomspace(*family.sigma, 30):
        assert (
            np.mean([family.run(i, float(sigma)) for i in instances]) <= result.best_value + 1e-12
        )


def test_labels_of_any_kind_and_any_splitter():
    names = np.array([None if label < 0 else ("ant", "butterfly")[label] for label in Y], object)
    folds = ct.labeling_folds(X, names, cv=LeaveOneOut(), name="insects")
    assert len(folds) == len(KNOWN) and folds[0].name == "insects, fold 1"
    assert folds[0].class_names == ("ant", "butterfly") and len(folds[0].scored) == 1
    with_nan = np.where(Y == -1, np.nan, Y)
    assert ct.labeling_folds(X, with_nan, cv=2)[0] == ct.labeling_folds(X, Y, cv=2)[0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1] * 40, "y has no label"),
        ([0] * 39, "one label for each of the 40 rows"),
        ([0, 1, *[-1] * 38], "class '0' has 1 row, and folds need 2"),
    ],
)
def test_labels_that_make_no_folds(y, message):
    with pytest.raises(ct.InputError, match=message):
        ct.labeling_folds(X, y)


def test_scored_points_are_checked():
    options = {"points": X, "labeled": KNOWN[:4], "truth": Y}
    with pytest.raises(ct.InputError, match="without a label"):
        ct.LabelingInstance(**options, scored=KNOWN[3:6])
    with pytest.raises(ct.InputError, match="no point is scored"):
        ct.LabelingInstance(**options, scored=[])
    with pytest.raises(ct.InputError, match="truth= was not given"):
        ct.LabelingInstance(points=X, labeled=[0], labels=[1], scored=[1])


def test_scoring_all_points_is_the_default():
    plain = ct.LabelingInstance(points=X, labeled=[0, 39], truth=TRUTH)
    assert ct.LabelingInstance(points=X, labeled=[0, 39], truth=TRUTH, scored=range(1, 39)) == plain
    assert ct.LabelingInstance(points=X, labeled=[0, 39], truth=TRUTH, scored=[1, 2]) != plain


def test_the_range_of_sigma_comes_from_the_data():
    instances = ct.labeling_folds(X, Y, cv=3)
    low, high = ct.HarmonicLabeling.for_instances(instances).sigma
    scaled = ct.HarmonicLabeling.for_instances(ct.labeling_folds(4 * X, Y, cv=3)).sigma
    assert scaled == pytest.approx((4 * low, 4 * high))
    with pytest.raises(ct.ParameterError, match="taken from the instances"):
        ct.HarmonicLabeling.for_instances(instances, sigma=(1, 2))
    with pytest.raises(ct.InputError, match="got no instance"):
        ct.HarmonicLabeling.for_instances([])


@pytest.mark.parametrize(
    "y",
    [
        ["u", "v", -1] * 4,
        np.array(["u", "v", -1] * 4, dtype=object),
        pd.Series(["u", "v", None] * 4, dtype="string"),
    ],
)
def test_words_beside_unknown_labels(y):
    first, _ = ct.labeling_folds(np.arange(24.0).reshape(12, 2), y, 2)
    assert first.class_names == ("u", "v") and len(first.scored) == 4
