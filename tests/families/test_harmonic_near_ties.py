"""Harmonic labels where classes nearly agree: ties, near ties, twins, and rounded settings."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import certune as ct
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.symmetry import Symmetry


def line(positions, labeled, truth, **options):
    points = np.array(positions, dtype=float)[:, None]
    return ct.LabelingInstance(points=points, labeled=labeled, truth=truth, **options)


def leading_tie():
    """One point at 0, labels 0, 1, 0 at -1, 1, 5.

    With tau = 1 / sigma^2 class 0 leads by e^(-25 tau) / (2 e^-tau + e^(-25 tau)) > 0, at sigma =
    0.1 by 1e-1043: less than all doubles, and 3462 bits below 1.
    """
    return line([0, -1, 1, 5], [1, 2, 3], [0, 0, 1, 0])


@pytest.mark.parametrize("certified", [True, False])
def test_a_near_tie_is_followed_along_an_interval(certified):
    family = ct.HarmonicLabeling(sigma=(0.25, 5), certified=certified)  # 554 bits at 0.25
    assert family.dual(leading_tie()) == ct.PiecewiseFunction.constant(0.25, 5, 1)


def test_leading_terms_decide_at_any_bandwidth():
    """At 0.002 the lead has 8.6 million bits; all distances are 1 or 1 + 24."""
    instance = leading_tie()
    family = ct.HarmonicLabeling(sigma=(0.002, 0.3))
    assert family.run_exact(instance, 0.002) == 1
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.002, 0.3, 1)


def incommensurable_tie():
    """The same with distances that are not multiples of one length."""
    distances = np.full((5, 5), 40.0)
    distances[0, 1:] = distances[1:, 0] = 1, 1, 25.3, 31.7
    np.fill_diagonal(distances, 0)
    return ct.LabelingInstance(distances=distances, labeled=[1, 2, 3, 4], truth=[0, 0, 1, 0, 0])


def test_what_no_precision_settles_is_an_undecided_interval():
    family = ct.HarmonicLabeling(sigma=(0.1, 0.3))
    instance = incommensurable_tie()
    assert family.run_exact(instance, 0.05) == 1
    dual = family.dual(instance)
    ((low, high),) = dual.undecided
    assert low == 0.1 and high < 0.2
    assert dual(0.1) == dual(0.2) == dual(0.3) == 1.0
    result = ct.tune(family, [instance])
    assert result.best_value == 1.0 and result.status is ct.Status.OPTIMAL


def test_an_undecided_label_is_never_a_value():
    """At 0.002 the lead has 8.8 million bits, more than are looked at."""
    family, instance = ct.HarmonicLabeling(sigma=(0.002, 0.0021)), incommensurable_tie()
    labeling = family.solve(instance, 0.002)
    assert labeling.undecided.tolist() == [True, False, False, False, False]
    with pytest.raises(ct.UndecidedError, match="larger sigma"):
        family.run_exact(instance, 0.002)
    with pytest.raises(ct.UndecidedError, match=r"the end sigma = 0.002 of the range"):
        family.dual(instance)


def test_an_undecided_label_that_is_wrong_in_any_case_is_no_obstacle():
    instance = incommensurable_tie()
    wrong = ct.LabelingInstance(
        distances=instance.distances[0], labeled=[1, 2, 3, 4], labels=[0, 1, 0, 0],
        truth=[2, 0, 1, 0, 0],
    )  # fmt: skip
    family = ct.HarmonicLabeling(sigma=(0.002, 0.0021))
    assert family.run_exact(wrong, 0.002) == 0
    assert family.dual(wrong) == ct.PiecewiseFunction.constant(0.002, 0.0021, 0)


def test_far_too_different_distances_leave_everything_open_but_the_ends():
    lengths = [1, 1.9, 1e20]
    distances = np.array([[0, *lengths], [1, 0, 3, 1e20], [1.9, 3, 0, 1e20], [1e20] * 3 + [0]])
    instance = ct.LabelingInstance(distances=distances, labeled=[1, 2, 3], truth=[0, 0, 1, 1])
    dual = ct.HarmonicLabeling(sigma=(0.5, 2)).dual(instance)
    assert dual.undecided.tolist() == [[0.5, 2.0]]
    assert dual(0.5) == dual(2.0) == 1.0  # the nearest label is of class 0


def test_ties_are_seen_in_neighbour_graphs():
    """The first point sees one label of each class at distance 0; the other labels are far."""
    positions = [0, 0, 0, 9, 9.5, 10, 20, 20.5, 21]
    instance = line(positions, [1, 2, 3, 6, 7], [1, 0, 1, 0, 0, 0, 0, 0, 0])
    family = ct.HarmonicLabeling(sigma=(0.2, 5), n_neighbors=2)
    labeling = family.solve(instance, 1.0)
    assert labeling.soft[0].tolist() == [0.5, 0.5] and labeling.labels[0] == 1
    assert not labeling.undecided.any()
    assert family.dual(instance).n_pieces == 1
    # Extra points that hang on one side of a symmetric chain change nothing.
    chain = line([0, 1, 2, 3, 4], [0, 4], [0, 0, 1, 1, 1])
    graph = ct.HarmonicLabeling(n_neighbors=1).graph(chain)
    assert Symmetry(graph).tied(0, 1).tolist() == [False, True, False]


def test_edges_inside_a_colour_do_not_break_a_tie():
    """Two points that see one label of each class are tied, however they are joined."""
    lengths = np.full((6, 6), 1.0)
    np.fill_diagonal(lengths, 0)
    lengths[0, 1] = lengths[1, 0] = 0.25
    lengths[1, 2] = lengths[2, 1] = 0.5
    instance = ct.LabelingInstance(
        distances=lengths, labeled=[3, 4, 5], labels=[0, 1, 2], truth=[0, 0, 0, 0, 1, 2]
    )
    family = ct.HarmonicLabeling(sigma=(0.3, 3))
    assert Symmetry(family.graph(instance)).colours.tolist() == [0, 0, 0]
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.3, 3, 1)


def test_twins_change_together():
    """Two points at one place: one of them is right on either side of the breakpoint."""
    distances = np.array(
        [[0, 0, 3, 3, 1], [0, 0, 3, 3, 1], [3, 3, 0, 9, 9], [3, 3, 9, 0, 9], [1, 1, 9, 9, 0.0]]
    )
    instance = ct.LabelingInstance(distances=distances, labeled=[2, 3, 4], truth=[0, 1, 0, 0, 1])
    family = ct.HarmonicLabeling(sigma=(0.5, 5))
    labels = [family.solve(instance, sigma).labels[:2].tolist() for sigma in (0.5, 5.0)]
    assert labels == [[1, 1], [0, 0]]
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.5, 5, Fraction(1, 2))


def test_points_that_hang_on_another_one_share_its_labels():
    """A node with edges of length 0.9 to class 0 and twice 1.2 to class 1; three points behind it.

    e^(-0.9 tau) = 2 e^(-1.2 tau) at tau = ln(2) / 0.3: all four change there, two of them to the
    right label and two to the wrong one.
    """
    lengths = np.full((7, 7), 50.0)
    for i, j, d in ((3, 0, 0.9), (1, 3, 1.2), (2, 3, 1.2), (4, 3, 1.0), (5, 4, 1.5), (6, 4, 1.6)):
        lengths[i, j] = lengths[j, i] = d
    np.fill_diagonal(lengths, 0)
    instance = ct.LabelingInstance(
        distances=lengths, labeled=[0, 1, 2], labels=[0, 1, 1], truth=[0, 1, 1, 1, 0, 1, 0]
    )
    family = ct.HarmonicLabeling(sigma=(0.4, 2), n_neighbors=1)
    graph = family.graph(instance)
    assert graph.nodes.tolist() == [3]
    assert graph.points.tolist() == [3, 4, 5, 6] and graph.place.tolist() == [0, 0, 0, 0]
    root = (0.3 / np.log(2)) ** 0.5
    for sigma, label in ((root - 1e-9, 0), (root + 1e-9, 1)):
        labeling = family.solve(instance, sigma)
        assert labeling.labels[3:].tolist() == [label] * 4
        assert (labeling.soft[3:] == labeling.soft[3]).all()
    assert family.dual(instance) == ct.PiecewiseFunction.constant(0.4, 2, Fraction(1, 2))


@pytest.mark.parametrize("bits", [100, 700, 2500])
def test_elimination_and_refinement_in_balls_agree(bits, monkeypatch):
    instance = ct.datasets.random_labeling(1, n_per_class=8)[0]
    graph = ct.HarmonicLabeling().graph(instance)
    rates = [Fraction(3, 2)]
    small = ball_labels(graph, rates, bits)
    monkeypatch.setattr("certune.families.graph_ssl.balls.SMALL", 0)
    refined = ball_labels(graph, rates, bits, [1, 0])[::-1]
    for c in range(2):
        for one, other in zip(small[c], refined[c], strict=True):
            assert one.overlaps(other)
            assert max(one.rad(), other.rad()) < arb(2) ** (1 - bits)
    with ctx.workprec(bits):
        sums = [first + second for first, second in zip(*refined, strict=True)]
    assert all(total.overlaps(arb(1)) for total in sums)


# Settings along a line are rounded to doubles


def crossing():
    """Two metrics, and weights at which the label of a point changes."""
    rng = np.random.default_rng(11)
    points, truth = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    instance = ct.LabelingInstance(
        points, metrics=["sqeuclidean", "cityblock"], labeled=[0, 1], labels=[0, 1], truth=truth
    )
    family = ct.HarmonicLabeling(sigma=0.7, weights="tune", n_metrics=2)
    return instance, family, float(family.dual(instance).breakpoints.mean(axis=1)[0])


@pytest.mark.parametrize("reach", [1e-1, 1e-4, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("both", [False, True])
def test_duals_hold_at_the_rounded_settings(reach, both):
    """Lines of any length through a breakpoint: plain runs agree however close they are."""
    instance, family, root = crossing()
    start, stop = (1 - root - reach, root + reach), (1 - root + reach, root - reach)
    segment = ct.Segment({"weights": start}, {"weights": stop})
    if both:
        family = ct.HarmonicLabeling(sigma=(0.1, 5), weights="tune", n_metrics=2)
        segment = ct.Segment(
            {"sigma": 0.7, "weights": start}, {"sigma": 0.7 * (1 + reach / 10), "weights": stop}
        )
    dual = family.dual(instance, segment)
    ((low, high),) = dual.breakpoints
    # A double near the root is 2^-54 / reach of the line away from the next one.
    noise = 2.0**-54 / reach
    near = 0.5 * (low + high) + np.linspace(-20, 20, 41) * noise
    for t in [low, high, *np.clip(near, 0.0, 1.0).tolist()]:
        below, above = dual.enclose_exact(t)
        assert below <= family.run_exact(instance, segment.at(t)) <= above
    if reach >= 1e-9:
        assert high - low < 1e-10 + (30_000 if both else 2000) * noise
