"""Branch and bound against the plain algorithms at many parameters at once, in plain numpy.

The oracle shares no code with the package: all parameters take one merge at a time, prunings and
matchings are enumerated, so that it is only for few points. On those a dense sample meets every
cell of the parameter space, and the largest utility among the cells must be the proved bound.
"""

from itertools import permutations

import numpy as np
import pytest

import certune as ct

TWO = ("euclidean", "cityblock")
THREE = ("euclidean", "cityblock", "chebyshev")


def trees(distances, kind, alphas, weights=None):
    """Merges (P, n - 1, 2) of slots; the second one of a pair is taken into the first one.

    ``alphas`` is (P,) with ``weights`` (P, L), or (P, L) for product linkage.
    """
    if kind == "product":
        values = np.exp(
            np.einsum("pl,lij->pij", alphas, np.log(distances + np.eye(distances.shape[1])))
        )
        sense = np.sign(alphas.sum(axis=1))
    else:
        combined = np.einsum("pl,lij->pij", weights, distances) + np.eye(distances.shape[1])
        values = combined ** alphas[:, None, None]
        sense = np.sign(alphas)
    n_settings, n = values.shape[:2]
    low = high = mean = values
    if kind == "min-max":
        low, high = values.copy(), values.copy()
    else:
        mean = values.copy()
    sizes = np.ones((n_settings, n))
    alive = np.ones((n_settings, n), bool)
    above = np.triu(np.ones((n, n), bool), 1)
    merges = np.empty((n_settings, n - 1, 2), int)
    rows = np.arange(n_settings)
    for step in range(n - 1):
        current = low + high if kind == "min-max" else mean
        usable = alive[:, :, None] & alive[:, None, :] & above
        keys = np.where(usable, sense[:, None, None] * current, np.inf).reshape(n_settings, -1)
        x, y = np.divmod(keys.argmin(axis=1), n)
        merges[:, step] = np.column_stack([x, y])
        if kind == "min-max":
            pairs = ((low, np.minimum), (high, np.maximum))
        elif kind == "energy":
            # The update of Lance and Williams for Ward's method.
            at_x, at_y = sizes[rows, x, None], sizes[rows, y, None]
            joined, total = mean[rows, x, y][:, None], at_x + at_y + sizes
            pairs = (
                (
                    mean,
                    lambda a, b, at_x=at_x, at_y=at_y, joined=joined, total=total: (
                        ((at_x + sizes) * a + (at_y + sizes) * b - sizes * joined) / total
                    ),
                ),
            )
        else:
            share = (sizes[rows, x] / (sizes[rows, x] + sizes[rows, y]))[:, None]
            pairs = ((mean, lambda a, b, share=share: share * a + (1 - share) * b),)
        for table, joined in pairs:
            new = joined(table[rows, x], table[rows, y])
            table[rows, x] = new
            table[rows, :, x] = new
        sizes[rows, x] += sizes[rows, y]
        alive[rows, y] = False
    return merges


def utility(merges, reference, target, k, objective="k-median"):
    """Hamming utility of the best pruning (k-median) or of the plain cut of one tree."""
    n = len(target)
    top = {p: frozenset([p]) for p in range(n)}
    children = {}
    for x, y in merges.tolist():
        joined = top[x] | top[y]
        children[joined] = (top[x], top[y])
        top[x] = joined
    if objective == "cut":
        top = {p: frozenset([p]) for p in range(n)}
        for x, y in merges[: n - k].tolist():
            top[x] |= top.pop(y)
        best = list(top.values())
    else:
        best = min(
            _prunings(frozenset(range(n)), children, k), key=lambda parts: _cost(parts, reference)
        )
    table = np.array(
        [[sum(target[p] == c for p in part) for part in best] for c in sorted(set(target))]
    )
    if table.shape[0] > table.shape[1]:
        table = table.T
    columns = permutations(range(table.shape[1]), table.shape[0])
    return max(sum(row[c] for row, c in zip(table, choice, strict=True)) for choice in columns) / n


def _prunings(node, children, k):
    if k == 1:
        yield [node]
        return
    if node not in children:
        return
    first, second = children[node]
    for i in range(1, k):
        for left in _prunings(first, children, i):
            for right in _prunings(second, children, k - i):
                yield left + right


def _cost(parts, reference):
    return sum(min(sum(reference[a, c] for a in part) for c in part) for part in parts)


def utilities(instance, kind, alphas, weights=None, objective="k-median"):
    """Utilities (P,) at all parameters; equal trees are scored once."""
    merges = trees(instance.distances, kind, alphas, weights)
    distinct, which = np.unique(merges.reshape(len(merges), -1), axis=0, return_inverse=True)
    reference = instance.distances.mean(axis=0)
    scores = [
        utility(row.reshape(-1, 2), reference, instance.target.tolist(), instance.k, objective)
        for row in distinct
    ]
    return np.array(scores)[which.ravel()]


def tiny(seed, metrics, n=8):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 3))
    return ct.ClusteringInstance(points, metrics=metrics, target=rng.integers(0, 3, n), k=3)


def sample(rng, count, n_metrics, low, high):
    alphas = rng.uniform(low, high, count)
    return alphas[np.abs(alphas) > 1e-3], rng.dirichlet(np.ones(n_metrics), count)


@pytest.mark.parametrize("objective", ["k-median", "cut"])
@pytest.mark.parametrize("kind", ["power-mean", "min-max", "energy"])
@pytest.mark.parametrize("seed", range(2))
def test_bound_is_the_best_of_all_cells(kind, objective, seed):
    instances = [tiny(10 * seed + i, TWO) for i in range(2)]
    low = 0.2 if kind == "energy" else -3
    family = ct.Linkage(kind, (low, 6), weights="tune", n_metrics=2, objective=objective)
    result = ct.tune(family, instances)
    alphas, weights = sample(np.random.default_rng(seed), 6_000, 2, low, 6)
    # Cells can be smaller than the distances of random settings, so that the best one is added.
    alphas = np.append(alphas, result.best_params["alpha"])
    weights = np.concatenate([weights[: len(alphas) - 1], [result.best_params["weights"]]])
    values = np.mean(
        [utilities(item, kind, alphas, weights, objective) for item in instances], axis=0
    )
    assert result.status is ct.Status.OPTIMAL
    assert result.gap == 0.0
    assert values.max() == pytest.approx(result.upper_bound, abs=1e-12)


@pytest.mark.parametrize(
    "ranges", [[(-2, 2), (-2, 2)], [(0.25, 2), (0.5, 2), (-0.25, 1)]], ids=["L=2", "L=3"]
)
def test_bound_of_product_linkage_is_the_best_of_all_cells(ranges):
    instance = tiny(2, THREE[: len(ranges)], n=7)
    result = ct.tune(ct.Linkage("product", alpha=ranges), [instance], timeout=60)
    low, high = np.array(ranges).T
    alphas = np.random.default_rng(0).uniform(low, high, (40_000, len(ranges)))
    values = utilities(instance, "product", alphas)
    assert result.status is ct.Status.OPTIMAL
    assert values.max() == pytest.approx(result.upper_bound, abs=1e-12)


def test_three_metrics():
    instance = tiny(5, THREE)
    result = ct.tune(ct.Linkage(alpha=(-2, 5), weights="tune", n_metrics=3), [instance])
    alphas, weights = sample(np.random.default_rng(1), 40_000, 3, -2, 5)
    values = utilities(instance, "power-mean", alphas, weights[: len(alphas)])
    assert result.status is ct.Status.OPTIMAL
    assert values.max() == pytest.approx(result.upper_bound, abs=1e-12)


def test_no_random_setting_beats_the_bound():
    instance = ct.datasets.digits_clustering(1, n_classes=4, n_per_class=5, metrics=TWO)[0]
    family = ct.Linkage(alpha=(0.5, 8), weights="tune", n_metrics=2)
    result = ct.tune(family, [instance])
    assert result.status is ct.Status.OPTIMAL
    assert family.run(instance, result.best_params) == result.best_value == result.upper_bound
    alphas, weights = sample(np.random.default_rng(0), 10_000, 2, 0.5, 8)
    merges = trees(instance.distances, "power-mean", alphas, weights)
    distinct, first = np.unique(merges.reshape(len(merges), -1), axis=0, return_index=True)
    assert len(distinct) > 10
    for i in first.tolist():
        params = {"alpha": float(alphas[i]), "weights": tuple(weights[i])}
        assert family.run(instance, params) <= result.upper_bound


def test_the_oracle_agrees_with_scipy():
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    rng = np.random.default_rng(0)
    points = rng.standard_normal((7, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    merges = trees(distance[None], "power-mean", np.array([1.0]), np.ones((1, 1)))[0]
    expected = linkage(squareform(distance), "average")
    groups = [frozenset([p]) for p in range(7)]
    for a, b in expected[:, :2].astype(int):
        groups.append(groups[a] | groups[b])
    top = {p: frozenset([p]) for p in range(7)}
    found = []
    for x, y in merges.tolist():
        top[x] = top[x] | top[y]
        found.append(top[x])
    assert found == groups[7:]


def accuracies(instance, sigmas, weights):
    """Accuracy (P,) of harmonic labels at all parameters, by dense linear systems."""
    exponents = np.einsum("pl,lij->pij", weights / sigmas[:, None] ** 2, instance.distances)
    n = instance.n_points
    kernel = np.exp(-exponents) * (1 - np.eye(n))
    free, labeled = instance.unlabeled, instance.labeled
    system = -kernel[:, free[:, None], free]
    system[:, np.arange(len(free)), np.arange(len(free))] = kernel[:, free].sum(axis=2)
    n_classes = len(instance.class_names)
    right = kernel[:, free[:, None], labeled] @ np.eye(n_classes)[instance.labels]
    soft = np.linalg.solve(system, right)
    # Two classes: a tie goes to the second one.
    labels = soft[:, :, 1] >= 0.5 if n_classes == 2 else soft.argmax(axis=2)
    return (labels == instance.truth[free]).mean(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_bound_of_harmonic_labels_is_the_best_of_all_cells(seed, n_classes):
    instances = ct.datasets.random_labeling(
        2,
        n_classes=n_classes,
        n_per_class=12 // n_classes,
        n_labeled_per_class=2,
        spread=0.6,
        metrics=("sqeuclidean", "cityblock"),
        random_state=seed,
    )
    family = ct.HarmonicLabeling(sigma=(0.5, 3), weights="tune", n_metrics=2)
    result = ct.tune(family, instances, timeout=60)
    rng = np.random.default_rng(seed)
    sigmas, shares = np.exp(rng.uniform(np.log(0.5), np.log(3), 20_000)), rng.uniform(size=20_000)
    # Cells can be smaller than the distances of random settings, so that the best one is added.
    sigmas = np.append(sigmas, result.best_params["sigma"])
    shares = np.append(shares, result.best_params["weights"][1])
    weights = np.column_stack([1 - shares, shares])
    values = np.mean([accuracies(item, sigmas, weights) for item in instances], axis=0)
    assert result.status is ct.Status.OPTIMAL
    assert result.gap == 0.0
    assert values.max() == pytest.approx(result.upper_bound, abs=1e-12)
