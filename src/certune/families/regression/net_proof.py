"""How far the solution of a face of the elastic net is from the minimum, on a whole interval.

The objective is strongly convex: its Hessian G + alpha (1 - ratio) I is at least
mu = smallest eigenvalue of G + alpha (1 - ratio). A point at which some subgradient has the length
eps is therefore at most eps / mu away from the minimum. On a face that subgradient has three parts:
what rounding leaves of the equations of the active coefficients, by how much gradients of others
exceed alpha ratio, and what happens if active coefficients of the wrong sign are set to zero.

That conditions hold between samples follows from second derivatives. With the eigenvalues d of
the active products, coefficients are combinations of w = (t - alpha ratio s) / (d + alpha nu),
nu = 1 - ratio, and

    |w''| = 2 nu |nu t + ratio s d| / (d + alpha nu)^3,

which decreases in alpha. A function f with |f''| <= M on an interval of width h is at least
the smaller of its values at the ends, provided that the larger of them, less the smaller, is at
least h^2 M / 2; and it is always at least that value less h^2 M / 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.families.regression.net_path import Face, NetPiece

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
FIRST_CELLS = 8
MOST_CELLS = 20_000
# A cell of this width relative to alpha is not halved again.
NARROWEST = 1e-13
# Violations below this, relative to what is compared, are not looked at closer.
NEGLIGIBLE = 1e-14


class Violations(NamedTuple):
    """By how much conditions of optimality can be violated on an interval.

    Attributes
    ----------
    signs : ndarray
        For each active coefficient, how far it can be on the wrong side of zero.
    gradients : ndarray
        For each column, by how much its gradient can exceed alpha ratio, if it is not active.
    """

    signs: FloatArray
    gradients: FloatArray


def distance_to_minimum(piece: NetPiece) -> float:
    """Bound the distance of a face's solution to the minimum, everywhere on a piece.

    Parameters
    ----------
    piece : NetPiece
        A part of a path of the elastic net, with a ratio below 1.
    """
    face, gram = piece.face, piece.face.gram
    convexity = gram.smallest_eigenvalue + piece.low * (1.0 - face.ratio)
    found = violations(piece)
    # Setting a coefficient to zero moves all gradients by its products, and by its own penalty.
    reach = np.sqrt((face.products**2).sum(axis=0)) + piece.high * (1.0 - face.ratio)
    ends = np.array([piece.low, piece.high])
    left_over = float(face.rounding(ends).max())
    length = left_over + float(np.linalg.norm(found.gradients)) + float(reach @ found.signs)
    return length / convexity + float(found.signs.sum())


def violations(piece: NetPiece) -> Violations:
    """Bound by how much conditions are violated anywhere on a piece.

    Parameters
    ----------
    piece : NetPiece
        A part of a path with a ratio below 1.
    """
    conditions = _Conditions(piece)
    worst = np.zeros(conditions.count)
    low = np.geomspace(piece.low, piece.high, FIRST_CELLS + 1)
    low[0], low[-1] = piece.low, piece.high
    low, high = low[:-1], low[1:]
    n_cells = 0
    while low.size:
        n_cells += low.size
        at_low, at_high = conditions.at(low), conditions.at(high)
        least, most = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
        width = (high - low)[:, None]
        bend = conditions.bend(low) * width**2
        with np.errstate(invalid="ignore"):
            # Conditions that hold by definition are infinite at both ends.
            simple = most - least >= 0.5 * bend
        bound = np.where(simple, least, least - 0.125 * bend)
        proved = simple | (bound >= -conditions.negligible)
        tiny = (high - low <= NARROWEST * high) | (n_cells > MOST_CELLS)
        done = proved.all(axis=1) | tiny
        worst = np.maximum(worst, -bound[done].min(axis=0, initial=0.0))
        low, high = low[~done], high[~done]
        middle = 0.5 * (low + high)
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
    n_active = piece.face.active.size
    return Violations(worst[:n_active], worst[n_active:].reshape(2, -1).max(axis=0, initial=0.0))


class _Conditions:
    """What must not be negative: signed active coefficients, and alpha ratio -+ each gradient.

    Parameters
    ----------
    piece : NetPiece
        The part of the path.
    """

    def __init__(self, piece: NetPiece) -> None:
        face = piece.face
        self._face, self._nu = face, 1.0 - face.ratio
        self._signed, self._pulls = _combinations(face)
        ends = np.array([piece.low, piece.high])
        sizes = np.abs(face.coefficients(ends)).max(axis=0, initial=0.0)
        gradients = np.full(face.gram.sizes.size, float(face.rounding(ends).max()))
        # Coefficients are products with a few terms; gradients are rounded like their equations.
        length = float(np.linalg.norm(sizes))
        own = np.full(face.active.size, (face.active.size + 8) * UNIT * length)
        self._reach = np.concatenate((own, gradients, gradients))
        scale = np.concatenate(
            (np.full(own.size, length), *(2 * [np.full(gradients.size, piece.high)]))
        )
        self.negligible = 2.0 * self._reach + NEGLIGIBLE * scale

    @property
    def count(self) -> int:
        """Number of conditions."""
        return int(self._reach.size)

    def at(self, alphas: FloatArray) -> FloatArray:
        """Return the conditions less their rounding errors, a row for each alpha."""
        weights = self._face.weights(alphas)
        gradients = self._face.gram.targets - weights @ self._pulls.T
        bound = alphas[:, None] * self._face.ratio
        outside = np.concatenate((bound - gradients, bound + gradients), axis=1)
        outside[:, self._closed] = np.inf
        if self._face.gram.positive:
            outside[:, gradients.shape[1] :] = np.inf
        together = np.concatenate((weights @ self._signed.T, outside), axis=1)
        return np.asarray(together - self._reach)

    @property
    def _closed(self) -> npt.NDArray[np.intp]:
        """Places of conditions on gradients of active columns, which hold by definition."""
        return np.concatenate((self._face.active, self._face.active + self._face.gram.sizes.size))

    def bend(self, alphas: FloatArray) -> FloatArray:
        """Bound the second derivatives at and above each alpha."""
        if not self._face.active.size:
            return np.zeros((alphas.size, self.count))
        values, _, targets, signs = self._face.modes()
        top = 2.0 * self._nu * np.abs(self._nu * targets + self._face.ratio * signs * values)
        bends = top / (values + alphas[:, None] * self._nu) ** 3
        outside = bends @ np.abs(self._pulls).T
        return np.concatenate((bends @ np.abs(self._signed).T, outside, outside), axis=1)


def _combinations(face: Face) -> tuple[FloatArray, FloatArray]:
    """Return how signed coefficients, and pulls at all columns, depend on the modes' weights."""
    if not face.active.size:
        return np.zeros((0, 0)), np.zeros((face.gram.sizes.size, 0))
    _, vectors, _, _ = face.modes()
    return face.signs[:, None] * vectors, face.products @ vectors
