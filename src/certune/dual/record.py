"""The immutable record of what is known about a piecewise constant function.

:class:`PieceRecord` holds, compares and stores the pieces and gaps; what one computes from them
is left to :class:`certune.dual.PiecewiseFunction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy.typing as npt

from certune.dual.function import DualFunction
from certune.dual.integers import FloatArray, IntArray
from certune.dual.pieces import Pieces, canonical, check_canonical, checked, same
from certune.dual.storage import decode_pieces, encode_pieces


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PieceRecord(DualFunction):
    """Pieces, gaps and the name of the parameter; see :class:`certune.dual.PiecewiseFunction`."""

    _pieces: Pieces
    name: str

    def __init__(
        self,
        starts: npt.ArrayLike,
        stops: npt.ArrayLike,
        numerators: Iterable[Any],
        gap_lower: Iterable[Any],
        gap_upper: Iterable[Any],
        denominator: int,
        name: str = "t",
    ) -> None:
        pieces = checked(starts, stops, numerators, gap_lower, gap_upper, denominator)
        object.__setattr__(self, "_pieces", canonical(pieces))
        object.__setattr__(self, "name", str(name))

    @classmethod
    def _of(cls, pieces: Pieces, name: str) -> Self:
        """Wrap pieces that are valid by construction."""
        function = object.__new__(cls)
        object.__setattr__(function, "_pieces", canonical(pieces))
        object.__setattr__(function, "name", name)
        return function

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the function that :meth:`to_arrays` has written; checks everything anew."""
        pieces, name = decode_pieces(arrays)
        return cls(*pieces, name=name)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the function as plain arrays, for a file without pickled objects.

        Integers beyond 64 bits become hexadecimal strings. O(m) for m pieces.
        """
        return encode_pieces(self._pieces, self.name)

    @property
    def starts(self) -> FloatArray:
        """Left ends of the pieces."""
        return self._pieces.starts

    @property
    def stops(self) -> FloatArray:
        """Right ends of the pieces."""
        return self._pieces.stops

    @property
    def numerators(self) -> IntArray:
        """Values of the pieces times `denominator`: int64, or Python integers where needed."""
        return self._pieces.numerators

    @property
    def gap_lower(self) -> IntArray:
        """Lower bounds in the gaps times `denominator`."""
        return self._pieces.gap_lower

    @property
    def gap_upper(self) -> IntArray:
        """Upper bounds in the gaps times `denominator`."""
        return self._pieces.gap_upper

    @property
    def denominator(self) -> int:
        """Common denominator of all values and bounds."""
        return self._pieces.denominator

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PieceRecord):
            return NotImplemented
        return same(self._pieces, other._pieces)

    def __hash__(self) -> int:
        integers = tuple(self.numerators.tolist())
        return hash((self.starts.tobytes(), self.stops.tobytes(), integers, self.denominator))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (*self._pieces, self.name)

    def _check(self) -> None:
        """Raise AssertionError if an invariant does not hold. O(m)."""
        check_canonical(self._pieces)
