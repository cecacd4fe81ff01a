"""Exact sums and means of piecewise constant functions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from certune.dual.piecewise import PiecewiseFunction
from certune.errors import ParameterError


def sum_of(functions: Iterable[PiecewiseFunction]) -> PiecewiseFunction:
    """Return the exact sum of functions over the same domain.

    A point at which every summand is decided lies in a piece of the sum, be it a single point
    between two gaps. Overlapping gaps merge, and their bounds are the extremes of the summed
    bounds; adding all functions at once gives bounds that are at least as tight as adding them
    one after the other.

    Parameters
    ----------
    functions : iterable of PiecewiseFunction
        At least one function; all have the same domain.

    Returns
    -------
    PiecewiseFunction
        The sum, with the common name of the functions, or ``"t"`` if their names differ.

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
    return PiecewiseFunction._sum(_as_list(functions))


def mean(functions: Iterable[PiecewiseFunction]) -> PiecewiseFunction:
    """Return the exact average of functions over the same domain.

    Parameters
    ----------
    functions : iterable of PiecewiseFunction
        At least one function; all have the same domain.

    Returns
    -------
    PiecewiseFunction
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
    return PiecewiseFunction._sum(summands) * Fraction(1, len(summands))


def _as_list(functions: Iterable[PiecewiseFunction]) -> list[PiecewiseFunction]:
    summands = list(functions)
    if not summands:
        raise ParameterError("A sum or mean needs at least one PiecewiseFunction, got none.")
    for summand in summands:
        if not isinstance(summand, PiecewiseFunction):
            raise ParameterError(f"Expected PiecewiseFunction objects, got {summand!r}.")
    return summands
