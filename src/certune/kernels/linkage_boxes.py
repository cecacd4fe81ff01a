"""Cluster trees that linkage can have on a box of parameters, told apart by open comparisons.

A box has coordinates: intervals [-1, 1], and behind them a simplex if it has three or more vertices
of weights. On it the value of every pair of clusters is a polynomial of degree three with a
remainder (``docs/theory/branch-and-bound.md``); comparisons that they leave open become the nodes
of a decision tree whose leaves are cluster trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certune._core import linkage_boxes as core
from certune.deadline import current_stop
from certune.kernels.arrays import Integers, Reals, integers, reals

Codes = npt.NDArray[np.uint64]

UNIT = 2.0**-53
MOST_LEAVES = 128  # a box with more cluster trees is better cut
MOST_OPEN = 24  # so is one on which the nearest neighbours of more clusters are open


# What the value of a pair of clusters is made of: the mean of the values of its pairs of points,
# the least and the largest of them, or means between and within the clusters.
MEAN, MIN_MAX, ENERGY = 0, 1, 2


class Clusters(NamedTuple):
    """How clusters are compared and which of them count.

    Attributes
    ----------
    kind : int
        MEAN, MIN_MAX or ENERGY.
    twins : int64 array (n,), optional
        Points with the same number are identical; by default none are.
    n_clusters : int, default=0
        Leaves are plain cuts into so many clusters; with 0 they are trees.
    by_ruler : bool, default=False
        Leaves are plain cuts before the merge of the points 0 and 1.
    """

    kind: int = MEAN
    twins: Integers | None = None
    n_clusters: int = 0
    by_ruler: bool = False


_MEANS = Clusters()


class Power(NamedTuple):
    """The exponent of all values: its middle and half width, and how values are compared.

    In Box-Cox form, (value^alpha - 1) / alpha, the middle is 0. ``sense`` is -1 if larger values
    are nearer.
    """

    middle: float
    half: float
    box_cox: bool
    sense: float

    @property
    def moves(self) -> bool:
        """Whether the exponent is a coordinate of the box, which is then the first one."""
        return self.box_cox or self.half > 0.0


@dataclass(frozen=True)
class Ties:
    """Pairs of points with equal values, on the box and on faces that do not belong to it.

    Attributes
    ----------
    codes : uint64 array (n, n)
        Equal codes, equal values.
    faces : int64 array (n_faces, m + 1)
        Marks of the vertices that lie on the face; for an interval its two ends and, in the last
        column, its coordinate.
    face_codes : uint64 array (n_faces, n, n)
        Equal codes, equal values on the face.
    """

    codes: Codes
    faces: Integers
    face_codes: Codes

    @classmethod
    def everywhere(cls, codes: Codes) -> Ties:
        """Ties of a box that touches no face."""
        n = len(codes)
        return cls(codes, np.zeros((0, 3), dtype=np.int64), np.zeros((0, n, n), dtype=np.uint64))


class Outlook(NamedTuple):
    """What can be reached on a part of a box.

    ``least`` and ``most`` are values of leaves, ``root`` is where parts of this part begin,
    ``coarse`` tells that a comparison is open because of its remainder, and ``openness`` how far
    open comparisons move along each coordinate, or each edge (j, k) of a simplex, j < k, by k.
    """

    least: int
    most: int
    n_leaves: int
    root: int
    coarse: bool
    openness: Reals


class BoxTrees:
    """One instance, prepared for many boxes.

    Parameters
    ----------
    data : float64 array (metrics, n, n)
        Distances, or their logarithms if values are products of powers.
    products : bool
        Whether values are products of powers of the metrics instead of powers of weighted sums.
    clusters : Clusters, optional
        How pairs of clusters are compared, by default by the mean.
    """

    def __init__(self, data: npt.ArrayLike, products: bool, clusters: Clusters = _MEANS) -> None:
        self._data = reals(data)
        self._products = products
        self._kind = clusters.kind
        n = int(self._data.shape[1])
        twins = integers(np.arange(n) if clusters.twins is None else clusters.twins)
        cut = clusters.n_clusters, clusters.by_ruler
        self._core = core.Problem(self._data, twins, products, clusters.kind, cut)
        logs = self._data if products else np.log(self._data[self._data > 0.0])
        self._largest_log = 4.0 + 2.0 * float(np.abs(logs).max(initial=0.0))

    def follow(
        self, vertices: npt.ArrayLike, power: Power, ties: Ties, merges: npt.ArrayLike
    ) -> core.DecisionTree:
        """Follow every cluster tree of a box.

        Parameters
        ----------
        vertices : float64 array (m, metrics)
            Weights at the vertices; for products, middle and half width of the exponents.
        power : Power
            The common exponent.
        ties : Ties
            Which values are equal.
        merges : int64 array (made, 2)
            Merges that hold on the whole box, as pairs of nodes.

        Returns
        -------
        DecisionTree
            ``complete`` unless the box has too many trees or values move too much on it. Its leaves
            need values (`set_values`) before parts of the box are looked at (`look`).
        """
        corners = reals(vertices)
        return self._core.follow(
            corners,
            power,
            (self._rounding(corners, power), self._displacement(corners)),
            (ties.codes, ties.faces, ties.face_codes),
            integers(merges).reshape(-1, 2),
            (MOST_LEAVES, MOST_OPEN),
            current_stop(),
        )

    def _rounding(self, corners: Reals, power: Power) -> float:
        """Rounding errors of a record as a share of its value, up to and including a comparison.

        For sums of up to n^2/4 records (energies: n^2/2), n merges and a comparison (min-max: as
        many extremes), and for the value of a pair.
        """
        n_metrics, n = int(self._data.shape[0]), int(self._data.shape[1])
        squares = {MEAN: 8.0, MIN_MAX: 128.0, ENERGY: 32.0}[self._kind]
        steps = 2048.0 + 128.0 * n + squares * n * n
        exponent = abs(power.middle) + power.half
        if self._products:
            exponent *= float(np.abs(corners).sum())
        inputs = n_metrics + len(corners) + 8 + 4 * self._largest_log
        return UNIT * (steps + 16.0 * max(1.0, exponent) * inputs)

    def _displacement(self, corners: Reals) -> float:
        """How far rounded weights can lie from where they should, as a share of the box."""
        if self._products or len(corners) < 2:
            return 0.0
        edges = corners[1:] - corners[0]
        if len(edges) == 1:
            smallest = math.sqrt(float(edges[0] @ edges[0]))
        else:
            smallest = float(np.linalg.svd(edges, compute_uv=False).min())
        return 64.0 * UNIT * len(corners) / smallest


def look(tree: core.DecisionTree, root: int, intervals: Reals, vertices: Reals) -> Outlook:
    """Look at a part of the box of a complete tree.

    Parameters
    ----------
    tree : DecisionTree
        With values of its leaves.
    root : int
        Where to begin: ``tree.root``, or the root of what was seen on a larger part.
    intervals : float64 array (2, n_intervals)
        Ends of the part in every interval of the box, in [-1, 1].
    vertices : float64 array (m, m)
        Barycentric coordinates of the vertices of the part of a simplex; (0, 0) if there is none.
    """
    found: Any = tree.look(root, reals(intervals), reals(vertices))
    return Outlook(*found)


class LinearTree(NamedTuple):
    """A decision tree on a part of a box, with comparisons that are linear up to an error.

    ``root`` and ``children`` (m, 2) are rows (>= 0), leaves with a value (``~value``) or `NOTHING`;
    a row of ``numbers`` is the value at the middle of the part, the slopes along the coordinates,
    and the error.
    """

    root: int
    numbers: Reals
    children: Integers


NOTHING = -(2**63)


def linear(tree: core.DecisionTree, root: int, intervals: Reals, vertices: Reals) -> LinearTree:
    """Return what is open on a part of the box of a complete tree; parameters as in `look`."""
    return LinearTree(*tree.linear(root, reals(intervals), reals(vertices)))
