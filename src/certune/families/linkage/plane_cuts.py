"""Decision trees of boxes as cuts of a plane of two parameters.

The comparisons of a decision tree are polynomials in the coordinates of the box of its anchor. In a
plane of two parameters each of them is a straight line, up to an error that the polynomial's higher
terms and its remainder bound; exponents are linear in those coordinates, and weights nearly: they
are normalised after metrics were scaled, w -> b w / (a (1 - w) + b w).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from certune.box import Box
from certune.families.base import PlaneCut
from certune.families.linkage.anchors import Anchor, Place
from certune.kernels.linkage_boxes import NOTHING, LinearTree

# Lines are moved by this share of what a comparison amounts to, which pays for the roundings of
# corners of cells.
SLACK = 1e-9


class Axis(NamedTuple):
    """A parameter of a plane: its coordinate, how far it goes along u, and how far it is bent."""

    coordinate: int
    reach: float
    bend: float


class OpenPlane(NamedTuple):
    """What is open on a box, and the largest error of a model as a share of what moves."""

    cut: PlaneCut
    vagueness: float


def open_plane(anchor: Anchor, root: int, part: Place, axes: tuple[Axis, Axis]) -> OpenPlane | None:
    """Return the open comparisons of a part of an anchor's box; None if nothing is open."""
    tree = anchor.linear(part, root)
    if tree is None:
        return None
    found = _cut(tree, tree.root, axes, anchor.utilities)
    if not isinstance(found, PlaneCut):
        return None
    moves = sum(abs(tree.numbers[:, 1 + axis.coordinate] * axis.reach) for axis in axes)
    shares = tree.numbers[:, -1] / np.maximum(moves, np.finfo(float).tiny)
    return OpenPlane(found, float(shares.max()))


def _cut(
    tree: LinearTree, place: int, axes: tuple[Axis, Axis], utilities: tuple[Fraction, ...]
) -> PlaneCut | Fraction | None:
    if place == NOTHING:
        return None
    if place < 0:
        return utilities[~place]
    value, *slopes, error = tree.numbers[place].tolist()
    first, second = axes
    along = slopes[first.coordinate] * first.reach, slopes[second.coordinate] * second.reach
    bends = sum(abs(slopes[axis.coordinate]) * axis.bend for axis in axes)
    slack = SLACK * (abs(value) + abs(along[0]) + abs(along[1]))
    above, below = (
        _cut(tree, int(child), axes, utilities) for child in tree.children[place].tolist()
    )
    return PlaneCut(value, along, error + bends + slack, above, below)


def exponent_axis(ends: tuple[float, float], coordinate: int) -> Axis:
    """Axis of an exponent whose part has these ends in the coordinates of the anchor."""
    return Axis(coordinate, 0.5 * (ends[1] - ends[0]), 0.0)


def weight_axis(
    box: Box, parameter: int, sizes: tuple[float, float], ends: tuple[float, float], coordinate: int
) -> Axis:
    """Axis of the second of two weights.

    ``ends`` are the coordinates of the smaller and the larger weight, in this order. The map
    phi(w) = b w / (a (1 - w) + b w) bends by at most (width^2 / 8) max |phi''| from its chord, and
    |phi''(w)| = 2 a b |b - a| / (a + (b - a) w)^3 is largest at an end.
    """
    low, high = sorted(vertex[-1] for vertex in box.parts[parameter])
    a, b = sizes
    at_ends = [a + (b - a) * w for w in (low, high)]
    chord = a * b * (high - low) / (at_ends[0] * at_ends[1])  # phi(high) - phi(low)
    curvature = 2.0 * a * b * abs(b - a) / min(at_ends) ** 3
    deviation = (high - low) ** 2 / 8.0 * curvature
    length = ends[1] - ends[0]
    return Axis(coordinate, 0.5 * length, abs(length) * deviation / chord)
