"""Product linkage with exponents of both signs: where the space is cut, and that gaps close."""

import math

import numpy as np
import pytest

import certune as ct
from certune.box import Box, Stratum
from certune.testing.boxes import random_setting

TWO = ("euclidean", "cityblock")


def product(*ranges):
    return ct.Linkage("product", alpha=list(ranges))


def holds(box, point):
    """Does a stratum hold a point? Independent of the methods of a box."""
    stratum = box.stratum
    total = math.fsum([*stratum.constants, *point])
    if stratum.side and (total >= 0) != (stratum.side > 0):
        return False
    ranges = [(part[0][0], part[-1][0]) for part in box.parts]
    if stratum.rays:
        *ranges, _ = ranges
        (place,) = [i for i, (low, high) in enumerate(ranges) if low == high != 0]
        scale = point[place] / ranges[place][0]
        if not 0 < scale <= 1:
            return False
        point = [value / scale for value in point]
    room = 1e-12 * max(abs(x) for x in point)  # of the division
    pairs = zip(point, ranges, strict=True)
    return all(low - room <= x <= high + room for x, (low, high) in pairs)


@pytest.mark.parametrize(
    "family",
    [
        product((-1, 3), (-1, 3)),
        product((-2, 1), (0.5, 3)),
        product((-1, 2), (-3, 1), (-1, 1)),
        product((-2, 2), (-1, 2), 0.5),
        product((0, 2), (-3, 0)),
    ],
    ids=str,
)
def test_every_setting_belongs_to_a_stratum(family):
    rng = np.random.default_rng(0)
    ranges = [(item.low, item.high) for item in family.space.parameters]
    strata = family.strata()
    for _ in range(300):
        point = [float(rng.uniform(*ends)) for ends in ranges]
        for i, (low, high) in enumerate(ranges):
            if rng.uniform() < 0.2 and low <= 0 <= high:
                point[i] = 0.0
        assert any(holds(box, point) for box in strata), point


def test_centres_and_random_settings_belong_to_their_stratum():
    family, rng = product((-1, 3), (-1, 3)), np.random.default_rng(1)
    n_both = 0
    for stratum in family.strata():
        box = stratum
        for _ in range(8):
            if box.is_empty or not box.edges:
                break
            sums = [sum(v[i][0] for v in box.parts[:2]) for i in (0, -1)]
            n_both += sums[0] < 0 < sums[1]
            for params in (box.centre, random_setting(box, rng) or box.centre):
                total = math.fsum(params.values())
                assert (total >= 0) == (box.stratum.side > 0)
                assert family.space.validate(params)
            box = box.split(box.edges[rng.integers(len(box.edges))])[rng.integers(2)]
    assert n_both > 3


def test_the_wrong_side_is_empty():
    space = product((-1, 3), (-1, 3)).space
    corner = (((1.0,), (2.0,)), ((0.5,), (1.0,)))
    assert Box(space, corner, Stratum(side=-1)).is_empty
    assert not Box(space, corner, Stratum(side=1)).is_empty
    assert Box(space, corner, Stratum(side=1, constants=(-4.0,))).is_empty
    family = product((-1, 3), (-1, 3))
    instance = ct.datasets.random_clustering(1, 3, 4, metrics=TWO)[0]
    bound = family.bound_on_box(instance, Box(space, corner, Stratum(side=-1)))
    assert bound.settled and bound.upper == 0


def test_gaps_close_for_exponents_of_both_signs():
    instances = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=4, metrics=TWO)
    family = product((-1, 3), (-1, 3))
    result = ct.tune(family, instances, timeout=60)
    assert result.status is ct.Status.OPTIMAL and result.gap == 0.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        params = family.space.sample(rng)
        value = sum(family.run_exact(item, params) for item in instances) / 2
        assert value <= result.upper_bound_exact


def test_certificates_with_rays_are_verified():
    instances = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=4, metrics=TWO)
    family = product((-1, 2), (-1, 2))
    result = ct.tune(family, instances)
    assert ct.verify(result.certificate, family, instances).optimal


def test_ties_on_an_axis_are_broken_off_it():
    """On a grid most pairs tie in one metric; boxes at the axes are settled none the less."""
    instance = ct.datasets.grid_clustering(1, side=3, n_points=7, n_clusters=2, metrics=TWO)[0]
    family = product((-1, 2), (-1, 2))
    result = ct.tune(family, [instance], timeout=60)
    assert result.gap == 0.0
