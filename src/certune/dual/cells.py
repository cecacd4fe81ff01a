"""Cell maps: a utility as an exact function of two parameters, up to a stated resolution.

In the plane of two parameters the utility is constant on cells with curved boundaries
(``fig:piecewise``).  A `CellMap` covers the plane with convex polygons: on most of them the value
is proved; the others are slivers along the boundaries, no wider than the resolution, with bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.aggregates import Criterion
from certune.cards import Carded
from certune.errors import InputError, ParameterError
from certune.figures import figure_size, save_figure
from certune.scores import Score

Floats = NDArray[np.float64]
UTILITY = Score()
# Gaps between polygons that share a rounded edge are narrower than this share of the plane.
NEARLY = 1e-10


def _polygon(cell: Any) -> Floats:
    """Corners (k, 2) of a cell, which may be given as the four ends of a rectangle."""
    corners = np.array(cell, dtype=np.float64)
    if corners.shape == (4,):
        x0, x1, y0, y1 = corners
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise InputError(
            "cells must be rectangles, an (m, 4) array, or polygons, (k, 2) arrays of at least "
            f"three corners each; got a cell of shape {corners.shape}."
        )
    corners.setflags(write=False)
    return corners


@dataclass(frozen=True, eq=False, repr=False)
class CellMap(Carded):
    """Convex polygons that cover a plane of two parameters, with bounds of the utility on each.

    Parameters
    ----------
    names : pair of str
        The two parameters.
    cells : sequence of float arrays (k, 2), or float array (m, 4)
        Corners of each polygon, counter-clockwise; or rectangles, each by its low and high end in
        the first, then in the second parameter. Neighbours share their edges.
    lower, upper : sequence of Fraction
        Proved bounds of the utility on each polygon.
    tolerance : Fraction, default=0
        The value of a polygon counts as proved if its bounds differ by no more.
    score : Score, optional
        What pictures show instead of utilities.
    criterion : Criterion, optional
        What the values are of the instances: their mean by default.

    Examples
    --------
    >>> halves = [[0, 1, 0, 1], [1, 2, 0, 1]]
    >>> cells = CellMap(("x", "y"), halves, [Fraction(0), Fraction(1, 2)], [Fraction(0), 1])
    >>> cells(0.5, 0.5), cells(1.5, 0.5)
    (0.0, None)
    >>> cells.decided_share
    0.5
    """

    names: tuple[str, str]
    cells: tuple[Floats, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    tolerance: Fraction = Fraction(0)
    score: Score = UTILITY
    criterion: Criterion = Criterion()

    def __post_init__(self) -> None:
        cells = tuple(_polygon(cell) for cell in self.cells)
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "names", tuple(self.names))
        for bound in ("lower", "upper"):
            values = tuple(Fraction(value) for value in getattr(self, bound))
            object.__setattr__(self, bound, values)
        if not cells:
            raise InputError("a map needs at least one cell; got none.")
        if not len(cells) == len(self.lower) == len(self.upper):
            raise InputError(
                f"{len(cells)} cells need as many lower and upper bounds, got "
                f"{len(self.lower)} and {len(self.upper)}."
            )

    def __str__(self) -> str:
        best = f", best {float(self.score.of(self.max_exact)):.6g}" if any(self.decided) else ""
        return (
            f"map of {self.names[0]} and {self.names[1]}: {self.n_cells} cells, "
            f"{_percent(self.decided_share)} of the plane proved{best}"
        )

    @property
    def n_cells(self) -> int:
        """Number of polygons."""
        return len(self.cells)

    @cached_property
    def rectangles(self) -> Floats:
        """Smallest rectangles around the polygons, (m, 4), as low and high ends."""
        ends = [(*cell.min(axis=0), *cell.max(axis=0)) for cell in self.cells]
        return np.array(ends)[:, [0, 2, 1, 3]]

    @cached_property
    def corners(self) -> Floats:
        """Corners of all polygons, (m, most corners, 2); the last one stands for missing ones."""
        most = max(len(cell) for cell in self.cells)
        return np.stack([cell[np.minimum(np.arange(most), len(cell) - 1)] for cell in self.cells])

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Which polygons have a proved value."""
        pairs = zip(self.lower, self.upper, strict=True)
        return np.array([high - low <= self.tolerance for low, high in pairs])

    @cached_property
    def areas(self) -> Floats:
        """Areas of the polygons."""
        x, y = np.moveaxis(self.corners - self.corners[:, :1], 2, 0)
        crossed = x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)
        areas: Floats = 0.5 * crossed.sum(axis=1)
        return areas

    @property
    def decided_share(self) -> float:
        """Share of the plane on which the value is proved; the rest are slivers."""
        return float(self.areas[self.decided].sum() / self.areas.sum())

    @property
    def values(self) -> list[Fraction]:
        """The different proved values, in order; lower bounds if there is a tolerance."""
        return sorted({low for low, known in zip(self.lower, self.decided, strict=True) if known})

    @property
    def max_exact(self) -> Fraction:
        """Largest proved value."""
        return self.values[-1]

    @property
    def upper_bound_exact(self) -> Fraction:
        """No point of the plane has a larger value."""
        return max(self.upper)

    def bounds_at(self, x: float, y: float) -> tuple[Fraction, Fraction]:
        """Return bounds of the value at a point. O(m) for m polygons.

        On a common edge the bounds of all its polygons hold, hence the narrowest are returned.
        """
        x0, x1, y0, y1 = self._ends
        if not (x0 <= x <= x1 and y0 <= y <= y1):
            raise ParameterError(f"({x!r}, {y!r}) lies outside the map of {self.names}.")
        inside = self._depths(x, y)
        found = np.flatnonzero(inside >= 0.0)
        if len(found):
            return max(self.lower[i] for i in found), min(self.upper[i] for i in found)
        # Corners are rounded: between polygons that only nearly meet, each of them may be meant.
        near = np.flatnonzero(inside >= -NEARLY)
        return min(self.lower[i] for i in near), max(self.upper[i] for i in near)

    @cached_property
    def _ends(self) -> tuple[float, float, float, float]:
        x0, x1, y0, y1 = self.rectangles.T
        return float(x0.min()), float(x1.max()), float(y0.min()), float(y1.max())

    def _depths(self, x: float, y: float) -> Floats:
        """How far inside each polygon a point lies, as a share of the plane; negative outside."""
        x0, x1, y0, y1 = self._ends
        starts, stops = self.corners, np.roll(self.corners, -1, axis=1)
        sides = (stops - starts) / [x1 - x0, y1 - y0]
        away = (np.array([x, y]) - starts) / [x1 - x0, y1 - y0]
        crossed = sides[..., 0] * away[..., 1] - sides[..., 1] * away[..., 0]
        lengths = np.hypot(sides[..., 0], sides[..., 1])
        depths: Floats = np.where(lengths > 0.0, crossed / np.where(lengths > 0, lengths, 1), 1.0)
        return np.asarray(depths.min(axis=1))

    def __call__(self, x: float, y: float) -> float | None:
        """Return the value at a point, None where it is not proved. O(m) for m polygons."""
        low, high = self.bounds_at(x, y)
        return float((low + high) / 2) if high - low <= self.tolerance else None

    def _check(self) -> None:
        """Raise AssertionError unless bounds are ordered and the areas add up to the whole."""
        assert all(low <= high for low, high in zip(self.lower, self.upper, strict=True))
        assert (self.areas >= 0).all()
        x0, x1, y0, y1 = self._ends
        whole = (x1 - x0) * (y1 - y0)
        assert abs(self.areas.sum() - whole) <= 1e-9 * whole

    @property
    def best_point(self) -> tuple[float, float]:
        """A point inside the largest polygon with the largest proved value."""
        best = [
            index
            for index, (low, known) in enumerate(zip(self.lower, self.decided, strict=True))
            if known and low == self.max_exact
        ]
        x, y = self.cells[max(best, key=lambda index: self.areas[index])].mean(axis=0).tolist()
        return x, y

    def plot(self, path: Any = None, ax: Any = None, points: Sequence[Any] = ()) -> Any:
        """Draw the map: a colour for each score, paler where it is known between bounds only.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file.
        ax : matplotlib Axes, optional
            Draw into these axes.
        points : sequence of (x, y, label)
            Settings to mark beside the optimum.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which is not known to pyplot.
        """
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=figure_size((7, 5)), layout="constrained").add_subplot()
        figure = ax.figure
        x0, x1, y0, y1 = self._ends
        corners: Any = self.corners
        middle = np.array(
            [
                self.score.of(float(low + high) / 2)
                for low, high in zip(self.lower, self.upper, strict=True)
            ]
        )
        colours = "cividis" if self.score.greater_is_better else "cividis_r"
        drawn = []
        for chosen, strength in ((self.decided, 1.0), (~self.decided, 0.6)):
            cells = PolyCollection(corners[chosen], cmap=colours, alpha=strength, linewidth=0.0)
            cells.set_array(middle[chosen])
            cells.set_clim(middle.min(), middle.max())
            # Neighbours leave no seams.
            cells.set_antialiased(False)
            drawn.append(ax.add_collection(cells))
        ax.set(
            xlim=(x0, x1),
            ylim=(y0, y1),
            xlabel=self.names[0],
            ylabel=self.names[1],
            title=f"{len(self.values)} value{'s' * (len(self.values) != 1)}, proved on "
            f"{_percent(self.decided_share)}",
        )
        figure.colorbar(drawn[0], ax=ax, label=self.criterion.words(self.score.name))
        best = self.score.of(float(self.max_exact))
        for x, y, label, mark in (
            (*self.best_point, f"best, {best:.4g}", "*"),
            *((*point, "o") for point in points),
        ):
            ax.plot([x], [y], mark, color="#D55E00", markeredgecolor="white", markersize=12)
            on_left = x < (x0 + x1) / 2
            ax.annotate(
                label, (x, y), textcoords="offset points", xytext=(8 if on_left else -8, 8),
                color="black", ha="left" if on_left else "right",
                bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "alpha": 0.8, "lw": 0},
            )  # fmt: skip
        return save_figure(figure, path)


def _percent(share: float) -> str:
    """Return a share that is proved in percent, rounded down: all is said of all only."""
    return f"{math.floor(1e4 * share) / 100:g}%"
