"""Bounds of the utility of linkage clustering on a box of parameters.

The kernels follow every cluster tree that a box can have (``docs/theory/branch-and-bound.md``);
the bounds are the smallest and the largest utility among their prunings.  Merges that hold on the
whole box hold on every part of it, and so does the tree of comparisons that were open: both are
handed on to the parts.
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
from certune.families.base import BoxBound, PlaneCut
from certune.families.linkage.anchors import Anchor, Interval, Place, power_first
from certune.families.linkage.combining import shift_for
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.plane_cuts import (
    Axis,
    OpenPlane,
    exponent_axis,
    open_plane,
    weight_axis,
)
from certune.families.linkage.sweeping import start_from_duplicates
from certune.families.linkage.utility import Utility
from certune.kernels.linkage import CUT, PLAIN_CUTS, RULER, Pruning, prune
from certune.kernels.linkage_boxes import (
    ENERGY,
    MEAN,
    MIN_MAX,
    BoxTrees,
    Clusters,
    Power,
    Ties,
)

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.uint64]
Merges: TypeAlias = NDArray[np.int16]

MOST_RAYS = 64  # parts of a box around the origin of product linkage
# A box is halved only along sides that move values at least this share of what the longest one
# does: comparisons that do not depend on a parameter would else shrink it to nothing in the others.
SHORTEST_SIDE = 1.0 / 16.0
# Cuts of a plane whose errors are a larger share of what moves are made anew.
VAGUE = 1.0 / 64.0


@dataclass(frozen=True)
class Reuse:
    """What is known about a box and holds on every part of it.

    Merges (as pairs of nodes), and, if every tree of a box around it was followed, that box and
    what is open of its decision tree.
    """

    problem: BoxProblem
    merges: Merges
    anchor: Anchor | None = None
    root: int = 0


@dataclass(frozen=True)
class _Trees:
    """What was followed on a box.

    Attributes
    ----------
    utilities : list of Fraction or None
        Utilities of its trees; None if there are too many.
    merges : int16 array
        Merges common to all trees.
    movements : float64 array
        How far values move along each coordinate of the kernels.
    anchor : Anchor or None
        The decision tree, if there is a single one.
    """

    utilities: list[Fraction] | None
    merges: Merges
    movements: Floats
    anchor: Anchor | None = None


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
    _trees: BoxTrees = field(init=False)
    _sizes: Floats = field(init=False)
    _scores: dict[bytes, Fraction] = field(init=False, default_factory=dict)
    _values: dict[Fraction, Fraction] = field(init=False, default_factory=dict)
    _codes: dict[tuple[int, ...], Codes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        products = self.kind == "product"
        data = self.instance.log_distances if products else self.instance.distances
        self._sizes = np.ones(len(data))
        if not products:
            shift_for(self.instance, np.eye(len(data)).tolist())
            # With metrics of equal size values move little along the weights; powers of two change
            # no digit.
            exponents = np.frexp([metric.max() for metric in data])[1]
            self._sizes = np.ldexp(1.0, exponents - exponents.max())
            data = np.ldexp(data, -exponents[:, None, None])
        kind = {"min-max": MIN_MAX, "energy": ENERGY}.get(self.kind, MEAN)
        n_clusters = self.pruning.k if self.pruning.objective == CUT else 0
        by_ruler = self.pruning.objective == RULER
        clusters = Clusters(kind, self.instance.duplicate_of, n_clusters, by_ruler)
        self._trees = BoxTrees(data, products, clusters)

    @property
    def start(self) -> Reuse:
        """What is known without looking at any box.

        Identical points are joined first, and the ends of a ruler before anything joins them.
        """
        labels, left, right, _ = start_from_duplicates(self.instance.duplicate_of)
        n = self.instance.n_points
        made = n - int(labels.max()) - 1
        merges = np.column_stack([left[n : n + made], right[n : n + made]])
        if self.pruning.objective == RULER:
            merges = np.concatenate([merges, [[0, 1]]])
        return Reuse(self, merges.astype(np.int16))

    def bound(self, box: Box, reuse: Reuse) -> BoxBound:
        """Bounds on a box, from what is known on a box around it."""
        if box.is_empty:
            low = self.utility.low
            return BoxBound(low, low, (0.0,) * len(box.edges), 0, reuse)
        seen = None
        if reuse.anchor is not None:
            seen, coarse = self._seen(box, reuse, reuse.anchor)
            if seen.settled or not coarse:
                return seen
        found = self._followed_box(box, reuse.merges)
        handed_on = Reuse(self, found.merges)
        if found.anchor is not None:
            handed_on = Reuse(self, found.merges, found.anchor, found.anchor.tree.root)
            return self._seen(box, handed_on, found.anchor)[0]
        if seen is not None:
            return seen
        importance = _along_edges(box, found.movements)
        if found.utilities is None:
            return BoxBound(self.utility.low, self.utility.high, importance, None, handed_on)
        low, high = min(found.utilities), max(found.utilities)
        return BoxBound(low, high, importance, len(found.utilities), handed_on)

    def _seen(self, box: Box, reuse: Reuse, anchor: Anchor) -> tuple[BoxBound, bool]:
        """Bounds from the decision tree of a box around it; would a tree of its own be better?"""
        view = anchor.look(self._place(box, anchor.place.scale), reuse.root)
        openness = _along_edges(box, view.openness)
        importance = _on_long_sides(openness, _along_edges(box, view.movements))
        handed_on = Reuse(self, reuse.merges, anchor, view.outlook.root)
        bound = BoxBound(view.least, view.most, importance, view.outlook.n_leaves, handed_on)
        return bound, view.outlook.coarse

    def cuts(self, box: Box, axes: tuple[int, int], reuse: Reuse) -> PlaneCut | None:
        """Comparisons that are open on a box of two parameters, if they are known.

        Those of a tree of the box itself where the tree of a box around it has wide errors.
        """
        found = self._open_plane(box, axes, reuse.anchor, reuse.root)
        if found is None:
            return None
        if found.vagueness > VAGUE:
            anchor = self._followed_box(box, reuse.merges).anchor
            if anchor is not None:
                found = self._open_plane(box, axes, anchor, anchor.tree.root) or found
        return found.cut

    def _open_plane(
        self, box: Box, axes: tuple[int, int], anchor: Anchor | None, root: int
    ) -> OpenPlane | None:
        if anchor is None:
            return None
        part = self._place(box, anchor.place.scale)
        intervals, vertices = anchor.coordinates(part)
        if len(vertices):
            return None
        first, second = (self._axis(box, axis, anchor.place, intervals.T.tolist()) for axis in axes)
        return open_plane(anchor, root, part, (first, second))

    def _axis(self, box: Box, parameter: int, anchor: Place, ends: list[list[float]]) -> Axis:
        """Where a parameter of a box is among the coordinates of an anchor, with ends there."""
        name = box.names[parameter]
        coordinate = int(anchor.power.moves)
        if name == "weights":
            low, high = ends[coordinate]
            # The coordinate grows from the first vertex of the anchor to the second one.
            rises = anchor.vertices[1][-1] > anchor.vertices[0][-1]
            in_order = (low, high) if rises else (high, low)
            sizes = float(self._sizes[0]), float(self._sizes[1])
            return weight_axis(box, parameter, sizes, in_order, coordinate)
        if self.kind == "product":
            moving = [half > 0.0 for half in anchor.vertices[1]]
            coordinate += sum(moving[: self.alpha_names.index(name)])
        else:
            coordinate = 0
        low, high = ends[coordinate]
        return exponent_axis((low, high), coordinate)

    def _score(self, labels: NDArray[np.int64]) -> Fraction:
        """Return the utility of a partition; one object stands for (nearly) all that are equal."""
        key = labels.tobytes()
        value = self._scores.get(key)
        if value is None:
            value = self.utility.score(self.instance.target, labels)
            value = self._scores[key] = self._values.setdefault(value, value)
        return value

    def _followed(self, place: Place, ties: Ties, merges: Merges) -> _Trees:
        tree = self._trees.follow(place.vertices, place.power, ties, merges)
        common = tree.common.astype(np.int16)
        steps = self._movements(tree.movements, place)
        movements = power_first(steps, place.power)
        if not tree.complete:
            return _Trees(None, common, movements)
        if self.pruning.objective in PLAIN_CUTS:
            partitions = tree.labels
        else:
            leaves = tree.leaves
            partitions = prune(self.pruning, leaves[:, 0], leaves[:, 1])
        utilities = [self._score(labels) for labels in partitions]
        # Fractions are slow to hash, so that objects are told apart first.
        objects = {id(value): value for value in utilities}
        different: list[Fraction] = []
        ranks = {}
        for value in sorted(objects.values()):
            if not different or value != different[-1]:
                different.append(value)
            ranks[id(value)] = len(different) - 1
        tree.set_values(np.array([ranks[id(value)] for value in utilities], dtype=np.int64))
        anchor = Anchor(place, tree, tuple(different), steps)
        return _Trees(utilities, common, movements, anchor)

    def _movements(self, of_pairs: Floats, place: Place) -> Floats:
        """How far values move along each coordinate, of which the last one may be the height.

        Only the ruler moves along that, and counts as much as all other pairs of points do on an
        average: every merge is compared with it.
        """
        if self.pruning.objective != RULER or len(place.vertices) < 2:
            return of_pairs
        first, last = place.vertices @ self.instance.distances[:, 0, 1]
        exponent = max(1.0, *map(abs, place.ends))
        height = 0.5 * exponent * abs(math.log(last / first))
        return np.append(of_pairs[:-1], height)

    def _followed_box(self, box: Box, merges: Merges) -> _Trees:
        if self.kind == "product":
            return self._product(box, merges)
        place = self._place(box)
        return self._followed(place, self._weight_ties(box, place.power), merges)

    # Boxes as the kernels see them

    def _place(self, box: Box, scale: float = 1.0) -> Place:
        if self.kind == "product":
            low, high = box.parts[-1][0][0], box.parts[-1][-1][0]
            factor = (low, high) if box.stratum.rays else (1.0, 1.0)
            return _product_place(self._exponents(box), factor, 1.0, scale)
        low, high = self._ends(box, "alpha")
        around_zero = low <= 0.0 <= high
        middle = 0.0 if around_zero else 0.5 * low + 0.5 * high
        sense = -1.0 if high < 0.0 else 1.0
        power = Power(middle, _reach(low, high, middle), around_zero, sense)
        vertices = np.array(self._weights(box)) * self._sizes
        return Place(power, (low, high), vertices / vertices.sum(axis=1, keepdims=True))

    def _ends(self, box: Box, name: str) -> Interval:
        if name in self.fixed:
            return self.fixed[name], self.fixed[name]
        vertices = box.vertices(name)
        return vertices[0][0], vertices[-1][0]

    def _weights(self, box: Box) -> tuple[tuple[float, ...], ...]:
        return box.vertices("weights") if "weights" in box.names else (self.weights,)

    def _exponents(self, box: Box) -> tuple[Interval, ...]:
        return tuple(self._ends(box, name) for name in self.alpha_names)

    # Which values are equal

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

    def _weight_ties(self, box: Box, power: Power) -> Ties:
        """Ties on a box of weights, and on the faces of the weights that it touches."""
        vertices = self._weights(box)
        present = tuple(i for i, column in enumerate(zip(*vertices, strict=True)) if any(column))
        faces: list[Any] = []
        codes = []
        if len(vertices) > 1:
            for count in range(1, len(present)):
                for metrics in combinations(present, count):
                    mask = [all(v[i] == 0.0 for i in present if i not in metrics) for v in vertices]
                    if any(mask):
                        faces.append([*mask, int(power.moves)])
                        codes.append(self._face_codes(metrics))
        if not faces:
            return Ties.everywhere(self._face_codes(present))
        return Ties(self._face_codes(present), np.array(faces, dtype=np.int64), np.stack(codes))

    def _product_ties(self, place: Place, off_axes: bool) -> Ties:
        """Ties on a box of exponents, and at its ends at which an exponent is 0."""
        present = tuple(i for i, ends in enumerate(place.exponents) if ends != (0.0, 0.0))
        faces, codes = [], []
        coordinate = int(place.power.moves)
        for i, (low, high) in enumerate(place.exponents):
            if low == high:
                continue
            if off_axes and (low == 0.0 or high == 0.0):
                faces.append([low == 0.0, high == 0.0, coordinate])
                codes.append(self._face_codes(tuple(k for k in present if k != i)))
            coordinate += 1
        if not faces:
            return Ties.everywhere(self._face_codes(present))
        return Ties(self._face_codes(present), np.array(faces, dtype=np.int64), np.stack(codes))

    # Products of powers

    def _product(self, box: Box, merges: Merges) -> _Trees:
        exponents, stratum = self._exponents(box), box.stratum
        if not stratum.rays and all(low <= 0.0 <= high for low, high in exponents):
            return self._around_origin(exponents, merges)
        senses = [float(stratum.side)] if stratum.side else _senses(exponents)
        factor = (1.0, 1.0)
        if stratum.rays:
            factor = box.parts[-1][0][0], box.parts[-1][-1][0]
        off_axes = stratum.rays or stratum.off_axes
        return _union([self._rays(exponents, factor, s, merges, off_axes) for s in senses], merges)

    def _rays(
        self,
        exponents: tuple[Interval, ...],
        factor: Interval,
        sense: float,
        merges: Merges,
        off_axes: bool,
    ) -> _Trees:
        """Trees for all exponents s * p with p in a box and s in an interval."""
        scale = 1.0
        if factor[0] == 0.0:
            # A scale that is a power of two keeps the directions exact.
            largest = max(abs(end) for ends in exponents for end in ends)
            scale = math.ldexp(1.0, math.frexp(largest)[1])
        place = _product_place(exponents, factor, sense, scale)
        return self._followed(place, self._product_ties(place, off_axes), merges)

    def _around_origin(self, exponents: tuple[Interval, ...], merges: Merges) -> _Trees:
        """Trees near exponents 0, where the order depends on the direction alone.

        The box is a union of rays to the faces that do not contain the origin; faces are cut until
        every part has few trees.
        """
        n_metrics = len(exponents)
        open_faces = [
            (*exponents[:i], (end, end), *exponents[i + 1 :])
            for i in range(n_metrics)
            for end in exponents[i]
            if end != 0.0
        ]
        movements = np.array([0.0, *(high - low for low, high in exponents if low < high)])
        # The exponents 0 themselves are the limit in the direction (1, ..., 1).
        found = [self._rays(((1.0, 1.0),) * n_metrics, (0.0, 0.0), 1.0, merges, False)]
        n_parts = 0
        while open_faces:
            face = open_faces.pop()
            n_parts += 1
            parts = [self._rays(face, (0.0, 1.0), sense, merges, False) for sense in _senses(face)]
            if all(part.utilities is not None for part in parts):
                found += parts
                continue
            i = int(np.argmax([high - low for low, high in face]))
            low, high = face[i]
            middle = 0.5 * low + 0.5 * high
            if n_parts > MOST_RAYS or not low < middle < high:
                return _Trees(None, merges, movements)
            open_faces += [
                (*face[:i], half, *face[i + 1 :]) for half in ((low, middle), (middle, high))
            ]
        return _Trees(_union(found, merges).utilities, merges, movements)


def _product_place(
    exponents: tuple[Interval, ...], factor: Interval, sense: float, scale: float
) -> Place:
    """Exponents times a factor, which is in Box-Cox form if it can be 0."""
    scaled = tuple((low / scale, high / scale) for low, high in exponents)
    low, high = factor[0] * scale, factor[1] * scale
    middles = [0.5 * a + 0.5 * b for a, b in scaled]
    halves = [_reach(a, b, middle) for (a, b), middle in zip(scaled, middles, strict=True)]
    if low == 0.0:
        power = Power(0.0, high, True, sense)
    else:
        middle = 0.5 * low + 0.5 * high
        power = Power(middle, _reach(low, high, middle), False, sense)
    return Place(power, (low, high), np.array([middles, halves]), scaled, scale)


def _reach(low: float, high: float, middle: float) -> float:
    """Half width of an interval around a rounded middle, rounded up."""
    half = max(high - middle, middle - low)
    return math.nextafter(half, math.inf) if half > 0.0 else 0.0


def _senses(exponents: tuple[Interval, ...]) -> list[float]:
    """Orders that product linkage has on a box: larger is nearer where the exponents sum to < 0.

    `math.fsum` rounds once, so that its sign is that of the exact sum.
    """
    least = math.fsum(low for low, _ in exponents)
    most = math.fsum(high for _, high in exponents)
    return ([1.0] if most >= 0.0 else []) + ([-1.0] if least < 0.0 else [])


def _union(found: list[_Trees], merges: Merges) -> _Trees:
    """Trees of several parts together; merges and decisions are only kept if there is one part."""
    if len(found) == 1:
        return found[0]
    utilities: list[Fraction] = []
    for part in found:
        if part.utilities is None:
            return _Trees(None, merges, found[0].movements)
        utilities += part.utilities
    return _Trees(utilities, merges, found[0].movements)


def _along_edges(box: Box, amounts: Floats) -> tuple[float, ...]:
    """Amounts along the coordinates of the kernels, for the edges of a box.

    The first coordinate is the common exponent or factor, whether it moves or not.
    """
    n_exponents = 0
    result = []
    for edge in box.edges:
        is_factor = edge.parameter == len(box.names)
        if is_factor or box.names[edge.parameter] == "alpha":
            place = 0
        elif box.names[edge.parameter] == "weights":
            place = 1 + edge.second * (edge.second - 1) // 2 + edge.first
        else:
            n_exponents += 1
            place = n_exponents
        result.append(float(amounts[place]))
    return tuple(result)


def _on_long_sides(importance: tuple[float, ...], lengths: tuple[float, ...]) -> tuple[float, ...]:
    """Hand what short sides promise over to the longest one."""
    if not lengths:
        return importance
    longest = max(lengths)
    short = [length < SHORTEST_SIDE * longest for length in lengths]
    result = [0.0 if s else value for s, value in zip(short, importance, strict=True)]
    result[lengths.index(longest)] += sum(v for s, v in zip(short, importance, strict=True) if s)
    return tuple(result)
