"""Doors of the linkage room: what they refuse, what they hand on, and that they end in time."""

import time
from dataclasses import replace

import numpy as np
import pytest

import certune as ct
from certune.deadline import TimeIsUp, until
from certune.families.linkage import sweeping
from certune.kernels.linkage import (
    MEAN,
    POWER,
    Layers,
    Meeting,
    Merges,
    PairFunctions,
    Pruning,
    Values,
    contract,
    follow,
    search,
    solve_at,
)


class Broken(Exception):
    """What an exact layer may raise."""


def tied_values(n):
    """Distances that all agree, but with codes that say nothing: every comparison is a question."""
    logs = np.zeros((n, n))
    codes = np.arange(n * n, dtype=np.uint64).reshape(n, n)
    codes = np.minimum(codes, codes.T)
    return Values(MEAN, PairFunctions(POWER, logs, logs, (0.0, 1.0), 1e-15, codes, False), 0.0, 0.0)


def singles(n):
    nothing = np.zeros(2 * n - 1, dtype=np.int64)
    return Merges(np.arange(n), nothing, nothing, 0)


def pruning(n, k=2):
    return Pruning(1, np.ones((n, n), dtype=np.int64) - np.eye(n, dtype=np.int64), k)


PANELS = np.array([[1.0, 2.0]]), np.array([[False, False]])


def test_what_the_exact_layer_raises_is_raised():
    def answer(*question):
        raise Broken(question[0])

    for _ in range(3):
        with pytest.raises(Broken):
            search(tied_values(6), singles(6), pruning(6), PANELS, 0.25, Layers(answer))
        at = 1.0, np.ones((6, 6)), 1e-12
        with pytest.raises(Broken):
            solve_at(tied_values(6), singles(6), pruning(6), at, Layers(answer))


def test_an_answer_that_is_none_is_refused():
    with pytest.raises(TypeError, match="answer"):
        search(tied_values(6), singles(6), pruning(6), PANELS, 0.25, Layers(lambda *_: "nearer"))


def test_questions_name_the_members_of_three_clusters():
    asked = []

    def answer(kind, low, high, expected, marks):
        asked.append((kind, low, high, marks.tolist()))
        return 0

    leaves = search(tied_values(5), singles(5), pruning(5), PANELS, 0.25, Layers(answer))
    assert asked and all({1, 2, 3} <= set(marks) for *_, marks in asked)
    assert all(1.0 <= low < high <= 2.0 for _, low, high, _ in asked)
    assert leaves.intervals.tolist() == [[1.0, 2.0]] and leaves.info[0, 2] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([0, 1, 2, 3, 9])},
        {"labels": np.array([0, 1, 2, 3])},
        {"left": np.zeros(3, dtype=np.int64)},
        {"n_made": 5},
        {"n_made": -1},
        {"n_made": 1},
    ],
)
def test_merges_that_do_not_fit_are_refused(change):
    merges = singles(5)._replace(**change)
    with pytest.raises(ValueError, match="must"):
        search(tied_values(5), merges, pruning(5), PANELS, 0.25, Layers(lambda *_: 0))


@pytest.mark.parametrize("k", [0, 6])
def test_numbers_of_clusters_that_do_not_fit_are_refused(k):
    with pytest.raises(ValueError, match="k must"):
        search(tied_values(5), singles(5), pruning(5, k), PANELS, 0.25, Layers(lambda *_: 0))


def test_arrays_that_do_not_fit_are_refused():
    values, merges, pruned = tied_values(5), singles(5), pruning(5)
    small = values._replace(pairs=replace(values.pairs, second=np.zeros((4, 4))))
    with pytest.raises(ValueError, match="second"):
        search(small, merges, pruned, PANELS, 0.25, Layers(lambda *_: 0))
    with pytest.raises(ValueError, match="reference"):
        search(values, merges, pruning(4), PANELS, 0.25, Layers(lambda *_: 0))
    with pytest.raises(ValueError, match="Panels"):
        search(
            values,
            merges,
            pruned,
            (PANELS[0][:, ::-1].copy(), PANELS[1]),
            0.25,
            Layers(lambda *_: 0),
        )
    with pytest.raises(ValueError, match="square"):
        contract(MEAN, (np.zeros((4, 5)), np.zeros((4, 5))), 0.0, singles(4))
    nothing = Meeting(np.empty((0, 0), dtype=np.uint64), False)
    gap = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2), dtype=bool)
    with pytest.raises(ValueError, match="touch"):
        follow(values, merges, pruned, gap, (nothing, nothing))
    odd = Meeting(np.zeros((3, 3), dtype=np.uint64), False)
    with pytest.raises(ValueError, match="square"):
        follow(values, merges, pruned, PANELS, (odd, nothing))


@pytest.mark.parametrize("engine", ["follow", "search"])
def test_a_search_ends_at_its_deadline(engine):
    instance = ct.datasets.digits_clustering(
        1, n_classes=5, n_per_class=60, metrics=("euclidean", "cityblock"), random_state=0
    )[0]
    family = ct.Linkage("product", alpha=[(-5, 5), (-5, 5)])
    family._engine = engine
    segment = ct.Segment({"alpha_0": -2, "alpha_1": 1}, {"alpha_0": 3, "alpha_1": 2})
    _ = instance.distances, instance.log_distances, instance.pair_codes
    with until(time.perf_counter() + 0.02), pytest.raises(TimeIsUp):
        family.dual(instance, along=segment)


def test_a_tree_that_cannot_be_decided_is_an_error():
    """At a point every open question counts: no answer, no tree."""
    at = 1.0, np.ones((6, 6)), 1e-12
    unknown = solve_at(
        tied_values(6), singles(6), pruning(6), at, Layers(lambda *_: sweeping.UNKNOWN)
    )
    assert unknown is None


def spread_values(n):
    """Values of pairs that differ, as distances with alpha = 1 have."""
    values = np.random.default_rng(3).uniform(1.0, 2.0, (n, n))
    return values + values.T


@pytest.mark.parametrize("error", [1.0, 2.0, 1e308, np.inf])
def test_values_whose_signs_are_unknown_decide_nothing(error):
    at = 1.0, spread_values(6), error
    assert solve_at(tied_values(6), singles(6), pruning(6), at, Layers(lambda *_: 2)) is None


@pytest.mark.parametrize("value", [-1.0, -1e308, np.nan])
def test_values_that_are_no_distances_decide_nothing(value):
    # With an error as coarse as this, values are compared by their bits.
    at = 1.0, spread_values(6), 1e-5
    values = spread_values(6)
    values[2, 4] = values[4, 2] = value
    layers = Layers(lambda *_: -1)
    assert solve_at(tied_values(6), singles(6), pruning(6), at, layers) is not None
    at = 1.0, values, 1e-5
    assert solve_at(tied_values(6), singles(6), pruning(6), at, layers) is None


@pytest.mark.parametrize("error", [-1e-3, -1e308, np.nan])
def test_errors_that_are_none_are_refused(error):
    at = 1.0, spread_values(6), error
    with pytest.raises(ValueError, match="error must not be negative"):
        solve_at(tied_values(6), singles(6), pruning(6), at, Layers(lambda *_: 2))


@pytest.mark.parametrize("panel", [(-np.inf, 1.0), (1.0, np.inf), (-1e308, 1e308)])
def test_panels_without_a_finite_width_are_refused(panel):
    panels = np.array([panel]), PANELS[1]
    with pytest.raises(ValueError, match="finite widths"):
        search(tied_values(6), singles(6), pruning(6), panels, 0.25, Layers(lambda *_: 2))
