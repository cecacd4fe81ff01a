"""Affine conditions on a box: a proof that no point meets all of them, or a point that does.

Conditions f_i >= 0 or f_i > 0 with affine f_i have no common point in a box if for some weights
w_i >= 0 the sum of w_i f_i is negative on the whole box, or at most 0 if one of the conditions with
a positive weight is strict (Motzkin's transposition theorem: otherwise there is a point).  One
non-negative least-squares problem in floats proposes either the weights or the point; the sum is
then formed exactly, or in balls, and only its proved sign counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat

from certune.deadline import preparing
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.signs.affine import PRECISION, Affine, as_number_ball

Ranges = Mapping[str, tuple[float, float]]
Floats = npt.NDArray[np.float64]

# Least squares that leave less than this have found weights, with more they have found a point.
_NO_REST = 1e-13
# Weights below this share of the largest one are zeros that were rounded.
_NO_WEIGHT = 1e-9
# The weight of every side of the cube in sums that are shifted, and corners that are tried.
_SHIFT, _MOST_CORNERS = 2.0**-20, 8
# Weights are often small whole numbers, up to a common factor.
_LARGEST_DENOMINATOR = 24


class Halfspace(NamedTuple):
    """The condition that an affine function is positive, or at least not negative.

    Parameters
    ----------
    form : Affine
        The function.
    is_strict : bool
        Whether 0 is excluded.
    """

    form: Affine
    is_strict: bool


class Common(NamedTuple):
    """What is known about the points of a box that meet some conditions.

    Parameters
    ----------
    is_empty : bool
        Whether it is proved that there is none.
    point : dict of name to float or None
        A point that seems to meet all; nothing is proved about it.
    """

    is_empty: bool
    point: dict[str, float] | None


def common_points(conditions: Sequence[Halfspace], ranges: Ranges) -> Common:
    """Look for a point of a box that meets some conditions, or for a proof that there is none.

    Parameters
    ----------
    conditions : sequence of Halfspace
        The conditions.
    ranges : mapping of name to (low, high)
        The box.

    Returns
    -------
    Common
        The proof, or the point; neither if rounding leaves it open.

    Examples
    --------
    >>> from certune.pfaffian import parameters
    >>> from certune.pfaffian.signs.affine import affine_form
    >>> from certune.pfaffian.signs.halfspaces import Halfspace, common_points
    >>> x, y = parameters("x y")
    >>> forms = [affine_form(form) for form in (x - y, y - 3 * x, x + y)]
    >>> box = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    >>> common_points([Halfspace(form, True) for form in forms], box).is_empty
    True
    >>> common_points([Halfspace(form, False) for form in forms], box).is_empty  # x = y = 0
    False
    """
    names = [name for name in ranges if any(name in each.form.slopes for each in conditions)]
    rows, sizes, usable = [], [], []
    for condition in conditions:
        row = _row(condition, ranges, names)
        size = max(map(abs, row))
        if 0.0 < size < math.inf and not math.isnan(sum(row)):
            rows.append(row)
            sizes.append(size)
            usable.append(condition)
    if not (names and usable):
        return Common(False, None)
    proved, rest = _contradicted(np.array(rows), np.array(sizes), usable, ranges)
    return Common(proved, None if rest is None else _point(rest, ranges, names))


def _contradicted(
    rows: Floats, sizes: Floats, conditions: Sequence[Halfspace], ranges: Ranges
) -> tuple[bool, Floats | None]:
    """Whether a contradiction is proved, and what least squares leave over if there seems none."""
    scaled = rows / sizes[:, np.newaxis]
    # A sum that is negative on the whole box is proved in spite of rounding; so it comes first.
    for strict in (np.zeros(len(rows)), np.array([float(each.is_strict) for each in conditions])):
        system = _System(scaled, strict)
        weights, rest = system.solve()
        if rest[-1] <= _NO_REST:
            for proposal in (weights, *system.shifted(weights)):
                if _is_contradiction(proposal[: len(sizes)] / sizes, conditions, ranges):
                    return True, None
            return False, None
    return False, rest


def _row(condition: Halfspace, ranges: Ranges, names: list[str]) -> list[float]:
    """Slopes and offset on the unit cube."""
    offset, slopes = _middle(condition.form.offset), condition.form.slopes
    row = []
    for name in names:
        slope, (low, high) = _middle(slopes.get(name, Fraction(0))), ranges[name]
        row.append(slope * (high - low))
        offset += slope * low
    return [*row, offset]


def _middle(number: Any) -> float:
    try:
        return float(number if isinstance(number, Fraction) else number.mid())
    except OverflowError:
        return math.inf


def _point(rest: Floats, ranges: Ranges, names: list[str]) -> dict[str, float]:
    """The point that least squares find: their rest is orthogonal to what they use."""
    place = (rest[:-2] / rest[-2]).tolist()
    point = {name: 0.5 * low + 0.5 * high for name, (low, high) in ranges.items()}
    for name, share in zip(names, place, strict=True):
        low, high = ranges[name]
        point[name] = min(max(low + share * (high - low), low), high)
    return point


class _System:
    """Equations for the weights of a contradiction.

    The unknowns are the weights of the conditions, of 0 <= u and u <= 1 for every coordinate u of
    the unit cube, and of 1 > 0; the equations say that all weighted functions add up to 0, and the
    weights of the strict ones to 1.
    """

    def __init__(self, rows: Floats, strict: Floats) -> None:
        self._count, self._size = len(rows), rows.shape[1] - 1
        count, size = self._count, self._size
        self._matrix = np.zeros((size + 2, count + 2 * size + 1))
        self._matrix[:-1, :count] = rows.T
        self._matrix[-1, :count] = strict
        sides = np.arange(size)
        self._matrix[sides, count + sides] = 1.0
        self._matrix[sides, count + size + sides] = -1.0
        self._matrix[size, count + size : -1] = 1.0
        self._matrix[size:, -1] = 1.0

    def solve(self, at_least: Floats | None = None) -> tuple[Floats, Floats]:
        """Return weights, those of the sides at least so large, and what they leave over.

        That is (0, ..., 0, 1) less the weighted columns.
        """
        with preparing():
            from scipy.optimize import nnls

        target = np.zeros(self._size + 2)
        target[-1] = 1.0
        if at_least is not None:
            target -= self._matrix[:, self._count : -1] @ at_least
        try:
            weights, _ = nnls(self._matrix, target)
        except RuntimeError:  # too many steps
            weights = np.zeros(self._matrix.shape[1])
            return weights, 0.0 * target
        return weights, target - self._matrix @ weights

    def shifted(self, weights: Floats) -> Iterator[Floats]:
        """Weights for sums with a slope, where rounding may hide that there is none.

        Conditions that meet in a corner of the cube contradict each other by a sum that is 0 there
        and may be 0 along an edge, too; one that is negative along all edges is easier to prove.
        """
        sides = weights[self._count : -1].reshape(2, self._size)
        flat = np.flatnonzero(sides.sum(axis=0) <= _NO_WEIGHT * weights.max())
        for corner in itertools.islice(itertools.product((0, 1), repeat=len(flat)), _MOST_CORNERS):
            at_least = np.zeros((2, self._size))
            at_least[list(corner), flat] = _SHIFT
            found, rest = self.solve(at_least.reshape(-1))
            if len(flat) and rest[-1] <= _NO_REST:
                yield found


def _is_contradiction(weights: Floats, conditions: Sequence[Halfspace], ranges: Ranges) -> bool:
    """Prove that the weighted conditions contradict each other on the box."""
    used = np.flatnonzero(weights > _NO_WEIGHT * weights.max()).tolist()
    chosen = [conditions[place] for place in used]
    has_strict = any(condition.is_strict for condition in chosen)
    for candidate in _candidates(weights[used].tolist(), chosen):
        with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
            highest = _highest(candidate, chosen, ranges)
        if _is_negative(highest, or_zero=has_strict):
            return True
    return False


def _candidates(plain: list[float], chosen: list[Halfspace]) -> Iterator[list[Fraction]]:
    """Weights to try: as they are, as small fractions, and such that all slopes cancel."""
    if not plain:
        return
    yield [Fraction(weight) for weight in plain]
    largest = max(plain)
    small = [Fraction(weight / largest).limit_denominator(_LARGEST_DENOMINATOR) for weight in plain]
    if all(weight > 0 for weight in small):
        yield small
    if all(condition.form.is_exact for condition in chosen):
        yield from _cancelling(chosen)


def _cancelling(chosen: list[Halfspace]) -> Iterator[list[Fraction]]:
    """Positive weights, up to a factor, for which the slopes add up to 0, if they are unique."""
    names = list(dict.fromkeys(name for each in chosen for name in each.form.slopes))
    slopes = [[each.form.slopes.get(name, Fraction(0)) for each in chosen] for name in names]
    table = fmpq_mat(
        len(names),
        len(chosen),
        [fmpq(number.numerator, number.denominator) for row in slopes for number in row],
    )
    reduced, rank = table.rref()
    free = len(chosen) - 1
    if rank != free or any(reduced[row, row] != 1 for row in range(rank)):
        return
    weights = [-reduced[row, free] for row in range(rank)] + [fmpq(1)]
    if all(weight > 0 for weight in weights):
        yield [Fraction(int(weight.p), int(weight.q)) for weight in weights]


def _highest(weights: list[Fraction], chosen: list[Halfspace], ranges: Ranges) -> Any:
    """The largest value of a sum of weighted functions on the box, exactly or as a ball."""
    total = chosen[0].form.times(weights[0])
    for weight, condition in zip(weights[1:], chosen[1:], strict=True):
        total = total.plus(condition.form.times(weight))
    return total.highest_on(ranges)


def _is_negative(number: Any, *, or_zero: bool) -> bool:
    if isinstance(number, Fraction):
        return number < 0 or (or_zero and number == 0)
    return bool(as_number_ball(number) <= 0) if or_zero else bool(as_number_ball(number) < 0)


def halfspaces_of(form: Affine, signs: frozenset[int]) -> list[Halfspace]:
    """Return what it means for an affine function that its sign is one of some."""
    found = []
    if -1 not in signs:
        found.append(Halfspace(form, 0 not in signs))
    if 1 not in signs:
        with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
            found.append(Halfspace(form.times(Fraction(-1)), 0 not in signs))
    return found  # that it is not 0 is no condition on one side
