"""Testing a stored function of one instance against its family.

Plain runs confirm it at points, fresh proofs in between. A proof cannot be repeated right up to a
breakpoint, because there the comparison it rests on is close to a tie; therefore the domain is
cut in the middles of the pieces, so that every breakpoint is enclosed again, from elsewhere. A
function with smooth pieces is computed again on parts of the domain, and the difference bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import CertificateError, CertuneError
from certune.families.base import Family
from certune.space import Segment

# Two gaps of smooth functions may differ by this, relative to max(1, |t|), or by their width.
RESOLUTION = 1e-9
# A function with smooth pieces is computed again on this many windows.
WINDOWS = 3


def demand(holds: bool, message: str) -> None:
    """Raise :class:`CertificateError` with the message unless `holds`."""
    if not holds:
        raise CertificateError(message)


@contextmanager
def proving(what: str) -> Iterator[None]:
    """Let a family's refusal to decide or to run be a certificate that cannot be checked."""
    try:
        yield
    except CertificateError:
        raise
    except CertuneError as error:
        raise CertificateError(f"Could not prove {what} again: {error}") from error


@dataclass(frozen=True)
class Case:
    """A stored function, and the instance along the segment that it is about."""

    dual: DualFunction
    segment: Segment
    family: Family
    instance: Any
    name: str

    def fresh(self, low: float, high: float) -> DualFunction:
        """Compute the function of the instance on a part of the domain."""
        with proving(f"{self.name} for {self.dual.name} in [{low!r}, {high!r}]"):
            return self.family.dual(self.instance, self.segment.restrict(low, high))

    def run(self, t: float) -> Fraction:
        """Run the plain algorithm at a point."""
        with proving(f"{self.name} at {self.dual.name} = {t!r}"):
            reached = self.family.run_exact(self.instance, self.segment.at(t))
        check_plain_run(self.family, self.instance, self.segment.at(t), reached, self.name)
        return reached


def check_plain_run(
    family: Family, instance: Any, params: Mapping[str, Any], reached: Fraction, name: str
) -> None:
    """Compare an exact run with one by a path of its own, where the family has one."""
    with proving(f"{name} on plain floats at {dict(params)}"):
        plain = family.plain_disagreement(instance, params, reached)
    demand(
        plain is None,
        f"{name}: family.run_exact gives {reached} at {dict(params)}, but on plain floats the "
        f"program gives {plain!r}.",
    )


def check_runs(case: Case) -> int:
    """Compare plain runs with every piece, in the middle and at both ends; return their number."""
    dual, segment, n_runs = case.dual, case.segment, 0
    tolerance = Fraction(case.family.tolerance)
    for start, stop in _intervals(dual):
        for t in dict.fromkeys((start, segment.exact_point(start, stop), stop)):
            if t is None or not segment.is_exact_at(t):
                continue
            lower, upper = dual.enclose_exact(t)
            reached = case.run(t)
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
        fresh = case.fresh(low, high)
        where = f"{case.name}, {dual.name} in [{low!r}, {high!r}]"
        found = isinstance(fresh, PiecewiseFunction)
        demand(found, f"{where}: the certificate has constant pieces, a fresh proof {fresh!r}.")
        assert isinstance(fresh, PiecewiseFunction)
        if dual.n_pieces == 1:
            right = fresh.n_pieces == 1 and _value(fresh, 0) == _value(dual, 0)
            demand(right, f"{where}: the certificate has one value, a fresh proof gives {fresh!r}.")
        else:
            _compare(case, dual, gap, fresh)


def _check_smooth_windows(case: Case) -> None:
    """Compute the function again on a few windows, and bound how far it is from the stored one."""
    dual = case.dual
    middles = dual.sample_points()
    inner = {middles[len(middles) * part // WINDOWS].item() for part in range(1, WINDOWS)}
    cuts = sorted({dual.low, dual.high, *inner})
    allowed = 4 * Fraction(case.family.tolerance)
    for low, high in pairwise(cuts):
        fresh = case.fresh(low, high)
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


def _compare(case: Case, dual: PiecewiseFunction, gap: int, fresh: PiecewiseFunction) -> None:
    """Compare a window that has one gap of the stored function with a fresh function.

    What the certificate says must follow: on the closed pieces beside the gap from values of fresh
    pieces, or from a proof of its own where the fresh function has a gap; and in the open gap from
    values and bounds within those of the certificate.
    """
    opens, closes = dual.breakpoints[gap].tolist()
    before, after = _value(dual, gap), _value(dual, gap + 1)
    lower = Fraction(int(dual.gap_lower[gap]), dual.denominator)
    upper = Fraction(int(dual.gap_upper[gap]), dual.denominator)
    where = f"{case.name}, {dual.name} in [{fresh.low!r}, {fresh.high!r}]"
    for piece, (start, stop) in enumerate(_intervals(fresh)):
        value = _value(fresh, piece)
        demand(
            (value == before or start > opens)
            and (value == after or stop < closes)
            and (lower <= value <= upper or stop <= opens or start >= closes),
            f"{where}: the certificate has {before} up to {opens!r} and {after} from {closes!r} "
            f"on, but a fresh proof gives {value} on [{start!r}, {stop!r}].",
        )
    for place, (start, stop) in enumerate(fresh.breakpoints.tolist()):
        least = Fraction(int(fresh.gap_lower[place]), fresh.denominator)
        most = Fraction(int(fresh.gap_upper[place]), fresh.denominator)
        demand(
            (lower <= least and most <= upper) or stop <= opens or start >= closes,
            f"{where}: the certificate bounds the utility by {lower} and {upper} around the "
            f"breakpoint in [{opens!r}, {closes!r}], but a fresh proof only by {least} and {most}.",
        )
        if not least == most == before:
            _prove_constant(case, start, min(stop, opens), before)
        if not least == most == after:
            _prove_constant(case, max(start, closes), stop, after)


def _prove_constant(case: Case, low: float, high: float, value: Fraction) -> None:
    """Prove that the utility has one value between two points, if the first is the smaller one."""
    if low >= high:
        return
    fresh = case.fresh(low, high)
    demand(
        isinstance(fresh, PiecewiseFunction) and fresh.n_pieces == 1 and _value(fresh, 0) == value,
        f"{case.name}: the certificate has the value {value} for {case.dual.name} in [{low!r}, "
        f"{high!r}], but a fresh proof gives {fresh!r}.",
    )


def _intervals(function: DualFunction) -> list[tuple[float, float]]:
    return list(zip(function.starts.tolist(), function.stops.tolist(), strict=True))


def _value(function: PiecewiseFunction, piece: int) -> Fraction:
    return Fraction(int(function.numerators[piece]), function.denominator)
