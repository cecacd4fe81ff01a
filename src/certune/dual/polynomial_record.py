"""The immutable record of what is known about a piecewise polynomial.

:class:`PolynomialRecord` holds, compares and stores the pieces and gaps; what one computes from
them is left to :class:`certune.dual.PiecewisePolynomial`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from certune.dual.chebyshev import PolynomialPieces, checked
from certune.dual.function import DualFunction
from certune.dual.integers import FloatArray
from certune.errors import InputError

FIELDS = ("starts", "stops", "coefficients", "errors", "gap_lower", "gap_upper")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PolynomialRecord(DualFunction):
    """Pieces, gaps and the name; see :class:`certune.dual.PiecewisePolynomial`."""

    _pieces: PolynomialPieces
    name: str

    def __init__(
        self,
        starts: npt.ArrayLike,
        stops: npt.ArrayLike,
        coefficients: npt.ArrayLike,
        errors: npt.ArrayLike,
        gap_lower: npt.ArrayLike,
        gap_upper: npt.ArrayLike,
        name: str = "t",
        scale: str = "linear",
    ) -> None:
        fields: dict[str, Any] = dict(
            zip(FIELDS, (starts, stops, coefficients, errors, gap_lower, gap_upper), strict=True)
        )
        self._set(PolynomialPieces(**fields, scale=scale), str(name))

    def _set(self, pieces: PolynomialPieces, name: str) -> None:
        object.__setattr__(self, "_pieces", checked(pieces))
        object.__setattr__(self, "name", name)

    @classmethod
    def _of(cls, pieces: PolynomialPieces, name: str) -> Self:
        function = object.__new__(cls)
        function._set(pieces, name)
        return function

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the function that :meth:`to_arrays` has written; checks everything anew."""
        missing = [key for key in (*FIELDS, "name", "scale") if key not in arrays]
        if missing:
            raise InputError(
                f"A stored function needs the arrays {missing!r}, got {list(arrays)!r}."
            )
        fields: dict[str, Any] = {key: np.asarray(arrays[key]) for key in FIELDS}
        return cls(**fields, name=str(arrays["name"]), scale=str(arrays["scale"]))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the function as plain arrays, for a file without pickled objects."""
        arrays: dict[str, npt.NDArray[Any]] = {key: getattr(self, key) for key in FIELDS}
        texts = {"name": self.name, "scale": self.scale}
        return arrays | {key: np.array(text, dtype=np.str_) for key, text in texts.items()}

    @property
    def starts(self) -> FloatArray:
        """Left ends of the pieces."""
        return self._pieces.starts

    @property
    def stops(self) -> FloatArray:
        """Right ends of the pieces."""
        return self._pieces.stops

    @property
    def coefficients(self) -> FloatArray:
        """Chebyshev coefficients, one row for each piece."""
        return self._pieces.coefficients

    @property
    def errors(self) -> FloatArray:
        """Bounds of the distance between the function and the polynomial of each piece."""
        return self._pieces.errors

    @property
    def gap_lower(self) -> FloatArray:
        """Lower bounds in the gaps; inf where pieces touch."""
        return self._pieces.gap_lower

    @property
    def gap_upper(self) -> FloatArray:
        """Upper bounds in the gaps; -inf where pieces touch."""
        return self._pieces.gap_upper

    @property
    def scale(self) -> str:
        """Whether the pieces are polynomials in t ("linear") or in log t ("log")."""
        return self._pieces.scale

    @property
    def error(self) -> float:
        """Largest stated error of a piece."""
        return float(self.errors.max())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PolynomialRecord):
            return NotImplemented
        return self.scale == other.scale and all(
            np.array_equal(getattr(self, key), getattr(other, key)) for key in FIELDS
        )

    def __hash__(self) -> int:
        return hash((self.starts.tobytes(), self.coefficients.tobytes(), self.scale))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (*(getattr(self, key) for key in FIELDS), self.name, self.scale)

    def _check(self) -> None:
        """Raise AssertionError if an invariant does not hold."""
        try:
            expected = checked(self._pieces)
        except InputError as error:
            raise AssertionError(f"Invalid pieces: {error}") from error
        for key in FIELDS:
            array = getattr(self, key)
            if array.flags.writeable or not np.array_equal(array, getattr(expected, key)):
                raise AssertionError(f"{key} is writeable or not canonical: {array!r}.")
