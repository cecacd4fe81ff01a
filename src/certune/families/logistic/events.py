"""Events of the l1 path: coefficients that enter or leave, and columns that need not.

An event happens where a coefficient reaches zero or where the gradient of one that is zero reaches
lam. What follows here is local: which events the tangent of the path predicts, which have to
happen at the very place of a solution, and how the face changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certune.families.logistic.newton import Node
from certune.families.logistic.support import Face

FloatArray = npt.NDArray[np.float64]

# Events closer than this, relative to lam, are one event.
TOGETHER = 1e-11
# A column is a combination of others if what they leave of it is below this share.
DEPENDENT = 1e-10
CLEARLY_INDEPENDENT = 1e-5


@dataclass(frozen=True)
class Event:
    """A coefficient that reaches zero (sign 0), or whose gradient reaches sign * lam."""

    column: int
    sign: float


def is_unique(face: Face, node: Node) -> bool:
    """Tell whether no column at the bound could take part without changing any prediction."""
    gradient, _ = gradients(face, node)
    at_bound = np.abs(gradient) >= node.lam * (1.0 - TOGETHER)
    at_bound[face.active] = False
    return not any(is_dependent(face, node, int(column)) for column in np.flatnonzero(at_bound))


def is_dependent(face: Face, node: Node, column: int) -> bool:
    """Tell whether a column is a combination of the active ones.

    Either on all rows, up to rounding, or on the rows whose weights in the Hessian are not
    negligible, so that it could not be factorised with the column. The gradient of such a column
    stays at lam as long as the face lasts, and it need not enter; the optimality conditions,
    which are checked at every solution, tell if it has to.
    """
    if node.factor is None:
        return False
    values, design = face.problem.transposed[column], face.smooth.design
    _, chances = face.smooth.gradient(node.lam, node.factor.anchor)
    weights = face.problem.row_weights * chances * (1.0 - chances)
    normal = face.smooth.transposed @ (weights * values) / len(values)
    size = float(weights @ values**2) / len(values)
    # What the others leave of the column, squared: roughly, but fast.
    if size - float(normal @ node.factor.solve(normal)) > CLEARLY_INDEPENDENT * size:
        return False
    for scale, share in ((np.ones(len(values)), DEPENDENT), (np.sqrt(weights), DEPENDENT**0.5)):
        rows, target = design * scale[:, None], values * scale
        combination = np.linalg.lstsq(rows, target, rcond=None)[0]
        left = float(np.linalg.norm(target - rows @ combination))
        if left <= share * float(np.linalg.norm(target)):
            return True
    return False


def predicted_events(face: Face, node: Node) -> list[tuple[float, Event]]:
    """Return where events would be if everything moved along its tangent."""
    n_active = face.active.size
    gradient, rate = gradients(face, node)
    with np.errstate(divide="ignore", invalid="ignore"):
        leaving = node.lam - node.point[:n_active] / node.slope[:n_active]
        entering = {sign: (gradient - rate * node.lam) / (sign - rate) for sign in (1.0, -1.0)}
    top = node.lam * (1.0 - TOGETHER)
    events = [
        (lam, Event(column, 0.0))
        for column, lam in zip(face.active.tolist(), leaving.tolist(), strict=True)
        if 0.0 < lam < top
    ]
    inactive = np.ones(gradient.size, dtype=bool)
    inactive[face.active] = False
    for sign, places in entering.items():
        columns = np.flatnonzero(inactive & (places > 0.0) & (places < top))
        events += [(float(places[column]), Event(int(column), sign)) for column in columns]
    return events


def gradients(face: Face, node: Node) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of the loss relative to the penalties, and its derivative by lam.

    For all features; those of active ones are lam in absolute value.
    """
    features, chances = face.problem.features, node.chances
    pulls = face.problem.row_weights * chances
    moving = pulls * (1.0 - chances) * (face.smooth.design @ node.slope)
    sizes = len(chances) * face.problem.penalties
    return features @ pulls / -sizes, features @ moving / sizes


def events_of(face: Face, node: Node, columns: list[int]) -> list[Event]:
    """Return the events that columns with violated optimality conditions stand for."""
    gradient, _ = gradients(face, node)
    active = set(face.active.tolist())
    return [
        Event(column, 0.0 if column in active else float(np.sign(gradient[column])))
        for column in columns
    ]


def event_at_once(face: Face, node: Node, dependent: Sequence[int]) -> Event | None:
    """Return an event at the very place of a solution, if the path cannot go on without it.

    Columns that depend on the active ones are left alone.
    """
    gradient, rate = gradients(face, node)
    close = np.abs(gradient) >= node.lam * (1.0 - TOGETHER)
    close[face.active] = False
    close[list(dependent)] = False
    # The first of several, so that columns that could replace each other enter in a fixed order.
    entering = np.flatnonzero(close & (np.sign(gradient) * rate < 1.0))
    if entering.size:
        return Event(int(entering[0]), float(np.sign(gradient[entering[0]])))
    point, slope = node.point[: face.active.size], node.slope[: face.active.size]
    at_zero = np.abs(point) <= node.radius + TOGETHER * node.lam * np.abs(slope)
    wrong = at_zero & (face.signs * slope > 0.0)
    return Event(int(face.active[np.argmax(wrong)]), 0.0) if wrong.any() else None


def after_event(face: Face, node: Node, event: Event) -> tuple[Face, Node]:
    """Let a coefficient enter or leave."""
    n_active, factor = face.active.size, None
    if event.sign:
        active = np.append(face.active, event.column)
        signs = np.append(face.signs, -event.sign)
        point = np.insert(node.point, n_active, 0.0)
        if node.factor is not None:
            column = face.problem.transposed[event.column]
            factor = face.smooth.with_column(node.factor, column, n_active)
    else:
        kept = face.active != event.column
        active, signs = face.active[kept], face.signs[kept]
        point = np.append(node.point[:n_active][kept], node.point[n_active:])
    changed = face.problem.face(active, signs)
    return changed, Node(node.lam, point, math.inf, np.zeros(point.size), node.chances, 0, factor)
