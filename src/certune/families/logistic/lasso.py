"""The path of l1-regularised logistic regression: exact events, polynomials in between.

Going down from the largest lam, coefficients enter when their gradient reaches lam and leave when
they reach zero. Between such events the solution is smooth (:class:`Face`). An event is located
by Newton's method on the solution and lam together, and the optimality conditions are checked at
every solution that is computed; where they fail an event was missed, and the part of the path
above is followed again with shorter steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certune.errors import UndecidedError
from certune.families.logistic.events import (
    TOGETHER,
    Event,
    after_event,
    event_at_once,
    events_of,
    gradients,
    is_dependent,
    is_unique,
    predicted_events,
)
from certune.families.logistic.newton import Factor, Node
from certune.families.logistic.panels import Panel, PathPiece, Quantity
from certune.families.logistic.support import Face, LassoProblem, lasso_at

FloatArray = npt.NDArray[np.float64]

DEGREES = (4, 8, 16, 32)
# Ratios of lam from which on an interval starts with the second, and with the third degree.
WIDE = (1.5, 4.0)
CHECKS = (0.3,)
NODE_SHARE = 0.05
# Without an event the path is followed by this factor of lam at a time.
LONGEST_STEP = 0.01
MOST_EVENTS = 100_000
NEWTON_STEPS = 60
# An event is located when a step moves no margin by more than this.
EVENT_ACCURACY = 1e-12


@dataclass(frozen=True)
class LassoPiece:
    """A piece of the path and the columns of its coefficients."""

    piece: PathPiece
    face: Face


class _MissedEventError(Exception):
    """The optimality conditions fail at a solution: an event lies above it."""

    def __init__(self, lam: float) -> None:
        self.lam = lam


def lasso_path(
    problem: LassoProblem, low: float, high: float, quantity: Quantity, target: float
) -> list[LassoPiece]:
    """Follow the solution over ``[low, high]``.

    Parameters
    ----------
    problem : LassoProblem
        The data, without duplicate columns.
    low, high : float
        The range of lam, ``0 < low < high``.
    quantity : Quantity
        What is followed.
    target : float
        Aim for the error of the quantity.

    Returns
    -------
    list of LassoPiece
        Touching pieces, from low to high.

    Raises
    ------
    UndecidedError
        If the path cannot be followed to this error.
    """
    follower = _Follower(problem, low, quantity, target)
    follower.follow(high)
    return follower.pieces[::-1]


def lasso_solution(problem: LassoProblem, lam: float, target: float) -> tuple[Face, Node]:
    """Solve the problem at one value of lam.

    Columns that depend on each other can make several solutions equally good, with the same
    predictions on the training data but not elsewhere. Then the solution is, by definition, the
    one at which the path arrives from above.

    Parameters
    ----------
    problem : LassoProblem
        The data.
    lam : float
        The parameter, positive.
    target : float
        Aim for the proved error of the coefficients.
    """
    try:
        face, node = lasso_at(problem, lam, target)
    except UndecidedError:
        face = None
    if face is not None and is_unique(face, node):
        return face, node
    nothing = Quantity(lambda coefficients: np.zeros((*coefficients.shape[:-1], 1)), 1.0)
    follower = _Follower(problem, lam, nothing, target / NODE_SHARE)
    return follower.follow(2.0 * max(problem.largest_lam(), lam))


class _Follower:
    def __init__(
        self, problem: LassoProblem, low: float, quantity: Quantity, target: float
    ) -> None:
        self.problem, self.low, self.quantity, self.target = problem, low, quantity, target
        self.radius = NODE_SHARE * target / quantity.steepness
        self.pieces: list[LassoPiece] = []
        self.dependent: list[int] = []

    def follow(self, high: float) -> tuple[Face, Node]:
        """Collect the pieces downwards from `high`; return the solution at the lower end."""
        largest = self.problem.largest_lam()
        if high > largest:
            face = self.problem.face(np.empty(0, dtype=np.intp), np.empty(0))
            node = face.solve(max(largest, self.low), np.empty(0), self.radius)
            self.pieces.append(LassoPiece(self._constant(node, high), face))
        else:
            face, node = lasso_solution(self.problem, high, self.radius)
        if node.lam > self.low:
            face, node = self._consistent(face, node)
        for _ in range(MOST_EVENTS):
            if node.lam <= self.low:
                return face, node
            face, node = self._advance(face, node)
        raise _stuck(node.lam)

    def _constant(self, node: Node, high: float) -> PathPiece:
        """Return the piece on which all coefficients are zero."""
        value = self.quantity.of(self.problem.null())[None]
        error = self.quantity.steepness * node.radius
        return PathPiece(node.lam, high, node.point[None], value, error, 0.0, node.n_steps)

    def _advance(self, face: Face, node: Node) -> tuple[Face, Node]:
        """Go down to the next event, or by a step without one, and return what follows it."""
        lowest = max(self.low, LONGEST_STEP * node.lam)
        while True:
            try:
                end, event = self._next(face, node, lowest)
                pieces = self._covered(face, end, node)
            except _MissedEventError as missed:
                lowest = 0.5 * node.lam + 0.5 * missed.lam
                if not lowest < node.lam * (1.0 - TOGETHER):
                    raise _stuck(node.lam) from None
                continue
            self.pieces += pieces
            if event is None or end.lam <= self.low:
                return face, end
            return self._consistent(*after_event(face, end, event))

    def _covered(self, face: Face, end: Node, node: Node) -> list[LassoPiece]:
        """Return the path between two solutions on a face, downwards."""
        near = [solution.factor for solution in (node, end) if solution.factor is not None]

        def solve(lams: FloatArray, starts: FloatArray) -> list[Node]:
            solutions = face.smooth.solve_near(lams, starts, self.radius, near)
            missed = (face.violations(solutions) > 0.0).any(axis=1)
            if missed.any():
                raise _MissedEventError(float(lams[missed].max()))
            return solutions

        panel = Panel(end.lam, node.lam, solve, face.expanded, self.quantity, CHECKS)
        panel.put(end)
        panel.put(node)
        wide = sum(node.lam / end.lam > ratio for ratio in WIDE)
        piece = panel.sample(DEGREES[wide:], node.point, self.target)
        if piece is not None:
            return [LassoPiece(piece, face)]
        middle = panel.end(0.0)
        if not end.lam < middle.lam < node.lam:
            raise _stuck(node.lam)
        return [*self._covered(face, middle, node), *self._covered(face, end, middle)]

    def _next(self, face: Face, node: Node, lowest: float) -> tuple[Node, Event | None]:
        """Return the next event at or above `lowest` with its solution, or a solution there."""
        predicted = [
            pair
            for pair in predicted_events(face, node)
            if pair[0] > lowest and pair[1].column not in self.dependent
        ]
        lam, event = max(predicted, key=lambda pair: pair[0], default=(lowest, None))
        start = node.point + node.slope * (lam - node.lam)
        found = None
        if event is not None:
            found = self._located(face, event, lam, start, (lowest, node.lam), node.factor)
        if found is None:
            start = node.point + node.slope * (lowest - node.lam)
            event, found = None, self._solved(face, lowest, start, node.factor)
        for _ in range(self.problem.n_features):
            [beyond] = face.violations([found])
            if event is not None:
                beyond[event.column] = -np.inf
            columns = np.flatnonzero(beyond > 0.0).tolist()
            if not columns:
                return found, self._first_of_ties(face, found, event)
            # Something has happened above: the uppermost of these events is the next one.
            located = []
            for candidate in events_of(face, found, columns):
                span = (found.lam, node.lam)
                end = self._located(face, candidate, found.lam, found.point, span, found.factor)
                if end is not None:
                    located.append((end, candidate))
            if not located:
                raise _MissedEventError(found.lam)
            found, event = max(located, key=lambda pair: pair[0].lam)
        raise _stuck(node.lam)

    def _solved(self, face: Face, lam: float, start: FloatArray, factor: Factor | None) -> Node:
        if factor is None:
            return face.solve(lam, start, self.radius)
        [node] = face.smooth.solve_near(np.array([lam]), start[None], self.radius, [factor])
        return node

    def _first_of_ties(self, face: Face, node: Node, event: Event | None) -> Event | None:
        """Return the first column to enter, where several reach their bound together.

        Columns that could replace each other thus enter in a fixed order.
        """
        if event is None or not event.sign:
            return event
        gradient, _ = gradients(face, node)
        close = np.abs(gradient) >= node.lam * (1.0 - TOGETHER)
        close[event.column] = True
        close[face.active] = False
        for column in np.flatnonzero(close).tolist():
            if column not in self.dependent and not is_dependent(face, node, column):
                return Event(column, float(np.sign(gradient[column])))
        return None

    def _located(
        self,
        face: Face,
        event: Event,
        lam: float,
        point: FloatArray,
        span: tuple[float, float],
        factor: Factor | None,
    ) -> Node | None:
        """Find solution and lam of an event by Newton's method, from a guess of both.

        It starts with a factor from close by, which is kept as long as steps shrink fast.

        The equations are gradient + lam signs = 0 on the face, and h = 0 for the event, with
        h = coefficient, or h = its gradient relative to its penalty - sign lam.
        """
        smooth, normal, before = face.smooth, None, math.inf
        for _ in range(NEWTON_STEPS):
            gradient, chances = smooth.gradient(lam, point)
            if factor is None or normal is None:
                weights = chances * (1.0 - chances)
                factor = factor or smooth.factorise(lam, point, weights)
                if factor is None:
                    return None
                normal = self._normal(face, event, self.problem.row_weights * weights)
                slope = factor.solve(smooth.linear)
            bottom = -event.sign - float(normal @ slope)
            if bottom == 0.0:
                return None
            solved = factor.solve(gradient)
            value = self._value(face, event, lam, point, chances)
            change = -(value - float(normal @ solved)) / bottom
            step = -solved - slope * change
            reach = float(np.abs(smooth.design @ step).max(initial=0.0))
            share = min(1.0, 1.0 / max(reach, 1e-300))
            lam, point = lam + share * change, point + share * step
            if not 0.5 * span[0] < lam < 2.0 * span[1]:
                return None
            if reach < EVENT_ACCURACY:
                break
            if reach > 0.25 * before:
                factor = None
            before = reach
        else:
            return None
        if not span[0] <= lam <= span[1] * (1.0 - 0.5 * TOGETHER):
            return None
        return self._solved(face, lam, point, factor)

    def _normal(self, face: Face, event: Event, weights: FloatArray) -> FloatArray:
        """Return the derivative of the event's equation by the point."""
        if not event.sign:
            return np.asarray(face.columns == event.column, dtype=np.float64)
        column = self.problem.transposed[event.column]
        size = len(column) * float(self.problem.penalties[event.column])
        normal: FloatArray = face.smooth.transposed @ (weights * column) / size
        return normal

    def _value(
        self, face: Face, event: Event, lam: float, point: FloatArray, chances: FloatArray
    ) -> float:
        """Return the left side of the event's equation."""
        if not event.sign:
            return float(point[face.columns == event.column][0])
        column = self.problem.transposed[event.column]
        size = len(column) * float(self.problem.penalties[event.column])
        pulls = self.problem.row_weights * chances
        return -float(column @ pulls) / size - event.sign * lam

    def _consistent(self, face: Face, node: Node) -> tuple[Face, Node]:
        """Return the face on which the path goes on below a solution.

        A coefficient at zero must move in the direction of its sign as lam decreases, and a
        gradient at lam must fall behind it; ones that do not leave or enter too, which is how
        events that happen together are dealt with.
        """
        self.dependent = []
        for _ in range(2 * self.problem.n_features + 2):
            node = self._solved(face, node.lam, node.point, node.factor)
            event = event_at_once(face, node, self.dependent)
            if event is None:
                return face, node
            if event.sign and is_dependent(face, node, event.column):
                self.dependent.append(event.column)
            else:
                face, node = after_event(face, node, event)
                self.dependent = [] if not event.sign else self.dependent
        raise _stuck(node.lam)


def _stuck(lam: float) -> UndecidedError:
    return UndecidedError(
        f"The path cannot be followed beyond lam = {lam:.9g}: several coefficients change there at "
        "once, or columns are linearly dependent; remove such columns or raise the lower end of "
        "the range."
    )
