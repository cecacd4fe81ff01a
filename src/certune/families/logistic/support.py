"""l1-regularised logistic regression at one value of lam: the support, then Newton.

A proximal Newton method finds which coefficients are not zero; with their signs fixed the problem
is smooth, and :mod:`certune.families.logistic.smooth` solves it with an error bound.
The optimality conditions (Karush, Kuhn, Tucker) of all coefficients are checked at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from certune.errors import UndecidedError
from certune.families.logistic.newton import UNIT, Node
from certune.families.logistic.smooth import SmoothProblem
from certune.kernels.logistic import accurate_transposed_product, penalised_minimum

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
    penalties : ndarray of shape (p,)
        Factors of lam in the penalties of the features; d - p is 1 with an intercept, else 0.
    weights : ndarray of shape (m,), optional
        Weights of the rows, of mean 1.
    """

    design: FloatArray
    penalties: FloatArray
    weights: FloatArray | None = None

    @property
    def row_weights(self) -> Any:
        """Weights of the rows, or the number 1."""
        return 1.0 if self.weights is None else self.weights

    @property
    def n_features(self) -> int:
        """Number of columns without the intercept."""
        return self.penalties.size

    @property
    def has_intercept(self) -> bool:
        """Whether the last column is that of an intercept."""
        return bool(self.design.shape[1] > self.n_features)

    @cached_property
    def root_sizes(self) -> FloatArray:
        """Root (weighted) mean squares of the columns, without the intercept."""
        squares = self.design[:, : self.n_features] ** 2
        if self.weights is not None:
            squares *= self.weights[:, None]
        return np.asarray(np.sqrt(squares.mean(axis=0)))

    def gradient(self, coefficients: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        chances = expit(-(self.design @ coefficients))
        return self.loss_gradient(chances)

    def loss_gradient(self, chances: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss where the rows have these chances."""
        gradient: FloatArray = -(self.transposed @ (self.row_weights * chances)) / len(chances)
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
            is_second = self.design[:, -1] > 0
            second, first = (
                (self.row_weights * is_second).sum(),
                (self.row_weights * ~is_second).sum(),
            )
            coefficients[-1] = np.log(second / first)
        return coefficients

    def largest_lam(self) -> float:
        """Return the smallest lam at and above which all coefficients are zero."""
        sizes = np.abs(self.gradient(self.null())[: self.n_features]) / self.penalties
        return float(sizes.max(initial=0.0))

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
        linear = np.append(signs * problem.penalties[active], np.zeros(len(extra)))
        design = np.ascontiguousarray(problem.transposed[self.columns].T)
        self.smooth = SmoothProblem(design, linear, np.zeros(linear.size), weights=problem.weights)

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients that a point of the face (or each of several) stands for."""
        coefficients = np.zeros((*point.shape[:-1], self.problem.design.shape[1]))
        coefficients[..., self.columns] = point
        return coefficients

    def solve(self, lam: float, start: FloatArray, target: float) -> Node:
        """Minimise on the face, not heeding the signs; a lone intercept has a closed form."""
        if self.active.size == 0:
            point = self.problem.null()[self.columns]
            radius = 4 * UNIT * (1.0 + float(np.abs(point).sum())) if point.any() else 0.0
            chances = expit(-(self.smooth.design @ point))
            return Node(lam, point, radius, np.zeros(point.size), chances, 0)
        return self.smooth.solve(lam, start, target)

    def violations(self, nodes: Sequence[Node]) -> FloatArray:
        """Return by how much each coefficient violates its optimality condition, at most 0 if not.

        What the proved error of the solution and rounding explain is taken off. The result has a
        row for each of the nodes.
        """
        excess, explained = self.conditions(nodes)
        return excess - explained

    def conditions(self, nodes: Sequence[Node]) -> tuple[FloatArray, FloatArray]:
        """Return by how much optimality conditions are violated, and how much is explained.

        For an active coefficient this is how far it lies beyond zero, and the proved error. For
        the others it is by how much the gradient exceeds lam times the penalty. A step from the
        point to the solution, of length e in the norm of the Hessian, changes the gradient of
        column a by at most e sqrt(mean(w a^2)), and the weights w are at most 1/4.
        """
        problem, n_active = self.problem, self.active.size
        points = np.array([node.point for node in nodes])
        radii = np.array([node.radius for node in nodes])[:, None]
        bounds = np.array([node.lam for node in nodes])[:, None] * problem.penalties
        lengths = np.array([_length(node) for node in nodes])[:, None]
        explained = problem.root_sizes * (0.505 * lengths + 16 * UNIT) + KKT_TOLERANCE * bounds
        pulls = np.array([node.chances for node in nodes]) * problem.row_weights
        gradients = pulls @ problem.features.T
        excess: FloatArray = np.abs(gradients) / len(problem.design) - bounds
        summation = 2 * len(problem.design) * UNIT * problem.root_sizes
        unclear = np.abs(excess - explained) <= summation
        unclear[:, self.active] = False
        for row, column in np.argwhere(unclear).tolist():
            [gradient] = accurate_transposed_product(
                problem.design[:, column : column + 1], pulls[row]
            )
            excess[row, column] = abs(gradient) / len(problem.design) - bounds[row, column]
        excess[:, self.active] = -self.signs * points[:, :n_active]
        explained[:, self.active] = radii
        return excess, explained


def _length(node: Node) -> float:
    """Bound the distance to the solution in the norm of the Hessian."""
    return node.radius / node.factor.inverse_norm if node.factor else 0.5 * node.radius


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
            return _with_doubtful(problem, face, node, target)
        coefficients = face.expanded(node.point)
        kept = beyond[active] <= 0.0
        if kept.all():
            entering = int(np.argmax(beyond))
            sign = -np.sign(problem.gradient(coefficients)[entering])
            active, signs = np.append(active, entering), np.append(signs, sign)
        else:
            active, signs = active[kept], signs[kept]
    return None


def _with_doubtful(
    problem: LassoProblem, face: Face, node: Node, target: float
) -> tuple[Face, Node]:
    """Let coefficients enter whose conditions are violated by no more than errors explain.

    Next to an event that is a matter of rounding, but with almost dependent columns the solution
    may change a lot: the face on which all signs are right is taken.
    """
    for _ in range(MOST_EXCHANGES):
        [excess], _ = face.conditions([node])
        excess[face.active] = 0.0
        if (excess <= 0.0).all():
            break
        column = int(np.argmax(excess))
        gradient = -float(problem.features[column] @ (problem.row_weights * node.chances))
        wider = problem.face(
            np.append(face.active, column), np.append(face.signs, -np.sign(gradient))
        )
        try:
            solution = wider.solve(node.lam, face.expanded(node.point)[wider.columns], target)
        except UndecidedError:
            break
        inside = wider.signs * solution.point[: wider.active.size] >= 0.0
        if not inside.all() or (wider.violations([solution]) > 0.0).any():
            break
        face, node = wider, solution
    return face, node


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
    working = coefficients != 0.0
    working[:p] |= np.abs(gradient[:p]) > SCREENING * lam * problem.penalties
    working[p:] = True
    columns = np.flatnonzero(working)
    bounds = lam * problem.penalties[columns[columns < p]]
    design = problem.design[:, columns]
    chances = expit(-(problem.design @ coefficients))
    weights = problem.row_weights * chances * (1.0 - chances) / len(chances)
    hessian = np.ascontiguousarray(design.T @ (design * weights[:, None]))
    before = coefficients[columns]
    linear = hessian @ before - gradient[columns]
    after = penalised_minimum(hessian, linear, before, bounds, MOST_SWEEPS, SWEEP_TOLERANCE)
    shrunk = float(bounds @ (np.abs(after[: bounds.size]) - np.abs(before[: bounds.size])))
    expected = float(gradient[columns] @ (after - before)) + shrunk
    value, share = _objective(problem, lam, coefficients), 1.0
    while share > SMALLEST_SHARE:
        trial = coefficients.copy()
        trial[columns] = after if share == 1.0 else before + share * (after - before)
        if _objective(problem, lam, trial) <= value + 0.1 * share * expected:
            return trial
        share *= 0.5
    return trial


def _objective(problem: LassoProblem, lam: float, coefficients: FloatArray) -> float:
    losses = problem.row_weights * np.logaddexp(0.0, -(problem.design @ coefficients))
    penalty = problem.penalties @ np.abs(coefficients[: problem.n_features])
    return float(losses.mean() + lam * penalty)
