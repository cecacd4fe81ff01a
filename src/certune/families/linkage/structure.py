"""Pfaffian structure of M1, M2, M3 and energy linkage, for every instance of n points.

What can change the cluster tree are comparisons of two cluster pairs; this file counts them and
the chains that they need, with the corrected tuples of `thm:pdim-clustering-1` to
`thm:pdim-clustering-3` and the sharper counts of certune (R1-R3, R6).  Energy linkage is a fourth
family beside those of the paper.  All of it is proved in ``docs/theory/structures.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb, prod

from certune.pfaffian.structure import LineCount, PiecewiseStructure, PredicateCount

SOURCE = "docs/theory/structures.md"
ASSUMPTIONS = (
    "distances are symmetric and positive in every metric",
    "the utility depends on the cluster tree only",
)


@dataclass(frozen=True)
class TunedLinkage:
    """What is tuned in a linkage family.

    Parameters
    ----------
    kind : {"min-max", "power-mean", "product", "energy"}
        M1, M2, M3 or energies.
    n_metrics : int
        L.
    n_exponents : int
        Number of free exponents: 0 or 1, up to L for products.
    tuned_weights : bool
        Whether the weights of the metrics are free.
    hamming : bool
        Whether the utility takes only the values 0, 1/n, ..., 1.
    plain_cut : bool
        Whether the last merges are undone, so that heights of merges are compared as well.
    """

    kind: str
    n_metrics: int
    n_exponents: int
    tuned_weights: bool
    hamming: bool
    plain_cut: bool = False

    @property
    def n_parameters(self) -> int:
        """d, with one weight set to 1."""
        return self.n_exponents + (self.n_metrics - 1 if self.tuned_weights else 0)


def linkage_structure(tuned: TunedLinkage, n: int) -> PiecewiseStructure:
    """Return the structure of a linkage family on instances of n >= 3 points."""
    counts = tuple(_predicates(tuned, n))
    corrected = _tuple_of_paper(tuned, n)
    only_exponent = tuned.n_exponents == tuned.n_parameters == 1
    return replace(
        corrected,
        predicates=counts,
        line=LineCount(n_breakpoints=_breakpoints(tuned, n)) if only_exponent else None,
        as_printed=_as_printed(tuned, corrected, n),
        source=SOURCE,
    )


def shared_comparisons(n: int) -> int:
    """Comparisons of (X, Y) with (X, Z) for disjoint non-empty X, Y, Z among n points (R3)."""
    triples: int = 4**n - 3 * 3**n + 3 * 2**n - 1
    return triples // 2


def height_comparisons(n: int) -> int:
    """Comparisons of (W, X) with (Y, Z) for four disjoint non-empty sets among n points."""
    quadruples: int = 5**n - 4 * 4**n + 6 * 3**n - 4 * 2**n + 1
    return quadruples // 8


def _comparisons(tuned: TunedLinkage, n: int) -> int:
    """Comparisons of averages or energies of cluster pairs, up to sign."""
    return shared_comparisons(n) + (height_comparisons(n) if tuned.plain_cut else 0)


def min_max_comparisons(n: int) -> int:
    """Distinct comparisons of min-max linkage, up to sign, and the sign of alpha (R2)."""
    pairs = comb(n, 2)
    return 3 * comb(pairs, 4) + 3 * comb(pairs, 3) + comb(pairs, 2) + 1


def _terms(kind: str, n: int) -> int:
    """Largest number of point pairs in one comparison."""
    if kind == "min-max":
        return 4
    return max(comb(n, 2) - 2 if kind == "energy" else n * n // 4, 2)


def _predicates(tuned: TunedLinkage, n: int) -> Iterator[PredicateCount]:
    """Counts for R1: one entry for each way to build the chain of a comparison."""
    terms = _terms(tuned.kind, n)
    # One more is the sign of alpha, which is positive for energies.
    averages = _comparisons(tuned, n) + int(tuned.kind != "energy")
    n_predicates = min_max_comparisons(n) if tuned.kind == "min-max" else averages
    has_limits = tuned.kind in ("min-max", "power-mean") and tuned.n_exponents > 0
    for chain_length, chain_degree, name in _chains(tuned, terms):
        yield PredicateCount(
            n_parameters=tuned.n_parameters,
            n_predicates=n_predicates,
            chain_length=chain_length,
            chain_degree=chain_degree,
            function_degree=1,
            three_valued=True,
            n_copies=4 if has_limits else 1,
            n_isolated=2 * tuned.n_metrics + 1 if tuned.kind == "product" else 0,
            name=name,
        )


def _chains(tuned: TunedLinkage, terms: int) -> Iterator[tuple[int, int, str]]:
    """Chain length, Pfaffian degree and name of the chains of a sum of `terms` powers."""
    ratios = terms - 1
    if not tuned.tuned_weights:
        yield ratios, 1, f"{ratios} exponentials"
        return
    logarithms = ratios if tuned.n_exponents else 0
    exponent = 1 if tuned.n_exponents else 0
    powers = ratios + logarithms
    yield terms + powers, 3 + exponent, f"{terms} reciprocals"
    yield 1 + powers, 2 * terms + 1 + exponent, "one joint reciprocal"


def _breakpoints(tuned: TunedLinkage, n: int) -> int:
    """Breakpoints of a dual in one exponent, with -inf, the turn of the order and inf (R6).

    Energies have none of these three.
    """
    if tuned.kind == "min-max":
        return comb(comb(n, 2) + 1, 4) + 3
    zeros = _terms(tuned.kind, n) - (1 if tuned.kind == "product" else 2)
    return _comparisons(tuned, n) * zeros + (0 if tuned.kind == "energy" else 3)


def _tuple_of_paper(tuned: TunedLinkage, n: int) -> PiecewiseStructure:
    """Tuple of `def:pfaffian-piecewise-structure` on the chain of all point pairs, corrected."""
    pairs = n * n
    if tuned.kind == "product":
        chain_length, chain_degree, d = pairs, 1, tuned.n_exponents
    elif tuned.tuned_weights:
        chain_length, chain_degree, d = 3 * pairs, 3, tuned.n_metrics + 1
    else:
        chain_length, chain_degree, d = pairs, 1, 1
    return PiecewiseStructure(
        n_piece_forms=n + 1 if tuned.hamming else prod(range(1, 2 * n - 2, 2)),
        n_boundaries=n**8 if tuned.kind == "min-max" else 2 ** (4 * n),
        chain_length=chain_length,
        chain_degree=chain_degree,
        function_degree=1,
        n_parameters=d,
        piecewise_constant=True,
        name=f"{tuned.kind} linkage, {n} points, d = {tuned.n_parameters}",
        source=SOURCE,
        assumptions=ASSUMPTIONS,
    )


def _as_printed(
    tuned: TunedLinkage, corrected: PiecewiseStructure, n: int
) -> PiecewiseStructure | None:
    """Tuple that the paper prints: for tuned weights with M = 2, and n^8 boundaries for M2.

    It knows neither energies nor plain cuts.
    """
    if tuned.kind == "energy" or tuned.plain_cut:
        return None
    if tuned.kind == "product":
        all_free = tuned.n_exponents == tuned.n_metrics
        return replace(corrected, source="thm:pdim-clustering-3") if all_free else None
    if not tuned.tuned_weights:
        return None
    label = "thm:pdim-clustering-1" if tuned.kind == "min-max" else "thm:pdim-clustering-2"
    return replace(corrected, n_boundaries=n**8, chain_degree=2, source=label)
