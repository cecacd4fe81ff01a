"""One table over all operators: expression, value, derivative, and the size of its chain.

Each row states the value and the derivative at a = 0.7 in ordinary floats and, with the chain that
a person would write down, its length q, its Pfaffian degree M and the degree Delta.
"""

import math
from fractions import Fraction

import pytest

from certune.pfaffian import (
    atan,
    chain_of,
    constant,
    exp,
    log,
    parameter,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from certune.pfaffian.graph import postorder
from certune.pfaffian.operations import OPERATIONS

a = parameter("a")
x = 0.7
e = math.exp
s = 1 / (1 + e(-x))

TABLE = [
    # expression, value, derivative, (q, M, Delta), the chain
    (a + 2, x + 2, 1, (0, 0, 1)),
    (3 - a, 3 - x, -1, (0, 0, 1)),
    (a * a * a, x**3, 3 * x**2, (0, 0, 3)),
    (a**5, x**5, 5 * x**4, (0, 0, 5)),
    (1 / (a + 1), 1 / (x + 1), -1 / (x + 1) ** 2, (1, 2, 1)),  # f = 1/(a+1), f' = -f^2
    (a**-2, x**-2, -2 * x**-3, (1, 2, 2)),  # f = 1/a, value f^2
    (a / (a + 1), x / (x + 1), 1 / (x + 1) ** 2, (1, 2, 1)),  # 1 - f
    (exp(a), e(x), e(x), (1, 1, 1)),
    (exp(a**3), e(x**3), 3 * x**2 * e(x**3), (1, 3, 1)),  # f' = 3 a^2 f
    (exp(a + 1), e(x + 1), e(x + 1), (1, 1, 1)),  # a constant times exp(a)
    (1 / exp(a), e(-x), -e(-x), (1, 1, 1)),  # f = exp(-a)
    (exp(a) + exp(3 * a), e(x) + e(3 * x), e(x) + 3 * e(3 * x), (1, 1, 3)),  # f + f^3
    (exp(a) + exp(-a), e(x) + e(-x), e(x) - e(-x), (2, 1, 1)),
    (log(a), math.log(x), 1 / x, (2, 2, 1)),  # 1/a, log a
    (log(5 * a) - log(a), math.log(5), 0, (2, 2, 0)),  # a constant on the chain of log a
    (sqrt(a), x**0.5, 0.5 * x**-0.5, (1, 3, 2)),  # w = a^(-1/2), w' = -w^3/2, value a w
    (a ** Fraction(1, 3), x ** (1 / 3), x ** (-2 / 3) / 3, (1, 4, 3)),  # w = a^(-1/3), a w^2
    (a**0.3, x**0.3, 0.3 * x**-0.7, (2, 2, 1)),  # 1/a and the power: f' = r f/a
    (a**a, x**x, x**x * (math.log(x) + 1), (3, 2, 1)),  # 1/a, log a, f' = f log a + f
    (constant(7) ** a, 7**x, math.log(7) * 7**x, (1, 1, 1)),
    (1 / constant(7) ** a, 7**-x, -math.log(7) * 7**-x, (1, 1, 1)),
    (atan(a), math.atan(x), 1 / (1 + x * x), (2, 3, 1)),  # f = 1/(1+a^2), f' = -2 a f^2
    (tanh(a), math.tanh(x), 1 - math.tanh(x) ** 2, (1, 2, 1)),
    (sigmoid(a), s, s * (1 - s), (1, 2, 1)),
    (softplus(a), math.log1p(e(x)), s, (2, 2, 1)),  # sigmoid(a), softplus(a)
    (tanh(exp(a)), math.tanh(e(x)), (1 - math.tanh(e(x)) ** 2) * e(x), (2, 3, 1)),
]


@pytest.mark.parametrize(("expression", "value", "slope", "size"), TABLE, ids=lambda v: str(v))
def test_operator(expression, value, slope, size):
    assert expression.evaluate({"a": x}) == pytest.approx(value, rel=1e-14)
    assert expression.derivative("a").evaluate({"a": x}) == pytest.approx(
        slope, rel=1e-12, abs=1e-12
    )
    ball = expression.enclose({"a": Fraction(7, 10)}, 200)
    assert ball.is_finite()
    assert float(ball.mid()) == pytest.approx(value, rel=1e-14)
    form = chain_of([expression])
    form.chain.verify({"a": (0.3, 1.5)})
    assert form.complexity == size


def test_the_table_has_every_operator():
    used = {item.operation for row in TABLE for item in postorder([row[0]])}
    assert used >= set(OPERATIONS)


def test_a_polynomial_on_the_chain_is_the_function():
    for expression, value, _, _ in TABLE:
        polynomial = chain_of([expression]).polynomials[0].to_expression()
        assert polynomial.evaluate({"a": x}) == pytest.approx(value, rel=1e-12)
