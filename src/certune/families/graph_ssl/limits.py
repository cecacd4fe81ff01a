"""Bandwidths below which no label changes any more, by the leading term of an expansion.

If all combined distances are whole multiples of one length, up to a common summand, soft labels are
quotients of polynomials in ``y = exp(-length / sigma**2)`` with whole coefficients, whose sum is at
most the number of spanning forests.  Below the reciprocal of that number the lowest term of a
difference outweighs all others, so that its sign is the same for every smaller bandwidth
(``docs/theory/harmonic-labeling.md``).  Distances between points of a grid, counts of differing
letters and other whole numbers are like this, and ties of leading terms, which ask for millions of
bits at small bandwidths, are the rule with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from certune.families.graph_ssl.graph import Graph

EDGES_AT_A_TIME = 4096


def limit_rates(graph: Graph, rates: Sequence[Fraction]) -> list[Fraction]:
    """Rates with the same labels: the given ones or, if they are beyond the limit, those at it.

    Parameters
    ----------
    graph : Graph
        The edges.
    rates : sequence of Fraction
        Exponents are the distances times these.
    """
    factor = limit_factor(graph, rates, 1.0)
    return list(rates) if factor is None else [factor * rate for rate in rates]


def limit_factor(graph: Graph, rates: Sequence[Fraction], largest: float) -> Fraction | None:
    """A positive factor from which on no label changes if all rates are multiplied by it.

    None if it is not below ``largest``, or if every factor has the same labels.
    """
    if graph.n_nodes == 0:
        return None
    unit = _common_unit(graph, rates, at_least=_log_forests(graph) / largest)
    return None if unit is None else Fraction(_log_forests(graph)) / unit


def _log_forests(graph: Graph) -> float:
    """Bound of the logarithm of the number of forests with one label in each tree.

    By the matrix-tree theorem it is a determinant, and by Hadamard's inequality no more than the
    product of the degrees.
    """
    degrees = graph.is_edge.sum(axis=1) + graph.is_edge_to_labelled.sum(axis=1)
    return 1.0 + (1 + 1e-9) * math.fsum(math.log(degree) for degree in degrees.tolist())


def _common_unit(graph: Graph, rates: Sequence[Fraction], at_least: float) -> Fraction | None:
    """The largest number of which all differences of exponents are multiples; None if too small.

    Differences, because a forest has as many edges as there are nodes: a summand that all exponents
    have in common is a factor of all forests.
    """
    first, unit = None, Fraction(0)
    for exponent in _exponents(graph, rates):
        if first is None:
            first = exponent
            continue
        unit = _common_divisor(unit, exponent - first)
        if 0 < unit < at_least:
            return None
    return unit if unit > 0 else None


def _exponents(graph: Graph, rates: Sequence[Fraction]) -> Iterable[Fraction]:
    """Exponents of the edges, exactly; each combination of distances once."""
    parts = [graph.between[:, graph.is_edge], graph.to_labelled[:, graph.is_edge_to_labelled]]
    edges = np.concatenate(parts, axis=1)
    seen: set[tuple[float, ...]] = set()
    # A few edges of most graphs already have no unit, so that the others need not be sorted.
    for start in range(0, edges.shape[1], EDGES_AT_A_TIME):
        found = np.unique(edges[:, start : start + EDGES_AT_A_TIME], axis=1).T.tolist()
        for lengths in map(tuple, found):
            if lengths not in seen:
                seen.add(lengths)
                yield sum(
                    (rate * Fraction(length) for rate, length in zip(rates, lengths, strict=True)),
                    Fraction(0),
                )


def _common_divisor(first: Fraction, second: Fraction) -> Fraction:
    return Fraction(
        math.gcd(first.numerator * second.denominator, second.numerator * first.denominator),
        first.denominator * second.denominator,
    )
