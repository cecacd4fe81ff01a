"""A linkage family on one instance along one segment, as the arrays that the kernels read.

d = sum_l beta_l delta_l and phi = alpha log d (min-max and power-mean linkage, ``sec:linkage``),
or phi = sum_l alpha_l log delta_l (product linkage).  Along a segment alpha, beta and the alpha_l
are affine in t.  A `Course` holds the pair functions as float arrays with a bound of their
rounding error, beside the exact parameters that the exact layer decides with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.errors import ParameterError
from certune.families.linkage.combining import combined, shift_for
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line, sign_of, sum_at
from certune.kernels.linkage import (
    AFFINE,
    ENERGY,
    MAXIMUM,
    MEAN,
    MINIMUM,
    MINMAX,
    MOVING,
    POWER,
    UNIT,
    PairFunctions,
)

Floats = NDArray[np.float64]

LARGEST_EXPONENT_RANGE = 600.0
LARGEST_LOG = 640.0  # of distances whose near ties are decided with twice the digits
LARGEST_MOVE = 2**20  # alpha is that many times as large as its moves there
KIND_OF = {"min-max": MINMAX, "power-mean": MEAN, "energy": ENERGY}


class Stretch(NamedTuple):
    """A part of a course on which an order holds, up to a zone behind which the opposite does.

    ``tied`` says for both ends whether the order there is another one, a tie as a rule.
    """

    low: float
    high: float
    order: int
    zone: tuple[float, float]
    tied: tuple[bool, bool] = (False, False)


class Meeting(NamedTuple):
    """Where values meet: codes of the pairs of points, equal only if their values are equal there.

    Exact codes are the values themselves, as integers, up to a common factor.  A course ends at the
    place, or at the float before it if it is none; what it says there holds up to the place.
    """

    codes: NDArray[np.uint64]
    exact: bool
    place: Fraction


NO_MEETING = Meeting(np.empty((0, 0), dtype=np.uint64), False, Fraction(0))


@dataclass(frozen=True)
class Course:
    """Pair functions along a segment; see `certune.kernels.linkage` for the modes.

    ``power`` is alpha as (value at 0, slope); in the AFFINE mode only its sign counts.

    ``ends`` order the pairs (smaller is nearer) at the two ends of the segment, the same array
    twice if the order does not move; ``span`` is the spread of their entries.  ``proved`` is what
    `certune.families.linkage.orders` knows, shared by all parts of the course.  ``merged_codes``
    take the place of the instance's codes where more pairs have the same function.  What cannot be
    decided on one side of one of the ``edges`` leaves nothing open on the other one.  Values may
    meet at either end.  A course of one parameter may stand for a ``place`` that is no float.
    Distances are taken times ``2 ** shift``.  ``extremes`` are the smallest and largest logarithm
    of a fixed distance between different points.
    """

    instance: ClusteringInstance
    line: Line
    kind: int
    mode: int
    first: Floats
    second: Floats
    power: Floats
    input_error: float
    low: float
    high: float
    ends: tuple[Floats, Floats]
    span: float
    proved: dict[object, list[Stretch]] = field(default_factory=dict, repr=False, compare=False)
    merged_codes: NDArray[np.uint64] | None = None
    edges: tuple[float, ...] = ()
    meetings: tuple[Meeting, Meeting] = (NO_MEETING, NO_MEETING)
    place: Fraction | None = None
    shift: int = 0
    extremes: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.instance.n_points

    @property
    def codes(self) -> NDArray[np.uint64]:
        """Codes of the pairs of points; pairs with the same code have the same function."""
        return self.instance.pair_codes if self.merged_codes is None else self.merged_codes

    @cached_property
    def pair_functions(self) -> PairFunctions:
        """Functions of the pairs of points, for the kernels."""
        power = float(self.power[0]), float(self.power[1])
        return PairFunctions(
            self.mode,
            self.first,
            self.second,
            power,
            self.input_error,
            self.codes,
            self.ordered,
            twins=self.instance.duplicate_of,
            box_cox=self.kind != ENERGY,
        )

    @property
    def has_one_distance(self) -> bool:
        """Are values powers of one fixed distance, whose bits are the pair codes?"""
        return self.mode == POWER and self.ordered and self.kind in (MEAN, MINMAX, ENERGY)

    @cached_property
    def near_alpha(self) -> tuple[float, float, float] | None:
        """Alpha at t = 0 as a sum of two floats, and its slope, if it hardly moves on the course.

        Near ties are decided with that. Not where alpha is 0, or so small that it may become 0.
        """
        if not self.has_one_distance:
            return None
        value, slope = self.line.exact_alpha[0]
        moves = abs(slope) * Fraction(max(abs(self.low), abs(self.high)))
        least, most = self.instance.log_ranges[0]
        if moves * LARGEST_MOVE > abs(value) or value == 0 or max(-least, most) > LARGEST_LOG:
            return None
        near = float(value)
        return near, float(value - Fraction(near)), float(slope)

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The ends, or the floats next to them if values meet in between."""
        low, high = self.low, self.high
        if self.meetings[0].codes.size and self.meetings[0].place < low:
            low = math.nextafter(low, -math.inf)
        if self.meetings[1].codes.size and self.meetings[1].place > high:
            high = math.nextafter(high, math.inf)
        return low, high

    @property
    def position(self) -> Fraction:
        """The one parameter that the course consists of."""
        return Fraction(self.low) if self.place is None else self.place

    @property
    def ordered(self) -> bool:
        """Are pair codes ordered like the values of the pairs at every parameter?"""
        return self.instance.n_metrics == 1 and not self.line.product


def make_course(
    instance: ClusteringInstance, line: Line, low: float, high: float, side: int = 0
) -> Course:
    """Arrays of the pair functions for t in [low, high].

    A course of products lies on one ``side`` of the place where their order turns round, -1 before
    it and 1 behind it; 0 stands for the side of its middle.
    """
    if line.product:
        return _product_course(instance, line, low, high, side)
    kind = KIND_OF[line.kind]
    alpha, alpha_slope = (float(value) for value in line.alpha[0])
    if math.isinf(alpha):
        kind = MAXIMUM if alpha > 0 else MINIMUM
        alpha = 1.0
    power = np.array([alpha, alpha_slope])
    if any(slope != 0.0 for _, slope in line.weights):
        return _moving_course(instance, line, kind, power, low, high)
    weights = [weight for weight, _ in line.weights]
    shift = 0
    if weights == [1.0]:
        logs, (smallest, largest) = instance.log_distances[0], instance.log_ranges[0]
        combining = 0.0
    else:
        shift = shift_for(instance, [weights])
        logs = _log(combined(weights, instance.distances, shift))
        smallest, largest = float(logs.min()), float(logs.max())
        combining = (len(weights) + 1) * UNIT
    span = largest - smallest
    # A rounded alpha moves logarithms, but for a common factor, like an error of theirs.
    error = 2 * UNIT * (1.0 + max(abs(smallest), abs(largest))) + combining
    if isinstance(line.alpha[0][0], Fraction):
        error += 2 * UNIT * span
    _check_exponents(power, span, low, high)
    return Course(
        *(instance, line, kind, POWER, logs, logs, power, error, low, high, (logs, logs), span),
        shift=shift,
        extremes=(smallest, largest),  # the diagonal and duplicates have the smallest one
    )


def course_at(instance: ClusteringInstance, line: Line, place: Fraction) -> Course:
    """The one parameter ``place`` of a line of products, which need not be a float."""
    t = float(place)
    course = make_course(instance, line, t, t)
    if course.mode == AFFINE:
        fixed = course.first + t * course.second
        course = replace(course, first=fixed, second=np.zeros_like(fixed))
    return replace(course, place=place)


def restricted(course: Course, low: float, high: float) -> Course:
    """The same pair functions on a part [low, high] of the segment."""
    meetings = (
        course.meetings[0] if course.low == low else NO_MEETING,
        course.meetings[1] if course.high == high else NO_MEETING,
    )
    course = replace(course, low=low, high=high, meetings=meetings)
    if course.mode == POWER:
        return course
    at_low, at_high = course.first + low * course.second, course.first + high * course.second
    if course.mode == MOVING:
        ends = _log(at_low), _log(at_high)
    else:
        ends = _ascending(at_low, at_high, course.power)
    return replace(course, ends=ends, span=_spread(ends))


def _moving_course(
    instance: ClusteringInstance, line: Line, kind: int, power: Floats, low: float, high: float
) -> Course:
    ends_weights = [line.weights_at(Fraction(t)) for t in (low, high)]
    shift = shift_for(instance, ends_weights)
    distances = instance.distances
    logs = [_log(combined(weights, distances, shift)) for weights in ends_weights]
    # A common factor does not change the order; a power of 2 brings no rounding.
    middle = 0.5 * (np.min(logs) + np.max(logs))
    shift -= round(float(middle) / math.log(2))
    first = combined([value for value, _ in line.weights], distances, shift)
    second = combined([slope for _, slope in line.weights], distances, shift)
    worst = 1.0
    for t, weights in zip((low, high), ends_weights, strict=True):
        # Rounding is relative to these; over the distance that is monotone in t up to t = 0, where
        # it is 1.
        # Weights in another coordinate can be beyond the doubles, where their sums are not.
        terms = [abs(Fraction(a)) + abs(Fraction(t) * Fraction(b)) for a, b in line.weights]
        sizes = combined(terms, distances, shift)
        exact = combined(weights, distances, shift)
        positive = exact > 0
        worst = max(worst, float((sizes[positive] / exact[positive]).max(initial=1.0)))
    error = (instance.n_metrics + 4) * UNIT * worst
    ends = _log(first + low * second), _log(first + high * second)
    _check_exponents(power, 2 * float(np.abs(ends).max()), low, high)
    span = _spread(ends)
    return Course(
        *(instance, line, kind, MOVING, first, second, power, error, low, high, ends, span),
        shift=shift,
    )


def _spread(ends: tuple[Floats, Floats]) -> float:
    return float(max(np.ptp(ends[0]), np.ptp(ends[1])))


def _log(matrix: Floats) -> Floats:
    """Logarithms; the diagonal and duplicates, which are never compared, get the smallest one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values: Floats = np.log(matrix)
    finite = np.isfinite(values)
    return np.where(finite, values, values[finite].min() if finite.any() else 0.0)


def _check_exponents(power: Floats, spread: float, low: float, high: float) -> None:
    largest = max(abs(float(power[0]) + float(power[1]) * t) for t in (low, high))
    if largest * spread > LARGEST_EXPONENT_RANGE:
        raise ParameterError(
            f"|alpha| up to {largest:g} with distances that span a factor of "
            f"10^{spread / math.log(10):.3g} leaves the range of double precision; use a narrower "
            "range of alpha, or alpha=inf (complete linkage) and alpha=-inf (single linkage) for "
            "the limits"
        )


def _sum_error(exponents: Iterable[float], instance: ClusteringInstance) -> float:
    """Error of logarithms of distances, with exponents of such sizes, and of their sum."""
    largest = 1.0
    for exponent, ends in zip(exponents, instance.log_ranges, strict=True):
        largest += abs(exponent) * max(map(abs, ends))
    return (2 * instance.n_metrics + 8) * UNIT * float(largest)


def _product_course(
    instance: ClusteringInstance, line: Line, low: float, high: float, side: int
) -> Course:
    logs = instance.log_distances
    values, slopes = zip(*line.alpha, strict=True)
    middle = (Fraction(low) + Fraction(high)) / 2
    if not line.moves and not any(values):
        error = _sum_error([1.0] * len(logs), instance)
        fixed, power = np.sum(logs, axis=0), np.zeros(2)
    elif (origin := _meeting(instance, line, low, high)) is not None:
        sign = sign_of(line.total[1]) or side or sign_of(middle - origin)
        exponents = np.array(slopes) / (sign * line.scale)
        fixed = combined(exponents, logs)
        power = sign * line.scale * np.array([-float(origin), 1.0])
        rounding = line.scale * float(_rounding(origin))
        error = _sum_error(exponents, instance) + rounding * (1.0 + float(np.ptp(fixed))) ** 2
    else:
        reach = max(abs(low), abs(high), 1.0)
        sizes = (abs(float(value)) + reach * abs(slope) for value, slope in line.alpha)
        error = _sum_error(sizes, instance)
        first, second = combined(values, logs), combined(slopes, logs)
        sense = side * sign_of(line.total[1]) or sign_of(sum_at(line.total, middle)) or 1
        power = np.array([float(sense), 0.0])
        return _affine_course(instance, line, first, second, power, error, low, high)
    span = float(np.ptp(fixed))
    _check_exponents(power, span, low, high)
    ends = fixed, fixed
    return Course(instance, line, MEAN, POWER, fixed, fixed, power, error, low, high, ends, span)


def _meeting(instance: ClusteringInstance, line: Line, low: float, high: float) -> Fraction | None:
    """The t at which the products of all pairs meet, if powers may be taken from there on.

    That is where all exponents vanish, or their sum if all metrics agree; inside of a course all
    products then tie at that place, which powers do not show.
    """
    place = line.origin
    if place is None and line.total[1] != 0 and instance.metrics_agree:
        place = -line.total[0] / line.total[1]
        if low < place < high:
            return None
    if place is None:
        return None
    farthest = max(abs(Fraction(t) - place) for t in (low, high))
    if line.scale * float(_rounding(place)) > UNIT * max(line.scale * float(farthest), 1.0):
        return None
    return place


def _rounding(value: Fraction) -> Fraction:
    """Error of a number as a float."""
    return abs(value - Fraction(float(value)))


def _affine_course(
    instance: ClusteringInstance,
    line: Line,
    first: Floats,
    second: Floats,
    power: Floats,
    error: float,
    low: float,
    high: float,
) -> Course:
    ends = _ascending(first + low * second, first + high * second, power)
    span = _spread(ends)
    if span > LARGEST_EXPONENT_RANGE:
        raise ParameterError(
            f"the products of powers span a factor of exp({span:.3g}) on the segment, beyond "
            "double precision; use smaller exponents"
        )
    return Course(instance, line, MEAN, AFFINE, first, second, power, error, low, high, ends, span)


def _ascending(at_low: Floats, at_high: Floats, power: Floats) -> tuple[Floats, Floats]:
    """Exponents at the ends, turned round where a smaller product of powers is farther."""
    return (at_low, at_high) if power[0] > 0 else (-at_low, -at_high)
