"""One table over all operators: expression, value, derivative, and the size of its chain.

Each row states the value and the derivative at a = 0.7 in ordinary floats and, with the chain that
a person would write down, its length q, its Pfaffian degree M and the degree Delta.
"""

import math
from fractions import Fraction

import numpy as np
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
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import OPERATIONS
from certune.pfaffian.expressions.series import bounds_on, constant_on, polynomial_on

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


@pytest.mark.parametrize("expression", [row[0] for row in TABLE], ids=str)
@pytest.mark.parametrize("error", [1e-3, 1e-12])
def test_polynomial_of_an_operator(expression, error):
    start, stop = 0.6875, 0.71875
    polynomial = polynomial_on(expression, "a", start, stop, error)
    # Rounding of the coefficients is stated on top of the truncation.
    assert polynomial.error <= error + 1e-14
    t = np.linspace(start, stop, 101)
    exact = np.array([expression.evaluate({"a": point}) for point in t.tolist()])
    s = (2 * t - start - stop) / (stop - start)
    distance = np.abs(np.polynomial.chebyshev.chebval(s, polynomial.coefficients) - exact).max()
    rounding = 1e-14 * (1 + np.abs(exact).max())
    assert distance <= polynomial.error + rounding
    constant = constant_on(expression, "a", start, stop)
    assert np.abs(exact - constant.coefficients[0]).max() <= constant.error + rounding
    low, high = bounds_on(expression, "a", start, stop)
    assert low - rounding <= exact.min() and exact.max() <= high + rounding


def test_the_error_of_a_polynomial_is_that_of_taylor():
    # exp(a) = sum a^k / k! on [-1, 1]; the remainder after n terms is at most e / n! and at
    # least 1 / n! at a = 1. 1/7! < 1e-3 / e < 1/6!, so 7 terms are needed and enough.
    polynomial = polynomial_on(exp(a), "a", -1.0, 1.0, 1e-3)
    assert len(polynomial.coefficients) == 7
    assert math.e / math.factorial(7) <= polynomial.error <= 1.001 * math.e / math.factorial(7)
    value = np.polynomial.chebyshev.chebval(1.0, polynomial.coefficients)
    assert value == pytest.approx(sum(1 / math.factorial(k) for k in range(7)), abs=1e-14)


@pytest.mark.parametrize("expression", [1 / a, log(a), a**-3, a**0.5, sqrt(a), 1 / a - 1 / a**2])
def test_no_polynomial_across_a_singularity(expression):
    assert polynomial_on(expression, "a", -1.0, 1.0, 1.0) is None
    assert polynomial_on(expression, "a", 0.0, 1.0, 1.0) is None


def test_bounds_close_to_the_end_of_a_root():
    # The values of sqrt(a (1 - a)) on [0, 1/4] lie between 0 and sqrt(3)/4.
    low, high = bounds_on(sqrt(a * (1 - a)), "a", 0.0, 0.25)
    assert low <= 0.0 and math.sqrt(3) / 4 <= high < 0.6
    assert bounds_on(sqrt(a), "a", -2.0, -1.0) is None
    assert bounds_on(exp(exp(a)), "a", 0.0, 1000.0) is None
