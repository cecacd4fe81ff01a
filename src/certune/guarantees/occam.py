"""Simple numbers generalise: a guarantee from the tuning instances alone (Occam's razor).

Give every setting that is a short binary fraction of the range a share of delta before any
instance is seen, the shorter the larger. With probability 1 - delta the betting limits of *all*
these settings hold at once, so that one may choose among them after looking. The wider the set of
good settings, the shorter the shortest number in it, and the less the choice costs: about
ln(1/width) in place of a worst-case dimension. The exact landscape tells where the short numbers
in good intervals are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.dual import DualFunction
from certune.guarantees.bounded_mean import METHODS, to_unit
from certune.guarantees.records import INDEPENDENT, Evidence, OptimismBound, Tuned
from certune.pfaffian.bounds.arithmetic import ball, certified
from certune.pfaffian.bounds.records import Provenance

# 2^12 settings divide a range finely enough; beyond, a setting costs more than it can gain.
DEEPEST_LEVEL = 12


@dataclass(frozen=True)
class SimpleSetting:
    """A setting that is a short binary fraction of the range, with its guarantee.

    Attributes
    ----------
    coordinate : float
        Coordinate t of the setting: ``low + (high - low) * odd / 2**level``, rounded; on a
        logarithmic scale the same of logarithms.
    level : int
        Length of the fraction in bits, at least 1.
    tuning_value : float
        Mean utility on the tuning instances.
    bound : OptimismBound
        What can be promised about it.
    """

    coordinate: float
    level: int
    tuning_value: float
    bound: OptimismBound

    @property
    def expected_utility(self) -> float:
        """Expected utility of this setting on a new instance, at least."""
        return self.bound.expected_utility

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, for JSON."""
        return {
            "coordinate": self.coordinate,
            "level": self.level,
            "tuning_value": self.tuning_value,
            "bound": self.bound.to_dict(),
        }


def prior(level: int) -> Fraction:
    """Share of delta of one setting of a level; the shares of all settings add up to 1.

    Examples
    --------
    >>> [str(prior(level)) for level in (1, 2, 3)]
    ['1/2', '1/12', '1/48']
    """
    return Fraction(1, level * (level + 1) * 2 ** (level - 1))


def level_coordinates(low: float, high: float, level: int, scale: str = "linear") -> list[float]:
    """Return all settings of a level, the nearest floats to the fractions of the range.

    On a logarithmic scale they are floats close to the fractions of the logarithmic range; which
    floats is of no matter, as long as no instance has a say in it.
    """
    if scale == "log":
        first, ratio = math.log(low), math.log(high) - math.log(low)
        places = (math.exp(first + ratio * (odd / 2**level)) for odd in range(1, 2**level, 2))
        return [min(max(place, low), high) for place in places]
    start, width = Fraction(low), Fraction(high) - Fraction(low)
    return [float(start + width * Fraction(odd, 2**level)) for odd in range(1, 2**level, 2)]


def best_simple_setting(
    landscape: DualFunction,
    duals: Sequence[DualFunction],
    utility_range: tuple[Fraction, Fraction],
    delta: Fraction,
    scale: str = "linear",
) -> SimpleSetting:
    """Return the simple setting with the best guaranteed expected utility.

    O(2^L log B + L N) for L levels up to that of the simplest optimal number, B breakpoints and
    N instances.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean of the utility functions.
    duals : sequence of PiecewiseFunction or PiecewisePolynomial
        Utility functions of the tuning instances.
    utility_range : tuple of Fraction
        Smallest and largest utility of any instance.
    delta : Fraction
        Probability that the promise of *some* simple setting does not hold.
    scale : {"linear", "log"}, default="linear"
        Whether fractions of the range or of its logarithm are simple; chosen before any instance
        is seen.
    """
    found: list[SimpleSetting] = []
    for level in range(1, DEEPEST_LEVEL + 1):
        points = level_coordinates(landscape.low, landscape.high, level, scale)
        means = np.nan_to_num(np.asarray(landscape(points)), nan=-np.inf)
        best = int(np.argmax(means))
        found.append(_setting(duals, points[best], level, utility_range, delta))
        if means[best] >= landscape.max():
            break
    return max(found, key=lambda setting: setting.expected_utility)


def _setting(
    duals: Sequence[DualFunction],
    coordinate: float,
    level: int,
    utility_range: tuple[Fraction, Fraction],
    delta: Fraction,
) -> SimpleSetting:
    # Where a utility is not decided, or has a stated error, its lower bound is the safe side.
    lowest = utility_range[0]
    utilities = [max(dual.enclose_exact(coordinate)[0], lowest) for dual in duals]
    value = sum(utilities, Fraction(0)) / len(utilities)
    tuned = Tuned(value, len(utilities), *utility_range)
    lower = METHODS["betting"].lower(to_unit(utilities, *utility_range), delta * prior(level))
    with certified():
        optimism = ball(value) - (ball(tuned.low) + ball(tuned.span) * lower)
    bound = tuned.bound(
        optimism,
        name="Occam",
        delta=float(delta),
        evidence=Evidence.TUNING,
        label="G5",
        provenance=Provenance.CLASSICAL,
        formula=r"\bar v - \min\{m : \sum_j w_j \prod_i (1 + \gamma_j (v_i / m - 1)) < "
        r"1/(\pi \delta)\},\ 1/\pi = \ell (\ell + 1) 2^{\ell - 1}",
        assumptions=(INDEPENDENT,),
        note=f"a binary fraction of {level} bits",
    )
    return SimpleSetting(coordinate, level, float(value), bound)
