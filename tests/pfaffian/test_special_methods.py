"""A traced number is a float or refuses: every special method that floats and bools have.

The table is complete by construction: it is compared with what ``dir`` lists for float and bool,
and with the hooks of numpy. Every row is run on plain floats and traced along a line.
"""

import copy
import math
import operator
import pickle
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.errors import CertuneError
from certune.pfaffian import constant, exp, parameter, trace
from certune.pfaffian.expressions.plain import PlainFloat, PlainRun
from certune.pfaffian.programs.decisions import AT_A_POINT, deciding
from certune.pfaffian.programs.outcomes import Knowledge, outcomes_on_box
from certune.pfaffian.programs.sweep import sweep

LOW, HIGH = -2.0, 3.0
# Floats with few digits, so that plain arithmetic on them is exact.
POINTS = [-2.0, -1.75, -0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.625, 2.5, 3.0]

# What belongs to a class or to any object, and tells nothing of a number.
OF_OBJECTS = {
    "__class__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getstate__",
    "__init__", "__init_subclass__", "__new__", "__setattr__", "__sizeof__", "__subclasshook__",
}  # fmt: skip
OF_CLASSES = {"__getformat__", "__setformat__", "__getnewargs__", "from_bytes", "fromhex"}
OF_CLASSES |= {"from_number"}
NUMPY_HOOKS = {
    "__array__", "__array_ufunc__", "__array_function__", "__array_priority__",
    "__array_interface__", "__array_struct__", "__array_wrap__", "__array_finalize__",
}  # fmt: skip

SAME = {
    "__abs__": [lambda a: abs(a)],
    "__add__": [lambda a: a + 1.5, lambda a: a + True, lambda a: a + (a > 1)],
    "__and__": [lambda a: (a > 0) & (a < 1), lambda a: 3 & (a > 0)],
    "__bool__": [lambda a: 1 if a else 0, lambda a: not a, lambda a: a or 7, lambda a: a and 7],
    "__ceil__": [lambda a: math.ceil(a)],
    "__divmod__": [lambda a: sum(divmod(a, 0.75)), lambda a: divmod(a > 1, 2)[1]],
    "__eq__": [
        lambda a: a == 0.5,
        lambda a: (a > 0.5) == True,  # noqa: E712
        lambda a: 0.5 == a,  # noqa: SIM300
        lambda a: a in (1, 0.5),
        lambda a: [1, 0.25, 0.5].count(a),
        lambda a: a == 0.5 + 0j,
        lambda a: a == 0.5 + 1j,
        lambda a: a == "a",
        lambda a: a == None,  # noqa: E711
        lambda a: a == math.nan,
        lambda a: (a > 0) in [True],
        lambda a: {True: 3, False: 4}[a > 0],
        lambda a: len({a > 0, a > 1, 1}),
    ],
    "__floor__": [lambda a: math.floor(a)],
    "__floordiv__": [lambda a: a // 0.75, lambda a: (a > 1) // 1],
    "__format__": [lambda a: len(f"{a > 1}"), lambda a: len(f"{a > 1:d}")],
    "__float__": [lambda a: float(a > 1), lambda a: complex(a > 1).real],
    "__ge__": [lambda a: a >= 0.5, lambda a: a >= -math.inf, lambda a: a >= math.nan],
    "__gt__": [lambda a: a > 0.5, lambda a: 0.5 > a, lambda a: a > math.inf, lambda a: 2 > a > 0],
    "__hash__": [lambda a: hash(a > 1), lambda a: len({a > 0, a < 0})],
    "__index__": [lambda a: [5, 6][a > 1], lambda a: operator.index(a > 1), lambda a: "ab"[a > 1:]
                  == "b"],
    "__int__": [lambda a: int(a), lambda a: int(a > 1), lambda a: int(2 * a) + int(-a)],
    "__invert__": [lambda a: bool(~int(a > 1) + 2)],
    "__le__": [lambda a: a <= 0.5, lambda a: (a <= 0.5) <= (a <= 1)],
    "__lshift__": [lambda a: (a > 1) << 2],
    "__lt__": [lambda a: a < 0.5, lambda a: sorted([a, 1, 0.5])[1], lambda a: max(a, 1, -a)],
    "__mod__": [lambda a: a % 0.75, lambda a: -a % 0.75, lambda a: (a > 1) % 2],
    "__mul__": [lambda a: a * 2, lambda a: (a > 1) * a, lambda a: (a > 1) * (a < 2)],
    "__ne__": [lambda a: a != 0.5, lambda a: (a > 1) != (a > 0), lambda a: a != "a"],
    "__neg__": [lambda a: -a, lambda a: -(a > 1)],
    "__or__": [lambda a: (a > 1) | (a < 0), lambda a: (a > 1) | 2],
    "__pos__": [lambda a: +a, lambda a: +(a > 1)],
    "__pow__": [lambda a: a**2, lambda a: (a > 1) ** 2, lambda a: (a * a) ** 0.5],
    "__radd__": [lambda a: 1.5 + a, lambda a: sum([a, a]), lambda a: sum(a > k for k in range(3))],
    "__rand__": [lambda a: 1 & (a > 1)],
    "__rdivmod__": [lambda a: divmod(5, a * a + 1)[0]],
    "__reduce__": [lambda a: copy.copy(a) > 1, lambda a: copy.deepcopy([a, a > 1])[0]],
    "__reduce_ex__": [lambda a: pickle.loads(pickle.dumps(a)) > 1],
    "__repr__": [lambda a: len(repr(a > 1))],
    "__rfloordiv__": [lambda a: 5 // (a * a + 1)],
    "__rlshift__": [lambda a: 1 << (a > 1)],
    "__rmod__": [lambda a: 5 % (a * a + 1) > 1],
    "__rmul__": [lambda a: 2 * a, lambda a: [0] * (a > 1) == []],
    "__ror__": [lambda a: 2 | (a > 1)],
    "__round__": [lambda a: round(a), lambda a: round(a * 2), lambda a: round(a, 0),
                  lambda a: round(a, 1) == 0.2, lambda a: round(a / 4, 2) == 0.12],
    "__rpow__": [lambda a: 2**a > 1, lambda a: 2 ** (a > 1)],
    "__rrshift__": [lambda a: 4 >> (a > 1)],
    "__rshift__": [lambda a: (a > 1) >> 1],
    "__rsub__": [lambda a: 1.5 - a],
    "__rtruediv__": [lambda a: 1 / (1 + a * a) > 0.5],
    "__rxor__": [lambda a: 1 ^ (a > 1)],
    "__str__": [lambda a: len(str(a > 1))],
    "__sub__": [lambda a: a - 1.5, lambda a: (a > 1) - (a < 1)],
    "__truediv__": [lambda a: a / 2, lambda a: (a > 1) / 2],
    "__trunc__": [lambda a: math.trunc(a)],
    "__xor__": [lambda a: (a > 1) ^ (a > 0)],
    "as_integer_ratio": [lambda a: (a > 1).as_integer_ratio()[0]],
    "bit_count": [lambda a: (a > 1).bit_count()],
    "bit_length": [lambda a: (a > 1).bit_length()],
    "conjugate": [lambda a: a.conjugate()],
    "denominator": [lambda a: (a > 1).denominator],
    "imag": [lambda a: a.imag],
    "is_integer": [lambda a: a.is_integer()],
    "numerator": [lambda a: (a > 1).numerator],
    "real": [lambda a: a.real],
    "to_bytes": [lambda a: (a > 1).to_bytes(1, "big")[0]],
    "__array__": [lambda a: np.array([a, 1.0, 0.5]).max(), lambda a: np.sort([a, 1.0])[0]],
    "__array_ufunc__": [
        lambda a: np.float64(2) * a,
        lambda a: a / np.float64(2),
        lambda a: np.float64(0.5) <= a,
        lambda a: np.float64(0.5) == a,
        lambda a: (np.array([0.0, 0.5, 1.0]) >= a).sum(),
        lambda a: (a > np.array([0.0, 0.5, 1.0])).sum(),
        lambda a: np.array([1.0, 2.0]) @ np.array([a, 1.0]),
        lambda a: np.abs(a) + np.maximum(a, 0.5),
        lambda a: np.exp(np.array([a, -a])).sum() > 3,
        lambda a: np.sqrt(1 + a * a) > 1.5,
    ],
    "__array_function__": [lambda a: np.where(np.array([1.0, 2.0]) > a, 1, 0).sum()],
    "__array_priority__": [lambda a: (np.ones(2) * a)[0]],
    "__array_interface__": [lambda a: np.asarray([a > 1]).sum()],
    "__array_struct__": [lambda a: np.asarray([a > 1], dtype=float).sum()],
    "__array_wrap__": [lambda a: np.negative(a)],
    "__array_finalize__": [lambda a: np.zeros(2)[int(a > 1)]],
}  # fmt: skip

# What has no answer before the parameters have values.
REFUSED = {
    "__float__": [lambda a: math.exp(a), lambda a: float(a), lambda a: math.isclose(a, 1)],
    "__format__": [lambda a: len(f"{a:.3f}"), lambda a: len(f"{a}")],
    "__hash__": [lambda a: len({a, a}), lambda a: {0.5: 1}.get(a, 0), lambda a: hash(a) * 0],
    "__repr__": [lambda a: len(repr(a)), lambda a: len(repr([a]))],
    "__str__": [lambda a: len(str(a))],
    "as_integer_ratio": [lambda a: a.as_integer_ratio()[0]],
    "hex": [lambda a: len(a.hex())],
    "__array__": [lambda a: np.asarray(a, dtype=float).sum()],
    "__array_ufunc__": [lambda a: np.sin(a), lambda a: np.add(a, 1, out=np.zeros(1))],
}

# Floats have none of these either, and Python says so.
REFUSED_AS_BY_FLOATS = [
    lambda a: [1, 2][a],
    lambda a: range(a),
    lambda a: a & 1,
    lambda a: a << 1,
    lambda a: ~a,
    lambda a: [1] * a,
    lambda a: 1 in a,
    lambda a: list(a),
    lambda a: len(a),
    lambda a: a < "x",
    lambda a: a + "x",
    lambda a: a[0],
    lambda a: a > 1j,
    lambda a: pow(a, 2, 3),
]


def rows(table):
    return [
        pytest.param(row, id=f"{name}-{number}")
        for name, listed in table.items()
        for number, row in enumerate(listed)
    ]


def test_the_table_is_complete():
    expected = set(dir(float)) | set(dir(bool)) | NUMPY_HOOKS
    assert expected - OF_OBJECTS - OF_CLASSES == set(SAME) | set(REFUSED)


@pytest.mark.parametrize("row", rows(SAME))
def test_traced_numbers_do_what_floats_do(row):
    found = sweep(row, "a", LOW, HIGH)
    for t in POINTS:
        (piece,) = [piece for piece in found.pieces if piece.start <= t <= piece.stop][:1] or [None]
        plain = Fraction(float(row(t)))
        if piece is None:
            between = zip(found.pieces, found.gaps, found.pieces[1:], strict=False)
            (values,) = [gap for left, gap, right in between if left.stop < t < right.start]
            assert plain in [value.substitute({"a": Fraction(t)}).value for value in values]
        else:
            assert piece.value.substitute({"a": Fraction(t)}).value == plain, t
        with deciding(AT_A_POINT):
            assert row(constant(t)) == plain, t
        run = PlainRun()
        assert row(PlainFloat(t, 0.0, run)) == plain


@pytest.mark.parametrize("row", rows(REFUSED))
def test_what_parameters_cannot_answer_is_refused(row):
    with pytest.raises(CertuneError):
        sweep(row, "a", LOW, HIGH)
    with pytest.raises(CertuneError):
        trace(lambda _, p: row(p["a"]), None, {"a": (LOW, HIGH)})


@pytest.mark.parametrize("row", REFUSED_AS_BY_FLOATS)
def test_what_floats_refuse_is_refused(row):
    for value in (0.5, constant(0.5)):
        with deciding(AT_A_POINT), pytest.raises((TypeError, AttributeError)):
            row(value)
    with pytest.raises((TypeError, AttributeError)):
        sweep(row, "a", LOW, HIGH)


@pytest.mark.parametrize("compare", [getattr(operator, n) for n in "lt le gt ge eq ne".split()])
def test_comparisons_are_bools_whoever_decides(compare):
    seen = []

    def program(_, parameters):
        seen.extend([compare(parameters["a"], 0.5), compare(0.5, parameters["a"])])
        seen.append(compare(exp(parameters["a"]), parameters["a"]))
        return 1

    sweep(lambda a: program(None, {"a": a}), "a", 0.0, 1.0)
    trace(program, None, {"a": (0, 1)})
    run = lambda: program(None, {"a": parameter("a")})  # noqa: E731
    outcomes_on_box(run, {"a": (0.0, 1.0)}, Knowledge(), 8)
    family = ct.ProgramFamily(program, ct.Real("a", 0, 1))
    family.run(None, 0.25)
    family.run_plain(None, 0.25)
    assert len(seen) >= 15 and {type(answer) for answer in seen} == {bool}


def test_numbers_print_and_hash_as_floats_in_a_run():
    with deciding(AT_A_POINT):
        half = constant(0.5)
        assert (str(half), repr(half), f"{half}", f"{half:.3f}") == ("0.5", "0.5", "0.5", "0.500")
        assert {0.5: 1}[half] == 1 and half in {0.5} and hash(half) == hash(0.5)
        assert half.as_integer_ratio() == (1, 2) and half.hex() == (0.5).hex()
        assert f"{exp(1):.3f}" == "2.718"


def test_formulas_outside_of_programs_print_and_hash():
    a = parameter("a")
    assert (str(a + 1), repr(a + 1), f"{a + 1:>6}") == ("a + 1", "Expression(a + 1)", " a + 1")
    assert {a: 1}[parameter("a")] == 1
