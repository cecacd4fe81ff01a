"""Harmonic labelling: borders of its definition, ties, parameters, tuning."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import certune as ct
from certune.errors import (
    CertificateError,
    InputError,
    ParameterError,
    UndecidedError,
)
from certune.families.graph_ssl.symmetry import Symmetry


def line(positions, labeled, truth, **options):
    points = np.array(positions, dtype=float)[:, None]
    return ct.LabelingInstance(points=points, labeled=labeled, truth=truth, **options)


FAMILY = ct.HarmonicLabeling(sigma=(0.1, 5))


# The definition and its borders


def test_soft_labels_of_one_point_by_hand():
    """One free point at distances 1 and 4: weights e^-1 and e^-4, soft label 1 / (1 + e^3)."""
    instance = line([0, 1, 3], [0, 2], [0, 0, 1])
    labeling = FAMILY.solve(instance, 1.0)
    assert labeling.soft[1, 1] == pytest.approx(1 / (1 + np.exp(3)), rel=1e-15)
    assert labeling.labels.tolist() == [0, 0, 1]
    assert labeling.reached.all()


def test_breakpoint_of_one_point_by_hand():
    """Weights 2 e^(-3 tau) against e^-tau: equal at tau = ln(2) / 2, sigma = sqrt(2 / ln 2)."""
    distances = np.array([[0, 3, 3, 1], [3, 0, 9, 9], [3, 9, 0, 9], [1, 9, 9, 0]], dtype=float)
    instance = ct.LabelingInstance(distances=distances, labeled=[1, 2, 3], truth=[0, 0, 0, 1])
    dual = FAMILY.dual(instance)
    assert dual.values.tolist() == [0.0, 1.0]
    low, high = dual.breakpoints[0]
    assert low <= np.sqrt(2 / np.log(2)) <= high < low * (1 + 1e-12)


def test_a_tie_of_two_classes_goes_to_the_second():
    for positions in ([0, 1, 2], [0, 0, 0]):
        instance = line(positions, [0, 2], [0, 1, 1])
        assert FAMILY.solve(instance, 1.0).labels[1] == 1
        assert FAMILY.dual(instance).values.tolist() == [1.0]


def test_a_tie_of_three_classes_goes_to_the_lowest():
    """The corners of a triangle have different labels, its centre has none."""
    distances = np.ones((4, 4)) - np.eye(4)
    instance = ct.LabelingInstance(distances=distances, labeled=[1, 2, 3], truth=[5, 7, 6, 5])
    assert FAMILY.solve(instance, 0.7).labels[0] == 5
    assert FAMILY.run_exact(instance, 0.7) == 1
    assert FAMILY.dual(instance).max_exact == 1


def test_symmetry_is_seen_through_other_points():
    """A 5 by 5 grid with labels in opposite corners: the other diagonal is tied at every sigma."""
    grid = [[i, j] for i in range(5) for j in range(5)]
    truth = [int(i + j >= 4) for i, j in grid]
    instance = ct.LabelingInstance(points=grid, labeled=[0, 24], truth=truth)
    graph = FAMILY.graph(instance)
    tied = graph.nodes[Symmetry(graph).tied(0, 1)]
    assert tied.tolist() == [4, 8, 12, 16, 20]
    dual = FAMILY.dual(instance)
    assert dual.n_pieces == 1 and dual.max_exact == 1


def test_a_near_tie_is_decided_in_balls():
    """Weights e^-tau against 2 e^(-(1 + ln 2) tau): a tie at tau = 1 but for the rounding of ln 2.

    The float below ln 2 is too small by 2.3e-17, so that class 0 is slightly stronger.
    """
    longer = 1 + float(np.log(2))
    assert Fraction(longer) - 1 != Fraction(float(np.log(2)))  # 1 + ln 2 is rounded once more
    distances = np.full((4, 4), 40.0)
    distances[0] = distances[:, 0] = [0, 1, longer, longer]
    np.fill_diagonal(distances, 0)
    instance = ct.LabelingInstance(distances=distances, labeled=[1, 2, 3], truth=[1, 1, 0, 0])
    with ctx.workprec(200):
        stronger = bool(2 * (-arb(longer)).exp() > (-arb(1)).exp())
    assert FAMILY.run_exact(instance, 1.0) == (0 if stronger else 1)
    low, high = FAMILY.dual(instance).breakpoints[0]
    assert low <= 1.0 <= high and high - low < 1e-11


def two_paths(far):
    """Class 1 at length 1 from u; class 0 behind two paths of two edges of length 1.

    Two edges in series have half the conductance of one and two such paths that of one edge, so
    both classes have the soft label 1/2 at every sigma, up to the five far edges.
    """
    u, m, k, one, zero = range(5)
    distances = np.zeros((5, 5))
    distances[np.triu_indices(5, 1)] = 1.0
    for (i, j), length in zip(((u, zero), (m, k), (m, one), (k, one)), far, strict=True):
        distances[i, j] = length
    distances += distances.T
    return ct.LabelingInstance(distances=distances, labeled=[one, zero], truth=[0, 0, 0, 1, 0])


def test_whole_distances_decide_what_agrees_to_a_million_bits():
    """With G = (A^-1)_uu, the far edges move f_u by G (2 / 2 * 3/4 - 1/2) y > 0 towards class 1."""
    instance, family = two_paths([1e6] * 4), ct.HarmonicLabeling(sigma=(0.5, 2))
    labeling = family.solve(instance, 1.0)
    assert labeling.labels.tolist() == [1, 0, 0, 1, 0] and not labeling.undecided.any()
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.5, 2, Fraction(2, 3))


def test_equal_soft_labels_without_symmetry_are_reported():
    instance, family = two_paths([1e6, 1.1e6, 1.23e6, 1.7e6]), ct.HarmonicLabeling(sigma=(0.5, 2))
    assert family.graph(instance).n_nodes == 3
    labeling = family.solve(instance, 1.0)
    assert labeling.undecided.tolist() == [True] + 4 * [False]
    with pytest.raises(UndecidedError, match="larger sigma"):
        family.run_exact(instance, 1.0)
    with pytest.raises(UndecidedError, match="the end sigma"):
        family.dual(instance)


def test_points_without_a_label_in_reach():
    """Two far groups in a neighbour graph, labels in one of them only."""
    instance = line([0, 1, 2, 100, 101, 102], [0, 2], [0, 1, 1, 1, 0, 1])
    family = ct.HarmonicLabeling(sigma=(0.5, 5), n_neighbors=1)
    labeling = family.solve(instance, 1.0)
    assert labeling.reached.tolist() == [True] * 3 + [False] * 3
    assert labeling.soft[3:].tolist() == [[0.5, 0.5]] * 3
    assert labeling.labels[3:].tolist() == [1, 1, 1]
    assert family.run_exact(instance, 1.0) == Fraction(3, 4)
    assert family.dual(instance).max_exact == Fraction(3, 4)


def test_classes_in_separate_parts_of_a_neighbour_graph():
    instance = line([0, 1, 2, 100, 101, 102], [0, 5], [0, 0, 0, 1, 1, 0], labels=[0, 1])
    family = ct.HarmonicLabeling(sigma=(0.5, 5), n_neighbors=1)
    assert family.solve(instance, 1.0).soft[:3].tolist() == [[1.0, 0.0]] * 3
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.5, 5, 1)


def test_one_class_labels_everything():
    instance = line([0, 1, 2, 3], [0], [0, 0, 1, 1])
    assert FAMILY.solve(instance, 1.0).labels.tolist() == [0, 0, 0, 0]
    assert FAMILY.dual(instance) == ct.PiecewiseFunction.constant(0.1, 5, Fraction(1, 3))


def test_duplicates_with_different_labels_share_their_place():
    """Two labelled points at the same place pull equally: the third one is tied."""
    instance = line([0, 0, 1], [0, 1], [0, 1, 1])
    assert FAMILY.solve(instance, 0.3).soft[2].tolist() == [0.5, 0.5]
    assert FAMILY.dual(instance).max_exact == 1


def test_a_duplicate_of_a_labelled_point_follows_it_at_small_sigma():
    instance = line([0, 0, 1, 1.01], [0, 3], [0, 0, 1, 1])
    assert FAMILY.solve(instance, 0.1).labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("sigma", [1e-3, 1e-5])
def test_tiny_bandwidths_label_by_nearest_paths(sigma):
    """Beyond the range of doubles: exponents of 1e6 and 1e10."""
    instance = line([0, 1, 2.1, 3.3, 4.6, 6], [0, 5], [0, 0, 0, 0, 0, 1])
    labeling = FAMILY.solve(instance, sigma)
    assert labeling.labels.tolist() == [0, 0, 0, 0, 0, 1]
    assert np.isfinite(labeling.soft).all()


def test_sigma_that_is_too_small_for_any_arithmetic():
    instance = line([0, 1, 3.3, 5.1], [0, 3], [0, 0, 0, 1])
    with pytest.raises(ParameterError, match="sigma is too small"):
        FAMILY.run(instance, 1e-8)


def test_dual_where_weights_leave_the_range_of_doubles():
    instance = line([0, 1, 2.1, 3.3, 4.7, 6], [0, 5], [0, 0, 1, 1, 1, 1])
    family = ct.HarmonicLabeling(sigma=(0.02, 3))
    dual = family.dual(instance)
    for sigma in np.geomspace(0.02, 3, 25).tolist():
        assert dual.value_at(sigma) in (None, family.run_exact(instance, sigma))


def one_node(lengths_one, lengths_zero):
    """One free point with edges of these lengths to labelled points of both classes."""
    lengths = [*lengths_one, *lengths_zero]
    distances = np.zeros((len(lengths) + 1,) * 2)
    distances[0, 1:] = distances[1:, 0] = lengths
    labels = [1] * len(lengths_one) + [0] * len(lengths_zero)
    return ct.LabelingInstance(
        distances=distances, labeled=range(1, len(lengths) + 1), truth=[1, *labels]
    )


def test_a_double_root_is_found_or_reported():
    """With x = e^-tau: x + 4 x^3 - 4 x^2 = x (2 x - 1)^2 touches zero at tau = ln 2."""
    dual = FAMILY.dual(one_node([1] + 4 * [3], 4 * [2]))
    root = np.log(2) ** -0.5
    assert dual.values.tolist() == [1.0, 1.0]
    ((low, high),) = dual.undecided
    assert low < root < high < low + 1e-5
    assert dual.enclose(root) == (0.0, 1.0)


@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-7, -1e-5])
def test_two_close_roots_are_found(step):
    """The first length is longer by a step: the double root splits by about sqrt(step)."""
    instance = one_node([1 + step] + 4 * [3], 4 * [2])
    dual = FAMILY.dual(instance)
    assert dual.values.tolist() == ([1.0, 0.0, 1.0] if step > 0 else [1.0])
    assert len(dual.undecided) == 0
    for sigma in np.log(2) ** -0.5 + np.linspace(-0.05, 0.05, 21):
        assert dual.value_at(sigma) in (None, FAMILY.run_exact(instance, float(sigma)))


# Parameters


@pytest.mark.parametrize("sigma", [0, -1.0, float("nan"), float("inf"), "1", None, True, 1e-200])
def test_bad_bandwidths(sigma):
    instance = line([0, 1, 3], [0, 2], [0, 0, 1])
    with pytest.raises(ParameterError, match="sigma"):
        FAMILY.run(instance, {"sigma": sigma})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": (0, 1)}, "positive number"),
        ({"sigma": (2, 1)}, "low < high"),
        ({"sigma": (1, 2, 3)}, "number or a range"),
        ({"weights": "tuned"}, "numbers or 'tune'"),
        ({"weights": "tune"}, "needs n_metrics"),
        ({"weights": [1, -1]}, "non-negative"),
        ({"weights": [1, 2], "n_metrics": 3}, "3 entries"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"n_neighbors": 1.5}, "whole number"),
        ({"n_neighbors": True}, "whole number"),
        ({"certified": "yes"}, "True or False"),
        ({"certified": 1}, "True or False"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ParameterError, match=message):
        ct.HarmonicLabeling(**options)


def test_numbers_of_numpy_are_numbers():
    family = ct.HarmonicLabeling(
        sigma=np.array([0.1, 2.0]), n_neighbors=np.int64(2), n_metrics=np.int32(1),
        certified=np.True_,
    )  # fmt: skip
    assert family.fingerprint == ct.HarmonicLabeling((0.1, 2.0), None, 1, 2).fingerprint


def test_ranges_that_are_too_low_are_refused_before_any_work():
    instance = line([0, 1, 3.3, 5.1], [0, 3], [0, 0, 0, 1])
    for low in (1e-7, 1e-9, 1e-90):
        for certified in (True, False):
            family = ct.HarmonicLabeling(sigma=(low, 1.0), certified=certified)
            with pytest.raises(ParameterError, match=r"sigma\*\*2 reach|sigma is too small"):
                family.dual(instance)


def test_a_fixed_family_has_no_space_but_runs():
    family = ct.HarmonicLabeling(sigma=1.0)
    instance = line([0, 1, 3], [0, 2], [0, 0, 1])
    assert family.run(instance, {}) == 1.0
    with pytest.raises(ParameterError, match="no free parameter"):
        _ = family.space


def test_what_does_not_fit():
    instance = line([0, 1, 3], [0, 2], [0, 0, 1])
    with pytest.raises(InputError, match="expected a LabelingInstance"):
        FAMILY.run("no instance", 1.0)
    with pytest.raises(InputError, match="all 3 points"):
        FAMILY.dual(line([0, 1, 3], [0, 1, 2], [0, 0, 1]))
    with pytest.raises(InputError, match="no truth"):
        FAMILY.run(ct.LabelingInstance([[0], [1]], labeled=[0], labels=[1]), 1.0)
    with pytest.raises(InputError, match="1 metric"):
        ct.HarmonicLabeling(weights=[1, 2]).run(instance, 1.0)
    with pytest.raises(ParameterError, match="less than the number of points"):
        ct.HarmonicLabeling(n_neighbors=3).run(instance, 1.0)
    with pytest.raises(ParameterError, match="unknown parameter"):
        FAMILY.run(instance, {"sigma": 1.0, "alpha": 2.0})
    with pytest.raises(ParameterError, match="Segment"):
        FAMILY.dual(instance, along=(0.1, 1.0))
    with pytest.raises(InputError, match="expected a LabelingInstance, got NoneType"):
        FAMILY.instance_baselines(None)
    with pytest.raises(InputError, match="got no instance"):
        FAMILY.structure_of([])
    with pytest.raises(InputError, match="expected a LabelingInstance, got int"):
        FAMILY.structure_of([3])
    with pytest.raises(InputError, match="change the unit"):
        huge = np.array([[0, 1e120], [1e120, 0]])
        FAMILY.solve(ct.LabelingInstance(distances=huge, labeled=[0], labels=[1]), 1.0)


def test_all_labelled_can_be_solved():
    instance = line([0, 1, 3], [0, 1, 2], [0, 0, 1])
    assert FAMILY.solve(instance, 1.0).labels.tolist() == [0, 0, 1]


def test_weights_and_bandwidth_trade_off():
    """Weights beta at sigma and 4 beta at 2 sigma are the same graph."""
    instance = ct.datasets.random_labeling(
        1, n_per_class=10, metrics=("sqeuclidean", "cityblock"), spread=0.5
    )[0]
    one = FAMILY.solve(instance, {"sigma": 0.4, "weights": (0.25, 0.5)}).soft
    two = FAMILY.solve(instance, {"sigma": 0.8, "weights": (1.0, 2.0)}).soft
    np.testing.assert_allclose(one, two, rtol=1e-14)


# Tuning


def test_tuning_is_proved_verified_and_beats_the_defaults():
    instances = ct.datasets.digits_labeling(3, n_per_class=12, n_labeled_per_class=2)
    family = ct.HarmonicLabeling(sigma=(0.1, 3))
    result = ct.tune(family, instances)
    assert result.status is ct.Status.OPTIMAL
    assert set(result.baselines) == {"scikit-learn", "median distance"}
    assert result.best_value >= result.baselines["scikit-learn"]
    assert ct.verify(result.certificate, family, instances).optimal
    estimator = result.best_estimator
    assert estimator.sigma == result.best_params["sigma"] and estimator.metric == "sqeuclidean"


def test_workers_give_the_same_bits():
    instances = ct.datasets.digits_labeling(3, n_per_class=12, n_labeled_per_class=2)
    family = ct.HarmonicLabeling(sigma=(0.1, 3))
    alone, together = (ct.tune(family, instances, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert alone.duals == together.duals and alone.best_params == together.best_params


def test_adaptive_results_claim_nothing():
    instances = ct.datasets.digits_labeling(2, n_per_class=12, n_labeled_per_class=2)
    certified = ct.HarmonicLabeling(sigma=(0.1, 3))
    adaptive = ct.HarmonicLabeling(sigma=(0.1, 3), certified=False)
    result = ct.tune(adaptive, instances)
    assert result.status is ct.Status.UNPROVED
    assert result.upper_bound == 1.0
    assert result.best_value == ct.tune(certified, instances).best_value
    with pytest.raises(CertificateError, match="nothing to certify"):
        _ = result.certificate
    proof = ct.tune(certified, instances).certificate
    with pytest.raises(CertificateError, match="not proved"):
        ct.verify(proof, adaptive, instances)


def test_median_baseline_belongs_to_each_instance():
    first, second = ct.datasets.random_labeling(2, n_per_class=8)
    sigmas = [FAMILY.instance_baselines(i)["median distance"]["sigma"] for i in (first, second)]
    above = np.triu_indices(16, 1)
    assert sigmas[0] == pytest.approx(np.sqrt(np.median(first.distances[0][above])))
    assert sigmas[0] != sigmas[1]


def test_a_median_of_nothing_or_zero_is_no_bandwidth():
    for points in ([[1.0]], [[1.0], [1.0], [1.0]]):
        instance = ct.LabelingInstance(points, labeled=[0], labels=[0])
        assert FAMILY.instance_baselines(instance) == {"median distance": {"sigma": 1.0}}


def test_adaptive_and_certified_agree():
    for instance in ct.datasets.random_labeling(3, n_per_class=15, spread=0.5):
        proved = ct.HarmonicLabeling(sigma=(0.1, 4)).dual(instance)
        found = ct.HarmonicLabeling(sigma=(0.1, 4), certified=False).dual(instance)
        assert proved.n_pieces == found.n_pieces > 1
        np.testing.assert_allclose(proved.breakpoints, found.breakpoints, rtol=1e-9)


def test_neighbour_graphs_join_ties_and_both_directions():
    family = ct.HarmonicLabeling(n_neighbors=1)
    graph = family.graph(line([0, 1, 2, 3.5], [0, 3], [0, 0, 1, 1]))
    # 1 is as near to 0 as to 2; the nearest of 3.5 is 2.
    assert graph.is_edge.tolist() == [[False, True], [True, False]]
    assert graph.is_edge_to_labelled.tolist() == [[True, False], [False, True]]


def test_breakpoints_stay_below_the_proved_number():
    for seed in range(3):
        instance = ct.datasets.random_labeling(1, random_state=seed)[0]
        family = ct.HarmonicLabeling(sigma=(0.2, 5.0))
        unlabeled = instance.n_points - len(instance.labeled)
        structure = family.structure(unlabeled, len(instance.labeled))
        assert family.dual(instance).n_pieces - 1 <= structure.line.n_breakpoints
        assert unlabeled == structure.n_boundaries


def test_structure_of_tuned_weights_has_one_parameter_for_each_metric():
    family = ct.HarmonicLabeling(weights="tune", n_metrics=3)
    assert [p.n_parameters for p in family.structure(20, 5).predicates] == [3]
    with pytest.raises(ct.ParameterError, match="made for 3 metric"):
        family.structure(20, 5, n_metrics=2)
    with pytest.raises(ct.ParameterError, match="join all points"):
        ct.HarmonicLabeling(n_neighbors=5).structure(20, 5)


def test_ties_of_the_combined_distance_are_recognised():
    # With equal weights the middle point is as far from one label as from the other.
    first = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    second = [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    instance = ct.LabelingInstance(
        distances=np.array([first, second], dtype=float), labeled=[0, 2], labels=[0, 1],
        truth=[0, 1, 1],
    )  # fmt: skip
    family = ct.HarmonicLabeling(sigma=(0.1, 5.0), weights=(0.5, 0.5))
    assert family.dual(instance).values.tolist() == [1.0]
    assert family.run(instance, 1.0) == 1.0
    ends_on_the_tie = ct.Segment(
        {"sigma": 1.0, "weights": (1.0, 0.0)}, {"sigma": 1.0, "weights": (0.5, 0.5)}
    )
    tuned = ct.HarmonicLabeling(sigma=(0.1, 5.0), weights="tune", n_metrics=2)
    assert tuned.dual(instance, ends_on_the_tie)(1.0) == 1.0
