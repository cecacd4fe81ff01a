"""l1-regularised logistic regression at one value of lam: the support, then Newton.

A proximal Newton method finds which coefficients are not zero; with their signs fixed the problem
is smooth, and :mod:`certune.families.logistic.smooth` solves it with an error bound.
The optimality conditions (Karush, Kuhn, Tucker) of all coefficients are checked at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from certune.errors import UndecidedError
from certune.families.logistic.smooth import UNIT, Node, SmoothProblem
from certune.kernels.coordinate_descent import penalised_minimum

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

MOST_ROUNDS = 300
MOST_SWEEPS = 1000
# Accuracy of a quadratic model's minimum, relative to lam.
SWEEP_TOLERANCE = 1e-9
# Coefficients at zero take part in a step if their gradient exceeds this share of lam.
SCREENING = 0.5
SMALLEST_SHARE = 1e-6
MOST_EXCHANGES = 20
# Columns are dependent if a combination with coefficients of norm 1 is below this share.
DEPENDENT = 1e-9
# The face is tried once a step moves no margin by more than this.
SETTLED = 0.1
# Conditions of optimality hold up to this, relative to lam, beyond the proved errors.
KKT_TOLERANCE = 1e-11


@dataclass(frozen=True)
class LassoProblem:
    """Data of an l1 problem.

    Attributes
    ----------
    design : ndarray of shape (m, d)
        Rows y_i x_i, or y_i (x_i, 1) with an intercept.
    n_features : int
        Number of columns without the intercept.
    """

    design: FloatArray
    n_features: int

    @property
    def has_intercept(self) -> bool:
        """Whether the last column is that of an intercept."""
        return bool(self.design.shape[1] > self.n_features)

    @cached_property
    def mean_sizes(self) -> FloatArray:
        """Mean absolute values of the columns, without the intercept."""
        sizes: FloatArray = np.abs(self.design[:, : self.n_features]).mean(axis=0)
        return sizes

    def gradient(self, coefficients: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        chances = expit(-(self.design @ coefficients))
        gradient: FloatArray = -(self.transposed @ chances) / len(chances)
        return gradient

    @cached_property
    def transposed(self) -> FloatArray:
        """The design with its columns as contiguous rows."""
        return np.ascontiguousarray(self.design.T)

    @property
    def features(self) -> FloatArray:
        """The columns of the features, as rows."""
        return self.transposed[: self.n_features]

    def null(self) -> FloatArray:
        """Return the best coefficients among those with nothing but an intercept."""
        coefficients = np.zeros(self.design.shape[1])
        if self.has_intercept:
            positive = np.count_nonzero(self.design[:, -1] > 0)
            coefficients[-1] = np.log(positive / (len(self.design) - positive))
        return coefficients

    def largest_lam(self) -> float:
        """Return the smallest lam at and above which all coefficients are zero."""
        return float(np.abs(self.gradient(self.null())[: self.n_features]).max(initial=0.0))

    def face(self, active: IndexArray, signs: FloatArray) -> Face:
        """Return the problem on the face of given non-zero coefficients and signs."""
        return Face(self, active, signs)


class Face:
    """The smooth problem with given active coefficients and signs.

    Parameters
    ----------
    problem : LassoProblem
        The whole problem.
    active : ndarray of int
        Coefficients that are not zero, without the intercept.
    signs : ndarray of float
        Their signs.
    """

    def __init__(self, problem: LassoProblem, active: IndexArray, signs: FloatArray) -> None:
        self.problem, self.active, self.signs = problem, active, signs
        extra = range(problem.n_features, problem.design.shape[1])
        self.columns = np.append(active, list(extra)).astype(np.intp)
        linear = np.append(signs, np.zeros(len(extra)))
        design = np.ascontiguousarray(problem.transposed[self.columns].T)
        self.smooth = SmoothProblem(design, linear, np.zeros(linear.size))

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients that a point of the face (or each of several) stands for."""
        coefficients = np.zeros((*point.shape[:-1], self.problem.design.shape[1]))
        coefficients[..., self.columns] = point
        return coefficients

    def solve(self, lam: float, start: FloatArray, target: float) -> Node:
        """Minimise on the face, not heeding the signs; a lone intercept has a closed form."""
        if self.active.size == 0:
            point = self.problem.null()[self.columns]
            radius = 4 * UNIT * float(np.abs(point).sum())
            chances = expit(-(self.smooth.design @ point))
            return Node(lam, point, radius, np.zeros(point.size), chances, 0)
        return self.smooth.solve(lam, start, target)

    def violations(self, nodes: Sequence[Node]) -> FloatArray:
        """Return by how much each coefficient violates its optimality condition, at most 0 if not.

        The result has a row for each of the nodes. For an active coefficient it is how far it
        lies beyond zero, for the others by how much the gradient exceeds lam; what the proved
        error of the solution explains is taken off.
        """
        problem, n_active = self.problem, self.active.size
        points = np.array([node.point for node in nodes])
        radii = np.array([node.radius for node in nodes])[:, None]
        lams = np.array([node.lam for node in nodes])[:, None]
        gradients = np.array([node.chances for node in nodes]) @ problem.features.T
        reach = 0.25 * self.smooth.largest_row * radii
        rounding = 4 * len(problem.design) * UNIT
        allowed = problem.mean_sizes * (reach + rounding) + KKT_TOLERANCE * lams
        beyond: FloatArray = np.abs(gradients) / len(problem.design) - lams - allowed
        beyond[:, self.active] = -self.signs * points[:, :n_active] - radii
        return beyond


def lasso_at(problem: LassoProblem, lam: float, target: float) -> tuple[Face, Node]:
    """Solve the problem at one value of lam.

    Parameters
    ----------
    problem : LassoProblem
        The data.
    lam : float
        The parameter, positive.
    target : float
        Aim for the proved error of the coefficients.

    Raises
    ------
    UndecidedError
        If no solution that fulfils the optimality conditions is found.
    """
    coefficients = problem.null()
    for _ in range(MOST_ROUNDS):
        before = coefficients
        coefficients = _proximal_step(problem, lam, before, problem.gradient(before))
        if np.abs(problem.design @ (coefficients - before)).max() <= SETTLED:
            solved = _solved_on_face(problem, lam, coefficients, target)
            if solved is not None:
                return solved
    raise UndecidedError(
        f"No solution at lam = {lam:.6g} fulfils the optimality conditions to working precision; "
        "standardise the columns, remove dependent ones, or raise the lower end of the range."
    )


def _solved_on_face(
    problem: LassoProblem, lam: float, coefficients: FloatArray, target: float
) -> tuple[Face, Node] | None:
    """Solve on the face of given coefficients, or on one close by; None if that is no solution.

    Close to an event a coefficient is zero up to rounding, and which side it is on shows only
    when the problem is solved: those beyond zero leave, and the worst of the others enters.
    """
    coefficients = _without_dependence(problem, coefficients)
    active = np.flatnonzero(coefficients[: problem.n_features])
    signs = np.sign(coefficients[active])
    for _ in range(MOST_EXCHANGES):
        face = problem.face(active, signs)
        try:
            node = face.solve(lam, coefficients[face.columns], target)
        except UndecidedError:
            # On a wrong face there may be no minimum at all.
            return None
        [beyond] = face.violations([node])
        if (beyond <= 0.0).all():
            return face, node
        coefficients = face.expanded(node.point)
        kept = beyond[active] <= 0.0
        if kept.all():
            entering = int(np.argmax(beyond))
            sign = -np.sign(problem.gradient(coefficients)[entering])
            active, signs = np.append(active, entering), np.append(signs, sign)
        else:
            active, signs = active[kept], signs[kept]
    return None


def _without_dependence(problem: LassoProblem, coefficients: FloatArray) -> FloatArray:
    """Return coefficients with the same predictions whose active columns are independent.

    Along a combination of columns that is zero the loss does not change, and at a minimum nor
    does the penalty as long as no sign changes: move along it until a coefficient is zero.
    """
    p, coefficients = problem.n_features, coefficients.copy()
    while True:
        active = np.flatnonzero(coefficients[:p])
        columns = np.append(active, np.arange(p, coefficients.size))
        _, sizes, directions = np.linalg.svd(problem.design[:, columns], full_matrices=True)
        rank = np.count_nonzero(sizes > DEPENDENT * sizes.max(initial=0.0))
        if rank == columns.size:
            return coefficients
        direction = directions[-1]
        with np.errstate(divide="ignore"):
            steps = -coefficients[active] / direction[: active.size]
        nearest = int(np.argmin(np.abs(steps)))
        coefficients[columns] += steps[nearest] * direction
        coefficients[active[nearest]] = 0.0


def _proximal_step(
    problem: LassoProblem, lam: float, coefficients: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Minimise the quadratic model of the loss plus the penalty, then search along the line.

    Coefficients that are zero and whose gradient is small against lam are left alone.
    """
    p = problem.n_features
    working = (coefficients != 0.0) | (np.abs(gradient) > SCREENING * lam)
    working[p:] = True
    columns = np.flatnonzero(working)
    n_penalised = int(np.count_nonzero(columns < p))
    design = problem.design[:, columns]
    chances = expit(-(problem.design @ coefficients))
    weights = chances * (1.0 - chances) / len(chances)
    hessian = np.ascontiguousarray(design.T @ (design * weights[:, None]))
    before = coefficients[columns]
    linear = hessian @ before - gradient[columns]
    after = penalised_minimum(
        hessian, linear, before, n_penalised, lam, MOST_SWEEPS, SWEEP_TOLERANCE * lam
    )
    shrunk = np.abs(after[:n_penalised]).sum() - np.abs(before[:n_penalised]).sum()
    expected = float(gradient[columns] @ (after - before)) + lam * float(shrunk)
    value, share = _objective(problem, lam, coefficients), 1.0
    while share > SMALLEST_SHARE:
        trial = coefficients.copy()
        trial[columns] = after if share == 1.0 else before + share * (after - before)
        if _objective(problem, lam, trial) <= value + 0.1 * share * expected:
            return trial
        share *= 0.5
    return trial


def _objective(problem: LassoProblem, lam: float, coefficients: FloatArray) -> float:
    losses = np.logaddexp(0.0, -(problem.design @ coefficients))
    return float(losses.mean() + lam * np.abs(coefficients[: problem.n_features]).sum())
