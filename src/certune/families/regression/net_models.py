"""The elastic net on one face as polynomials of degree two on a box of alpha and ratio.

On a box, alpha = a (1 + tau x) and ratio = r + sigma y with x and y in [-1, 1]. With the weights of
both penalties, lam1 = alpha ratio and lam2 = alpha (1 - ratio), a face (active coefficients and
their signs s) has the coefficients b = (K + d2)^-1 (K b0 - d1 s) where b0 belongs to the centre,
K = G + lam2 there, and d1, d2 are the changes of lam1 and lam2. Hence, with w = d2 b0 + d1 s,

    b = b0 - K^-1 w + d2 K^-2 w - d2^2 (K + d2)^-1 K^-2 w,

whose parts of degree at most two in (x, y) are kept and whose other parts are bounded. All of it
happens in the basis of eigenvectors of G, where K is diagonal. See
``docs/theory/regression-path.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram, symmetric_modes

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

UNIT = 2.0**-53
# Values at the control points of degree (2, 2) of 1, x, y, x^2, x y, y^2: a polynomial is a mean of
# its values there, with the Bernstein polynomials as weights.
_ONE, _LINE, _SQUARE = np.ones(3), np.array([-1.0, 0.0, 1.0]), np.array([1.0, -1.0, 1.0])
CONTROL = np.array(
    [
        np.outer(along, across).ravel()
        for along, across in (
            (_ONE, _ONE), (_LINE, _ONE), (_ONE, _LINE),
            (_SQUARE, _ONE), (_LINE, _LINE), (_ONE, _SQUARE),
        )
    ]
)  # fmt: skip
N_CONTROL = CONTROL.shape[1]


@dataclass(frozen=True)
class NetBox:
    """A box of alpha and ratio.

    Attributes
    ----------
    alpha, ratio : tuple of float
        The two intervals; the ratio is positive and at most 1.
    """

    alpha: tuple[float, float]
    ratio: tuple[float, float]

    @property
    def centre(self) -> tuple[float, float]:
        """Alpha and ratio where x = y = 0."""
        return 0.5 * sum(self.alpha), 0.5 * sum(self.ratio)

    @property
    def halves(self) -> tuple[float, float]:
        """Half the widths: tau, relative to alpha, and sigma."""
        low, high = self.alpha
        return (high - low) / (high + low), 0.5 * (self.ratio[1] - self.ratio[0])

    @property
    def l1(self) -> tuple[float, float]:
        """Smallest and largest weight of the l1 penalty."""
        return self.alpha[0] * self.ratio[0], self.alpha[1] * self.ratio[1]

    @property
    def l2(self) -> tuple[float, float]:
        """Smallest and largest weight of the l2 penalty."""
        return self.alpha[0] * (1.0 - self.ratio[1]), self.alpha[1] * (1.0 - self.ratio[0])

    @property
    def l1_polynomial(self) -> FloatArray:
        """The weight of the l1 penalty, exactly of degree two: (1, x, y, x^2, x y, y^2)."""
        (alpha, ratio), (tau, sigma) = self.centre, self.halves
        return alpha * np.array([ratio, tau * ratio, sigma, 0.0, tau * sigma, 0.0])


class Expansion(NamedTuple):
    """Coefficients of a face on a box.

    Attributes
    ----------
    terms : ndarray of shape (k, 6)
        Coefficients of 1, x, y, x^2, x y, y^2 in the basis of eigenvectors.
    rest : ndarray of shape (k,)
        What is missing, at most.
    left_over : float
        What rounding leaves of the equations of the face, at most.
    shift : float
        How far rounding moves the solution of these equations, at most.
    """

    terms: FloatArray
    rest: FloatArray
    left_over: float
    shift: float

    @property
    def length(self) -> float:
        """Bound of the length of the coefficients."""
        return float(np.linalg.norm(self.terms, axis=0).sum() + np.linalg.norm(self.rest))


class ErrorModel(NamedTuple):
    """The squared validation error of a face on a box: control values, and how far it is off."""

    control: FloatArray
    off: float
    distance: float

    def widened(self, further: float = 0.0) -> tuple[FloatArray, float]:
        """Return lower control values and an upper bound of the error of nearby coefficients.

        Parameters
        ----------
        further : float
            Root mean squared difference of their predictions from those of the face, at most.
        """
        distance = self.distance + further
        largest = max(float(self.control.max()) + self.off, 0.0)
        reach = self.off + 2.0 * math.sqrt(largest) * distance
        return self.control - reach, largest + reach + distance * distance


class FaceModel:
    """A face of the elastic net, for all alphas and ratios.

    Parameters
    ----------
    data : CentredData
        The data.
    gram : Gram
        Products of its columns.
    active : ndarray of int
        Coefficients that are not zero.
    signs : ndarray of float
        Their signs.
    """

    def __init__(
        self, data: CentredData, gram: Gram, active: IndexArray, signs: FloatArray
    ) -> None:
        self.active, self.signs = active, signs
        products = gram.columns(active)
        if active.size:
            values, self.vectors = symmetric_modes(products[active])
        else:
            values, self.vectors = np.zeros(0), np.zeros((0, 0))
        self._values = np.maximum(values, 0.0)
        self._targets = self.vectors.T @ gram.targets[active]
        self._signs = self.vectors.T @ signs
        self.signed = signs[:, None] * self.vectors
        self.pulls = products @ self.vectors
        self.inactive = ~gram.excluded
        self.inactive[active] = False
        rows, self._held_out = data.validation
        mixed = rows[:, active] @ self.vectors
        self._spreads = (mixed.T * data.shares) @ mixed
        self._products = mixed.T @ (data.shares * self._held_out)
        self._square = float(data.shares @ self._held_out**2)
        self._unit = (len(data.rows) + 8 * (active.size + 4)) * UNIT
        self._judged_unit = (len(self._held_out) + 8 * (active.size + 8)) * UNIT
        self._norm = math.sqrt(float(gram.sizes.sum()))
        self._response = float(np.linalg.norm(data.targets)) / math.sqrt(gram.total)

    def coefficients(self, alpha: float, ratio: float) -> FloatArray:
        """Return the active coefficients at one setting, in the basis of eigenvectors."""
        top = self._targets - alpha * ratio * self._signs
        return np.asarray(top / (self._values + alpha * (1.0 - ratio)))

    def is_optimal(self, alpha: float, ratio: float, gram: Gram) -> bool:
        """Whether the conditions of optimality hold at one setting, in floats."""
        inner = self.coefficients(alpha, ratio)
        if (self.signed @ inner).min(initial=0.0) < 0.0:
            return False
        gradients = gram.urge(gram.targets - self.pulls @ inner)[self.inactive]
        return bool(gradients.max(initial=0.0) <= alpha * ratio)

    def expanded(self, box: NetBox) -> Expansion:
        """Return the coefficients on a box; infinite errors where nothing can be said."""
        (alpha, ratio), (tau, sigma) = box.centre, box.halves
        lowest = self._values + box.l2[0]
        with np.errstate(all="ignore"):
            curvature = self._values + alpha * (1.0 - ratio)
            start = self.coefficients(alpha, ratio)
            # w = x along + y across + x y both, and d2 = x l2_along + y l2_across + x y l2_both.
            along = alpha * tau * ((1.0 - ratio) * start + ratio * self._signs)
            across = alpha * sigma * (self._signs - start)
            both = tau * across
            l2_along, l2_across = alpha * tau * (1.0 - ratio), -alpha * sigma
            l2_both = tau * l2_across
            square = curvature**2
            terms = np.stack(
                [
                    start,
                    -along / curvature,
                    -across / curvature,
                    l2_along * along / square,
                    (l2_along * across + l2_across * along) / square - both / curvature,
                    l2_across * across / square,
                ],
                axis=1,
            )
            first, second = np.abs(along) + np.abs(across), np.abs(both)
            linear = abs(l2_along) + abs(l2_across)
            bilinear = abs(l2_both)
            cubic = bilinear * (first + second) + linear * second
            quartic = (linear + bilinear) ** 2 * (first + second) / lowest
            rest = (cubic + quartic) / square
        found = Expansion(terms, rest, 0.0, 0.0)
        left_over, shift = self._rounding(found.length, box)
        return found._replace(left_over=left_over, shift=shift)

    def _rounding(self, length: float, box: NetBox) -> tuple[float, float]:
        """Bound what rounding leaves of the equations, and how far that moves their solution.

        Products of columns are summed in floats: the equations are those of matrices and targets
        that differ by m u times the sizes of the columns, as in :meth:`Face.rounding`.
        """
        weights = box.alpha[1] * (math.sqrt(max(self.active.size, 1)) + length)
        left_over = self._unit * (self._norm * (self._norm * length + self._response) + weights)
        if not self.active.size:
            return left_over, 0.0
        floor = float(self._values[0]) - self._unit * self._norm**2 + box.l2[0]
        return left_over, left_over / floor if floor > 0.0 else math.inf

    def error(self, found: Expansion) -> ErrorModel:
        """Return the squared error on the validation data, on the box of an expansion."""
        terms = found.terms
        with np.errstate(all="ignore"):
            inner, linear = terms.T @ self._spreads @ terms, self._products @ terms
            twice = 2.0 * (inner[0] - linear)
            polynomial = twice.copy()
            polynomial[0] = self._square - 2.0 * linear[0] + inner[0, 0]
            polynomial[3] += inner[1, 1]
            polynomial[4] += 2.0 * inner[1, 2]
            polynomial[5] += inner[2, 2]
            higher = 2.0 * np.abs(inner[1:3, 3:]).sum() + np.abs(inner[3:, 3:]).sum()
            missing = float(found.rest @ np.abs(self._spreads) @ found.rest)
            spread = math.sqrt(max(float(np.trace(self._spreads)), 0.0))
            size = math.sqrt(self._square) + spread * found.length
            rounding = 8.0 * self._judged_unit * size**2
            distance = math.sqrt(max(missing, 0.0)) + spread * found.shift
        return ErrorModel(polynomial @ CONTROL, float(higher) + rounding, distance)

    def movement(self, found: Expansion) -> tuple[float, float]:
        """Return how far predictions move along alpha, and along the ratio."""
        with np.errstate(all="ignore"):
            moved = [
                float(np.abs(found.terms[:, k] @ self._spreads @ found.terms[:, k])) for k in (1, 2)
            ]
        return math.sqrt(moved[0]), math.sqrt(moved[1])

    def conditions(
        self, found: Expansion, box: NetBox, gram: Gram
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bound the conditions of optimality of the face's exact solution on the box.

        Returns
        -------
        held : ndarray of shape (k,)
            Least value of each signed active coefficient.
        above, below : ndarray of shape (p,)
            Largest value of gradient - lam1 and of -gradient - lam1, minus infinity for columns
            that are active or constant; the latter also if coefficients must not be negative.
        """
        with np.errstate(all="ignore"):
            held = (self.signed @ found.terms @ CONTROL).min(axis=1, initial=math.inf)
            held -= np.abs(self.vectors) @ found.rest + found.shift
            gradients = -(self.pulls @ found.terms)
            gradients[:, 0] += gram.targets
            control, bound = gradients @ CONTROL, box.l1_polynomial @ CONTROL
            off = np.abs(self.pulls) @ found.rest + found.left_over
            off += np.sqrt(gram.sizes) * self._norm * found.shift
            above = (control - bound).max(axis=1) + off
            below = (-control - bound).max(axis=1) + off
        return (
            held,
            np.where(self.inactive, above, -math.inf),
            np.where(self.inactive & (not gram.positive), below, -math.inf),
        )
