"""The exact layer's answers to the sweep: is cluster pair (x, y) nearer than (x, z)?

Distances and parameters are floats, hence rationals, so every comparison is one of sums of real
powers of rationals: `certune.exact` decides its sign at a point, whether it vanishes identically,
and its sign on an interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from certune.exact import Radicals, sign_of_radicals, sign_on_interval
from certune.exact.precision import PRECISION_LOCK
from certune.exact.radicals import FIRST_PRECISION
from certune.exact.taylor import PRECISION
from certune.families.linkage.combining import combined, exponent_range
from certune.families.linkage.expansions import exponential_series, power_series
from certune.families.linkage.identities import vanishes
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line, Vector, sign_of, sum_at

NEARER, TIE, FARTHER, UNKNOWN = 1, 0, -1, 2

Floats = NDArray[np.float64]
IntArray = NDArray[np.int64]
Position = float | Fraction


@dataclass(frozen=True)
class Comparison:
    """Order of the cluster pairs (x, y) and (x, z), given by marks 1, 2, 3 at their members.

    If some points are marked by 4, the second pair is (these, z).
    """

    instance: ClusteringInstance
    line: Line
    marks: NDArray[np.uint8]

    @cached_property
    def _clusters(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Members of the first pair's two clusters, and of the second pair's."""
        x, y, z, w = (np.flatnonzero(self.marks == mark) for mark in (1, 2, 3, 4))
        return x, y, w if w.size else x, z

    def _block(self, rows: IntArray, columns: IntArray) -> Floats:
        """Distance vectors of the pairs of two clusters, one column for each."""
        block = self.instance.distances[:, rows[:, None], columns[None, :]]
        return block.reshape(len(block), -1)

    @cached_property
    def _blocks(self) -> tuple[Floats, Floats]:
        """Distance vectors of the first pair of clusters and of the second."""
        x, y, w, z = self._clusters
        return self._block(x, y), self._block(w, z)

    @property
    def _extreme(self) -> bool:
        return self.line.kind == "min-max" or (self.line.infinite and not self.line.product)

    def _terms(self, positions: Iterable[Fraction]) -> dict[Vector, int] | None:
        """Signed multiplicities of (x, y) minus (x, z), up to a positive factor.

        For extremes only the smallest and largest pair count; ``None`` if they are not the same
        at all ``positions``.
        """
        if not self._extreme:
            return self._average_terms
        if not any(rate for _, rate in self.line.weights):
            return self._lasting_terms
        return self._extreme_terms(positions)

    @cached_property
    def _lasting_terms(self) -> dict[Vector, int] | None:
        """Terms of extremes of distances that do not move."""
        return self._extreme_terms([Fraction(0)])

    def _extreme_terms(self, positions: Iterable[Fraction]) -> dict[Vector, int] | None:
        terms: Counter[Vector] = Counter()
        for sign, block in zip((1, -1), self._blocks, strict=True):
            chosen = self._extreme_pairs(block, list(positions))
            if chosen is None:
                return None
            for vector in chosen:
                terms[vector] += sign
        return {vector: count for vector, count in terms.items() if count}

    @cached_property
    def _average_terms(self) -> dict[Vector, int]:
        if self.line.kind == "energy":
            weighted = self._energy_blocks()
        else:
            near, far = self._blocks
            weighted = [(far.shape[1], near), (-near.shape[1], far)]
        terms: Counter[Vector] = Counter()
        for weight, block in weighted:
            for vector, count in multiplicities(block).items():
                terms[vector] += count * weight
        factor = math.gcd(*terms.values()) or 1
        return {vector: count // factor for vector, count in terms.items() if count}

    def _energy_blocks(self) -> list[tuple[int, Floats]]:
        """Blocks of pairs and their integer weights in e(x, y) - e(w, z), up to a factor.

        e(A, B) is twice S(A, B) - |B|/|A| W(A) - |A|/|B| W(B), over |A| + |B|: sums of powers over
        pairs between and within clusters, without those of identical points, which are 0.
        """
        x, y, w, z = self._clusters
        sizes = [len(cluster) for cluster in (x, y, w, z)]
        whole = math.prod(sizes) * (sizes[0] + sizes[1]) * (sizes[2] + sizes[3])
        found = []
        for a, b, sign in ((x, y, 1), (w, z, -1)):
            unit = sign * whole // (len(a) + len(b))
            found.append((unit, self._block(a, b)))
            for own, other in ((a, b), (b, a)):
                rows, columns = (own[index] for index in np.triu_indices(len(own), 1))
                apart = self.instance.different[rows, columns]
                block = self.instance.distances[:, rows[apart], columns[apart]]
                found.append((-unit * len(other) // len(own), block))
        return found

    @property
    def fixed_terms(self) -> frozenset[tuple[Vector, int]] | None:
        """What the order depends on, ``None`` if that is not the same at every parameter."""
        if self._extreme and any(rate for _, rate in self.line.weights):
            return None
        terms = self._terms([Fraction(0)])
        return None if terms is None else frozenset(terms.items())

    def _extreme_pairs(self, block: Floats, positions: list[Fraction]) -> list[Vector] | None:
        """A pair of least and one of largest distance at all positions, as far as they count."""
        wanted = [min, max]
        if self.line.infinite:
            wanted = [max] if self.line.alpha[0][0] > 0 else [min]
        if len(block) == 1:
            # The one weight is positive.
            return [(float(block.min() if pick is min else block.max()),) for pick in wanted]
        chosen = []
        for pick in wanted:
            candidates: set[Vector] | None = None
            for t in positions:
                distances = {
                    vector: sum_at(self.line.distance(vector), t)
                    for vector in multiplicities(self._contenders(block, pick is min, t))
                }
                value = pick(distances.values())
                attaining = {vector for vector, distance in distances.items() if distance == value}
                candidates = attaining if candidates is None else candidates & attaining
            if not candidates:
                return None
            chosen.append(min(candidates))
        return chosen

    def _contenders(self, block: Floats, least: bool, position: Fraction) -> Floats:
        """The pairs that can be extreme at a position: rounding errors are far below the margin."""
        weights = self.line.weights_at(position)
        # What underflows beside the largest sum is far below the margin, too.
        shift = -exponent_range(self.instance, weights)[1]
        distances = combined(weights, block, shift)
        margin = 1e-9 * float(distances.max())
        if least:
            return block[:, distances <= distances.min() + margin]
        return block[:, distances >= distances.max() - margin]

    def at(self, t: Position) -> int:
        """Order at one parameter."""
        position = Fraction(t)
        terms = self._terms([position])
        assert terms is not None
        if self.line.infinite and not self.line.product:
            total = sum(
                (
                    count * sum_at(self.line.distance(vector), position)
                    for vector, count in terms.items()
                ),
                Fraction(0),
            )
            return -sign_of(total)
        sign = self._sign_at(terms, position)
        if sign is None:
            return UNKNOWN
        return sign if sum_at(self.line.total, position) < 0 else -sign

    def excess(self, t: float) -> float:
        """The sum whose sign is the order at t, about: no proof, but a hint where it vanishes."""
        position = Fraction(t)
        terms = self._terms([position])
        if terms is None or self.line.infinite:
            return 0.0
        return float(self._enclose(terms, position).mid())

    def _sign_at(self, terms: dict[Vector, int], position: Fraction) -> int | None:
        """Sign of the sum that is the order at a position, ``None`` if it is not found."""
        if self.line.product:
            value = self._enclose(terms, position)
            if not value.contains(0):
                return 1 if value > 0 else -1
        return sign_of_radicals(self._number(terms, position))

    def _enclose(self, terms: dict[Vector, int], position: Fraction) -> arb:
        """Ball that contains this sum."""
        if not self.line.product or not any(self.line.exponents(position)):
            return self._number(terms, position).enclose(FIRST_PRECISION)
        with PRECISION_LOCK, ctx.workprec(PRECISION):
            place = arb(_rational(position))
            total = arb(0)
            for vector, count in terms.items():
                start, rate = self._exponent(vector)
                total += count * (start + place * rate).exp()
            return total

    def _exponent(self, vector: Vector) -> tuple[arb, arb]:
        """Exponent of a product of powers as an affine function of t."""
        known = self.line.exponent_balls
        if vector not in known:
            with PRECISION_LOCK, ctx.workprec(PRECISION):
                start = rate = arb(0)
                for delta, (value, slope) in zip(vector, self.line.exact_alpha, strict=True):
                    log = arb(delta).log()
                    start += arb(_rational(value)) * log
                    rate += arb(_rational(slope)) * log
                known[vector] = start, rate
        return known[vector]

    def _number(self, terms: dict[Vector, int], position: Fraction) -> Radicals:
        """The sum whose sign is the order at a position; of logarithms if all exponents are 0."""
        exponents = self.line.exponents(position)
        logarithm = not any(exponents)
        return Radicals(
            tuple(terms.values()),
            tuple(self._bases(vector, position) for vector in terms),
            tuple(Fraction(1) for _ in exponents) if logarithm else exponents,
            logarithm=logarithm,
        )

    def _bases(self, vector: Vector, position: Fraction) -> tuple[Fraction, ...]:
        if self.line.product:
            return tuple(Fraction(delta) for delta in vector)
        return (sum_at(self.line.distance(vector), position),)

    def _vanishes(self, terms: dict[Vector, int], low: Position, high: Position) -> bool:
        """Are the two values proved equal at every t, as sums of these terms?

        They are not if they differ at a place in between, which is quickly seen.
        """
        if not terms:
            return True
        place = float(low + 0.5 * float(high - low))
        if not (self.line.infinite or self._powers_are_one(place)):
            if not self._enclose(terms, Fraction(place)).contains(0):
                return False
        return vanishes(self.line, terms)

    def on(
        self, low: Position, high: Position, *, low_end: bool = False, high_end: bool = False
    ) -> int:
        """Order on all of [low, high], without an end at which it was asked "just inside".

        For product linkage the place inside where all exponents are 0 is left out as well.
        """
        if not low < high:
            return self.at(low)
        terms = self._terms([Fraction(low), Fraction(high)])
        if terms is None:
            return UNKNOWN
        if self._vanishes(terms, low, high):
            return TIE
        if self.line.infinite:
            return self._order_of_affine(terms, low, high, low_end=low_end, high_end=high_end)
        totals = [sum_at(self.line.total, Fraction(t)) for t in (low, high)]
        if totals[0] * totals[1] < 0:
            zero = self.line.origin
            if zero is None:
                return UNKNOWN
            # Where all exponents of a product are 0 its value is defined by itself.
            alone = self.line.product
            order = self.on(low, zero, low_end=low_end, high_end=alone)
            after = self.on(zero, high, low_end=alone, high_end=high_end)
            return order if order == after else UNKNOWN
        zeros_low = self._zeros(terms, low) if low_end else int(self._powers_are_one(low))
        zeros_high = self._zeros(terms, high) if high_end else int(self._powers_are_one(high))
        if zeros_low and zeros_high:
            return UNKNOWN
        sign = sign_on_interval(
            lambda centre, half, n: self._expand(terms, centre, half, n),
            _rational(low),
            _rational(high),
            zeros_low=zeros_low,
            zeros_high=zeros_high,
        )
        if sign is None:
            return UNKNOWN
        order = sign if min(totals) < 0 else -sign
        for end, inside_only, zeros in ((low, low_end, zeros_low), (high, high_end, zeros_high)):
            if zeros and not inside_only and self.at(end) != order:
                return UNKNOWN
        return order

    def _order_of_affine(
        self,
        terms: dict[Vector, int],
        low: Position,
        high: Position,
        *,
        low_end: bool,
        high_end: bool,
    ) -> int:
        """Single and complete linkage compare two affine functions: look at the two ends."""
        signs = [
            sign_of(
                sum(
                    (
                        count * sum_at(self.line.distance(v), Fraction(t))
                        for v, count in terms.items()
                    ),
                    Fraction(0),
                )
            )
            for t in (low, high)
        ]
        if signs[0] == 0 and low_end:
            signs[0] = signs[1]
        if signs[1] == 0 and high_end:
            signs[1] = signs[0]
        return -signs[0] if signs[0] == signs[1] != 0 else UNKNOWN

    def _powers_are_one(self, t: Position) -> bool:
        """Are all exponents 0 at t, but not around it? There sums of powers vanish trivially."""
        return self.line.origin == Fraction(t)

    def _zeros(self, terms: dict[Vector, int], t: Position) -> int:
        """Order to which the sum of powers is known to vanish at t.

        Where all exponents are 0 it vanishes trivially, and once more if the geometric means
        agree; those of a product are weighted by the slopes of the exponents.
        """
        position = Fraction(t)
        exponents = self.line.exponents(position)
        trivial = self._powers_are_one(t)
        logarithm = not any(exponents)
        if logarithm:
            slopes = tuple(slope for _, slope in self.line.exact_alpha)
            exponents = slopes if trivial else (Fraction(1),) * len(slopes)
        number = Radicals(
            tuple(terms.values()),
            tuple(self._bases(vector, position) for vector in terms),
            exponents,
            logarithm=logarithm,
        )
        return int(trivial) + int(sign_of_radicals(number) == 0)

    def _expand(
        self, terms: dict[Vector, int], centre: arb, half: arb, n_terms: int
    ) -> tuple[list[arb], arb]:
        """Taylor coefficients times h**k of the sum of powers, and a bound of the tail.

        Powers of distances relative to one of them are taken, so that they hardly change if
        distances are all tiny: that is a positive common factor.
        """
        total = [arb(0)] * n_terms
        tail = arb(0)
        unit = next(iter(terms))
        for vector, count in terms.items():
            coefficients, rest = self._expand_pair(vector, unit, centre, half, n_terms)
            for k, coefficient in enumerate(coefficients):
                total[k] += count * coefficient
            tail += abs(count) * rest
        return total, tail

    def _expand_pair(
        self, vector: Vector, unit: Vector, centre: arb, half: arb, n_terms: int
    ) -> tuple[list[arb], arb]:
        if self.line.product:
            exponents = zip(self._exponent(vector), self._exponent(unit), strict=True)
            start, rate = (exponent - common for exponent, common in exponents)
            return exponential_series(start + centre * rate, rate * half, n_terms)
        scale = Fraction(2) ** math.frexp(max(unit))[1]
        distance, step = (arb(_rational(part / scale)) for part in self.line.distance(vector))
        alpha, moved = (arb(_rational(part)) for part in self.line.exact_alpha[0])
        return power_series(
            distance + centre * step, half * step, alpha + centre * moved, half * moved, n_terms
        )


def multiplicities(block: Floats) -> dict[Vector, int]:
    """How often every distance vector occurs among the columns."""
    if len(block) == 1:
        values, counts = np.unique(block[0], return_counts=True)
        return dict(zip(((value,) for value in values.tolist()), counts.tolist(), strict=True))
    return Counter(tuple(column) for column in block.T.tolist())


def _rational(t: Position) -> fmpq:
    return fmpq(*t.as_integer_ratio())
