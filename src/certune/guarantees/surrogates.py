"""Step functions close to smooth utilities: surrogates with a stated error.

What is computed on joint refinements needs piecewise constant functions. A smooth utility is within
xi of a step function, and `lm:balcan-refined-icml` carries whatever the steps say over to the
utility itself: the empirical Rademacher complexity differs by xi at most, and a setting that is
best for the steps is within 2 xi of the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial
from certune.dual.chebyshev import PolynomialPieces, RowArray
from certune.dual.integers import FloatArray
from certune.dual.maximum import Cells, halves, resolved, whole
from certune.dual.refinement import parts
from certune.errors import InputError
from certune.guarantees.refinement import refine

# Values of steps are multiples of a power of two that is this much finer than the error.
GRID = 64
# Error of surrogates where no other is asked for, as a share of the utility range.
SURROGATE_SHARE = Fraction(1, 1000)


class Surrogate(NamedTuple):
    """A step function and how far it is from the function that it stands for.

    Attributes
    ----------
    function : PiecewiseFunction
        The steps.
    error : Fraction
        Bound of the distance over the whole domain; 0 for the function itself.
    """

    function: PiecewiseFunction
    error: Fraction


@dataclass(frozen=True, eq=False)
class Smooth:
    """Utility functions of a sample that are not all piecewise constant, and their surrogates.

    Attributes
    ----------
    functions : tuple of PiecewiseFunction or PiecewisePolynomial
        The utility functions.
    surrogates : tuple of Surrogate
        A step function for each, made from it alone.
    """

    functions: tuple[DualFunction, ...]
    surrogates: tuple[Surrogate, ...]

    @property
    def steps(self) -> tuple[PiecewiseFunction, ...]:
        """The step functions."""
        return tuple(surrogate.function for surrogate in self.surrogates)

    @property
    def mean_error(self) -> Fraction:
        """Mean over instances of the distance of a utility from its surrogate, at most."""
        return sum((s.error for s in self.surrogates), Fraction(0)) / len(self.surrogates)


def smooth_sample(
    functions: Sequence[DualFunction], utility_range: tuple[Fraction, Fraction]
) -> Smooth | None:
    """Return the surrogates of a sample, None if all functions are piecewise constant.

    Parameters
    ----------
    functions : sequence of PiecewiseFunction or PiecewisePolynomial
        Utility functions over one domain.
    utility_range : tuple of Fraction
        Smallest and largest utility of any instance; errors are a thousandth of its length.
    """
    if all(isinstance(function, PiecewiseFunction) for function in functions):
        return None
    error = SURROGATE_SHARE * (utility_range[1] - utility_range[0])
    found = tuple(step_surrogate(function, error) for function in functions)
    return Smooth(tuple(functions), found)


class _Steps(NamedTuple):
    """Bounds of a function on intervals ``[starts, stops]``, in order, and their pieces."""

    rows: RowArray
    starts: FloatArray
    stops: FloatArray
    lower: FloatArray
    upper: FloatArray


def step_surrogate(function: DualFunction, error: Fraction) -> Surrogate:
    """Return a step function within about `error` of a function.

    O(V / error) steps for a total variation V. A piecewise constant function is its own surrogate;
    where the stated errors of a smooth function are larger than `error`, so is the result's.

    Parameters
    ----------
    function : PiecewiseFunction or PiecewisePolynomial
        The function.
    error : Fraction
        The distance to aim at, positive.

    Examples
    --------
    >>> hill = PiecewisePolynomial([0], [2], [[0.5, 0, -0.5]], [1e-12], [], [])
    >>> steps, error = step_surrogate(hill, Fraction(1, 16))
    >>> error <= Fraction(1, 15), steps.n_pieces < 32
    (True, True)
    >>> abs(steps(0.25) - hill(0.25)) <= error
    True
    """
    if isinstance(function, PiecewiseFunction):
        return Surrogate(function, Fraction(0))
    if not isinstance(function, PiecewisePolynomial) or not error > 0:
        raise InputError(
            "a surrogate needs a PiecewiseFunction or PiecewisePolynomial and a positive error, "
            f"got {type(function).__name__} and {error!r}"
        )
    pieces = function._pieces
    steps = _joined(_bounded(pieces, float(error)), 2 * float(error))
    # A power of two, so that nothing but the nearest multiple is rounded.
    grid = 2.0 ** math.ceil(math.log2(GRID / min(float(error), 1.0)))
    values = np.rint(0.5 * (steps.lower + steps.upper) * grid)
    reach = np.maximum(steps.upper - values / grid, values / grid - steps.lower).max()
    touching = steps.stops[:-1] == steps.starts[1:]
    before, after, rows = values[:-1], values[1:], steps.rows[:-1][~touching]
    gap_lower, gap_upper = np.minimum(before, after), np.maximum(before, after)
    gap_lower[~touching] = np.floor(pieces.gap_lower[rows] * grid)
    gap_upper[~touching] = np.ceil(pieces.gap_upper[rows] * grid)
    # Steps that touch are parted by one float, so that each place has one value.
    stops = steps.stops.copy()
    stops[:-1][touching] = np.nextafter(stops[:-1][touching], -np.inf)
    tops, lower, upper = (
        [int(value) for value in array.tolist()] for array in (values, gap_lower, gap_upper)
    )
    found = PiecewiseFunction(steps.starts, stops, tops, lower, upper, int(grid), function.name)
    return Surrogate(found, Fraction(math.nextafter(float(reach), math.inf)))


def sup_distance(first: DualFunction, second: DualFunction, resolution: Fraction) -> Fraction:
    """Bound the largest distance of two functions over all floats of a common domain.

    Parameters
    ----------
    first, second : PiecewiseFunction or PiecewisePolynomial
        The functions; the scales of their pieces may differ.
    resolution : Fraction
        The bound exceeds the distance by about four times this at most, gaps apart.
    """
    one, two = step_surrogate(first, resolution), step_surrogate(second, resolution)
    joint = refine((one.function, two.function))
    _, upper = joint.signed_suprema(np.array([[1, -1], [-1, 1]], dtype=np.int8))
    return Fraction(max(int(upper.max()), 0), joint.scale) + one.error + two.error


def _bounded(pieces: PolynomialPieces, error: float) -> _Steps:
    """Halve cells until the function varies by twice the error at most."""
    found: list[Cells] = []
    cells = whole(pieces)
    while cells.rows.size:
        done = (cells.upper - cells.lower <= 2.0 * error) | resolved(pieces, cells)
        found.append(cells.chosen(done))
        cells = halves(pieces, cells.chosen(~done))
    rows = np.concatenate([part.rows for part in found])
    left = np.concatenate([part.left for part in found])
    right = np.concatenate([part.right for part in found])
    starts, stops = pieces.places(rows, left), pieces.places(rows, right)
    # Parts that rounding has made empty are dropped; a piece that is a point has just one part.
    kept = (starts < stops) | (pieces.starts[rows] == pieces.stops[rows])
    order = np.lexsort((left[kept], rows[kept]))
    rows, starts, stops = (array[kept][order] for array in (rows, starts, stops))
    # Rounding has moved the ends, so that bounds are computed anew.
    return _Steps(rows, starts, stops, *parts(pieces, rows, starts, stops).bounds)


def _joined(steps: _Steps, most: float) -> _Steps:
    """Join neighbours that touch, as long as the function varies by `most` at most on them."""
    firsts = [0]
    low, high = float(steps.lower[0]), float(steps.upper[0])
    touching = (steps.stops[:-1] == steps.starts[1:]).tolist()
    rows = zip(touching, steps.lower[1:].tolist(), steps.upper[1:].tolist(), strict=True)
    for number, (touches, lower, upper) in enumerate(rows, start=1):
        if touches and max(high, upper) - min(low, lower) <= most:
            low, high = min(low, lower), max(high, upper)
        else:
            firsts.append(number)
            low, high = lower, upper
    lasts = [*(first - 1 for first in firsts[1:]), len(steps.rows) - 1]
    return _Steps(
        steps.rows[lasts],
        steps.starts[firsts],
        steps.stops[lasts],
        np.minimum.reduceat(steps.lower, firsts),
        np.maximum.reduceat(steps.upper, firsts),
    )
