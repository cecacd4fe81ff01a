"""Signs of rational functions with roots of higher order, against exact arithmetic."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import certune as ct
from certune.pfaffian import exp, parameter
from certune.pfaffian.signs.on_line import Line
from certune.pfaffian.signs.rational import is_root, rational_signs

A = parameter("a")


def random_rational(rng: random.Random):
    """A product of powers of small factors over another one, and the same as a plain function."""
    factors = []
    for _ in range(rng.randint(1, 4)):
        constant = Fraction(rng.randint(-9, 9), rng.randint(1, 5))
        linear, square = rng.randint(-3, 3), rng.randint(0, 1)
        factors.append((constant, linear, square, rng.choice([-2, -1, 1, 2, 3])))

    def value(a):
        result = Fraction(1) if isinstance(a, Fraction) else 1
        for constant, linear, square, power in factors:
            result = result * (constant + linear * a + square * a * a) ** power
        return result

    return value


@pytest.mark.parametrize("seed", range(60))
def test_the_signs_are_those_of_exact_arithmetic(seed):
    rng = random.Random(seed)
    function = random_rational(rng)
    try:
        node = function(A)
    except ZeroDivisionError:
        return  # the same for a plain number
    low, high = -2.0, 2.0
    if not node.parameters:
        node = node + A - A
    cells = rational_signs(node, low, high)
    assert cells is not None
    assert cells[0].low == low and cells[-1].high == high
    assert all(one.high == two.low for one, two in zip(cells, cells[1:], strict=False))
    for cell in cells:
        points = [cell.low, cell.high] + [rng.uniform(cell.low, cell.high) for _ in range(5)]
        if cell.sign is None:
            assert cell.high - cell.low < 1e-14
            points = [] if cell.root is None else [cell.root]
        for t in points:
            exact = function(Fraction(t))
            assert (exact > 0) - (exact < 0) == (cell.sign or 0)


def test_a_root_of_higher_order_leaves_a_narrow_bracket():
    signs = Line("a").sign_map((1 - 3 * A) ** 5, 0.0, 1.0)
    assert [cell.sign for cell in signs.cells] == [1, None, -1]
    assert signs.cells[1].high - signs.cells[1].low < 1e-15


def test_a_root_of_higher_order_of_another_function_does_not_hide_what_follows():
    signs = Line("a").sign_map((exp(A) - 2) ** 3 * (A - Fraction(9, 10)), 0.0, 1.0)
    widest = max(cell.high - cell.low for cell in signs.cells if cell.sign is None)
    assert [cell.sign for cell in signs.cells] == [1, None, -1, None, 1]
    assert widest < 0.01


def test_repeated_steps_towards_zero_are_decided_on_the_whole_range():
    def steps(instance, parameters):
        x = instance
        for k in range(6):
            x = x - parameters["rate"] * 1.5 * x
            if abs(x) < 0.1:
                return 1 - Fraction(k, 6)
        return 0

    dual = ct.ProgramFamily(steps, ct.Real("rate", 0, 1)).dual(2.0)
    assert float((dual.breakpoints[:, 1] - dual.breakpoints[:, 0]).max()) < 1e-14
    for k in range(1, 401):
        assert float(dual(k / 401)) == float(steps(2.0, {"rate": k / 401}))


@pytest.mark.parametrize(
    ("t", "expected"), [(0.25, True), (0.5, False), (2.0, True), (math.nextafter(0.25, 1), False)]
)
def test_floats_are_roots_only_where_the_function_is_zero_and_defined(t, expected):
    # 0 / 0 at 1/2 is no root
    node = (A - Fraction(1, 4)) * (A - 2) ** 3 * (2 * A - 1) / (A - Fraction(1, 2))
    assert is_root(node, t) is expected
