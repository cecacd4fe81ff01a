"""What a program family states is what Python gives: values of comparisons, domains, quotients."""

import importlib.util
import math
import operator
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import permutations
from pathlib import Path

import mpmath
import numpy as np
import pytest

import certune as ct
from certune.pfaffian import exp, log, program, sqrt
from certune.pfaffian.programs.decisions import SymbolicValueError
from certune.testing import check_family

A = ct.Real("a", -1, 1)


def tuned(program, instances=(0.5,), **options):
    family = ct.ProgramFamily(program, A, **options)
    result = ct.tune(family, instances)
    ct.verify(result.certificate, family, instances)
    check_family(family, instances)
    return result


@dataclass(frozen=True)
class Rounded:
    """A program that asks for a decimal fraction, as `round` returns it."""

    digits: int

    def __call__(self, x, parameters):
        return 1 if round(parameters["a"], self.digits) == 0.3 else 0


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rounded_parameters_equal_the_decimal_floats_they_are_rounded_to(digits):
    result = tuned(Rounded(digits))
    assert (result.status, result.best_value) == (ct.Status.OPTIMAL, 1.0)
    ends = (0.3 - 10.0**-digits / 2, 0.3 + 10.0**-digits / 2)
    assert result.best_region[0] == pytest.approx(ends)


def absolute_tenths(x, parameters):
    return abs(round(parameters["a"] * x, 1))


def test_rounded_utilities_are_known_exactly():
    result = tuned(absolute_tenths, instances=(0.125, 0.25, 0.375))
    assert result.landscape.max_exact == Fraction(1 + 2 + 4, 30)


COMPARISONS_AS_VALUES = [
    lambda x, p: 1 if (p["a"] > x) == True else 0,  # noqa: E712
    lambda x, p: 1 if (p["a"] > x) != False else 0,  # noqa: E712
    lambda x, p: 1 if (p["a"] > x) in (True, 2) else 0,
    lambda x, p: {True: 1, False: 0}[p["a"] > x],
    lambda x, p: len({p["a"] > x, False}) - 1,
    lambda x, p: (p["a"] > x) * 1,
    lambda x, p: int(p["a"] > x),
    lambda x, p: [0, 1][p["a"] > x],
    lambda x, p: sorted([0, 1], key=lambda k: k * (p["a"] > x))[1] * (p["a"] > x),
    lambda x, p: max([0, 1], key=lambda k: k * (p["a"] > x)),
    lambda x, p: 1 if (kept := p["a"] > x and p["a"] > -x) and kept is True else 0,
    lambda x, p: f"{p['a'] > x}".count("True"),
]


@dataclass(frozen=True)
class Listed:
    """One of the programs above, which as a lambda could not be pickled."""

    number: int

    def __call__(self, x, parameters):
        return COMPARISONS_AS_VALUES[self.number](x, parameters)


@pytest.mark.parametrize("number", range(len(COMPARISONS_AS_VALUES)))
def test_a_comparison_is_a_value_as_in_python(number):
    result = tuned(Listed(number))
    assert result.status is ct.Status.OPTIMAL and result.best_value == 1.0
    assert result.best_region == [(math.nextafter(0.5, 1), 1.0)]


def looks_at_types(x, parameters):
    return 1 if isinstance(parameters["a"], float) else 0


def asks_an_array(x, parameters):
    return 1 if np.array([parameters["a"]]).dtype == float else 0


def catches_what_numpy_raises(x, parameters):
    try:
        median = np.quantile([parameters["a"], 0.5], 0.5)
    except Exception:
        return 0
    return 1 if median >= -1 else 0


PLANE = ct.ParameterSpace((A, ct.Real("b", 0, 1)))


@pytest.mark.parametrize("space", [A, PLANE], ids=["line", "plane"])
@pytest.mark.parametrize(
    "program", [looks_at_types, asks_an_array, catches_what_numpy_raises], ids=lambda f: f.__name__
)
def test_what_tracing_cannot_see_is_neither_optimal_nor_verified(program, space, monkeypatch):
    """The second path, on plain floats, finds what depends on the type of the parameter."""
    family = ct.ProgramFamily(program, space)
    with pytest.raises(
        ct.TuningError, match=r"gives 0\.0 traced, and 1\.0 on plain floats"
    ) as held:
        ct.tune(family, [0])
    if space is PLANE:
        assert held.value.result.status is ct.Status.FAILED
    monkeypatch.setattr(ct.ProgramFamily, "check_on_floats", lambda *_: None)
    result = ct.tune(family, [0])
    with pytest.raises(ct.CertificateError, match=r"on plain floats the program gives 1\.0"):
        ct.verify(result.certificate, family, [0])
    if space is A:
        with pytest.raises(AssertionError, match="plain floats"):
            check_family(family, [0])


def cancelling(x, parameters):
    """Exactly equal everywhere, which floats nearly always deny."""
    a = parameters["a"]
    return 1 if (a + 0.1) - 0.1 == a and a / 3 * 3 == a else 0


def test_rounding_is_no_alarm():
    assert tuned(cancelling).best_value == 1.0


@pytest.mark.parametrize(
    ("program", "place"),
    [
        (lambda x, p: sqrt(p["a"]) * sqrt(p["a"]), r"a from -1.0 to .*: a square root"),
        (lambda x, p: exp(log(p["a"])), r"a from -1.0 to .*: log needs"),
        (lambda x, p: 0 * log(p["a"]), r"a from -1.0 to .*: log needs"),
        (lambda x, p: p["a"] ** 0.3, r"a from -1.0 to .*needs a base >= 0"),
        (lambda x, p: 1 / (p["a"] + 1) > 0, r"a = -1.0: 1 is divided by 0"),
        (lambda x, p: 1 / (p["a"] - p["a"]), r"a from -1.0 to 1.0: .* divided by 0"),
        (lambda x, p: 1 / (p["a"] > 2), r"a from -1.0 to 1.0: division by zero"),
        (lambda x, p: 1 / (p["a"] < 1) - 0.5, r"a = 1.0: division by zero"),
        (lambda x, p: (p["a"] - 1) ** -1 > 0, r"a = 1.0: 0 has no power -1"),
        (lambda x, p: 1 / (exp(2 * p["a"]) - exp(p["a"]) ** 2), r"a from -1.0 to 1.0: .*is 0"),
    ],
)
def test_a_range_with_points_without_a_value_is_refused_by_name(program, place):
    for tolerance in (0, 1e-9):
        family = ct.ProgramFamily(program, A, tolerance=tolerance)
        with pytest.raises(ct.TuningError, match=place):
            ct.tune(family, [0.5])


@pytest.mark.parametrize(
    ("program", "value"),
    [(lambda x, p: p["a"] / p["a"], 1), (lambda x, p: 1 - 0 / p["a"], 1)],
)
def test_one_point_without_a_value_is_no_point_of_the_domain(program, value):
    family = ct.ProgramFamily(program, A)
    dual = family.dual(0)
    assert math.isnan(dual(0.0)) and dual(5e-324) == dual(-5e-324) == value
    with pytest.raises(ct.InputError, match=r"no value at a = 0\.0: .* divided by 0"):
        family.run(0, 0.0)
    result = ct.tune(family, [0])
    assert result.status is ct.Status.OPTIMAL and result.best_value == value


def test_on_boxes_points_without_a_value_are_left_out():
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))

    def steep(x, p):
        return 1 if 1 / (p["a"] - p["b"] - x) > 2 else 0

    family = ct.ProgramFamily(steep, space)
    result = ct.tune(family, [Fraction(1, 3)])
    assert result.status is ct.Status.OPTIMAL and result.best_value == 1
    with pytest.raises(ct.TuningError, match=r"no value at a = 0\.5, b = 0\.5: 1 is divided by 0"):
        ct.tune(family, [0])
    undefined = ct.ProgramFamily(lambda _, p: log(p["a"] - 2 - p["b"]) > 0, space)
    with pytest.raises(ct.InputError, match=r"no value for a from .* and b from .*log needs"):
        undefined.bound_on_box(0, undefined.strata()[0])


def test_a_program_can_catch_what_python_raises():
    def guarded(x, p):
        try:
            return 1 if 1 / (p["a"] - x) > 3 else 0
        except ZeroDivisionError:
            return Fraction(1, 2)

    dual = ct.ProgramFamily(guarded, A).dual(0.25)
    assert (dual(0.25), dual(0.0), dual(0.5), dual(1.0)) == (0.5, 0.0, 1.0, 0.0)


def meets(x, parameters):
    return 1 if parameters["a"] == x else 0


@pytest.mark.parametrize("place", [0.3, 0.5, 1 / 3, -0.7])
def test_an_optimum_at_one_float_is_found(place):
    result = tuned(meets, (place,))
    assert result.status is ct.Status.OPTIMAL
    assert result.best_params == {"a": place} and result.best_value == 1.0


def test_an_optimum_between_floats_is_bounded():
    family = ct.ProgramFamily(meets, A)
    result = ct.tune(family, [Fraction(1, 3)])
    assert (result.best_value, result.upper_bound) == (0.0, 1.0)


def accuracy(points, parameters):
    return sum((parameters["a"] >= t) == label for t, label in points) / len(points)


def test_quotients_of_whole_numbers_are_exact():
    """1/10 + 2/10 and 3/10 + 0 are one mean, of which floats make two."""

    def share(counts, p):
        return counts[math.floor(2 * p["a"] + 0.5)] / 10

    family = ct.ProgramFamily(share, ct.Real("a", 0, 1))
    result = ct.tune(family, [(1, 0, 3), (2, 1, 0)])
    assert result.best_value_exact == Fraction(3, 20)
    assert result.best_region == [(0.0, math.nextafter(0.25, 0)), (0.75, 1.0)]
    points = tuple((k / 7, k % 2 == 0) for k in range(1, 7))
    family = ct.ProgramFamily(accuracy, ct.Real("a", 0, 1))
    assert family.dual(points).denominator in (1, 2, 3, 6)
    for t in np.linspace(0, 1, 50).tolist():
        assert family.run_exact(points, t) == Fraction(
            accuracy(points, {"a": t})
        ).limit_denominator(6)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (1 / 3, Fraction(1, 3)),
        (0.1 + 0.2, Fraction(3, 10)),
        (sum([1 / 7] * 5), Fraction(5, 7)),
        (0.5, Fraction(1, 2)),
        (2.0**-60, Fraction(2.0**-60)),
        (math.pi / 4, Fraction(math.pi / 4)),
        (math.sqrt(0.5), Fraction(math.sqrt(0.5))),
        (1e-300, Fraction(1e-300)),
        (99999 / 100000, Fraction(99999, 100000)),
    ],
)
def test_floats_that_are_quotients(value, exact):
    assert ct.ProgramFamily(lambda x, p: value, A).run_exact(0, 0.5) == exact


def test_plateaus_that_differ_by_rounding_are_reported():
    weights = [math.sin(k) ** 2 / 5 for k in range(1, 6)]
    # sum() of Python 3.12 compensates for roundings, additions one by one do not.
    totals = {reduce(operator.add, order) for order in permutations(weights)}
    assert len(totals) > 1

    def weighted(levels, p):
        return levels[math.floor(2 * p["a"] + 0.5)]

    family = ct.ProgramFamily(weighted, ct.Real("a", 0, 1))
    result = ct.tune(family, [(min(totals), 0.5, max(totals))])
    assert result.best_region == [(0.75, 1.0)]
    assert result.near_best_region == [(0.0, math.nextafter(0.25, 0)), (0.75, 1.0)]
    assert "best up to rounding" in str(result)


def catches_a_refusal(x, parameters):
    try:
        value = math.exp(parameters["a"])
    except TypeError:
        return 1
    return 1 if value > x else 0


def catches_any_exception(x, parameters):
    """Near x the sweep has to look again, which is no exception of the program."""
    a = parameters["a"]
    try:
        return 1 if (a - x) ** 2 * exp(a) > 0 and exp(a) >= exp(x) else 0
    except Exception:
        return 0.5


def test_a_program_cannot_catch_what_it_is_refused():
    """It would go another way than on numbers."""
    family = ct.ProgramFamily(catches_a_refusal, A)
    with pytest.raises(SymbolicValueError, match="the parameter a has no float value"):
        family.dual(0.5)
    for x in (0.3, 0.0, 0.7):
        dual = ct.ProgramFamily(catches_any_exception, A).dual(x)
        assert dual.values.tolist() == [0.0, 1.0]
        assert dual.breakpoints[0].tolist() == pytest.approx([x, x])


def impossible_branch(x, parameters):
    a, b = parameters["a"], parameters["b"]
    above, below = 4 * a * b > 1, a * b <= 0.25
    if above and below:
        raise RuntimeError("never")
    return 1 if above else 0


def test_a_branch_that_nobody_takes_may_raise_anything():
    family = ct.ProgramFamily(impossible_branch, PLANE)
    result = ct.tune(family, [0])
    assert (result.status, result.best_value) == (ct.Status.OPTIMAL, 1.0)
    line = ct.Segment({"a": 0.1, "b": 0.0}, {"a": 0.9, "b": 1.0})
    assert family.dual(0, line).max() == 1.0


@program
def decorated(x, parameters):
    return 1 if parameters["a"] / 3 * 3 >= x else 0


def test_decorated_programs_are_families_too():
    result = tuned(decorated)
    assert result.best_region == [(0.5, 1.0)] and decorated(0.5, {"a": 0.75}) == 1
    family = ct.ProgramFamily(decorated, A)
    assert family.run_plain(0.5, 0.75) == (1.0, pytest.approx(0, abs=1e-15))
    assert family.run_plain(0.3, 0.3) is None  # a tie, up to rounding


def test_a_wrong_name_of_a_parameter_is_said():
    def misnamed(x, p):
        return 1 if p["b"] > x else 0

    for space in (A, ct.ParameterSpace((A, ct.Real("c", 0, 1)))):
        family = ct.ProgramFamily(misnamed, space)
        with pytest.raises(ct.TuningError, match="asks for the parameter 'b', .* named 'a'"):
            ct.tune(family, [0.5])
    assert ct.ProgramFamily(lambda x, p: p.get("b", 1), A).run(0, 0.5) == 1.0


def fuzz():
    path = Path(__file__).parents[2] / "benchmarks" / "program_fuzz.py"
    spec = importlib.util.spec_from_file_location("program_fuzz", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["program_fuzz"] = module
    spec.loader.exec_module(module)
    return module


def test_random_programs_agree_with_python():
    tally = fuzz().run(seed=20, n_points=1000)
    assert not tally.different, tally.different[0]
    assert tally.counts["floats agree"] > 500


def iterated(x, parameters):
    """Exact values double their length with every step."""
    value = parameters["a"]
    for _ in range(60):
        value = value * value - 0.5
    return 1 if value > x else 0


def high_power(x, parameters):
    return 1 if parameters["a"] ** 10**7 > x else 0


def test_numbers_of_a_program_do_not_grow_without_end():
    mpmath.mp.prec, before = 400, mpmath.mp.prec
    value = mpmath.mpf(0.3)
    for _ in range(60):
        value = value * value - 0.5
    power = mpmath.mpf(0.9999999) ** 10**7
    mpmath.mp.prec = before
    for plain, a, expected in ((iterated, 0.3, value), (high_power, 0.9999999, power)):
        family = ct.ProgramFamily(plain, A)
        for threshold in (float(expected) * 0.999, float(expected) * 1.001):
            assert family.run_exact(threshold, {"a": a}) == (expected > threshold)


def test_what_tracing_cannot_see_elsewhere_does_not_make_an_optimum():
    """At the best setting both paths agree; where tracing does not see it, plain floats reach 1."""

    def program(x, parameters):
        if parameters["a"] > 0.9:
            return Fraction(4, 5)
        return 1 if isinstance(parameters["a"], float) else Fraction(1, 2)

    family = ct.ProgramFamily(program, ct.Real("a", 0, 1))
    with pytest.raises(ct.TuningError, match="gives 0.5 traced, and 1.0 on plain floats"):
        ct.tune(family, [0])
    with pytest.raises(ct.TuningError, match="gives 0.5 traced, and 1.0 on plain floats"):
        ct.tune_stream(family, [0])


@pytest.mark.parametrize(
    "program",
    [
        lambda x, p: 1 if type(p["a"]) is float else 0,
        lambda x, p: 1 if isinstance(p["a"], float) else 0,
        lambda x, p: 1 if type(p) is dict else 0,
        lambda x, p: len(type(p["a"]).__name__) / 50,
        lambda x, p: 0 if hasattr(p["a"], "error") or hasattr(p["a"], "to_text") else 1,
    ],
)
def test_a_program_that_looks_at_the_type_of_its_parameters_is_refused(program, monkeypatch):
    """Traced it does something else than by itself, which only Python's own floats show."""
    family = ct.ProgramFamily(program, ct.Real("a", 0, 1))
    with pytest.raises(ct.TuningError, match="on plain floats"):
        ct.tune(family, [0.5], progress=False)
    monkeypatch.setattr(ct.ProgramFamily, "check_on_floats", lambda *_: None)
    certificate = ct.tune(family, [0.5], progress=False).certificate
    with pytest.raises(ct.CertificateError, match="on plain floats the program gives"):
        ct.verify(certificate, family, [0.5])
    with pytest.raises(AssertionError, match="on plain floats"):
        check_family(family, [0.5, 0.25])
