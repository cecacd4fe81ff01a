"""Boxes of parameters: strata, halving, segments."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.box import Box, Edge

SPACE = ct.ParameterSpace((ct.Real("alpha", -1, 3), ct.Simplex("weights", 3)))


def test_strata_hold_every_support_once():
    strata = Box.strata(SPACE)
    supports = [frozenset(v.index(1.0) for v in box.vertices("weights")) for box in strata]
    assert len(set(supports)) == len(supports) == 2**3 - 1
    assert supports[0] == {0, 1, 2} and strata[0].n_free == 3
    assert {box.n_free for box in strata} == {1, 2, 3}


def test_halves_are_disjoint_inside_and_cover_the_box():
    box = Box.strata(SPACE)[0]
    rng = np.random.default_rng(0)
    for _ in range(30):
        edge = box.edges[rng.integers(len(box.edges))]
        halves = box.split(edge)
        volumes = [volume(half) for half in halves]
        assert volumes == pytest.approx([volume(box) / 2] * 2, rel=1e-9)
        for half in halves:
            for name in box.names:
                for vertex in half.vertices(name):
                    assert inside(box, name, vertex)
        box = halves[rng.integers(2)]


def volume(box):
    low, high = box.vertices("alpha")
    return (high[0] - low[0]) * abs(np.linalg.det(np.array(box.vertices("weights"))))


def inside(box, name, vertex):
    part = np.array(box.vertices(name))
    if part.shape[1] == 1:
        return part[0] <= vertex[0] <= part[1]
    return (np.linalg.solve(part.T, np.array(vertex)) >= -1e-9).all()


def test_a_logarithmic_parameter_is_halved_in_its_geometric_middle():
    space = ct.ParameterSpace((ct.LogReal("lam", 1e-4, 1.0), ct.Real("x", 0, 1)))
    box = Box.strata(space)[0]
    assert box.split(Edge(0, 0, 1))[0].vertices("lam")[1][0] == pytest.approx(1e-2)


def test_a_box_with_one_free_parameter_is_a_segment():
    corner = Box.strata(SPACE)[-1]
    assert corner.segment.at(0.5) == {"alpha": 0.5, "weights": (0.0, 0.0, 1.0)}
    fixed = Box(SPACE, (((1.0,),), ((1.0, 0.0, 0.0), (0.0, 0.5, 0.5))))
    assert fixed.segment.at(0.5) == {"alpha": 1.0, "weights": (0.5, 0.25, 0.25)}
    with pytest.raises(ct.ParameterError, match="dimension 3"):
        _ = Box.strata(SPACE)[0].segment


def test_the_centre_is_a_setting_of_the_space():
    for box in Box.strata(SPACE):
        assert SPACE.validate(box.centre)


def test_weights_that_would_be_rounded_are_not_halved():
    box = Box.strata(ct.ParameterSpace((ct.Simplex("weights", 2),)))[0]
    halvings = 0
    while box.can_split(box.edges[0]):
        box = box.split(box.edges[0])[0]
        halvings += 1
        assert all(sum(map(Fraction, vertex)) == 1 for vertex in box.vertices("weights"))
    assert halvings >= 50
