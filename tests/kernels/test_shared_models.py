"""Models that a sub-interval shares with the interval around it, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from certune.kernels.compare import narrow_evidence
from certune.kernels.frames import merge_average, restriction
from certune.kernels.search_state import Trail, rewind, save_row
from certune.kernels.series import DEGREE, UNIT

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


@pytest.mark.parametrize("window", WINDOWS)
def test_restriction_stays_within_its_rounding_bound(window):
    rng = np.random.default_rng(1)
    matrix = restriction(*window).reshape(DEGREE, DEGREE)
    for _ in range(20):
        coefficients = rng.uniform(0.1, 10.0, DEGREE)
        found = [
            sum(c * m for c, m in zip(coefficients, column, strict=True)) for column in matrix.T
        ]
        for value, truth in zip(found, restricted(coefficients, *window), strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(8 * DEGREE * UNIT) * truth


def test_restriction_to_the_start_is_constant():
    matrix = restriction(0.0, 0.0).reshape(DEGREE, DEGREE)
    assert matrix[0].tolist() == [1.0] * DEGREE
    assert not matrix[1:].any()


@pytest.mark.parametrize("window", WINDOWS)
def test_narrowed_evidence_never_exceeds_the_truth(window):
    rng = np.random.default_rng(2)
    matrix, work = restriction(*window), np.empty(DEGREE)
    for _ in range(50):
        before = rng.normal(size=(2, DEGREE)) * 10.0 ** rng.uniform(-12, 0, (2, 1))
        nearer, farther = before.copy()
        largest = float(np.abs(before).max())
        narrow_evidence(nearer, farther, largest, matrix, work)
        for narrowed, given in ((nearer, before[0]), (farther, before[1])):
            for value, truth in zip(narrowed, restricted(given, *window), strict=True):
                assert 0 <= truth - Fraction(value) <= Fraction(128 * UNIT * largest)


def test_rewinding_restores_every_record_of_the_open_choices():
    rng = np.random.default_rng(3)
    slots = 12
    frame = rng.uniform(1.0, 2.0, (slots, slots, DEGREE))
    frame = frame + frame.transpose(1, 0, 2)
    flat = frame.reshape(-1)
    trail = Trail(
        np.empty(8 * slots**3),
        np.empty(slots**3, np.int64),
        np.zeros(1, np.int64),
        np.zeros(slots, np.int64),
    )
    active = np.arange(slots)
    states = []
    for choice in (1, 2, 3):
        states.append((trail.used[0], active.copy(), frame.copy()))
        for _ in range(3):
            x, y = rng.choice(active, 2, replace=False)
            active = active[active != y]
            save_row(trail, choice, flat, slots, x, active, len(active))
            merge_average(flat, slots, x, y, 0.25, 0.75, active, len(active))
    for mark, alive, saved in reversed(states):
        rewind(trail, mark, flat, slots)
        block = np.ix_(alive, alive)
        assert np.array_equal(frame[block], saved[block])
