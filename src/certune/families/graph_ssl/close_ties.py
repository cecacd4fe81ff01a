"""Near ties on an interval: interpolants in ball arithmetic where doubles see no difference.

Two soft labels can agree to hundreds of digits along a whole interval, for instance at small
bandwidths if the nearest labels are equally far and only the next ones differ.  There the soft
labels are interpolated once more, with as many bits and nodes as their difference at the ends asks
for and with the same proof (`certificate`), and settled by halving in ball arithmetic.  What is
still open at the last precision, or when the work has used up its budget, stays a zone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat, ctx

from certune.deadline import check_time
from certune.exact.precision import DOUBLE, PRECISION_LOCK
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.chebyshev import (
    ROUNDING_BITS,
    chebyshev_nodes,
    coefficient_matrix,
    left_half_matrix,
)
from certune.families.graph_ssl.interpolation import Interpolator
from certune.kernels.graph import OPEN

# Relative width, in the coordinate, at which a change of the winner is not narrowed any more.
NARROW = 2.0**-42
# Bits of differences that are followed, those that doubles resolve, and room for rounding.
MOST_BITS = 1024
LEAST_BITS = 48
FIRST_BITS = 128
SPARE_BITS = 24
LARGEST_DEGREE = 320
# Degrees and precisions are multiples of these, so that few matrices are needed.
DEGREE_STEP = 16
PRECISION_STEP = 128
DEEPEST_SPLIT = 6
# Linear systems in balls for one sweep, times the square of their size.
BUDGET = 1.5e6
FEWEST_SOLVES = 24

Leaf = tuple[float, float, int, int]
Series = dict[int, list[arb]]


@dataclass(frozen=True)
class Zone:
    """A part of a course in which the winner of a node is one of several classes."""

    node: int
    classes: tuple[int, ...]
    low: float
    high: float

    def clipped(self, low: float, high: float) -> Zone:
        """The part on an interval that it meets."""
        return Zone(self.node, self.classes, max(low, self.low), min(high, self.high))

    @property
    def leaf(self) -> Leaf:
        """The zone as a leaf: nothing is known beyond the classes."""
        first, second = self.classes if len(self.classes) == 2 else (OPEN, OPEN)
        return self.low, self.high, first, second


class CloseTies:
    """Settles zones of one graph along one course, within a budget of linear systems."""

    def __init__(self, interpolator: Interpolator) -> None:
        self._graph, self._course = interpolator.graph, interpolator.course
        self._interpolator = interpolator
        self._solves_left = int(BUDGET / max(self._graph.n_nodes, 1) ** 2)

    def settled(self, zones: Sequence[Zone], rounding: float) -> list[list[Leaf]]:
        """For each zone its leaves, from left to right.

        Parameters
        ----------
        zones : sequence of Zone
            Parts of one panel.
        rounding : float
            How much a soft label may be off because the setting is rounded.
        """
        if self._solves_left < FEWEST_SOLVES:
            return [[zone.leaf] for zone in zones]
        leaves: list[list[Leaf]] = [[] for _ in zones]
        order = sorted(range(len(zones)), key=lambda number: zones[number].low)
        while order:
            group = [order.pop(0)]
            reach = zones[group[0]].high
            while order and zones[order[0]].low <= reach:
                group.append(order.pop(0))
                reach = max(reach, zones[group[-1]].high)
            parts = {number: zones[number] for number in group}
            found = self._split(zones[group[0]].low, reach, parts, rounding, DEEPEST_SPLIT)
            for number in group:
                leaves[number] = _merged(found[number])
        return leaves

    def _split(
        self, low: float, high: float, zones: dict[int, Zone], rounding: float, depth: int
    ) -> dict[int, list[Leaf]]:
        """Leaves of overlapping zones on [low, high], by halves if one interpolant cannot do."""
        bits = self._bits_needed(low, high, zones, rounding)
        if bits is not None:
            found = self._interpolated(low, high, zones, bits, rounding)
            if found is not None:
                if rounding > 0 or depth == 0:
                    return found
                return {n: self._closer(zones[n], own, depth) for n, own in found.items()}
        middle = 0.5 * (low + high)
        result: dict[int, list[Leaf]] = {number: [] for number in zones}
        if depth == 0 or self._solves_left <= 0 or not low < middle < high:
            return {number: [zone.leaf] for number, zone in zones.items()}
        for start, stop in ((low, middle), (middle, high)):
            parts = {
                number: zone.clipped(start, stop)
                for number, zone in zones.items()
                if zone.low < stop and start < zone.high
            }
            if parts:
                for number, own in self._split(start, stop, parts, rounding, depth - 1).items():
                    result[number] += own
        return result

    def _closer(self, zone: Zone, leaves: list[Leaf], depth: int) -> list[Leaf]:
        """Leaves of which the open ones, if wide, are looked at with more bits."""
        result: list[Leaf] = []
        for low, high, first, second in _merged(leaves):
            is_open = first == OPEN or first != second
            width = high - low
            if is_open and 8 * NARROW * max(abs(low), abs(high)) < width < zone.high - zone.low:
                part = {0: Zone(zone.node, zone.classes, low, high)}
                result += self._split(low, high, part, 0.0, depth - 1)[0]
            else:
                result.append((low, high, first, second))
        return result

    def _bits_needed(
        self, low: float, high: float, zones: dict[int, Zone], rounding: float
    ) -> int | None:
        """Bits that tell the winners apart at both ends; None if no precision does."""
        needed = LEAST_BITS
        for end in (low, high):
            asked = [zone for zone in zones.values() if end in (zone.low, zone.high)]
            for bits in (FIRST_BITS,) if rounding > 0 else (FIRST_BITS, MOST_BITS):
                leads = self._leads(end, asked, bits, rounding)
                if None not in leads:
                    break
            else:
                return None
            needed = max([needed, *(lead for lead in leads if lead is not None)])
        return needed

    def _leads(self, z: float, zones: list[Zone], bits: int, rounding: float) -> list[int | None]:
        """For each zone how many bits below 1 the lead of the winner is, None if not decided."""
        if not zones:
            return []
        self._solves_left -= 1
        soft = ball_labels(self._graph, self._course.rates(Fraction(z)), bits)
        result: list[int | None] = []
        with PRECISION_LOCK, ctx.workprec(DOUBLE):
            for zone in zones:
                labels = [soft[c][zone.node] for c in zone.classes]
                best = max(labels, key=lambda ball: ball.mid())
                lead = min((best - label for label in labels if label is not best), default=arb(1))
                certain = bool(lead > 2 * arb(rounding))
                result.append(math.ceil(-float(lead.log()) / math.log(2)) if certain else None)
        return result

    def _interpolated(
        self, low: float, high: float, zones: dict[int, Zone], bits: int, rounding: float
    ) -> dict[int, list[Leaf]] | None:
        """Leaves from one interpolant with this many bits, None if it needs too many nodes."""
        bits += SPARE_BITS
        plan = self._interpolator.new_certifier().plan(low, high, -bits * math.log(2))
        if plan is None or plan.degree > min(LARGEST_DEGREE, self._solves_left):
            return None
        degree = _round_up(plan.degree, DEGREE_STEP)
        centre, half = (Fraction(high) + Fraction(low)) / 2, (Fraction(high) - Fraction(low)) / 2
        columns = sorted({(zone.node, c) for zone in zones.values() for c in zone.classes})
        values = []
        node_bits = bits + ROUNDING_BITS + math.ceil(plan.log_slope / math.log(2))
        for node in chebyshev_nodes(degree, node_bits):
            soft = ball_labels(self._graph, self._course.rates(centre + half * node), bits)
            values.append([soft[c][i] for i, c in columns])
        self._solves_left -= degree + 1
        precision = _round_up(bits + SPARE_BITS, PRECISION_STEP)
        with PRECISION_LOCK, ctx.workprec(precision):
            table = coefficient_matrix(degree, precision) * arb_mat(values)
            series = {
                column: [table[k, number] for k in range(degree + 1)]
                for number, column in enumerate(columns)
            }
            # Truncation, and rounded nodes times the Lebesgue constant, which is below 6.
            error = 7 * arb(2) ** -bits + arb(rounding)
            return {
                number: _halved(
                    zone,
                    {c: series[zone.node, c] for c in zone.classes},
                    error,
                    low,
                    high,
                    precision,
                )
                for number, zone in zones.items()
            }


def _halved(
    zone: Zone, series: Series, error: arb, low: float, high: float, bits: int
) -> list[Leaf]:
    """Leaves of a zone whose soft labels have these Chebyshev series on [low, high]."""
    leaves: list[Leaf] = []
    stack = [(Fraction(low), Fraction(high), series, error)]
    while stack:
        check_time()
        first, last, part, slack = stack.pop()
        start, stop = max(zone.low, float(first)), min(zone.high, float(last))
        if not start < stop:
            continue
        kept, hopeless = _contenders(part, slack)
        if len(kept) == 1:
            leaves.append((start, stop, kept[0], kept[0]))
            continue
        if hopeless or stop - start <= NARROW * max(abs(start), abs(stop)):
            leaves.append(Zone(zone.node, tuple(kept), start, stop).leaf)
            continue
        part, slack = _shortened({c: part[c] for c in kept}, slack)
        left, right = _halves(part, bits)
        middle = (first + last) / 2
        stack.append((middle, last, right, slack))
        stack.append((first, middle, left, slack))
    return leaves


def _contenders(series: Series, error: arb) -> tuple[list[int], bool]:
    """Classes that may win somewhere, and whether all of them are within the error everywhere."""
    best = max(series, key=lambda c: series[c][0].mid())
    kept, hopeless = [best], True
    for c, coefficients in series.items():
        if c == best:
            continue
        lead = series[best][0] - coefficients[0]
        pairs = zip(series[best][1:], coefficients[1:], strict=True)
        spread = sum((abs(a - b) for a, b in pairs), arb(0))
        if not bool(lead - spread > 2 * error):
            kept.append(c)
            hopeless = hopeless and bool(lead + spread < 2 * error)
    return sorted(kept), hopeless and len(kept) > 1


def _shortened(series: Series, error: arb) -> tuple[Series, arb]:
    """Series without their last terms that are small beside an error, and the error with them."""
    length = max(len(coefficients) for coefficients in series.values())
    lost = dict.fromkeys(series, arb(0))
    while length > 2:
        raised = {c: lost[c] + abs(series[c][length - 1]) for c in series}
        if not all(bool(256 * value < error) for value in raised.values()):
            break
        lost, length = raised, length - 1
    return {c: series[c][:length] for c in series}, error + error / 256


def _halves(series: Series, bits: int) -> tuple[Series, Series]:
    """The same series on the left and on the right half of their interval."""
    classes = list(series)
    length = _round_length(len(series[classes[0]]))
    series = {c: series[c] + [arb(0)] * (length - len(series[c])) for c in classes}
    mirrored = [[-a if k % 2 else a for k, a in enumerate(series[c])] for c in classes]
    columns = [series[c] for c in classes] + mirrored
    table = left_half_matrix(length - 1, bits) * arb_mat(
        [[column[k] for column in columns] for k in range(length)]
    )
    left = {c: [table[k, i] for k in range(length)] for i, c in enumerate(classes)}
    shift = len(classes)
    right = {
        c: [(-1) ** k * table[k, shift + i] for k in range(length)] for i, c in enumerate(classes)
    }
    return left, right


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _round_length(length: int) -> int:
    """The next length of the form 2**k or 3 * 2**k, so that few matrices are needed."""
    power = 1 << (length - 1).bit_length()
    return 3 * power // 4 if length <= 3 * power // 4 and power >= 4 else power


def _merged(leaves: list[Leaf]) -> list[Leaf]:
    """Leaves of one zone with neighbours that say the same joined."""
    merged: list[Leaf] = []
    for leaf in leaves:
        if merged and merged[-1][2:] == leaf[2:]:
            merged[-1] = (merged[-1][0], *leaf[1:])
        else:
            merged.append(leaf)
    return merged
