"""Product linkage at one parameter, against integers of many digits."""

from itertools import combinations

import numpy as np
import pytest
from flint import arb, ctx

import certune as ct
from certune.families.linkage.course import make_course
from certune.families.linkage.lines import Line


def clusters(merges, n):
    """The sets of points that a tree joins."""
    members = [frozenset([p]) for p in range(n)]
    for a, b in merges:
        members.append(members[int(a)] | members[int(b)])
    return set(members)


@pytest.mark.parametrize(
    ("powers", "metrics"),
    [
        ((-0.5, 1.0), ("sqeuclidean", "euclidean")),  # 1, but for the rounding of squares
        ((2.0**-60, -(2.0**-60)), ("euclidean", "cityblock")),
        ((-1e-9, 2e-9), ("euclidean", "cityblock")),
        ((1.0, 1e-17), ("sqeuclidean", "euclidean")),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_products_at_a_point_that_hardly_differ(
    powers, metrics, seed, asked, tree_with_many_digits
):
    points = np.random.default_rng(seed).normal(size=(16, 2))
    target = np.arange(16) % 3
    instance = ct.ClusteringInstance(points, target=target, k=3, metrics=metrics)
    family = ct.Linkage("product", alpha=[(-2, 2), (-2, 2)])
    tree = family.solve(instance, dict(zip(family.alpha_names, powers, strict=True)))
    expected = tree_with_many_digits(instance, powers)
    assert clusters(tree.children, 16) == clusters(expected, 16)
    assert len(asked) < 10


@pytest.mark.parametrize("slopes", [(0.0, 0.0), (1.0, -0.75), (2.0**-20, 3 * 2.0**-21)])
def test_the_error_of_logarithms_counts_their_sizes(slopes):
    points = 1e-140 * np.random.default_rng(0).normal(size=(12, 2))
    metrics = ("euclidean", "cityblock")
    instance = ct.ClusteringInstance(points, target=np.arange(12) % 3, k=3, metrics=metrics)
    line = Line("product", tuple((0.0, slope) for slope in slopes), ())
    course = make_course(instance, line, 0.5, 1.0)
    scale = float(course.power[1]) or 1.0
    powers = [arb(slope) / scale if any(slopes) else arb(1) for slope in slopes]
    errors = []
    with ctx.workprec(200):
        for i, j in combinations(range(12), 2):
            logs = (p * arb(d[i, j]).log() for d, p in zip(instance.distances, powers, strict=True))
            errors.append(abs(float(arb(course.first[i, j]) - sum(logs, arb(0)))))
    assert 1e-16 < max(errors) <= course.input_error
