"""Tapes in the compiled core: values and slopes lie in their intervals, by balls and fractions."""

import math
import random
from fractions import Fraction

import flint
import pytest
from flint import arb

from certune.kernels.programs import Tape
from certune.pfaffian import (
    atan,
    constant,
    exp,
    log,
    parameters,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from certune.pfaffian.expressions.evaluation import Jet, jet
from certune.pfaffian.expressions.tapes import tape_of
from certune.pfaffian.signs.ranges import range_on, sign_on, signs_on

A, B = parameters("a b")
FUNCTIONS = [
    exp(-A) * A - log(A + 1),
    A**3 / (1 + A * A) - sqrt(A),
    3 / constant(7) ** A - 2 / constant(5) ** A,
    sigmoid(A) - tanh(A) / 2,
    softplus(A) - A ** Fraction(3, 10),
    (A + 1) ** A,
    A**-2 - exp(A * A) + (A - 1) ** 4,
    log(A / 3) * Fraction(1, 3) + 0.1,
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_values_and_slopes_lie_in_the_intervals(number):
    node, rng = FUNCTIONS[number], random.Random(number)
    tape = tape_of(node)
    for _ in range(120):
        low = rng.uniform(0.01, 3)
        high = low + rng.choice((0.0, 1e-12, 0.01, 0.5)) * rng.random()
        ends = tape.on_interval(low, high)
        assert all(map(math.isfinite, ends))
        for t in (low, high, min(max(low + (high - low) * rng.random(), low), high)):
            with flint.ctx.workprec(300):
                found = jet(node, {"a": Jet(arb(t), arb(1))}, {})
                assert arb(ends[0]) <= found.value <= arb(ends[1])
                assert arb(ends[2]) <= found.slope <= arb(ends[3])
    # Narrow intervals are enclosed narrowly, so that signs are proved.
    value, high = tape.on_interval(1.25, 1.25)[:2]
    assert high - value <= 1e-13 * max(1.0, abs(value))


def test_arithmetic_is_rounded_outwards():
    rng = random.Random(5)
    for _ in range(300):
        x, y = (Fraction(rng.uniform(-4, 4)) for _ in range(2))
        for node, exact in [
            (A + constant(y), x + y),
            (A - constant(y), x - y),
            (A * constant(y), x * y),
            (A / constant(y), x / y),
            (A**3, x**3),
            (A**-2, x**-2),
            (A + constant(Fraction(1, 3)), x + Fraction(1, 3)),
        ]:
            low, high, *_ = tape_of(node).on_interval(float(x), float(x))
            assert Fraction(low) <= exact <= Fraction(high)
            assert Fraction(high) - Fraction(low) <= abs(exact) * Fraction(1, 10**14) + Fraction(
                1, 10**14
            )


@pytest.mark.parametrize(
    ("node", "low", "high"),
    [
        (log(A), -1.0, 1.0),
        (log(A), 0.0, 1.0),
        (sqrt(A), -1e-300, 1.0),
        (1 / A, -1.0, 1.0),
        (A**-3, 0.0, 1.0),
        (A**A, 0.0, 1.0),
        (exp(A), 600.0, 800.0),
        (exp(exp(A)), 0.0, 9.0),
        (exp(A) - exp(A + 1), 0.0, 1000.0),
    ],
)
def test_what_is_not_defined_or_overflows_is_unknown(node, low, high):
    ends = tape_of(node).on_interval(low, high)
    assert ends[0] == -math.inf or ends[1] == math.inf
    assert not math.isnan(sum(map(abs, ends)))


def test_functions_that_the_core_does_not_know_have_no_tape():
    assert tape_of(atan(A)) is None
    assert tape_of(constant(3)) is None
    assert sign_on(atan(A) + 1, {"a": (0.0, 1.0)}) == 1


def test_boxes_together_and_alone_have_the_signs_of_balls():
    rng = random.Random(2)
    nodes = [
        A * exp(B) - B * B,
        A / (B + 1) - sqrt(A * B),
        3 * A - 2 * B + Fraction(1, 7),
        A * A - B,
    ]
    for node in nodes:
        boxes = []
        for _ in range(60):
            low = rng.uniform(0.1, 2), rng.uniform(0.1, 2)
            width = rng.choice((1e-3, 0.1, 1.0))
            boxes.append({"a": (low[0], low[0] + width), "b": (low[1], low[1] + width)})
        together = signs_on(node, boxes)
        assert together == [sign_on(node, box) for box in boxes]
        assert len(set(together)) == 3
        for sign, box in zip(together, boxes, strict=True):
            ball = range_on(node, box).ball
            if sign is not None:
                assert not ball * sign < 0
            for point in (
                {"a": box["a"][0], "b": box["b"][1]},
                {"a": box["a"][1], "b": box["b"][0]},
            ):
                if sign is not None:
                    assert node.sign(point) == sign


def test_the_door_refuses_what_does_not_fit():
    for steps, words in [
        ([(0, 1, 0)], "earlier"),
        ([(1, 2, 0)], "earlier"),
        ([(0, 0, 0), (2, 0, 1)], "earlier"),
        ([(12, 0, 0)], "operator"),
        ([(0, 0, 0), (6, 0, 5000)], "small"),
    ]:
        with pytest.raises(ValueError, match=words):
            Tape(steps, [(1.0, 1.0)], 1)
    with pytest.raises(ValueError, match="two ends"):
        tape_of(A + B).on_boxes([[0.0, 1.0]])
    with pytest.raises(ValueError, match="one parameter"):
        tape_of(A + B).on_interval(0.0, 1.0)
