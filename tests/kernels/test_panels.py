"""Panels on which models are accurate enough."""

import numpy as np
import pytest

from certune.kernels.frames import pair_range, range_error
from certune.kernels.panels import panel_edges
from certune.kernels.series import AFFINE, MOVING, POWER

TOLERANCE = 1e-9


def random_logs(n=8):
    logs = np.random.default_rng(0).normal(size=(n, n))
    return logs + logs.T


def edges_and_errors(mode, power, input_error, tolerance=TOLERANCE):
    logs, labels = random_logs(), np.arange(8)
    arguments = (mode, logs, logs, labels)
    edges = panel_edges(*arguments, power, 1.0, 40.0, input_error, tolerance)
    extent = pair_range(*arguments, 0.0, 0.0)
    errors = [
        range_error(mode, False, *extent, logs, logs, labels, power, low, high, input_error)[0]
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]
    return edges, errors


@pytest.mark.parametrize(("mode", "power"), [(AFFINE, (1.0, 0.0)), (POWER, (0.0, 1.0))])
@pytest.mark.parametrize("input_error", [1e-15, 1e-8])
def test_models_are_as_accurate_as_asked_for_or_as_the_inputs(mode, power, input_error):
    edges, errors = edges_and_errors(mode, np.array(power), input_error)
    assert edges[0] == 1.0 and edges[-1] == 40.0 and np.all(np.diff(edges) > 0)
    assert 4 < len(edges) < 400
    # A narrow panel has what comes from the inputs: their error times the exponents.
    from_inputs = input_error * 41.0
    assert max(errors) <= max(TOLERANCE, 2.5 * from_inputs)


def test_inputs_without_accuracy_are_not_cut_into_a_million_panels():
    edges, _ = edges_and_errors(POWER, np.array((0.0, 1.0)), np.inf)
    assert len(edges) == 2


def test_panels_grow_with_a_distance_that_starts_small():
    """One pair of points is a million times closer than the others at one end of the line."""
    logs, labels = random_logs(), np.arange(8)
    first, second = np.exp(logs), np.ones_like(logs)
    first[0, 1] = first[1, 0] = 1e-6
    arguments = (MOVING, first, second, labels)
    power = np.array((1.0, 0.0))
    edges = panel_edges(*arguments, power, 0.0, 1.0, 1e-15, TOLERANCE)
    widths = np.diff(edges)
    assert edges[0] == 0.0 and edges[-1] == 1.0 and np.all(widths > 0)
    assert len(edges) < 200
    assert widths[0] < 1e-5 < 1e-2 < widths.max()
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        extent = pair_range(*arguments, low, high)
        rest = (first, second, labels, power, low, high, 1e-15)
        assert range_error(MOVING, False, *extent, *rest)[0] <= TOLERANCE


def test_panels_of_moving_distances_end_where_inputs_have_no_accuracy():
    logs = random_logs()
    first, second = np.exp(logs), np.ones_like(logs)
    first[0, 1] = first[1, 0] = 1e-6
    power = np.array((1.0, 0.0))
    edges = panel_edges(MOVING, first, second, np.arange(8), power, 0.0, 1.0, 1e-3, TOLERANCE)
    assert edges[0] == 0.0 and edges[-1] == 1.0 and len(edges) < 200
