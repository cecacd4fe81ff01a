"""The height of a cut tuned together with the exponent, against single trees that are cut there."""

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import certune as ct
from certune.box import Box
from certune.errors import InputError, ParameterError
from certune.families.linkage.ruler import N_ENDS, RulerLinkage, with_ruler
from certune.testing import check_family

RANGES = {"energy": (0.3, 4.0), "power-mean": (-4.0, 4.0), "min-max": (-3.0, 5.0)}


def normal_instance(seed, n=14):
    rng = np.random.default_rng(seed)
    return ct.ClusteringInstance(rng.normal(size=(n, 2)), target=rng.integers(0, 3, n))


@pytest.mark.parametrize("kind", RANGES)
def test_along_alpha_it_is_the_cut_of_each_tree(kind):
    rng = np.random.default_rng(1)
    for seed in range(3):
        instance = normal_instance(seed)
        family = ct.ThresholdLinkage(kind, RANGES[kind], (0.1, 4.0))
        height = float(rng.uniform(0.3, 3.0))
        along = ct.Segment.coordinate("alpha", *RANGES[kind], {"cut_height": height})
        dual = family.dual(instance, along)
        assert not len(dual.undecided) and dual.name == "alpha"
        for alpha in rng.uniform(*RANGES[kind], 25).tolist():
            single = ct.ThresholdLinkage(kind, alpha, (0.1, 4.0))
            assert dual.value_at(alpha) == single.run_exact(instance, height)
            setting = {"alpha": alpha, "cut_height": height}
            assert family.run_exact(instance, setting) == single.run_exact(instance, height)


def test_energies_are_those_of_scipy():
    rng = np.random.default_rng(2)
    for seed in range(4):
        instance = normal_instance(seed, 25)
        family = ct.ThresholdLinkage("energy", (0.2, 4.0), (0.2, 8.0), utility="adjusted-rand")
        start, stop = {"alpha": 0.3, "cut_height": 0.4}, {"alpha": 3.8, "cut_height": 7.0}
        dual = family.dual(instance, ct.Segment(start, stop))
        for t in rng.random(25).tolist():
            alpha, height = 0.3 + t * 3.5, 0.4 + t * 6.6
            powers = squareform(instance.distances[0] ** (alpha / 2), checks=False)
            codes = fcluster(linkage(powers, "ward"), height ** (alpha / 2), "distance") - 1
            assert dual.value_at(t) == family.utility.score(instance.target, codes.astype(int))


@pytest.mark.parametrize("kind", RANGES)
def test_the_family_keeps_its_promises(kind):
    rng = np.random.default_rng(3)
    family = ct.ThresholdLinkage(kind, RANGES[kind], (0.05, 3.0))
    rounded = np.round(rng.normal(size=(9, 2)), 1)
    instances = [
        normal_instance(4, 8),
        ct.ClusteringInstance(np.vstack([rounded, rounded[:3]]), target=np.arange(12) % 3),
    ]
    check_family(family, instances)


@pytest.mark.parametrize("kind", RANGES)
def test_merges_at_the_very_height_are_undone(kind):
    """Whole numbers on a line: at many exponents merges tie with each other and with the height."""
    rng = np.random.default_rng(4)
    low = 0.5 if kind == "energy" else -2.0
    for _ in range(6):
        points = rng.integers(0, 9, (8, 1)).astype(float)
        instance = ct.ClusteringInstance(points, target=np.arange(8) % 3)
        family = ct.ThresholdLinkage(kind, (low, 4.0), (0.5, 9.0))
        for height in (1.0, 2.0, 3.0):
            along = ct.Segment.coordinate("alpha", low, 4.0, {"cut_height": height})
            dual = family.dual(instance, along)
            ends = [*dual.starts.tolist(), *dual.stops.tolist()]
            for alpha in [1.0, 2.0, 3.0, *ends, *rng.uniform(low, 4.0, 5).tolist()]:
                truth = ct.ThresholdLinkage(kind, alpha, (0.5, 9.0)).run_exact(instance, height)
                least, most = dual.enclose_exact(alpha)
                assert least <= truth <= most, (points.ravel().tolist(), height, alpha)


def test_lines_begin_at_merges_of_that_very_height():
    """Thirds and tenths, whose share of a range is no float."""
    for distance, high in [(1 / 3, 2.0), (0.1, 0.2), (0.2, 0.7), (1.0, 2.0), (2.8, 7.5)]:
        places = np.array([[0.0], [distance], [7.0 * distance]])
        instance = ct.ClusteringInstance(distances=abs(places - places.T), target=[0, 1, 2])
        for kind in RANGES:
            family = ct.ThresholdLinkage(kind, RANGES[kind], (distance, high))
            at_merge, above = (
                {"alpha": alpha, "cut_height": height}
                for alpha, height in [(1.3, distance), (2.7, high)]
            )
            assert family.run_exact(instance, at_merge) == 1
            for line in (ct.Segment(at_merge, above), ct.Segment(above, at_merge)):
                dual = family.dual(instance, line)
                for t in filter(line.is_exact_at, (0.0, 1.0)):
                    assert dual.value_at(t) == family.run_exact(instance, line.at(t))


@pytest.mark.parametrize("points", [[[0.0]], [[1.0], [1.0]], [[0.0], [1.0]], [[0.0], [1.0], [3.0]]])
def test_few_points(points):
    family = ct.ThresholdLinkage("energy", (0.5, 4.0), (0.5, 5.0))
    instance = ct.ClusteringInstance(points, target=[0] * (len(points) - 1) + [1])
    along = ct.Segment.coordinate("alpha", 0.5, 4.0, {"cut_height": 1.0})
    dual = family.dual(instance, along)
    for alpha in (0.5, 1.0, 2.0, 4.0):
        assert dual.value_at(alpha) == family.run_exact(
            instance, {"alpha": alpha, "cut_height": 1.0}
        )
    [box] = Box.strata(family.space)
    bound = family.bound_on_box(instance, box)
    assert bound.lower <= family.run_exact(instance, box.centre) <= bound.upper


def test_a_ruler_is_far_from_everything_else():
    instance = normal_instance(5)
    ruled = with_ruler(instance, (0.25, 8.0))
    apart = ruled.distances[:, :N_ENDS, N_ENDS:]
    assert (apart > max(8.0, float(instance.distances.max()))).all()
    assert np.array_equal(ruled.distances[1, N_ENDS:, N_ENDS:], instance.distances[0])
    tree = RulerLinkage("energy", (0.5, 4.0), False, ct.Linkage().utility).solve(
        with_ruler(instance, (1.5,)), 2.0
    )
    expected = ct.ThresholdLinkage("energy", 2.0, (1.0, 2.0)).solve(instance, 1.5)
    assert np.array_equal(tree.labels[N_ENDS:] - N_ENDS, expected.labels)


def test_tuned_with_a_proof_to_an_estimator():
    instances = ct.datasets.digits_clustering(4, n_classes=3, n_per_class=5, random_state=0)
    family = ct.ThresholdLinkage("energy", (0.5, 3.0), (20.0, 200.0))
    result = ct.tune(family, instances[:3], max_nodes=60)
    reached = [
        np.mean([family.run(i, {"alpha": a, "cut_height": h}) for i in instances[:3]])
        for a in np.linspace(0.5, 3.0, 9)
        for h in np.linspace(20.0, 200.0, 9)
    ]
    assert max(reached) <= result.upper_bound
    assert result.best_value >= max(reached)
    checked = ct.verify(result.certificate, family, instances[:3])
    assert checked.best_value == result.best_value_exact
    model = result.best_estimator
    labels = model.fit_predict(instances[3].points)
    assert np.array_equal(labels, family.solve(instances[3], result.best_params).labels)


def test_what_cannot_be_tuned_together():
    with pytest.raises(ParameterError, match="alpha must be one number where the height is rel"):
        ct.ThresholdLinkage("energy", (1.0, 2.0), relative=True)
    with pytest.raises(ParameterError, match="alpha must be one number where metrics have"):
        ct.ThresholdLinkage("energy", (1.0, 2.0), (1.0, 2.0), weights=(0.5, 0.5))
    with pytest.raises(ParameterError, match="above 0 where alpha is a range"):
        ct.ThresholdLinkage("energy", (1.0, 2.0), (0.0, 2.0))
    family = ct.ThresholdLinkage("energy", (1.0, 2.0), (1.0, 2.0))
    metrics = ("euclidean", "cityblock")
    two = ct.ClusteringInstance([[0.0], [1.0]], target=[0, 1], metrics=metrics)
    with pytest.raises(InputError, match="has 2 metrics, but alpha and the height"):
        family.dual(two, ct.Segment({"alpha": 1, "cut_height": 1}, {"alpha": 2, "cut_height": 2}))
    one = ct.ClusteringInstance([[0.0], [1.0]], target=[0, 1])
    with pytest.raises(ParameterError, match="the parameters are 'alpha' and 'cut_height', got"):
        family.run(one, {"cut_height": 1.0})
    with pytest.raises(ParameterError, match="cut_height must be above 0 along a line"):
        family.dual(one, ct.Segment({"alpha": 1, "cut_height": 0}, {"alpha": 2, "cut_height": 1}))


def test_single_and_complete_linkage_are_settings():
    instance = normal_instance(6)
    family = ct.ThresholdLinkage("power-mean", (-2.0, 2.0), (0.5, 2.0))
    for alpha in (-math.inf, math.inf):
        single = ct.ThresholdLinkage("power-mean", alpha, (0.5, 2.0))
        setting = {"alpha": alpha, "cut_height": 1.0}
        assert family.run_exact(instance, setting) == single.run_exact(instance, 1.0)


def test_the_structure_is_that_of_plain_cuts_with_two_points_more():
    family = ct.ThresholdLinkage("energy", (0.5, 4.0), (0.5, 5.0))
    own = family.structure(20)
    other = ct.Linkage("energy", (0.5, 4.0), "tune", 2, objective="cut").structure(22)
    assert own.predicates == other.predicates
    assert {count.n_parameters for count in own.predicates} == {2}
    assert own.n_piece_forms >= 21
    assert family.structure_of([normal_instance(7)]) is not None
    assert ct.pdim_bound(own).value == ct.pdim_bound(other).value
