"""Mistakes at the Python door: what a message must name, and that its remedy works.

Those in files are in ``tests/data``, those on the command line in ``tests/cli``.
"""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import certune as ct
from certune.errors import CertuneError
from certune.linear_model import ElasticNetCV, LogisticRegressionCV, RidgeCV

POINTS, TARGET = [[0.0, 1.0], [1.0, 2.0], [5.0, 5.0]], [0, 0, 1]
INSTANCE = ct.ClusteringInstance(POINTS, target=TARGET, name="three")
FAMILY = ct.Linkage(alpha=(-1, 1))
FOLDS = ct.folds(np.arange(12.0).reshape(6, 2), [0, 1] * 3, cv=2)


def clustering(points=POINTS, **options):
    return ct.ClusteringInstance(points, **{"target": TARGET, **options})


def tune(**options):
    return ct.tune(FAMILY, [INSTANCE], **options)


def program(function, *names):
    space = ct.ParameterSpace(tuple(ct.Real(name, 0, 1) for name in names or ("scale",)))
    return ct.tune(ct.ProgramFamily(function, space), [(1.0,)])


# The mistake, what the message says, and where it can be followed, what it advises.
MISTAKES = {
    "a class": (lambda: ct.tune(ct.Linkage, [INSTANCE]), "the class Linkage: make one first"),
    "swapped": (
        lambda: ct.tune([INSTANCE], FAMILY),
        "got a list: the family comes first, then the instances",
        lambda: ct.tune(FAMILY, [INSTANCE]),
    ),
    "a name": (lambda: ct.tune("linkage", [INSTANCE]), "got 'linkage'"),
    "one instance": (lambda: ct.tune(FAMILY, INSTANCE), "pass [instance] for one", tune),
    "a file": (lambda: ct.tune(FAMILY, "data.csv"), "instances must be a list, got 'data.csv'"),
    "nothing": (lambda: ct.tune(FAMILY, []), "instances are empty"),
    "other instances": (
        lambda: ct.tune(FAMILY, FOLDS),
        "fold 1: expected a ClusteringInstance, got ClassificationInstance",
    ),
    "an array": (lambda: ct.tune(FAMILY, [np.zeros((3, 2))]), "instance 0: expected a Clust"),
    "no range": (
        lambda: ct.tune(ct.Linkage(alpha=1.0), [INSTANCE]),
        "give alpha as a range (low, high)",
        lambda: ct.tune(ct.Linkage(alpha=(0.5, 1.0)), [INSTANCE]),
    ),
    "a linkage by its name": (
        lambda: ct.Linkage("ward", alpha=(1, 3)),
        "Ward's method is the kind 'energy' at alpha = 2",
        lambda: ct.Linkage("energy", alpha=2),
    ),
    "single": (
        lambda: ct.Linkage("single"),
        "the kind 'power-mean' at alpha = -inf",
        lambda: ct.Linkage("power-mean", alpha=-np.inf),
    ),
    "groups of one label": (
        lambda: ct.from_frame({"x": [1, 2], "kind": [0, 1]}, target="kind", group="kind"),
        "all rows of a group would have the same label",
        lambda: ct.from_frame({"x": [1, 2], "kind": [0, 1]}, target="kind"),
    ),
    "no result": (
        lambda: ct.load(Path("table.csv").write_text("a,b\n") and "table.csv"),
        "certune.load takes what such a result has saved, or the folder of a run",
    ),
    "negative time": (lambda: tune(timeout=-1), "timeout must be a positive number of seconds"),
    "words for time": (lambda: tune(timeout="60s"), "timeout must be a number, got '60s'"),
    "no workers": (lambda: tune(n_jobs=0), "-1 for all processors", lambda: tune(n_jobs=-1)),
    "method": (lambda: tune(method="grid"), "auto, branch-and-bound, line-search, got 'grid'"),
    "one callback": (
        lambda: tune(callbacks=len),
        "callbacks must be a list of functions",
        lambda: tune(callbacks=[lambda state: None]),
    ),
    "progress": (lambda: tune(progress="yes"), "progress must be True, False or None, got 'yes'"),
    "on_error": (lambda: tune(on_error="ignore"), "'raise' or 'skip', got 'ignore'"),
    "failing callback": (lambda: tune(callbacks=[lambda state: 1 / 0]), "ZeroDivisionError"),
    "kind": (
        lambda: ct.Linkage("powermean"),
        "did you mean 'power-mean'?",
        lambda: ct.Linkage("power-mean"),
    ),
    "order of a range": (lambda: ct.Linkage(alpha=(3, -3)), "low < high, got (3, -3)"),
    "range of words": (lambda: ct.Linkage(alpha="big"), "alpha must be a real number, got 'big'"),
    "three ends": (lambda: ct.Linkage(alpha=(1, 2, 3)), "a range (low, high), got (1, 2, 3)"),
    "unknown parameter": (
        lambda: FAMILY.run(INSTANCE, {"alfa": 1.0}),
        "did you mean 'alpha'?",
        lambda: FAMILY.run(INSTANCE, {"alpha": 1.0}),
    ),
    "missing parameter": (lambda: FAMILY.run(INSTANCE, {}), "'alpha' is free and must be given"),
    "missing value": (
        lambda: clustering([[0.0, 1.0], [np.nan, 2.0], [1.0, 1.0]]),
        "nan at point 1, feature 0",
    ),
    "text": (
        lambda: clustering([["a", "b"], ["c", "d"], ["e", "f"]]),
        "got 'a' in row 0, column 0: encode text as numbers first, or read the table with "
        "certune.from_frame",
        lambda: ct.from_frame({"x": list("ace"), "kind": list("uuv")}, target="kind"),
    ),
    "ragged": (
        lambda: clustering([[0.0, 1.0], [1.0], [2.0, 3.0]]),
        "row 0 has 2 entries and row 1 has 1 entries",
    ),
    "sparse": (
        lambda: clustering(csr_array(POINTS)),
        "pass its .toarray()",
        lambda: clustering(csr_array(POINTS).toarray()),
    ),
    "one row": (
        lambda: clustering([0.0, 1.0, 5.0]),
        "points.reshape(-1, 1)",
        lambda: clustering(np.array([0.0, 1.0, 5.0]).reshape(-1, 1)),
    ),
    "too many labels": (lambda: clustering(target=[0, 1, 1, 0]), "each of the 3 points"),
    "metric": (lambda: clustering(metrics="euclid"), "did you mean 'euclidean'"),
    "too many clusters": (lambda: clustering(k=5), "from 1 to the number of points 3, got 5"),
    "directions": (
        lambda: ct.ClusteringInstance(distances=[[0, 1], [2, 0]], target=[0, 1]),
        "(d + d.T) / 2",
        lambda: ct.ClusteringInstance(distances=[[0, 1.5], [1.5, 0]], target=[0, 1]),
    ),
    "penalty": (lambda: ct.RegularizedLogistic("l3"), "('l1', 'l2'), got 'l3'"),
    "zero on a log scale": (lambda: ct.RegularizedLogistic(lam=(0, 1)), "low > 0, got low=0.0"),
    "two ranges": (lambda: ct.RegularizedLogistic(lam=(1, 2), C=(1, 2)), "not both"),
    "score": (lambda: ct.RegularizedLogistic(metric="f1"), "'log-loss', 'accuracy'"),
    "no largest error": (
        lambda: ct.RegularizedRegression(),
        "needs max_error",
        lambda: ct.RegularizedRegression(max_error=2.0),
    ),
    "bandwidth": (lambda: ct.HarmonicLabeling(sigma=(-1, 2)), "positive number"),
    "no label": (lambda: ct.LabelingInstance([[0.0], [1.0]], labeled=[], truth=[0, 1]), "labeled="),
    "label outside": (
        lambda: ct.LabelingInstance([[0.0], [1.0]], labeled=[5], truth=[0, 1]),
        "indices from 0 to 1, got 5",
    ),
    "parameter in a program": (
        lambda: program(lambda item, p: 1 if p["scle"] > 0 else 0),
        "the parameter 'scle', and the parameters are named 'scale'",
    ),
    "text from a program": (lambda: program(lambda item, p: "a"), "must return a number"),
    "float of a parameter": (
        lambda: program(lambda item, p: 1 if float(p["scale"]) > 0.5 else 0),
        "compare it as it is",
        lambda: program(lambda item, p: 1 if p["scale"] > 0.5 else 0),
    ),
    "ends of a parameter": (lambda: ct.Real("x", 1, 0), "low < high, got low=1.0 and high=0.0"),
    "rule": (lambda: tune().select("median"), "'plateau', 'one-standard-error'"),
    "confidence": (lambda: tune().guarantee(delta=2), "strictly between 0 and 1, got 2"),
    "accuracy": (lambda: tune().instances_needed(epsilon=0), "epsilon must be positive"),
    "other held-out": (lambda: tune().evaluate(FOLDS), "fold 1: expected a ClusteringInstance"),
    "nowhere": (lambda: tune().report("/nowhere/at/all.html"), "cannot write /nowhere/at/all.html"),
    "picture": (lambda: tune().plot_landscape("a.xyz"), "a suffix such as .png, .svg or .pdf"),
    "certificate of others": (
        lambda: ct.verify(tune().certificate, FAMILY, [INSTANCE] * 2),
        "about 1 instances, got 2",
    ),
    "no run": (lambda: ct.load("/nowhere"), "/nowhere keeps no run"),
    "one parameter": (lambda: ct.cell_map(FAMILY, [INSTANCE]), "a cell map needs two parameters"),
    "list for a frame": (lambda: ct.from_frame([1, 2], target="a"), "use certune.folds for arrays"),
    "column": (
        lambda: ct.from_frame({"x": [1, 2], "y": [0, 1]}, target="z"),
        "no column 'z': it has 'x', 'y'",
    ),
    "seed": (lambda: ct.OnlineTuner(FAMILY, random_state="x"), "random_state must be a whole"),
    "no round": (
        lambda: ct.OnlineTuner(FAMILY, random_state=0).regret(),
        "call propose and update",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_message_names_the_thing_and_its_remedy_works(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mistake, said, *remedy = MISTAKES[case]
    with pytest.raises(ct.CertuneError) as caught:
        mistake()
    assert said in " ".join(str(caught.value).split())
    for follow in remedy:
        follow()


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="certune has no 'Linkages'; did you mean 'Linkage'"):
        _ = ct.Linkages
    with pytest.raises(AttributeError, match=re.escape("certune has no 'xyzzy'; dir(")):
        _ = ct.xyzzy
    assert not hasattr(ct, "Utility") and isinstance(ct.mean([_constant()]).max(), float)


def _constant():
    return ct.PiecewiseFunction.constant(0, 1, Fraction(1, 2), name="x")


BEYOND = 10**400
TWO = ct.ProgramFamily(
    lambda x, p: 1 if p["a"] > x else 0,
    ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1))),
)
FRAME = {"size": [BEYOND, 1, 2, 3], "target": [0, 1, 0, 1]}


ROWS = ([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def squared(alpha):
    return ct.RegularizedRegression("l1", alpha=alpha, metric="r2")


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: ct.folds(*ROWS, cv=[([0.5], [1])]), "cv must have pairs of training and"),
        (lambda: ct.folds(*ROWS, cv=[([0, 1], [2, 4])]), "whole numbers below 4"),
        (lambda: ct.folds(*ROWS, cv=[(None, 1)]), "cv must have pairs of training and"),
        (lambda: squared(np.array(2.0)), r"alpha must be a range \(low, high\), got array\(2"),
        (lambda: squared({1.0, 2.0}), r"alpha must be a range \(low, high\)"),
        (lambda: squared([1.0, [2.0]]), "alpha"),
    ],
)
def test_what_is_no_list_of_that_kind(mistake, said):
    with pytest.raises(CertuneError, match=said):
        mistake()


def test_folds_by_masks():
    masks = np.array([True, True, False, False]), np.array([False, False, True, True])
    (fold,) = ct.folds(*ROWS, cv=[masks])
    assert (fold.X.tolist(), fold.X_val.tolist()) == ([[0.0], [1.0]], [[2.0], [3.0]])


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: ct.GenieClustering(g=(0, BEYOND)), "g must be a range"),
        (lambda: ct.ThresholdLinkage(cut_height=(0, BEYOND)), "cut_height must be a range"),
        (lambda: ct.cell_map(TWO, [0.5], resolution=BEYOND), "resolution must be .* at most 65536"),
        (lambda: ct.cell_map(TWO, [0.5], resolution=2**63), "resolution must be .* at most 65536"),
        (lambda: ct.pfaffian.trace(lambda x, p: 1, 0, {"a": (0, BEYOND)}), "the range of 'a'"),
        (lambda: clustering(metrics=[lambda a, b: BEYOND]).distances, "must return a number"),
        (lambda: ct.from_frame(pd.DataFrame(FRAME), target="target"), "size"),
        (lambda: LogisticRegressionCV().fit([[BEYOND], [0]] * 4, [0, 1] * 4), "X has a whole"),
        (lambda: RidgeCV().fit([[1], [0]] * 4, [BEYOND] * 8), "y must be numbers"),
        (lambda: RidgeCV(alphas=(1, BEYOND)).fit([[1], [0]] * 4, [1] * 8), r"alphas\[1\]"),
        (lambda: ElasticNetCV(l1_ratio=BEYOND).fit([[1], [0]] * 4, [1] * 8), "l1_ratio must"),
    ],
)
def test_whole_numbers_beyond_the_floats(mistake, said):
    with pytest.raises(CertuneError, match=said):
        mistake()
