"""The squared error of the lasso and of the elastic net on validation data, along the path.

On a face of the lasso residuals are linear in alpha and their mean square is a parabola. On a face
of the elastic net they are analytic in log alpha (:mod:`certune.families.regression.analytic`).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewisePolynomial
from certune.families.regression.analytic import AnalyticFunction, panels, polynomials
from certune.families.regression.centred import CentredData
from certune.families.regression.net_path import Face, NetPiece
from certune.families.regression.net_proof import distance_to_minimum

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53


def squared_error(
    data: CentredData, pieces: list[NetPiece], target: float, name: str
) -> PiecewisePolynomial:
    """Return the mean squared error on the validation data as a function of alpha.

    Parameters
    ----------
    data : CentredData
        The data.
    pieces : list of NetPiece
        The path.
    target : float
        Aim for interpolation errors of the elastic net.
    name : str
        Name of the parameter.
    """
    found: list[tuple[float, float, FloatArray, float]] = []
    is_lasso = pieces[0].face.ratio == 1.0
    for piece in pieces:
        if piece.high <= piece.low:
            continue
        if is_lasso:
            found.append((piece.low, piece.high, *_parabola(data, piece)))
        else:
            # The distance grows like 1 / alpha: its bound on a long face is that of its lower end.
            for low, high in panels(piece.low, piece.high):
                distance = distance_to_minimum(NetPiece(low, high, piece.face))
                function = FaceError(data, piece.face, distance).function()
                for part in polynomials(function, low, high, target):
                    found.append((part.low, part.high, part.coefficients, part.error))
    width = max(len(coefficients) for _, _, coefficients, _ in found)
    table = np.zeros((len(found), width))
    for row, (_, _, coefficients, _) in zip(table, found, strict=True):
        row[: len(coefficients)] = coefficients
    nothing = np.zeros(len(found) - 1)
    starts, stops, _, errors = zip(*found, strict=True)
    return PiecewisePolynomial(
        starts, stops, table, errors, nothing, nothing, name, "linear" if is_lasso else "log"
    )


class FaceError:
    """The mean squared error on one face, with bounds of its rounding errors.

    Parameters
    ----------
    data : CentredData
        The data.
    face : Face
        The face.
    distance : float, optional
        Bound of the distance of its solutions to the minimum, rounding of products included.
    """

    def __init__(self, data: CentredData, face: Face, distance: float | None = None) -> None:
        self.face, self.shares = face, data.shares
        rows, self.targets = data.validation
        self.rows = rows[:, face.active]
        self.spread = float(np.sqrt(self.shares @ (self.rows**2).sum(axis=1)))
        self.size = float(np.sqrt(self.shares @ self.targets**2))
        self._count = len(data.rows) + 8 * (face.active.size + 4)
        self._all_columns = float(np.sqrt(self.shares @ (rows**2).sum(axis=1)))
        self._distance = distance

    def errors_of(self, coefficients: FloatArray, alphas: FloatArray) -> FloatArray:
        """Bound the errors of root mean squared residuals.

        Those of the lasso's coefficients are what rounding leaves of the equations of the face,
        over the smallest eigenvalue; the elastic net's are within a known distance.
        """
        lengths = np.linalg.norm(coefficients, axis=1)
        unit = self._count * UNIT
        bound: FloatArray = unit * (self.size + self.spread * lengths)
        if self._distance is not None:
            return bound + self._all_columns * self._distance
        if not coefficients.shape[1]:
            return np.full(len(coefficients), 8 * UNIT * self.size)
        return bound + self._amplification * self.face.rounding(alphas)

    @cached_property
    def _amplification(self) -> float:
        """Bound |G^-1 x| over the validation rows x, in the mean square.

        The decomposition G' of the products G has |G - G'| <= e, and |G^-1 x| is at most
        |G'^-1 x| / (1 - e / mu), with the smallest eigenvalue mu of G.
        """
        values, vectors, _, _ = self.face.modes()
        off = self._count * UNIT * float(self.face.gram.sizes.sum())
        smallest = max(self.face.smallest - off, 1e-300)
        plain = self.spread / smallest
        if 2.0 * off > smallest:
            return plain
        lengths = np.linalg.norm(self.rows, axis=1)
        along = np.abs(self.rows @ vectors) + 4.0 * self._count * UNIT * lengths[:, None]
        directed = math.sqrt(float(self.shares @ (along / values) ** 2 @ np.ones(values.size)))
        return min(plain, directed / (1.0 - off / smallest))

    def function(self) -> AnalyticFunction:
        """Return the error as an analytic function of alpha."""
        return AnalyticFunction(self.values, self.bound)

    def values(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean squared errors and bounds of their errors."""
        coefficients = self.face.coefficients(alphas)
        values = (self.targets - coefficients @ self.rows.T) ** 2 @ self.shares
        off = self.errors_of(coefficients, alphas)
        return values, 2.0 * np.sqrt(values) * off + off**2 + len(self.targets) * UNIT * values

    def bound(self, smallest: float, largest: float) -> float:
        """Bound the error for complex alpha with a real part that is not negative."""
        if not self.face.active.size:
            return float(self.shares @ self.targets**2)
        values, vectors, targets, signs = self.face.modes()
        top = np.abs(targets) + largest * self.face.ratio * np.abs(signs)
        reach = top / np.hypot(values, smallest * (1.0 - self.face.ratio))
        together = np.abs(self.targets) + np.abs(self.rows @ vectors) @ reach
        return float(self.shares @ together**2)


def _parabola(data: CentredData, piece: NetPiece) -> tuple[FloatArray, float]:
    """Return Chebyshev coefficients of the parabola on a face of the lasso, and its error."""
    error = FaceError(data, piece.face)
    places = np.array([piece.low, 0.5 * (piece.low + piece.high), piece.high])
    low, middle, high = error.targets - piece.face.coefficients(places) @ error.rows.T
    half = 0.5 * (high - low)
    # Residuals are middle + s half on the piece: the square is m^2 + 2 s m h + s^2 h^2, and
    # s^2 = (1 + T_2(s)) / 2.
    square = float(error.shares @ half**2)
    start = float(error.shares @ middle**2)
    coefficients = np.array(
        [start + 0.5 * square, 2.0 * float(error.shares @ (middle * half)), 0.5 * square]
    )
    _, bounds = error.values(places)
    rounding = 16 * (len(low) + 8) * UNIT * (abs(start) + square)
    return coefficients, 2.0 * float(bounds.max()) + rounding
