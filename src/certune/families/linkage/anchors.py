"""A box on which every cluster tree was followed, and what that says about its parts.

The comparisons that were open on the box are polynomials in its coordinates; a part of the box only
has to evaluate them. What stays open on the part is what is left of the decision tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certune._core.linkage_boxes import DecisionTree
from certune.kernels.linkage_boxes import LinearTree, Outlook, Power, linear, look

Floats: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]

_NO_VERTICES = np.zeros((0, 0))


class Place(NamedTuple):
    """A box of parameters as the kernels see it.

    Attributes
    ----------
    power : Power
        The common exponent, or factor of all exponents.
    ends : (float, float)
        Its smallest and largest value.
    vertices : float64 array
        Weights at the vertices, normalised; for products, middle and half width of each exponent.
    exponents : tuple of (float, float)
        For products, the ends of each exponent.
    scale : float
        For products, the power of two by which exponents were divided and the factor multiplied.
    """

    power: Power
    ends: Interval
    vertices: Floats
    exponents: tuple[Interval, ...] = ()
    scale: float = 1.0


class PartView(NamedTuple):
    """A part of a followed box: what can be reached there.

    ``openness`` and ``movements`` tell how far open comparisons and all values move along the
    common exponent, then along the other coordinates.
    """

    least: Fraction
    most: Fraction
    outlook: Outlook
    openness: Floats
    movements: Floats


def power_first(amounts: Floats, power: Power) -> Floats:
    """Amounts along coordinates, the first of which is the common exponent, moving or not."""
    return amounts if power.moves else np.insert(amounts, 0, 0.0)


@dataclass(frozen=True)
class Anchor:
    """A followed box: where it lies, its decision tree, the different utilities of its leaves.

    ``movements`` tell how far values move along each of its coordinates.
    """

    place: Place
    tree: DecisionTree = field(repr=False)
    utilities: tuple[Fraction, ...] = field(repr=False)
    movements: Floats = field(repr=False)

    @cached_property
    def _from_weights(self) -> Floats:
        """Matrix that takes weights, less those of the first vertex, to barycentric coordinates."""
        edges = self.place.vertices[1:] - self.place.vertices[0]
        if len(edges) == 1:
            return np.asarray(edges.T / float(edges[0] @ edges[0]))
        return np.linalg.pinv(edges)

    def look(self, part: Place, root: int) -> PartView:
        """Look at a part of the box, from the root of what is open on a box around the part."""
        intervals, vertices = self.coordinates(part)
        outlook = look(self.tree, root, intervals, vertices)
        sizes: list[float] = [
            *(0.5 * (intervals[1] - intervals[0])),
            *(
                np.abs(vertices[k] - vertices[j]).max()
                for k in range(len(vertices))
                for j in range(k)
            ),
        ]
        return PartView(
            self.utilities[outlook.least],
            self.utilities[outlook.most],
            outlook,
            power_first(outlook.openness, self.place.power),
            power_first(np.array(sizes) * self.movements, self.place.power),
        )

    def linear(self, part: Place, root: int) -> LinearTree | None:
        """Return what is open on a part as linear comparisons; None if it has three weights."""
        intervals, vertices = self.coordinates(part)
        return None if len(vertices) else linear(self.tree, root, intervals, vertices)

    def coordinates(self, part: Place) -> tuple[Floats, Floats]:
        """Ends of a part in the intervals of this box, and the vertices of its simplex."""
        power = self.place.power
        ends = [_relative(part.ends, power.middle, power.half)] if power.moves else []
        vertices = _NO_VERTICES
        if self.place.exponents:
            middle, half = self.place.vertices
            ends += [
                _relative(exponent, middle[i], half[i])
                for i, exponent in enumerate(part.exponents)
                if half[i] > 0.0
            ]
        elif len(self.place.vertices) > 1:
            shares = (part.vertices - self.place.vertices[0]) @ self._from_weights
            if shares.shape[1] == 1:
                ends.append((2.0 * float(shares.min()) - 1.0, 2.0 * float(shares.max()) - 1.0))
            else:
                vertices = np.column_stack([1.0 - shares.sum(axis=1), shares])
        return np.array(ends).T if ends else np.zeros((2, 0)), vertices


def _relative(ends: Interval, middle: float, half: float) -> Interval:
    return ((ends[0] - middle) / half, (ends[1] - middle) / half) if half > 0.0 else (0.0, 0.0)
