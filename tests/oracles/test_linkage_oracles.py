"""`dual` against `run`, and `run` against algorithms that share no code with it."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from certune import Linkage, Segment, datasets
from certune.families.linkage.objective import Objective
from certune.kernels.linkage import Pruning, prune


def greedy_tree(values, combine, sign=1):
    """O(n^3) agglomeration: always join the globally nearest pair, ties by the documented rule.

    ``values[i][j]`` may be anything comparable (floats, Fractions, tuples of them).
    """
    n = len(values)
    table = {(i, j): values[i][j] for i in range(n) for j in range(i)}
    size, highest, alive = [1] * n, list(range(n)), list(range(n))
    merges = []
    while len(alive) > 1:
        pairs = [(i, j) for i in alive for j in alive if j < i]
        x, y = min(
            pairs,
            key=lambda p: (sign * combine.key(table[p]), *sorted((highest[p[0]], highest[p[1]]))),
        )
        if highest[x] > highest[y]:
            x, y = y, x
        node = len(size)
        merges.append((x, y))
        for z in alive:
            if z not in (x, y):
                a, b = table[max(x, z), min(x, z)], table[max(y, z), min(y, z)]
                table[node, z] = combine.merge(a, b, size[x], size[y])
        size.append(size[x] + size[y])
        highest.append(highest[y])
        alive = [z for z in alive if z not in (x, y)] + [node]
    return merges


class Mean:
    @staticmethod
    def key(value):
        return value

    @staticmethod
    def merge(a, b, size_a, size_b):
        return (size_a * a + size_b * b) / (size_a + size_b)


class MinMax:
    @staticmethod
    def key(value):
        return value[0] + value[1]

    @staticmethod
    def merge(a, b, size_a, size_b):
        return min(a[0], b[0]), max(a[1], b[1])


def greedy_min_max(distances, alpha):
    """The same for min-max linkage in floats, one vectorised search per merge."""
    n = len(distances)
    smallest, largest = distances.copy(), distances.copy()
    sign = -1.0 if alpha < 0 else 1.0
    alive, node, merges = list(range(n)), list(range(n)), []
    while len(alive) > 1:
        block = np.ix_(alive, alive)
        low, high = smallest[block], largest[block]
        np.fill_diagonal(low, 1.0)
        np.fill_diagonal(high, 1.0)
        values = np.log(low) + np.log(high) if alpha == 0 else sign * (low**alpha + high**alpha)
        np.fill_diagonal(values, np.inf)
        i, j = np.unravel_index(np.argmin(values), values.shape)
        x, y = alive[i], alive[j]
        merges.append((node[x], node[y]))
        node[x] = n + len(merges) - 1
        for table, pick in ((smallest, np.minimum), (largest, np.maximum)):
            table[x] = table[:, x] = pick(table[x], table[y])
        alive.remove(y)
    return merges


def labels_of(merges, instance, objective):
    n = instance.n_points
    left = np.zeros(2 * n - 1, dtype=np.int64)
    right = np.zeros(2 * n - 1, dtype=np.int64)
    highest = list(range(n))
    for i, (a, b) in enumerate(merges):
        a, b = sorted((int(a), int(b)), key=lambda node: highest[node])
        left[n + i], right[n + i] = a, b
        highest.append(highest[b])
    rule = Objective(objective)
    pruning = Pruning(rule.code, rule.reference_matrix(instance), instance.k)
    return prune(pruning, left[None], right[None])[0]


def oracle_labels(instance, kind, alpha, weights=None, objective="k-median"):
    """Labels by scipy where it has the method, by the greedy algorithm otherwise."""
    n = instance.n_points
    if kind == "product":
        values = np.ones((n, n))
        for exponent, matrix in zip(alpha, instance.distances, strict=True):
            with np.errstate(divide="ignore"):
                values = values * np.where(matrix > 0, matrix, 1.0) ** exponent
        flip = sum(alpha) < 0
        condensed = squareform(values - np.diag(np.diag(values)), checks=False)
        merges = scipy_linkage(-condensed if flip else condensed, "average")[:, :2]
        return labels_of(merges, instance, objective)
    weights = weights or (1.0 / instance.n_metrics,) * instance.n_metrics
    distances = sum(w * d for w, d in zip(weights, instance.distances, strict=True))
    condensed = squareform(distances, checks=False)
    if np.isinf(alpha):
        merges = scipy_linkage(condensed, "complete" if alpha > 0 else "single")[:, :2]
        return labels_of(merges, instance, objective)
    powers = np.log(condensed) if alpha == 0 else condensed**alpha
    if kind == "power-mean":
        merges = scipy_linkage(-powers if alpha < 0 else powers, "average")[:, :2]
        return labels_of(merges, instance, objective)
    return labels_of(greedy_min_max(distances, alpha), instance, objective)


def parameters_near_breakpoints(dual, rng, count):
    """Half uniform, half within 1e-7 .. 1e-2 of a breakpoint (all uniform if there is none)."""
    uniform = rng.uniform(dual.low, dual.high, count)
    if not len(dual.breakpoints):
        return uniform
    centres = dual.breakpoints.mean(axis=1)[rng.integers(len(dual.breakpoints), size=count)]
    offsets = rng.choice([-1, 1], count) * 10 ** rng.uniform(-7, -2, count)
    near = np.clip(centres + offsets, dual.low, dual.high)
    return np.where(np.arange(count) % 2 == 0, uniform, near)


def two_metrics(n_instances, n_per_class, random_state):
    return datasets.digits_clustering(
        n_instances,
        n_classes=4,
        n_per_class=n_per_class,
        metrics=("euclidean", "cityblock"),
        random_state=random_state,
    )


def blobs(n_instances, n_per_cluster, random_state):
    return datasets.random_clustering(
        n_instances,
        n_clusters=4,
        n_per_cluster=n_per_cluster,
        n_features=3,
        spread=0.3,
        metrics=("euclidean", "chebyshev"),
        random_state=random_state,
    )


def segments(kind):
    """(family, segment) pairs that cover every way a parameter can move."""
    if kind == "product":
        family = Linkage("product", alpha=[(-4, 4), (-4, 4)])
        ends = [((-2, -1), (3, 2)), ((1, -3), (1, 3)), ((-2, -2), (2, 2)), ((0.5, 2), (2.5, 0))]
        return [
            (family, Segment({"alpha_0": a, "alpha_1": b}, {"alpha_0": c, "alpha_1": d}))
            for (a, b), (c, d) in ends
        ]
    family = Linkage(kind, alpha=(-10, 10), weights="tune", n_metrics=2)
    ends = [
        ((-10, (0.5, 0.5)), (10, (0.5, 0.5))),
        ((1, (1, 0)), (1, (0, 1))),
        ((0, (1, 0)), (0, (0, 1))),
        ((-4, (0.9, 0.1)), (6, (0.2, 0.8))),
        ((-3, (1, 0)), (-3, (0, 1))),
    ]
    return [
        (family, Segment({"alpha": a, "weights": v}, {"alpha": b, "weights": w}))
        for (a, v), (b, w) in ends
    ]


def disagreements(family, instance, segment, rng, count, *, with_oracle):
    dual = family.dual(instance, along=segment)
    dual._check()
    wrong = []
    for t in parameters_near_breakpoints(dual, rng, count):
        params = segment.at(t)
        value = family.run_exact(instance, params)
        if dual.value_at(t) != value:
            wrong.append((t, "dual", dual.value_at(t), value))
        if with_oracle:
            alpha = params.get("alpha", tuple(params.get(f"alpha_{i}") for i in range(2)))
            labels = oracle_labels(instance, family.kind, alpha, params.get("weights"))
            if family.utility.score(instance.target, labels) != value:
                wrong.append((t, "oracle", family.utility.score(instance.target, labels), value))
    return wrong


# Points per class (4 classes) and parameters per segment: 10,128 in all, n = 20 ... 200.
COUNTS = {
    "power-mean": {5: 240, 12: 240, 25: 240, 50: 120},
    "min-max": {5: 488, 12: 300, 25: 60, 50: 4},
    "product": {5: 240, 12: 240, 25: 240, 50: 120},
}


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("n_per_class", [5, 12, 25, 50])
@pytest.mark.parametrize("which", range(4))
def test_dual_run_and_oracle_agree(kind, which, n_per_class):
    rng = np.random.default_rng([which, len(kind), n_per_class])
    family, segment = segments(kind)[which]
    instances = [*two_metrics(1, n_per_class, which), *blobs(1, n_per_class, which)]
    for instance in instances:
        count = COUNTS[kind][n_per_class] // 2
        assert disagreements(family, instance, segment, rng, count, with_oracle=True) == []


def test_the_counts_add_up():
    assert sum(4 * sum(counts.values()) for counts in COUNTS.values()) >= 10_000


@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
@pytest.mark.parametrize("objective", ["k-means", "k-center"])
def test_objectives_along_alpha(kind, objective):
    rng = np.random.default_rng(5)
    family = Linkage(kind, objective=objective, utility="adjusted-rand")
    instance = datasets.digits_clustering(1, n_classes=3, n_per_class=10, random_state=9)[0]
    dual = family.dual(instance)
    for t in parameters_near_breakpoints(dual, rng, 60):
        labels = oracle_labels(instance, kind, t, objective=objective)
        assert dual.value_at(t) == family.utility.score(instance.target, labels)
