"""Vectors: what they compute, what is remembered, what is refused."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.errors import InputError
from certune.pfaffian import exp, parameter, vector
from certune.pfaffian.programs.decisions import SymbolicValueError

T = parameter("t")


def test_entries_are_those_of_single_numbers():
    values, sizes = vector([6, Fraction(1, 3)]), vector(np.array([0.1, 4.0]))
    for found, expected in [
        (values / sizes**T, [6 / (0.1 + 0 * T) ** T, Fraction(1, 3) / 4**T]),
        (2 - values * T, [2 - 6 * T, 2 - Fraction(1, 3) * T]),
        (exp(-(values * T)), [exp(-(6 * T)), exp(-(Fraction(1, 3) * T))]),
        (T + values + 1, [T + 6 + 1, T + Fraction(1, 3) + 1]),
        (1 / values, [Fraction(1, 6), 3]),
    ]:
        for entry, other in zip(found, expected, strict=True):
            assert ct.pfaffian.is_zero(entry - other)
    assert values[1:][0].value == Fraction(1, 3)
    assert vector([0.1])[0].value == Fraction(0.1)


@pytest.mark.parametrize(
    "compare", [lambda u, v: u == v, lambda u, v: u < v, lambda u, v: u >= v, lambda u, v: u != v]
)
def test_comparisons_are_refused(compare):
    with pytest.raises(SymbolicValueError, match="compare entries"):
        compare(vector([1, 2]), vector([1, 3]))


def test_vectors_of_other_lengths_and_other_things_are_refused():
    with pytest.raises(InputError, match="2 and 3 entries"):
        vector([1, 2]) + vector([1, 2, 3])
    with pytest.raises(TypeError):
        vector([1, 2]) + "ab"
    with pytest.raises(AttributeError, match="does not change"):
        vector([1]).entries = ()
    with pytest.raises(TypeError):
        hash(vector([1]))
    assert list(pickle.loads(pickle.dumps(vector([1, T])))) == list(vector([1, T]).entries)


def steps(numbers, parameters):
    """Count entries of 1 / (numbers - t) above 1, with a way of its own where one has no value."""
    t = parameters["t"]
    gaps = vector(numbers) - t
    if t >= 2:
        gaps = gaps - 1
    return sum(1 for gap in gaps if gap > 0)


def test_what_is_remembered_follows_the_branches():
    family = ct.ProgramFamily(steps, ct.Real("t", 0, 4), utility_range=(0, 9))
    numbers = (0.5, 1.5, 3.5, 4.5)
    dual = family.dual(numbers)
    for t in (k / 7 for k in range(29)):
        moved = [x - t - (1 if t >= 2 else 0) for x in numbers]
        assert dual(t) == sum(gap > 0 for gap in moved)


def divided(numbers, parameters):
    """Entries with a pole are decided anew in each run, not taken from another one."""
    t = parameters["t"]
    if t != 1:
        return sum(1 for entry in 1 / (vector(numbers) - t) if entry > 0)
    return 7


def test_poles_are_not_remembered():
    family = ct.ProgramFamily(divided, ct.Real("t", 0, 2), utility_range=(0, 9))
    dual = family.dual((1.0, 3.0))
    assert [dual(t) for t in (0.0, 0.5, 1.0, 1.5, 2.0)] == [2.0, 2.0, 7.0, 1.0, 1.0]


def test_runs_on_plain_floats():
    family = ct.GreedyKnapsack()
    instance = ct.KnapsackInstance((6, 5, 5), (6, 5, 4), 9)
    value, error = family.run_plain(instance, {"rho": 0.7})
    assert abs(value - family.run(instance, 0.7)) <= error
