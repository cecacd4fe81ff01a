"""Cell maps: a utility as an exact function of two parameters, up to a stated resolution.

In the plane of two parameters the utility is constant on cells with curved boundaries
(``fig:piecewise``).  A `CellMap` covers the plane with rectangles: on most of them the value is
proved; the others are slivers along the boundaries, no wider than the resolution, with bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.errors import InputError, ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellMap:
    """Rectangles that cover a plane of two parameters, with bounds of the utility on each.

    Parameters
    ----------
    names : pair of str
        The two parameters.
    rectangles : float array (m, 4)
        Low and high end in the first, then in the second parameter. Neighbours share their edges.
    lower, upper : sequence of Fraction
        Proved bounds of the utility on each rectangle.
    tolerance : Fraction, default=0
        The value of a rectangle counts as proved if its bounds differ by no more.

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
    rectangles: Floats
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    tolerance: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        rectangles = np.array(self.rectangles, dtype=np.float64)
        rectangles.setflags(write=False)
        object.__setattr__(self, "rectangles", rectangles)
        object.__setattr__(self, "names", tuple(self.names))
        for bound in ("lower", "upper"):
            values = tuple(Fraction(value) for value in getattr(self, bound))
            object.__setattr__(self, bound, values)
        if rectangles.ndim != 2 or rectangles.shape[1] != 4 or not len(rectangles):
            raise InputError(f"rectangles must be an (m, 4) array, got shape {rectangles.shape}.")
        if not len(rectangles) == len(self.lower) == len(self.upper):
            raise InputError(
                f"{len(rectangles)} rectangles need as many lower and upper bounds, got "
                f"{len(self.lower)} and {len(self.upper)}."
            )

    @property
    def n_rectangles(self) -> int:
        """Number of rectangles."""
        return len(self.rectangles)

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Which rectangles have a proved value."""
        pairs = zip(self.lower, self.upper, strict=True)
        return np.array([high - low <= self.tolerance for low, high in pairs])

    @cached_property
    def areas(self) -> Floats:
        """Areas of the rectangles."""
        x0, x1, y0, y1 = self.rectangles.T
        areas: Floats = (x1 - x0) * (y1 - y0)
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
        """Return bounds of the value at a point. O(m) for m rectangles.

        On a common edge the bounds of all its rectangles hold, hence the narrowest are returned.
        """
        x0, x1, y0, y1 = self.rectangles.T
        found = np.flatnonzero((x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1))
        if not len(found):
            raise ParameterError(f"({x!r}, {y!r}) lies outside the map of {self.names}.")
        return max(self.lower[i] for i in found), min(self.upper[i] for i in found)

    def __call__(self, x: float, y: float) -> float | None:
        """Return the value at a point, None where it is not proved. O(m) for m rectangles."""
        low, high = self.bounds_at(x, y)
        return float((low + high) / 2) if high - low <= self.tolerance else None

    def _check(self) -> None:
        """Raise AssertionError unless bounds are ordered and the areas add up to the whole."""
        assert all(low <= high for low, high in zip(self.lower, self.upper, strict=True))
        assert (self.areas > 0).all()
        x0, x1, y0, y1 = self.rectangles.T
        whole = (x1.max() - x0.min()) * (y1.max() - y0.min())
        assert abs(self.areas.sum() - whole) <= 1e-9 * whole

    def plot(
        self,
        path: Any = None,
        ax: Any = None,
        points: Sequence[Any] = (),
        show_bounds: bool = False,
    ) -> Any:
        """Draw the map: a colour for each value, undecided slivers in black.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file.
        ax : matplotlib Axes, optional
            Draw into these axes.
        points : sequence of (x, y, label)
            Settings to mark.
        show_bounds : bool, default=False
            Give slivers the colour of the middle of their bounds, paler, in place of black. For
            means over many instances, whose cells are smaller than the resolution.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        import matplotlib.pyplot as plt
        from matplotlib.collections import PolyCollection

        figure, axes = (ax.figure, ax) if ax is not None else plt.subplots(figsize=(7, 5))
        x0, x1, y0, y1 = self.rectangles.T
        corners: Any = np.stack([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]).transpose(2, 0, 1)
        middle = np.array(
            [float(low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True)]
        )
        known = PolyCollection(corners[self.decided], cmap="viridis", linewidth=0.0)
        known.set_array(middle[self.decided])
        slivers = PolyCollection(corners[~self.decided], color="black", linewidth=0.2)
        if show_bounds:
            slivers = PolyCollection(corners[~self.decided], cmap="viridis", alpha=0.6, linewidth=0)
            slivers.set_array(middle[~self.decided])
            known.set_clim(middle.min(), middle.max())
            slivers.set_clim(middle.min(), middle.max())
        for collection in (known, slivers):
            collection.set_antialiased(False)
            axes.add_collection(collection)
        axes.set(
            xlim=(x0.min(), x1.max()),
            ylim=(y0.min(), y1.max()),
            xlabel=self.names[0],
            ylabel=self.names[1],
            title=f"{len(self.values)} values, proved on {100 * self.decided_share:.1f} %",
        )
        figure.colorbar(known, ax=axes, label="utility")
        for x, y, label in points:
            axes.plot([x], [y], "o", color="red", markeredgecolor="white")
            axes.annotate(label, (x, y), textcoords="offset points", xytext=(6, 6), color="red")
        if path is not None:
            figure.savefig(path, dpi=150, bbox_inches="tight")
        return figure
