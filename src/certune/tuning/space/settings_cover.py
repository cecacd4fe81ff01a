"""A cover of all settings by boxes: what is known about every instance everywhere.

Branch and bound looks closely where the optimum may be.  Guarantees and estimates ask about every
setting: how much can utilities follow random signs, or what would be best on other instances?
Boxes with bounds of every utility, and a setting of each box with its utilities, answer both, with
stated bounds in place of exact functions.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.box import Box, Edge
from certune.families.base import BoxBound, Family
from certune.guarantees import CellCover, cover_of

Table = NDArray[np.object_]


@dataclass(frozen=True)
class Cell:
    """A box with the bounds of all instances on it."""

    box: Box
    bounds: tuple[BoxBound, ...]

    @property
    def spread(self) -> Fraction:
        """How much is open, summed over the instances."""
        return sum((bound.upper - bound.lower for bound in self.bounds), Fraction(0))

    @property
    def best_edge(self) -> Edge:
        """The edge whose halving promises most, over the instances that are not settled."""
        open_bounds = [bound for bound in self.bounds if not bound.settled]
        edges = range(len(self.box.edges))
        scores = [sum(bound.importance[i] for bound in open_bounds) for i in edges]
        return self.box.edges[max(edges, key=scores.__getitem__)]


@dataclass(frozen=True, eq=False)
class SettingsCover:
    """Boxes that hold every setting, with bounds; made by :func:`cover_settings`.

    Attributes
    ----------
    family : Family
        The algorithm.
    instances : list
        The instances.
    cells : tuple of Cell
        The boxes.
    """

    family: Family
    instances: list[Any]
    cells: tuple[Cell, ...]

    @property
    def n_cells(self) -> int:
        """Number of boxes."""
        return len(self.cells)

    @cached_property
    def lower(self) -> Table:
        """Lower bounds (n_cells, n_instances) of the utilities."""
        return np.array([[bound.lower for bound in cell.bounds] for cell in self.cells], object)

    @cached_property
    def upper(self) -> Table:
        """Upper bounds (n_cells, n_instances) of the utilities."""
        return np.array([[bound.upper for bound in cell.bounds] for cell in self.cells], object)

    @cached_property
    def sums(self) -> CellCover:
        """The bounds, for the Rademacher complexity."""
        return cover_of(self.lower, self.upper, self.family.utility_range)

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """A setting of each box: its centre."""
        return [cell.box.centre for cell in self.cells]

    @cached_property
    def utilities(self) -> Table:
        """Utilities (n_cells, n_instances) of the settings; runs where they are not known."""
        run = self.family.run_exact
        rows = [
            [
                bound.lower if bound.settled else run(instance, setting)
                for instance, bound in zip(self.instances, cell.bounds, strict=True)
            ]
            for cell, setting in zip(self.cells, self.settings, strict=True)
        ]
        return np.array(rows, object)

    def refined(self, n_cells: int) -> SettingsCover:
        """Return a cover by at least so many boxes, if there is anything left to find out."""
        queue = [(-cell.spread, number, cell) for number, cell in enumerate(self.cells)]
        heapq.heapify(queue)
        number = len(queue)
        while len(queue) < n_cells and queue[0][0] < 0:
            spread, _, cell = heapq.heappop(queue)
            edge = cell.best_edge if cell.box.edges else None
            if edge is None or not cell.box.can_split(edge):
                # Nothing more can be found out here; last in the queue.
                heapq.heappush(queue, (Fraction(0), number, cell))
                number += 1
                continue
            for half in cell.box.split(edge):
                if not half.is_empty:
                    found = self._bounded(half, cell.bounds)
                    heapq.heappush(queue, (-found.spread, number, found))
                    number += 1
        in_order = sorted(queue, key=lambda entry: entry[1])
        return SettingsCover(self.family, self.instances, tuple(cell for _, _, cell in in_order))

    def _bounded(self, box: Box, known: Sequence[BoxBound]) -> Cell:
        bounds = []
        for instance, old in zip(self.instances, known, strict=True):
            if not old.settled:
                new = self.family.bound_on_box(instance, box, old.reuse)
                lower, upper = max(new.lower, old.lower), min(new.upper, old.upper)
                old = replace(new, lower=lower, upper=upper)
            bounds.append(old)
        return Cell(box, tuple(bounds))


def cover_settings(family: Family, instances: Sequence[Any], n_cells: int) -> SettingsCover:
    """Cover all settings of a family by boxes, cut where most is open.

    Parameters
    ----------
    family : Family
        A family with bounds on boxes.
    instances : sequence
        Checked instances.
    n_cells : int
        Number of boxes, at least.
    """
    listed = list(instances)
    first = [
        Cell(box, tuple(family.bound_on_box(instance, box) for instance in listed))
        for box in family.strata()
        if not box.is_empty
    ]
    return SettingsCover(family, listed, tuple(first)).refined(n_cells)
