"""Piecewise constant functions as plain arrays, for files.

A file must be readable without running code from it, so that there are no pickled objects:
integers that do not fit into 64 bits are written as hexadecimal strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual.integers import as_integers, decoded, encoded
from certune.dual.pieces import Pieces
from certune.errors import InputError


def encode_pieces(pieces: Pieces, name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the fields of the pieces and the name of the parameter, each as an array."""
    return {
        "starts": pieces.starts,
        "stops": pieces.stops,
        "numerators": encoded(pieces.numerators),
        "gap_lower": encoded(pieces.gap_lower),
        "gap_upper": encoded(pieces.gap_upper),
        "denominator": encoded(as_integers([pieces.denominator], "denominator")),
        "name": np.array(name, dtype=np.str_),
    }


def decode_pieces(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[Pieces, str]:
    """Return what :func:`encode_pieces` has written; the pieces are yet to be validated."""
    missing = [key for key in (*Pieces._fields, "name") if key not in arrays]
    if missing:
        raise InputError(f"A stored function needs the arrays {missing!r}, got {list(arrays)!r}.")
    denominator = decoded(np.asarray(arrays["denominator"]), "denominator")
    if denominator.size != 1:
        raise InputError(f"denominator must be one integer, got {denominator!r}.")
    pieces = Pieces(
        np.asarray(arrays["starts"]),
        np.asarray(arrays["stops"]),
        decoded(np.asarray(arrays["numerators"]), "numerators"),
        decoded(np.asarray(arrays["gap_lower"]), "gap_lower"),
        decoded(np.asarray(arrays["gap_upper"]), "gap_upper"),
        int(denominator[0]),
    )
    return pieces, str(arrays["name"])
