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
from certune.dual.chebyshev import PolynomialPieces
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


class _Step(NamedTuple):
    """Bounds of a function on ``[start, stop]``, both floats, and its piece."""

    row: int
    start: float
    stop: float
    lower: float
    upper: float


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
    steps = _merged(_bounded(pieces, float(error)), 2 * float(error))
    grid = 2 ** math.ceil(math.log2(GRID / min(float(error), 1.0)))
    values = [round((Fraction(s.lower) + Fraction(s.upper)) / 2 * grid) for s in steps]
    reach = max(
        max(Fraction(s.upper) - Fraction(v, grid), Fraction(v, grid) - Fraction(s.lower))
        for s, v in zip(steps, values, strict=True)
    )
    gaps = [
        _gap(pieces, steps[i], steps[i + 1], values[i], values[i + 1], grid)
        for i in range(len(steps) - 1)
    ]
    # Steps that touch are parted by one float, so that each place has one value.
    stops = [
        math.nextafter(left.stop, -math.inf) if left.stop == right.start else left.stop
        for left, right in zip(steps[:-1], steps[1:], strict=True)
    ]
    found = PiecewiseFunction(
        [step.start for step in steps],
        [*stops, steps[-1].stop],
        values,
        [low for low, _ in gaps],
        [high for _, high in gaps],
        grid,
        function.name,
    )
    return Surrogate(found, reach)


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


def _bounded(pieces: PolynomialPieces, error: float) -> list[_Step]:
    """Halve cells until the function varies by twice the error at most; from left to right."""
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
    lower, upper = parts(pieces, rows, starts, stops).bounds
    columns = (array.tolist() for array in (rows, starts, stops, lower, upper))
    return [_Step(*row) for row in zip(*columns, strict=True)]


def _merged(steps: list[_Step], most: float) -> list[_Step]:
    """Join neighbours that touch, as long as the function varies by `most` at most on them."""
    joined = [steps[0]]
    for step in steps[1:]:
        last = joined[-1]
        lower, upper = min(last.lower, step.lower), max(last.upper, step.upper)
        if last.stop == step.start and upper - lower <= most:
            joined[-1] = _Step(step.row, last.start, step.stop, lower, upper)
        else:
            joined.append(step)
    return joined


def _gap(
    pieces: PolynomialPieces, left: _Step, right: _Step, before: int, after: int, grid: int
) -> tuple[int, int]:
    """Bounds between two steps, times the grid: of the function, or of the steps if they touch."""
    if left.stop == right.start:
        return min(before, after), max(before, after)
    lower, upper = float(pieces.gap_lower[left.row]), float(pieces.gap_upper[left.row])
    return math.floor(Fraction(lower) * grid), math.ceil(Fraction(upper) * grid)
