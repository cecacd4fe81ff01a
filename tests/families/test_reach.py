"""Fingerprints of functions see everything that a function can reach, and survive Python."""

import functools
import importlib.util
import os
import subprocess
import sys
import threading
from collections import ChainMap, defaultdict, namedtuple
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.families.content import content_hash
from certune.families.linkage.utility import Utility
from certune.families.reach import reach
from certune.testing import StepFamily, StepInstance

# A user's module with what Python compiles differently from release to release: comprehensions,
# formatted strings, two lambdas in a line, generated methods, closures, sets, imports inside.
MODULE = '''
"""A module."""
import enum
import functools
import math
from collections import namedtuple
from dataclasses import dataclass, field

WEIGHT = 3.5
NAMES = {"b", "a", "c"}
TABLE = {"x": [1, 2.5], "y": (None, True)}
Point = namedtuple("Point", "x y", defaults=(2,))


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


@dataclass(frozen=True)
class Scale:
    """Documented."""

    factor: float = 2.0
    parts: list = field(default_factory=list)

    def of(self, x):
        return self.factor * x


class Base:
    offset = 1

    @property
    def twice(self):
        return 2 * self.offset


class Program(Base):
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x, p):
        return self.scale.of(x) + self.twice + super().offset


def power(exponent):
    def program(x, p, *, shift=10**30):
        return x**exponent + p["a"] + shift
    return program


def program(x, p):
    """Say what it does."""
    # and how
    import string
    if f"{x!r:>{3}} and {p=}" in {"q", "r"} or x in NAMES:
        return [name for name in string.digits if name != WEIGHT]
    return sum(helper(i) for i in range(3)) + Colour.RED.value + Point(1).x + TABLE["x"][0]


@functools.lru_cache
def helper(i):
    match i:
        case 0:
            return math.pi
        case _ if (n := i) > 1:
            return n
    return helper(i - 1)


class_program = Program(Scale(0.5))
pair = (lambda x, p: x + 1), (lambda x, p: x + 2)
partial = functools.partial(power(2), p={"a": 1})
'''
GOLDEN = {
    "program": "63d65a9c3191da92",
    "power": "073c541ca02a782a",
    "helper": "8661bcc0d46243a9",
    "class_program": "12f53084f0468c2f",
    "Scale": "fb471f1c86eff007",
    "partial": "7512877284bf6882",
}


def module(tmp_path, text=MODULE, name="a_users_module"):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def test_hashes_are_the_same_in_every_python(tmp_path):
    """The values were computed with Python 3.11 and 3.13, that of ``program`` with 3.11 alone."""
    made = module(tmp_path)
    assert {name: reach(getattr(made, name)).digest[:16] for name in GOLDEN} == GOLDEN
    assert not any(reach(getattr(made, name)).doubts for name in GOLDEN)


def test_lambdas_of_a_line_are_told_apart(tmp_path):
    first, second = module(tmp_path).pair
    assert reach(first).digest != reach(second).digest


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("program", "WEIGHT = 3.5", "WEIGHT = 3.25"),  # global
        ("program", '{"b", "a", "c"}', '{"b", "a", "d"}'),  # set
        ("program", '{"q", "r"}', '{"q", "s"}'),  # set among the constants
        ("program", "Colour.RED.value", "Colour.RED.name"),  # attribute
        ("program", "RED = 1", "RED = 2"),  # attribute of a class
        ("program", "defaults=(2,)", "defaults=(3,)"),  # named tuple
        ("program", '"x": [1, 2.5]', '"x": [1, 2.75]'),  # nested data
        ("program", "math.pi", "math.e"),  # attribute of a module, in another function
        ("program", "import string", "import token as string"),  # import inside
        ("program", "return n\n", "return -n\n"),  # function that is called
        ("class_program", "Scale(0.5)", "Scale(0.25)"),  # state of an object
        ("class_program", "offset = 1", "offset = 3"),  # base class
        ("class_program", "2 * self.offset", "3 * self.offset"),  # property
        ("class_program", "self.factor * x", "self.factor / x"),  # method of another class
        ("partial", "power(2)", "power(3)"),  # closure
        ("partial", '{"a": 1}', '{"a": 2}'),  # bound argument
        ("partial", "10**30", "10**31"),  # default
    ],
)
def test_everything_that_is_reached_counts(tmp_path, name, old, new):
    assert MODULE.count(old) == 1
    before = reach(getattr(module(tmp_path), name))
    changed = module(tmp_path, MODULE.replace(old, new), "another_module")
    after = reach(getattr(changed, name))
    assert not before.doubts and not after.doubts and before.digest != after.digest


METACLASS = """
class Limits(type):
    @property
    def limit(cls):
        return 0.25

class Plan(metaclass=Limits):
    pass

def program(instance, parameters):
    return int(parameters["a"] > Plan.limit)
"""


def test_the_class_of_a_class_counts(tmp_path):
    before = reach(module(tmp_path, METACLASS, "one").program)
    after = reach(module(tmp_path, METACLASS.replace("0.25", "0.5"), "two").program)
    assert not before.doubts and before.digest != after.digest


def test_what_does_nothing_does_not_count(tmp_path):
    before = reach(module(tmp_path).program).digest
    text = MODULE.replace("# and how", "# and why").replace('"""Say what it does."""', "")
    text = text.replace("TABLE = {", "UNUSED = 1\n\nTABLE  =  {")
    assert reach(module(tmp_path, text, "other").program).digest == before


def test_a_global_counts_with_its_value_now(tmp_path):
    made = module(tmp_path)
    before = reach(made.program).digest
    made.WEIGHT = 4.0
    assert reach(made.program).digest != before
    made.WEIGHT = 3.5
    assert reach(made.program).digest == before


def test_a_file_that_was_edited_after_its_import_is_no_source(tmp_path):
    made = module(tmp_path)
    before = reach(made.program)
    path = tmp_path / "a_users_module.py"
    path.write_text(MODULE.replace("range(3)", "range(40)"))
    edited = reach(made.program)
    assert edited.digest != before.digest and not edited.doubts
    assert edited == reach(made.program)
    assert reach(module(tmp_path, path.read_text(), "edited").program).digest != edited.digest


def test_modules_of_the_user_count_by_what_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    inner = "def value(x):\n    return x + {}\n"
    outer = "import inner_{0} as inner\n\ndef program(x, p):\n    return inner.value(x)\n"
    prints = set()
    for number in (1, 2):
        (tmp_path / f"inner_{number}.py").write_text(inner.format(number))
        prints.add(reach(module(tmp_path, outer.format(number), f"outer_{number}").program).digest)
    assert len(prints) == 2


def test_functions_without_a_source_count_by_their_code():
    spaces = [{}, {}, {}]
    for space, number in zip(spaces, (1, 1, 2), strict=True):
        exec(f"def f(x, p):\n    return x in {{{number}, 5}}", space)
    first, again, other = (reach(space["f"]) for space in spaces)
    assert first == again and first.digest != other.digest and not first.doubts


def test_hashes_do_not_depend_on_the_seed_of_hashes(tmp_path):
    (tmp_path / "seeded.py").write_text(MODULE)
    code = "import seeded; from certune.families.reach import reach; print(reach(seeded.program))"
    path = [str(tmp_path), *sys.path]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


LOCK = threading.Lock()
LEVEL = [0.5]


def locked(x, p):
    with LOCK:
        return 1 if p["a"] >= x else 0


def level(x, p):
    return 1 if p["a"] >= LEVEL[0] else 0


def test_what_cannot_be_told_is_named():
    found = reach(locked)
    assert found == reach(locked)
    assert found.doubts == ("the global name 'LOCK' of locked is or holds a _thread.lock",)

    def nested():
        return endless

    endless = []
    endless.append(endless)
    assert not reach(nested).doubts
    deep = None
    for _ in range(200):
        deep = (deep,)
    (doubt,) = reach(lambda: deep).doubts
    assert "the variable 'deep' around" in doubt
    (doubt,) = reach(np.frompyfunc(lambda x, p: 1, 2, 1)).doubts
    assert "ufunc" in doubt


def test_objects_count_by_what_pickle_would_keep():
    @dataclass
    class Marked:
        fingerprint: str

    values = [np.exp, np.log, Fraction(1, 3), np.random.default_rng(0), functools.partial(max, 1)]
    values += [np.random.default_rng(1), Marked("a"), Marked("b"), {1, 2}, frozenset("ab")]
    found = [reach(lambda value=value: value) for value in values]
    assert len({item.digest for item in found}) == len(values)
    assert not any(item.doubts for item in found)


def test_evidence_of_another_utility_is_refused():
    """The utility that held-out instances were evaluated with reaches a global that changed."""
    family = ct.ProgramFamily(level, ct.Real("a", 0, 1))
    result = ct.tune(family, [1, 2, 3])
    evaluation = result.evaluate([4, 5])
    assert result.guarantee(held_out=evaluation)
    LEVEL[0] = 0.9
    try:
        with pytest.raises(ct.InputError, match="another family .* or with another value"):
            result.guarantee(held_out=evaluation)
    finally:
        LEVEL[0] = 0.5
    cloudy = ct.ProgramFamily(locked, ct.Real("a", 0, 1))
    result = ct.tune(cloudy, [0.25, 0.5])
    with pytest.raises(ct.InputError, match="cannot be told: the global name 'LOCK' of locked"):
        result.guarantee(held_out=result.evaluate([0.75]))
    assert result.guarantee(held_out=[0.75])


def test_a_utility_of_linkage_counts_with_its_closure_and_range():
    def made(weight):
        return lambda target, labels: weight * float((target == labels).mean())

    utilities = [made(0.5), made(0.25), Utility("<lambda>", made(0.5), high=Fraction(2))]
    families = [ct.Linkage(utility=utility) for utility in utilities]
    assert len({family.fingerprint for family in families}) == 3
    assert ct.Linkage(utility=made(0.5)).fingerprint == families[0].fingerprint


def test_a_state_is_not_continued_by_another_program(tmp_path):
    def program_of(threshold):
        return lambda x, p: 1 if p["a"] >= threshold * x else 0

    space, path = ct.Real("a", 0, 1), tmp_path / "state"
    first = ct.OnlineTuner(ct.ProgramFamily(program_of(0.5), space), 5, 0, state=path)
    first.update(1.0)
    first.close()
    again = ct.OnlineTuner(ct.ProgramFamily(program_of(0.5), space), 5, 0, state=path)
    assert again.n_rounds == 1
    again.close()
    with pytest.raises(ct.InputError, match="its family differs"):
        ct.OnlineTuner(ct.ProgramFamily(program_of(0.75), space), 5, 0, state=path)
    with pytest.raises(ct.InputError, match="a state cannot be kept.*LOCK"):
        ct.OnlineTuner(ct.ProgramFamily(locked, space), 5, 0, state=tmp_path / "other")


def test_a_state_knows_its_surrogate(tmp_path):
    def surrogate_of(shift):
        return lambda instance, values: np.clip(values - shift, 0, 1)

    def opened(surrogate):
        return ct.OnlineTuner(
            StepFamily(), 16, 0, learner="random-grid", surrogate=surrogate, state=tmp_path / "s"
        )

    first = opened(surrogate_of(0.0))
    first.update(StepInstance((0.5,), (0, 1)))
    first.close()
    opened(surrogate_of(0.0)).close()
    with pytest.raises(ct.InputError, match="made with another surrogate"):
        opened(surrogate_of(0.25))
    with pytest.raises(ct.InputError, match="made with a surrogate"):
        opened(None)


def _columns(*names):
    return np.array([(1, 2)], dtype=[(name, "i4") for name in names])


class Ring:
    """Data that has no fingerprint of content."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({1: "a", "b": 2}, {1: "a", "b": 3}),
        ({1, 2}, {1, 3}),
        (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
        ([10**5000], [10**5000 + 1]),
        ([Fraction(1, 10**5000)], [Fraction(1, 10**5000 + 1)]),
        (("ab", "c"), ("a", "bc")),
        (0.0, -0.0),
        (np.float32(0.5), np.float64(0.5)),
        (np.ones((2, 2)), np.ones((2, 2)).view(np.matrix)),
        (_columns("value", "weight"), _columns("weight", "value")),
        (namedtuple("Item", "value weight")(1, 2), namedtuple("Item", "weight value")(1, 2)),
    ],
)
def test_content_is_seen(one, other):
    assert content_hash(one) == content_hash(one) != content_hash(other)


def test_content_without_a_fingerprint_is_refused():
    endless = []
    endless.append(endless)
    for value in (endless, Ring(), [Ring()], {"a": Ring()}, {Ring()}, np.array([Ring()])):
        with pytest.raises(ct.InputError, match="has no fingerprint"):
            content_hash(value)


def test_content_is_the_same_after_a_computation():
    assert content_hash(np.float64(0.5)) == content_hash(0.5)
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})


class _Row(tuple):
    """Data with more than its content."""

    weight = 0.0


@dataclass
class _Step:
    at: float = 0.5

    def __call__(self, instance, parameters):
        return int(parameters["a"] > self.at + getattr(self, "shift", 0))


class _Guarded:
    """An object whose attributes are looked up in a table."""

    def __init__(self, table):
        self.table = table

    def __getattr__(self, name):
        return self.__dict__["table"][name]


def _with(value, name, attribute):
    setattr(value, name, attribute)
    return value


def _dispatching(function):
    @functools.singledispatch
    def program(instance, parameters):
        return 0

    program.register(int)(function)
    return program


def _over(value):
    def program(instance, parameters):
        return int(parameters["a"] > value[0])

    return program


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_over(_with(_Row((1, 2)), "weight", 1)), _over(_with(_Row((1, 2)), "weight", 2))),
        (_over(defaultdict(lambda: 1)), _over(defaultdict(lambda: 2))),
        (_over({1: 1, 2: 2}), _over({2: 2, 1: 1})),
        (_with(_Step(), "shift", 1), _with(_Step(), "shift", 2)),
        (_over(_Guarded({"x": 1})), _over(_Guarded({"x": 2}))),
        (_over(np.ma.array([1, 2], mask=[0, 1])), _over(np.ma.array([1, 2], mask=[1, 0]))),
        (_over(ChainMap({0: 1}, {0: 2})), _over(ChainMap({0: 1}, {0: 3}))),
        (_dispatching(_over([1])), _dispatching(_over([2]))),
    ],
    ids=["subclass", "factory", "order", "attribute", "guarded", "mask", "chain", "dispatch"],
)
def test_what_data_have_beside_their_content_counts(one, other):
    assert not reach(one).doubts
    assert reach(one).digest == reach(one).digest != reach(other).digest


def _by_name(instance, parameters):
    return int(parameters["a"] > globals()["LIMIT"])


def _by_environment(instance, parameters):
    return int(parameters["a"] > float(os.environ["LIMIT"]))


def _by_file(instance, parameters):
    with open("limit") as file:
        return int(parameters["a"] > float(file.read()))


def _by_modules(instance, parameters):
    return int(parameters["a"] > sys.modules[__name__].LIMIT)


def _by_module(instance, parameters):
    return int(parameters["a"] > importlib.import_module("limits").LIMIT)


def _by_function(instance, parameters):
    return int(parameters["a"] > _by_name.__globals__["LIMIT"])


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (_by_name, "globals"),
        (_by_environment, "environ"),
        (_by_file, "open"),
        (_by_modules, "'sys'"),
        (_by_module, "import_module"),
        (_by_function, "__globals__"),
    ],
)
def test_what_comes_from_outside_of_the_code_is_a_doubt(program, name):
    assert name in reach(program).doubts[0]
