"""Distances of points: what double precision cannot hold is refused."""

import math

import numpy as np
import pytest

import certune as ct
from certune.deadline import TimeIsUp, until
from certune.errors import InputError
from certune.families.metrics import distance_matrix


def twice_four_points():
    points = np.random.default_rng(0).standard_normal((4, 3))
    return np.vstack((points, points))


@pytest.mark.parametrize("metric", ["euclidean", "l2", "minkowski", "sqeuclidean"])
@pytest.mark.parametrize("scale", [1e-170, 1e-156])
def test_points_whose_squares_underflow_are_refused(metric, scale):
    with pytest.raises(InputError, match=r"points 0 and 1 differ by .*multiply all points"):
        distance_matrix(twice_four_points() * scale, metric)


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "cityblock"])
def test_tiny_points_keep_their_digits(metric):
    points = twice_four_points()
    tiny = distance_matrix(np.ldexp(points, -480), metric)
    assert np.array_equal(tiny, np.ldexp(distance_matrix(points, metric), -480))
    assert np.count_nonzero(tiny == 0) == 16


def test_a_single_object_is_no_array_of_points():
    with pytest.raises(InputError, match="a single object of type str: pass an array of rows"):
        ct.ClusteringInstance(np.array("points"), target=[0, 1])


def test_a_stop_ends_distances_by_functions_of_ones_own():
    calls = []
    with until(math.inf) as stop:

        def metric(first, second):
            calls.append(1)
            if len(calls) == 100:
                stop.set()
            return float(np.abs(first - second).sum())

        with pytest.raises(TimeIsUp):
            distance_matrix(np.random.default_rng(0).normal(size=(60, 2)), metric)
    assert len(calls) < 200
