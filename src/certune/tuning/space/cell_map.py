"""Making cell maps: the plane of two parameters, cut until the utility is proved, or finely.

The same bounds on boxes as in branch and bound, without an incumbent: every cell is looked at.
Where the family knows the comparisons on which the utility depends, cells end where these change
their sign; else boxes are halved along the borders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from certune.aggregates import Aggregate, Criterion
from certune.box import Box, Edge
from certune.checks import is_whole
from certune.deadline import TimeIsUp, check_time, now, until
from certune.dual.cells import CellMap
from certune.errors import CertuneError, ParameterError
from certune.families.base import BoxBound, Family
from certune.space import Real
from certune.stages import stage
from certune.tuning.instances import checked_family, checked_instances, refuse_discrete
from certune.tuning.space.cell_cutting import CutRectangle, Piece, cut_rectangle

# The map in a report: a fine one if it takes less than so many seconds, or else a coarse one.
REPORT_RESOLUTIONS, REPORT_SECONDS = (64, 16), 5.0
# Bands around known borders are narrower than slivers, which are boxes, by this factor.
FINER = 16
# The finest resolution that is accepted.
FINEST = 1 << 16
# So are the smallest boxes with known borders, by so many halvings.
DEEPER = 2


@stage("mapping the cells")
def cell_map(
    family: Family,
    instances: Iterable[Any],
    *,
    parameters: Sequence[str] | None = None,
    fixed: Mapping[str, Any] | None = None,
    resolution: int = 128,
    aggregate: str | Aggregate = "mean",
    weights: Iterable[Any] | None = None,
) -> CellMap:
    """Map the mean utility, or another aggregate, over two parameters.

    Parameters
    ----------
    family : Family
        A family with bounds on boxes.
    instances : iterable
        One instance or several.
    parameters : pair of str, optional
        The two parameters; by default the two free ones. Two weights are shown by the second one.
    fixed : mapping, optional
        Values of all other parameters.
    resolution : int, default=128
        Slivers are at most this fraction of a side wide; far less where borders are known.
    aggregate, weights
        What the map is of, as in :func:`certune.tune`.

    Returns
    -------
    CellMap
        Cells with proved values, and slivers with bounds. The edges of the plane at which a
        weight is 0, where ties can be broken otherwise, are not part of it. Of a family with a
        tolerance, whose utility varies, values count as proved up to the same fraction of the
        utility range.

    Raises
    ------
    ParameterError
        If the family has no bounds on boxes, or the parameters are not two with an interval each.

    Examples
    --------
    >>> import certune as ct
    >>> metrics = ("euclidean", "cityblock")
    >>> instances = ct.datasets.random_clustering(1, 3, 4, metrics=metrics)
    >>> family = ct.Linkage(alpha=(0.5, 4), weights="tune", n_metrics=2)
    >>> cells = cell_map(family, instances, resolution=16)
    >>> cells.names, cells.decided_share > 0.5
    (('alpha', 'weight of cityblock'), True)
    """
    refuse_discrete(checked_family(family), "cell_map")
    listed = checked_instances(family, instances)
    if not is_whole(resolution) or not 1 <= resolution <= FINEST:
        raise ParameterError(
            f"resolution must be a positive integer, and at most {FINEST}, finer than any "
            f"picture; got {resolution!r}."
        )
    resolution = int(resolution)
    box, axes = _plane(family, parameters, {} if fixed is None else dict(fixed))
    criterion = Criterion.checked(aggregate, weights, len(listed))
    lowest, highest = (Fraction(end) for end in family.utility_range)
    slack = (highest - lowest) / resolution if family.tolerance else Fraction(0)
    mapping = _Mapping(family, listed, criterion, axes, resolution, slack)
    mapping.run(box)
    found = zip(*mapping.found, strict=True)
    cells, lower, upper = (tuple(column) for column in found)
    names = _names(box, axes, listed)
    return CellMap(names, cells, lower, upper, slack, family.score, criterion)


class _Mapping:
    """One map in the making."""

    def __init__(
        self,
        family: Family,
        instances: Sequence[Any],
        criterion: Criterion,
        axes: tuple[int, int],
        resolution: int,
        slack: Fraction,
    ) -> None:
        self._family = family
        self._instances = instances
        self._criterion = criterion
        self._axes = axes
        self._slack = slack
        self._deepest = (resolution - 1).bit_length()
        self._widest = 1.0 / (FINER * resolution)
        self.found: list[tuple[Any, Fraction, Fraction]] = []

    def run(self, box: Box) -> None:
        """Cut a box into cells."""
        unknown: tuple[BoxBound | None, ...] = (None,) * len(self._instances)
        pending = [(box, unknown, (0, 0))]
        while pending:
            check_time()
            part, known, depths = pending.pop()
            bounds = self._bounded(part, known)
            open_bounds = [bound for bound in bounds if self._is_open(bound)]
            if self._add_decided(part, bounds):
                continue
            cut = self._cut(part, bounds, depths)
            deepest = self._deepest + (0 if cut is None else DEEPER)
            finest = min(depths) >= deepest
            if cut is not None and (finest or cut.widest <= self._widest):
                self._add_pieces(part, bounds, cut.pieces)
                continue
            if finest:
                self._add_whole(part, bounds)
                continue
            chosen = self._better_axis(part, open_bounds, depths, deepest)
            deeper = (depths[0] + 1 - chosen, depths[1] + chosen)
            halves = part.split(Edge(self._axes[chosen], 0, 1))
            pending += [(half, bounds, deeper) for half in reversed(halves)]

    def _is_open(self, bound: BoxBound) -> bool:
        return bound.upper - bound.lower > self._slack

    def _bounded(self, part: Box, known: tuple[BoxBound | None, ...]) -> tuple[BoxBound, ...]:
        return tuple(
            old
            if old is not None and not self._is_open(old)
            else _narrowed(
                self._family.bound_on_box(item, part, None if old is None else old.reuse), old
            )
            for item, old in zip(self._instances, known, strict=True)
        )

    def _better_axis(
        self, part: Box, open_bounds: list[BoxBound], depths: tuple[int, int], deepest: int
    ) -> int:
        scores = [
            sum(b.importance[part.edges.index(Edge(axis, 0, 1))] for b in open_bounds)
            if depth < deepest
            else -1.0
            for axis, depth in zip(self._axes, depths, strict=True)
        ]
        return int(scores[1] > scores[0])

    def _values(self, bounds: tuple[BoxBound, ...]) -> tuple[Fraction, Fraction]:
        """Bounds of what is mapped, which is non-decreasing in every utility."""
        value = self._criterion.value
        return value([b.lower for b in bounds]), value([b.upper for b in bounds])

    def _add_decided(self, part: Box, bounds: tuple[BoxBound, ...]) -> bool:
        """Add a box on which the value is proved; tells whether it is."""
        lower, upper = self._values(bounds)
        if upper - lower <= self._slack:
            self._add_whole(part, bounds)
            return True
        return False

    def _add_whole(self, part: Box, bounds: tuple[BoxBound, ...]) -> None:
        ends = _ends(part, self._axes[0]) + _ends(part, self._axes[1])
        self.found.append((ends, *self._values(bounds)))

    def _cut(
        self, part: Box, bounds: tuple[BoxBound, ...], depths: tuple[int, int]
    ) -> CutRectangle | None:
        """Cut a box along the borders on it, if they are known for all instances."""
        cuts = []
        for bound in bounds:
            if self._is_open(bound):
                cut = self._family.cuts_on_box(part, self._axes, bound.reuse)
                if cut is None:
                    return None
                cuts.append(cut)
        return cut_rectangle((2.0 ** -depths[0], 2.0 ** -depths[1]), cuts)

    def _add_pieces(
        self, part: Box, bounds: tuple[BoxBound, ...], pieces: tuple[Piece, ...]
    ) -> None:
        (x0, x1), (y0, y1) = (_ends(part, axis) for axis in self._axes)
        places = [number for number, bound in enumerate(bounds) if self._is_open(bound)]
        for piece in pieces:
            corners = [(_between(x0, x1, u), _between(y0, y1, v)) for u, v in piece.polygon]
            known = list(bounds)
            for place, lower, upper in zip(places, piece.lower, piece.upper, strict=True):
                known[place] = replace(known[place], lower=lower, upper=upper)
            self.found.append((corners, *self._values(tuple(known))))


def _between(low: float, high: float, share: float) -> float:
    """Return the place of a coordinate of the square [-1, 1] in an interval."""
    if share == 1.0:
        return high
    return low + 0.5 * (share + 1.0) * (high - low)


def map_for_report(
    family: Family, instances: Sequence[Any], criterion: Criterion
) -> CellMap | None:
    """Return a map that is fine enough to be looked at, all of it open if that would take long.

    None for families without two free coordinates and bounds on boxes.
    """
    if family.space.n_free != 2 or not family.bounds_boxes:
        return None
    for resolution in REPORT_RESOLUTIONS:
        try:
            with until(now() + REPORT_SECONDS):
                return cell_map(
                    family, instances, resolution=resolution, aggregate=criterion.aggregate,
                    weights=criterion.weights,
                )  # fmt: skip
        except TimeIsUp:
            continue
        except CertuneError:
            # Such as three weights, which are no plane of two intervals.
            return None
    return _open_map(family, instances, criterion)


def _open_map(family: Family, instances: Sequence[Any], criterion: Criterion) -> CellMap:
    """Return the map of which nothing is known: one cell with the range of the utilities."""
    box, axes = _plane(family, None, {})
    lower, upper = (
        criterion.value([Fraction(end)] * len(instances)) for end in family.utility_range
    )
    plane: Any = _ends(box, axes[0]) + _ends(box, axes[1])
    names = _names(box, axes, instances)
    return CellMap(names, (plane,), (lower,), (upper,), Fraction(0), family.score, criterion)


def _names(box: Box, axes: tuple[int, int], instances: Sequence[Any]) -> tuple[str, str]:
    metrics = getattr(instances[0], "metric_names", ())
    return _title(box, axes[0], metrics), _title(box, axes[1], metrics)


def _narrowed(bound: BoxBound, old: BoxBound | None) -> BoxBound:
    if old is None:
        return bound
    return BoxBound(
        max(bound.lower, old.lower),
        min(bound.upper, old.upper),
        bound.importance,
        bound.n_outcomes,
        bound.reuse,
    )


def _plane(
    family: Family, parameters: Sequence[str] | None, fixed: dict[str, Any]
) -> tuple[Box, tuple[int, int]]:
    """Return the box of the two parameters with the others fixed, and the places of the two."""
    space = family.space
    unknown = sorted(set(fixed) - set(space.names))
    if unknown or isinstance(parameters, str):
        raise ParameterError(
            "parameters must be a pair of names and fixed have values of others, among "
            f"{space.names!r}; got parameters={parameters!r} and fixed={sorted(fixed)!r}."
        )
    wanted = (
        [item.name for item in space.parameters if item.n_free and item.name not in fixed]
        if parameters is None
        else list(parameters)
    )
    parts: list[Any] = []
    whole = Box.strata(space)[0]
    for item, part in zip(space.parameters, whole.parts, strict=True):
        if item.name in fixed:
            value = item.validate(fixed[item.name])
            parts.append(((value,),) if isinstance(item, Real) else (value,))
        else:
            parts.append(part)
    places = [space.names.index(name) for name in wanted if name in space.names]
    others = [name for name in space.names if name not in wanted and name not in fixed]
    if len(places) != 2 or others or any(len(parts[place]) != 2 for place in places):
        raise ParameterError(
            "a cell map needs two parameters with an interval each, or two weights, and fixed "
            f"values for all others; got {wanted!r} and fixed {sorted(fixed)!r} of {space.names!r}."
        )
    return Box(space, tuple(parts)), (places[0], places[1])


def _ends(box: Box, place: int) -> tuple[float, float]:
    """Return the interval of a parameter; for two weights, of the second one."""
    ends = sorted(vertex[-1] for vertex in box.parts[place])
    return ends[0], ends[1]


def _title(box: Box, place: int, metrics: Sequence[str]) -> str:
    """Return what an axis is called: its parameter, or whose weight it is."""
    name = box.names[place]
    if isinstance(box.space.parameters[place], Real):
        return name
    return f"weight of {metrics[1]}" if len(metrics) == 2 else f"{name}[1]"
