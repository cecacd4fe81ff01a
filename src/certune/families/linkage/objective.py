"""What makes one pruning of a cluster tree better than another, in exact integers.

The cost of a cluster is measured in one fixed reference metric, not in the metric that is tuned,
so that equal trees give equal clusters. Reference distances are rounded once to fixed-point
numbers; this rounding is part of the definition of the objective. After it all costs are integers,
their comparison is exact, and the order of summation does not matter.
"""

import difflib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.errors import ParameterError
from certune.families.linkage.instance import ClusteringInstance
from certune.kernels.linkage import CUT, K_CENTER, K_MEANS, K_MEDIAN

IntArray: TypeAlias = NDArray[np.int64]

OBJECTIVES = {"k-means": K_MEANS, "k-median": K_MEDIAN, "k-center": K_CENTER, "cut": CUT}

# Costs stay below 2^62. A resolution of 2^-40 of the largest entry is finer than any difference
# that matters and coarser than the rounding of distances, which therefore rarely breaks a tie.
_COST_BITS = 62
_FINEST_BITS = 40


@dataclass(frozen=True)
class Objective:
    """Cost by which the best pruning of a tree is chosen.

    Parameters
    ----------
    name : {"k-means", "k-median", "k-center", "cut"}
        With reference distances r, a cluster A costs
        min over c in A of the sum over a in A of r(a, c) for k-median,
        min over c in A of the maximum over a in A of r(a, c) for k-center, and
        the sum over unordered pairs of r(a, b)^2, divided by the size of A, for k-means.
        A pruning costs the sum, for k-center the maximum, over its clusters. A plain cut knows no
        costs: it takes the clusters before the last k - 1 merges.

    Examples
    --------
    >>> instance = ClusteringInstance([[0.0], [1.0], [4.0]], k=2)
    >>> Objective("k-median").reference_matrix(instance)[0] / 2**40
    array([0.   , 0.125, 0.5  ])
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in OBJECTIVES:
            close = difflib.get_close_matches(str(self.name), OBJECTIVES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "choose one of them"
            raise ParameterError(
                f"unknown objective {self.name!r}, expected one of {', '.join(OBJECTIVES)}: {hint}"
            )

    @property
    def code(self) -> int:
        """Number of the objective in the kernels."""
        return OBJECTIVES[self.name]

    def reference_matrix(self, instance: ClusteringInstance) -> IntArray:
        """Fixed-point reference distances of an instance, squared for k-means.

        Parameters
        ----------
        instance : ClusteringInstance
            The points.

        Returns
        -------
        int64 array (n, n)
            Symmetric with zero diagonal; empty for a plain cut.

        Notes
        -----
        Let m be the power of two just above the largest distance. With x = r(a, b) / m < 1, or its
        square for k-means, the entry is x 2^B rounded to the nearest integer, half to even. Every
        cost is a sum of at most N entries, where N = n for k-median and k-center and
        N = n(n-1)/2 for k-means, and B = min(40, 62 - ceil(log2 N)), so no cost exceeds 2^62.
        The size of the distances does not matter, nor does a common factor that is a power of two.
        """
        if self.name == "cut":
            return np.empty((0, 0), dtype=np.int64)
        check_time()
        scaled = _average(instance.distances)
        check_time()
        n_terms = instance.n_points
        if self.name == "k-means":
            scaled *= scaled
            n_terms = max(1, instance.n_points * (instance.n_points - 1) // 2)
        bits = min(_FINEST_BITS, _COST_BITS - (n_terms - 1).bit_length())
        return np.rint(np.ldexp(scaled, bits)).astype(np.int64)


def _average(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average divided by the power of two above its largest entry, summed in a fixed order."""
    down = -int(np.frexp(distances.max())[1])
    total = np.zeros(distances.shape[1:])
    for matrix in distances:
        total += np.ldexp(matrix, down) / len(distances)
    return np.ldexp(total, -int(np.frexp(total.max())[1]))
