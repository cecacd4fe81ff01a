"""Taylor series of one pair's value along a line, with bounds of what they leave out (balls).

A series has the coefficients of u**k, where u in [-1, 1] runs over an interval.
"""

from __future__ import annotations

from flint import arb

Series = tuple[list[arb], arb]
"""Coefficients, and a bound of the absolute value of the sum of all later terms."""


def exponential_series(start: arb, step: arb, n_terms: int) -> Series:
    """Series of exp(start + step u), with Lagrange's bound of the rest."""
    coefficients = [start.exp()]
    for k in range(1, n_terms):
        coefficients.append(coefficients[-1] * step / k)
    reach = abs(step)
    return coefficients, abs(coefficients[-1]) * reach / n_terms * reach.exp()


def power_series(distance: arb, slope: arb, alpha: arb, step: arb, n_terms: int) -> Series:
    """Series of (distance + slope u) ** (alpha + step u), of the logarithm if alpha and step are 0.

    The rest is bounded by Cauchy's estimate.
    """
    logarithm = distance.log()
    geometric = alpha == 0 and step == 0
    if slope == 0 and not geometric:
        return exponential_series(alpha * logarithm, step * logarithm, n_terms)
    ratio = slope / distance
    if geometric:
        series = _logarithm(logarithm, ratio, n_terms)
        return series, _tail(arb(1), (arb(0), arb(1), arb(0)), abs(ratio), n_terms)
    if step == 0:
        series = [(alpha * logarithm).exp()]
        for k in range(1, n_terms):
            series.append(series[-1] * ratio * (alpha - (k - 1)) / k)
    else:
        logs = _logarithm(logarithm, ratio, n_terms)
        series = _exponential(
            [alpha * logarithm] + [alpha * logs[k] + step * logs[k - 1] for k in range(1, n_terms)],
            n_terms,
        )
    growth = (abs(step) * abs(logarithm), abs(alpha), abs(step))
    return series, _tail(series[0], growth, abs(ratio), n_terms)


def _logarithm(value: arb, ratio: arb, n_terms: int) -> list[arb]:
    """Power series of value + log(1 + ratio u)."""
    series = [value]
    power = arb(1)
    for k in range(1, n_terms):
        power *= -ratio
        series.append(-power / k)
    return series


def _exponential(exponent: list[arb], n_terms: int) -> list[arb]:
    """Power series of the exponential of a power series."""
    series = [exponent[0].exp()]
    for k in range(1, n_terms):
        total = arb(0)
        for j in range(1, min(k, len(exponent) - 1) + 1):
            total += j * exponent[j] * series[k - j]
        series.append(total / k)
    return series


def _tail(value: arb, growth: tuple[arb, arb, arb], ratio: arb, n_terms: int) -> arb:
    """Cauchy's bound of the sum of all later terms, over discs of several radii (in units of h)."""
    linear, power, power_step = growth
    best = None
    for radius in (2, 3, 4, 6, 8, 12, 16, 24):
        reach = ratio * radius
        if not reach < 1:
            break
        log_growth = -((1 - reach).log())
        exponent = linear * radius + power * log_growth + power_step * radius * log_growth
        quotient = arb(1) / radius
        bound = abs(value) * exponent.exp() * quotient**n_terms / (1 - quotient)
        if best is None or bound < best:
            best = bound
    return best if best is not None else arb("inf")
