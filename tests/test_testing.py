"""The conformance suite finds what is wrong with a family, and names it."""

import itertools
import math
from fractions import Fraction

import pytest

import certune as ct
from certune.families.base import BoxBound
from certune.testing import StepFamily, StepInstance, check_family

INSTANCES = [
    StepInstance((0.25, 0.5), (Fraction(0), Fraction(1), Fraction(1, 2)), name="first"),
    StepInstance((0.375,), (Fraction(1, 3), Fraction(2, 3)), name="second"),
]
COUNTER = itertools.count()


class WrongValue(StepFamily):
    def dual(self, instance, along=None):
        return super().dual(instance, along) * Fraction(9, 10)


class WrongValueOnOneInstance(StepFamily):
    def dual(self, instance, along=None):
        dual = super().dual(instance, along)
        return dual * Fraction(1, 2) if instance.name == "second" else dual


class WrongBreakpoint(StepFamily):
    """Breakpoints are off by a hundred millionth."""

    def dual(self, instance, along=None):
        shifted = tuple(step + 1e-8 for step in instance.thresholds)
        return super().dual(StepInstance(shifted, instance.utilities), along)


class MissingBreakpoint(StepFamily):
    def dual(self, instance, along=None):
        return super().dual(StepInstance(instance.thresholds[:-1], instance.utilities[:-1]), along)


class WrongDomain(StepFamily):
    def dual(self, instance, along=None):
        segment = along or self.space.default_segment()
        middle = 0.5 * (segment.low + segment.high)
        return super().dual(instance, segment.restrict(segment.low, middle))


class IgnoresTheSegment(StepFamily):
    def dual(self, instance, along=None):
        return super().dual(instance)


class WrongBounds(StepFamily):
    bounds_boxes = True

    def bound_on_box(self, instance, box, reuse=None):
        return BoxBound(Fraction(0), Fraction(1, 4), (1.0,))


class Nondeterministic(StepFamily):
    def run_exact(self, instance, params):
        return (super().run_exact(instance, params) + next(COUNTER) % 2) / 2


class NondeterministicFunction(StepFamily):
    def dual(self, instance, along=None):
        dual = super().dual(instance, along)
        return dual if next(COUNTER) % 2 else dual * Fraction(1, 2)


class OtherDefault(StepFamily):
    """Without a segment it answers for another instance than with one."""

    def dual(self, instance, along=None):
        flat = StepInstance((), (Fraction(1),))
        return super().dual(instance if along else flat, along)


class OutOfRange(StepFamily):
    def run_exact(self, instance, params):
        return 3 * super().run_exact(instance, params)

    def dual(self, instance, along=None):
        return 3 * super().dual(instance, along)


class AnyParameter(StepFamily):
    def run_exact(self, instance, params):
        x = params["x"] if isinstance(params, dict) and params.get("x", math.nan) >= 0 else 0.0
        return super().run_exact(instance, x)


class OtherError(StepFamily):
    def run_exact(self, instance, params):
        return super().run_exact(instance, {"x": float(params["x"])})


class SameFingerprint(StepFamily):
    def instance_fingerprint(self, instance):
        return "abc"


class RandomFingerprint(StepFamily):
    def instance_fingerprint(self, instance):
        return f"{next(COUNTER):x}"


class NoHash(StepFamily):
    @property
    def fingerprint(self):
        return "my family"


class Unpicklable(StepFamily):
    def __reduce__(self):
        raise TypeError("cannot be stored")


class BadBaseline(StepFamily):
    @property
    def baselines(self):
        return {"beyond": {"x": 7.0}}


class NothingDecided(StepFamily):
    def dual(self, instance, along=None):
        segment = along or self.space.default_segment()
        ends = [segment.low, segment.high]
        values = [self.run_exact(instance, segment.at(t)) for t in ends]
        return ct.PiecewiseFunction.from_values(ends, ends, values, [Fraction(0)], [Fraction(1)])


class NoFunction(StepFamily):
    def dual(self, instance, along=None):
        return [1, 2, 3]


class Crashes(StepFamily):
    def dual(self, instance, along=None):
        raise ZeroDivisionError("division by zero")


def test_a_right_family_passes():
    check_family(StepFamily(), INSTANCES)
    check_family(StepFamily(-3.0, 0.4), INSTANCES, n_points=10, random_state=3)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (WrongValue, r"run_exact of first at \{'x': .*\}: expected 9/10 as in dual, got 1\b"),
        (WrongValueOnOneInstance, "run_exact of second at .*: expected 1/6 as in dual, got 1/3"),
        (WrongBreakpoint, "run_exact of first at"),
        (MissingBreakpoint, "run_exact of second at .*: expected 1/3 as in dual, got 2/3"),
        (WrongDomain, r"domain of first: expected \(0.0, 1.0\), got \(0.0, 0.5\)"),
        (IgnoresTheSegment, r"dual of first on the part \[.*\]: expected the domain"),
        (WrongBounds, r"run_exact on first inside a box at .*: expected a value from 0 to 1/4"),
        (Nondeterministic, "run_exact of first (twice|at)"),
        (NondeterministicFunction, "dual of first twice|run_exact of first at"),
        (OtherDefault, "dual of first without a segment"),
        (OutOfRange, r"first: expected within the utility range \[0.0, 1.0\], got from 0 to 3"),
        (AnyParameter, r"parameters \{\}: expected ParameterError, got 0"),
        (OtherError, r"parameters \{\}: expected ParameterError, got KeyError"),
        (SameFingerprint, "fingerprints of different instances: expected distinct"),
        (RandomFingerprint, "instance fingerprints asked for twice"),
        (NoHash, "a fingerprint: expected a hexadecimal string, got my family"),
        (Unpicklable, "answers that must not change: .* cannot be stored"),
        (BadBaseline, "the baselines: expected an answer, got ParameterError"),
        (NothingDecided, "undecided parts of first: expected at most half of .*, got 50 of 50"),
        (NoFunction, "dual must return a PiecewiseFunction or a PiecewisePolynomial, got"),
        (Crashes, "the exact function of second: .* ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_family_fails(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_family(broken(), INSTANCES)


def test_all_failures_are_listed():
    with pytest.raises(AssertionError) as caught:
        check_family(WrongValue(), INSTANCES)
    lines = str(caught.value).splitlines()
    assert lines[0] == "WrongValue(low=0.0, high=1.0) breaks its promises:"
    assert len([line for line in lines if line.startswith("- run_exact of first at")]) == 3
    assert len([line for line in lines if line.startswith("- run_exact of second at")]) == 3
    assert "more of this kind" in lines[4]


def test_equal_instances_are_told():
    with pytest.raises(AssertionError, match="expected distinct"):
        check_family(StepFamily(), [INSTANCES[0], INSTANCES[0]])


def test_unusable_input_is_an_input_error():
    with pytest.raises(ct.InputError, match="at least one"):
        check_family(StepFamily(), [])
    with pytest.raises(ct.ParameterError, match="Expected a Family"):
        check_family("family", INSTANCES)


class Diagonal(StepFamily):
    """Two parameters; the utility is that of a step function at the first one."""

    @property
    def space(self):
        return ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))

    @property
    def baselines(self):
        return {"corner": {"x": 0.0, "y": 0.0}}

    def shift(self):
        return Fraction(0)

    def dual(self, instance, along=None):
        origin, slope = Fraction(along.origin["x"]), Fraction(along.direction["x"])
        places = [(Fraction(step) + self.shift() - origin) / slope for step in instance.thresholds]
        values = list(instance.utilities)
        if slope < 0:
            places, values = places[::-1], values[::-1]
        low, high = Fraction(along.low), Fraction(along.high)
        first = sum(place <= low for place in places)
        inside = [float(place) for place in places if low < place < high]
        values = values[first : first + len(inside) + 1]
        pairs = list(itertools.pairwise(values))
        return ct.PiecewiseFunction.from_values(
            [along.low, *(math.nextafter(t, math.inf) for t in inside)],
            [*(math.nextafter(t, -math.inf) for t in inside), along.high],
            values,
            [min(pair) for pair in pairs],
            [max(pair) for pair in pairs],
        )


class ShiftedDiagonal(Diagonal):
    def shift(self):
        return Fraction(1, 10**6)


def test_several_parameters_are_checked_along_random_segments():
    check_family(Diagonal(), INSTANCES)
    with pytest.raises(AssertionError, match=r"run_exact of first at \{'x': .*, 'y': .*\}"):
        check_family(ShiftedDiagonal(), INSTANCES)
