"""Bounds of the utility of harmonic labelling on a box of parameters.

The weights of the edges are exp(-gamma . delta) with the rates gamma = beta / sigma^2, and a box of
(sigma, weights) is a polytope of rates.  On it every soft label is a linear function of the rates
up to a proved remainder (``docs/theory/harmonic-boxes.md``); points whose label is settled by that
are counted, of the others as many as can be right at once.  Classes that a point cannot have on a
box it cannot have on a part of it either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certune.box import Box
from certune.families.base import BoxBound
from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import BoolArray, Graph
from certune.families.graph_ssl.instance import IntArray
from certune.families.graph_ssl.solver import UNIT, PointSolver
from certune.families.graph_ssl.symmetry import Symmetry
from certune.kernels.harmonic_boxes import (
    STRONG,
    conflicts,
    green_functions,
    log_weights,
    moments,
    reaches,
    remainders,
    residuals,
    responses,
)

Rates: TypeAlias = tuple[Fraction, ...]

# Soft labels that differ by less at the centre of a box may be tied by symmetry.
SUSPICIOUS = 1e-9


@dataclass(frozen=True)
class Reuse:
    """What is known about a box and holds on every part of it: classes that points can have."""

    problem: BoxProblem
    possible: BoolArray


@dataclass(frozen=True)
class _Models:
    """Soft labels on a box: values at the vertices, and how far off they can be.

    ``values`` (vertices, nodes, classes) and ``errors`` (nodes, classes), for some nodes only.
    """

    values: FloatArray
    errors: FloatArray


@dataclass(eq=False)
class BoxProblem:
    """One instance, prepared for many boxes.

    Parameters
    ----------
    graph : Graph
        The edges.
    truth : int64 array
        True class (column) of every node, -1 if it has no column.
    n_always_right, n_unlabelled : int
        Points that no label reaches and whose answer is right; all points without a label.
    fixed : mapping
        ``sigma`` and ``weights`` where they are not part of boxes.
    """

    graph: Graph
    truth: IntArray
    n_always_right: int
    n_unlabelled: int
    fixed: Mapping[str, Any]
    _solver: PointSolver = field(init=False)
    _symmetries: dict[tuple[tuple[float, ...], ...], Symmetry] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self._solver = PointSolver(self.graph)

    @property
    def start(self) -> Reuse:
        """What is known without looking at any box: nothing."""
        return Reuse(self, np.ones((self.graph.n_nodes, self.graph.n_classes), dtype=np.bool_))

    def bound(self, box: Box, reuse: Reuse) -> BoxBound:
        """Bounds on a box, from what is known on a box around it."""
        possible = reuse.possible.copy()
        symmetry = self._symmetry(box)
        importance = tuple(1.0 for _ in box.edges)
        room = np.zeros((0, 1))
        open_nodes = self._open(possible)
        if open_nodes.size:
            vertices, centre = self._vertices(box)
            moves = _moves(vertices, centre)
            models, importance = self._models(box, centre, moves, open_nodes)
            if models is not None:
                room = self._settle(possible, open_nodes, models, symmetry)
                open_nodes = self._open(possible)
        return self._counted(possible, open_nodes, room, symmetry, importance)

    def _open(self, possible: BoolArray) -> IntArray:
        """Nodes that may be right or wrong."""
        known = self.truth >= 0
        can_be_right = np.zeros(len(known), dtype=np.bool_)
        can_be_right[known] = possible[known, self.truth[known]]
        return np.flatnonzero(can_be_right & (possible.sum(axis=1) > 1))

    def _sigmas(self, box: Box) -> list[Fraction]:
        if "sigma" not in box.names:
            return [Fraction(self.fixed["sigma"])]
        return [Fraction(vertex[0]) for vertex in box.vertices("sigma")]

    def _weights(self, box: Box) -> tuple[tuple[float, ...], ...]:
        if "weights" not in box.names:
            return (self.fixed["weights"],)
        return box.vertices("weights")

    def _vertices(self, box: Box) -> tuple[list[Rates], FloatArray]:
        """Rates at the vertices of the box, exactly, and a point in the middle of them."""
        vertices = [
            tuple(Fraction(weight) / sigma**2 for weight in weights)
            for sigma in self._sigmas(box)
            for weights in self._weights(box)
        ]
        centre = np.array([[float(rate) for rate in vertex] for vertex in vertices]).mean(axis=0)
        return vertices, centre

    def _symmetry(self, box: Box) -> Symmetry:
        """Ties that hold on the whole stratum of a box."""
        weights = self._weights(box)
        if len(weights) == 1:
            key: tuple[tuple[float, ...], ...] = weights
        else:
            key = (tuple(float(any(column)) for column in zip(*weights, strict=True)), ())
        if key not in self._symmetries:
            if len(weights) == 1:
                made = Symmetry(self.graph, [Fraction(weight) for weight in weights[0]])
            else:
                made = Symmetry(self.graph.with_metrics(np.flatnonzero(key[0])))
            self._symmetries[key] = made
        return self._symmetries[key]

    def _models(
        self, box: Box, centre: FloatArray, moves: FloatArray, nodes: IntArray
    ) -> tuple[_Models | None, tuple[float, ...]]:
        """Models of the soft labels of some nodes, and how much halving every edge promises."""
        graph, solver = self.graph, self._solver
        n = graph.n_nodes
        smallest, largest = needed_range(graph, [graph.combined(centre)])
        if largest - smallest > STRONG:
            return None, tuple(1.0 for _ in box.edges)
        soft = solver.solve([Fraction(rate) for rate in centre.tolist()], smallest, largest)
        inverse = green_functions(solver.weights, solver.sums)
        among, to = log_weights(
            graph.between,
            graph.to_labelled,
            graph.is_edge,
            graph.is_edge_to_labelled,
            centre,
            smallest,
        )
        edges = graph.between, graph.to_labelled, among, to
        means, spread = moments(*edges, inverse)
        importance = self._importance(box, spread)
        farthest = max(float(graph.between.max(initial=0.0)), float(graph.to_labelled.max()))
        rounding = 16 * UNIT * (len(centre) + 2) * float(np.abs(moves).max(axis=0).sum()) * farthest
        reach, reach_to, good = reaches(*edges, means, moves, rounding)
        if not good:
            return None, importance
        green_error = UNIT * (16 * n * n + 66 * n + 2 * len(centre) + 80)
        columns = [1] if graph.n_classes == 2 else list(range(graph.n_classes))
        values, errors = [], []
        for column in columns:
            own = np.ascontiguousarray(soft[:, column])
            parts = graph.class_of, column, own
            changes, *sums = residuals(*edges, means, reach, reach_to, *parts)
            linear = responses(inverse, changes, moves)
            error = remainders(
                among,
                to,
                reach,
                reach_to,
                *parts,
                linear,
                inverse,
                nodes,
                *sums,
                solver.error,
                green_error,
                rounding,
                largest - smallest,
            )
            values.append(own[nodes] + linear[:, nodes])
            errors.append(error)
        if len(columns) == 1:
            values.insert(0, 1.0 - values[0])
            errors.insert(0, errors[0])
        table = np.stack(values, axis=2)
        # Rounding of what follows: a few sums of numbers of this size.
        room = 16 * UNIT * (1.0 + np.abs(table).max(axis=0))
        return _Models(table, np.stack(errors, axis=1) + room), importance

    def _settle(
        self, possible: BoolArray, nodes: IntArray, models: _Models, symmetry: Symmetry
    ) -> FloatArray:
        """Rule out classes; returns for every node by how much it may be right at the vertices."""
        n_vertices, m, n_classes = models.values.shape
        room = np.full((m, n_vertices), np.inf)
        allowed = possible[nodes]
        for c in range(n_classes):
            for d in range(n_classes):
                if c == d:
                    continue
                lead = models.values[:, :, c] - models.values[:, :, d]
                ahead = lead + (models.errors[:, c] + models.errors[:, d])
                most = ahead.max(axis=0)
                allowed[:, c] &= most >= 0.0
                better = (self.truth[nodes] == c) & (most < room.max(axis=1))
                room[better] = ahead.T[better]
        middle = models.values.mean(axis=0)
        lead = middle.max(axis=1, keepdims=True) - middle
        close = (lead <= SUSPICIOUS) & allowed
        for place in np.flatnonzero(close.sum(axis=1) > 1).tolist():
            classes = np.flatnonzero(allowed[place]).tolist()
            kept = symmetry.without_ties(int(nodes[place]), classes)
            allowed[place] = np.isin(np.arange(n_classes), kept)
        possible[nodes] = allowed
        still = np.isin(nodes, self._open(possible))
        return room[still]

    def _counted(
        self,
        possible: BoolArray,
        open_nodes: IntArray,
        room: FloatArray,
        symmetry: Symmetry,
        importance: tuple[float, ...],
    ) -> BoxBound:
        """Bounds from the classes that are possible, and from what excludes each other."""
        known = np.flatnonzero(self.truth >= 0)
        right = known[possible[known, self.truth[known]]]
        sure = right[possible[right].sum(axis=1) == 1]
        lower = self.n_always_right + len(sure)
        upper = lower + self._most_right(open_nodes, room, symmetry)
        return BoxBound(
            Fraction(lower, self.n_unlabelled),
            Fraction(upper, self.n_unlabelled),
            importance,
            None if len(open_nodes) else 1,
            Reuse(self, possible),
        )

    def _most_right(self, nodes: IntArray, room: FloatArray, symmetry: Symmetry) -> int:
        """How many of the open nodes can be right at once."""
        if nodes.size < 2:
            return int(nodes.size)
        colours, truth = symmetry.colours[nodes], self.truth[nodes]
        total = 0
        alone = np.ones(nodes.size, dtype=np.bool_)
        for colour in np.unique(colours).tolist():
            members = colours == colour
            counts = np.bincount(truth[members])
            if np.count_nonzero(counts) > 1:  # equal soft labels, different truths
                total += int(counts.max())
                alone &= ~members
        total += int(alone.sum())
        if len(room) == nodes.size:
            total -= int(conflicts(np.ascontiguousarray(room[alone])))
        return total

    def _importance(self, box: Box, spread: FloatArray) -> tuple[float, ...]:
        """How far the exponents of a spanning forest move along every edge of the box."""
        weights = np.array(self._weights(box))
        rates = [float(1 / sigma**2) for sigma in self._sigmas(box)]
        result = []
        for edge in box.edges:
            if box.names[edge.parameter] == "sigma":
                move = (rates[0] - rates[1]) * weights.mean(axis=0)
            else:
                move = sum(rates) / len(rates) * (weights[edge.first] - weights[edge.second])
            result.append(float(np.sqrt(max(move @ spread @ move, 0.0))))
        return tuple(result)


def _moves(vertices: list[Rates], centre: FloatArray) -> FloatArray:
    """Differences of the vertices from the centre, each rounded once."""
    middle = [Fraction(rate) for rate in centre.tolist()]
    rows = [[float(a - b) for a, b in zip(vertex, middle, strict=True)] for vertex in vertices]
    return np.array(rows)
