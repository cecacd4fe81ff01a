"""Testing a stored function of one instance against its family.

Plain runs confirm it at points, fresh proofs in between. A proof cannot be repeated right up to a
breakpoint, because there the comparison it rests on is close to a tie; therefore the domain is
cut in the middles of the pieces, so that every breakpoint is enclosed again, from elsewhere. A
function with smooth pieces is computed again on parts of the domain, and the difference bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import CertificateError
from certune.families.base import Family
from certune.space import Segment

# Two enclosures of a breakpoint may differ by this, relative to max(1, |t|), or by their width.
RESOLUTION = 1e-9
# A function with smooth pieces is computed again on this many windows.
WINDOWS = 3


def demand(holds: bool, message: str) -> None:
    """Raise :class:`CertificateError` with the message unless `holds`."""
    if not holds:
        raise CertificateError(message)


@dataclass(frozen=True)
class Case:
    """A stored function, and the instance along the segment that it is about."""

    dual: DualFunction
    segment: Segment
    family: Family
    instance: Any
    name: str


def check_runs(case: Case) -> int:
    """Compare plain runs with every piece, in the middle and at both ends; return their number."""
    dual, segment, n_runs = case.dual, case.segment, 0
    tolerance = Fraction(case.family.tolerance)
    for start, stop in _intervals(dual):
        for t in dict.fromkeys((start, segment.exact_point(start, stop), stop)):
            if t is None or not segment.is_exact_at(t):
                continue
            lower, upper = dual.enclose_exact(t)
            reached = case.family.run_exact(case.instance, segment.at(t))
            value = lower if lower == upper else f"{float(lower)!r} to {float(upper)!r}"
            demand(
                lower - tolerance <= reached <= upper + tolerance,
                f"{case.name}: the certificate has the value {value} at {dual.name} = {t!r}, but "
                f"family.run gives {reached}.",
            )
            n_runs += 1
    return n_runs


def check_windows(case: Case) -> None:
    """Prove the function again on windows from the middle of a piece to that of the next one."""
    if isinstance(case.dual, PiecewiseFunction):
        _check_constant_windows(case, case.dual)
    else:
        _check_smooth_windows(case)


def _check_constant_windows(case: Case, dual: PiecewiseFunction) -> None:
    cuts = [dual.low, *dual.sample_points()[1:-1].tolist(), dual.high]
    for gap, (low, high) in enumerate(zip(cuts, cuts[1:], strict=False)):
        fresh = case.family.dual(case.instance, case.segment.restrict(low, high))
        where = f"{case.name}, {dual.name} in [{low!r}, {high!r}]"
        found = isinstance(fresh, PiecewiseFunction)
        demand(found, f"{where}: the certificate has constant pieces, a fresh proof {fresh!r}.")
        assert isinstance(fresh, PiecewiseFunction)
        if dual.n_pieces == 1:
            right = fresh.n_pieces == 1 and _value(fresh, 0) == _value(dual, 0)
            demand(right, f"{where}: the certificate has one value, a fresh proof gives {fresh!r}.")
        else:
            _compare(dual, gap, fresh, where)


def _check_smooth_windows(case: Case) -> None:
    """Compute the function again on a few windows, and bound how far it is from the stored one."""
    dual = case.dual
    middles = dual.sample_points()
    inner = {middles[len(middles) * part // WINDOWS].item() for part in range(1, WINDOWS)}
    cuts = sorted({dual.low, dual.high, *inner})
    allowed = 4 * Fraction(case.family.tolerance)
    for low, high in pairwise(cuts):
        fresh = case.family.dual(case.instance, case.segment.restrict(low, high))
        stored, where = dual.restrict(low, high), f"{case.name}, {dual.name} in "
        _compare_gaps(stored, fresh, allowed, where)
        open_ = _joined([*_gaps(stored), *_gaps(fresh)])
        edges = [low, *(end for gap in open_ for end in gap), high]
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            difference = stored.restrict(start, stop) - fresh.restrict(start, stop)  # type: ignore[operator]
            largest = max(difference.upper_bound_exact, (-difference).upper_bound_exact)
            demand(
                largest <= allowed,
                f"{where}[{start!r}, {stop!r}]: a fresh function differs from the one of the "
                f"certificate by up to {float(largest):.3g}, which is more than the "
                f"{float(allowed):.3g} that the family's tolerance allows.",
            )


def _compare_gaps(stored: DualFunction, fresh: DualFunction, allowed: Fraction, where: str) -> None:
    """Compare what is said of gaps: where they are, and which values are possible there."""
    known = _gaps(stored)
    for start, stop in _gaps(fresh):
        near = any(
            opens - slack <= start and stop <= closes + slack
            for opens, closes in known
            for slack in [max(closes - opens, RESOLUTION * max(1.0, abs(opens), abs(closes)))]
        )
        demand(
            near,
            f"{where}[{start!r}, {stop!r}]: a fresh function leaves open what happens here, but "
            "the certificate has no gap.",
        )
    for opens, closes in known:
        lower, upper = stored.enclose_exact(0.5 * opens + 0.5 * closes)
        again = fresh.restrict(opens, closes)
        demand(
            again.upper_bound_exact <= upper + allowed
            and (-again).upper_bound_exact <= allowed - lower,
            f"{where}[{opens!r}, {closes!r}]: the certificate has values from {float(lower)!r} to "
            f"{float(upper)!r}, but a fresh function goes beyond.",
        )


def _gaps(dual: DualFunction) -> list[tuple[float, float]]:
    """Return the intervals between pieces that do not touch."""
    return [(low, high) for low, high in dual.breakpoints.tolist() if low < high]


def _joined(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the union of intervals, as disjoint ones in order."""
    union: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if union and low <= union[-1][1]:
            union[-1] = (union[-1][0], max(high, union[-1][1]))
        else:
            union.append((low, high))
    return union


def _compare(dual: PiecewiseFunction, gap: int, fresh: PiecewiseFunction, where: str) -> None:
    """Compare a window that has one gap of the stored function with a fresh function."""
    opens, closes = dual.breakpoints[gap].tolist()
    before, after = _value(dual, gap), _value(dual, gap + 1)
    lower = Fraction(int(dual.gap_lower[gap]), dual.denominator)
    upper = Fraction(int(dual.gap_upper[gap]), dual.denominator)
    for piece, (start, stop) in enumerate(_intervals(fresh)):
        value = _value(fresh, piece)
        meets_before, meets_after = start <= opens, stop >= closes
        demand(
            (value == before or not meets_before)
            and (value == after or not meets_after)
            and (lower <= value <= upper or meets_before or meets_after),
            f"{where}: the certificate has {before} up to {opens!r} and {after} from {closes!r} "
            f"on, but a fresh proof gives {value} on [{start!r}, {stop!r}].",
        )
    slack = max(closes - opens, RESOLUTION * max(1.0, abs(opens), abs(closes)))
    for place, (start, stop) in enumerate(fresh.breakpoints.tolist()):
        demand(
            opens - slack <= start and stop <= closes + slack,
            f"{where}: the certificate has a breakpoint in [{opens!r}, {closes!r}] only, but a "
            f"fresh proof leaves one open in [{start!r}, {stop!r}].",
        )
        least = Fraction(int(fresh.gap_lower[place]), fresh.denominator)
        most = Fraction(int(fresh.gap_upper[place]), fresh.denominator)
        demand(
            lower <= least and most <= upper,
            f"{where}: the certificate bounds the utility by {lower} and {upper} around the "
            f"breakpoint in [{opens!r}, {closes!r}], but a fresh proof only by {least} and {most}.",
        )


def _intervals(function: DualFunction) -> list[tuple[float, float]]:
    return list(zip(function.starts.tolist(), function.stops.tolist(), strict=True))


def _value(function: PiecewiseFunction, piece: int) -> Fraction:
    return Fraction(int(function.numerators[piece]), function.denominator)
