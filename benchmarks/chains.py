"""Chains of ten programs: as the rules of the paper give them, and as they are kept small.

    python benchmarks/chains.py

Before: one chain for all predicates, every function with what its derivative needs, and the bound
of ``thm:pfaffian-gj-algorithm`` (Warren's for q = 0). After: the largest chain of one predicate
(docs/theory/bounds.md, R1), exponents in a lattice, denominators cleared, and the bound that
`pdim_bound` takes for these counts. Both are observed on one instance, so that the columns differ
by the chains alone.
"""

from fractions import Fraction

import certune as ct
from certune.pfaffian import argmax, argsort, exp, log, sqrt
from certune.pfaffian.bounds.closed_forms import closed_form, warren_form
from certune.pfaffian.chains.construction import ChainBuilder
from certune.pfaffian.structure import GJStructure, PredicateCount


def knapsack(items, p):
    values, sizes = items
    order = argsort([v / s ** p["rho"] for v, s in zip(values, sizes, strict=True)])
    return Fraction(order[0], 9)


def votes(distances, p):
    rows = [sum(exp(p["c"] - p["gamma"] * d) for d in row) for row in distances]
    return Fraction(sum(row >= 1 for row in rows), 9)


def odds(numbers, p):
    return Fraction(sum(x / (p["a"] + x) >= (p["a"] + 1) / (p["b"] * x) for x in numbers), 9)


def density(numbers, p):
    return Fraction(sum(x / sqrt(p["a"] + x) >= log(p["a"] + 1) / x for x in numbers), 9)


def mixture(points, p):
    scores = [p["w"] * a + (1 - p["w"]) * b for a, b in points]
    return Fraction(argmax(scores), 9)


def kernels(points, p):
    scores = [exp(-p["g"] * d) / (1 + p["r"] * d) for d in points]
    total = sum(scores)
    return Fraction(sum(score / total >= Fraction(1, 4) for score in scores), 9)


def elastic(rows, p):
    steps = [abs(g) / (p["lam"] * p["mix"]) - 1 / (p["lam"] * (1 - p["mix"])) for g in rows]
    return Fraction(sum(step >= 0 for step in steps), 9)


def powers(numbers, p):
    means = [sum(x ** p["alpha"] for x in row) / len(row) for row in numbers]
    return Fraction(argmax(means), 9)


def cooling(deltas, p):
    return Fraction(sum(exp(-d / p["T"]) >= Fraction(1, 2) for d in deltas), 9)


def ucb(arms, p):
    scores = [mean + p["c"] * sqrt(log(p["t"]) / n) for mean, n in arms]
    return Fraction(argmax(scores), 9)


PROGRAMS = [
    ("greedy knapsack", knapsack, ((6, 5, 7, 3), (6, 5, 4, 2)), {"rho": (0, 3)}),
    ("RBF votes", votes, ((1, 3, 5), (2, 4, 5), (1, 6, 7), (3, 5, 8), (2, 3, 9)),
     {"c": (0, 2), "gamma": (0, 2)}),
    ("odds", odds, (1, 2, 3), {"a": (0.1, 9), "b": (0.1, 4)}),
    ("density", density, (1, 2, 3), {"a": (0.1, 60)}),
    ("mixture of scores", mixture, ((1, 4), (2, 2), (4, 1)), {"w": (0, 1)}),
    ("kernel shares", kernels, (1, 2, 3), {"g": (0, 1), "r": (0, 1)}),
    ("penalty steps", elastic, (1, 3, -4), {"lam": (0.1, 2), "mix": (0.1, 0.9)}),
    ("power means", powers, ((1, 2, 4), (2, 2, 3), (1, 3, 3)), {"alpha": (-2, 3)}),
    ("cooling", cooling, (1, 2, 3, 5), {"T": (0.5, 9)}),
    ("confidence bounds", ucb, ((Fraction(1, 2), 4), (Fraction(1, 4), 1)),
     {"c": (0, 2), "t": (2, 50)}),
]  # fmt: skip


def bound_of(q, m, delta, count, d):
    structure = GJStructure(
        n_predicates=count, chain_length=q, chain_degree=m, function_degree=max(delta, 1),
        n_parameters=d, source="observed",
    )  # fmt: skip
    if q == 0:
        return warren_form(structure).dimension
    return closed_form(structure, label="thm:pfaffian-gj-algorithm").dimension


def smallest_bound(longest, count, d):
    q, m, delta = longest
    own = PredicateCount(
        n_parameters=d, n_predicates=count, chain_length=q, chain_degree=m,
        function_degree=max(delta, 1), three_valued=True, name="predicates",
    )  # fmt: skip
    structure = ct.PiecewiseStructure(
        n_piece_forms=3**count, n_boundaries=count, chain_length=q, chain_degree=m,
        function_degree=max(delta, 1), n_parameters=d, piecewise_constant=True, predicates=(own,),
        name="program", source="observed",
    )  # fmt: skip
    return ct.pdim_bound(structure).dimension


def main():
    print(
        f"{'program':<18} {'d':>2} {'K':>3}   {'before (q, M, Delta)':<20} {'bound':>6}   "
        f"{'after (q, M, Delta)':<20} {'bound':>6}"
    )
    for name, program, instance, ranges in PROGRAMS:
        space = {key: (float(low), float(high)) for key, (low, high) in ranges.items()}
        found = ct.pfaffian.trace(program, instance, space, limit=4000)
        before = ChainBuilder().form(list(found.predicates)).complexity
        longest = tuple(max(column) for column in zip(*found.predicate_complexities, strict=True))
        count, d = len(found.predicates), len(ranges)
        print(
            f"{name:<18} {d:>2} {count:>3}   {str(tuple(before)):<20} "
            f"{bound_of(*before, count, d):>6}   {longest!s:<20} "
            f"{smallest_bound(longest, count, d):>6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
