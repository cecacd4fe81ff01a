"""Growth: how many patterns can the utilities of N instances form?

Fix N instances and a threshold for each.  As the parameter varies, the vector of answers "is the
utility above the threshold?" takes at most ``count(N)`` values.  Every result on pseudo-dimension
and sample size follows from such a count: nothing of size N is shattered if 2^N > count(N)
(:func:`shattered_size`), and Massart's lemma turns count(N) into a deviation
(`certune.pfaffian.bounds.generalization`).  The counts are R1, R4 and R6 of
``docs/theory/bounds.md`` and, for comparison, that of the earlier framework.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from flint import arb

from certune.pfaffian.bounds.arithmetic import certified, first_true
from certune.pfaffian.bounds.components import cells, component_ball
from certune.pfaffian.bounds.records import PdimBound, Provenance, pdim_from_ball
from certune.pfaffian.structure import LineCount, PredicateCount


class Growth(ABC):
    """An upper bound on the number of patterns on N instances, for every N."""

    label: str
    formula: ClassVar[str]
    provenance: Provenance
    note: str
    assumptions: tuple[str, ...]

    @abstractmethod
    def count(self, n_instances: int) -> Any:
        """Return the bound for N >= 1 instances as a ball."""

    def shattered_size(self) -> int:
        """Return a size n such that certainly no n + 1 instances are shattered.

        Undecided comparisons count as "may be shattered". The smallest such n, if the patterns
        of N + 1 instances are fewer than twice those of N from some N on, as for all counts here.
        """
        with certified():
            return first_true(lambda n: bool(arb(2) ** n > self.count(n))) - 1

    def pdim_bound(self) -> PdimBound:
        """Return the bound on the pseudo-dimension that this count implies."""
        return pdim_from_ball(
            arb(self.shattered_size()),
            label=self.label,
            provenance=self.provenance,
            formula=rf"\max\{{N : 2^N \le {self.formula}\}}",
            assumptions=self.assumptions,
            note=self.note,
        )


@dataclass(frozen=True)
class PredicateGrowth(Growth):
    """Cells of Pfaffian predicates, counted system by system (R1, solved as in R4).

    Parameters
    ----------
    predicates : PredicateCount
        Counts for a single predicate.
    n_regions : int, default=1
        Number of regions of a partition that all instances share, each with these counts.
    """

    predicates: PredicateCount
    n_regions: int = 1
    label: str = "R1"
    provenance: Provenance = Provenance.R1
    note: str = ""
    assumptions: tuple[str, ...] = ()

    formula = (
        r"c \sum_{r=0}^{d} \binom{NK}{r} B_r + e,\ "
        r"B_r = 2^{rq(rq-1)/2} \Delta^r S^{d-r} [(d-r+1)S-(d-r)]^{rq},\ S = r(\Delta-1)+dM+1"
    )

    @cached_property
    def _components(self) -> list[Any]:
        """B_r for r = 0..d; with a three-valued sign there are two surfaces for each predicate."""
        p = self.predicates
        d = p.n_parameters
        return [
            component_ball(r, d, r * p.chain_length, p.chain_degree, p.function_degree)
            * (2**r if p.three_valued else 1)
            for r in range(d + 1)
        ]

    def count(self, n_instances: int) -> Any:
        """Return c * sum_r C(NK, r) B_r + e."""
        p = self.predicates
        with certified():
            inside = cells(n_instances * p.n_predicates, self._components)
            return p.n_copies * self.n_regions * inside + p.n_isolated


@dataclass(frozen=True)
class LineGrowth(Growth):
    """Pieces of functions of one parameter (R6).

    Parameters
    ----------
    line : LineCount
        Breakpoints of a dual function and crossings of a level in a piece.
    n_regions : int, default=1
        Number of intervals of a partition that all instances share, each with these counts.
    """

    line: LineCount
    n_regions: int = 1
    note: str = "changes along one parameter"
    assumptions: tuple[str, ...] = ()

    label = "R6"
    formula = r"n (1 + N (P + (P+1) Z))"
    provenance = Provenance.R6

    def count(self, n_instances: int) -> Any:
        """Return n (1 + N (P + (P + 1) Z)); exact."""
        breaks, crossings = self.line.n_breakpoints, self.line.n_level_crossings
        changes = breaks + (breaks + 1) * crossings
        return arb(self.n_regions * (1 + n_instances * changes))


@dataclass(frozen=True)
class SauerGrowth(Growth):
    """Patterns of a class of known pseudo-dimension D: at most (eN/D)^D (Sauer's lemma)."""

    dimension: int
    provenance: Provenance = Provenance.CLASSICAL
    note: str = ""
    assumptions: tuple[str, ...] = ()

    label = "lm:pdim-to-rademacher"
    formula = r"(eN/D)^D"

    def count(self, n_instances: int) -> Any:
        """Return (eN/D)^D, or 2^N if N <= D."""
        with certified():
            return sauer(n_instances, self.dimension)


@dataclass(frozen=True)
class EarlierGrowth(Growth):
    """The earlier framework with explicit constants (`thm:stoc-21-main`, `thm-apx:using-stoc`).

    Parameters
    ----------
    boundary_dimension, piece_dimension : int
        VC-dimension of the dual boundary class and pseudo-dimension of the dual piece class.
    n_boundaries : int
        k.
    """

    boundary_dimension: int
    piece_dimension: int
    n_boundaries: int
    provenance: Provenance = Provenance.EARLIER
    note: str = "dual dimensions and Sauer's lemma"
    assumptions: tuple[str, ...] = ()

    label = "thm-apx:using-stoc"
    formula = r"(eNk/D_G)^{D_G} (eN/D_F)^{D_F}"

    def count(self, n_instances: int) -> Any:
        """Return (eNk/D_G)^D_G (eN/D_F)^D_F, with 2^x for a base x <= D."""
        with certified():
            boundaries = sauer(n_instances * self.n_boundaries, self.boundary_dimension)
            return boundaries * sauer(n_instances, self.piece_dimension)


def sauer(size: int, dimension: int) -> Any:
    """Sauer's bound on the traces of a class of VC-dimension D on so many points, as a ball."""
    if dimension == 0 or size == 0:
        return arb(1)
    if size <= dimension:
        return arb(2) ** size
    return (arb(1).exp() * size / dimension) ** dimension
