"""At which heights the merges of a tree happen, and which clusters a cut leaves.

A cut at h undoes a merge at height b if b >= h. Heights are means of powers of distances (sums of
them, with signs, for energies) to the power of one over alpha. Floats with an error bound tell most
of them apart; where they do not, balls tell between which neighbouring floats a height lies, and
where it may be a float itself, the sign of a sum of powers of rational numbers (`certune.exact`).
"""

from __future__ import annotations

import bisect
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, cmp_to_key

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.errors import UndecidedError
from certune.exact import Radicals, sign_of_radicals
from certune.exact.precision import PRECISION_LOCK
from certune.families.linkage.comparison import multiplicities
from certune.families.linkage.course import Course
from certune.families.linkage.lines import sum_at
from certune.kernels.linkage import ENERGY, MEAN, UNIT, merge_values

Floats = NDArray[np.float64]
IntArray = NDArray[np.int64]
Terms = dict[Fraction, Fraction]
"""Coefficients of powers of distances, whose sum is a linkage value."""

PRECISION = 256
SMALLEST_EXPONENT = 2.0**-10  # at smaller ones roots of floats tell little


@dataclass(frozen=True)
class Bracket:
    """A merge is undone by cuts up to ``last``, and done by cuts from ``first`` on."""

    last: float
    first: float


class CutHeights:
    """Heights of the merges of a tree at one setting.

    Parameters
    ----------
    course : Course
        The setting, of power means, min-max linkage or energies.
    left, right : int64 arrays of shape (2 n - 1,)
        Children of the nodes n, ..., 2 n - 2, children before parents.
    relative : bool
        Whether heights are shares of that of the last merge.
    """

    def __init__(self, course: Course, left: IntArray, right: IntArray, relative: bool) -> None:
        self._course = course
        self._tree = left, right
        self._relative = relative
        self.n_points = course.n
        members: list[IntArray] = [np.array([point]) for point in range(self.n_points)]
        for a, b in zip(left[self.n_points :], right[self.n_points :], strict=True):
            members.append(np.concatenate([members[a], members[b]]))
        self.members = members
        """Points below every node."""
        self._known_terms: dict[int, Terms] = {}
        self._known_powers: dict[Fraction, arb] = {}

    @property
    def nodes(self) -> range:
        """The merges."""
        return range(self.n_points, 2 * self.n_points - 1)

    @property
    def _root(self) -> int:
        return 2 * self.n_points - 2

    @cached_property
    def _alpha(self) -> float:
        return float(self._course.line.alpha[0][0])

    @property
    def _infinite(self) -> bool:
        return math.isinf(self._alpha)

    def _is_one_place(self, node: int) -> bool:
        twins = self._course.instance.duplicate_of[self.members[node]]
        return bool((twins == twins[0]).all())

    # Heights in floats

    def brackets(self) -> dict[int, Bracket]:
        """Brackets of all merges, from floats where these tell; heights of copies are 0."""
        low, high = self._bounds()
        found = {}
        for node, least, most in zip(self.nodes, low.tolist(), high.tolist(), strict=True):
            if self._is_one_place(node):
                found[node] = Bracket(0.0, math.nextafter(0.0, 1.0))
            elif 0.0 < least <= most < math.inf:
                found[node] = Bracket(least, most)
            else:
                found[node] = self.exact_bracket(node)
        return found

    def _bounds(self) -> tuple[Floats, Floats]:
        """Floats between which the heights of the merges lie; NaN where that is not known.

        Values of pairs of points and their means have the relative error of `point_values`; of the
        three means of an energy the sum of their sizes counts. A root divides the error of the
        logarithm by alpha, and the last exponential adds some roundings of its argument.
        """
        course, n = self._course, self.n_points
        left, right = self._tree
        logs, shift = course.first, course.shift
        apart = course.instance.different
        smallest, largest = course.extremes or (0.0, 0.0)
        middle = 0.5 * (smallest + largest)
        with np.errstate(all="ignore"):
            if self._infinite:
                exponents = merge_values(course.kind, logs, left, right)
                error = np.full(n - 1, course.input_error)
            elif abs(self._alpha) < SMALLEST_EXPONENT:
                return np.full(n - 1, math.nan), np.full(n - 1, math.nan)
            else:
                values = np.exp(self._alpha * (logs - middle))
                if course.kind == ENERGY:
                    values[~apart] = 0.0
                means = merge_values(course.kind, values, left, right)
                relative = course.input_error * (1.0 + abs(self._alpha)) + UNIT * (
                    8.0 * (2.0 + abs(self._alpha) * (largest - smallest)) + 16.0 * n + 0.25 * n**2
                )
                error = np.full(n - 1, relative)
                if course.kind == ENERGY:
                    between = merge_values(MEAN, values, left, right)
                    sizes = np.array([len(own) for own in self.members], dtype=np.float64)
                    a, b = sizes[left[n:]], sizes[right[n:]]
                    error *= (4.0 * a * b / (a + b) * between + np.abs(means)) / means
                error = np.where((means > 0.0) & (error < 0.25), 2.0 * error, math.nan)
                error = error / abs(self._alpha)
                exponents = middle + np.log(means) / self._alpha
            error += 8.0 * UNIT * (1.0 + np.abs(exponents) + abs(middle))
            heights = np.ldexp(np.exp(exponents), -shift)
            if self._relative:
                heights, error = heights / heights[-1], error + error[-1] + 4.0 * UNIT
            heights[heights < sys.float_info.min] = math.nan
            return heights * (1.0 - 2.0 * error), heights * (1.0 + 2.0 * error)

    # Heights as sums of powers

    def _terms(self, node: int) -> Terms:
        """The value of a merge, which is its height to the power of alpha, as a sum of powers."""
        if node not in self._known_terms:
            self._known_terms[node] = self._found_terms(node)
        return self._known_terms[node]

    def _found_terms(self, node: int) -> Terms:
        a, b = (self.members[int(children[node])] for children in self._tree)
        size_a, size_b = len(a), len(b)
        if self._course.line.kind == "energy":
            total = size_a + size_b
            # Pairs within a cluster are met twice.
            parts = [
                (a, b, Fraction(2, total)),
                (a, a, -Fraction(size_b, size_a * total)),
                (b, b, -Fraction(size_a, size_b * total)),
            ]
        else:
            parts = [(a, b, Fraction(1, size_a * size_b))]
        terms: Terms = {}
        for first, second, weight in parts:
            for distance, count in self._distances(first, second).items():
                terms[distance] = terms.get(distance, Fraction(0)) + count * weight
        if self._course.line.kind == "min-max":
            low, high = min(terms), max(terms)
            return {low: Fraction(1)} if low == high else dict.fromkeys((low, high), Fraction(1, 2))
        return {distance: weight for distance, weight in terms.items() if weight}

    def _distances(self, first: IntArray, second: IntArray) -> dict[Fraction, int]:
        """Positive distances of the pairs of points of two clusters, and how many have each."""
        block = self._course.instance.distances[:, first[:, None], second[None, :]]
        found: dict[Fraction, int] = {}
        for vector, count in multiplicities(block.reshape(len(block), -1)).items():
            distance = sum_at(self._course.line.distance(vector), Fraction(0))
            if distance:
                found[distance] = found.get(distance, 0) + count
        return found

    def _value(self, node: int) -> arb:
        """Ball of the value of a merge; of its logarithm if alpha is 0."""
        exponent = arb(self._alpha) if self._alpha else arb(1)
        total = arb(0)
        for base, weight in self._terms(node).items():
            if base not in self._known_powers:
                log = arb(fmpq(*base.as_integer_ratio())).log() * exponent
                self._known_powers[base] = log.exp() if self._alpha else log
            total += self._known_powers[base] * fmpq(*weight.as_integer_ratio())
        return total

    def _extreme(self, node: int) -> Fraction:
        """Height of single or complete linkage."""
        return max(self._terms(node)) if self._alpha > 0 else min(self._terms(node))

    # Exact heights

    def exact_bracket(self, node: int) -> Bracket:
        """The narrowest bracket, two neighbouring floats unless they cannot be told."""
        check_time()
        if self._is_one_place(node):
            return Bracket(0.0, math.nextafter(0.0, 1.0))
        low, high = self._height(node)
        last, candidate = _float_at_most(low), _float_at_most(high)
        if candidate == last:
            return Bracket(last, math.nextafter(last, math.inf))
        below = self.is_below(node, candidate)
        if below:
            return Bracket(last, candidate)
        after = math.nextafter(candidate, math.inf)
        return Bracket(candidate if below is False else last, after)

    def _height(self, node: int) -> tuple[Fraction, Fraction]:
        """Rational numbers between which the height of a merge lies."""
        if self._infinite:
            own = self._extreme(node) / (self._extreme(self._root) if self._relative else 1)
            return own, own
        with PRECISION_LOCK, ctx.workprec(PRECISION):
            low, high = self._roots(self._value(node))
            if self._relative:
                least, most = self._roots(self._value(self._root))
                if most == 0:
                    return Fraction(0), Fraction(0)
                low, high = low / most, high / least if least > 0 else arb(1)
            return _exact(low.lower()), _exact(high.upper())

    def _roots(self, value: arb) -> tuple[arb, arb]:
        """Heights between which that of a value lies; 0 where an energy is not positive."""

        def root(power: arb) -> arb:
            return (power.log() / arb(self._alpha)).exp() if power > 0 else arb(0)

        if not self._alpha:
            return value.exp(), value.exp()
        ends = root(value.lower()), root(value.upper())
        return ends if self._alpha > 0 else ends[::-1]

    def is_below(self, node: int, height: float) -> bool | None:
        """Is a merge below a height? Exactly; None if that cannot be told."""
        if height <= 0.0 or self._is_one_place(node):
            return height > 0.0
        threshold = Fraction(height)
        if self._infinite:
            top = self._extreme(self._root) if self._relative else Fraction(1)
            return self._extreme(node) < threshold * top
        unit = {Fraction(1): Fraction(1)}
        if self._relative:
            unit = self._terms(self._root)
            positive = self._sign(unit, {}) if self._course.line.kind == "energy" else 1
            if positive != 1:
                return None if positive is None else True
        sign = self._sign(self._terms(node), {threshold * d: weight for d, weight in unit.items()})
        return None if sign is None else sign < 0

    def order(self, node: int, other: int) -> int | None:
        """Sign of the height of one merge less that of another; None if it cannot be told."""
        places = self._is_one_place(node), self._is_one_place(other)
        if any(places):
            return int(places[1]) - int(places[0])
        if self._infinite:
            difference = self._extreme(node) - self._extreme(other)
            return (difference > 0) - (difference < 0)
        return self._sign(self._terms(node), self._terms(other))

    def _sign(self, first: Terms, second: Terms) -> int | None:
        """Sign of the height of a value less that of another one."""
        terms = dict(first)
        for base, weight in second.items():
            terms[base] = terms.get(base, Fraction(0)) - weight
        terms = {base: weight for base, weight in terms.items() if weight}
        if not terms:
            return 0
        scale = math.lcm(*(weight.denominator for weight in terms.values()))
        number = Radicals(
            tuple(int(weight * scale) for weight in terms.values()),
            tuple((base,) for base in terms),
            (Fraction(self._alpha) if self._alpha else Fraction(1),),
            logarithm=not self._alpha,
        )
        sign = sign_of_radicals(number)
        return -sign if sign is not None and self._alpha < 0 else sign


class CutTree:
    """A tree, and its clusters below each height.

    Merges are sorted by their heights; *level* j is what is left of the points after the first j of
    them. Brackets that overlap are made as narrow as can be, and so are those around the ``ends``.
    """

    def __init__(self, heights: CutHeights, ends: tuple[float, ...] = ()) -> None:
        self._heights = heights
        self._brackets = heights.brackets()
        for node in self._crowded(ends):
            self._brackets[node] = heights.exact_bracket(node)
        self._nodes = sorted(self._brackets, key=cmp_to_key(self._order))
        self._lasts = [self._brackets[node].last for node in self._nodes]
        self._firsts = sorted(bracket.first for bracket in self._brackets.values())

    def _crowded(self, ends: tuple[float, ...]) -> list[int]:
        """Merges whose brackets meet another one, or an end."""
        found = set()
        most, reaching = -1.0, -1
        for node in sorted(self._brackets, key=lambda node: self._brackets[node].last):
            own = self._brackets[node]
            if own.last < most:
                found |= {node, reaching}
            if own.first > most:
                most, reaching = own.first, node
            if any(own.last <= end <= own.first for end in ends):
                found.add(node)
        return sorted(found)

    def _order(self, node: int, other: int) -> int:
        """Of two merges; those whose order is not known are in that of their nodes."""
        own, theirs = self._brackets[node].last, self._brackets[other].last
        if own != theirs:
            return -1 if own < theirs else 1
        return self._heights.order(node, other) or node - other

    def level(self, height: float) -> int | None:
        """Level that a cut at a height leaves; None inside a bracket."""
        done = bisect.bisect_right(self._firsts, height)
        return done if bisect.bisect_left(self._lasts, height) == done else None

    def labels_below(self, height: float) -> IntArray:
        """Clusters of the merges below a height, numbered by lowest member.

        Raises
        ------
        UndecidedError
            If it cannot be told whether a merge is below the height.
        """
        lowest = np.arange(self._heights.n_points)
        for node, bracket in self._brackets.items():
            below: bool | None = bracket.first <= height
            if bracket.last < height < bracket.first:
                below = self._heights.is_below(node, height)
            if below is None:
                raise UndecidedError(
                    f"whether a merge is below the height {height!r} could not be decided"
                )
            if below:
                self._join(lowest, node)
        return _numbered(lowest)

    def partitions(self, low: int, high: int) -> IntArray:
        """Labels at the levels from low to high, numbered by lowest member, one row for each."""
        lowest = np.arange(self._heights.n_points)
        rows = np.empty((high - low + 1, len(lowest)), dtype=np.int64)
        for level in range(high + 1):
            if level > 0:
                self._join(lowest, self._nodes[level - 1])
            if level >= low:
                rows[level - low] = _numbered(lowest)
        return rows

    def _join(self, lowest: IntArray, node: int) -> None:
        members = self._heights.members[node]
        lowest[members] = lowest[members].min()

    def levels_between(self, low: int, high: int) -> list[int] | None:
        """Levels that heights between those of two levels have, these included.

        None if it is not decided which of the merges between them come first.
        """
        found = [low]
        for level in range(low + 1, high):
            order: int | None = -1
            if self._lasts[level - 1] == self._lasts[level]:
                order = self._heights.order(self._nodes[level - 1], self._nodes[level])
            if order is None:
                return None
            if order:
                found.append(level)
        return found if low == high else [*found, high]


def _numbered(lowest: IntArray) -> IntArray:
    """Labels in the order of the lowest members of clusters."""
    return np.unique(lowest, return_inverse=True)[1].astype(np.int64)


def _exact(ball: arb) -> Fraction:
    """The middle of a ball."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _float_at_most(number: Fraction) -> float:
    """Largest float that is no larger than a number >= 0."""
    near = float(min(number, Fraction(sys.float_info.max)))
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)
