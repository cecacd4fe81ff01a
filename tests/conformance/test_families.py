"""Every family keeps the promises of a family."""

import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance, check_family

ONE = ("euclidean",)
TWO = ("euclidean", "cityblock")

# Options of the family, and the metrics of its instances.
LINKAGES = [
    ({"kind": "power-mean", "alpha": (-6, 6)}, ONE),
    ({"alpha": (-4, 8), "objective": "k-means", "utility": "adjusted-rand"}, TWO),
    ({"kind": "power-mean", "alpha": -1.5, "weights": "tune", "n_metrics": 2}, TWO),
    ({"kind": "power-mean", "alpha": (-5, 5), "weights": "tune", "n_metrics": 2}, TWO),
    ({"kind": "min-max", "alpha": (-6, 6), "objective": "k-center"}, ONE),
    ({"kind": "min-max", "alpha": 2.5, "weights": "tune", "n_metrics": 2}, TWO),
    ({"kind": "product", "alpha": [(-4, 4)]}, ONE),
    ({"kind": "product", "alpha": [(-4, 4), 1.0]}, TWO),
    ({"kind": "product", "alpha": [(-3, 3), (-3, 3)]}, TWO),
    ({"kind": "energy", "alpha": (0.2, 4), "objective": "cut"}, ONE),
    ({"kind": "energy", "alpha": (0.2, 4), "weights": "tune", "n_metrics": 2}, TWO),
    ({"kind": "power-mean", "alpha": (-5, 5), "objective": "cut"}, ONE),
    ({"kind": "min-max", "alpha": (-5, 5), "objective": "cut"}, ONE),
    ({"kind": "min-max", "alpha": 2.5, "weights": "tune", "n_metrics": 2, "objective": "cut"}, TWO),
    ({"kind": "product", "alpha": [(-4, 4), 1.0], "objective": "cut"}, TWO),
]


def instances_of_linkage(metrics):
    """Blobs, real data with close calls, and a grid full of ties."""
    return [
        *ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=5, metrics=metrics),
        *ct.datasets.digits_clustering(1, n_classes=3, n_per_class=6, metrics=metrics),
        *ct.datasets.grid_clustering(1, side=4, n_points=12, n_clusters=3, metrics=metrics),
    ]


@pytest.mark.parametrize(("options", "metrics"), LINKAGES, ids=str)
def test_linkage(options, metrics):
    check_family(ct.Linkage(**options), instances_of_linkage(metrics), n_points=30)


LABELINGS = [
    ({"sigma": (0.15, 4)}, ("sqeuclidean",)),
    ({"sigma": (0.1, 3), "n_neighbors": 3}, ("sqeuclidean",)),
    ({"sigma": (0.2, 2), "weights": (0.3, 0.7)}, ("sqeuclidean", "cityblock")),
    ({"sigma": 0.4, "weights": "tune", "n_metrics": 2}, ("sqeuclidean", "cityblock")),
    ({"sigma": (0.2, 2), "weights": "tune", "n_metrics": 2}, ("sqeuclidean", "cityblock")),
    ({"sigma": (0.15, 4), "certified": False}, ("sqeuclidean",)),
]


def instances_of_labeling(metrics):
    """Two and three classes, and a grid whose symmetry leaves ties at every bandwidth."""
    grid = [[i, j] for i in range(4) for j in range(4)]
    corners, sides = [0, 15], [(i + j) // 4 for i, j in grid]
    return [
        *ct.datasets.random_labeling(1, n_per_class=9, spread=0.5, metrics=metrics),
        *ct.datasets.random_labeling(1, n_classes=3, n_per_class=7, spread=0.4, metrics=metrics),
        ct.LabelingInstance(points=grid, metrics=metrics, labeled=corners, truth=sides),
    ]


@pytest.mark.parametrize(("options", "metrics"), LABELINGS, ids=str)
def test_harmonic_labeling(options, metrics):
    check_family(ct.HarmonicLabeling(**options), instances_of_labeling(metrics), n_points=30)


LOGISTICS = [
    {"penalty": "l2", "lam": (1e-3, 5.0), "standardize": True},
    {"penalty": "l1", "lam": (2e-3, 1.0), "standardize": True, "fit_intercept": False},
    {"penalty": "l2", "lam": (1e-3, 5.0), "metric": "accuracy", "standardize": True},
    {"penalty": "l1", "lam": (2e-3, 1.0), "metric": "accuracy", "standardize": True},
]


@pytest.mark.parametrize("options", LOGISTICS, ids=str)
def test_logistic(options):
    instances = ct.datasets.breast_cancer_classification(2, n_train=50, n_validation=20)
    check_family(ct.RegularizedLogistic(**options), instances, n_points=20)


def test_steps():
    check_family(StepFamily(), [StepInstance((0.25, 0.5), (0, 1, 0)), StepInstance((), (1,))])


def test_greedy_knapsack():
    instances = [
        ct.KnapsackInstance((60, 100, 120, 30, 45), (10, 20, 30, 7, 20), 50, name="integers"),
        ct.KnapsackInstance((1, 1, 1, 2, 2), (1, 2, 4, 2, 8), 9, name="ties"),
        ct.KnapsackInstance((0.3, 0.1, 0.7, 0.2), (0.9, 0.4, 1.3, 0.2), 1.7, name="floats"),
    ]
    check_family(ct.GreedyKnapsack(rho=(0, 4)), instances)


def test_neighbor_voting():
    instances = [
        ct.NeighborInstance([[1.0, 2.0, 3.0, 3.5], [2.0, 1.0, 1.5, 4.0]], "abba", "ab"),
        ct.NeighborInstance([[1.0, 1.0, 2.0, 2.0]], "abab", "b", name="ties"),
    ]
    check_family(ct.NeighborVoting(gamma=(0, 4), n_neighbors=4), instances)


def weighted_majority(bits, parameters):
    """Whether two weighted votes agree with the first; a simplex and a range together."""
    first, second, third = parameters["weights"]
    score = first * bits[0] + second * bits[1] + third * bits[2]
    return 1 if score * parameters["scale"] >= 1 else 0


def test_a_program_with_several_parameters():
    space = ct.ParameterSpace((ct.Simplex("weights", 3), ct.Real("scale", 0.5, 2)))
    family = ct.ProgramFamily(weighted_majority, space)
    check_family(family, [(1, 0, 1), (0, 1, 1), (1.5, 0.5, 0.25)])
