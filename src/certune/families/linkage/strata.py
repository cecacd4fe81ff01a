"""Where branch and bound over the exponents of product linkage begins.

The order of cluster pairs is turned round where the exponents sum to less than 0, for all instances
at once; pairs that agree in all metrics but one tie where that exponent is 0; and close to the
origin the order depends on the direction of the exponents alone.  Boxes that straddle such a set
would stay open however small they are, so the space is cut there, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from certune.box import Box, Stratum
from certune.space import ParameterSpace, Real

Interval = tuple[float, float]


def product_strata(
    space: ParameterSpace, names: Sequence[str], fixed: Mapping[str, float]
) -> list[Box]:
    """Return boxes that together hold every setting of the exponents exactly once or more.

    Parameters
    ----------
    space : ParameterSpace
        The free exponents.
    names : sequence of str
        All exponents.
    fixed : mapping
        Those that are not free.
    """
    constants = tuple(fixed[name] for name in names if name in fixed)
    ranges = []
    for item in space.parameters:
        assert isinstance(item, Real)
        ranges.append((item.low, item.high))
    boxes = [
        part
        for orthant in product(*(_signed(ends) for ends in ranges))
        for part in ([(orthant, False)] if any(constants) else _from_origin(orthant))
    ]
    strata = []
    for intervals, rays in boxes:
        ends = [*intervals, (0.0, 1.0)] if rays else intervals
        parts = tuple(((a,),) if a == b else ((a,), (b,)) for a, b in ends)
        for side in (1, -1):
            box = Box(space, parts, Stratum(side, constants, rays, off_axes=True))
            if not box.is_empty:
                strata.append(box)
    return sorted(strata, key=lambda box: -box.n_free)


def _signed(ends: Interval) -> list[Interval]:
    """Cut an interval at 0, with 0 as a part of its own."""
    low, high = ends
    if not low <= 0.0 <= high:
        return [ends]
    parts = [(0.0, 0.0)]
    if low < 0.0:
        parts.append((low, 0.0))
    if high > 0.0:
        parts.append((0.0, high))
    return parts


def _from_origin(orthant: tuple[Interval, ...]) -> list[tuple[tuple[Interval, ...], bool]]:
    """Cover an orthant at the origin by rays to its far facets; others are left as they are."""
    touches = all(low == 0.0 or high == 0.0 for low, high in orthant)
    free = [i for i, (low, high) in enumerate(orthant) if low < high]
    if not touches or len(free) < 2:  # axes and the origin itself are solved exactly
        return [(orthant, False)]
    facets = []
    for i in free:
        low, high = orthant[i]
        end = low if high == 0.0 else high
        facets.append((*orthant[:i], (end, end), *orthant[i + 1 :]))
    return [(facet, True) for facet in facets]
