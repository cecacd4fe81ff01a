"""Bounds of the elastic net's validation error on boxes of alpha and ratio.

The face at the centre of a box is expanded on the box. Where its conditions of optimality hold on
all of it, its error is the error. Where some do not, strong convexity says how far the minimum can
be, in the norm of M = G + lam2: at most |violations| in the norm of M^-1. If only a few columns
can be active or not within that distance, the error is that of one of the few faces they form;
otherwise the distance widens the error of the first face. Proofs are in
``docs/theory/regression-path.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.errors import UndecidedError
from certune.families.base import BoxBound
from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram, symmetric_modes
from certune.families.regression.net_models import (
    N_CONTROL,
    Expansion,
    FaceModel,
    NetBox,
)
from certune.families.regression.net_path import Face, exchanged, face_at

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

UNIT = 2.0**-53
# Columns that may be active or not on a box whose faces are listed: two to this power of them.
MOST_OPEN = 2
# With more columns than this, or dependent ones, those that cannot be active are left out.
MOST_COLUMNS = 64
# Weights of the l2 penalty are rounded down to powers of this, so that norms are found again.
STEP = 2.0**0.25
MOST_FACES, MOST_NORMS = 4096, 512


class Norm(NamedTuple):
    """The norm of M = G + lam2 on some columns.

    Attributes
    ----------
    predictions : float
        Root mean squared prediction on the validation data, for coefficients of norm 1, at most.
    single : ndarray of shape (p,)
        Largest size of each coefficient, for coefficients of norm 1; 0 for other columns.
    """

    predictions: float
    single: FloatArray


class Violations(NamedTuple):
    """By how much a face violates the conditions of optimality on a box, and what follows.

    Attributes
    ----------
    held : ndarray of shape (k,)
        Least value of each signed active coefficient.
    above, below : ndarray of shape (p,)
        Largest excess of the gradients of other columns, to either side.
    radius : float
        Distance of the face's solution to the minimum in the norm of M, at most.
    """

    held: FloatArray
    above: FloatArray
    below: FloatArray
    radius: float


class NetBoxes:
    """One instance, prepared for many boxes.

    Parameters
    ----------
    data : CentredData
        The data.
    positive : bool
        Whether coefficients must not be negative.
    """

    def __init__(self, data: CentredData, positive: bool) -> None:
        self._data = data
        self._gram = Gram(data, positive)
        self._faces: dict[tuple[bytes, bytes], FaceModel] = {}
        self._norms: dict[tuple[bytes, float], Norm] = {}
        rows, _ = data.validation
        self._judged = rows * np.sqrt(data.shares)[:, None]
        self._response = float(data.targets @ data.targets) / self._gram.total

    @classmethod
    def of(cls, data: CentredData, positive: bool) -> NetBoxes:
        """Return what was prepared for an instance; kept with it."""
        key = data.fit_intercept, "boxes", positive
        found = data.instance.prepared.get(key)
        if found is None:
            found = cls(data, positive)
            data.instance.prepared[key] = found
        assert isinstance(found, NetBoxes)
        return found

    def bound(self, box: NetBox, largest: float, unit: float, near: FaceModel | None) -> BoxBound:
        """Bound the utility, ``largest - error / unit`` between 0 and `largest`, on a box.

        Parameters
        ----------
        box : NetBox
            The box.
        largest, unit : float
            What the utility is.
        near : FaceModel, optional
            A face that may be the one at the centre.
        """
        face = self._face(box, near)
        found = face.expanded(box)
        control, worst = self._error(box, face, found)
        importance = face.movement(found)
        if not all(map(math.isfinite, importance)) or not any(importance):
            low, high = box.alpha
            importance = math.log(high / low), math.log(box.ratio[1] / box.ratio[0])
        if not (np.isfinite(control).all() and math.isfinite(worst)):
            return BoxBound(Fraction(0), Fraction(largest), importance, reuse=face)
        # Four roundings: the quotient, the difference, and those of the caller's sums.
        rounding = 4.0 * UNIT * (largest + worst / unit)
        utilities = np.clip(largest - control / unit + rounding, 0.0, largest)
        shared = tuple(map(Fraction, utilities.tolist()))
        lower = Fraction(min(max(largest - worst / unit - rounding, 0.0), float(utilities.max())))
        return BoxBound(lower, max(shared), importance, reuse=face, shared=shared)

    def _face(self, box: NetBox, near: FaceModel | None) -> FaceModel:
        """Return the face at the centre of a box."""
        alpha, ratio = box.centre
        if near is not None:
            if near.is_optimal(alpha, ratio, self._gram):
                return near
            try:
                guess = Face(self._gram, ratio, near.active, near.signs)
                found = exchanged(guess, alpha)
                return self._model(found.active, found.signs)
            except UndecidedError:
                pass
        found = face_at(self._gram, ratio, alpha)
        return self._model(found.active, found.signs)

    def _model(self, active: IndexArray, signs: FloatArray) -> FaceModel:
        order = np.argsort(active)
        active, signs = active[order], signs[order]
        key = active.tobytes(), signs.tobytes()
        model = self._faces.get(key)
        if model is None:
            if len(self._faces) >= MOST_FACES:
                self._faces.clear()
            model = self._faces[key] = FaceModel(self._data, self._gram, active, signs)
        return model

    def _error(self, box: NetBox, face: FaceModel, found: Expansion) -> tuple[FloatArray, float]:
        """Return lower control values and an upper bound of the error on a box."""
        nothing = np.full(N_CONTROL, -math.inf), math.inf
        held, above, below = face.conditions(found, box, self._gram)
        if np.isnan(held).any() or np.isnan(above).any() or np.isnan(below).any():
            return nothing
        model = face.error(found)
        wrong = np.maximum(-held, 0.0)
        beyond = np.maximum(np.maximum(above, below), 0.0)
        if not wrong.any() and not beyond.any():
            return model.widened()
        norm = self._norm(box, face)
        if norm is None:
            return nothing
        sizes = np.sqrt(self._gram.sizes + box.l2[1])
        with np.errstate(all="ignore"):
            radius = float(beyond @ norm.single + 2.0 * (wrong @ sizes[face.active]))
        if not math.isfinite(radius):
            return nothing
        open_faces = self._open_faces(box, face, Violations(held, above, below, radius), norm)
        if open_faces is None:
            return model.widened(norm.predictions * radius)
        models = [each.error(each.expanded(box)).widened() for each in open_faces]
        controls, uppers = zip(*models, strict=True)
        return np.minimum.reduce(controls), max(uppers)

    def _open_faces(
        self, box: NetBox, face: FaceModel, given: Violations, norm: Norm
    ) -> list[FaceModel] | None:
        """Return all faces that can be optimal on a box, None if they are too many."""
        reach = np.sqrt(self._gram.sizes + box.l2[1]) * given.radius
        leaving = given.held <= norm.single[face.active] * given.radius
        may_enter = (np.maximum(given.above, given.below) + reach >= 0.0) & (norm.single > 0.0)
        entering = np.flatnonzero(may_enter)
        if int(leaving.sum()) + entering.size > MOST_OPEN:
            return None
        # An active coefficient of the other sign has a gradient that is off by 2 lam1.
        if reach[face.active].max(initial=0.0) >= 2.0 * box.l1[0] * (1.0 - 4.0 * UNIT):
            return None
        upwards = given.above[entering] > given.below[entering]
        other_side = np.where(upwards, given.below[entering], given.above[entering])
        if (other_side + reach[entering]).max(initial=-math.inf) >= 0.0:
            return None
        columns = np.concatenate((face.active[leaving], entering))
        signs = np.concatenate((face.signs[leaving], np.where(upwards, 1.0, -1.0)))
        sure, sure_signs = face.active[~leaving], face.signs[~leaving]
        faces = []
        for choice in product((False, True), repeat=columns.size):
            taken = np.array(choice, dtype=np.bool_)
            faces.append(
                self._model(
                    np.concatenate((sure, columns[taken])),
                    np.concatenate((sure_signs, signs[taken])),
                )
            )
        return faces

    def _norm(self, box: NetBox, face: FaceModel) -> Norm | None:
        """Return the norm on the columns that can be active; None if it is not one."""
        lowest = box.l2[0]
        rounded = STEP ** math.floor(math.log(lowest, STEP)) if lowest > 0.0 else 0.0
        weight = min(rounded, lowest)
        columns = self._possible(box, face)
        key = columns.tobytes(), weight
        if key not in self._norms:
            made = self._made_norm(columns, weight)
            if made is None:
                return None
            if len(self._norms) >= MOST_NORMS:
                self._norms.clear()
            self._norms[key] = made
        return self._norms[key]

    def _made_norm(self, columns: IndexArray, weight: float) -> Norm | None:
        products = self._gram.columns(columns)[columns]
        values, vectors = symmetric_modes(products)
        n_rows = len(self._data.rows)
        rounding = 4.0 * (n_rows + columns.size) * UNIT * float(self._gram.sizes[columns].sum())
        # The eigenvalues of exact products are at least these.
        values = values - rounding + weight
        if not columns.size or values[0] <= 0.0:
            return None
        whitened = vectors / np.sqrt(values)
        single = np.zeros(self._gram.sizes.size)
        single[columns] = np.sqrt((whitened**2).sum(axis=1)) * (1.0 + 1e-9)
        predicted = float(np.linalg.norm(self._judged[:, columns] @ whitened, 2))
        return Norm(predicted * (1.0 + 1e-9), single)

    def _possible(self, box: NetBox, face: FaceModel) -> IndexArray:
        """Return the columns that can be active somewhere on a box.

        The duality gap of the centre's solution at any setting of the box bounds how far the
        residuals can be, and with them the gradients (Ndiaye, Fercoq, Gramfort and Salmon 2017).
        """
        gram = self._gram
        usable = np.flatnonzero(~gram.excluded)
        weakest = gram.smallest_eigenvalue + box.l2[0]
        if usable.size <= MOST_COLUMNS and weakest > 1e-12 * float(gram.sizes.sum()):
            return usable
        alpha, ratio = box.centre
        inner = face.coefficients(alpha, ratio)
        coefficients = face.vectors @ inner
        gradients = gram.targets - face.pulls @ inner
        changed = max(box.l2[1] - alpha * (1.0 - ratio), alpha * (1.0 - ratio) - box.l2[0])
        moved = gram.urge(gradients)
        moved[face.active] = alpha * ratio + changed * np.abs(coefficients)
        share = min(1.0, box.l1[0] / max(float(moved[usable].max()), 1e-300))
        fitted = float(gram.targets[face.active] @ coefficients)
        quadratic = float(coefficients @ (face.pulls @ inner)[face.active])
        square = self._response - 2.0 * fitted + quadratic
        square += box.l2[1] * float(coefficients @ coefficients)
        primal = 0.5 * square + box.l1[1] * float(np.abs(coefficients).sum())
        gap = primal - share * (self._response - fitted) + 0.5 * share**2 * square
        rounding = (
            64.0 * (len(self._data.rows) + gram.sizes.size) * UNIT * (self._response + primal)
        )
        radius = math.sqrt(2.0 * (max(gap, 0.0) + rounding))
        reach = share * moved + np.sqrt(gram.sizes + box.l2[1]) * radius
        possible = (reach >= box.l1[0] * (1.0 - 1e-9)) & ~gram.excluded
        possible[face.active] = True
        return np.flatnonzero(possible)
