"""Bounds of the utility of harmonic labelling on a box of parameters.

The weights of the edges are exp(-gamma . delta) with the rates gamma = beta / sigma^2, and a box of
(sigma, weights) is a polytope of rates.  On it every soft label is a linear function of the rates
up to a proved remainder (``docs/theory/harmonic-boxes.md``); points whose label is settled by that
are counted, of the others as many as can be right at once.  Classes that a point cannot have on a
box it cannot have on a part of it either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certune.box import Box
from certune.families.base import BoxBound
from certune.families.distances import IntArray
from certune.families.graph_ssl.course import FloatArray
from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import BoolArray, Graph
from certune.families.graph_ssl.solver import UNIT, PointSolver
from certune.families.graph_ssl.symmetry import Symmetry
from certune.kernels.graph import (
    STRONG,
    ModelErrors,
    RateBox,
    conflicts,
    dominant_classes,
    exponents_at,
    rule_out,
    soft_models,
)


@dataclass(frozen=True)
class Reuse:
    """What is known about a box and holds on every part of it: classes that points can have."""

    problem: BoxProblem
    possible: BoolArray


@dataclass(eq=False)
class BoxProblem:
    """One instance, prepared for many boxes.

    Parameters
    ----------
    graph : Graph
        The edges.
    truth : int64 array
        True class (column) of every point in reach, -1 if it has no column.
    n_always_right, n_scored : int
        Points that no label reaches and whose answer is right; all points that count.
    fixed : mapping
        ``sigma`` and ``weights`` where they are not part of boxes.
    """

    graph: Graph
    truth: IntArray
    n_always_right: int
    n_scored: int
    fixed: Mapping[str, Any]
    _symmetries: dict[tuple[tuple[float, ...], ...], Symmetry] = field(
        init=False, default_factory=dict
    )

    @property
    def start(self) -> Reuse:
        """What is known without looking at any box: nothing."""
        return Reuse(self, np.ones((len(self.graph.points), self.graph.n_classes), dtype=np.bool_))

    def bound(self, box: Box, reuse: Reuse) -> BoxBound:
        """Bounds on a box, from what is known on a box around it."""
        possible = reuse.possible.copy()
        symmetry = self._symmetry(box)
        importance = (0.0,) * len(box.edges)
        room = np.zeros((0, 1))
        open_points = self._open(possible)
        if open_points.size:
            self._dominate(possible, open_points, self._vertices(box))
            open_points = self._open(possible)
        if open_points.size:
            models, importance = self._models(box, open_points)
            if models is not None:
                open_points, room = self._settle(possible, open_points, models, symmetry)
        return self._counted(possible, open_points, room, symmetry, importance)

    def _open(self, possible: BoolArray) -> IntArray:
        """Points that may be right or wrong."""
        known = self.truth >= 0
        can_be_right = np.zeros(len(known), dtype=np.bool_)
        can_be_right[known] = possible[known, self.truth[known]]
        return np.flatnonzero(can_be_right & (possible.sum(axis=1) > 1))

    def _sigmas(self, box: Box) -> list[float]:
        if "sigma" not in box.names:
            return [self.fixed["sigma"]]
        return [vertex[0] for vertex in box.vertices("sigma")]

    def _weights(self, box: Box) -> tuple[tuple[float, ...], ...]:
        if "weights" not in box.names:
            return (self.fixed["weights"],)
        return box.vertices("weights")

    def _vertices(self, box: Box) -> FloatArray:
        """Rates (vertices, L) at the vertices of the box, each within three units."""
        weights = np.array(self._weights(box))
        return np.concatenate([weights / (sigma * sigma) for sigma in self._sigmas(box)])

    def _dominate(self, possible: BoolArray, points: IntArray, vertices: FloatArray) -> None:
        """Settle the points that one class wins by far."""
        graph = self.graph
        rates = np.concatenate([vertices.mean(axis=0, keepdims=True), vertices])
        exponents = exponents_at(graph.edges, rates)
        largest = float(exponents.max(initial=0.0))
        slack = 1.001 * math.exp(min(16 * UNIT * (len(rates[0]) + 4) * largest, 700.0))
        nodes = graph.place[points]
        classes = dominant_classes(graph.edges, exponents, nodes, slack)
        won = classes >= 0
        possible[points[won]] = False
        possible[points[won], classes[won]] = True

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
        self, box: Box, points: IntArray
    ) -> tuple[tuple[FloatArray, FloatArray] | None, tuple[float, ...]]:
        """Values at the vertices and errors for some points, and what halving edges promises."""
        # Threads look at boxes of one problem at the same time: each has work arrays of its own.
        graph, solver = self.graph, PointSolver(self.graph)
        n = graph.n_nodes
        vertices = self._vertices(box)
        centre = vertices.mean(axis=0)
        smallest, largest = needed_range(graph, [graph.combined(centre)])
        if largest - smallest > STRONG:
            return None, self._importance(box, self._spread_of_all)
        soft = solver.solve([Fraction(rate) for rate in centre.tolist()], smallest)
        farthest = max(float(graph.between.max(initial=0.0)), float(graph.to_labelled.max()))
        rounding = 16 * UNIT * (len(centre) + 2) * float(vertices.max(axis=0).sum()) * farthest
        values, errors, spread, good = soft_models(
            graph.edges,
            solver.work,
            soft,
            RateBox(centre, vertices - centre, smallest, largest - smallest),
            ModelErrors(
                soft=solver.error,
                green=UNIT * (16 * n * n + 66 * n + 2 * len(centre) + 80),
                rounding=rounding,
            ),
        )
        importance = self._importance(box, spread)
        nodes = graph.place[points]
        return ((values[:, nodes], errors[nodes]) if good else None), importance

    def _settle(
        self,
        possible: BoolArray,
        points: IntArray,
        models: tuple[FloatArray, FloatArray],
        symmetry: Symmetry,
    ) -> tuple[IntArray, FloatArray]:
        """Rule out classes; returns what stays open, and how far it can be ahead if right."""
        allowed = possible[points]
        room, close = rule_out(*models, self.truth[points], allowed)
        for place in np.flatnonzero(close).tolist():
            classes = np.flatnonzero(allowed[place]).tolist()
            kept = symmetry.without_ties(int(self.graph.place[points[place]]), classes)
            allowed[place] = False
            allowed[place, kept] = True
        possible[points] = allowed
        can_be_right = allowed[np.arange(len(points)), self.truth[points]]
        still = can_be_right & (allowed.sum(axis=1) > 1)
        return points[still], room[still]

    def _counted(
        self,
        possible: BoolArray,
        open_points: IntArray,
        room: FloatArray,
        symmetry: Symmetry,
        importance: tuple[float, ...],
    ) -> BoxBound:
        """Bounds from the classes that are possible, and from what excludes each other."""
        known = np.flatnonzero(self.truth >= 0)
        right = known[possible[known, self.truth[known]]]
        sure = right[possible[right].sum(axis=1) == 1]
        lower = self.n_always_right + len(sure)
        upper = lower + self._most_right(open_points, room, symmetry)
        return BoxBound(
            Fraction(lower, self.n_scored),
            Fraction(upper, self.n_scored),
            importance,
            None if len(open_points) else 1,
            Reuse(self, possible),
        )

    def _most_right(self, points: IntArray, room: FloatArray, symmetry: Symmetry) -> int:
        """How many of the open points can be right at once."""
        if points.size < 2:
            return int(points.size)
        colours, truth = symmetry.colours[self.graph.place[points]], self.truth[points]
        total = 0
        alone = np.ones(points.size, dtype=np.bool_)
        for colour in np.unique(colours).tolist():
            members = colours == colour
            counts = np.bincount(truth[members])
            if np.count_nonzero(counts) > 1:  # equal soft labels, different truths
                total += int(counts.max())
                alone &= ~members
        total += int(alone.sum())
        if len(room) == points.size:
            total -= conflicts(room[alone])
        return total

    @cached_property
    def _spread_of_all(self) -> FloatArray:
        """Covariances of the distances over all edges, for boxes without a model."""
        graph = self.graph
        among = graph.between[:, graph.is_edge]
        to = graph.to_labelled[:, graph.is_edge_to_labelled]
        return np.atleast_2d(np.cov(np.concatenate([among, to], axis=1), bias=True))

    def _importance(self, box: Box, spread: FloatArray) -> tuple[float, ...]:
        """How far the exponents of a spanning forest move along every edge of the box."""
        weights = np.array(self._weights(box))
        rates = [1.0 / (sigma * sigma) for sigma in self._sigmas(box)]
        result = []
        for edge in box.edges:
            if box.names[edge.parameter] == "sigma":
                move = (rates[0] - rates[1]) * weights.mean(axis=0)
            else:
                move = sum(rates) / len(rates) * (weights[edge.first] - weights[edge.second])
            result.append(float(np.sqrt(max(move @ spread @ move, 0.0))))
        return tuple(result)
