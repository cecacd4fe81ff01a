"""Cuts at a height as plain cuts of points with a ruler beside them.

A *ruler* is two points whose distance is the height, far away from all others: farther than these
are from each other, and than the ruler is long. Its own merge has the height as its value, whatever
the linkage and the exponent, and nothing else meets it before. So the merges below the height are
those before the ruler's; and since its points come first, it wins the ties with merges at that very
height. A ruler whose length moves is one with a length in each of two metrics, which agree about
all other points, and weights between them. ``docs/theory/linkage-sweep.md`` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.box import Box, Vertex
from certune.dual import PiecewiseFunction
from certune.families.linkage.course import make_course
from certune.families.linkage.family import Linkage
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line
from certune.families.linkage.utility import IntegerRatios, Utility
from certune.kernels.linkage import RULER, Pruning
from certune.space import ParameterSpace, Segment

IntArray = NDArray[np.int64]

N_ENDS = 2  # points of a ruler, which come before all others


class RulerLinkage(Linkage):
    """Linkage whose trees are cut below the merge of the ruler that instances begin with."""

    def __init__(self, kind: str, alpha: Any, moves: bool, utility: Utility) -> None:
        weights, n_metrics = ("tune", 2) if moves else (None, 1)
        super().__init__(kind, alpha, weights, n_metrics, "cut", _behind_ruler(utility))

    def _pruning(self, instance: ClusteringInstance) -> Pruning:
        return Pruning(RULER, np.empty((0, 0), dtype=np.int64), 1)

    def dual_of_heights(
        self, instance: ClusteringInstance, scale: Scale, along: Segment
    ) -> PiecewiseFunction:
        """Utility along a line of alpha and heights, whose weights are rational numbers."""
        start: Any = along.origin
        slope: Any = along.direction
        weights = scale.line_of_weights(start["cut_height"], slope["cut_height"])
        line = Line(self.kind, ((start["alpha"], slope["alpha"]),), weights)

        def value_at(t: float | Fraction) -> Fraction:
            return self._run_at(make_course(instance, line.at(Fraction(t)), 0.0, 0.0))

        return self._dual_along(instance, line, (along.low, along.high), value_at, along.name)


def _behind_ruler(utility: Utility) -> Utility:
    """The utility of what is left of clusters without the ruler, whose ends are the first two."""
    counts = utility.counts and partial(_counts, utility.counts)
    return replace(utility, function=partial(_value, utility.function), counts=counts)


def _value(function: Callable[..., Any], target: IntArray, labels: IntArray) -> Any:
    return function(target[N_ENDS:], labels[N_ENDS:] - N_ENDS)


def _counts(
    counts: Callable[..., IntegerRatios], target: IntArray, partitions: IntArray
) -> IntegerRatios:
    return counts(target[N_ENDS:], np.ascontiguousarray(partitions[:, N_ENDS:]) - N_ENDS)


def with_ruler(instance: ClusteringInstance, lengths: Sequence[float]) -> ClusteringInstance:
    """The points of an instance of one metric behind a ruler that is so long in each metric."""
    n = instance.n_points + N_ENDS
    [own] = instance.distances
    # A power of two brings no digits that distances do not have.
    largest = max(float(own.max()), *lengths)
    far = math.ldexp(1.0, math.frexp(largest)[1] + 1)
    distances = np.full((len(lengths), n, n), far)
    distances[:, N_ENDS:, N_ENDS:] = own
    for matrix, length in zip(distances, lengths, strict=True):
        matrix[:N_ENDS, :N_ENDS] = [[0.0, length], [length, 0.0]]
    target = None
    if instance.target is not None:
        target = np.concatenate([np.zeros(N_ENDS, dtype=np.int64), instance.target])
    return ClusteringInstance(distances=list(distances), target=target, k=1, name=instance.name)


class Scale:
    """Weights of a ruler of two lengths, by the heights that it then has.

    Heights from ``low`` to ``high`` lie between the two lengths: where one of the weights is 0
    there would be ties that are nowhere else.
    """

    def __init__(self, low: float, high: float) -> None:
        self.lengths = 0.5 * low, 2.0 * high

    def weights(self, height: float) -> Vertex:
        """The weights with which the mean of the two lengths is the height."""
        short, long = self.lengths
        share = (height - short) / (long - short)
        return 1.0 - share, share

    def box(self, space: ParameterSpace, box: Box) -> Box:
        """The same box in a space of alpha and weights."""
        heights = tuple(self.weights(height) for (height,) in box.vertices("cut_height"))
        return Box(space, (box.vertices("alpha"), heights))

    def line_of_weights(self, start: float, slope: float) -> tuple[tuple[Fraction, Fraction], ...]:
        """The weights, (value at 0, slope) of each, with which heights are start + t slope."""
        short, long = map(Fraction, self.lengths)
        share, step = (Fraction(start) - short) / (long - short), Fraction(slope) / (long - short)
        return (1 - share, -step), (share, step)
