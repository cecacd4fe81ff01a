"""Expressions: sharing, exact constants, printing, errors."""

import io
import math
from fractions import Fraction

import joblib
import numpy as np
import pytest

from certune.errors import InputError, ParameterError, UndecidedError
from certune.pfaffian import constant, exp, log, parameter, parameters, sqrt
from certune.pfaffian.programs.decisions import Relation

a, b = parameters("a b")


def test_equal_expressions_are_one_object():
    assert exp(a + b) / 2 is exp(a + b) / 2
    assert (a + b) is not (b + a)
    assert parameter("a") is a
    assert constant(0.5) is constant(Fraction(1, 2))
    assert constant(2) is constant(2.0)


def test_a_float_is_the_dyadic_number_that_it_is():
    assert constant(0.1).value == Fraction(0.1) != Fraction(1, 10)
    assert (a * 0.1 * 10).substitute({"a": 1}).value == 10 * Fraction(0.1)
    assert (np.float64(0.5) * a) is (a * Fraction(1, 2))
    assert (np.int64(3) + a) is (3 + a)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, 1j])
def test_bad_constants_are_refused(bad):
    with pytest.raises(InputError, match="finite int, Fraction or float"):
        constant(bad)


def test_arithmetic_with_strangers_is_a_type_error():
    with pytest.raises(TypeError):
        a + "1"
    with pytest.raises(TypeError):
        assert a < object()


@pytest.mark.parametrize("name", ["", "two words", 3])
def test_bad_names_are_refused(name):
    with pytest.raises(ParameterError, match="name"):
        parameter(name)


def test_constants_fold_exactly():
    third = constant(1) / 3
    assert (third * 3).value == 1
    assert sqrt(Fraction(9, 4)).value == Fraction(3, 2)
    assert (a - a).value == 0
    assert (0 * exp(a)).value == 0
    assert (a * 1 + 0) is a


def test_what_is_not_real_is_refused():
    with pytest.raises(ZeroDivisionError):
        a / 0
    with pytest.raises(InputError, match="base > 0"):
        constant(-2) ** a
    with pytest.raises(InputError, match="not real"):
        sqrt(-1)
    with pytest.raises(InputError, match="log"):
        log(a).evaluate({"a": -1.0})


@pytest.mark.parametrize(
    ("expression", "text", "latex"),
    [
        (a - (b - 1), "a - (b - 1)", r"a - \left(b - 1\right)"),
        (a - b - 1, "a - b - 1", r"a - b - 1"),
        ((a + b) * (a - b), "(a + b)*(a - b)", r"\left(a + b\right) \left(a - b\right)"),
        (a / (b * 2), "a/(2*b)", r"\frac{a}{2 b}"),
        (-(a**2), "-a**2", "-a^{2}"),
        ((-a) ** 2, "(-a)**2", r"\left(-a\right)^{2}"),
        (-3 * a * b, "(-3*a)*b", r"\left(-3 a\right) b"),
        (a ** (b + 1), "a**(b + 1)", "a^{b + 1}"),
        ((a**b) ** 2, "(a**b)**2", r"\left(a^{b}\right)^{2}"),
        (exp(-a / 2), "exp(-1/2*a)", r"e^{-\frac{1}{2} a}"),
        (a + -2 * b, "a - 2*b", "a - 2 b"),
        (parameter("alpha_1") * 0.1, "0.1*alpha_1", r"0.1 \alpha_{1}"),
        (parameter("cost"), "cost", r"\mathrm{cost}"),
    ],
    ids=str,
)
def test_text_and_latex(expression, text, latex):
    assert str(expression) == text
    assert expression.to_latex() == latex


def test_printed_text_evaluates_to_the_same_expression():
    for expression in [a - (b - a / 3), (a + 2) ** -3 / b, -((a - b) ** 2) * 5, a / (a / b)]:
        again = eval(
            str(expression).replace("/3", "/constant(3)"), {"a": a, "b": b, "constant": constant}
        )
        point = {"a": 0.3, "b": 1.7}
        assert again.evaluate(point) == pytest.approx(expression.evaluate(point), rel=1e-15)


def test_signs_are_three_valued():
    assert (exp(a) - 1).sign({"a": 1e-300}) == 1
    assert (exp(a) - 1).sign({"a": 0}) == 0
    assert (exp(a) - 1).sign({"a": (-1.0, 1.0)}) is None
    assert (sqrt(2) * sqrt(3) - sqrt(6)).sign() == 0
    # pi in disguise is not recognised: 4 atan(1) against 2 * 2 atan(1) is.
    assert (constant(2) ** a * constant(2) ** a - constant(4) ** a).sign({"a": (0.0, 1.0)}) == 0


def test_comparisons_of_numbers_are_exact():
    assert bool(sqrt(2) + sqrt(3) > sqrt(5 + 2 * sqrt(6)) - Fraction(1, 10**60))
    assert not bool(sqrt(2) + sqrt(3) > sqrt(5 + 2 * sqrt(6)) + Fraction(1, 10**60))
    assert bool(constant(0.1) + 0.2 != 0.3)
    assert bool(sqrt(8) == 2 * sqrt(2))


def test_equal_numbers_without_a_proof_are_undecided():
    with pytest.raises(UndecidedError, match="could not be decided"):
        # sqrt(2) + sqrt(3) is the square root of 5 + 2 sqrt(6), which normal forms do not denest
        bool(sqrt(2) + sqrt(3) >= sqrt(5 + 2 * sqrt(6)))


def test_a_branch_outside_of_a_trace_says_what_to_do():
    with pytest.raises(TypeError, match="trace"):
        if a >= 0:
            pass
    with pytest.raises(TypeError, match="a != 0 depends on a; .* trace"):
        if a:
            pass


def test_relations():
    for relation in Relation:
        for sign in (-1, 0, 1):
            assert relation.holds(sign) != relation.negated.holds(sign)
            assert relation.holds(sign) == relation.mirrored.holds(-sign)


def test_missing_and_bad_values_are_named():
    with pytest.raises(ParameterError, match="b missing"):
        (a + b).evaluate({"a": 1})
    with pytest.raises(ParameterError, match="finite number"):
        (a + b).enclose({"a": 1, "b": "x"})


def test_composition():
    f = exp(a * b)
    assert f.substitute({"a": log(b)}) is exp(log(b) * b)
    assert f.substitute({"a": 2, "b": 3}) is exp(6)
    assert f.substitute({"a": b, "b": a}) is exp(b * a)


def test_deep_expressions_work():
    total = a
    for i in range(5000):
        total = total + i * a
    assert total.evaluate({"a": 1.0}) == 1 + 4999 * 5000 / 2
    assert total.derivative("a").evaluate({"a": 1.0}) == 1 + 4999 * 5000 / 2
    assert str(total).startswith("a + ")


def test_expressions_survive_a_file():
    f = sqrt(exp(a) + b**0.3) / (a - 2)
    file = io.BytesIO()
    joblib.dump(f, file)
    file.seek(0)
    assert joblib.load(file) is f


def test_float_of_a_number():
    assert float(exp(1)) == math.e
    assert float(sqrt(2)) == math.sqrt(2)
    with pytest.raises(TypeError, match="^the parameter a has no float value"):
        float(a)
    with pytest.raises(TypeError, match="^a \\+ 1 depends on a and has no float value"):
        float(a + 1)


def test_numbers_of_numpy_are_exact():
    assert a * np.float32(0.1) is a * Fraction(13421773, 134217728)
    assert np.float32(0.5) * a is a / 2 and a + np.int8(3) is a + 3


def test_signs_outside_of_the_domain_are_unknown():
    assert (1 / (a - 1)).sign({"a": 1}) is None
    assert sqrt(a).sign({"a": -1}) is None
    assert (a**b).sign({"a": -1, "b": Fraction(1, 3)}) is None


def test_a_parameter_is_no_float():
    with pytest.raises(TypeError, match="functions of certune.pfaffian in place of those of math"):
        math.exp(a)
    with pytest.raises(ParameterError, match="got 'x'"):
        exp(a)(a="x")
