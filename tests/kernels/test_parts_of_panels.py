"""Parts of a panel that share its records: comparisons on a part, and values at its ends."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import certune as ct
from certune.families.linkage import sweeping
from certune.kernels.borrowing import bundled
from certune.kernels.certificates import FAILS, HOLDS, WRONG, Panel, judge
from certune.kernels.frames import AVERAGE
from certune.kernels.kinetic_panels import Model, _fill_ends, new_ends
from certune.kernels.kinetic_start import new_desk
from certune.kernels.records import evaluate_records
from certune.kernels.series import DEGREE

LOW, HIGH, CROSSING = 1.0, 9.0, 5.24
# Bernstein coefficients of 1 + s and of 1.53, which meet at a share s of the panel.
RECORDS = np.concatenate((np.linspace(1.0, 2.0, DEGREE), np.full(DEGREE, 1.53)))


@njit
def judge_from(panel, records, near, rival, t):
    desk = new_desk(DEGREE)
    return judge(bundled(panel), records, near, rival, t, bundled(desk))


def part(start, stop, sign=1):
    where = LOW, HIGH, start, stop
    return Panel(
        AVERAGE, 0, sign, 1e-12, *where, False, 0.0, np.ones(2), 0, 1.0, 1.0, True, 1.0, 0.0
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("t", "stop", "expected"),
    [(1.0, 4.9, HOLDS), (2.0, 4.9, HOLDS), (1.0, 7.0, FAILS), (4.5, 6.0, FAILS), (5.5, 6.0, WRONG)],
)
def test_only_the_part_counts(t, stop, expected, sign):
    records = RECORDS if sign > 0 else 3.0 - RECORDS
    code, low, high = judge_from(part(1.0, stop, sign), records, 0, DEGREE, t)
    assert code == expected
    if expected == FAILS:
        assert t < low < CROSSING < high < stop
        assert high - low < 1e-9
    if expected == HOLDS:
        assert low == high == stop


@njit
def evaluate(records, weights, target, count):
    evaluate_records(records, weights, target, count)


@given(st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_records_are_evaluated(count, seed):
    rng = np.random.default_rng(seed)
    records, weights = rng.random((count + 4, DEGREE)), rng.random(DEGREE)
    values = np.full(count + 4, -1.0)
    evaluate(records.ravel(), weights, values, count)
    assert np.allclose(values[:count], records[:count] @ weights, rtol=1e-14)
    assert np.all(values[-(-count // 4) * 4 :] == -1.0)


class FlatRecords(NamedTuple):
    flat: np.ndarray


@njit
def fill_parts(flat, models, edges, count, forgetful):
    """Values at the ends of the parts between neighbouring edges, each with its own model."""
    records = FlatRecords(flat)
    ends = new_ends(count)
    basis = np.empty(DEGREE)
    found = np.empty((edges.size - 1, 2, count * (count - 1) // 2))
    extremes = np.empty((edges.size - 1, 2))
    for i in range(edges.size - 1):
        model = Model(models[i, 0], models[i, 1], 0.0, -1, False, 0.0)
        if forgetful:
            ends = new_ends(count)
        extremes[i] = _fill_ends(
            bundled(records), bundled(model), count, edges[i], edges[i + 1], ends, basis
        )
        found[i] = ends[:, : found.shape[2]]
    return found, extremes


def test_values_of_a_part_do_not_depend_on_the_part_before():
    count = 7
    flat = np.random.default_rng(0).random((count * (count - 1) // 2 + 3) * DEGREE)
    edges = np.array([0.0, 0.25, 0.5, 1.0, 1.5])
    models = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [0.0, 2.0]])
    found, extremes = fill_parts(flat, models, edges, count, False)
    expected, _ = fill_parts(flat, models, edges, count, True)
    assert np.array_equal(found, expected)
    assert np.array_equal(found[1, 0], found[0, 1])
    assert not np.array_equal(found[2, 0], found[1, 1])  # the model is another one
    assert np.array_equal(extremes[:, 0], found.min(axis=(1, 2)))
    assert np.array_equal(extremes[:, 1], found.max(axis=(1, 2)))


def test_tree_is_the_same_with_records_of_any_accuracy(monkeypatch):
    """Inaccurate records of a panel are not enough: parts then have records of their own."""
    instance = ct.datasets.digits_clustering(
        1, n_classes=4, n_per_class=15, metrics=("euclidean", "cityblock"), random_state=5
    )[0]
    family = ct.Linkage("product", alpha=[(-5, 5), (-5, 5)])
    segment = ct.Segment({"alpha_0": -2, "alpha_1": 1}, {"alpha_0": 3, "alpha_1": 2})
    expected = family.dual(instance, along=segment)
    assert expected.n_pieces > 20
    for tolerance in (1e-4, 1e-7, 1e-13):
        monkeypatch.setattr(sweeping, "_panel_tolerance", lambda *_, t=tolerance: t)
        found = family.dual(instance, along=segment)
        assert np.array_equal(found.values, expected.values)
        assert np.allclose(found.starts, expected.starts, rtol=0, atol=1e-12)
