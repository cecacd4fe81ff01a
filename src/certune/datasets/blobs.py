"""Gaussian blobs around random centres, to be clustered or labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.errors import InputError
from certune.families.metrics import FloatArray


def check_spread(spread: Any) -> None:
    """Refuse what is no standard deviation."""
    if not 0 < spread < np.inf:
        raise InputError(f"spread must be positive and finite, got {spread!r}")


def draw_blobs(
    blob_of: NDArray[np.int64],
    n_blobs: int,
    n_features: int,
    spread: float,
    rng: np.random.Generator,
) -> FloatArray:
    """One point for each entry of ``blob_of``; the centres are uniform in the unit cube."""
    centres = rng.random((n_blobs, n_features))
    noise = rng.standard_normal((len(blob_of), n_features))
    return np.asarray(centres[blob_of] + spread * noise)
