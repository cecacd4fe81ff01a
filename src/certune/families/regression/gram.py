"""Scalar products of columns, computed when a column is first needed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.deadline import unless_stopped
from certune.families.regression.centred import CentredData

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Columns that differ by less than this, relative to their size, are the same.
DUPLICATE = 1e-12
# Products of so many columns are computed all at once.
MOST_PRODUCTS = 2000


def symmetric_modes(products: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, increasing, and its eigenvectors."""
    values, vectors = unless_stopped(9.0 * len(products) ** 3, np.linalg.eigh, products)
    return values, vectors


class Gram:
    """Mean scalar products of the columns of a problem with each other and with the targets.

    The loss is |y - X b|^2 / (2 W), with W the total weight of the training points.

    Parameters
    ----------
    data : CentredData
        The data.
    positive : bool, default=False
        Whether coefficients must not be negative.
    """

    def __init__(self, data: CentredData, positive: bool = False) -> None:
        self.data, self.positive = data, positive
        self.total = float(data.weights.sum())
        self.targets: FloatArray = data.rows.T @ data.targets / self.total
        self.sizes: FloatArray = np.einsum("ij,ij->j", data.rows, data.rows) / self.total
        self._columns: dict[int, FloatArray] = {}
        self.excluded = self.sizes <= (4e-16 * len(data.rows)) ** 2 * (
            np.einsum("ij,ij->j", data.instance.X, data.instance.X) / len(data.rows)
        )

    @property
    def allowed_signs(self) -> tuple[float, ...]:
        """Signs that a coefficient can have."""
        return (1.0,) if self.positive else (1.0, -1.0)

    def urge(self, gradients: FloatArray) -> FloatArray:
        """Return how strongly gradients pull coefficients that are zero away from it.

        A coefficient stays zero as long as this is at most the weight of the l1 penalty.
        """
        return gradients if self.positive else np.abs(gradients)

    @cached_property
    def smallest_eigenvalue(self) -> float:
        """A lower bound of the eigenvalues of the products; 0 if there are too many columns."""
        n_rows, n_columns = self.data.rows.shape
        if n_columns > min(n_rows, MOST_PRODUCTS):
            return 0.0
        products = self.data.products / self.total
        values = unless_stopped(2.0 * n_columns**3, np.linalg.eigvalsh, products)
        smallest = float(values[0])
        # Sums of so many products, and the decomposition, are off by this at most.
        rounding = 4.0 * (n_rows + n_columns) * 2.0**-53 * float(self.sizes.sum())
        return float(max(0.0, smallest - rounding))

    def column(self, index: int) -> FloatArray:
        """Return the products of one column with all columns."""
        rows = self.data.rows
        if rows.shape[1] <= min(len(rows), MOST_PRODUCTS):
            return np.asarray(self.data.products[:, index] / self.total)
        if index not in self._columns:
            self._columns[index] = rows.T @ rows[:, index] / self.total
        return self._columns[index]

    def columns(self, active: IndexArray) -> FloatArray:
        """Return the products of several columns with all columns, as columns of a matrix."""
        if not active.size:
            return np.zeros((self.sizes.size, 0))
        return np.column_stack([self.column(index) for index in active.tolist()])

    def copy_of(self, index: int, active: IndexArray) -> int | None:
        """Return the active column that a column equals up to its sign, if there is one."""
        for other in active.tolist():
            product = self.column(other)[index]
            limit = np.sqrt(self.sizes[other] * self.sizes[index])
            if abs(product) >= limit * (1.0 - 1e-13):
                sign = np.sign(product)
                rows = self.data.rows
                difference = np.abs(rows[:, index] - sign * rows[:, other]).max()
                if difference <= DUPLICATE * np.abs(rows[:, other]).max():
                    return int(other)
        return None
