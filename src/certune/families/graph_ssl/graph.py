"""The graph of an instance: which edges exist, and the distances along them.

Which points are joined does not depend on the parameters (otherwise the labels would change where
an edge appears), so everything here is fixed before any bandwidth is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certune.errors import ParameterError
from certune.families.distances import IntArray
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.metrics import FloatArray
from certune.kernels.graph import Edges, Joined, gates, spanning_tree

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Graph:
    """Distances along the edges that can carry a label to an unlabelled point.

    Edges between labelled points never matter. Unlabelled points that no label can reach are left
    out, and so are those that hang on one other point: they have its soft labels.

    Attributes
    ----------
    nodes : int64 array
        Unlabelled points with soft labels of their own, as indices of the instance.
    points, place : int64 arrays
        All unlabelled points that a label can reach, the nodes first, and for each the number of
        the node whose soft labels it has.
    classes : int64 array
        Codes of the classes that occur among the labels; column c stands for ``classes[c]``.
    class_of : int64 array
        Column of every labelled point.
    between, to_labelled : float64 arrays (L, n, n) and (L, n, n_labelled)
        Distances among the nodes, and to the labelled points.
    is_edge, is_edge_to_labelled : bool arrays
        Which edges exist.
    """

    nodes: IntArray
    points: IntArray
    place: IntArray
    classes: IntArray
    class_of: IntArray
    between: FloatArray
    to_labelled: FloatArray
    is_edge: BoolArray
    is_edge_to_labelled: BoolArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes to be labelled."""
        return len(self.nodes)

    @property
    def n_classes(self) -> int:
        """Number of classes that a node can get."""
        return len(self.classes)

    @property
    def joined(self) -> Joined:
        """Which edges exist, as the compiled core takes it."""
        return Joined(self.is_edge, self.is_edge_to_labelled)

    @property
    def edges(self) -> Edges:
        """Edges with their lengths, as the compiled core takes them."""
        return Edges(self.between, self.to_labelled, self.joined, self.class_of, self.n_classes)

    def combined(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of the distances with one factor for each metric, among nodes and to labels."""
        return weighted_sum(factors, self.between), weighted_sum(factors, self.to_labelled)

    def with_metrics(self, metrics: IntArray) -> Graph:
        """The same edges with the distances of some metrics only."""
        return replace(self, between=self.between[metrics], to_labelled=self.to_labelled[metrics])


def weighted_sum(factors: FloatArray, matrices: FloatArray) -> FloatArray:
    """Sum of matrices with factors, term by term: the same bits on every machine."""
    total = np.zeros(matrices.shape[1:])
    with np.errstate(over="ignore"):  # callers look at the size of the result
        for factor, matrix in zip(factors, matrices, strict=True):
            total += factor * matrix
    return total


def graph_of(instance: LabelingInstance, n_neighbors: int | None, reference: FloatArray) -> Graph:
    """The graph of an instance.

    Parameters
    ----------
    instance : LabelingInstance
        The problem.
    n_neighbors : int or None
        Join every point to this many nearest points (and to all at the same distance as the last
        of them), in the metric with the weights ``reference``; None joins all points.
    reference : array (L,)
        Weights of the metrics.
    """
    distances = instance.distances
    edges = _edges(distances, n_neighbors, reference)
    nodes, labelled = instance.unlabeled, instance.labeled
    metric = weighted_sum(reference, distances)
    tree = spanning_tree(
        (metric[np.ix_(nodes, nodes)], metric[np.ix_(nodes, labelled)]),
        Joined(edges[np.ix_(nodes, nodes)], edges[np.ix_(nodes, labelled)]),
    )
    reached = nodes[np.sort(tree.order)]
    gate = gates(Joined(edges[np.ix_(reached, reached)], edges[np.ix_(reached, labelled)]))
    leads = gate == np.arange(len(reached))
    nodes = reached[leads]
    place = np.cumsum(leads) - 1
    classes, class_of = np.unique(instance.labels, return_inverse=True)
    return Graph(
        nodes=nodes,
        points=np.concatenate([nodes, reached[~leads]]),
        place=np.concatenate([np.arange(len(nodes)), place[gate[~leads]]]),
        classes=classes,
        class_of=class_of.astype(np.int64),
        between=np.ascontiguousarray(distances[:, nodes[:, None], nodes]),
        to_labelled=np.ascontiguousarray(distances[:, nodes[:, None], labelled]),
        is_edge=np.ascontiguousarray(edges[np.ix_(nodes, nodes)]),
        is_edge_to_labelled=np.ascontiguousarray(edges[np.ix_(nodes, labelled)]),
    )


def _edges(distances: FloatArray, n_neighbors: int | None, reference: FloatArray) -> BoolArray:
    n = distances.shape[1]
    if n_neighbors is None:
        edges = np.ones((n, n), dtype=bool)
    else:
        if n_neighbors >= n:
            raise ParameterError(
                f"n_neighbors must be less than the number of points, got {n_neighbors} for {n} "
                "points; use n_neighbors=None for the full graph"
            )
        metric = weighted_sum(reference, distances)
        np.fill_diagonal(metric, -np.inf)
        farthest = np.partition(metric, n_neighbors, axis=1)[:, n_neighbors]
        edges = metric <= farthest[:, None]
        edges |= edges.T
    np.fill_diagonal(edges, False)
    return edges
