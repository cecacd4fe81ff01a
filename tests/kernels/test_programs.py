"""Straight lines in the compiled core: places and orders against rational arithmetic."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from certune.kernels.programs import crossing, kinetic_order, sign_at


def coefficients(offset, slope, radius=0.0):
    parts = []
    for number in (Fraction(offset), Fraction(slope)):
        high = float(number)
        low = float(number - Fraction(high))
        parts += [high, low, radius + float(abs(number - Fraction(high) - Fraction(low))) * 1.01]
    return tuple(parts)


def random_line(rng):
    return Fraction(rng.randint(-999, 999), rng.randint(1, 99)), Fraction(
        rng.randint(-999, 999), rng.randint(1, 99)
    )


def test_crossings_hold_the_root():
    rng = random.Random(1)
    n_found = 0
    for _ in range(400):
        (a, b), (c, d) = random_line(rng), random_line(rng)
        found = crossing(coefficients(a, b), coefficients(c, d))
        if b == d:
            assert found is None
            continue
        root = (c - a) / (b - d)
        if found is not None:
            n_found += 1
            assert found.below < root < found.above
            assert found.sign_after == (1 if b > d else -1)
            assert found.above - found.below <= 32 * math.ulp(float(root))
    assert n_found > 380


def test_cancelled_digits_are_no_proof():
    tiny = Fraction(1, 10**40)
    first, second = coefficients(Fraction(1, 3) + tiny, 1), coefficients(Fraction(1, 3), 1)
    assert crossing(first, second) is None
    assert sign_at(first, second, 0.5) == 0
    # With the radius left out the difference of these lines would be 1e-20, and a proof.
    wide = coefficients(1 + Fraction(1, 10**20), 1, radius=1e-19), coefficients(1, 1)
    assert sign_at(*wide, 0.0) == 0
    exact = coefficients(1 + Fraction(1, 10**20), 1), coefficients(1, 1)
    assert sign_at(*exact, 0.0) == 1


@pytest.mark.parametrize("numbers", [(math.inf, 1.0), (math.nan, 1.0), (1e305, 1e305), (0.0, 0.0)])
def test_what_leaves_the_doubles_is_unproved(numbers):
    offset, slope = numbers
    line = (offset, 0.0, 0.0, slope, 0.0, 0.0)
    assert crossing(line, (-offset, 0.0, 0.0, -slope, 0.0, 0.0)) is None
    assert sign_at(line, line, 1e300) == 0


def exact_order(lines, t):
    values = [a + b * Fraction(t) for a, b in lines]
    return sorted(range(len(lines)), key=lambda i: (-values[i], i))


@pytest.mark.parametrize("seed", range(12))
def test_orders_are_those_of_rational_arithmetic(seed):
    rng = random.Random(seed)
    lines = [random_line(rng) for _ in range(rng.choice((2, 3, 9, 25)))]
    low, high = -1.5, 2.25
    found = kinetic_order(
        [coefficients(*line) for line in lines], range(len(lines)), low, high, 9999
    )
    assert found is not None
    order, t = list(found.order), low
    for (below, above), place in zip(found.brackets, found.places, strict=True):
        assert t <= below < above
        assert exact_order(lines, Fraction(t) / 2 + Fraction(below) / 2) == order
        order[place], order[place + 1] = order[place + 1], order[place]
        assert exact_order(lines, above) == order
        t = above
    assert exact_order(lines, found.until) == order
    roots = {
        (c - a) / (b - d)
        for place, (a, b) in enumerate(lines)
        for c, d in lines[:place]
        if b != d and low < (c - a) / (b - d) < high
    }
    if found.until == high:
        assert len(found.places) == len(roots)


def test_exchanges_that_fall_together_end_the_list():
    lines = [(Fraction(0), Fraction(k)) for k in (1, 2, 3)] + [(Fraction(-1), Fraction(7, 2))]
    rows = [coefficients(*line) for line in lines]
    found = kinetic_order(rows, range(4), -1.0, 1.0, 99)
    assert found.brackets == [] and -1e-270 < found.until <= 0.0
    assert kinetic_order(rows, range(4), 0.0, 1.0, 99) is None
    after = kinetic_order(rows, range(4), 1e-6, 1.0, 99)
    assert after.until == 1.0 and len(after.places) == 2


def test_the_same_function_keeps_the_order_of_indices():
    rows = [coefficients(1, 1), coefficients(2, 0), coefficients(1, 1)]
    found = kinetic_order(rows, [0, 1, 0], 0.0, 0.5, 9)
    assert found.order == [1, 0, 2] and found.until == 0.5
    # Both meet the other line at 1, which cannot be told apart.
    assert kinetic_order(rows, [0, 1, 0], 0.0, 2.0, 9).until < 1.0
    assert kinetic_order(rows, [0, 1, 2], 0.0, 0.5, 9) is None


def test_so_many_exchanges_and_no_more():
    rng = random.Random(3)
    rows = [coefficients(*random_line(rng)) for _ in range(12)]
    whole = kinetic_order(rows, range(12), -2.0, 2.0, 9999)
    part = kinetic_order(rows, range(12), -2.0, 2.0, 3)
    assert part.brackets == whole.brackets[:3] and part.until == part.brackets[-1][1]
    rest = kinetic_order(rows, range(12), part.until, 2.0, 9999)
    assert rest.brackets == whole.brackets[3:]


def test_the_door_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="six"):
        kinetic_order(np.zeros((2, 5)), [0, 1], 0.0, 1.0, 9)
    with pytest.raises(ValueError, match="form"):
        kinetic_order(np.zeros((2, 6)), [0], 0.0, 1.0, 9)
    with pytest.raises(ValueError, match="stretch"):
        kinetic_order(np.zeros((2, 6)), [0, 1], 1.0, 0.0, 9)


def test_two_pairs_that_meet_at_the_same_place_end_the_list():
    half = Fraction(1, 2)
    lines = [(Fraction(0), 1), (half, 0), (Fraction(10), 1), (10 + half, 0)]
    found = kinetic_order([coefficients(*line) for line in lines], range(4), 0.0, 1.0, 99)
    assert found.brackets == [] and 0.49 < found.until < 0.5
