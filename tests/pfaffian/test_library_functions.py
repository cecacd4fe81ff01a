"""A parameter in every function of Python's numerical modules and of numpy: its answer, or refused.

The table is complete by construction: it has all that these modules list, called in every way of a
few that plain floats can be. What a traced parameter gives then is what the float gives, or an
error of certune; and what only looks the same, since it asks for types, is no result of tuning.
"""

import builtins
import cmath
import collections
import contextlib
import copy
import decimal
import fractions
import functools
import heapq
import inspect
import io
import itertools
import json
import math
import operator
import pickle
import random
import statistics
import string
import struct
import warnings
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

import certune as ct

POINTS = [0.25, 0.5, 1.0, 1.375, 2.5]
A = ct.Real("a", POINTS[0], POINTS[-1])
NUMBERS = np.array([0.0, 0.5, 1.0, 2.0])

# Files, the terminal, code as text, and the settings of a module; and names that are no functions.
LEFT_OUT = {
    builtins: {
        "__import__", "breakpoint", "compile", "copyright", "credits", "eval", "exec", "exit",
        "globals", "help", "id", "input", "license", "locals", "open", "print", "quit", "vars",
    },
    np: {
        "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt",
        "savez", "savez_compressed", "seterr", "seterrcall", "setbufsize", "set_printoptions",
        "show_config", "show_runtime", "info", "test", "get_include", "printoptions", "errstate",
        "empty", "empty_like", "ndarray", "getbufsize", "geterr", "geterrcall",
    },
    decimal: {"setcontext", "localcontext"},
    json: {"load", "dump"},
    operator: {"is_", "is_not"},  # whether two equal numbers are one object is an accident
    pickle: {"load", "dump"},
}  # fmt: skip
MODULES = [
    builtins, math, cmath, statistics, fractions, decimal, itertools, functools, operator, heapq,
    collections, copy, json, pickle, struct, np, np.linalg, np.fft, np.polynomial,
]  # fmt: skip


def functions_of(module):
    """All public functions and classes of a module, by name."""
    for name in sorted(getattr(module, "__all__", dir(module))):
        known = name.startswith("_") or name in LEFT_OUT.get(module, ())
        found = None if known else getattr(module, name, None)
        if callable(found) and not (
            inspect.isclass(found) and issubclass(found, (BaseException, Warning))
        ):
            yield name, found


def methods_of(make):
    """All public methods of an object that is made again for every call."""
    for name in sorted(dir(make())):
        is_method = callable(getattr(type(make()), name, None))
        if is_method and not name.startswith("_") and name not in {"tofile", "dump", "dumps"}:
            yield name, lambda *given, name=name: getattr(make(), name)(*given)


WAYS = {
    "f(a)": lambda f, a: f(a),
    "f(a, 0.5)": lambda f, a: f(a, 0.5),
    "f(0.5, a)": lambda f, a: f(0.5, a),
    "f(a, 2)": lambda f, a: f(a, 2),
    "f(a, a)": lambda f, a: f(a, a),
    "f(0.1, a, 2.0)": lambda f, a: f(0.1, a, 2.0),
    "f([a, 1.0, 0.5])": lambda f, a: f([a, 1.0, 0.5]),
    "f([a, 1.0, 0.5], 1)": lambda f, a: f([a, 1.0, 0.5], 1),
    "f([a, 1.0], [0.5, 2.0])": lambda f, a: f([a, 1.0], [0.5, 2.0]),
    "f([[a, 1.0], [0.0, 2.0]])": lambda f, a: f([[a, 1.0], [0.0, 2.0]]),
    "f(numbers, a)": lambda f, a: f(NUMBERS.copy(), a),
    "f(numbers, numbers * a)": lambda f, a: f(NUMBERS.copy(), NUMBERS * a),
    "f(a, numbers, numbers)": lambda f, a: f(a, NUMBERS.copy(), NUMBERS.copy()),
    "f(numbers > a)": lambda f, a: f(NUMBERS > a),
    "f(numbers > a, a, 2)": lambda f, a: f(NUMBERS > a, a, 2),
    "f(operator.add, [a, 1.0])": lambda f, a: f(operator.add, [a, 1.0]),
    "f('d', a)": lambda f, a: f("d", a),
    "f('%f', a)": lambda f, a: f("%.2f", a),
    "f(2, [a, 1.0])": lambda f, a: f(2, [a, 1.0]),
}
OWN = {
    "array": lambda a: array("d", [a])[0],
    "bisect_left": bisect_left, "insort": insort,
    "format": lambda *given: "{}".format(*given),  # noqa: UP030
    "x % a": operator.mod,
    "join": lambda *given: "".join(map(str, given)),
    "x[a]": lambda a: [1, 2, 3][a],
    "x[int(a)]": lambda a: [1, 2, 3][int(a)],
    "x[:a]": lambda a: [1, 2, 3][:a],
    "x[a > 1:]": lambda a: [1, 2, 3][a > 1 :],
    "x @ a": operator.matmul,
    "a complex": lambda a: (a + 1j).imag,
    "f-string": lambda a: f"{a:.3f}",
    "Template": lambda a: string.Template("$a").substitute(a=a),
}  # fmt: skip


def table():
    """All calls that have an answer on floats, with what that is at the points."""
    sources = [(module.__name__, functions_of(module)) for module in MODULES]
    sources += [
        ("random", methods_of(lambda: random.Random(0))),
        ("np.random", methods_of(lambda: np.random.default_rng(0))),
        ("np.ndarray", ((n, getattr(np.ndarray, n)) for n, _ in methods_of(lambda: NUMBERS))),
        ("own", OWN.items()),
    ]
    for place, functions in sources:
        for name, function in functions:
            yield f"{place}.{name}", function


TABLE = list(table())


def as_number(output, depth=0):
    """A number that tells most of what a function has returned, by arithmetic and comparisons."""
    if isinstance(output, (str, bytes, bytearray)):
        return len(output)
    if isinstance(output, np.ndarray):
        return as_number(output.ravel().tolist(), depth + 1)
    if isinstance(output, (np.generic, complex)):
        return as_number(output.item()) if isinstance(output, np.generic) else output.real
    if isinstance(output, (bool, int)) or hasattr(output, "is_integer"):
        return output
    if isinstance(output, dict):
        return as_number([*output.keys(), *output.values()], depth + 1)
    if isinstance(output, Iterable) and depth < 4:
        limited = itertools.islice(output, 12) if isinstance(output, Iterator) else output
        return sum((as_number(item, depth + 1) for item in limited), start=0)
    return 0


class Call:
    """A program that hands its parameter to a function."""

    def __init__(self, function, way):
        self.function, self.way = function, way

    def __call__(self, x, parameters):
        return as_number(WAYS[self.way](self.function, parameters["a"]))


def on_floats(program):
    """What Python gives at the points; an exception where it raises one, None for no number."""
    found = []
    for t in POINTS:
        try:
            value = float(program(0, {"a": t}))
            found.append(value if math.isfinite(value) else None)
        except Exception as error:
            found.append(error)
    return found


def difference(program, plain):
    """Say how a traced program differs from Python; None if it does not, or is refused."""
    family = ct.ProgramFamily(program, A, utility_range=(-(10**6), 10**6))
    try:
        pieces = family.pieces(0)
    except ct.CertuneError:
        return None
    except Exception as error:
        raised = any(type(own) is type(error) for own in plain)
        return None if raised else f"{type(error).__name__}: {error}"
    for t, own in zip(POINTS, plain, strict=True):
        if not isinstance(own, float):
            continue
        for piece in pieces:
            if piece.start <= t <= piece.stop:
                traced = piece.value.evaluate({"a": t})
                if abs(traced - own) > 1e-9 * max(1.0, abs(own)):
                    return f"at a = {t} it gives {traced!r}, and {own!r} on floats"
    return None


@pytest.mark.parametrize("name", sorted({name.rpartition(".")[0] for name, _ in TABLE}))
def test_what_a_library_does_with_a_parameter_is_what_it_does_with_a_float(name):
    wrong, n_answers = [], 0
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for place, function in TABLE:
            if place.rpartition(".")[0] != name:
                continue
            for way in WAYS:
                if function is np.append and way in ("f('d', a)", "f('%f', a)"):
                    continue  # numpy writes numbers out in an array of words, objects not
                program = Call(function, way)
                plain = on_floats(program)
                if not any(isinstance(own, float) for own in plain):
                    continue
                n_answers += 1
                found = difference(program, plain)
                if found is not None and not is_held_back(program):
                    wrong.append(f"{place} as {way}: {found}")
    assert n_answers and not wrong, "\n".join(wrong)


def is_held_back(program):
    """Is what differs no result of tuning?"""
    family = ct.ProgramFamily(program, A, utility_range=(-(10**6), 10**6), tolerance=1e-6)
    try:
        ct.tune(family, [0], progress=False)
    except ct.TuningError as error:
        return "on plain floats" in str(error)
    return False
