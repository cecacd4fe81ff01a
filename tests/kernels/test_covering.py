"""Tables of leaves against plain statements of what they mean, on random input."""

from itertools import pairwise

import numpy as np
import pytest

from certune.kernels.linkage import envelope, joined, ranked_leaves, unsettled_splits


def random_envelope(rng):
    count = int(rng.integers(1, 12))
    positions = np.unique(rng.integers(0, 40, size=count + 1).astype(float))
    positions = np.append(positions, positions[-1] + 1.0)
    bottom = rng.integers(0, 3, size=len(positions) - 1)
    return positions, bottom, bottom + rng.integers(0, 2, size=bottom.size)


@pytest.mark.parametrize("seed", range(40))
def test_unsettled_splits_are_those_whose_zone_overlaps_an_open_question(seed):
    rng = np.random.default_rng(seed)
    positions, bottom, top = random_envelope(rng)
    low = rng.integers(-2, 44, size=20) * 0.5
    high = low + rng.integers(0, 6, size=20) * 0.5
    splits = np.column_stack([low, high, low, low, low, low])
    expected = [
        s
        for s in range(20)
        if any(
            bottom[i] != top[i] and low[s] < positions[i + 1] and splits[s, 1] > positions[i]
            for i in range(bottom.size)
        )
    ]
    assert unsettled_splits(splits, (positions, bottom, top)).tolist() == expected


@pytest.mark.parametrize("seed", range(40))
def test_joined_intervals_say_the_same_and_no_two_neighbours_could_be_one(seed):
    rng = np.random.default_rng(seed)
    positions, bottom, top = random_envelope(rng)
    special = np.unique(rng.integers(0, 40, size=seed % 3 * 10).astype(float))
    starts, stops, least, most = joined((positions, bottom, top), special)
    assert starts[0] == positions[0] and stops[-1] == positions[-1]
    np.testing.assert_array_equal(starts[1:], stops[:-1])
    for i in range(bottom.size):
        own = int(np.searchsorted(starts, positions[i], side="right")) - 1
        inside = (positions[:-1] >= starts[own]) & (positions[1:] <= stops[own])
        assert (least[own], most[own]) == (bottom[inside].min(), top[inside].max())
        assert (least[own] == most[own]) == (bottom[i] == top[i])
        if bottom[i] != top[i] and positions[i] in special:
            assert starts[own] == positions[i]
    settled = least == most
    for i in range(len(starts) - 1):
        assert settled[i] or settled[i + 1] or stops[i] in special
        assert not (settled[i] and settled[i + 1] and least[i] == least[i + 1])


INTERVALS = np.array([[0.0, 2.0], [1.0, 3.0], [3.0, 4.0]])
INFO = np.array([[-1, 0, 1], [0, -1, 0], [-1, -1, -1]])
# The change between the first two leaves was polished to [1.25, 1.5].
SPLITS = np.array([[1.25, 1.5, 1.0, -1.0, -1.0, -1.0]])
LEAVES = INTERVALS, INFO, SPLITS


def test_a_leaf_without_a_partition_can_have_any_rank():
    everywhere = np.array([[0.0, 4.0]])
    low, high, least, most = ranked_leaves(LEAVES, np.array([5, 2]), 9, everywhere)
    assert low.tolist() == [0.0, 1.25, 3.0] and high.tolist() == [1.5, 3.0, 4.0]
    assert least.tolist() == [2, 5, 0] and most.tolist() == [2, 5, 9]


def test_leaves_count_in_their_ranges_alone():
    """[1.4, 3.5] belongs to other leaves: the second one is left with [1.25, 1.4]."""
    ranges = np.array([[0.0, 1.4], [3.5, 4.0]])
    low, high, least, most = ranked_leaves(LEAVES, np.array([5, 2]), 9, ranges)
    assert low.tolist() == [0.0, 1.25, 3.5] and high.tolist() == [1.4, 1.4, 4.0]
    assert least.tolist() == [2, 5, 0] and most.tolist() == [2, 5, 9]


def test_leaves_are_cut_by_the_splits_above_them_alone():
    """The right side of split 0 is split by 2; its left part contradicts itself and has no leaf."""
    intervals = np.array([[0.0, 2.0], [1.0, 2.0], [1.0, 4.0]])
    info = np.array([[-1, 1, 0], [1, 0, 1], [2, -1, 0]])
    splits = np.array(
        [
            [1.0, 1.5, 1.0, -1.0, -1.0, -1.0],
            [1.75, 1.75, 1.0, -1.0, -1.0, 0.0],
            [0.5, 2.0, 1.0, -1.0, 0.0, -1.0],
        ]
    )
    leaves, everywhere = (intervals, info, splits), np.array([[0.0, 4.0]])
    low, high, least, _ = ranked_leaves(leaves, np.array([5, 2]), 9, everywhere)
    assert low.tolist() == [0.0, 1.0] and high.tolist() == [1.5, 4.0]
    assert least.tolist() == [5, 5]


@pytest.mark.parametrize("seed", range(40))
def test_the_envelope_is_that_of_the_intervals_over_each_place(seed):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 12, size=9).astype(float)
    high = low + rng.integers(0, 5, size=9)
    least = rng.integers(0, 6, size=9)
    most = least + rng.integers(0, 3, size=9)
    positions, bottom, top = envelope(low, high, least, most)
    assert positions.tolist() == sorted({*low, *high})
    for i, (start, stop) in enumerate(pairwise(positions)):
        over = (low <= start) & (stop <= high)
        assert top[i] == (most[over].max() if over.any() else -1)
        if over.any():
            assert bottom[i] == least[over].min()
