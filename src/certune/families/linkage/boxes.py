"""Bounds of the utility of linkage clustering on a box of parameters.

The kernels follow every cluster tree that a box can have (``docs/theory/branch-and-bound.md``);
the bounds are the smallest and the largest utility among their prunings.  Merges that hold on the
whole box hold on every part of it, and are handed on to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certune.box import Box
from certune.families.base import BoxBound
from certune.families.linkage.combining import shift_for
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.sweeping import Pruning, start_from_duplicates
from certune.families.linkage.utility import Utility
from certune.kernels.box_forest import roots_of
from certune.kernels.box_models import PRODUCT, WEIGHTED, build_models, rounding_error
from certune.kernels.box_outcomes import outcomes

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.uint64]
Interval: TypeAlias = tuple[float, float]

MOST_TREES = 32  # a box with more trees is better cut
MOST_RAYS = 64  # parts of a box around the origin of product linkage
_NO_FACES = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Reuse:
    """What is known about a box and holds on every part of it: merges (as pairs of nodes)."""

    problem: BoxProblem
    merges: NDArray[np.int16]


@dataclass(frozen=True)
class _Outcomes:
    """Partitions of all trees (None: too many), merges common to them, and mean linear parts."""

    partitions: NDArray[np.int64] | None
    n_trees: int
    merges: NDArray[np.int16]
    shares: Floats


@dataclass(eq=False)
class BoxProblem:
    """One instance, prepared for many boxes."""

    instance: ClusteringInstance
    kind: str
    alpha_names: tuple[str, ...]
    fixed: Mapping[str, float]
    weights: tuple[float, ...]
    pruning: Pruning
    utility: Utility
    _data: Floats = field(init=False)
    _largest_log: float = field(init=False)
    _scores: dict[bytes, Fraction] = field(init=False, default_factory=dict)
    _codes: dict[tuple[int, ...], Codes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        logs = self.instance.log_distances
        if self.kind == "product":
            self._data = logs
        else:
            # Powers of two, which change no order: weights of at most 1, distances near 1.
            self.weights = tuple(np.ldexp(self.weights, -math.frexp(max(self.weights))[1]).tolist())
            shift = shift_for(self.instance, np.eye(self.instance.n_metrics).tolist())
            self._data = np.ldexp(self.instance.distances, shift)
            logs = logs + shift * math.log(2)
        self._largest_log = 4.0 + 2.0 * float(np.abs(logs).max())

    @property
    def start(self) -> Reuse:
        """What is known without looking at any box: identical points are joined first."""
        left, right, labels = start_from_duplicates(self.instance.duplicate_of)
        n = self.instance.n_points
        made = n - int(labels.max()) - 1
        merges = np.column_stack([left[n : n + made], right[n : n + made]])
        return Reuse(self, merges.astype(np.int16))

    def bound(self, box: Box, reuse: Reuse) -> BoxBound:
        """Bounds on a box, from what is known on a box around it."""
        if box.is_empty:
            low = self.utility.low
            return BoxBound(low, low, (0.0,) * len(box.edges), 0, reuse)
        if self.kind == "product":
            found = self._product(box, reuse.merges)
        else:
            found = self._weighted(box, reuse.merges)
        importance = self._importance(box, found.shares)
        reuse = Reuse(self, found.merges)
        if found.partitions is None:
            return BoxBound(self.utility.low, self.utility.high, importance, None, reuse)
        values = [self._score(labels) for labels in found.partitions]
        return BoxBound(min(values), max(values), importance, len(values), reuse)

    def _score(self, labels: NDArray[np.int64]) -> Fraction:
        key = labels.tobytes()
        value = self._scores.get(key)
        if value is None:
            value = self.utility.score(self.instance.target, labels.copy())
            self._scores[key] = value
        return value

    def _face_codes(self, metrics: tuple[int, ...]) -> Codes:
        """Codes of the pairs of points, equal exactly if the pairs agree in some metrics."""
        codes = self._codes.get(metrics)
        if codes is None:
            if len(metrics) == self.instance.n_metrics:
                codes = self.instance.pair_codes
            else:
                part = ClusteringInstance(
                    distances=[self.instance.distances[i] for i in metrics], k=1
                )
                codes = part.pair_codes
            self._codes[metrics] = codes
        return codes

    def _alpha(self, box: Box, name: str) -> Interval:
        if name in self.fixed:
            return self.fixed[name], self.fixed[name]
        vertices = box.vertices(name)
        return vertices[0][0], vertices[-1][0]

    def _weighted(self, box: Box, merges: NDArray[np.int16]) -> _Outcomes:
        low, high = self._alpha(box, "alpha")
        vertices: Any = box.vertices("weights") if "weights" in box.names else (self.weights,)
        present = tuple(i for i, column in enumerate(zip(*vertices, strict=True)) if any(column))
        around_zero = low <= 0.0 <= high
        centre = 0.0 if around_zero else 0.5 * low + 0.5 * high
        half = _reach(low, high, centre)
        lane = 1 + (around_zero or half > 0.0) if len(vertices) == 2 else 0
        faces, face_codes = self._faces(vertices, present, lane)
        return self._outcomes(
            WEIGHTED,
            np.array(vertices),
            centre,
            half,
            around_zero,
            -1.0 if high < 0.0 else 1.0,
            max(abs(low), abs(high)),
            merges,
            self._face_codes(present),
            faces,
            face_codes,
        )

    def _faces(
        self, vertices: tuple[tuple[float, ...], ...], present: tuple[int, ...], lane: int
    ) -> tuple[NDArray[np.int64], Codes]:
        """Faces of the weights that the box touches: which vertices, and codes of pairs there."""
        n = self.instance.n_points
        masks, codes = [], []
        if len(vertices) > 1:
            for count in range(1, len(present)):
                for metrics in combinations(present, count):
                    mask = [all(v[i] == 0.0 for i in present if i not in metrics) for v in vertices]
                    if any(mask):
                        masks.append(mask)
                        codes.append(self._face_codes(metrics))
        if not masks:
            return _NO_FACES, np.zeros((0, n, n), dtype=np.uint64)
        lanes = np.full((len(masks), 1), lane)
        return np.column_stack([np.array(masks, dtype=np.int64), lanes]), np.stack(codes)

    def _outcomes(
        self,
        mode: int,
        vertices: Floats,
        alpha: float,
        half: float,
        box_cox: bool,
        sense: float,
        exponent: float,
        merges: NDArray[np.int16],
        codes: Codes,
        faces: NDArray[np.int64] = _NO_FACES,
        face_codes: Codes | None = None,
    ) -> _Outcomes:
        n, n_metrics = self.instance.n_points, self.instance.n_metrics
        if face_codes is None:
            face_codes = np.zeros((0, n, n), dtype=np.uint64)
        joined = merges.astype(np.int64)
        labels, nodes = roots_of(n, joined)
        minmax = self.kind == "min-max"
        error = rounding_error(n, n_metrics, len(vertices), exponent, self._largest_log, minmax)
        models, extremes, n_intervals, n_simplex, shares, good = build_models(
            mode,
            minmax,
            self._data,
            vertices,
            alpha,
            half,
            box_cox,
            sense,
            error,
            labels,
            codes,
            faces,
            face_codes,
        )
        if not good:
            return _Outcomes(None, 0, merges, shares)
        complete, n_trees, partitions, common = outcomes(
            models,
            extremes,
            n_intervals,
            n_simplex,
            n,
            joined,
            nodes,
            codes,
            faces,
            face_codes,
            self.pruning.objective,
            self.pruning.reference,
            self.pruning.k,
            MOST_TREES,
        )
        return _Outcomes(partitions if complete else None, n_trees, common.astype(np.int16), shares)

    def _product(self, box: Box, merges: NDArray[np.int16]) -> _Outcomes:
        intervals = [self._alpha(box, name) for name in self.alpha_names]
        stratum = box.stratum
        senses = [float(stratum.side)] if stratum.side else _senses(intervals)
        if stratum.rays:
            low, high = box.parts[-1][0][0], box.parts[-1][-1][0]
            found = [self._rays(intervals, (low, high), sense, merges) for sense in senses]
        elif all(low <= 0.0 <= high for low, high in intervals):
            return self._around_origin(intervals, merges)
        else:
            factor, off_axes = (1.0, 1.0), stratum.off_axes
            found = [self._exponents(intervals, factor, s, merges, off_axes) for s in senses]
        return _union(found, merges)

    def _rays(
        self,
        intervals: list[Interval],
        factor: Interval,
        sense: float,
        merges: NDArray[np.int16],
        off_axes: bool = True,
    ) -> _Outcomes:
        """Trees for all exponents s * p with p in a box and s, not 0, in an interval."""
        if factor[0] == 0.0:
            # A scale that is a power of two keeps the directions exact.
            largest = max(abs(end) for ends in intervals for end in ends)
            scale = math.ldexp(1.0, math.frexp(largest)[1])
            intervals = [(low / scale, high / scale) for low, high in intervals]
            factor = (0.0, factor[1] * scale)
        return self._exponents(intervals, factor, sense, merges, off_axes)

    def _exponents(
        self,
        intervals: list[Interval],
        factor: Interval,
        sense: float,
        merges: NDArray[np.int16],
        off_axes: bool,
    ) -> _Outcomes:
        """Trees for these exponents times a factor, which is in Box-Cox form if it can be 0."""
        centre = [0.5 * low + 0.5 * high for low, high in intervals]
        halves = [_reach(*ends, c) for ends, c in zip(intervals, centre, strict=True)]
        exponent = factor[1] * sum(max(abs(low), abs(high)) for low, high in intervals)
        present = tuple(i for i, ends in enumerate(intervals) if ends != (0.0, 0.0))
        codes = self._face_codes(present)
        vertices = np.array([centre, halves])
        box_cox = factor[0] == 0.0
        middle = 1.0 if box_cox else 0.5 * factor[0] + 0.5 * factor[1]
        half = factor[1] if box_cox else _reach(*factor, middle)
        lane = 2 if half > 0.0 or box_cox else 1
        faces = self._axes(intervals, present, lane) if off_axes else ()
        return self._outcomes(
            PRODUCT, vertices, middle, half, box_cox, sense, exponent, merges, codes, *faces
        )

    def _axes(
        self, intervals: list[Interval], present: tuple[int, ...], lane: int
    ) -> tuple[NDArray[np.int64], Codes] | tuple[()]:
        """Ends of the box at which an exponent is 0, with codes of pairs that agree otherwise."""
        faces, codes = [], []
        for i, (low, high) in enumerate(intervals):
            if low == high:
                continue
            if low == 0.0 or high == 0.0:
                faces.append([low == 0.0, high == 0.0, lane])
                codes.append(self._face_codes(tuple(k for k in present if k != i)))
            lane += 1
        if not faces:
            return ()
        return np.array(faces, dtype=np.int64), np.stack(codes)

    def _around_origin(self, intervals: list[Interval], merges: NDArray[np.int16]) -> _Outcomes:
        """Trees near exponents 0, where the order depends on the direction alone.

        The box is a union of rays to the faces that do not contain the origin; faces are cut until
        every part has few trees.
        """
        n_metrics = len(intervals)
        open_faces = [
            [*intervals[:i], (end, end), *intervals[i + 1 :]]
            for i in range(n_metrics)
            for end in intervals[i]
            if end != 0.0
        ]
        shares = np.array([0.0, *(high - low for low, high in intervals if low < high)])
        # The exponents 0 themselves are the limit in the direction (1, ..., 1).
        found = [self._exponents([(1.0, 1.0)] * n_metrics, (0.0, 0.0), 1.0, merges, False)]
        n_parts = 0
        while open_faces:
            face = open_faces.pop()
            n_parts += 1
            parts = [self._rays(face, (0.0, 1.0), s, merges, False) for s in _senses(face)]
            if all(part.partitions is not None for part in parts):
                found += parts
                continue
            widths = [high - low for low, high in face]
            i = int(np.argmax(widths))
            middle = 0.5 * face[i][0] + 0.5 * face[i][1]
            if n_parts > MOST_RAYS or not face[i][0] < middle < face[i][1]:
                return _Outcomes(None, 0, merges, shares)
            open_faces += [
                [*face[:i], half, *face[i + 1 :]]
                for half in ((face[i][0], middle), (middle, face[i][1]))
            ]
        united = _union(found, merges)
        return _Outcomes(united.partitions, united.n_trees, merges, shares)

    def _importance(self, box: Box, shares: Floats) -> tuple[float, ...]:
        """How far the exponents of the pairs move along every edge of the box, on average."""
        if self.kind == "product":
            directions = [float(share) for share in shares[1:]]
            if not box.stratum.rays:
                return tuple(directions[: len(box.edges)])
            # A common factor changes orders by what is not linear only.
            low, high = box.parts[-1][0][0], box.parts[-1][-1][0]
            across = directions[: len(box.edges) - 1]
            along = (0.5 * (high - low) * float(shares[0])) ** 2
            along += 0.125 * (high - low) * sum(across)
            return (*(0.5 * (low + high) * share for share in across), along)
        low, high = self._alpha(box, "alpha")
        slope = max(1.0, abs(low), abs(high))
        result = []
        for edge in box.edges:
            if box.names[edge.parameter] == "alpha":
                result.append(0.5 * (high - low) * float(shares[0]))
            elif len(box.parts[edge.parameter]) == 2:
                result.append(slope * float(shares[1]))
            else:
                first = 1 + len(box.parts[edge.parameter])
                place = first + edge.second * (edge.second - 1) // 2 + edge.first
                result.append(slope * float(shares[place]))
        return tuple(result)


def _reach(low: float, high: float, centre: float) -> float:
    """Half width of an interval around a rounded centre, rounded up."""
    half = max(high - centre, centre - low)
    return math.nextafter(half, math.inf) if half > 0.0 else 0.0


def _senses(intervals: list[Interval]) -> list[float]:
    """Orders that product linkage has on a box: larger is nearer where the exponents sum to < 0.

    `math.fsum` rounds once, so that its sign is that of the exact sum.
    """
    least = math.fsum(low for low, _ in intervals)
    most = math.fsum(high for _, high in intervals)
    return ([1.0] if most >= 0.0 else []) + ([-1.0] if least < 0.0 else [])


def _union(found: list[_Outcomes], merges: NDArray[np.int16]) -> _Outcomes:
    """Trees of several parts together; common merges are only kept if there is one part."""
    if len(found) == 1:
        return found[0]
    n_trees = sum(part.n_trees for part in found)
    shares = found[0].shares
    partitions = [part.partitions for part in found if part.partitions is not None]
    if len(partitions) < len(found):
        return _Outcomes(None, n_trees, merges, shares)
    return _Outcomes(np.unique(np.concatenate(partitions), axis=0), n_trees, merges, shares)
