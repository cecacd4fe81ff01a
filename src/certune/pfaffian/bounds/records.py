"""Records of bounds: a number together with the result that gives it and what it assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from certune.cards import Carded
from certune.pfaffian.bounds.arithmetic import certified, log2, upper_float, upper_integer


class Provenance(StrEnum):
    """Where a bound comes from; its value is what tables show."""

    AS_PRINTED = "as printed"
    CORRECTED = "corrected"
    EARLIER = "earlier framework"
    CLASSICAL = "classical"
    R1 = "certune R1"
    R4 = "certune R4"
    R6 = "certune R6"
    R7 = "certune R7"

    @property
    def proved(self) -> bool:
        """Whether the bound may be relied on; printed forms are kept for comparison only."""
        return self is not Provenance.AS_PRINTED


@dataclass(frozen=True, kw_only=True, repr=False)
class Bound(Carded):
    """An upper bound.

    Parameters
    ----------
    value : float
        The bound, rounded up; inf if no float is large enough.
    log2 : float
        Its logarithm to base 2, rounded up; -inf for zero.
    label : str
        LaTeX label of the paper's result, or the certune result (``"R1"``).
    provenance : Provenance
        As printed in the paper, corrected, or sharper.
    formula : str
        The formula in LaTeX.
    assumptions : tuple of str
        What it needs.
    note : str
        What distinguishes it from other rows with the same label.
    """

    value: float
    log2: float
    label: str
    provenance: Provenance
    formula: str
    assumptions: tuple[str, ...] = ()
    note: str = ""

    @property
    def proved(self) -> bool:
        """Whether the bound may be relied on."""
        return self.provenance.proved

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, for JSON; numbers that are not finite become None."""
        return _plain(self)

    def __str__(self) -> str:
        size = f"{self.value:.6g}" if math.isfinite(self.value) else f"2^{self.log2:.6g}"
        return f"at most {size} ({self.label}, {self.provenance})"


@dataclass(frozen=True, kw_only=True, repr=False)
class PdimBound(Bound):
    """An upper bound on a pseudo-dimension (`def:pseudo-dimension`).

    Parameters
    ----------
    dimension : int
        The bound as a whole number: no set of ``dimension + 1`` instances is shattered.
    others : tuple of PdimBound
        Other bounds on the same class, tightest first, the printed ones last.
    """

    dimension: int
    others: tuple[PdimBound, ...] = ()

    def __str__(self) -> str:
        return f"pseudo-dimension {super().__str__()}"


@dataclass(frozen=True, kw_only=True, repr=False)
class SampleSize(Carded):
    """A number of instances that suffices.

    Parameters
    ----------
    n_instances : int
        With so many independent instances, the setting that is best on them is within `epsilon`
        of the best setting in expectation, with probability at least ``1 - delta``.
    epsilon, delta, utility_range : float
        Accuracy, confidence, and the length H of the interval that contains all utilities.
    label, provenance, formula, assumptions, note
        As in :class:`Bound`.
    others : tuple of SampleSize
        What other results ask for, fewest instances first.
    """

    n_instances: int
    epsilon: float
    delta: float
    utility_range: float
    label: str
    provenance: Provenance
    formula: str
    assumptions: tuple[str, ...] = ()
    note: str = ""
    others: tuple[SampleSize, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, for JSON."""
        return _plain(self)

    def __str__(self) -> str:
        return (
            f"{self.n_instances:,} instances for epsilon {self.epsilon:g} and delta {self.delta:g} "
            f"({self.label}, {self.provenance})"
        )


def _plain(record: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        elif field.name == "provenance":
            value = value.value
        elif field.name == "others":
            value = [_plain(other) for other in value]
        data[field.name] = value
    return data


def bound_from_ball(number: Any, **described: Any) -> Bound:
    """Return a `Bound` whose value is the upper end of a ball >= 0."""
    with certified():
        return Bound(value=upper_float(number), log2=_log2(number), **described)


def pdim_from_ball(number: Any, **described: Any) -> PdimBound:
    """Return a `PdimBound` from a ball >= 0; the dimension is its upper end, rounded down."""
    with certified():
        return PdimBound(
            value=upper_float(number),
            log2=_log2(number),
            dimension=upper_integer(number),
            **described,
        )


def _log2(number: Any) -> float:
    return upper_float(log2(number)) if number > 0 else -math.inf
