"""What the algorithm does at the optimum, on one instance: a tree, a path of coefficients, a graph.

The instance is the typical one, whose score is nearest to the mean. What is too large to be looked
at has no portrait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from certune.errors import CertuneError
from certune.families.base import Family
from certune.families.graph_ssl import HarmonicLabeling
from certune.families.linkage import Linkage, ThresholdLinkage
from certune.families.logistic import RegularizedLogistic
from certune.families.regression import RegularizedRegression
from certune.report.curves import even_places

FloatArray = npt.NDArray[np.float64]

MOST_LEAVES, MOST_NODES = 400, 400
# A path is drawn at so many places, for so many of its largest coefficients.
PATH_PLACES, MOST_COEFFICIENTS = 41, 10
# Rows times columns of training data above which a path takes too long to be drawn.
MOST_ENTRIES = 200_000
# Every point of a graph is drawn with so many of its heaviest edges.
EDGES_OF_NODE = 2


def portrait_of(result: Any, columns: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return what the best setting makes of the typical instance, or None.

    Parameters
    ----------
    result : TuningResult
        The result.
    columns : sequence of str
        Names of the columns of its instances, if they have any.

    Returns
    -------
    dict or None
        ``kind`` is "dendrogram", "path" or "graph", ``instance`` the name of the instance; what
        else there is depends on the kind. Trees that are cut at a tuned height have it as ``cut``.
    """
    utilities = np.array([float(value) for value in result.evaluation.utilities])
    number = int(np.argmin(np.abs(utilities - utilities.mean())))
    instance, family = result.instances[number], result.family
    try:
        drawn = _drawn(family, instance, result, columns)
    except CertuneError:
        # What cannot be decided at this very setting has no picture; the report says so elsewhere.
        return None
    if drawn is None:
        return None
    return {"instance": result.evaluation.instance_names[number], **drawn}


def _drawn(
    family: Family, instance: Any, result: Any, columns: Sequence[str]
) -> dict[str, Any] | None:
    is_tree = isinstance(family, (Linkage, ThresholdLinkage))
    if is_tree and instance.n_points <= MOST_LEAVES:
        tree = family.solve(instance, result.best_params)
        drawn = dendrogram(tree, instance.target)
        if isinstance(family, ThresholdLinkage):
            unit = max(tree.heights, default=0.0) if family.relative else 1.0
            drawn["cut"] = float(result.best_params["cut_height"] * unit)
        return drawn
    if isinstance(family, HarmonicLabeling) and instance.n_points <= MOST_NODES:
        return label_graph(family, instance, result.best_params)
    is_linear = isinstance(family, (RegularizedLogistic, RegularizedRegression))
    if is_linear and instance.X.size <= MOST_ENTRIES:
        return coefficient_lines(family, instance, result, columns)
    return None


def dendrogram(tree: Any, truth: Any) -> dict[str, Any]:
    """Return the joints of a cluster tree.

    Parameters
    ----------
    tree : ClusterTree
        The tree.
    truth : array or None
        True cluster of every point.

    Returns
    -------
    dict
        ``joints`` are rows of the places and heights of the two children, the height of the joint,
        and the cluster that all points below belong to, or -1; ``leaves`` are the cluster and the
        true cluster of the points from left to right, which have the same number if they match.
    """
    n = tree.n_points
    children = tree.children.tolist()
    places = np.zeros(2 * n - 1)
    order = _order_of_leaves(children, n)
    places[order] = np.arange(n)
    heights = np.concatenate((np.zeros(n), tree.heights))
    clusters = np.concatenate((tree.labels, np.full(n - 1, -1)))
    joints = []
    for node, (a, b) in enumerate(children, n):
        places[node] = (places[a] + places[b]) / 2
        clusters[node] = clusters[a] if clusters[a] == clusters[b] else -1
        ends = places[a], places[b], heights[a], heights[b], heights[node]
        joints.append([*map(float, ends), int(clusters[node])])
    known = np.full(n, -1) if truth is None else _matched(np.asarray(truth), tree.labels)
    leaves = [[int(tree.labels[leaf]), int(known[leaf])] for leaf in order]
    return {"kind": "dendrogram", "joints": joints, "leaves": leaves}


def _matched(truth: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Number true clusters as the found ones that they have most points in common with."""
    found, here = np.unique(labels, return_inverse=True)
    names, there = np.unique(truth, return_inverse=True)
    common = np.zeros((len(names), max(len(names), len(found))))
    np.add.at(common, (there, here), 1)
    _, column = linear_sum_assignment(common, maximize=True)
    spare = int(found.max()) + 1 + np.arange(common.shape[1] - len(found))
    numbers: npt.NDArray[np.int64] = np.concatenate((found, spare)).astype(np.int64)[column]
    return numbers[there]


def _order_of_leaves(children: list[list[int]], n: int) -> list[int]:
    """Return the points from left to right, so that no joints cross."""
    order, pending = [], [2 * n - 2]
    while pending:
        node = pending.pop()
        if node < n:
            order.append(node)
        else:
            pending += reversed(children[node - n])
    return order


def coefficient_lines(
    family: Any, instance: Any, result: Any, columns: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the largest coefficients along the range of the parameter.

    Parameters
    ----------
    family, instance : Family and its instance
        What to fit.
    result : TuningResult
        Says along which parameter.
    columns : sequence of str
        Names of the columns, if they have any.

    Returns
    -------
    dict
        ``places`` of the parameter, ``names`` and ``values`` of the coefficients, one row each,
        and ``n_others`` that are smaller everywhere.
    """
    name = result.segment.name
    places = even_places(result.landscape, True, PATH_PLACES)
    models = [family.solve(instance, {name: float(place)}) for place in places]
    # Several classes have a row of coefficients each.
    values = np.array([np.ravel(model.coef) for model in models]).T
    largest = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MOST_COEFFICIENTS]
    names = [
        columns[k] if k < len(columns) else f"column {k + 1}" for k in range(instance.X.shape[1])
    ]
    if len(values) > len(names):
        names = [f"{name}, {label}" for label in instance.classes for name in names]
    return {
        "kind": "path",
        "places": places.tolist(),
        "names": [names[k] for k in largest.tolist()],
        "values": values[largest].tolist(),
        "n_others": len(values) - len(largest),
    }


def label_graph(
    family: HarmonicLabeling, instance: Any, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the points in the plane, their labels, and the heaviest edges.

    Returns
    -------
    dict
        ``nodes`` are rows of two coordinates, the predicted class, whether the label was given,
        and whether the prediction is right (None if nobody knows); ``edges`` rows of two points
        and the share of the heaviest weight.
    """
    found = family.solve(instance, params)
    n_metrics = instance.n_metrics
    weights = np.asarray(params.get("weights", [1.0 / n_metrics] * n_metrics), dtype=np.float64)
    distances = np.tensordot(weights, instance.distances, axes=1)
    plane = _plane(instance.points, distances)
    classes = {name: code for code, name in enumerate(instance.class_names)}
    predicted = [classes[label] for label in found.labels.tolist()]
    given = np.zeros(instance.n_points, dtype=bool)
    given[instance.labeled] = True
    nodes = [
        [
            *map(float, plane[node]),
            predicted[node],
            bool(given[node]),
            _is_right(instance.truth, node, predicted[node], bool(given[node])),
        ]
        for node in range(instance.n_points)
    ]
    return {
        "kind": "graph",
        "nodes": nodes,
        "edges": _heaviest(distances, float(params.get("sigma", 1.0))),
        "classes": [str(name) for name in instance.class_names],
    }


def _is_right(truth: Any, node: int, predicted: int, given: bool) -> bool | None:
    if given or truth is None or truth[node] < 0:
        return None
    return bool(truth[node] == predicted)


def _heaviest(distances: FloatArray, sigma: float) -> list[list[float]]:
    """Return the heaviest edges of every point, with weights relative to the heaviest of all."""
    apart = distances + np.diag(np.full(len(distances), np.inf))
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :EDGES_OF_NODE]
    pairs = sorted({(min(i, j), max(i, j)) for i, row in enumerate(nearest.tolist()) for j in row})
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    shortest = min((apart[pair] for pair in pairs), default=0.0)
    return [[i, j, float(np.exp((shortest - apart[i, j]) / sigma**2))] for i, j in pairs]


def _plane(points: FloatArray | None, distances: FloatArray) -> FloatArray:
    """Return coordinates in the plane: the points, their main directions, or a map of distances."""
    if points is not None and points.shape[1] == 2:
        return points
    if points is not None and points.shape[1] == 1:
        return np.column_stack((points, np.zeros(len(points))))
    if points is not None:
        centred = points - points.mean(axis=0)
        left, scales, _ = np.linalg.svd(centred, full_matrices=False)
        return np.asarray(left[:, :2] * scales[:2])
    # Classical scaling: the two main directions of the centred squared distances.
    squares = distances**2
    middle = squares.mean(axis=0)
    gram = -0.5 * (squares - middle - middle[:, None] + middle.mean())
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))
