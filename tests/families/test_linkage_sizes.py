"""Linkage with weights and distances of any size: sums near the ends of the doubles, weight lines
between metrics of very different sizes.  Runs are held against runs on comparable sizes (a power of
two changes nothing), duals against runs at many places."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

import certune as ct

RNG = np.random.default_rng(3)
FIRST = squareform(pdist(RNG.normal(size=(12, 3))))
SECOND = squareform(pdist(RNG.normal(size=(12, 3)), "cityblock"))
TARGET = [0] * 6 + [1] * 6
KINDS = ["power-mean", "min-max"]


def instance(first, second):
    return ct.ClusteringInstance(distances=[first, second], target=TARGET, name="sizes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shift", "weights"),
    [
        (-1000, (2.0**-330, 2.0**-340)),  # sums of about 1e-400
        (1015, (2.0**330, 2.0**329)),  # sums of about 1e405
        (-1000, (0.5, 0.25)),
        (1015, (0.5, 0.25)),
        (1000, (2.0**-1060, 2.0**-330)),
    ],
)
def test_sums_outside_the_doubles_change_no_tree(kind, shift, weights):
    ordinary = instance(FIRST, SECOND)
    scaled = instance(np.ldexp(FIRST, shift), np.ldexp(SECOND, shift))
    family = ct.Linkage(kind, alpha=(-1, 1), weights=weights)
    tree, expected = family.solve(scaled, 0.5), family.solve(ordinary, 0.5)
    np.testing.assert_array_equal(tree.children, expected.children)
    np.testing.assert_array_equal(tree.labels, expected.labels)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(tree.heights, np.ldexp(expected.heights, shift), rtol=1e-12)
    dual, other = family.dual(scaled), family.dual(ordinary)
    assert dual.values.tolist() == other.values.tolist()
    for (low, high), (left, right) in zip(dual.breakpoints, other.breakpoints, strict=True):
        assert low <= right and left <= high and high - low < 1e-11


def test_trees_of_overflowing_sums_are_those_of_scipy():
    weights = 1e100, 1e99
    tree = ct.Linkage("power-mean", alpha=1.0, weights=weights).solve(
        instance(1e300 * FIRST, 1e300 * SECOND), {}
    )
    expected = linkage(squareform(FIRST + 0.1 * SECOND), "average")
    np.testing.assert_array_equal(tree.children, np.sort(expected[:, :2], axis=1))


def test_sums_that_no_power_of_two_saves_are_refused():
    far = FIRST.copy()
    far[0, 1:] = far[1:, 0] = 1e300
    wide = instance(np.where(far > 1e200, far, 1e-300 * far), np.where(far > 0, 1e-310, 0.0))
    family = ct.Linkage("power-mean", alpha=(-1, 1), weights=(0.5, 0.5))
    for call in (family.dual, lambda item: family.run(item, 0.5)):
        with pytest.raises(ct.InputError, match=r"sizes range over a factor of up to 10\^6"):
            call(wide)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [1e6, 1e13, 1e16, 1e20, 1e100])
@pytest.mark.parametrize("first_is_large", [False, True])
def test_weight_lines_between_metrics_of_different_sizes(kind, ratio, first_is_large):
    first, second = (ratio * FIRST, SECOND) if first_is_large else (FIRST, ratio * SECOND)
    item = instance(first, second)
    family = ct.Linkage(kind, alpha=0.5, weights="tune", n_metrics=2)
    segment = ct.Segment({"weights": (1, 0)}, {"weights": (0, 1)})
    dual = family.dual(item, segment)
    near_0, near_1 = np.geomspace(1e-300, 1, 40), 1 - np.geomspace(1.2e-16, 1, 40)
    for t in [0.0, 1.0, *near_0.tolist(), *near_1.tolist()]:
        assert dual.value_at(t) == family.run_exact(item, segment.at(t))
    # Behind the last float before 1 more than one thing may happen.
    assert (dual.undecided[:, 1] - dual.undecided[:, 0] < 1.2e-16).all()


def test_the_coordinate_of_a_weight_line_makes_no_difference():
    """The same trees as on a line between metrics of one size, where weights have those ratios."""
    ratio = 2.0**70
    family = ct.Linkage("power-mean", alpha=0.5, weights="tune", n_metrics=2)
    segment = ct.Segment({"weights": (1, 0)}, {"weights": (0, 1)})
    plain = family.dual(instance(FIRST, SECOND), segment)
    skewed = family.dual(instance(FIRST, ratio * SECOND), segment)
    assert skewed.values.tolist() == plain.values.tolist()
    for (low, high), (s_low, s_high) in zip(skewed.breakpoints, plain.breakpoints, strict=True):
        s = 0.5 * (s_low + s_high)
        t = s / (s + ratio * (1 - s))
        assert low <= t * (1 + 1e-12) and t * (1 - 1e-12) <= high
        assert high - low < 1e-9 * t


@pytest.mark.parametrize("first_is_large", [False, True])
def test_lines_on_which_alpha_moves_too(first_is_large):
    first, second = (1e16 * FIRST, SECOND) if first_is_large else (FIRST, 1e16 * SECOND)
    item = instance(first, second)
    family = ct.Linkage("power-mean", alpha=(-1, 1), weights="tune", n_metrics=2)
    segment = ct.Segment({"alpha": -0.25, "weights": (1, 0)}, {"alpha": 0.5, "weights": (0, 1)})
    dual = family.dual(item, segment)
    for t in np.linspace(0, 1, 41).tolist():
        assert dual.value_at(t) == family.run_exact(item, segment.at(t))


def test_boxes_of_distances_near_the_ends_of_the_doubles():
    family = ct.Linkage("power-mean", alpha=(0.25, 1), weights="tune", n_metrics=2)
    box = family.strata()[-1]
    ordinary = family.bound_on_box(instance(FIRST, SECOND), box)
    for shift in (-1000, 1015):
        scaled = instance(np.ldexp(FIRST, shift), np.ldexp(SECOND, shift))
        found = family.bound_on_box(scaled, box)
        assert (found.lower, found.upper) == (ordinary.lower, ordinary.upper)


@pytest.mark.parametrize("kind", [*KINDS, "energy"])
def test_weight_lines_from_subnormal_distances_are_followed(kind):
    """The weights that make both ends one size are beyond the doubles."""
    mixed = instance(np.ldexp(FIRST, -1045), SECOND)
    family = ct.Linkage(kind, alpha=1.0, weights="tune", n_metrics=2)
    dual = family.dual(mixed)
    for t in (0.0, 1e-300, 0.25, 1.0):
        assert dual(t) == family.run(mixed, {"weights": (1 - t, t)})
