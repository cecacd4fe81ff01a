"""The rules of `TuningResult.select`, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.checks import is_one_of
from certune.dual import DualFunction
from certune.dual.scales import widths
from certune.errors import ParameterError
from certune.guarantees import (
    Selection,
    best_simple_setting,
    one_standard_error,
    optimum,
    smoothed_optimum,
    widest_plateau,
)

RULES = ("optimum", "plateau", "one-standard-error", "smoothed", "guaranteed")
# Shares of the utility range and of the domain that plateau and smoothed rules use by default.
PLATEAU_SHARE = Fraction(1, 100)
WINDOW_SHARE = Fraction(1, 20)
# Confidence at which the guaranteed rule compares settings.
SELECTION_DELTA = Fraction(1, 20)


@dataclass(frozen=True)
class Options:
    """What rules need beside the functions.

    Attributes
    ----------
    epsilon, width : number, optional
        Options of the rules "plateau" and "smoothed".
    scale : {"linear", "log"}
        Scale of the parameter.
    span, lowest : Fraction
        Length of the utility range, and its lower end.
    """

    epsilon: Any
    width: Any
    scale: str
    span: Fraction
    lowest: Fraction


def chosen_by(
    rule: str, landscape: DualFunction, duals: Sequence[DualFunction], options: Options
) -> Selection:
    """Return the setting that a rule chooses.

    Parameters
    ----------
    rule : str
        One of `RULES`.
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean utility.
    duals : sequence of PiecewiseFunction or PiecewisePolynomial
        Utility functions of the tuning instances.
    options : Options
        Options of the rule, scale and utility range.

    Raises
    ------
    ParameterError
        For an unknown rule, and an option that the rule does not have.
    """
    if not is_one_of(rule, RULES):
        raise ParameterError(f"rule must be one of {list(RULES)}, got {rule!r}")
    for name, owner in (("epsilon", "plateau"), ("width", "smoothed")):
        if getattr(options, name) is not None and rule != owner:
            raise ParameterError(f"{name} is an option of the rule {owner!r}, not of {rule!r}")
    scale = options.scale
    if rule == "plateau":
        given = options.epsilon
        slack = PLATEAU_SHARE * options.span if given is None else given
        return widest_plateau(landscape, slack, scale=scale)
    if rule == "one-standard-error":
        return one_standard_error(landscape, duals, scale)
    if rule == "smoothed":
        return smoothed_optimum(landscape, _window(landscape, options), scale)
    if rule == "guaranteed":
        ends = (options.lowest, options.lowest + options.span)
        simple = best_simple_setting(landscape, duals, ends, SELECTION_DELTA, scale)
        value, t = landscape.enclose_exact(simple.coordinate)[0], simple.coordinate
        return Selection(rule, t, (t, t), value, Fraction(0))
    return optimum(landscape)


def _window(landscape: DualFunction, options: Options) -> Any:
    if options.width is not None:
        return options.width
    if options.scale == "linear":
        return WINDOW_SHARE * (Fraction(landscape.high) - Fraction(landscape.low))
    domain = np.array([[landscape.low, landscape.high]])
    return WINDOW_SHARE * Fraction(float(widths(domain, "log")[0]))
