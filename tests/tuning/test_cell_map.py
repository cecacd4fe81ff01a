"""Cell maps agree with plain runs, cover the plane, and say what is open."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance

TWO = ("euclidean", "cityblock")
FAMILY = ct.Linkage(alpha=(0.5, 6), weights="tune", n_metrics=2)


def digits(count):
    return ct.datasets.digits_clustering(count, n_classes=3, n_per_class=6, metrics=TWO)


@pytest.mark.parametrize("count", [1, 3])
def test_values_are_those_of_runs(count):
    instances = digits(count)
    cells = ct.cell_map(FAMILY, instances, resolution=32)
    cells._check()
    assert cells.names == ("alpha", "weight of cityblock")
    assert 0.7 < cells.decided_share <= 1.0
    rng = np.random.default_rng(0)
    n_known = 0
    for _ in range(60):
        alpha, weight = float(rng.uniform(0.5, 6)), float(rng.uniform(0, 1))
        params = {"alpha": alpha, "weights": (1 - weight, weight)}
        value = sum(FAMILY.run_exact(item, params) for item in instances) / count
        low, high = cells.bounds_at(alpha, weight)
        assert low <= value <= high
        n_known += cells(alpha, weight) == float(value)
    assert n_known > 30


def test_slivers_are_as_narrow_as_stated_and_shrink():
    coarse, fine = (ct.cell_map(FAMILY, digits(1), resolution=r) for r in (16, 64))
    for cell in np.array(fine.cells, dtype=object)[~fine.decided]:
        corners = np.array(cell, float) / [5.5, 1.0]
        sides = np.roll(corners, -1, axis=0) - corners
        # The width of a convex polygon is its extent across one of its sides.
        extents = [
            np.ptp(corners @ [-side[1], side[0]]) / np.hypot(*side) for side in sides if side.any()
        ]
        assert min(extents) <= 1 / 64
    assert coarse.decided_share < fine.decided_share


@pytest.mark.parametrize("kind", ["power-mean", "min-max", "energy", "product"])
def test_cells_end_at_borders_and_hold_close_to_them(kind):
    """Cells are polygons, not pixels; runs at their corners and beside slivers agree with them."""
    family = (
        ct.Linkage(kind, alpha=[(0.25, 8), (0.25, 8)])
        if kind == "product"
        else ct.Linkage(kind, alpha=(0.5, 6), weights="tune", n_metrics=2, objective="cut")
    )
    instances = ct.datasets.digits_clustering(2, n_classes=4, n_per_class=6, metrics=TWO)
    cells = ct.cell_map(family, instances, resolution=16)
    cells._check()
    x0, x1, y0, y1 = cells._ends
    pixels = ct.cell_map(_Blind(family), instances, resolution=16)
    assert cells.decided_share > 1 - (1 - pixels.decided_share) / 4
    x_low, x_high, y_low, y_high = cells.rectangles.T
    assert (cells.areas < 0.9 * (x_high - x_low) * (y_high - y_low)).sum() > 5
    slivers = [cell for cell, known in zip(cells.cells, cells.decided, strict=True) if not known]
    rng, n_known = np.random.default_rng(0), 0
    for number in rng.choice(len(slivers), 25):
        corners = slivers[number]
        edge = rng.integers(len(corners))
        point = 0.5 * (corners[edge] + corners[edge - 1])
        for x, y in (point, point + 1e-6 * (point - corners.mean(axis=0))):
            if not (x0 < x < x1 and y0 < y < y1):
                continue
            params = {"alpha": float(x), "weights": (1 - float(y), float(y))}
            if kind == "product":
                params = {"alpha_0": float(x), "alpha_1": float(y)}
            low, high = cells.bounds_at(x, y)
            value = sum(family.run_exact(item, params) for item in instances) / 2
            assert low <= value <= high
            n_known += low == high
    assert n_known > 3


class _Blind(ct.Linkage):
    """A family that does not tell its comparisons."""

    def __init__(self, family):
        self.__dict__.update(family.__dict__)

    def cuts_on_box(self, box, axes, reuse):
        return None


def test_the_largest_value_is_the_tuned_one():
    instances = digits(2)
    result = ct.tune(FAMILY, instances)
    cells = ct.cell_map(FAMILY, instances, resolution=64)
    assert cells.max_exact <= result.best_value_exact <= cells.upper_bound_exact


def test_two_of_three_parameters():
    family = ct.Linkage("product", alpha=[(0.5, 2), (0.5, 2), (0.5, 2)])
    instance = ct.datasets.random_clustering(1, 3, 4, metrics=(*TWO, "chebyshev"))[0]
    cells = ct.cell_map(family, [instance], fixed={"alpha_1": 1.0}, resolution=16)
    assert cells.names == ("alpha_0", "alpha_2")
    value = cells(1.0, 1.5)
    params = {"alpha_0": 1.0, "alpha_1": 1.0, "alpha_2": 1.5}
    assert value is None or value == family.run(instance, params)
    with pytest.raises(ct.ParameterError, match="needs two parameters"):
        ct.cell_map(family, [instance])


def test_bad_input_is_told():
    with pytest.raises(ct.ParameterError, match="line-search|two parameters"):
        ct.cell_map(StepFamily(), [StepInstance((), (Fraction(1),))])
    with pytest.raises(ct.ParameterError, match="resolution"):
        ct.cell_map(FAMILY, digits(1), resolution=0)
    with pytest.raises(ct.InputError, match=r"\(m, 4\)"):
        ct.CellMap(("x", "y"), [[0, 1]], [0], [1])
    with pytest.raises(ct.InputError, match="as many"):
        ct.CellMap(("x", "y"), [[0, 1, 0, 1]], [0, 1], [1])
    with pytest.raises(ct.ParameterError, match="outside"):
        ct.CellMap(("x", "y"), [[0, 1, 0, 1]], [0], [1])(2, 0)


def test_picture(tmp_path):
    cells = ct.cell_map(FAMILY, digits(1), resolution=16)
    figure = cells.plot(tmp_path / "cells.png", points=[(1.0, 0.5, "average")])
    assert (tmp_path / "cells.png").stat().st_size > 5000
    known, slivers = figure.axes[0].collections[:2]
    assert len(known.get_paths()) == cells.decided.sum()
    assert len(slivers.get_paths()) == (~cells.decided).sum()
    # Slivers have the colour of their bounds, and the optimum is marked where it is proved.
    assert known.get_clim() == slivers.get_clim() and slivers.get_alpha() < 1
    [star] = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
    assert cells(star.get_xdata()[0], star.get_ydata()[0]) == float(cells.max_exact)
    assert figure.axes[0].get_ylabel() == "weight of cityblock"
    assert figure.axes[1].get_ylabel() == "mean clustering accuracy"


@pytest.mark.parametrize(
    "options",
    [{"fixed": {"z": 1}}, {"parameters": "ab"}, {"resolution": True}, {"resolution": 1.5}],
)
def test_options_that_mean_nothing_are_refused(options):
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] >= p["b"] else 0, space)
    with pytest.raises(ct.ParameterError, match="must be a p"):
        ct.cell_map(family, [None], **options)
