"""The path of the lasso and of the elastic net with a fixed ratio, from event to event.

The problem is to minimise |y - X b|^2 / (2 W) + alpha (ratio |b|_1 + (1 - ratio) |b|_2^2 / 2).
Where the active coefficients A and their signs s do not change (a *face*), the conditions of
optimality give, with G = X_A^T X_A / W and c = X_A^T y / W,

    (G + alpha (1 - ratio) I) b_A = c - alpha ratio s.

For the lasso b_A is linear in alpha. For the elastic net it is a rational function, which an
eigendecomposition of G turns into a sum of simple fractions. Going down from a large alpha, a face
ends at the largest alpha at which an active coefficient reaches zero, or the gradient of another
one reaches alpha * ratio. Each face is solved afresh, so that errors do not accumulate. If
coefficients must not be negative, all signs are 1 and gradients below zero pull at nothing.

The lasso's conditions are linear in alpha on a face: where they hold at both of its ends, they hold
in between. How far the elastic net can be from its minimum between the points at which events are
looked for is bounded by :mod:`certune.families.regression.net_proof`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.errors import UndecidedError
from certune.families.regression.gram import Gram, symmetric_modes
from certune.kernels.logistic import penalised_minimum

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

UNIT = 2.0**-53
MOST_FACES = 200_000
MOST_SWEEPS = 1000
SWEEP_TOLERANCE = 1e-12
MOST_EXCHANGES = 1000
MOST_STEPS = 10_000
# Columns that enter a working set together.
MOST_ENTERING = 64
# Events closer than this, relative to alpha, are one event.
TOGETHER = 1e-12
# Where a simple exchange does not lead on, the face is looked for this far below the event.
BELOW = 1e-9
# Conditions of optimality hold up to this, relative to the largest alpha that matters.
KKT_TOLERANCE = 1e-9
# Points of a face at which the elastic net looks for events, and their ratio.
SAMPLES = 24
SPAN = 0.25


@dataclass(frozen=True)
class Face:
    """Solutions with given active coefficients and signs.

    Attributes
    ----------
    gram : Gram
        The problem.
    ratio : float
        Share of the l1 penalty.
    active : ndarray of int
        Coefficients that are not zero.
    signs : ndarray of float
        Their signs.
    """

    gram: Gram
    ratio: float
    active: IndexArray
    signs: FloatArray

    @cached_property
    def products(self) -> FloatArray:
        """Products of the active columns with all columns."""
        return self.gram.columns(self.active)

    @cached_property
    def _modes(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = symmetric_modes(self.products[self.active])
        return np.maximum(values, 0.0), vectors

    @property
    def is_singular(self) -> bool:
        """Whether the columns depend on each other, so that the lasso has no unique solution."""
        if self.ratio < 1.0 or not self.active.size:
            return False
        values, _ = self._modes
        return bool(values[0] <= 1e-13 * self.active.size * values[-1])

    @property
    def smallest(self) -> float:
        """Smallest eigenvalue of the products of active columns."""
        return float(self._modes[0][0]) if self.active.size else math.inf

    @cached_property
    def _in_modes(self) -> tuple[FloatArray, FloatArray]:
        _, vectors = self._modes
        return vectors.T @ self.gram.targets[self.active], vectors.T @ self.signs

    def modes(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return eigenvalues, eigenvectors, and targets and signs in their basis."""
        return (*self._modes, *self._in_modes)

    def weights(self, alphas: FloatArray) -> FloatArray:
        """Return the active coefficients in the basis of eigenvectors, a row for each alpha."""
        if not self.active.size:
            return np.zeros((alphas.size, 0))
        values, _, targets, signs = self.modes()
        places = alphas[:, None]
        return np.asarray(
            (targets - places * self.ratio * signs) / (values + places * (1.0 - self.ratio))
        )

    def coefficients(self, alphas: FloatArray) -> FloatArray:
        """Return the active coefficients, a row for each alpha."""
        if not self.active.size:
            return np.zeros((alphas.size, 0))
        return np.asarray(self.weights(alphas) @ self._modes[1].T)

    def with_only(self, kept: npt.NDArray[np.bool_]) -> Face:
        """Return the face with some of its active coefficients."""
        return Face(self.gram, self.ratio, self.active[kept], self.signs[kept])

    def unfelt(self) -> FloatArray:
        """Return a change of the moduli of a singular face that predictions do not feel.

        The sum of moduli does not grow.
        """
        change = self.signs * self._modes[1][:, 0]
        return np.asarray(-change if change.sum() > 0.0 else change)

    def rate_of_fall(self) -> FloatArray:
        """Return by how much the lasso's active coefficients fall with a unit of alpha."""
        if not self.active.size:
            return np.zeros(0)
        values, vectors, _, signs = self.modes()
        return np.asarray(vectors @ (signs / values))

    def rounding(self, alphas: FloatArray) -> FloatArray:
        """Bound what is left over of the equations of the face, and the errors of all gradients.

        Products of columns are sums of m terms in floats: the equations are those of matrices and
        targets that differ by m u times the sizes of the columns. The decomposition, and sums over
        the k active columns, differ by a multiple of k u times the products themselves.
        """
        gram, count = self.gram, max(self.active.size, 1)
        lengths = np.linalg.norm(self.coefficients(alphas), axis=1)
        norm = math.sqrt(float(gram.sizes.sum()))
        own = math.sqrt(float(gram.sizes[self.active].sum()))
        response = float(np.linalg.norm(gram.data.targets)) / math.sqrt(gram.total)
        summed = (len(gram.data.rows) + 8) * norm * (own * lengths + response)
        pulls = float(np.linalg.norm(self.products)) * lengths + float(np.linalg.norm(gram.targets))
        combined = 8 * (count + 4) * (pulls + alphas * math.sqrt(count))
        return np.asarray(UNIT * (summed + combined))

    def slacks(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much conditions hold: signed active coefficients, and gradients to go.

        Gradients to go are ``alpha ratio - |gradient|``, infinite for active columns; without the
        modulus if coefficients must not be negative.
        """
        found = self.coefficients(alphas)
        gradients = self.gram.targets - found @ self.products.T
        to_go = alphas[:, None] * self.ratio - self.gram.urge(gradients)
        to_go[:, self.active] = np.inf
        to_go[:, self.gram.excluded] = np.inf
        return found * self.signs, to_go

    def slack_of(self, condition: int) -> Callable[[float], float]:
        """Return one of the functions of `slacks`, numbered through: coefficients, then columns."""
        values, vectors, targets, signs = self.modes()
        shrinking = 1.0 - self.ratio
        is_coefficient = condition < self.active.size
        if is_coefficient:
            row, constant = -self.signs[condition] * vectors[condition], 0.0
        else:
            column = condition - self.active.size
            row = self.products[column] @ vectors
            constant = float(self.gram.targets[column])

        def slack(alpha: float) -> float:
            weights = (targets - alpha * self.ratio * signs) / (values + alpha * shrinking)
            left = constant - float(row @ weights)
            if is_coefficient:
                return left
            return alpha * self.ratio - (left if self.gram.positive else abs(left))

        return slack


@dataclass(frozen=True)
class NetPiece:
    """A part of the path on one face."""

    low: float
    high: float
    face: Face


def largest_alpha(gram: Gram, ratio: float) -> float:
    """Return the smallest alpha at and above which all coefficients are zero."""
    targets = np.where(gram.excluded, 0.0, gram.urge(gram.targets))
    return float(targets.max(initial=0.0)) / ratio


def face_at(gram: Gram, ratio: float, alpha: float) -> Face:
    """Solve the problem at one alpha, without the path: coordinate descent, then exchanges.

    Descent works on a set of columns that grows by those whose conditions are violated most. Where
    it is slow, because columns depend on each other, exchanges go on from what it has reached.

    Raises
    ------
    UndecidedError
        If no face fulfils the conditions of optimality.
    """
    working = np.empty(0, dtype=np.intp)
    found, gradients = np.zeros(0), gram.targets
    bound = alpha * ratio
    for _ in range(MOST_EXCHANGES):
        beyond = np.where(gram.excluded, -np.inf, gram.urge(gradients) - bound)
        beyond[working] = -np.inf
        order = np.argsort(-beyond, kind="stable")[:MOST_ENTERING]
        new = order[beyond[order] > 1e-10 * bound]
        if not new.size:
            break
        working, found = np.append(working, new), np.append(found, np.zeros(new.size))
        products = gram.columns(working)
        hessian = products[working] + alpha * (1.0 - ratio) * np.eye(working.size)
        found = penalised_minimum(
            np.ascontiguousarray(hessian), gram.targets[working], found,
            np.full(working.size, bound), MOST_SWEEPS, SWEEP_TOLERANCE, gram.positive,
        )  # fmt: skip
        gradients = gram.targets - products @ found
    kept = found != 0.0
    return _descended(
        Face(gram, ratio, working[kept], np.sign(found[kept])), np.abs(found[kept]), alpha
    )


def exchanged(face: Face, alpha: float) -> Face:
    """Let coefficients leave and enter until the conditions of optimality hold."""
    while face.is_singular:
        face = face.with_only(np.arange(face.active.size) < face.active.size - 1)
    [held], _ = face.slacks(np.array([alpha]))
    kept = held > 0.0
    return _descended(face.with_only(kept), held[kept], alpha)


def _descended(face: Face, sizes: FloatArray, alpha: float) -> Face:
    """Descend from a point to the minimum, from one face to the next.

    On a face the objective is a parabola. The point moves towards its minimum there, or, where
    columns depend on each other, along what predictions do not feel, as far as all coefficients
    keep their signs; one that reaches zero on the way leaves. At the minimum of a face the column
    whose condition is violated most enters. No face is met twice, since every step makes the
    objective smaller (the feature-sign search of Lee, Battle, Raina and Ng 2007). A column that
    enters and leaves at once has a violation that is due to rounding.

    Parameters
    ----------
    face : Face
        The face of the point.
    sizes : ndarray
        The moduli of its active coefficients.
    alpha : float
        The weight of the penalty.
    """
    place = np.array([alpha])
    tolerance = 64 * UNIT * float(np.abs(face.gram.targets).max(initial=0.0)) + 1e-13 * alpha
    refused: set[int] = set()
    for _ in range(MOST_STEPS):
        aim = face.slacks(place)[0][0] if not face.is_singular else sizes + face.unfelt()
        falling = np.flatnonzero(aim < 0.0) if not face.is_singular else np.flatnonzero(aim < sizes)
        if falling.size:
            steps = sizes[falling] / (sizes[falling] - aim[falling])
            step = float(steps.min())
            leaving = falling[steps <= step]
            if step == 0.0:
                refused.update(face.active[leaving].tolist())
            else:
                refused.clear()
            sizes = np.maximum(sizes + step * (aim - sizes), 0.0)
            kept = ~np.isin(np.arange(sizes.size), leaving)
            face, sizes = face.with_only(kept), sizes[kept]
            continue
        _, [to_go] = face.slacks(place)
        to_go[list(refused)] = np.inf
        column = int(np.argmin(to_go))
        if to_go[column] >= -tolerance:
            return face
        face, sizes = entered(face, column, alpha), np.append(aim, 0.0)
    raise _stuck(alpha)


def entered(face: Face, column: int, alpha: float) -> Face:
    """Return the face with one more active coefficient."""
    [found] = face.coefficients(np.array([alpha]))
    gradient = face.gram.targets[column] - face.products[column] @ found
    return Face(
        face.gram,
        face.ratio,
        np.append(face.active, column),
        np.append(face.signs, 1.0 if gradient > 0.0 else -1.0),
    )


def net_path(gram: Gram, ratio: float, low: float, high: float) -> list[NetPiece]:
    """Follow the solution over ``[low, high]``.

    Parameters
    ----------
    gram : Gram
        The problem.
    ratio : float
        Share of the l1 penalty, ``0 < ratio <= 1``.
    low, high : float
        The range of alpha.

    Returns
    -------
    list of NetPiece
        Touching pieces, from low to high.

    Raises
    ------
    UndecidedError
        If the path cannot be followed.
    """
    pieces: list[NetPiece] = []
    start = largest_alpha(gram, ratio)
    nothing = Face(gram, ratio, np.empty(0, dtype=np.intp), np.empty(0))
    face, alpha = nothing, high
    if start <= high:
        alpha = max(start, low)
        if alpha < high:
            pieces.append(NetPiece(alpha, high, nothing))
        if alpha > low:
            face = _after(nothing, alpha, int(np.argmin(nothing.slacks(np.array([alpha]))[1][0])))
    else:
        face = _just_below(face_at(gram, ratio, high), high)
    while alpha > low:
        if len(pieces) > MOST_FACES:
            raise _stuck(alpha)
        event, column = _next_event(face, alpha, low)
        _check(face, event, alpha, start)
        pieces.append(NetPiece(event, alpha, face))
        if column is not None and event > low:
            face = _after(face, event, column)
        alpha = event
    return pieces[::-1]


def _after(face: Face, alpha: float, column: int) -> Face:
    """Return the face below an event at which a column enters or leaves.

    If the simple exchange is not optimal just below, because several events happen together, the
    face is looked for there.
    """
    kept = face.active != column
    if not kept.all():
        changed = face.with_only(kept)
    elif face.gram.copy_of(column, face.active) is not None:
        # A copy of an active column never needs to enter: the first one has the coefficient.
        changed = face
    else:
        changed = entered(face, column, alpha)
    return _just_below(face if changed.is_singular else changed, alpha)


def _just_below(face: Face, alpha: float) -> Face:
    """Return the face, or, if an event at alpha ends it there, the one that is optimal below."""
    below = alpha * (1.0 - BELOW)
    [held], [to_go] = face.slacks(np.array([below]))
    if held.min(initial=0.0) >= 0.0 and to_go.min(initial=0.0) >= -UNIT * alpha:
        return face
    return exchanged(face, below)


def _next_event(face: Face, alpha: float, low: float) -> tuple[float, int | None]:
    """Return the largest alpha below at which a condition stops to hold, and its column."""
    top = alpha * (1.0 - TOGETHER)
    events = _linear_events(face, top) if face.ratio == 1.0 else _rational_events(face, top, low)
    place, column = max(events, default=(low, None), key=lambda event: event[0])
    return (place, column) if place > low else (low, None)


def _linear_events(face: Face, top: float) -> list[tuple[float, int]]:
    """Return events of the lasso, whose coefficients and gradients are linear in alpha."""
    [at_zero] = face.coefficients(np.zeros(1))
    # A difference of coefficients at two alphas would be lost where both are small beside targets.
    falling = face.rate_of_fall()
    with np.errstate(divide="ignore", invalid="ignore"):
        leaving = at_zero / falling
    events = [
        (place, column)
        for place, column, slope in zip(
            leaving.tolist(),
            face.active.tolist(),
            (-falling * face.signs).tolist(),
            strict=True,
        )
        # Going down, the signed coefficient must fall.
        if slope > 0.0 and 0.0 < place < top
    ]
    start = face.gram.targets - face.products @ at_zero
    rate = face.products @ falling
    closed = face.gram.excluded.copy()
    closed[face.active] = True
    for sign in face.gram.allowed_signs:
        with np.errstate(divide="ignore", invalid="ignore"):
            places = start / (sign - rate)
        # The gradient sign * (start + rate alpha) catches up with alpha from below.
        usable = ~closed & (places > 0.0) & (places < top) & (sign * rate < 1.0)
        events += [(float(places[j]), int(j)) for j in np.flatnonzero(usable)]
    return events


def _rational_events(face: Face, top: float, low: float) -> list[tuple[float, int]]:
    """Return the first event of the elastic net: where a condition changes its sign, bisected."""
    while True:
        bottom = max(low, top * SPAN)
        places = np.geomspace(top, bottom, SAMPLES)
        places[0], places[-1] = top, bottom
        held, to_go = face.slacks(places)
        bad = np.column_stack((held, to_go)) < 0.0
        rows = np.flatnonzero(bad[1:].any(axis=1))
        if rows.size:
            row = int(rows[0]) + 1
            columns = np.flatnonzero(bad[row])
            found = [_bisected(face, c, places[row - 1], places[row]) for c in columns.tolist()]
            numbers = [*face.active.tolist(), *range(to_go.shape[1])]
            return [(place, numbers[c]) for place, c in zip(found, columns.tolist(), strict=True)]
        if bottom <= low:
            return []
        top = bottom


def _bisected(face: Face, condition: int, above: float, below: float) -> float:
    """Return where a condition, which holds above and not below, changes its sign."""
    slack = face.slack_of(condition)
    for _ in range(80):
        middle = math.sqrt(above) * math.sqrt(below)
        if not below < middle < above:
            break
        if slack(middle) < 0.0:
            below = middle
        else:
            above = middle
    return above


def _check(face: Face, low: float, high: float, largest: float) -> None:
    """Raise if the conditions of optimality are violated at the ends of a face, or inside."""
    places = np.array([low, high]) if face.ratio == 1.0 else np.geomspace(low, high, 5)
    held, to_go = face.slacks(places)
    scale = KKT_TOLERANCE * max(largest, high)
    sizes = np.abs(held).max(initial=0.0)
    if held.min(initial=0.0) < -KKT_TOLERANCE * max(sizes, 1e-300) or to_go.min() < -scale:
        raise _stuck(high)


def _stuck(alpha: float) -> UndecidedError:
    return UndecidedError(
        f"The path cannot be followed below alpha = {alpha:.6g}: columns depend on each other "
        "almost exactly; raise the lower end of the range, standardise, or remove columns."
    )
