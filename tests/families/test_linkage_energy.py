"""Energy linkage and plain cuts against greedy algorithms that share no code with them."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering

import certune as ct
from certune.errors import ParameterError
from certune.families.linkage.structure import height_comparisons


def ward(parts, sizes):
    """Lance-Williams update of Ward's method."""
    (ac, bc, ab), (a, b, c) = parts, sizes
    return ((a + c) * ac + (b + c) * bc - c * ab) / (a + b + c)


def mean(parts, sizes):
    (ac, bc, _), (a, b, _) = parts, sizes
    return (a * ac + b * bc) / (a + b)


def half_sum(parts, _):
    (ac, bc, _) = parts
    return min(ac[0], bc[0]), max(ac[1], bc[1])


def greedy(values, update, k, key=lambda value: value):
    """Clusters that are left when k are, of the globally nearest pairs joined one by one.

    Ties go to the lexicographically smallest sorted pair of highest member indices.
    """
    n = len(values)
    table = {frozenset((i, j)): values[i][j] for i in range(n) for j in range(i)}
    members = {i: (i,) for i in range(n)}
    while len(members) > k:
        x, y = min(
            (pair for pair in table),
            key=lambda pair: (key(table[pair]), *sorted(max(members[c]) for c in pair)),
        )
        new = max(members) + n
        joined = table.pop(frozenset((x, y)))
        for z in set(members) - {x, y}:
            parts = table.pop(frozenset((x, z))), table.pop(frozenset((y, z))), joined
            sizes = len(members[x]), len(members[y]), len(members[z])
            table[frozenset((new, z))] = update(parts, sizes)
        members[new] = members.pop(x) + members.pop(y)
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(sorted(members.values(), key=min)):
        labels[list(cluster)] = number
    return labels


def cut_of_scipy(distances, method, k):
    """Labels, in the order of lowest member indices, of all but the last k - 1 merges."""
    n = len(distances)
    merges = scipy_linkage(squareform(distances, checks=False), method)
    members = {i: [i] for i in range(n)}
    for i, (a, b) in enumerate(merges[: n - k, :2].astype(int)):
        members[n + i] = members.pop(a) + members.pop(b)
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(sorted(members.values(), key=min)):
        labels[cluster] = number
    return labels


@pytest.mark.parametrize("method", ["single", "average", "complete", "ward"])
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 29, 40])
def test_estimator_equals_scikit_learn(method, n_clusters):
    X = np.random.default_rng(n_clusters).normal(size=(40, 3))
    alpha = {"single": -np.inf, "average": 1.0, "complete": np.inf, "ward": 2.0}[method]
    own = ct.LinkageClustering(
        n_clusters, "energy" if method == "ward" else "power-mean", alpha, objective="cut"
    ).fit(X)
    theirs = AgglomerativeClustering(n_clusters, linkage=method, compute_distances=True).fit(X)
    assert np.array_equal(own.labels_[:, None] == own.labels_, _together(theirs.labels_))
    np.testing.assert_allclose(own.distances_, theirs.distances_, rtol=1e-9)


def _together(labels):
    return labels[:, None] == labels


def test_energies_are_ward_on_powers():
    rng = np.random.default_rng(0)
    family = ct.Linkage("energy", alpha=(0.1, 6.0), objective="cut")
    for n, k in ((12, 3), (30, 5), (60, 4)):
        points = rng.normal(size=(n, 3))
        target = np.arange(n) % k
        instance = ct.ClusteringInstance(points=points, target=target)
        dual = family.dual(instance)
        for alpha in rng.uniform(0.1, 6.0, size=60):
            labels = cut_of_scipy(instance.distances[0] ** (alpha / 2), "ward", k)
            assert np.array_equal(family.solve(instance, alpha).labels, labels)
            assert dual(alpha) == float(family.utility.score(instance.target, labels))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_ties_as_a_rational_greedy_algorithm_breaks_them(data):
    """Points on a line of whole numbers, many of them identical, at whole exponents."""
    n = data.draw(st.integers(3, 9))
    points = data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    k = data.draw(st.integers(1, n))
    alpha = data.draw(st.integers(1, 4))
    distances = [[Fraction(abs(a - b)) ** alpha for a in points] for b in points]
    instance = ct.ClusteringInstance(points=np.array(points, float)[:, None], k=k)
    for kind, update, values, key in (
        ("energy", ward, distances, lambda value: value),
        ("power-mean", mean, distances, lambda value: value),
        ("min-max", half_sum, [[(d, d) for d in row] for row in distances], sum),
    ):
        labels = greedy(values, update, k, key)
        family = ct.Linkage(kind, alpha=float(alpha), objective="cut")
        assert np.array_equal(family.solve(instance, {}).labels, labels), kind


@pytest.mark.parametrize("kind", ["energy", "power-mean", "min-max"])
@pytest.mark.parametrize("rounded", [False, True])
def test_both_sides_of_breakpoints_in_high_precision(kind, rounded):
    family = ct.Linkage(kind, alpha=(0.05, 15.0), objective="cut", utility="adjusted-rand")
    n_breakpoints = 0
    for seed in range(4):
        points = np.random.default_rng(seed).normal(size=(13, 2)) * 3
        if rounded:
            points = np.rint(points)
        instance = ct.ClusteringInstance(points=points, target=np.arange(13) % 6)
        dual = family.dual(instance)
        n_breakpoints += len(dual.breakpoints)
        for alpha in dual.breakpoints.ravel().tolist():
            labels = precise_cut(kind, instance.distances[0], alpha, 6)
            assert dual(alpha) == float(family.utility.score(instance.target, labels))
    assert n_breakpoints > 1


def precise_cut(kind, distances, alpha, k):
    """Greedy algorithm with 60 digits; values that agree in 40 of them count as ties."""
    with mpmath.workdps(60):
        powers = [
            [mpmath.mpf(d) ** mpmath.mpf(alpha) if d else mpmath.mpf(0) for d in row]
            for row in distances.tolist()
        ]
        if kind == "min-max":
            pairs = [[(d, d) for d in row] for row in powers]
            return greedy(pairs, half_sum, k, lambda pair: _rounded(pair[0] + pair[1]))
        return greedy(powers, ward if kind == "energy" else mean, k, _rounded)


def _rounded(value):
    return mpmath.nint(value * mpmath.mpf(10) ** 40)


@pytest.mark.parametrize("options", [{"kind": "energy"}, {"kind": "power-mean"}], ids=str)
def test_along_exponent_and_weights(options):
    rng = np.random.default_rng(5)
    points, target = rng.normal(size=(25, 3)), np.arange(25) % 4
    instance = ct.ClusteringInstance(
        points=points, target=target, metrics=("chebyshev", "cityblock")
    )
    family = ct.Linkage(
        **options,
        alpha=(0.5, 3.0),
        weights="tune",
        n_metrics=2,
        objective="cut",
        utility="adjusted-rand",
    )
    start = {"alpha": 0.5, "weights": (0.9, 0.1)}
    stop = {"alpha": 3.0, "weights": (0.0, 1.0)}
    segment = ct.Segment(start, stop)
    dual = family.dual(instance, segment)
    assert len(dual.values) > 1
    for t in rng.uniform(segment.low, segment.high, size=40):
        params = segment.at(t)
        alpha, (first, second) = params["alpha"], params["weights"]
        distances = first * instance.distances[0] + second * instance.distances[1]
        if options["kind"] == "energy":
            labels = cut_of_scipy(distances ** (alpha / 2), "ward", 4)
        else:
            labels = cut_of_scipy(distances**alpha, "average", 4)
        assert dual(t) == float(family.utility.score(instance.target, labels))


def test_many_clusters_are_cut_inside_merges_that_hold_everywhere():
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.normal(size=(8, 2)) * 20, rng.normal(size=(8, 2)) * 20])
    points = np.concatenate([points, points + 1e-3 * rng.normal(size=points.shape), points[:3]])
    n = len(points)
    for k in (3, 14, 16, 20, 30, 33, 34):
        instance = ct.ClusteringInstance(points=points, target=np.arange(n) % 3, k=k)
        family = ct.Linkage("power-mean", alpha=(-3.0, 3.0), objective="cut")
        dual = family.dual(instance)
        for alpha in (*rng.uniform(-3, 3, size=5), 0.0):
            assert dual(alpha) == family.run(instance, alpha)
        labels = cut_of_scipy(instance.distances[0], "average", k)
        assert dual(1.0) == float(family.utility.score(instance.target, labels))


@pytest.mark.parametrize(
    "alpha", [0.0, -1.0, (0.0, 2.0), (-10.0, 10.0), np.inf, (-2.0, -1.0)], ids=str
)
def test_energies_need_positive_exponents(alpha):
    with pytest.raises(ParameterError, match="energy linkage needs finite exponents"):
        ct.Linkage("energy", alpha=alpha)
    family = ct.Linkage("energy", alpha=(0.5, 2.0))
    instance = ct.datasets.random_clustering(1)[0]
    if not isinstance(alpha, tuple):
        with pytest.raises(ParameterError, match="energy linkage needs finite exponents"):
            family.run(instance, alpha)


def test_tuned_to_the_end():
    """Optimum, certificate, estimator and learner of energy linkage with a plain cut."""
    instances = ct.datasets.digits_clustering(3, n_classes=3, n_per_class=8)
    family = ct.Linkage("energy", alpha=(0.25, 4.0), objective="cut")
    result = ct.tune(family, instances)
    assert result.status.name == "OPTIMAL"
    assert set(result.baselines) >= {"ward", "energy distance"}
    assert ct.verify(result.certificate, family, instances).n_instances == 3
    estimator = result.best_estimator
    scores = [
        float(family.utility.score(i.target, estimator.fit_predict(i.points))) for i in instances
    ]
    assert np.mean(scores) == pytest.approx(result.best_value)
    tuner = ct.OnlineTuner(family, horizon=3, random_state=0)
    for instance in instances:
        tuner.propose()
        tuner.update(instance)
    assert tuner.regret().value >= 0


@pytest.mark.parametrize("n", [4, 5, 6])
def test_counts_of_comparisons(n):
    pairs, terms = set(), 0
    for roles in product(range(5), repeat=n):
        sets = [frozenset(i for i in range(n) if roles[i] == role) for role in (1, 2, 3, 4)]
        if all(sets):
            pairs.add(frozenset((frozenset(sets[:2]), frozenset(sets[2:]))))
    assert height_comparisons(n) == len(pairs)
    for x, y, z in product(range(1, n), repeat=3):
        if x + y + z <= n:
            within = [size * (size - 1) // 2 for size in (x, y, z)]
            own = within[0] if y != z else 0  # else the coefficients within x cancel
            terms = max(terms, x * (y + z) + own + within[1] + within[2])
    structure = ct.Linkage("energy", alpha=(0.5, 2.0)).structure(n)
    assert structure.predicates[0].chain_length == terms - 1
    cut = ct.Linkage("energy", alpha=(0.5, 2.0), objective="cut").structure(n)
    extra = cut.predicates[0].n_predicates - structure.predicates[0].n_predicates
    assert extra == len(pairs)
    instance = ct.datasets.random_clustering(1, n_clusters=2, n_per_cluster=n // 2)[0]
    dual = ct.Linkage("energy", alpha=(0.1, 9.0), objective="cut").dual(instance)
    assert len(dual.breakpoints) <= cut.line.n_breakpoints


def test_results_stand_in_honest_company():
    instances = ct.datasets.digits_clustering(6, n_classes=3, n_per_class=8)
    result = ct.tune(ct.Linkage("power-mean", alpha=(-4, 4)), instances[:4])
    cuts = {f"{method} (cut)" for method in ("single", "average", "complete", "ward")}
    assert set(result.baselines) == {"single", "average", "complete", "k-means", *cuts}
    held_out = result.evaluate(instances[4:])
    assert {item.name for item in held_out.comparisons()} == set(result.baselines)
    for instance, column in zip(
        instances[4:], held_out.baseline_utilities["ward (cut)"], strict=True
    ):
        labels = AgglomerativeClustering(3, linkage="ward").fit_predict(instance.points)
        assert column == result.family.utility.score(instance.target, labels)
    cut = ct.tune(ct.Linkage("energy", alpha=(0.5, 3), objective="cut"), instances[:4])
    assert set(cut.baselines) == {"energy distance", "ward", "k-means", *cuts - {"ward (cut)"}}
    apart = [ct.ClusteringInstance(distances=i.distances, target=i.target) for i in instances[:4]]
    assert "k-means" not in ct.tune(ct.GenieClustering(), apart).baselines


def test_a_default_that_is_as_good_is_named():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    instance = ct.ClusteringInstance(points=points, target=[0, 0, 1, 1, 2, 2])
    result = ct.tune(ct.Linkage("energy", alpha=(0.5, 3), objective="cut"), [instance] * 2)
    assert "note: a default is as good: energy distance, ward" in str(result)
    shifted = ct.ClusteringInstance(points=points * 2, target=[0, 0, 1, 1, 2, 2])
    assert "a default is as good on these instances" in str(result.evaluate([shifted]))


def test_a_range_that_begins_next_to_zero():
    instance = ct.ClusteringInstance([[0.0], [1.0], [3.0], [7.0]], target=[0, 0, 1, 1])
    dual = ct.Linkage("energy", alpha=(1e-320, 1.0), objective="cut").dual(instance)
    assert dual.value_at(1.0) == ct.Linkage("energy", 1.0, objective="cut").run_exact(instance, {})
