"""Functions of numpy in programs: they do what they do on floats, or refuse."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.pfaffian.programs.decisions import SymbolicValueError
from certune.testing import check_family

W = np.array([1.0, 2.0, 3.0])


def family_of(function):
    return ct.ProgramFamily(lambda _, parameters: function(parameters["a"]), ct.Real("a", 0, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.dot(W, W * a) >= 10,
        lambda a: W @ (W * a) >= 10,
        lambda a: np.einsum("i,i", W, W * a) > 3,
        lambda a: np.outer(W, W * a)[0, 1] > 3,
        lambda a: np.where(W * a > 2, 1, 0).sum() / 3,
        lambda a: np.where(W * a > 2, W * a, 0).sum() >= 4,
        lambda a: np.count_nonzero(W * a > 2) / 3,
        lambda a: np.exp(-W * a).sum() >= 1,
        lambda a: np.log(W * a + 1).mean() >= 1,
        lambda a: np.sqrt(W + a)[2] >= 2,
        lambda a: np.cumsum(W * a)[1] >= 1,
        lambda a: np.argmax(W * (a - 1)) / 3,
        lambda a: np.argsort(W * (a - 1))[0] / 3,
        lambda a: np.sort(W * (a - 1))[0] >= 0.5,
        lambda a: np.clip(a, 0, 1) >= 0.5,
        lambda a: np.minimum(W * a, 2).sum() >= 4,
        lambda a: np.float64(2) * a >= 1,
        lambda a: np.abs(W - a).min() <= 0.25,
        lambda a: np.array([[a, 1], [1, a]]).sum() >= 3,
    ],
)
def test_they_do_what_they_do_on_floats(function):
    dual = family_of(lambda a: float(function(a))).dual(None)
    assert len(dual.breakpoints)
    edges = dual.breakpoints.ravel()
    for t in (k / 37 for k in range(75)):
        if np.min(np.abs(edges - t)) > 1e-9:
            assert dual(t) == pytest.approx(float(function(t)), abs=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        np.sin,
        np.floor_divide.outer,
        lambda a: np.zeros(3).__setitem__(0, a),
        lambda a: np.add(a, 1, where=True),
        lambda a: np.asarray([a], dtype=float),
    ],
)
def test_they_refuse_clearly(function):
    with pytest.raises((SymbolicValueError, TypeError)):
        family_of(lambda a: 1 if function(a) is None else 0).dual(None)


ROWS = np.array([[3, -5, 0], [2, 1, 4], [-1, 5, 3], [5, 5, -3], [-2, 0, 1]])


def first_of_all(target, parameters):
    a = parameters["a"]
    scores = ROWS @ np.array([a, 1 - a, a**2])
    wins = (scores[:, None] - scores[None, :] > 0).sum(axis=1)
    return float(np.argmax(wins) == target)


def looks_at_types(instance, parameters):
    a = np.array([parameters["a"], 1.0])
    return 1 if a.dtype == object and a[0] > 0.5 else 0


def test_arrays_of_parameters_are_doubtful_close_to_a_tie():
    """numpy makes an array of parameters an array of floats without errors."""
    family = ct.ProgramFamily(first_of_all, ct.Real("a", -1, 1))
    targets = list(range(5))
    ct.testing.check_family(family, targets)
    result = ct.tune(family, targets, progress=False)
    assert ct.verify(result.certificate, family, targets).best_value == Fraction(1, 5)


def test_programs_of_arrays_that_look_at_types_are_still_found_out():
    family = ct.ProgramFamily(looks_at_types, ct.Real("a", 0, 1))
    with pytest.raises(AssertionError, match="plain floats"):
        ct.testing.check_family(family, [1, 2])


def chosen(_, parameters):
    return np.where(parameters["a"] > 1, 0.25, 0)


def test_an_array_of_one_number_is_a_number():
    family = ct.ProgramFamily(chosen, ct.Real("a", 0, 2))
    dual = family.dual(0)
    assert [float(value) for value in dual.values] == [0, 0.25]
    check_family(family, [0])


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda _, p: math.exp(p["a"]), "^the parameter a has no float value here; .*math$"),
        (lambda _, p: math.exp(p["a"] + 1), r"^a \+ 1 depends on a and has no float value here"),
        (lambda _, p: len({p["a"], 1}), "^the parameter a has no hash; keep it in a list"),
        (lambda _, p: f"{p['a']:.1f}", "^the parameter a has no digits; to look at it"),
    ],
)
def test_what_only_a_number_can_answer_is_refused_by_name(program, message):
    with pytest.raises(TypeError, match=message):
        ct.ProgramFamily(program, ct.Real("a", 0, 2)).dual(0)
