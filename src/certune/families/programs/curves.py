"""Duals of programs whose utility is a smooth function on pieces, with proved errors.

A piece is cut until a polynomial of low degree is proved to be close enough on every part. Close
to a point where the utility is continuous but not smooth, such as the end of a square root, parts
shrink until a constant will do. See ``docs/theory/smooth-programs.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from certune.dual import PiecewisePolynomial
from certune.errors import CertuneError, UndecidedError
from certune.exact.dyadics import simplest
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.series import Polynomial, bounds_on, constant_on, polynomial_on
from certune.pfaffian.programs.sweep import Piece

MOST_PARTS = 10_000

Bounds = tuple[float, float]


class Part(NamedTuple):
    """A closed interval, and a polynomial that is close to the utility on it."""

    start: float
    stop: float
    polynomial: Polynomial


def smooth_dual(
    pieces: Sequence[Piece], gap_bounds: Sequence[Bounds], name: str, tolerance: float
) -> PiecewisePolynomial:
    """Return the utility along a line.

    Parameters
    ----------
    pieces : sequence of Piece
        Closed intervals from left to right, and the utility on each.
    gap_bounds : sequence of pair of float
        Bounds of the utility between them.
    name : str
        The coordinate.
    tolerance : float
        Errors are kept below a quarter of it wherever the utility is smooth.
    """
    parts: list[Part] = []
    lower: list[float] = []
    upper: list[float] = []
    for number, piece in enumerate(pieces):
        new = parts_of(piece, name, tolerance / 4)
        if number:
            lower.append(gap_bounds[number - 1][0])
            upper.append(gap_bounds[number - 1][1])
        lower += [0.0] * (len(new) - 1)
        upper += [0.0] * (len(new) - 1)
        parts += new
    width = max(len(part.polynomial.coefficients) for part in parts)
    return PiecewisePolynomial(
        [part.start for part in parts],
        [part.stop for part in parts],
        [_padded(part.polynomial.coefficients, width) for part in parts],
        [part.polynomial.error for part in parts],
        lower,
        upper,
        name=name,
    )


def _padded(coefficients: list[float], width: int) -> list[float]:
    return coefficients + [0.0] * (width - len(coefficients))


def parts_of(piece: Piece, name: str, error: float) -> list[Part]:
    """Cut a piece into parts on which a polynomial is proved to be as close as asked for.

    Only on parts that are too short to be cut may the error be larger.

    Raises
    ------
    UndecidedError
        If the utility has no finite bounds on such a part.
    """
    value = piece.value
    found: list[Part] = []
    pending = [(piece.start, piece.stop)]
    while pending:
        start, stop = pending.pop()
        polynomial = constant_on(value, name, start, stop)
        if polynomial is None or polynomial.error > error:
            close = polynomial_on(value, name, start, stop, error / 2) if start < stop else None
            if close is not None and close.error <= error:
                polynomial = close
            elif math.nextafter(start, math.inf) < stop:
                cut = _cut(start, stop)
                pending += [(cut, stop), (start, cut)]
                continue
        if polynomial is None:
            raise UndecidedError(
                f"the utility {value} has no proved bounds for {name} in [{start!r}, {stop!r}]: it "
                "is infinite or not defined there; choose a segment that ends before"
            )
        found.append(Part(start, stop, polynomial))
        if len(found) > MOST_PARTS:
            raise CertuneError(
                f"the utility {value} needs more than {MOST_PARTS} polynomials on "
                f"[{piece.start!r}, {stop!r}] alone; choose a shorter segment or a larger tolerance"
            )
    return found


def _cut(start: float, stop: float) -> float:
    """Return a simple number about the middle, as roots and poles are often at simple numbers."""
    first, last = math.nextafter(start, math.inf), math.nextafter(stop, -math.inf)
    low = min(max(first, 0.75 * start + 0.25 * stop), last)
    high = max(low, min(last, 0.25 * start + 0.75 * stop))
    return simplest(low, high)


def bounds_between(
    values: Sequence[Expression], name: str, low: float, high: float
) -> Bounds | None:
    """Return bounds of several expressions on an interval; None if one has none."""
    found = [bounds_on(value, name, low, high) for value in values]
    known = [bounds for bounds in found if bounds is not None]
    if len(known) < len(found):
        return None
    return min(bounds[0] for bounds in known), max(bounds[1] for bounds in known)
