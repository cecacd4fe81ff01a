"""Polished zones against signs in 400-bit ball arithmetic, for every kind of pair function.

The parameters of the pairs are floats, hence exact: with an input error of 0 a zone must hold the
change of order of precisely these functions.
"""

import math

import numpy as np
import pytest
from flint import arb, ctx

from certune.kernels.linkage import (
    AFFINE,
    MAXIMUM,
    MEAN,
    MINIMUM,
    MINMAX,
    MOVING,
    POWER,
    PairFunctions,
    may_tie,
    polish,
)

SIZES = (3, 4, 5)
MARKS = np.repeat(np.array([1, 2, 3], dtype=np.uint8), SIZES)


def functions(mode, first, second, power):
    codes = np.zeros(first.shape, np.uint64)
    power = float(power[0]), float(power[1])
    return PairFunctions(mode, first, second, power, 0.0, codes, False)


def polished(kind, pairs, marks, low, high, left):
    splits = np.array([[low, high, left, -left, -1.0, -1.0]])
    (proved,) = polish(kind, pairs, splits, marks[None], np.array([0]))
    return float(splits[0, 0]), float(splits[0, 1]), bool(proved)


class Comparison:
    """Random clusters x, y, z and the exact order of (x, y) and (x, z)."""

    def __init__(self, kind, mode, power, rng, spread=1.0):
        n = len(MARKS)
        self.kind, self.mode, self.power = kind, mode, np.array(power)
        self.first = rng.normal(scale=spread, size=(n, n))
        self.second = rng.normal(scale=spread, size=(n, n))
        if mode == MOVING:
            self.first, self.second = np.exp(self.first), np.exp(self.second)
        if mode == POWER:
            self.second = self.first

    def value(self, other, t):
        """Linkage value of x and another cluster, divided by nothing; t is a ball."""
        alpha = arb(self.power[0]) + t * arb(self.power[1])
        values, logs = [], []
        for a in np.flatnonzero(MARKS == 1):
            for b in np.flatnonzero(MARKS == other):
                first, second = arb(self.first[a, b]), arb(self.second[a, b])
                if self.mode == AFFINE:
                    values.append((first + t * second).exp())
                    continue
                log = (first + t * second).log() if self.mode == MOVING else first
                values.append((alpha * log).exp())
                logs.append(log)
        if alpha == 0 and self.mode != AFFINE:
            values = logs
        if self.kind == MEAN:
            return sum(values, arb(0)) / len(values)
        ordered = sorted(values, key=lambda value: float(value.mid()))
        return {
            MINMAX: ordered[0] + ordered[-1],
            MINIMUM: ordered[0],
            MAXIMUM: ordered[-1],
        }[self.kind]

    def order(self, t):
        """1 if (x, y) is nearer at t, -1 if (x, z) is."""
        with ctx.workprec(400):
            t = arb(t)
            difference = self.value(3, t) - self.value(2, t)
            alpha = arb(self.power[0]) + t * arb(self.power[1])
            if alpha < 0:
                difference = -difference
            if difference > 0:
                return 1
            return -1 if difference < 0 else 0

    def zone(self, low, high, rng, width):
        """A zone around a change of order in [low, high], or None if there is none."""
        left, right = self.order(low), self.order(high)
        if left == right:
            return None
        least, most = low, high
        while high - low > width:
            middle = 0.5 * (low + high)
            if self.order(middle) == left:
                low = middle
            else:
                high = middle
        free = 0.5 * width
        return max(least, low - free * rng.uniform()), min(most, high + free * rng.uniform()), left

    def polish(self, low, high, left):
        pairs = functions(self.mode, self.first, self.second, self.power)
        return polished(self.kind, pairs, MARKS, low, high, float(left))


CASES = {
    "power means": (MEAN, POWER, (0.0, 1.0), (0.5, 6.0), 1e-3),
    "negative powers": (MEAN, POWER, (0.0, 1.0), (-6.0, -0.5), 1e-3),
    "near alpha 0": (MEAN, POWER, (0.0, 1.0), (-0.08, 0.1), 1e-2),
    "steep alpha": (MEAN, POWER, (0.3, -7.0), (-0.5, 0.5), 1e-3),
    "wide zones": (MEAN, POWER, (0.0, 1.0), (-4.0, 4.0), 0.2),
    "min-max": (MINMAX, POWER, (0.0, 1.0), (-4.0, 4.0), 1e-10),
    "min-max, wide": (MINMAX, POWER, (0.0, 1.0), (-4.0, 4.0), 0.3),
    "products": (MEAN, AFFINE, (1.0, 0.5), (-1.5, 1.5), 1e-3),
    "products, negative": (MEAN, AFFINE, (-1.0, 0.5), (-1.5, 1.5), 1e-3),
    "moving distances": (MEAN, MOVING, (1.5, 0.0), (0.0, 1.0), 1e-3),
    "moving, steep alpha": (MEAN, MOVING, (-0.5, 2.0), (0.0, 1.0), 1e-3),
    "moving, small alpha": (MEAN, MOVING, (1e-5, 0.0), (0.0, 1.0), 1e-2),
    "moving, alpha 0": (MEAN, MOVING, (0.0, 0.0), (0.0, 1.0), 1e-2),
    "moving, around alpha 0": (MEAN, MOVING, (-0.05, 0.1), (0.4, 0.6), 1e-2),
    "moving minima": (MINIMUM, MOVING, (1.0, 0.0), (0.0, 1.0), 1e-3),
    "moving maxima": (MAXIMUM, MOVING, (1.0, 0.0), (0.0, 1.0), 1e-3),
    "moving min-max": (MINMAX, MOVING, (2.0, -0.5), (0.0, 1.0), 1e-3),
}


@pytest.mark.parametrize("name", CASES)
def test_polished_zones_hold_the_change_and_are_narrow(name):
    kind, mode, power, (low, high), width = CASES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    found = proofs = 0
    widths = []
    for _ in range(4000):
        comparison = Comparison(kind, mode, power, rng, spread=rng.choice([0.3, 1.0]))
        zone = comparison.zone(low, high, rng, width)
        if zone is None:
            continue
        before, after, left = zone
        new_low, new_high, proved = comparison.polish(before, after, left)
        assert before <= new_low <= new_high <= after
        places = [new_low, math.nextafter(new_low, -math.inf), *rng.uniform(before, new_low, 3)]
        assert all(comparison.order(t) == left for t in places if new_low > before)
        places = [new_high, math.nextafter(new_high, math.inf), *rng.uniform(new_high, after, 3)]
        assert all(comparison.order(t) == -left for t in places if new_high < after)
        found += 1
        proofs += proved
        widths.append(new_high - new_low)
        if found == 12:
            break
    assert found == 12
    assert proofs >= 11
    assert np.median(widths) < 1e-12


def test_a_zone_without_a_change_is_closed():
    rng = np.random.default_rng(5)
    closed = 0
    for _ in range(40):
        comparison = Comparison(MEAN, POWER, (0.0, 1.0), rng)
        order = comparison.order(1.7)
        if {comparison.order(t) for t in np.linspace(1.69, 1.71, 9)} != {order}:
            continue
        for left, where in ((order, 1.71), (-order, 1.69)):
            assert comparison.polish(1.69, 1.71, left) == (where, where, True)
            closed += 1
    assert closed > 40


@pytest.mark.parametrize("gap", [1e-6, 1e-9])
def test_two_changes_in_one_zone_are_never_taken_for_one(gap):
    """exp(-2 e t) + exp(2 e t) against a constant: changes at +-t0, 2 t0 apart."""
    first, second = np.zeros((4, 4)), np.zeros((4, 4))
    marks = np.array([1, 2, 2, 3], dtype=np.uint8)
    second[0, 1], second[0, 2] = -1.0, 1.0
    first[0, 3] = math.log(math.cosh(gap))
    pairs = functions(AFFINE, first, second, (1.0, 0.0))
    low, high, _ = polished(MEAN, pairs, marks, -0.01, 0.02, -1.0)
    assert low <= gap <= high or (low, high) == (-0.01, 0.02)
    assert low <= -gap or low >= gap


def test_ties_are_possible_only_where_the_two_values_agree():
    rng = np.random.default_rng(11)
    for kind, mode, power in dict.fromkeys(case[:3] for case in CASES.values()):
        comparison = Comparison(kind, mode, power, rng)
        pairs = functions(mode, comparison.first, comparison.second, power)
        assert not may_tie(kind, pairs, MARKS, 0.375)
        same = np.array([1, 2, 3, 0], dtype=np.uint8)
        comparison.first[0, 2] = comparison.first[0, 1]
        comparison.second[0, 2] = comparison.second[0, 1]
        tied = functions(mode, comparison.first[:4, :4], comparison.second[:4, :4], power)
        assert may_tie(kind, tied, same, 0.375)
