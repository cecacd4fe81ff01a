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
from certune.figures import save_figure
from certune.scores import Score

Floats = NDArray[np.float64]
UTILITY = Score()


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
    score : Score, optional
        What pictures show instead of utilities.

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
    score: Score = UTILITY

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

    @property
    def best_point(self) -> tuple[float, float]:
        """The centre of the largest rectangle with the largest proved value."""
        best = [
            index
            for index, (low, known) in enumerate(zip(self.lower, self.decided, strict=True))
            if known and low == self.max_exact
        ]
        x0, x1, y0, y1 = self.rectangles[max(best, key=lambda index: self.areas[index])].tolist()
        return (x0 + x1) / 2, (y0 + y1) / 2

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
            ax = Figure(figsize=(7, 5), layout="constrained").add_subplot()
        figure = ax.figure
        x0, x1, y0, y1 = self.rectangles.T
        corners: Any = np.stack([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]).transpose(2, 0, 1)
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
            xlim=(x0.min(), x1.max()),
            ylim=(y0.min(), y1.max()),
            xlabel=self.names[0],
            ylabel=self.names[1],
            title=f"{len(self.values)} values, proved on {100 * self.decided_share:.1f} %",
        )
        figure.colorbar(drawn[0], ax=ax, label=f"mean {self.score.name}")
        best = self.score.of(float(self.max_exact))
        for x, y, label, mark in (
            (*self.best_point, f"best, {best:.4g}", "*"),
            *((*point, "o") for point in points),
        ):
            ax.plot([x], [y], mark, color="#D55E00", markeredgecolor="white", markersize=12)
            on_left = x < (x0.min() + x1.max()) / 2
            ax.annotate(
                label, (x, y), textcoords="offset points", xytext=(8 if on_left else -8, 8),
                color="black", ha="left" if on_left else "right",
                bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "alpha": 0.8, "lw": 0},
            )  # fmt: skip
        return save_figure(figure, path)
