"""Making cell maps: the plane of two parameters, cut until the utility is proved, or finely.

The same bounds on boxes as in branch and bound, without an incumbent: every cell is looked at.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from certune.box import Box, Edge
from certune.deadline import TimeIsUp, check_time, now, until
from certune.dual.cells import CellMap
from certune.errors import CertuneError, ParameterError
from certune.families.base import BoxBound, Family
from certune.space import Real
from certune.tuning.instances import checked_family, checked_instances, refuse_discrete

# The map in a report: a fine one if it takes less than so many seconds, or else a coarse one.
REPORT_RESOLUTIONS, REPORT_SECONDS = (64, 16), 5.0


def cell_map(
    family: Family,
    instances: Iterable[Any],
    *,
    parameters: Sequence[str] | None = None,
    fixed: Mapping[str, Any] | None = None,
    resolution: int = 128,
) -> CellMap:
    """Map the mean utility over two parameters.

    Parameters
    ----------
    family : Family
        A family with bounds on boxes.
    instances : iterable
        One instance or several; the map is that of their mean utility.
    parameters : pair of str, optional
        The two parameters; by default the two free ones. Two weights are shown by the second one.
    fixed : mapping, optional
        Values of all other parameters.
    resolution : int, default=128
        Slivers are at most this fraction of a side wide.

    Returns
    -------
    CellMap
        Rectangles with proved values, and slivers with bounds. The edges of the plane at which a
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
    if not isinstance(resolution, numbers.Integral) or resolution is True or resolution < 1:
        raise ParameterError(f"resolution must be a positive integer, got {resolution!r}.")
    resolution = int(resolution)
    box, axes = _plane(family, parameters, {} if fixed is None else dict(fixed))
    rectangles, lower, upper = [], [], []
    unknown: tuple[BoxBound | None, ...] = (None,) * len(listed)
    pending = [(box, unknown, (0, 0))]
    deepest = (resolution - 1).bit_length()
    lowest, highest = (Fraction(end) for end in family.utility_range)
    slack = (highest - lowest) / resolution if family.tolerance else Fraction(0)
    while pending:
        check_time()
        part, known, depths = pending.pop()
        bounds = tuple(
            old
            if old is not None and old.upper - old.lower <= slack
            else _narrowed(family.bound_on_box(item, part, None if old is None else old.reuse), old)
            for item, old in zip(listed, known, strict=True)
        )
        open_bounds = [bound for bound in bounds if bound.upper - bound.lower > slack]
        if not open_bounds or min(depths) >= deepest:
            rectangles.append(_ends(part, axes[0]) + _ends(part, axes[1]))
            lower.append(sum((b.lower for b in bounds), Fraction(0)) / len(listed))
            upper.append(sum((b.upper for b in bounds), Fraction(0)) / len(listed))
            continue
        edges = [Edge(axis, 0, 1) for axis in axes]
        scores = [
            sum(b.importance[part.edges.index(edge)] for b in open_bounds)
            if depth < deepest
            else -1.0
            for edge, depth in zip(edges, depths, strict=True)
        ]
        chosen = int(scores[1] > scores[0])
        deeper = (depths[0] + 1 - chosen, depths[1] + chosen)
        pending += [(half, bounds, deeper) for half in reversed(part.split(edges[chosen]))]
    metrics = getattr(listed[0], "metric_names", ())
    names = (_title(box, axes[0], metrics), _title(box, axes[1], metrics))
    return CellMap(names, rectangles, tuple(lower), tuple(upper), slack, family.score)


def map_for_report(family: Family, instances: Sequence[Any]) -> CellMap | None:
    """Return a map that is fine enough to be looked at, or None if that would take long.

    For families with two free coordinates and bounds on boxes.
    """
    if family.space.n_free != 2 or not family.bounds_boxes:
        return None
    for resolution in REPORT_RESOLUTIONS:
        try:
            with until(now() + REPORT_SECONDS):
                return cell_map(family, instances, resolution=resolution)
        except TimeIsUp:
            continue
        except CertuneError:
            # Such as three weights, which are no plane of two intervals.
            return None
    return None


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
