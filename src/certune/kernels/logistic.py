"""Penalised logistic regression: steps to the minimum with a bound of what is left to go.

The loss is the mean of v_i log(1 + exp(-a_i . b)) over the rows a_i of a design with weights v_i;
the gradient of the penalty is lam (linear + quadratic * b). The error bound is derived in
:mod:`certune.families.logistic.smooth`. Sums run in a fixed order: the same bits on every machine
whose exponential function is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune._core import logistic as core
from certune.deadline import current_stop
from certune.kernels.arrays import Reals, reals

# Rounding errors of a factorisation may change its norms by this factor.
FACTOR_SLACK = core.FACTOR_SLACK
MOST_REFINEMENTS = core.MOST_REFINEMENTS


class Design:
    """The rows a_i, and the same matrix with its columns as rows: products read along rows.

    Parameters
    ----------
    rows : float64 array of shape (m, r)
        At least one.
    columns : float64 array of shape (r, m)
        The transpose.
    largest_row : float
        Bound of the Euclidean norms of the rows.
    weights : float64 array of shape (m,), optional
        Weights v_i of the rows, of mean 1; all 1 by default.
    """

    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        largest_row: float,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        own = reals(() if weights is None else weights)
        self.core = core.Design(reals(rows), reals(columns), own, largest_row)


class NearFactor:
    """Cholesky factor L of the Hessian L L^T at a point.

    Parameters
    ----------
    lower : float64 array of shape (r, r)
        L; quickest in the column order of LAPACK. What is above the diagonal is not read.
    inverse_norm : float
        Bound of the spectral norm of L^-1.
    anchor : float64 array of shape (r,)
        The point.
    """

    def __init__(
        self, lower: npt.NDArray[np.float64], inverse_norm: float, anchor: npt.ArrayLike
    ) -> None:
        self.core = core.Factor(reals(lower.T), inverse_norm)
        self.anchor = reals(anchor)


class Residual(NamedTuple):
    """Gradient of an objective, in twice the working precision and rounded once.

    Attributes
    ----------
    gradient : float64 array of shape (r,)
    rounding : float
        Bound of the Euclidean norm of the errors of the last operations.
    spread : float
        Bound of what errors of the chances amount to in the norm of H^-1.
    chances : float64 array of shape (m,)
        Of every row, the probability of the other class.
    """

    gradient: Reals
    rounding: float
    spread: float
    chances: Reals


class Solution(NamedTuple):
    """A minimum.

    Attributes
    ----------
    point : float64 array of shape (r,)
    radius : float
        Proved bound of the Euclidean distance to the minimum; infinite if there is none.
    slope : float64 array of shape (r,)
        Derivative of the minimum by lam, approximately.
    chances : float64 array of shape (m,)
        As in :class:`Residual`.
    """

    point: Reals
    radius: float
    slope: Reals
    chances: Reals


class Solutions(NamedTuple):
    """What :class:`Solution` has, as rows of arrays; rows without a radius are NaN."""

    points: Reals
    radii: Reals
    slopes: Reals
    chances: Reals


def accurate_residual(
    design: Design, point: npt.ArrayLike, penalty_gradient: npt.ArrayLike
) -> Residual:
    """Return the gradient of the loss plus that of the penalty, with bounds of its errors.

    Parameters
    ----------
    design : Design
    point, penalty_gradient : float64 arrays of shape (r,)
    """
    found = core.accurate_residual(
        design.core, reals(point), reals(penalty_gradient), current_stop()
    )
    return Residual(*found)


def distance_bound(nu: float, inverse_norm: float, largest_row: float) -> float:
    """Bound the distance to the minimum from the gradient's norm nu with respect to H^-1.

    Infinite if the gradient is too large for the bound to hold.
    """
    return core.distance_bound(nu, inverse_norm, largest_row)


def refined(
    design: Design,
    penalty: tuple[float, npt.ArrayLike, npt.ArrayLike],
    factor: NearFactor,
    start: npt.ArrayLike,
    moved: float,
    target: float,
) -> Solution:
    """Refine a point with the factor of a Hessian close by, and bound its error.

    Parameters
    ----------
    design : Design
    penalty : (float, float64 array of shape (r,), float64 array of shape (r,))
        lam, linear and quadratic part.
    factor : NearFactor
    start : float64 array of shape (r,)
    moved : float
        No margin at the start differs by more than this from where the factor belongs to. Every
        step gains a factor of about this.
    target : float
        The radius that suffices.
    """
    lam, linear, quadratic = penalty
    own = lam, reals(linear), reals(quadratic)
    return Solution(
        *core.refined(design.core, own, factor.core, reals(start), moved, target, current_stop())
    )


def solved_near(
    design: Design,
    linear: npt.ArrayLike,
    factor: NearFactor,
    lams: npt.ArrayLike,
    starts: npt.ArrayLike,
    target: float,
) -> Solutions:
    """Solve for several lam, without quadratic penalty, with one factor.

    Parameters
    ----------
    design : Design
    linear : float64 array of shape (r,)
        Linear part of the penalty.
    factor : NearFactor
    lams : float64 array of shape (k,)
    starts : float64 array of shape (k, r)
    target : float
        The radius that suffices.

    Returns
    -------
    Solutions
        The radius is infinite where the steps do not converge fast.
    """
    found = core.solved_near(
        design.core,
        factor.core,
        (reals(linear), factor.anchor),
        reals(lams),
        reals(starts),
        target,
        current_stop(),
    )
    return Solutions(*found)


def penalised_minimum(
    hessian: npt.ArrayLike,
    linear: npt.ArrayLike,
    start: npt.ArrayLike,
    weights: npt.ArrayLike,
    n_sweeps: int,
    tolerance: float,
    non_negative: bool = False,
) -> Reals:
    """Minimise ``z.H z / 2 - linear.z + weights.abs(z)``, the last for the first coordinates.

    Coordinate descent: every update minimises exactly along one coordinate, so that the objective
    never increases.

    Parameters
    ----------
    hessian : float64 array of shape (r, r)
        Coordinates without curvature stay where they are.
    linear, start : float64 arrays of shape (r,)
    weights : float64 array of shape (at most r,)
    n_sweeps : int
        Most sweeps.
    tolerance : float
        End when no coordinate has changed the gradient by more than this times its weight (the
        smallest weight for one without).
    non_negative : bool, default=False
        Whether no coordinate with a weight may be negative.
    """
    return core.penalised_minimum(
        reals(hessian),
        reals(linear),
        reals(start),
        reals(weights),
        non_negative,
        (n_sweeps, tolerance),
        current_stop(),
    )


def accurate_transposed_product(matrix: npt.ArrayLike, vector: npt.ArrayLike) -> Reals:
    """Return ``matrix.T @ vector`` in twice the working precision, rounded once.

    A component differs from the exact one by at most u times itself plus (m u)^2 times the sum of
    absolute products, u = 2**-53, for a matrix of shape (m, r).
    """
    return core.accurate_transposed_product(reals(matrix), reals(vector), current_stop())
