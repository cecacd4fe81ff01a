"""Floats at which many utilities change at once.

A threshold that is a constant of the algorithm is a breakpoint of every instance: a float whose two
neighbours are decided, and which is not itself. On a joint refinement each function may then take
either value independently of the others, though in truth all have changed or none has. Running the
algorithm at such floats settles it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from certune.dual import PiecewiseFunction
from certune.errors import UndecidedError


def decided_at_shared_points(
    functions: Sequence[PiecewiseFunction], run: Callable[[int, float], Fraction]
) -> list[PiecewiseFunction]:
    """Return the functions with their values at floats that are alone in gaps of several.

    Parameters
    ----------
    functions : sequence of PiecewiseFunction
        Utility functions over one domain.
    run : callable
        Gives the utility of an instance (by its number) at a float.

    Examples
    --------
    >>> before, after = math.nextafter(0.5, 0), math.nextafter(0.5, 1)
    >>> steps = [
    ...     PiecewiseFunction([0, after], [before, 1], [0, k], [0], [k], 2) for k in (1, 2)
    ... ]
    >>> steps[0](0.5)
    nan
    >>> decided_at_shared_points(steps, lambda number, t: Fraction(0))[0](0.5)
    0.0
    """
    places = [_lonely_floats(function) for function in functions]
    distinct = dict(zip(functions, places, strict=True))
    counts = Counter(t for found in distinct.values() for t in found)
    known: dict[PiecewiseFunction, PiecewiseFunction] = {}
    for number, function in enumerate(functions):
        if function in known:
            continue
        values = {}
        for t in places[number]:
            if counts[t] > 1:
                try:
                    values[t] = run(number, t)
                except UndecidedError:
                    continue
        known[function] = _with_points(function, values)
    return [known[function] for function in functions]


def _lonely_floats(function: PiecewiseFunction) -> list[float]:
    """Floats that are the only ones in their gaps."""
    inside = np.nextafter(function.stops[:-1], np.inf)
    alone = np.nextafter(inside, np.inf) == function.starts[1:]
    return [float(t) for t in inside[alone]]


def _with_points(function: PiecewiseFunction, values: dict[float, Fraction]) -> PiecewiseFunction:
    """Return a function with pieces that are single points added inside gaps."""
    if not values:
        return function
    points = sorted(values)
    gaps = np.searchsorted(function.stops, points) - 1
    denominator = math.lcm(function.denominator, *(v.denominator for v in values.values()))
    factor = denominator // function.denominator
    tops = [int(values[t] * denominator) for t in points]

    def scaled(integers: np.ndarray, added: list[int]) -> list[int]:
        whole = np.array([int(entry) * factor for entry in integers], dtype=object)
        return list(np.insert(whole, gaps + 1, added))

    lower, upper = (
        scaled(bound, [int(entry) * factor for entry in bound[gaps]])
        for bound in (function.gap_lower, function.gap_upper)
    )
    return PiecewiseFunction(
        np.insert(function.starts, gaps + 1, points),
        np.insert(function.stops, gaps + 1, points),
        scaled(function.numerators, tops),
        lower,
        upper,
        denominator,
        function.name,
    )
