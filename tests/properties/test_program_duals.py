"""Random programs: the exact dual says at every point what plain execution gives."""

import random
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import atan, exp, log, power, sigmoid, sqrt, tanh

FUNCTIONS = [
    exp,
    tanh,
    sigmoid,
    atan,
    lambda u: log(u * u + 1),
    lambda u: sqrt(u * u + Fraction(1, 3)),
    lambda u: u * u,
    lambda u: 1 / (u * u + 1),
    lambda u: power(Fraction(5, 3), u),
    lambda u: power(u * u + 1, u),
]
RELATIONS = [
    lambda u, v: u >= v,
    lambda u, v: u > v,
    lambda u, v: u <= v,
    lambda u, v: u < v,
    lambda u, v: u == v,
]


def random_value(rng, x, depth):
    """A random expression in x; numbers are simple, so that ties at simple points occur."""
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return x if rng.random() < 0.6 else x * 0 + Fraction(rng.randint(-6, 6), 4)
    if kind < 0.6:
        return rng.choice(FUNCTIONS)(random_value(rng, x, depth - 1))
    first, second = random_value(rng, x, depth - 1), random_value(rng, x, depth - 1)
    return rng.choice([first + second, first - second, first * second])


def random_program(seed, parameters):
    """Nested branches on random expressions; a pure function of the seed and the parameter."""
    rng = random.Random(seed)
    x = parameters["x"]

    def branch(depth):
        if depth == 0:
            return rng.randint(0, 7)
        relation = rng.choice(RELATIONS)
        first, second = random_value(rng, x, 2), random_value(rng, x, 2)
        # Both sides are drawn whatever the outcome, so that every run draws the same numbers.
        yes, no = branch(depth - 1), branch(depth - 1)
        return yes if relation(first, second) else no

    return Fraction(branch(3), 7)


def close_to(dual, rng):
    """Random points, and points at distances from 1e-9 to 1e-3 of breakpoints."""
    points = (
        rng.uniform(dual.low, dual.high, 15).tolist() + dual.starts.tolist() + dual.stops.tolist()
    )
    for low, high in dual.breakpoints.tolist():
        step = 10.0 ** rng.uniform(-9, -3)
        points += [low - step, high + step]
    return [t for t in points if dual.low <= t <= dual.high]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_duals_of_random_programs_equal_plain_execution(seed):
    family = ct.ProgramFamily(random_program, ct.Real("x", -2, 2))
    dual = family.dual(seed)
    for t in close_to(dual, np.random.default_rng(seed)):
        lower, upper = dual.enclose_exact(t)
        assert lower <= family.run_exact(seed, t) <= upper
    on_pieces = [dual.value_at(t) for t in dual.sample_points().tolist()]
    assert on_pieces == [family.run_exact(seed, t) for t in dual.sample_points().tolist()]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_traces_of_random_programs_agree_with_plain_execution(seed):
    found = ct.pfaffian.trace(random_program, seed, {"x": (-2, 2)})
    run, rng = ct.pfaffian.program(random_program), random.Random(seed)
    formula = found.formula(Fraction(1, 2))
    values = {form.value for form in found.forms}
    for _ in range(10):
        point = {"x": rng.uniform(-2, 2)}
        value = run(seed, point)
        assert value in values
        assert formula.holds(point) == (value >= Fraction(1, 2))
    for path in found.paths:
        if path.witness is not None:
            assert run(seed, path.witness) == path.value.value
