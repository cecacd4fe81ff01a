"""Images of handwritten digits, to be clustered or labelled."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.families.metrics import FloatArray, read_only


class Digits(NamedTuple):
    """The bundled data ``sklearn.datasets.load_digits``: 8 by 8 pixels, ten classes."""

    images: FloatArray
    digit_of: NDArray[np.int64]
    members: tuple[NDArray[np.int64], ...]

    @property
    def n_classes(self) -> int:
        """Number of different digits."""
        return len(self.members)

    @property
    def n_of_rarest(self) -> int:
        """How many images there are of every digit, at least."""
        return min(map(len, self.members))

    def draw(
        self, n_classes: int, n_per_class: int, rng: np.random.Generator
    ) -> tuple[str, list[NDArray[np.int64]]]:
        """Random digits, listed in words, and for each of them the indices of random images."""
        digits = np.sort(rng.choice(self.n_classes, size=n_classes, replace=False))
        drawn = [
            rng.choice(self.members[digit], size=n_per_class, replace=False) for digit in digits
        ]
        return ",".join(map(str, digits)), drawn


@cache
def load_digits() -> Digits:
    """Load the images once: an online stream asks for one instance at a time."""
    from sklearn import datasets

    images, digit_of = datasets.load_digits(return_X_y=True)
    members = tuple(np.flatnonzero(digit_of == digit) for digit in range(10))
    return Digits(read_only(images), digit_of, members)
