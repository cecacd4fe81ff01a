"""Predicates without denominators: the same signs, and shorter chains."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import chain_of, exp, log, parameters, trace
from certune.pfaffian.chains.clearing import cleared
from certune.pfaffian.chains.construction import chain_of_predicates

A, B = parameters("a b")


def rational(draw, depth):
    kind = draw(st.sampled_from("nabaab+-*/^" if depth else "nab"))
    if kind == "n":
        return draw(st.integers(-3, 3))
    if kind in "ab":
        return A if kind == "a" else B
    first = rational(draw, depth - 1)
    if kind == "^":
        return (first + A) ** draw(st.sampled_from((-3, -2, -1, 2, 3)))
    second = rational(draw, depth - 1)
    if kind == "/":
        return first / (second + A + 1)
    return {"+": first + second, "-": first - second, "*": first * second}[kind]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_signs_are_the_same_wherever_both_are_defined(data):
    node = rational(data.draw, 4) + 0 * A
    other = cleared(ct.pfaffian.constant(1) * node)
    for a in (Fraction(-7, 3), Fraction(1, 5), 4):
        for b in (Fraction(-1, 2), 3):
            try:
                value = (node + 0 * B).substitute({"a": a, "b": b})
            except ZeroDivisionError:
                continue
            found = other.substitute({"a": a, "b": b})
            assert value.sign() == found.sign()
    assert chain_of([other]).complexity.chain_length == 0


@pytest.mark.parametrize(
    ("node", "before", "after"),
    [
        (1 / A - B, 1, 0),
        (1 / A + 1 / B - 2, 1, 0),
        ((A / (1 + B * B) - 1 / (A + B)) / (A - 1), 1, 0),
        (A**-3 - B, 1, 0),
        (exp(A) / (B + 1) - 2 / B, 2, 1),
        (exp(1 / A) - B / A, 2, 2),
        (3 / 10**A - 2 / 20**A, 2, 2),
        (log(A) / B - 1, 2, 2),
    ],
)
def test_chains_before_and_after(node, before, after):
    assert chain_of([node]).complexity.chain_length == before
    assert chain_of_predicates([node]).complexity.chain_length == after


def test_even_powers_and_positive_factors_are_left_out():
    assert cleared(1 / (A - B) ** 2 - 3) is 1 - 3 * (A - B) ** 2
    assert cleared(1 / exp(A) - B) is 1 - B * exp(A)
    assert cleared(A * B - 1) is A * B - 1


def ratio(x, values):
    a, b = values["a"], values["b"]
    return 1 if x / (a + 1) >= a / (b + x) else 0


def test_the_structure_of_a_rational_program_has_an_empty_chain():
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 1, 2)))
    seen = trace(ratio, 2, {"a": (0.0, 3.0), "b": (1.0, 2.0)}).complexity
    assert seen.chain_length == 0 and seen.longest_predicate_chain == 0
    structure = ct.ProgramFamily(ratio, space).structure(2.0)
    assert structure.chain_length == 0 and structure.predicates[0].chain_length == 0
    # d log(Delta K) alone: no term with q.
    assert ct.pdim_bound(structure).dimension < 40
