"""Cuts at a height against greedy algorithms that stop there, and against scikit-learn."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

import certune as ct
from certune.errors import InputError, ParameterError
from certune.families.linkage import company
from certune.families.linkage.cut_heights import CutHeights, CutTree
from certune.testing import check_family

METHODS = {
    "single": ("power-mean", -math.inf),
    "average": ("power-mean", 1.0),
    "complete": ("power-mean", math.inf),
    "ward": ("energy", 2.0),
}


def together(labels):
    return labels[:, None] == labels


def merge_value(kind, power, first, second):
    """A mean of powers, of the two extreme ones, or an energy."""
    between = [power(p, q) for p in first for q in second]
    if kind == "min-max":
        return (min(between) + max(between)) / 2
    if kind == "power-mean":
        return sum(between) / len(between)
    a, b = len(first), len(second)
    inside = [sum(power(p, q) for p in own for q in own) for own in (first, second)]
    return (2 * sum(between) / (a * b) - inside[0] / a**2 - inside[1] / b**2) * a * b / (a + b)


def greedy(points, kind, power, is_nearer, stops):
    """Labels of merges one by one until ``stops(value)``; identical points come first."""
    clusters = []
    for p in range(len(points)):
        twin = next((own for own in clusters if points[own[0]] == points[p]), None)
        clusters.append([p]) if twin is None else twin.append(p)
    while len(clusters) > 1:
        pairs = [(a, b) for i, a in enumerate(clusters) for b in clusters[:i]]
        best = None
        for a, b in pairs:
            own = merge_value(kind, power, a, b), sorted((max(a), max(b))), (a, b)
            if (
                best is None
                or is_nearer(own[0], best[0])
                or (not is_nearer(best[0], own[0]) and own[1] < best[1])
            ):
                best = own
        if stops(best[0]):
            break
        a, b = best[2]
        clusters = [own for own in clusters if own not in (a, b)] + [a + b]
    labels = np.empty(len(points), dtype=np.int64)
    for number, own in enumerate(sorted(clusters, key=min)):
        labels[own] = number
    return labels


@pytest.mark.parametrize("method", METHODS)
def test_heights_are_thresholds_of_scikit_learn(method):
    rng = np.random.default_rng(1)
    X, target = rng.normal(size=(50, 3)), np.arange(50) % 4
    instance = ct.ClusteringInstance(X, target=target)
    family = ct.ThresholdLinkage(*METHODS[method], cut_height=(0.0, 15.0))
    dual = family.dual(instance)
    heights = family.solve(instance, 1.0).heights
    beside = np.concatenate([heights * (1 - 1e-9), heights * (1 + 1e-9)])
    for height in [*rng.uniform(0, 6, 12), *rng.choice(beside, 20, replace=False), 14.9]:
        theirs = AgglomerativeClustering(None, linkage=method, distance_threshold=height).fit(X)
        own = ct.LinkageClustering(
            None, *METHODS[method], objective="cut", cut_height=float(height)
        ).fit(X)
        assert np.array_equal(together(own.labels_), together(theirs.labels_))
        assert own.n_clusters_ == theirs.n_clusters_
        codes = np.unique(theirs.labels_, return_inverse=True)[1]
        assert dual.value_at(height) == family.utility.score(instance.target, codes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "alpha"), [("power-mean", 1), ("min-max", 3), ("energy", 2)])
def test_heights_that_are_floats_are_told_from_their_neighbours(kind, alpha, seed):
    """Whole numbers on a line: merges tie, and many heights are whole numbers themselves."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 9, 9).tolist()
    instance = ct.ClusteringInstance(np.array(points, float)[:, None], target=np.arange(9) % 3)
    family = ct.ThresholdLinkage(kind, float(alpha), cut_height=(0.0, 40.0))
    dual = family.dual(instance)
    assert not len(dual.undecided)

    def labels(height):
        bar = Fraction(height) ** alpha
        return greedy(
            points,
            kind,
            lambda p, q: Fraction(abs(points[p] - points[q])) ** alpha,
            lambda a, b: a < b,
            lambda value: value >= bar,
        )

    # Nothing is below the height 0, not even copies.
    assert len(set(family.solve(instance, 0.0).labels)) == 9
    heights = {1.0, 2.0, 3.0, 5.0, *family.solve(instance, 1.0).heights.tolist()} - {0.0}
    for height in heights:
        for place in (math.nextafter(height, 0), height, math.nextafter(height, 99)):
            found = family.solve(instance, place).labels
            assert np.array_equal(found, labels(place)), place
            low, high = dual.enclose_exact(place)
            assert low <= family.utility.score(instance.target, found) <= high
            assert family.run_exact(instance, place) == family.utility.score(instance.target, found)


@pytest.mark.parametrize(
    ("kind", "alpha"),
    [("power-mean", 0.0), ("power-mean", -1.5), ("min-max", 0.0), ("min-max", -2.0),
     ("energy", 0.5), ("energy", 3.0), ("power-mean", 0.0001)],
)  # fmt: skip
@pytest.mark.parametrize("relative", [False, True])
def test_every_exponent_in_high_precision(kind, alpha, relative):
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(9, 2)), 1)
    instance = ct.ClusteringInstance(X, target=np.arange(9) % 3)
    family = ct.ThresholdLinkage(kind, alpha, (0.0, 20.0), relative=relative)
    points = X.tolist()
    with mpmath.workdps(60):
        table = [[mpmath.mpf(d) for d in row] for row in instance.distances[0].tolist()]

        def power(p, q):
            d = table[p][q]
            return mpmath.mpf(0) if d == 0 else d**alpha if alpha else mpmath.log(d)

        def is_nearer(a, b):
            return (a > b if alpha < 0 else a < b) and abs(a - b) > mpmath.mpf(10) ** -45

        values = []
        greedy(points, kind, power, is_nearer, lambda value: values.append(value))
        heights = [mpmath.exp(v) if not alpha else v ** (1 / mpmath.mpf(alpha)) for v in values]
        top = max(heights) if relative else 1
        dual = family.dual(instance)
        for height in heights:
            for share in (0.999999, 1.000001):
                place = float(height / top * share)
                bar = mpmath.mpf(place) * top
                bar = bar**alpha if alpha else mpmath.log(bar)
                labels = greedy(
                    points, kind, power, is_nearer,
                    lambda value, bar=bar: value <= bar if alpha < 0 else value >= bar,
                )  # fmt: skip
                assert np.array_equal(family.solve(instance, place).labels, labels)
                assert dual.value_at(place) == family.utility.score(instance.target, labels)


def test_a_share_of_the_top_does_not_depend_on_the_scale():
    rng = np.random.default_rng(3)
    X, target = rng.normal(size=(20, 2)), np.arange(20) % 3
    family = ct.ThresholdLinkage("energy", 2.0, relative=True)
    small, large = (
        family.dual(ct.ClusteringInstance(X * scale, target=target)) for scale in (1.0, 2.0**300)
    )
    assert np.allclose(small.starts, large.starts, rtol=1e-9)
    assert small.values.tolist() == large.values.tolist()
    instance = ct.ClusteringInstance(X, target=target)
    assert family.solve(instance, 1.0).labels.max() == 1
    assert family.solve(instance, math.nextafter(1.0, 2.0)).labels.max() == 0
    assert list(family.baselines) == ["0.7 of the top"]


def test_heights_between_the_same_two_floats_are_told_apart():
    """Rounded square roots: merges of 0/1 vectors at heights that differ beyond the floats."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (40, 9)).astype(float)
    instance = ct.ClusteringInstance(X, target=np.arange(40) % 3)
    for kind, alpha in METHODS.values():
        dual = ct.ThresholdLinkage(kind, alpha, (0.5, 9.0)).dual(instance)
        bounds = np.stack([dual.numerators[:-1], dual.numerators[1:]])
        # Values between two floats are those of levels, never the whole range.
        assert (dual.gap_upper <= bounds.max(axis=0) + 0.2 * dual.denominator).all()


def test_the_family_keeps_its_promises():
    rng = np.random.default_rng(5)
    metrics = ("euclidean", "cityblock")
    X = np.round(rng.normal(size=(15, 2)), 1)
    one = ct.ClusteringInstance(X, target=np.arange(15) % 3)
    two = ct.ClusteringInstance(X, target=np.arange(15) % 3, metrics=metrics)
    check_family(ct.ThresholdLinkage("energy", 1.0, (0.1, 9.0)), [one])
    check_family(ct.ThresholdLinkage("power-mean", math.inf, relative=True), [one])
    check_family(ct.ThresholdLinkage("min-max", 2.0, (0, 9), weights=(0.25, 0.75)), [two])


def test_tuned_with_a_certificate_to_an_estimator():
    instances = ct.datasets.digits_clustering(5, n_classes=3, n_per_class=6, random_state=0)
    family = ct.ThresholdLinkage("energy", 2.0, cut_height=(10.0, 200.0))
    result = ct.tune(family, instances[:4])
    heights = np.linspace(10, 200, 30)
    reached = [np.mean([family.run(i, h) for i in instances[:4]]) for h in heights]
    assert result.best_value >= max(reached)
    assert result.gap == 0
    assert ct.verify(result.certificate, family, instances[:4]).optimal
    model = result.best_estimator
    assert model.n_clusters is None and model.cut_height == result.best_params["cut_height"]
    labels = model.fit_predict(instances[4].points)
    assert np.array_equal(labels, family.solve(instances[4], result.best_params).labels)
    # What they are told and the tuned height is not stands in their names.
    assert {"ward (told k)", "k-means (told k)"} <= result.baselines.keys()


def test_company_is_named_by_what_it_is_told(monkeypatch):
    def apart(points, k=None):
        return np.arange(len(points))

    methods = {"k-means": apart, "HDBSCAN": apart}
    monkeypatch.setattr(company, "point_methods", lambda: methods)
    points = [[0.0, 1.0], [1.0, 1.5], [7.0, 2.0], [8.0, 2.5]]
    instance = ct.ClusteringInstance(points, target=[0, 0, 1, 1])
    found = ct.ThresholdLinkage("energy", 2.0, relative=True).company(instance)
    told = [f"{method} (told k)" for method in (*company.METHODS, "k-means")]
    assert list(found) == [*told, "HDBSCAN"]


def test_a_choice_of_exponents():
    instances = ct.datasets.digits_clustering(3, n_classes=3, n_per_class=6, random_state=0)
    families = {
        f"alpha {alpha}": ct.ThresholdLinkage("energy", alpha, relative=True)
        for alpha in (0.5, 1.0, 2.0)
    }
    result = ct.tune(ct.Choice(families), instances)
    alone = [ct.tune(family, instances).best_value for family in families.values()]
    assert result.best_value == max(alone) and result.gap == 0


def test_identical_points_and_pairs():
    family = ct.ThresholdLinkage("energy", 2.0, (0.0, 5.0))
    same = ct.ClusteringInstance([[1.0]] * 4, target=[0, 0, 1, 1])
    assert family.dual(same).values.tolist() == [0.5]
    assert family.run(same, 0.0) == 0.5
    pair = ct.ClusteringInstance([[0.0], [3.0]], target=[0, 1])
    assert [family.run(pair, h) for h in (3.0, math.nextafter(3.0, 4.0))] == [1.0, 0.5]
    assert family.dual(pair).values.tolist() == [1.0, 0.5]


def test_counts_of_breakpoints():
    family = ct.ThresholdLinkage("power-mean", 1.0, (0.0, 9.0))
    structure = family.structure(30)
    assert structure.line.n_breakpoints == 29
    instance = ct.datasets.random_clustering(1, random_state=0)[0]
    dual = family.dual(instance)
    assert dual.n_pieces - 1 <= family.structure_of([instance]).line.n_breakpoints
    assert ct.pdim_bound(structure).value < 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "product", "cut_height": (0, 1)}, "product linkage has no heights"),
        ({"alpha": (0.5, 2), "cut_height": (0, 1)}, "above 0 where alpha is a range"),
        ({"alpha": 2.0}, "range .low, high. of heights"),
        ({"cut_height": (3, 1)}, "got .3, 1."),
        ({"cut_height": (-1, 1)}, "from 0 on"),
        ({"cut_height": 4.0}, "relative=True"),
        ({"cut_height": (0, 1), "weights": "tune"}, "weights must be numbers"),
        ({"kind": "energy", "alpha": -1.0, "cut_height": (0, 1)}, "alpha > 0"),
        ({"relative": "yes"}, "True or False"),
    ],
)
def test_families_that_are_none(options, words):
    with pytest.raises(ParameterError, match=words):
        ct.ThresholdLinkage(**options)


def test_settings_and_instances_that_do_not_fit():
    family = ct.ThresholdLinkage(cut_height=(0, 1))
    instance = ct.ClusteringInstance([[0.0], [1.0], [3.0]], k=2)
    with pytest.raises(ParameterError, match="the parameter is 'cut_height'"):
        family.solve(instance, {"alpha": 1.0})
    with pytest.raises(ParameterError, match="a number from 0 on"):
        family.solve(instance, -1.0)
    with pytest.raises(InputError, match="no target"):
        family.run(instance, 1.0)
    with pytest.raises(InputError, match="expected a ClusteringInstance"):
        family.solve([[0.0]], 1.0)
    X = instance.points
    with pytest.raises(ParameterError, match="n_clusters=None and objective='cut'"):
        ct.LinkageClustering(2, cut_height=1.0).fit(X)
    with pytest.raises(ParameterError, match="needs n_clusters, or"):
        ct.LinkageClustering(None).fit(X)
    with pytest.raises(ParameterError, match="a number from 0 on"):
        ct.LinkageClustering(None, objective="cut", cut_height="2").fit(X)


def grown(instance, kind, alpha, relative=False):
    return CutHeights(
        *ct.ThresholdLinkage(kind, alpha, (0, 1))._grown(instance, {"alpha": alpha}), relative
    )


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(
    ("kind", "alpha"),
    [("energy", 0.3), ("energy", 2.0), ("energy", 3.0), ("power-mean", -7.0), ("power-mean", 0.01),
     ("min-max", 4.0), ("power-mean", math.inf)],
)  # fmt: skip
def test_heights_in_floats_are_as_accurate_as_they_say(kind, alpha, relative):
    """Arbitrary distances, with which energies cancel and may even be negative."""
    rng = np.random.default_rng(11)
    for scale, spread in ((1e-3, 2.0), (1e150, 1e-3)):
        matrix = scale * (1.0 + spread * rng.random((18, 18)))
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
        heights = grown(ct.ClusteringInstance(distances=matrix, k=2), kind, alpha, relative)
        n_told = 0
        for node, bracket in heights.brackets().items():
            exact = heights.exact_bracket(node)
            assert bracket.last <= exact.last < exact.first <= bracket.first
            n_told += bracket != exact
        assert n_told > 3


def test_merges_between_the_same_two_floats_are_in_the_order_of_their_heights():
    rng = np.random.default_rng(1)
    instance = ct.ClusteringInstance(rng.integers(0, 2, (30, 9)).astype(float), k=2)
    heights = grown(instance, "energy", 2.0)
    tree = CutTree(heights)
    orders = [
        heights.order(a, b)
        for a, b in pairwise(tree._nodes)
        if heights.exact_bracket(a) == heights.exact_bracket(b)
    ]
    assert set(orders) == {-1, 0}
