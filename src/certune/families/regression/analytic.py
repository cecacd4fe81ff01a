"""Functions that are analytic in log alpha, as polynomials with a proved error.

Errors of ridge regression and of the elastic net on a face depend on alpha through
1 / (d + alpha) with d >= 0, whose poles lie on the negative axis. As a function of log alpha they
are therefore analytic in the strip of half-width pi. On an ellipse around an interval of log alpha
whose half-height is pi / 2 the real part of alpha is not negative and |d + alpha| is at least
sqrt(d^2 + |alpha|^2), which bounds the function there. A function that is analytic and bounded by M
inside the Bernstein ellipse of parameter rho differs from its Chebyshev interpolant of degree n by
at most 4 M rho^-n / (rho - 1) (Trefethen 2013, theorem 8.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import dct

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
# Widest panel, in log alpha: one decade.
WIDEST = math.log(10.0)
HALF_HEIGHT = 0.5 * math.pi
HIGHEST_DEGREE = 200


@dataclass(frozen=True)
class AnalyticFunction:
    """A function of alpha that can be evaluated, and is bounded on complex ellipses.

    Attributes
    ----------
    values : callable
        Gets an array of alphas; returns the values and bounds of their errors.
    bound : callable
        Gets the smallest and the largest |alpha| on an ellipse whose points have a real part >= 0;
        returns a bound of the absolute value of the function there.
    """

    values: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    bound: Callable[[float, float], float]


@dataclass(frozen=True)
class PolynomialPiece:
    """Chebyshev coefficients in log alpha on ``[low, high]``, with the error of the polynomial."""

    low: float
    high: float
    coefficients: FloatArray
    error: float


def polynomials(
    function: AnalyticFunction, low: float, high: float, target: float
) -> list[PolynomialPiece]:
    """Return polynomials on touching panels that cover ``[low, high]``.

    Parameters
    ----------
    function : AnalyticFunction
        The function.
    low, high : float
        The range of alpha, positive.
    target : float
        Aim for the interpolation error.
    """
    return [_panel(function, a, b, target) for a, b in panels(low, high)]


def panels(low: float, high: float) -> list[tuple[float, float]]:
    """Cut an interval of alpha into panels of at most a decade."""
    n_panels = max(1, math.ceil(math.log(high / low) / WIDEST))
    ends = np.geomspace(low, high, n_panels + 1)
    ends[0], ends[-1] = low, high
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _panel(function: AnalyticFunction, low: float, high: float, target: float) -> PolynomialPiece:
    half = 0.5 * math.log(high / low)
    # The ellipse with foci at the ends and this half-height: rho - 1 / rho = 2 height / half.
    rho = HALF_HEIGHT / half + math.hypot(HALF_HEIGHT / half, 1.0)
    reach = math.hypot(half, HALF_HEIGHT)
    middle = math.sqrt(low) * math.sqrt(high)
    largest = function.bound(middle * math.exp(-reach), middle * math.exp(reach))
    wanted = math.log(max(4.0 * largest / ((rho - 1.0) * target), 1.0)) / math.log(rho)
    degree = min(max(2, math.ceil(wanted)), HIGHEST_DEGREE)
    truncation = 4.0 * largest * rho**-degree / (rho - 1.0)
    places = np.cos(np.pi * np.arange(degree + 1) / degree)
    alphas = np.clip(middle * np.exp(half * places), low, high)
    alphas[0], alphas[-1] = high, low
    values, errors = function.values(alphas)
    coefficients = dct(values, type=1) / degree
    coefficients[[0, -1]] *= 0.5
    # Errors of values grow by the Lebesgue constant; places and the transform are rounded, and
    # |p'| <= sum k^2 |c_k|.
    lebesgue = 1.0 + math.log(degree + 1.0)
    slopes = float(np.abs(coefficients) @ np.arange(degree + 1.0) ** 2)
    size = float(np.abs(values).max())
    rounding = UNIT * (16.0 * (degree + 8.0) * size + 64.0 * slopes / min(half, 1.0))
    error = lebesgue * float(errors.max()) + truncation + rounding
    return PolynomialPiece(low, high, coefficients, error)
