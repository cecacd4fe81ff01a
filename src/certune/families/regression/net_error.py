"""The squared error of the lasso and of the elastic net on validation data, along the path.

On a face of the lasso residuals are linear in alpha and their mean square is a parabola. On a face
of the elastic net they are analytic in log alpha (:mod:`certune.families.regression.analytic`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewisePolynomial
from certune.families.regression.analytic import AnalyticFunction, polynomials
from certune.families.regression.centred import CentredData
from certune.families.regression.net_path import Face, NetPiece

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
            function = FaceError(data, piece.face).function()
            for part in polynomials(function, piece.low, piece.high, target):
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
    """

    def __init__(self, data: CentredData, face: Face) -> None:
        self.face, self.shares = face, data.shares
        rows, self.targets = data.validation
        self.rows = rows[:, face.active]
        self.spread = float(np.sqrt(self.shares @ (self.rows**2).sum(axis=1)))
        self.size = float(np.sqrt(self.shares @ self.targets**2))
        self._norm = float(np.sqrt(face.gram.sizes.sum()))
        self._count = len(data.rows) + 8 * (face.active.size + 4)
        self._response = float(np.linalg.norm(data.targets)) / np.sqrt(face.gram.total)

    def errors_of(self, coefficients: FloatArray, alphas: FloatArray) -> FloatArray:
        """Bound the errors of root mean squared residuals.

        Products of columns are summed in floats: the equations of the face are those of matrices
        and targets that differ by m u times the sizes of the columns, and the solution by that
        over the smallest eigenvalue.
        """
        lengths = np.linalg.norm(coefficients, axis=1)
        if not coefficients.shape[1]:
            return np.full(len(coefficients), 8 * UNIT * self.size)
        unit = self._count * UNIT
        off = unit * self._norm * (self._norm * lengths + self._response)
        off += unit * alphas * np.sqrt(coefficients.shape[1])
        floor = np.maximum(self.face.smallest + alphas * (1.0 - self.face.ratio), 1e-300)
        bound: FloatArray = self.spread * off / floor + unit * (self.size + self.spread * lengths)
        return bound

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
