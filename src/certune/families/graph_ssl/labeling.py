"""What the harmonic method gives back: a label and soft labels for every point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labeling:
    """Soft and hard labels of all points of an instance.

    Attributes
    ----------
    labels : array (n,)
        Label of every point, those that were given included.
    soft : float64 array (n, n_classes)
        Soft labels, in the order of ``classes``; rows sum to 1 up to rounding.
    classes : array (n_classes,)
        The labels that occur among the labelled points, sorted.
    reached : bool array (n,)
        False for points that no label can reach along the edges; their soft labels are uniform.
    undecided : bool array (n,)
        True for points at which several classes agree to thousands of bits, though no symmetry of
        the graph makes them equal; their label is the one that wins ties.
    """

    labels: NDArray[Any]
    soft: NDArray[np.float64]
    classes: NDArray[Any]
    reached: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
