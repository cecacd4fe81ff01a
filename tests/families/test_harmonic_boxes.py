"""Harmonic labels on boxes of (sigma, weights): models, bounds, and the search that uses them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import certune as ct
from certune.box import Box
from certune.dual import PiecewiseFunction
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.symmetry import _ranks
from certune.kernels.graph import conflicts
from certune.testing.boxes import random_setting

TWO = ("sqeuclidean", "cityblock")
THREE = (*TWO, "chebyshev")


def family(**options):
    settings = {"sigma": (0.2, 3), "weights": "tune", "n_metrics": 2}
    return ct.HarmonicLabeling(**{**settings, **options})


def blobs(n_classes=2, metrics=TWO, **options):
    sizes = {"n_per_class": 7, "n_labeled_per_class": 2, "spread": 0.4}
    return ct.datasets.random_labeling(
        1, n_classes=n_classes, metrics=metrics, **{**sizes, **options}
    )[0]


def grid(metrics=TWO):
    """A grid whose symmetry leaves ties at every parameter, with a duplicate of another truth."""
    points = [[i, j] for i in range(4) for j in range(4)] + [[1, 2]]
    truth = [(i + j) // 4 for i, j in points[:-1]] + [1]
    return ct.LabelingInstance(points=points, metrics=metrics, labeled=[0, 15], truth=truth)


def descend(labeling, instance, rng, depth):
    strata = labeling.strata()
    box = strata[rng.integers(len(strata))]
    bound = labeling.bound_on_box(instance, box)
    for _ in range(depth):
        if box.edges:
            box = box.split(box.edges[int(np.argmax(bound.importance))])[rng.integers(2)]
            bound = labeling.bound_on_box(instance, box, bound.reuse)
    return box, bound


def tails(metrics=TWO):
    """A labelled pair with a chain on either side: points at the ends hang on their neighbours."""
    points = [[0.0], [1.0], [2.1], [3.3], [4.6], [-1.2], [-2.3], [-3.5]]
    points = [[x, 0.1 * x * x] for (x,) in points]
    return ct.LabelingInstance(
        points=points, metrics=metrics, labeled=[0, 1], truth=[0, 1, 1, 0, 1, 0, 1, 0]
    )


def test_points_that_hang_on_others_are_counted_one_by_one():
    labeling, instance = family(n_neighbors=1), tails()
    graph = labeling.graph(instance)
    assert len(graph.points) > len(graph.nodes)
    rng = np.random.default_rng(0)
    for _ in range(20):
        box, bound = descend(labeling, instance, rng, 3)
        value = labeling.run_exact(instance, random_setting(box, rng))
        assert bound.lower <= value <= bound.upper
    # Every chain has the class of its end, whatever the parameters.
    assert bound.settled and bound.upper == value


CASES = [
    (family(), blobs()),
    (family(), blobs(3)),
    (family(n_neighbors=4), blobs(3, n_per_class=9)),
    (family(sigma=(0.3, 4)), grid()),
    (family(n_metrics=3), blobs(2, THREE)),
    (family(sigma=0.5, n_metrics=3), blobs(3, THREE)),
]


@pytest.mark.parametrize(("labeling", "instance"), CASES, ids=range(len(CASES)))
def test_bounds_hold_at_random_settings(labeling, instance):
    rng = np.random.default_rng(0)
    n_settled = 0
    for _ in range(30):
        box, bound = descend(labeling, instance, rng, int(rng.integers(0, 16)))
        afresh = labeling.bound_on_box(instance, box)
        n_settled += bound.settled
        for _ in range(2):
            value = labeling.run_exact(instance, random_setting(box, rng))
            assert bound.lower <= value <= bound.upper
            assert afresh.lower <= value <= afresh.upper
    assert n_settled >= 5


def models(instance, box):
    """The graph, exact rates at the vertices, and values and errors of all nodes, if any."""
    problem = family().bound_on_box(instance, box).reuse.problem
    found, _ = problem._models(box, np.arange(problem.graph.n_nodes))
    vertices = [
        [Fraction(weight) / Fraction(sigma) ** 2 for weight in weights]
        for (sigma,) in box.parts[0]
        for weights in box.parts[1]
    ]
    return problem.graph, vertices, found


def box_at(sigma, weight, width):
    ends = (sigma * (1 - width),), (sigma * (1 + width),)
    low, high = weight * (1 - width), weight * (1 + width)
    return Box(family().space, (ends, ((1 - low, low), (1 - high, high))))


@pytest.mark.parametrize("sigma", [0.1, 0.2, 0.6, 3.0, 40.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_soft_labels_lie_within_their_models(sigma, n_classes):
    """Against ball arithmetic; at sigma = 0.1 the weights of neighbours differ by e^60."""
    rng = np.random.default_rng(int(10 * sigma))
    instance = blobs(n_classes)
    n_tight = 0
    for width in (0.05, 0.01, 1e-3, 1e-5, 1e-9):
        graph, vertices, found = models(instance, box_at(sigma, 0.4, width))
        if found is None:
            continue
        values, errors = found
        n_tight += errors.max() < 0.01
        for _ in range(3):
            shares = rng.multinomial(2**20, rng.dirichlet(np.ones(4))) / 2**20
            rates = [
                sum(Fraction(p) * vertex[k] for p, vertex in zip(shares, vertices, strict=True))
                for k in range(2)
            ]
            linear = np.tensordot(shares, values, axes=1)
            soft = ball_labels(graph, rates, 120)
            for c in range(n_classes):
                for u in range(graph.n_nodes):
                    away = abs(soft[c][u] - float(linear[u, c]))
                    assert away <= errors[u, c], (width, c, u)
    assert n_tight >= 2


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_models_hold_for_tight_groups(n_neighbors):
    """Points at distances of 1e-4 exchange labels e^100 times as fast as they get them."""
    rng = np.random.default_rng(7)
    points = rng.normal(size=(3, 2))[np.arange(9) % 3] + 1e-4 * rng.normal(size=(9, 2))
    points[8] = points[5]
    instance = ct.LabelingInstance(
        points, metrics=TWO, labeled=[0, 1], truth=[0, 1, 0, 1, 0, 1, 0, 1, 0]
    )
    labeling = family(n_neighbors=n_neighbors)
    n_tight = 0
    for sigma in (0.1, 0.15, 0.3, 1.0):
        box = box_at(sigma, 0.4, 1e-4)
        problem = labeling.bound_on_box(instance, box).reuse.problem
        found, _ = problem._models(box, np.arange(problem.graph.n_nodes))
        if found is None:
            continue
        values, errors = found
        n_tight += errors.max() < 0.1
        rates = [Fraction(w) / Fraction(box.parts[0][1][0]) ** 2 for w in box.parts[1][0]]
        soft = ball_labels(problem.graph, rates, 800)
        for u in range(problem.graph.n_nodes):
            assert abs(soft[1][u] - float(values[2, u, 1])) <= errors[u, 1], (sigma, u)
    assert n_tight >= 2


def test_errors_are_of_second_order():
    instance = blobs(2)
    sizes = [models(instance, box_at(0.6, 0.4, 0.02 * 2.0**-k))[2][1].max() for k in range(6)]
    assert all(after < 0.35 * before for before, after in zip(sizes, sizes[1:], strict=False))
    assert sizes[-1] < 1e-3


def test_rounding_is_charged_where_boxes_are_points():
    instance = blobs(2)
    point = Box(family().space, (((0.5,),), ((0.25, 0.75),)))
    _, vertices, (values, errors) = models(instance, point)
    assert 0 < errors.max() < 1e-6
    soft = ball_labels(family().graph(instance), vertices[0], 120)
    for u in range(values.shape[1]):
        assert abs(soft[1][u] - float(values[0, u, 1])) <= errors[u, 1]


def test_conflicts_are_those_of_linear_programs():
    """Two functions exclude each other if no mixture of the vertices makes both >= 0."""
    rng = np.random.default_rng(0)
    n_excluded = 0
    for _ in range(60):
        rows = rng.normal(-0.4, 1.0, (2, 4))
        program = linprog(
            np.zeros(4), A_ub=-rows, b_ub=np.zeros(2), A_eq=np.ones((1, 4)), b_eq=[1.0]
        )
        alone = rows.max(axis=1)
        if (alone < 0).any():
            continue  # one of them is wrong by itself
        assert conflicts(rows) == int(program.status == 2)
        n_excluded += program.status == 2
    assert n_excluded > 5
    assert conflicts(np.array([[1.0, -3.0], [-3.0, 1.0], [1.0, -3.0], [-3.0, 1.0]])) == 2


def test_equal_points_of_different_truths_are_never_both_right():
    points = [[0.0], [1.0], [0.4], [0.4]]
    instance = ct.LabelingInstance(points, metrics=TWO, labeled=[0, 1], truth=[0, 1, 0, 1])
    whole = family().strata()[0]
    bound = family().bound_on_box(instance, whole)
    assert bound.upper == Fraction(1, 2)
    result = ct.tune(family(), [instance])
    assert result.status is ct.Status.OPTIMAL and result.best_value == 0.5


def hung_on_mirrored_nodes():
    """Points that hang on three nodes, two of which have the same soft labels for every parameter.

    Labels 0 and 1 are joined to A, B and C only. With the weights (1 - w, w) of the metrics, A and
    B are nearer to label 1 if 4 (1 - w) + w < 1 - w + 3 w, that is w > 3/5, and C if
    4.5 (1 - w) + w / 2 < (1 - w) / 2 + 3.5 w, that is w > 4/7. All others have the label of the
    node they hang on.
    """
    names = ["B", "b1", "zero", "c1", "A", "c2", "one", "a2", "a1", "C"]
    lengths = {
        ("zero", "A"): (1, 3), ("zero", "B"): (1, 3), ("zero", "C"): (0.5, 3.5),
        ("one", "A"): (4, 1), ("one", "B"): (4, 1), ("one", "C"): (4.5, 0.5),
        ("A", "a1"): (0.5, 0.5), ("a1", "a2"): (0.5, 0.5), ("B", "b1"): (0.5, 0.5),
        ("C", "c1"): (0.5, 0.5), ("C", "c2"): (0.5, 0.5),
    }  # fmt: skip
    distances = np.full((2, 10, 10), 50.0) * (1 - np.eye(10))
    for (first, second), length in lengths.items():
        i, j = names.index(first), names.index(second)
        distances[:, i, j] = distances[:, j, i] = length
    ones = {"one", "A", "a2", "C", "c1", "c2"}
    truth = [int(name in ones) for name in names]
    labeled = [names.index("zero"), names.index("one")]
    return ct.LabelingInstance(distances=distances, labeled=labeled, truth=truth)


def test_points_that_hang_on_mirrored_nodes_have_one_label():
    """Of one label, A and a2 are 1, but B, b1 and a1 are 0; C, c1 and c2 are 1: at most 6 of 8."""
    labeling, instance = family(n_neighbors=1), hung_on_mirrored_nodes()
    assert labeling.graph(instance).n_nodes == 3
    right = {0.5: 3, 0.585: 6, 0.65: 5}  # labels: all 0; 1 at C, c1 and c2; all 1
    for weight, count in right.items():
        setting = {"sigma": 1.0, "weights": (1 - weight, weight)}
        assert labeling.run_exact(instance, setting) == Fraction(count, 8)
    whole = labeling.bound_on_box(instance, labeling.strata()[0])
    assert whole.upper == Fraction(6, 8)
    # Where A and B change, C, c1 and c2 are right, and of the others 3 or 2.
    change = labeling.bound_on_box(instance, box_at(1.0, 0.6, 1e-3))
    assert (change.lower, change.upper) == (Fraction(3, 8), Fraction(6, 8))


def test_unreached_points_and_single_classes_need_no_models():
    points = [[0.0], [0.1], [5.0], [5.1]]
    instance = ct.LabelingInstance(points, metrics=TWO, labeled=[0], labels=[0], truth=[0, 0, 1, 1])
    labeling = family(n_neighbors=1)
    bound = labeling.bound_on_box(instance, labeling.strata()[0])
    assert bound.settled and bound.upper == labeling.run_exact(
        instance, {"sigma": 1.0, "weights": (0.5, 0.5)}
    )


def dominated(labeling, instance, box):
    """Nodes that one class wins by far on a box, and which one; the problem."""
    problem = labeling.bound_on_box(instance, box).reuse.problem
    possible = problem.start.possible.copy()
    problem._dominate(possible, np.arange(problem.graph.n_nodes), problem._vertices(box))
    won = np.flatnonzero(possible.sum(axis=1) == 1)
    return problem, won, possible[won].argmax(axis=1)


@pytest.mark.parametrize("n_neighbors", [None, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_dominant_classes_have_more_than_half(n_classes, n_neighbors):
    """On boxes that are far too large for linear models, against ball arithmetic."""
    rng = np.random.default_rng(n_classes)
    labeling = family(sigma=(0.05, 3), n_neighbors=n_neighbors)
    n_won = 0
    for seed in range(6):
        instance = blobs(n_classes, spread=0.1, random_state=seed)
        low = float(rng.uniform(0.05, 0.15))
        box = Box(labeling.space, (((low,), (1.3 * low,)), ((0.8, 0.2), (0.6, 0.4))))
        problem, won, classes = dominated(labeling, instance, box)
        settings = [random_setting(box, rng) for _ in range(2)]
        settings += [{"sigma": s, "weights": w} for (s,) in box.parts[0] for w in box.parts[1]]
        for params in settings if len(won) else ():
            rates = [Fraction(w) / Fraction(params["sigma"]) ** 2 for w in params["weights"]]
            soft = ball_labels(problem.graph, rates, 400)
            for u, c in zip(won.tolist(), classes.tolist(), strict=True):
                n_won += bool(soft[c][u] > 0.5)
                assert not soft[c][u] <= 0.5
    assert n_won > 40


def test_dominance_needs_no_weights_that_doubles_can_hold():
    """A chain of three points to one label, and another label behind exponents of 10^4."""
    points = [[0.0], [0.01], [0.02], [0.03], [1.0]]
    instance = ct.LabelingInstance(points, metrics=TWO, labeled=[0, 4], truth=[0, 0, 0, 0, 1])
    labeling = family(sigma=(0.01, 0.02))
    bound = labeling.bound_on_box(instance, labeling.strata()[0])
    assert bound.settled and bound.upper == 1


def test_weights_of_too_many_magnitudes_leave_a_box_open():
    """Half way between two labels nobody wins by far, and weights need more than doubles."""
    points = [[0.0], [1.0], [0.5], [2.0]]
    instance = ct.LabelingInstance(points, metrics=TWO, labeled=[0, 1], truth=[0, 1, 0, 1])
    labeling = family(sigma=(0.02, 0.03))
    bound = labeling.bound_on_box(instance, labeling.strata()[0])
    assert bound.upper > bound.lower and min(bound.importance) > 0


def test_uncertified_families_are_searched_along_lines():
    labeling = family(certified=False)
    assert not labeling.bounds_boxes
    assert ct.tune(labeling, [blobs(3)], timeout=20).upper_bound == 1.0


def test_certificate_is_verified_and_forgeries_are_not():
    instances = [blobs(2, spread=0.6, random_state=s) for s in (3, 4)]
    labeling = family(sigma=(0.4, 2))
    result = ct.tune(labeling, instances)
    assert result.status is ct.Status.OPTIMAL and result.gap == 0.0 and result.n_nodes > 0
    report = ct.verify(result.certificate, labeling, instances)
    assert report.optimal and report.best_value == result.best_value_exact
    certificate = result.certificate
    lowered = [min(u, certificate.best_value - Fraction(1, 50)) for u in certificate.uppers]
    forged = replace(certificate, uppers=tuple(lowered))
    forged = replace(forged, checksum=forged.content_checksum)
    with pytest.raises(ct.CertificateError):
        ct.verify(forged, labeling, instances)
    (region,) = result.best_region
    assert all(
        labeling.run_exact(item, random_setting(region, np.random.default_rng(1))) == utility
        for item, utility in zip(instances, result.evaluation.utilities, strict=True)
    )


def test_the_search_does_not_depend_on_workers():
    instances = [blobs(3, spread=0.6, random_state=s) for s in (1, 2)]
    results = [ct.tune(family(), instances, n_jobs=n, max_nodes=200) for n in (1, 2)]
    assert results[0].certificate == results[1].certificate


def test_cell_map_of_bandwidth_and_weight():
    instance = blobs(2, spread=0.6, random_state=5)
    labeling = family(sigma=(0.4, 2))
    cells = ct.cell_map(labeling, [instance], resolution=32)
    cells._check()
    assert cells.names == ("sigma", "weight of cityblock") and cells.decided_share > 0.6
    rng = np.random.default_rng(0)
    for _ in range(40):
        sigma, weight = float(rng.uniform(0.4, 2)), float(rng.uniform())
        value = labeling.run_exact(instance, {"sigma": sigma, "weights": (1 - weight, weight)})
        low, high = cells.bounds_at(sigma, weight)
        assert low <= value <= high


@pytest.mark.parametrize("instance", [blobs(3), grid(), tails()], ids=["blobs", "grid", "tails"])
def test_outlines_enclose_functions(instance):
    labeling, rng = family(), np.random.default_rng(3)
    for weight in (0.3, 1.0):
        ends = [{"sigma": sigma, "weights": (weight, 1 - weight)} for sigma in (0.2, 3.0)]
        segment = ct.Segment(*ends)
        outline, function = labeling.outline(instance, segment), labeling.dual(instance, segment)
        gaps = np.concatenate([outline.breakpoints.ravel(), function.breakpoints.ravel()])
        for t in [*rng.uniform(0, 1, 50).tolist(), *gaps.tolist()]:
            (low, high), (least, most) = outline.enclose_exact(t), function.enclose_exact(t)
            assert low <= least <= most <= high
        assert outline.max_exact <= function.max_exact
        assert outline.upper_bound_exact >= function.upper_bound_exact


class Blurred(ct.HarmonicLabeling):
    """Outlines that know nothing but the ends of a segment."""

    def outline(self, instance, along):
        low, high = along.low, along.high
        ends = [self.run_exact(instance, along.at(t)) for t in (low, high)]
        return PiecewiseFunction.from_values((low, high), (low, high), ends, [0], [1])


def test_lines_ask_for_what_an_outline_leaves_open():
    instance, options = blobs(3, spread=0.9), {"progress": False, "random_state": 0}
    settings = {"sigma": (0.2, 3), "weights": "tune", "n_metrics": 2}
    sharp = ct.tune(family(), [instance], **options)
    blurred = ct.tune(Blurred(**settings), [instance], **options)
    assert blurred.status is sharp.status is ct.Status.OPTIMAL
    assert blurred.best_value == sharp.best_value == sharp.upper_bound


def test_ranks_of_weighted_lengths_are_those_of_fractions():
    rng = np.random.default_rng(5)
    for _ in range(20):
        vectors = rng.integers(0, 6, (60, 2)) * rng.choice([0.1, 0.25, 1e-310, 1e150])
        vectors[::7] = np.nextafter(vectors[::7], np.inf)
        weights = [Fraction(float(w)) for w in rng.choice([0.1, 0.2, 0.5, 1e-12, 0.0, 3.0], 2)]
        sums = [
            sum(w * Fraction(x) for w, x in zip(weights, v, strict=True)) for v in vectors.tolist()
        ]
        rank_of = {value: rank for rank, value in enumerate(sorted(set(sums)))}
        assert _ranks(vectors, weights).tolist() == [rank_of[value] for value in sums]
