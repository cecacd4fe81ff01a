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
