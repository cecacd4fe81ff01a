"""Series of one pair's value against the value itself, in balls of many bits."""

import pytest
from flint import arb, ctx

from certune.families.linkage.expansions import exponential_series, power_series


def check(series, value):
    """The series and its tail enclose the value on [-1, 1], and not by far."""
    coefficients, tail = series
    for u in (arb(-1), arb(-0.3), arb(0.7), arb(1)):
        total = sum((c * u**k for k, c in enumerate(coefficients)), arb(0))
        assert not abs(total - value(u)) > tail
    assert tail < 0.2


@pytest.mark.parametrize("n_terms", [6, 20])
@pytest.mark.parametrize("start", [-2.0, 0.3])
@pytest.mark.parametrize("step", [0.0, -0.8, 1.2])
def test_exponentials(start, step, n_terms):
    with ctx.workprec(256):
        start, step = arb(start), arb(step)
        check(exponential_series(start, step, n_terms), lambda u: (start + step * u).exp())


@pytest.mark.parametrize("alpha", [0.0, 1.0, -2.5, 3.0])
@pytest.mark.parametrize("step", [0.0, 0.4])
@pytest.mark.parametrize("slope", [0.0, 0.25, -0.1])
def test_powers(alpha, step, slope):
    with ctx.workprec(256):
        distance, slope, alpha, step = map(arb, (1.5, slope, alpha, step))

        def value(u):
            log = (distance + slope * u).log()
            return log if alpha == 0 and step == 0 else ((alpha + step * u) * log).exp()

        check(power_series(distance, slope, alpha, step, 12), value)
