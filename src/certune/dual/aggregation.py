"""Aggregates of functions of one parameter: mean, minimum, quantile and tail mean, pointwise.

Aggregates of piecewise constant functions are exact. As soon as one function has smooth pieces, so
has the aggregate, and what is not known about its order is part of its stated errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from certune.aggregates import Criterion, Mean
from certune.dual.function import DualFunction
from certune.dual.piecewise import PiecewiseFunction
from certune.dual.polynomial import PiecewisePolynomial
from certune.dual.sums import mean, sum_of


def aggregated(functions: Sequence[DualFunction], criterion: Criterion) -> DualFunction:
    """Return the pointwise aggregate of functions over the same domain.

    Parameters
    ----------
    functions : sequence of PiecewiseFunction or PiecewisePolynomial
        At least one function; all have the same domain.
    criterion : Criterion
        The aggregate, with a weight for each function.

    Returns
    -------
    PiecewiseFunction or PiecewisePolynomial
        Piecewise constant, and exact, if all functions are. In gaps its bounds are the aggregates
        of the bounds.

    Examples
    --------
    >>> from certune.aggregates import Minimum
    >>> step = PiecewiseFunction([0, 0.5], [0.25, 1], [0, 2], [0], [2], 2)
    >>> half = PiecewiseFunction.constant(0, 1, 0.5)
    >>> aggregated([step, half], Criterion(Minimum())).values
    array([0. , 0.5])
    """
    if criterion.is_plain:
        return mean(functions)
    if isinstance(criterion.aggregate, Mean):
        weights, total = criterion.units(len(functions))
        weighted = [item * weight for item, weight in zip(functions, weights, strict=True)]
        return sum_of(weighted) * Fraction(1, total)
    constants = [item for item in functions if isinstance(item, PiecewiseFunction)]
    if len(constants) == len(functions):
        return PiecewiseFunction._tail(constants, criterion)
    return PiecewisePolynomial._tail(functions, criterion)
