"""Utilities against scikit-learn, brute force over matchings, and their ranges and errors."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from certune.errors import InputError, ParameterError
from certune.families.linkage.utility import UTILITIES, Utility, utility_from


def random_partitions(n_trials=200, largest=12):
    rng = np.random.default_rng(5)
    for _ in range(n_trials):
        n = int(rng.integers(1, largest + 1))
        target = rng.integers(0, rng.integers(1, 6), size=n)
        labels = rng.integers(0, rng.integers(1, 6), size=n)
        yield target, labels


def matched_by_brute_force(target, labels):
    """Largest number of points right under an injective map between the smaller and larger side."""
    rows, columns = int(target.max()) + 1, int(labels.max()) + 1
    if rows > columns:
        return matched_by_brute_force(labels, target)
    return max(
        sum(int(chosen[t] == p) for t, p in zip(target, labels, strict=True))
        for chosen in itertools.permutations(range(columns), rows)
    )


def test_hamming_is_the_best_matching():
    utility = utility_from("hamming")
    for target, labels in random_partitions():
        expected = Fraction(matched_by_brute_force(target, labels), len(target))
        assert utility.score(target, labels) == expected


def test_hamming_with_different_numbers_of_clusters():
    target = np.array([0, 0, 0, 1, 1, 1])
    score = utility_from("hamming").score
    assert score(target, np.zeros(6, dtype=np.int64)) == Fraction(1, 2)
    assert score(target, np.arange(6)) == Fraction(1, 3)
    assert score(target, np.array([2, 2, 2, 0, 0, 1])) == Fraction(5, 6)


def test_adjusted_rand_agrees_with_scikit_learn():
    utility = utility_from("adjusted-rand")
    for target, labels in random_partitions():
        value = utility.score(target, labels)
        assert float(value) == pytest.approx(adjusted_rand_score(target, labels), abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_adjusted_rand_of_trivial_partitions(n):
    one, all_apart = np.zeros(n, dtype=np.int64), np.arange(n)
    score = utility_from("adjusted-rand").score
    assert score(one, one) == score(all_apart, all_apart) == 1
    if n > 1:
        assert score(one, all_apart) == 0


def test_adjusted_rand_reaches_its_lower_end():
    score = utility_from("adjusted-rand").score
    assert score(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == Fraction(-1, 2)


def test_adjusted_rand_of_many_points_does_not_overflow():
    n = 200_000
    target, labels = np.arange(n) % 2, np.arange(n) // 2 % 2
    value = utility_from("adjusted-rand").score(target, labels)
    assert float(value) == pytest.approx(adjusted_rand_score(target, labels), abs=1e-13)


def test_normalized_mutual_info_is_scikit_learns_value():
    utility = utility_from("normalized-mutual-info")
    for target, labels in random_partitions():
        value = utility.score(target, labels)
        assert 0 <= value <= 1
        assert float(value) == pytest.approx(
            normalized_mutual_info_score(target, labels), abs=1e-15
        )


@pytest.mark.parametrize("name", UTILITIES)
def test_perfect_and_renamed_clusters_have_the_highest_utility(name):
    target = np.array([0, 0, 1, 1, 2, 2, 2])
    utility = utility_from(name)
    assert utility.name == name
    assert utility.score(target, (target + 1) % 3) == utility.high == 1


@pytest.mark.parametrize("name", UTILITIES)
def test_values_are_fractions_in_the_stated_range(name):
    utility = utility_from(name)
    for target, labels in random_partitions(50):
        value = utility.score(target, labels)
        assert type(value) is Fraction
        assert utility.low <= value <= utility.high


def share_of_first(target, labels):
    return np.mean(labels == labels[0])


def test_a_users_function_keeps_the_exact_float():
    utility = utility_from(share_of_first)
    assert utility.name == "share_of_first"
    value = utility.score(np.array([0, 0, 1]), np.array([0, 1, 1]))
    assert value == Fraction(1 / 3) != Fraction(1, 3)
    assert pickle.loads(pickle.dumps(utility)) == utility


def test_a_users_function_may_return_exact_numbers():
    codes = np.array([0, 1])
    assert utility_from(lambda t, p: Fraction(1, 3)).score(codes, codes) == Fraction(1, 3)
    assert utility_from(lambda t, p: 1).score(codes, codes) == 1
    assert utility_from(lambda t, p: np.float32(0.5)).score(codes, codes) == Fraction(1, 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "good", 1j, [0.5, 0.5]])
def test_a_users_function_must_return_a_finite_number(value):
    codes = np.array([0, 1])
    with pytest.raises(InputError, match="utility '<lambda>' returned .* finite real number"):
        utility_from(lambda t, p: value).score(codes, codes)


def test_a_users_range_is_enforced():
    codes = np.array([0, 1])
    with pytest.raises(InputError, match="returned 2.5, expected a value from 0 to 1"):
        utility_from(lambda t, p: 2.5).score(codes, codes)
    wide = Utility("wide", lambda t, p: 2.5, low=Fraction(-3), high=Fraction(3))
    assert utility_from(wide) is wide
    assert wide.score(codes, codes) == Fraction(5, 2)


def test_a_target_is_needed():
    with pytest.raises(InputError, match="'hamming' compares clusters with a target.*target="):
        utility_from("hamming").score(None, np.array([0, 1]))


@pytest.mark.parametrize("target, labels", [([0, 1], [0, 1, 1]), ([0, 1, 1], [0]), ([], [])])
def test_lengths_must_agree(target, labels):
    with pytest.raises(InputError, match="one target and one label for every point"):
        utility_from("hamming").score(np.array(target, int), np.array(labels, int))


@pytest.mark.parametrize("spec, hint", [("haming", "'hamming'"), (3, "pass a name"), (None, "")])
def test_unknown_utilities(spec, hint):
    with pytest.raises(ParameterError, match=f"unknown utility .*{hint}"):
        utility_from(spec)


@pytest.mark.parametrize("spec", [*UTILITIES, share_of_first])
def test_scores_of_many_partitions_are_the_scores_of_each(spec):
    utility = utility_from(spec)
    rng = np.random.default_rng(8)
    target = rng.integers(0, 4, size=15)
    partitions = rng.integers(0, 5, size=(20, 15))
    numerators, denominator = utility.scores(target, partitions)
    values = [utility.score(target, labels) for labels in partitions]
    assert [Fraction(top, denominator) for top in numerators] == values
    assert utility.scores(target, partitions[:0])[0] == []


@pytest.mark.parametrize("spec", ["hamming", share_of_first])
def test_scores_need_a_target_of_the_right_length(spec):
    utility = utility_from(spec)
    partitions = np.zeros((2, 3), dtype=np.int64)
    with pytest.raises(InputError, match="has none: pass target="):
        utility.scores(None, partitions)
    with pytest.raises(InputError, match="got 4 targets and 3 labels"):
        utility.scores(np.zeros(4, dtype=np.int64), partitions)


def test_counts_beyond_the_range_are_refused():
    def too_many(target, partitions):
        return [4] * len(partitions), 3

    utility = Utility("wrong", share_of_first, counts=too_many)
    codes = np.array([0, 1])
    with pytest.raises(InputError, match="'wrong' returned '4/3', expected a value from 0 to 1"):
        utility.scores(codes, codes[None, :])
