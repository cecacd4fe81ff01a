"""Newton's method for convex problems along a path, and what one solution is.

A problem says what its gradient and Hessian are; the loss is such that moving every decision by at
most t changes the Hessian by at most the factor exp(t) (see
:mod:`certune.families.logistic.smooth`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, dtrtrs

from certune.errors import UndecidedError
from certune.kernels.logistic import FACTOR_SLACK, MOST_REFINEMENTS, NearFactor

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
MOST_STEPS = 200
# Once a step moves no margin by more than this, the factor of the Hessian is kept.
CLOSE = 0.1


@dataclass(frozen=True)
class Node:
    """A solution at one value of lam.

    Attributes
    ----------
    lam : float
        The parameter.
    point : ndarray
        Coefficients, the intercept last.
    radius : float
        Proved bound of the Euclidean distance to the exact solution.
    slope : ndarray
        Derivative of the solution with respect to lam, approximately.
    chances : ndarray
        Of every row, the probability of the other class.
    n_steps : int
        Hessians that were factorised.
    factor : Factor or None
        The last one, of a Hessian close to `point`.
    """

    lam: float
    point: FloatArray
    radius: float
    slope: FloatArray
    chances: FloatArray
    n_steps: int
    factor: Factor | None = None


@dataclass(frozen=True)
class Factor:
    """Cholesky factor L of the Hessian at a point, H = L L^T.

    Attributes
    ----------
    anchor : ndarray
        The point.
    lower : ndarray
        L.
    diagonal : ndarray
        Diagonal of H.
    n_rows : int
        Number of rows that the Hessian is a sum over.
    """

    anchor: FloatArray
    lower: FloatArray
    diagonal: FloatArray
    n_rows: int

    @cached_property
    def is_accurate(self) -> bool:
        """Whether the backward error is small against H itself.

        Summation and factorisation change the entry (i, j) of H by at most a multiple of
        sqrt(H_ii H_jj), whatever the scales of the columns.
        """
        spread = np.abs(self._inverse) @ np.sqrt(self.diagonal)
        rounding = (self.n_rows + 8 * (len(self.lower) + 4)) * UNIT * float(spread @ spread)
        return rounding < FACTOR_SLACK - 1.0

    @cached_property
    def _inverse(self) -> FloatArray:
        inverse, _ = dtrtri(self.lower, lower=1)
        return np.asarray(inverse)

    def solve(self, vector: FloatArray) -> FloatArray:
        """Return H^-1 times a vector."""
        solution, _ = dpotrs(self.lower, vector, lower=1)
        return np.asarray(solution)

    def norm(self, vector: FloatArray) -> float:
        """Return the norm of a vector with respect to H^-1."""
        whitened, _ = dtrtrs(self.lower, vector, lower=1)
        return float(np.linalg.norm(whitened)) * FACTOR_SLACK

    @cached_property
    def inverse_norm(self) -> float:
        """Bound of the spectral norm of L^-1: its Frobenius norm."""
        return float(np.linalg.norm(self._inverse)) * FACTOR_SLACK

    @property
    def near(self) -> NearFactor:
        """The same as the compiled core takes it."""
        return NearFactor(self.lower, self.inverse_norm, self.anchor)


class PathProblem(Protocol):
    """What can be solved for every lam, with a proved error."""

    @property
    def size(self) -> int:
        """Number of unknowns."""

    def solve(self, lam: float, start: FloatArray, target: float) -> Node:
        """Return the solution at one lam."""

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients that a point, or rows of points, stand for."""


class NewtonProblem(ABC):
    """A convex problem for every lam, minimised by Newton's method with a proved error."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of unknowns."""

    @abstractmethod
    def gradient(self, lam: float, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the chances."""

    @abstractmethod
    def factor_at(self, lam: float, point: FloatArray, chances: FloatArray) -> Factor | None:
        """Factorise the Hessian at a point with these chances; None if it is singular."""

    @abstractmethod
    def reach(self, step: FloatArray) -> float:
        """Return by how much a step moves the decision of a row at most."""

    @abstractmethod
    def objective(self, lam: float, point: FloatArray) -> float:
        """Return the value that is minimised."""

    @abstractmethod
    def refined(
        self, lam: float, point: FloatArray, factor: Factor, moved: float, target: float
    ) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Refine a point with the factor of a Hessian close by, and bound its error.

        No decision differs by more than `moved` from where the factor belongs to. Returns the
        point, the bound of its distance to the solution, the slope and the chances.
        """

    @abstractmethod
    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients that a point, or rows of points, stand for."""

    def solve(self, lam: float, start: FloatArray, target: float) -> Node:
        """Minimise by Newton's method.

        Parameters
        ----------
        lam : float
            The parameter.
        start : ndarray
            Where to start.
        target : float
            Stop when the proved distance to the solution is below this, or when it does not get
            smaller any more.

        Raises
        ------
        UndecidedError
            If the Hessian is singular to working precision, so that no distance can be proved.
        """
        point = np.array(start, dtype=np.float64)
        for n_steps in range(1, MOST_STEPS + 1):
            gradient, chances = self.gradient(lam, point)
            factor = self.factor_at(lam, point, chances)
            if factor is None:
                raise _singular(lam)
            step = -factor.solve(gradient)
            reach = self.reach(step)
            point = point + self._share(lam, point, step, float(gradient @ step), reach) * step
            if reach <= CLOSE and factor.is_accurate:
                solution = self.refined(lam, point, factor, reach, target)
                if math.isfinite(solution[1]):
                    return Node(lam, *solution, n_steps, factor)
        raise _singular(lam)

    def _share(
        self, lam: float, point: FloatArray, step: FloatArray, descent: float, reach: float
    ) -> float:
        """Return which part of a Newton step to take: as much as decreases the objective.

        A part of log(1 + reach) / reach decreases it whatever the distance to the minimum.
        """
        if reach <= 1.0:
            return 1.0
        share, least = 1.0, math.log1p(reach) / reach
        value = self.objective(lam, point)
        while share > least:
            if self.objective(lam, point + share * step) <= value + 0.1 * share * descent:
                return share
            share *= 0.5
        return least


def refined_by(
    problem: NewtonProblem,
    judge: Callable[[FloatArray, float], tuple[FloatArray, float, FloatArray]],
    start: FloatArray,
    factor: Factor,
    moved: float,
    target: float,
) -> tuple[FloatArray, float, FloatArray]:
    """Refine a point with one factor for as long as its error bound gets smaller.

    Parameters
    ----------
    problem : NewtonProblem
        The problem.
    judge : callable
        Gets a point and a bound of how far its decisions are from where the factor belongs to;
        returns the gradient, the bound of the error, and the chances.
    start : ndarray
        The point.
    factor : Factor
        Of a Hessian close by.
    moved : float
        No decision at the start differs by more than this from where the factor belongs to.
    target : float
        The error that suffices.

    Returns
    -------
    tuple
        The best point, the bound of its error, and the chances there.
    """
    point, best, smallest, at_best = start, start, math.inf, np.empty(0)
    for _ in range(MOST_REFINEMENTS):
        gradient, radius, chances = judge(point, moved)
        gain = radius / smallest if radius < smallest else 1.0
        if radius < smallest or at_best.size == 0:
            best, smallest, at_best = point, radius, chances
        if smallest <= target or gain > 0.5:
            break
        step = -factor.solve(gradient)
        moved += problem.reach(step)
        point = point + step
    return best, smallest, at_best


def factorised(hessian: FloatArray, anchor: FloatArray, n_rows: int) -> Factor | None:
    """Return the factor of a Hessian, of which the lower half is read; None if it is singular."""
    sizes = np.einsum("ii->i", hessian).copy()
    lower, failed = dpotrf(hessian, lower=1, clean=1, overwrite_a=1)
    if failed or not math.isfinite(lower[-1, -1]):
        return None
    return Factor(anchor, lower, sizes, n_rows)


def _singular(lam: float) -> UndecidedError:
    return UndecidedError(
        f"The solution at lam = {lam:.6g} cannot be proved in double precision: some columns are "
        "(nearly) linearly dependent, or lam is too small for separable data; raise the lower end "
        "of the range, standardise the columns, or remove dependent ones."
    )
