"""Panels on which models are accurate enough."""

from itertools import pairwise

import numpy as np
import pytest

from certune._core.linkage_parts import model_error
from certune.kernels.linkage import AFFINE, MOVING, POWER, PairFunctions, panel_edges

TOLERANCE = 1e-9


def random_logs(n=8):
    logs = np.random.default_rng(0).normal(size=(n, n))
    return logs + logs.T


def edges_and_errors(mode, power, input_error, tolerance=TOLERANCE):
    logs = random_logs()
    edges = edges_of(mode, logs, logs, power, input_error, (1.0, 40.0), tolerance)
    errors = [model_error(mode, logs, logs, power, input_error, panel) for panel in pairwise(edges)]
    return edges, errors


def edges_of(mode, first, second, power, input_error, ends, tolerance=TOLERANCE):
    codes = np.zeros(first.shape, np.uint64)
    pairs = PairFunctions(mode, first, second, power, input_error, codes, False)
    return panel_edges(pairs, np.arange(len(first)), *ends, tolerance).tolist()


@pytest.mark.parametrize(("mode", "power"), [(AFFINE, (1.0, 0.0)), (POWER, (0.0, 1.0))])
@pytest.mark.parametrize("input_error", [1e-15, 1e-8])
def test_models_are_as_accurate_as_asked_for_or_as_the_inputs(mode, power, input_error):
    edges, errors = edges_and_errors(mode, power, input_error)
    assert edges[0] == 1.0 and edges[-1] == 40.0 and np.all(np.diff(edges) > 0)
    assert 4 < len(edges) < 400
    # A narrow panel has what comes from the inputs: their error times the exponents.
    from_inputs = input_error * 41.0
    assert max(errors) <= max(TOLERANCE, 2.5 * from_inputs)


def test_inputs_without_accuracy_are_not_cut_into_a_million_panels():
    edges, _ = edges_and_errors(POWER, (0.0, 1.0), np.inf)
    assert len(edges) == 2


def test_panels_grow_with_a_distance_that_starts_small():
    """One pair of points is a million times closer than the others at one end of the line."""
    logs = random_logs()
    first, second = np.exp(logs), np.ones_like(logs)
    first[0, 1] = first[1, 0] = 1e-6
    edges = edges_of(MOVING, first, second, (1.0, 0.0), 1e-15, (0.0, 1.0))
    widths = np.diff(edges)
    assert edges[0] == 0.0 and edges[-1] == 1.0 and np.all(widths > 0)
    assert len(edges) < 200
    assert widths[0] < 1e-5 < 1e-2 < widths.max()
    for panel in pairwise(edges):
        assert model_error(MOVING, first, second, (1.0, 0.0), 1e-15, panel) <= TOLERANCE


def test_panels_of_moving_distances_end_where_inputs_have_no_accuracy():
    logs = random_logs()
    first, second = np.exp(logs), np.ones_like(logs)
    first[0, 1] = first[1, 0] = 1e-6
    edges = edges_of(MOVING, first, second, (1.0, 0.0), 1e-3, (0.0, 1.0))
    assert edges[0] == 0.0 and edges[-1] == 1.0 and len(edges) < 200
