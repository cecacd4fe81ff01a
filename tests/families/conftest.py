"""What several tests of families watch."""

from fractions import Fraction
from itertools import combinations

import pytest
from flint import arb, ctx, fmpq

from certune.families.linkage import sweeping


@pytest.fixture
def asked(monkeypatch):
    """The questions that linkage sweeps ask the exact layer."""
    questions = []
    original = sweeping.Comparison
    monkeypatch.setattr(
        sweeping, "Comparison", lambda *data: questions.append(data) or original(*data)
    )
    return questions


def _tree_with_many_digits(instance, powers, bits=600):
    """Greedy average linkage of products of powers, on integers of that many bits."""
    n = instance.n_points
    value = {}
    with ctx.workprec(2 * bits):
        exact = [arb(fmpq(*a.as_integer_ratio())) for a in powers]
        for i, j in combinations(range(n), 2):
            logs = (a * arb(d[i, j]).log() for d, a in zip(instance.distances, exact, strict=True))
            number = (sum(logs, arb(0)).exp() * arb(2) ** bits).floor()
            value[frozenset((i, j))] = Fraction(int(number.unique_fmpz()))
    sign = 1 if sum(powers) >= 0 else -1
    size, alive, merges = [1] * n, list(range(n)), []
    while len(alive) > 1:
        x, y = min(
            ((x, y) for x in alive for y in alive if x < y),
            key=lambda pair: sign * value[frozenset(pair)],
        )
        alive = [z for z in alive if z not in (x, y)]
        node = len(size)
        size.append(size[x] + size[y])
        for z in alive:
            whole = size[x] * value[frozenset((x, z))] + size[y] * value[frozenset((y, z))]
            value[frozenset((node, z))] = whole / size[node]
        alive.append(node)
        merges.append((x, y))
    return merges


@pytest.fixture
def tree_with_many_digits():
    """Oracle of product linkage at exponents that may be fractions; there are no ties."""
    return _tree_with_many_digits
