"""Models that a sub-interval shares with the interval around it, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from certune._core import linkage_parts
from certune._core.linkage_parts import degree as DEGREE
from certune.kernels.linkage import UNIT

WINDOWS = [(0.0, 0.5), (0.5, 1.0), (0.125, 0.375), (0.3, 0.9), (0.7, 0.95), (1e-9, 1.0)]


def restricted(coefficients, low, high):
    """De Casteljau's algorithm in rationals: Bernstein coefficients on [low, high]."""

    def blossom(points):
        row = [Fraction(c) for c in coefficients]
        for t in points:
            row = [(1 - t) * a + t * b for a, b in zip(row, row[1:], strict=False)]
        return row[0]

    low, high, top = Fraction(low), Fraction(high), len(coefficients) - 1
    return [blossom([low] * (top - k) + [high] * k) for k in range(top + 1)]


def restriction(low, high):
    return np.array(linkage_parts.restriction(low, high)).reshape(DEGREE, DEGREE)


@pytest.mark.parametrize("window", WINDOWS)
def test_restriction_stays_within_its_rounding_bound(window):
    rng = np.random.default_rng(1)
    matrix = restriction(*window)
    for _ in range(20):
        coefficients = rng.uniform(0.1, 10.0, DEGREE)
        found = [
            sum(c * m for c, m in zip(coefficients, column, strict=True)) for column in matrix.T
        ]
        for value, truth in zip(found, restricted(coefficients, *window), strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(8 * DEGREE * UNIT) * truth


def test_restriction_to_the_start_is_constant():
    matrix = restriction(0.0, 0.0)
    assert matrix[0].tolist() == [1.0] * DEGREE
    assert not matrix[1:].any()


@pytest.mark.parametrize("by_matrix", [True, False])
@pytest.mark.parametrize("window", WINDOWS)
def test_narrowed_evidence_never_exceeds_the_truth(window, by_matrix):
    rng = np.random.default_rng(2)
    for _ in range(50):
        before = rng.normal(size=(2, DEGREE)) * 10.0 ** rng.uniform(-12, 0, (2, 1))
        largest = float(np.abs(before).max())
        after = linkage_parts.restrict_evidence(*before.tolist(), largest, *window, by_matrix)
        for narrowed, given in zip(after, before, strict=True):
            for value, truth in zip(narrowed, restricted(given, *window), strict=True):
                assert 0 <= truth - Fraction(value) <= Fraction(128 * UNIT * largest)


def test_rewinding_restores_every_record_of_the_open_choices():
    rng = np.random.default_rng(3)
    slots = 12
    frame = rng.uniform(1.0, 2.0, (slots, slots, DEGREE))
    frame = np.ascontiguousarray(frame + frame.transpose(1, 0, 2))
    saved_frame = linkage_parts.SavedFrame(frame)
    active = np.arange(slots)
    states = []
    for choice in (1, 2, 3):
        states.append((len(saved_frame), active.copy(), frame.copy()))
        for _ in range(3):
            x, y = rng.choice(active, 2, replace=False).tolist()
            active = active[active != y]
            saved_frame.merge(choice, x, y, (0.25, 0.75), active.tolist())
    for mark, alive, saved in reversed(states):
        saved_frame.rewind(mark)
        block = np.ix_(alive, alive)
        assert np.array_equal(frame[block], saved[block])
