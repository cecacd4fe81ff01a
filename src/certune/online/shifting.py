"""Regret against the best sequence of parameters with few shifts, exactly.

A learner that follows a best parameter which moves (`certune.online.fixed_share`) is to be held
against the best sequence that moves as often.  Where all functions together have n pieces and gaps,
the best total of a sequence that has shifted at most k times and is in cell c after a round is that
of staying in c, or of the best cell with k - 1 shifts, plus the utility of c: a dynamic programme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.online.regret import Regret
from certune.online.rounds import Round

# Totals of so many units are added in 64-bit integers without overflow; larger ones as Python's.
SAFE = 2**62


def shifting_regret(rounds: Iterable[Round], shifts: int) -> Regret:
    """Return the exact regret against the best sequence of parameters with a number of shifts.

    Parameters
    ----------
    rounds : iterable of Round
        The rounds of a run in their order, as `OnlineTuner.update` returns them; utilities are
        piecewise constant.
    shifts : int
        How often the sequence may move to another parameter, at least 0.

    Returns
    -------
    Regret
        Its best total is that of the sequence. With no shift this is the regret against the best
        fixed parameter. As there, the bounds differ where gaps of several functions coincide.

    Notes
    -----
    O(T n K) for T rounds, n pieces in all and K shifts.

    Examples
    --------
    >>> from certune.online import OnlineTuner
    >>> from certune.testing import StepFamily, StepInstance
    >>> tuner = OnlineTuner(StepFamily(), random_state=0)
    >>> steps = [StepInstance((0.5,), (i % 2, 1 - i % 2)) for i in (0, 0, 1, 1)]
    >>> rounds = [tuner.update(step) for step in steps]
    >>> [shifting_regret(rounds, shifts).best_bounds[0] for shifts in (0, 1)]
    [Fraction(2, 1), Fraction(4, 1)]
    """
    if isinstance(shifts, bool) or not isinstance(shifts, (int, np.integer)) or shifts < 0:
        raise ParameterError(f"shifts must be a whole number of at least 0, got {shifts!r}")
    played = _checked(rounds)
    lower, upper = (_best(played, int(shifts), which) for which in ("gap_lower", "gap_upper"))
    earned = [sum((item.utility_bounds[i] for item in played), Fraction(0)) for i in (0, 1)]
    return Regret(len(played), (lower, upper), (earned[0], earned[1]), None, None)


def _checked(rounds: Any) -> list[Round]:
    played = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not played or not all(isinstance(item, Round) for item in played):
        raise InputError(
            f"shifting_regret needs the rounds that OnlineTuner.update has returned, got {rounds!r}"
        )
    if not all(isinstance(dual, PiecewiseFunction) for item in played for dual in item.duals):
        raise InputError("shifting_regret needs piecewise constant utilities, got smooth ones")
    domains = [[(dual.low, dual.high) for dual in item.duals] for item in played]
    if any(domain != domains[0] for domain in domains):
        raise InputError("shifting_regret needs rounds of one run, and their lines differ")
    return played


def _best(rounds: list[Round], shifts: int, bounds: str) -> Fraction:
    """Return the best total of a sequence, counting gaps by one of their bounds."""
    functions: list[list[Any]] = [list(item.duals) for item in rounds]
    every = [function for row in functions for function in row]
    unit = math.lcm(*(int(function.denominator) for function in every))
    largest = max(
        abs(int(number)) * (unit // int(function.denominator))
        for function in every
        for numbers in (function.numerators, getattr(function, bounds))
        for number in numbers
    )
    kind = np.int64 if largest * len(rounds) < SAFE else object
    edges = [
        np.unique(np.concatenate([end for f in line for end in (f.starts, f.stops)]))
        for line in zip(*functions, strict=True)
    ]
    totals: npt.NDArray[Any] | None = None
    for row in functions:
        utilities = np.concatenate(
            [
                _on_cells(function, places, getattr(function, bounds), unit, kind)
                for function, places in zip(row, edges, strict=True)
            ]
        )
        if totals is None:
            totals = np.zeros((shifts + 1, utilities.size), dtype=kind)
        else:
            reached = totals.max(axis=1)
            totals[1:] = np.maximum(totals[1:], reached[:-1, None])
        totals += utilities
    assert totals is not None
    return Fraction(int(totals[-1].max()), unit)


def _on_cells(
    function: PiecewiseFunction,
    edges: npt.NDArray[np.float64],
    gaps: npt.NDArray[Any],
    unit: int,
    kind: Any,
) -> npt.NDArray[Any]:
    """Return utilities in units at all edges, then between each edge and the next."""
    factor = unit // int(function.denominator)
    values = function.numerators.astype(kind) * factor
    between = np.append(gaps.astype(kind) * factor, values[-1:])
    piece = np.searchsorted(function.starts, edges, side="right") - 1
    at = np.where(edges <= function.stops[piece], values[piece], between[piece])
    after = np.where(edges < function.stops[piece], values[piece], between[piece])
    return np.concatenate((at, after[:-1]))
