"""Matchings against scipy's assignment solver and against every permutation."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from certune.kernels.linkage import heaviest_matching, matched_points


def random_tables(count, largest_entry, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows = int(rng.integers(1, 9))
        columns = rows + int(rng.integers(0, 6))
        yield rng.integers(0, rng.integers(1, largest_entry), size=(rows, columns))


def test_heaviest_matching_agrees_with_scipy():
    # Entries below 3 tie all the time, large ones never.
    for table in [*random_tables(300, 3, 0), *random_tables(300, 10**15, 1)]:
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert heaviest_matching(table) == table[rows, columns].sum()


def test_heaviest_matching_of_every_small_table():
    for entries in itertools.product(range(3), repeat=6):
        table = np.array(entries).reshape(2, 3)
        every = [table[0, i] + table[1, j] for i, j in itertools.permutations(range(3), 2)]
        assert heaviest_matching(table) == max(every)


def test_points_of_many_partitions_with_fewer_and_more_clusters_than_classes():
    rng = np.random.default_rng(2)
    for _ in range(50):
        n = int(rng.integers(1, 40))
        most = min(n, 6)
        target = rng.integers(0, rng.integers(1, most + 1), size=n)
        partitions = rng.integers(0, rng.integers(1, most + 1), size=(5, n))
        for labels, found in zip(partitions, matched_points(target, partitions), strict=True):
            table = np.zeros((7, 7), dtype=np.int64)
            np.add.at(table, (target, labels), 1)
            rows, columns = linear_sum_assignment(table, maximize=True)
            assert found == table[rows, columns].sum()


def test_codes_that_are_no_numbers_of_classes_are_refused():
    for target, labels in (([0, 3], [0, 1]), ([0, -1], [0, 1]), ([0, 1], [0, 2])):
        with pytest.raises(ValueError, match="Codes"):
            matched_points(np.array(target), np.array([labels]))
