"""Merges before the sweep against their definition, written out over members."""

import numpy as np
import pytest

from certune.families.linkage.sweeping import start_from_duplicates
from certune.kernels.linkage import MEAN, MINMAX, contract

MARGIN = 1e-13


def certain_neighbour(kind, ends, clusters, x):
    """The one cluster that is nearer to x than any other at all parameters, or None."""
    others = [z for z in clusters if z is not x]
    between = [[end[np.ix_(x, z)] for end in ends] for z in others]
    for y, near in zip(others, between, strict=True):
        rivals = [far for z, far in zip(others, between, strict=True) if z is not y]
        if all(
            far[layer].min() > near[layer].max() + MARGIN
            or (
                kind == MINMAX
                and len(ends) == 1
                and far[layer].min() > near[layer].min() + MARGIN
                and far[layer].max() > near[layer].max() + MARGIN
            )
            for far in rivals
            for layer in range(len(ends))
        ):
            return y
    return None


def contracted_by_definition(kind, ends, clusters):
    while len(clusters) > 2:
        for x in clusters:
            y = certain_neighbour(kind, ends, clusters, x)
            if y is not None and certain_neighbour(kind, ends, clusters, y) is x:
                clusters = [z for z in clusters if z is not x and z is not y] + [sorted(x + y)]
                break
        else:
            break
    return sorted(clusters)


def random_ends(rng, points, moves):
    gaps = np.abs(points[:, None] - points[None, :]).sum(axis=2)
    low = np.log(np.where(gaps == 0, 1.0, gaps))
    if not moves:
        return low, low
    change = rng.normal(size=low.shape) * 0.1 * (gaps > 0)
    # Copies of a point have the same distances.
    first = [int(np.argmax(gaps[i] == 0)) for i in range(len(points))]
    change = (change + change.T)[np.ix_(first, first)]
    return low, low + change


def members(labels):
    return sorted(np.flatnonzero(labels == x).tolist() for x in range(labels.max() + 1))


@pytest.mark.parametrize("kind", [MEAN, MINMAX])
@pytest.mark.parametrize("moves", [False, True])
def test_contraction_is_its_definition(kind, moves):
    rng = np.random.default_rng(7)
    n_merges = 0
    for trial in range(40):
        n = int(rng.integers(4, 16))
        points = rng.normal(size=(n, 2)) * np.exp(rng.normal(size=(n, 1)))
        if trial % 2:
            points = points[np.sort(rng.integers(0, n, size=n + 3))]
        low, high = random_ends(rng, points, moves)
        duplicate_of = np.argmax((points[:, None] == points[None, :]).all(axis=2), axis=1)
        merges = start_from_duplicates(duplicate_of)
        if merges.labels.max() < 2:
            continue
        before = members(merges.labels)
        labels, left, right, made = contract(kind, (low, high), MARGIN, merges)
        ends = (low, high) if moves else (low,)
        assert members(labels) == contracted_by_definition(kind, ends, before)
        assert_tree_has_the_clusters(left, right, made, members(labels))
        n_merges += made
    assert n_merges > 50


def assert_tree_has_the_clusters(left, right, made, clusters):
    n = (len(left) + 1) // 2
    found = {p: [p] for p in range(n)}
    for node in range(n, n + made):
        first, second = found.pop(left[node]), found.pop(right[node])
        assert max(first) < max(second)
        found[node] = sorted(first + second)
    assert sorted(found.values()) == clusters
