"""Testing a stored function of one instance against its family.

Plain runs confirm it at points, fresh proofs in between. A proof cannot be repeated right up to a
breakpoint, because there the comparison it rests on is close to a tie; therefore the domain is
cut in the middles of the pieces, so that every breakpoint is enclosed again, from elsewhere.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from certune.dual import PiecewiseFunction
from certune.errors import CertificateError
from certune.families.base import Family
from certune.space import Segment

# Two enclosures of a breakpoint may differ by this, relative to max(1, |t|), or by their width.
RESOLUTION = 1e-9


def demand(holds: bool, message: str) -> None:
    """Raise :class:`CertificateError` with the message unless `holds`."""
    if not holds:
        raise CertificateError(message)


def check_runs(
    dual: PiecewiseFunction, segment: Segment, family: Family, instance: Any, name: str
) -> int:
    """Compare plain runs with every piece, in the middle and at both ends; return their number."""
    n_runs = 0
    for piece, (start, stop) in enumerate(_intervals(dual)):
        value = _value(dual, piece)
        for t in dict.fromkeys((start, segment.exact_point(start, stop), stop)):
            if t is None or not segment.is_exact_at(t):
                continue
            reached = family.run_exact(instance, segment.at(t))
            demand(
                reached == value,
                f"{name}: the certificate has the value {value} at {dual.name} = {t!r}, but "
                f"family.run gives {reached}.",
            )
            n_runs += 1
    return n_runs


def check_windows(
    dual: PiecewiseFunction, segment: Segment, family: Family, instance: Any, name: str
) -> None:
    """Prove the function again on windows from the middle of a piece to that of the next one."""
    cuts = [dual.low, *dual.sample_points()[1:-1].tolist(), dual.high]
    for gap, (low, high) in enumerate(zip(cuts, cuts[1:], strict=False)):
        fresh = family.dual(instance, segment.restrict(low, high))
        where = f"{name}, {dual.name} in [{low!r}, {high!r}]"
        if dual.n_pieces == 1:
            right = fresh.n_pieces == 1 and _value(fresh, 0) == _value(dual, 0)
            demand(right, f"{where}: the certificate has one value, a fresh proof gives {fresh!r}.")
        else:
            _compare(dual, gap, fresh, where)


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


def _intervals(function: PiecewiseFunction) -> list[tuple[float, float]]:
    return list(zip(function.starts.tolist(), function.stops.tolist(), strict=True))


def _value(function: PiecewiseFunction, piece: int) -> Fraction:
    return Fraction(int(function.numerators[piece]), function.denominator)
