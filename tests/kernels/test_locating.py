"""Zones in which the order of two cluster pairs changes, from Bernstein coefficients."""

import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from certune._core.linkage_parts import degree as DEGREE
from certune._core.linkage_parts import locate

ERROR = 1e-13
CROSSING = 0


def located(nearer, farther):
    order, *zone = locate(nearer.tolist(), farther.tolist())
    return order, zone


def root_of(coefficients):
    """The only zero in [0, 1] of the polynomial with these Bernstein coefficients."""
    top = len(coefficients) - 1
    share = Polynomial([0.0, 1.0])
    powers = (share**k * (1.0 - share) ** (top - k) * math.comb(top, k) for k in range(top + 1))
    roots = sum(c * power for c, power in zip(coefficients, powers, strict=True)).roots()
    (root,) = (r.real for r in roots if abs(r.imag) < 1e-9 and 0.0 <= r.real <= 1.0)
    return root


@pytest.mark.parametrize("seed", range(30))
def test_zone_is_narrow_around_the_change(seed):
    rng = np.random.default_rng(seed)
    # Falling coefficients change their sign once, and so does the polynomial.
    falling = -np.cumsum(rng.random(DEGREE) ** 3)
    coefficients = falling - rng.uniform(0.9 * falling[-1], falling[0])
    sense = rng.choice([1.0, -1.0])
    code, zone = located(sense * coefficients - ERROR, -sense * coefficients - ERROR)
    steepness = np.abs(np.diff(coefficients)).min()
    assert code == CROSSING
    assert zone[2:] == [sense, -sense]
    assert zone[0] < root_of(coefficients) < zone[1]
    assert zone[1] - zone[0] < 40.0 * ERROR / steepness + 1e-13
