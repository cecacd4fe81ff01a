"""Which setting to take: rules beside the plain optimum.

With few instances the exact optimum may be a narrow peak of chance. Each rule here gives up a
little on the tuning instances for a setting that is likelier to stay good, and each is evaluated
exactly on the piecewise function, or up to the stated errors of a smooth one. Moving averages are
in :mod:`certune.guarantees.smoothing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.dual import DualFunction, PiecewiseFunction
from certune.dual.integers import as_fraction
from certune.dual.scales import middle
from certune.errors import ParameterError
from certune.space.values import shown_setting

# Standard errors are rounded down to multiples of 1 / FINEST where functions are smooth.
FINEST = 2**50


@dataclass(frozen=True)
class Selection:
    """A setting chosen by a rule.

    Attributes
    ----------
    rule : str
        Which rule.
    coordinate : float
        Coordinate t of the setting.
    interval : tuple of float
        The interval around it that the rule found, or the window of a moving average.
    value_exact : Fraction
        Mean utility at the setting; a lower bound where it is not decided.
    tolerance : Fraction
        How much worse than the optimum the rule allows a setting to be, 0 for moving averages.
    smoothed : tuple of Fraction, optional
        Bounds of the moving average at the setting.
    params : dict, optional
        Parameters of the setting by name.
    """

    rule: str
    coordinate: float
    interval: tuple[float, float]
    value_exact: Fraction
    tolerance: Fraction
    smoothed: tuple[Fraction, Fraction] | None = None
    params: dict[str, Any] | None = None

    @property
    def value(self) -> float:
        """Mean utility at the setting."""
        return float(self.value_exact)

    def __str__(self) -> str:
        params = {"t": self.coordinate} if self.params is None else self.params
        low, high = self.interval
        return (
            f"{shown_setting(params)}: mean utility {self.value:.6g}, chosen by the rule "
            f"{self.rule!r} from [{low:.6g}, {high:.6g}]"
        )


def optimum(landscape: DualFunction, rule: str = "optimum") -> Selection:
    """Choose the plain optimum, as tuning does.

    The interval is where the best value is attained; for a smooth function, it encloses the
    maximisers next to the best point.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean utility.
    rule : str, default="optimum"
        Name in the result.
    """
    best = landscape.best_point
    around = [(low, high) for low, high in landscape.argmax() if low <= best <= high]
    interval = around[0] if around else (best, best)
    return Selection(rule, best, interval, landscape.enclose_exact(best)[0], Fraction(0))


def widest_plateau(
    landscape: DualFunction, epsilon: Any = 0, rule: str = "plateau", scale: str = "linear"
) -> Selection:
    """Choose the centre of the widest interval within epsilon of the optimum.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean utility.
    epsilon : float, int or Fraction, default=0
        Tolerance, taken exactly.
    rule : str, default="plateau"
        Name in the result.
    scale : {"linear", "log"}, default="linear"
        How widths and centres are measured.
    """
    low, high = landscape.widest_plateau(epsilon, scale)
    centre = middle(low, high, scale)
    value = landscape.enclose_exact(centre)[0]
    return Selection(rule, centre, (low, high), value, as_fraction(epsilon) or Fraction(0))


def one_standard_error(
    landscape: DualFunction, duals: Sequence[DualFunction], scale: str = "linear"
) -> Selection:
    """Choose the widest interval within one standard error of the optimum.

    The standard error is that of the mean utility at the optimum. It is irrational in general;
    values of steps are compared with it by their squares, so that no rounding enters.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean of the utility functions.
    duals : sequence of PiecewiseFunction or PiecewisePolynomial
        At least two utility functions.
    scale : {"linear", "log"}, default="linear"
        How widths and centres are measured.
    """
    centre = optimum(landscape).coordinate
    utilities = [dual.enclose_exact(centre)[0] for dual in duals]
    # Values of steps are multiples of 1 / denominator.
    finest = landscape.denominator if isinstance(landscape, PiecewiseFunction) else FINEST
    tolerance = standard_error(utilities, finest)
    return widest_plateau(landscape, tolerance, "one-standard-error", scale)


def standard_error(utilities: Sequence[Fraction], denominator: int) -> Fraction:
    """Return the largest multiple of 1 / denominator up to the standard error of the mean.

    Parameters
    ----------
    utilities : sequence of Fraction
        Utilities of at least two instances.
    denominator : int
        What the result is rounded down to.
    """
    n = len(utilities)
    if n < 2:
        raise ParameterError(f"a standard error needs at least 2 instances, got {n}")
    mean = sum(utilities, Fraction(0)) / n
    square = sum(((u - mean) ** 2 for u in utilities), Fraction(0)) / (n * (n - 1))
    return Fraction(math.isqrt(math.floor(square * denominator**2)), denominator)
