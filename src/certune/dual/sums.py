"""Sums and means of functions of one parameter.

Piecewise constant functions are added exactly. As soon as one summand has smooth pieces, so has
the sum, and all rounding is part of its stated errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import overload

from certune.checks import as_list
from certune.dual.function import DualFunction
from certune.dual.piecewise import PiecewiseFunction
from certune.dual.polynomial import PiecewisePolynomial
from certune.errors import ParameterError


@overload
def sum_of(functions: Iterable[PiecewiseFunction]) -> PiecewiseFunction: ...
@overload
def sum_of(functions: Iterable[DualFunction]) -> DualFunction: ...
def sum_of(functions: Iterable[DualFunction]) -> DualFunction:
    """Return the exact sum of functions over the same domain.

    A point at which every summand is decided lies in a piece of the sum, be it a single point
    between two gaps. Overlapping gaps merge, and their bounds are the extremes of the summed
    bounds; adding all functions at once gives bounds that are at least as tight as adding them
    one after the other.

    Parameters
    ----------
    functions : iterable of PiecewiseFunction or PiecewisePolynomial
        At least one function; all have the same domain.

    Returns
    -------
    PiecewiseFunction or PiecewisePolynomial
        The sum, with the common name of the functions, or ``"t"`` if their names differ. It is
        piecewise constant, and exact, if all functions are.

    Raises
    ------
    ParameterError
        If there is no function, or two domains differ.

    Notes
    -----
    O(B log B) for B gaps in all.

    Examples
    --------
    >>> step = PiecewiseFunction([0, 0.5], [0.25, 1], [0, 1], [0], [1], 2)
    >>> sum_of([step, step, step]).values
    array([0. , 1.5])
    """
    return _total(_as_list(functions))


@overload
def mean(functions: Iterable[PiecewiseFunction]) -> PiecewiseFunction: ...
@overload
def mean(functions: Iterable[DualFunction]) -> DualFunction: ...
def mean(functions: Iterable[DualFunction]) -> DualFunction:
    """Return the exact average of functions over the same domain.

    Parameters
    ----------
    functions : iterable of PiecewiseFunction or PiecewisePolynomial
        At least one function; all have the same domain.

    Returns
    -------
    PiecewiseFunction or PiecewisePolynomial
        The sum of the functions, see :func:`sum_of`, divided by their number.

    Raises
    ------
    ParameterError
        If there is no function, or two domains differ.

    Notes
    -----
    O(B log B) for B gaps in all.

    Examples
    --------
    >>> step = PiecewiseFunction([0, 0.5], [0.25, 1], [0, 1], [0], [1], 3)
    >>> mean([step, PiecewiseFunction.constant(0, 1, 1)]).max_exact
    Fraction(2, 3)
    """
    summands = _as_list(functions)
    return _total(summands) * Fraction(1, len(summands))


def _total(summands: list[DualFunction]) -> DualFunction:
    constants = [item for item in summands if isinstance(item, PiecewiseFunction)]
    if len(constants) == len(summands):
        return PiecewiseFunction._sum(constants)
    return PiecewisePolynomial._sum(summands)


def _as_list(functions: Iterable[DualFunction]) -> list[DualFunction]:
    summands = as_list("functions", functions, "pass a list of functions")
    if not summands:
        raise ParameterError("A sum or mean needs at least one PiecewiseFunction, got none.")
    for summand in summands:
        if not isinstance(summand, (PiecewiseFunction, PiecewisePolynomial)):
            raise ParameterError(
                f"Expected PiecewiseFunction or PiecewisePolynomial objects, got {summand!r}."
            )
    return summands
