"""Alignment of two sequences by dynamic programming, with tuned penalties.

An alignment scores 1 for every match, minus a penalty for every mismatch and for every gap.  Which
penalties find the alignment that is known to be right depends on the kind of sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from certune.checks import as_list
from certune.errors import InputError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import check_type, indices, over_range, whole_numbers
from certune.space import ParameterSpace

Range = tuple[float, float]


@dataclass(frozen=True, init=False)
class AlignmentInstance:
    """Two sequences, and which of their letters belong together.

    Parameters
    ----------
    first, second : str
        The sequences.
    pairs : iterable of pairs of int
        The true alignment: places in the first and in the second sequence, at least one pair.
    name : str, optional
        Shown in reports.
    """

    first: str
    second: str
    pairs: tuple[tuple[int, int], ...]
    name: str | None = None

    def __init__(
        self, first: str, second: str, pairs: Iterable[Iterable[int]], name: str | None = None
    ) -> None:
        if not isinstance(first, str) or not isinstance(second, str) or not first or not second:
            raise InputError(f"an alignment needs two strings, got {first!r} and {second!r}")
        listed = [whole_numbers("pairs", pair) for pair in as_list("pairs", pairs)]
        if not listed or any(len(pair) != 2 for pair in listed):
            raise InputError(f"an alignment needs pairs of places that belong together: {listed!r}")
        places = (
            indices("pairs[0]", [i for i, _ in listed], len(first)),
            indices("pairs[1]", [j for _, j in listed], len(second)),
        )
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)
        object.__setattr__(self, "pairs", tuple(zip(*places, strict=True)))
        object.__setattr__(self, "name", name)


class _Partial(NamedTuple):
    """The best alignment of two beginnings: its counts and its last step."""

    matches: int
    mismatches: int
    gaps: int
    step: str

    def extended(self, matches: int, mismatches: int, gaps: int, step: str) -> _Partial:
        return _Partial(
            self.matches + matches, self.mismatches + mismatches, self.gaps + gaps, step
        )


def aligned(instance: AlignmentInstance, parameters: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the places that are aligned; of equal alignments the one with letters side by side."""
    mismatch, gap = parameters["mismatch"], parameters["gap"]

    def is_better(new: _Partial, old: _Partial) -> bool:
        # Scores are compared by their counts, so that equal comparisons are one predicate.
        matches = new.matches - old.matches
        mismatches, gaps = new.mismatches - old.mismatches, new.gaps - old.gaps
        return bool(matches - mismatch * mismatches - gap * gaps > 0)

    rows, columns = range(len(instance.first) + 1), range(len(instance.second) + 1)
    best: dict[tuple[int, int], _Partial] = {}
    for i in rows:
        for j in columns:
            options = [_Partial(0, 0, 0, "")] if not i and not j else []
            if i and j:
                same = instance.first[i - 1] == instance.second[j - 1]
                options.append(best[i - 1, j - 1].extended(same, not same, 0, "both"))
            if i:
                options.append(best[i - 1, j].extended(0, 0, 1, "first"))
            if j:
                options.append(best[i, j - 1].extended(0, 0, 1, "second"))
            chosen = options[0]
            for option in options[1:]:
                if option[:3] != chosen[:3] and is_better(option, chosen):
                    chosen = option
            best[i, j] = chosen
    i, j, found = len(instance.first), len(instance.second), []
    while i or j:
        step = best[i, j].step
        i, j = i - (step != "second"), j - (step != "first")
        if step == "both":
            found.append((i, j))
    return found[::-1]


def recovered(instance: AlignmentInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the share of the true pairs that are found."""
    found = set(aligned(instance, parameters))
    return Fraction(sum(pair in found for pair in instance.pairs), len(instance.pairs))


class SequenceAlignment(ProgramFamily):
    """Alignment of two sequences that pays for mismatches and gaps.

    Parameters
    ----------
    mismatch, gap : pair of numbers, default (0, 3)
        Ranges of the penalties; a match scores 1.

    Notes
    -----
    The utility is the share of the pairs of the true alignment that are found.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.AlignmentInstance("ACGT", "AGT", [(0, 0), (2, 1), (3, 2)])
    >>> family = ct.SequenceAlignment()
    >>> family.run(instance, {"mismatch": 1, "gap": 0.5})
    1.0
    """

    def __init__(self, mismatch: Range = (0.0, 3.0), gap: Range = (0.0, 3.0)) -> None:
        ranges = over_range("mismatch", mismatch), over_range("gap", gap)
        space = ParameterSpace(ranges)
        inside = all(each.low <= 1 <= each.high for each in ranges)
        super().__init__(
            recovered,
            space,
            baselines={"penalties of 1": {"mismatch": 1.0, "gap": 1.0}} if inside else None,
            solver=aligned,
            check=partial(check_type, kind=AlignmentInstance),
        )
