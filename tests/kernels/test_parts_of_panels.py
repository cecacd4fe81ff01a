"""Parts of a panel that share its records: comparisons on a part, and values at its ends."""

import numpy as np
import pytest

import certune as ct
from certune._core.linkage_parts import degree as DEGREE
from certune._core.linkage_parts import judge
from certune.families.linkage import sweeping

HOLDS, FAILS, WRONG = 0, 1, 3
LOW, HIGH, CROSSING = 1.0, 9.0, 5.24
# Bernstein coefficients of 1 + s and of 1.53, which meet at a share s of the panel.
NEAR, RIVAL = np.linspace(1.0, 2.0, DEGREE), np.full(DEGREE, 1.53)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("t", "stop", "expected"),
    [(1.0, 4.9, HOLDS), (2.0, 4.9, HOLDS), (1.0, 7.0, FAILS), (4.5, 6.0, FAILS), (5.5, 6.0, WRONG)],
)
def test_only_the_part_counts(t, stop, expected, sign):
    near, rival = (NEAR, RIVAL) if sign > 0 else (3.0 - NEAR, 3.0 - RIVAL)
    part = (1.0, stop)
    code, low, high = judge(near.tolist(), rival.tolist(), sign, 1e-12, (LOW, HIGH), part, t)
    assert code == expected
    if expected == FAILS:
        assert t < low < CROSSING < high < stop
        assert high - low < 1e-9
    if expected == HOLDS:
        assert low == high == stop


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
