"""The elastic net in both parameters: bounds on boxes and optima against scikit-learn."""

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

import certune as ct
from certune.box import Box
from certune.families.base import BoxBound, UpperSum
from certune.families.regression import net_boxes
from certune.testing import check_family

TIGHT = {"tol": 1e-13, "max_iter": 1_000_000}


def problem(seed, n_rows, n_columns, weighted=False):
    """Rows with a few strong columns, an exact copy of one included for odd seeds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    if seed % 2:
        rows[:, -1] = rows[:, 0]
    truth = rng.normal(size=n_columns) * (np.arange(n_columns) < 3)
    targets = rows @ truth + 2.0 * rng.normal(size=n_rows) + 5.0
    cut = 2 * n_rows // 3
    weights = {}
    if weighted:
        shares = rng.uniform(0.2, 3.0, n_rows)
        weights = {"sample_weight": shares[:cut], "sample_weight_val": shares[cut:]}
    return ct.RegressionInstance(rows[:cut], targets[:cut], rows[cut:], targets[cut:], **weights)


def family_of(instances, **options):
    worst = 2.0 * max(np.var(np.append(each.y, each.y_val)) for each in instances)
    chosen = {"alpha": (0.01, 20.0), "l1_ratio": (0.2, 1.0), "max_error": worst, **options}
    return ct.RegularizedRegression("elastic-net", **chosen)


def error_of(instance, alpha, ratio, fit_intercept=True):
    model = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=fit_intercept, **TIGHT)
    model.fit(instance.X, instance.y, sample_weight=instance.weights)
    squares = (instance.y_val - model.predict(instance.X_val)) ** 2
    return float(np.average(squares, weights=instance.weights_val))


def weights_at(box, alpha, ratio):
    """Bernstein polynomials of degree two in alpha and ratio, at one setting."""
    ends = [[value for (value,) in part] for part in box.parts]
    factors = []
    for place, (low, high) in zip((alpha, ratio), ends, strict=True):
        share = (place - low) / (high - low)
        factors.append([comb(2, k) * share**k * (1.0 - share) ** (2 - k) for k in range(3)])
    return np.outer(*factors).ravel()


def random_box(family, rng, most_halvings):
    (box,) = family.strata()
    for _ in range(int(rng.integers(most_halvings))):
        edge = box.edges[rng.integers(2)]
        box = box.split(edge)[rng.integers(2)]
    return box


@pytest.mark.parametrize(
    ("seed", "shape"), [(0, (60, 6)), (1, (60, 6)), (2, (60, 6)), (3, (60, 6)), (1, (24, 20))]
)
def test_errors_lie_between_the_bounds_and_below_the_shared_ones(seed, shape):
    instance = problem(seed, *shape, weighted=seed > 1)
    family = family_of([instance], fit_intercept=seed != 2, max_error=1e4)
    rng, n_proved = np.random.default_rng(seed), 0
    for _ in range(40):
        box = random_box(family, rng, 18)
        bound = family.bound_on_box(instance, box)
        n_proved += bool(bound.shared)
        for _ in range(3):
            alpha, ratio = (rng.uniform(low, high) for (low,), (high,) in box.parts)
            utility = 1e4 - error_of(instance, alpha, ratio, family.fit_intercept)
            assert float(bound.lower) - 1e-6 <= utility <= float(bound.upper) + 1e-6
            if bound.shared:
                mean = weights_at(box, alpha, ratio) @ np.array(bound.shared, dtype=float)
                assert utility <= mean + 1e-6
    assert n_proved >= 15


def test_shared_bounds_close_faster_than_the_square_of_the_width():
    instance = problem(0, 60, 5)
    family, loose = family_of([instance]), []
    for half in (1e-1, 1e-2):
        box = Box(family.space, (((1.0 - half,), (1.0 + half,)), ((0.6 - half,), (0.6 + half,))))
        shared = np.array(family.bound_on_box(instance, box).shared, dtype=float)
        alpha, ratio = 1.0 + 0.5 * half, 0.6 - 0.7 * half
        utility = family.run(instance, {"alpha": alpha, "l1_ratio": ratio})
        loose.append(weights_at(box, alpha, ratio) @ shared - utility)
    assert 0.0 < loose[1] < 0.005 * loose[0]


@pytest.mark.parametrize("most_open", [0, 2])
@pytest.mark.parametrize("most_columns", [0, 64])
def test_distances_bound_errors_in_every_way(monkeypatch, most_open, most_columns):
    """Faces are listed or not, and columns that cannot be active are left out or not."""
    monkeypatch.setattr(net_boxes, "MOST_OPEN", most_open)
    monkeypatch.setattr(net_boxes, "MOST_COLUMNS", most_columns)
    instance = problem(4, 60, 6)
    family, rng = family_of([instance], max_error=1e4), np.random.default_rng(4)
    for _ in range(60):
        box = random_box(family, rng, 18)
        bound = family.bound_on_box(instance, box)
        alpha, ratio = (rng.uniform(low, high) for (low,), (high,) in box.parts)
        utility = 1e4 - error_of(instance, alpha, ratio)
        assert float(bound.lower) - 1e-6 <= utility <= float(bound.upper) + 1e-6


@pytest.mark.slow
def test_the_optimum_is_no_worse_than_a_dense_grid_and_its_proof_is_verified(tmp_path):
    instances = [problem(seed, 45, 3) for seed in (0, 2)]
    family = family_of(instances, tolerance=1e-4, alpha=(0.1, 5.0), l1_ratio=(0.5, 1.0))
    result = ct.tune(family, instances)
    assert result.status.name == "OPTIMAL"
    grid = [
        np.mean([error_of(each, alpha, ratio) for each in instances])
        for alpha in np.geomspace(0.1, 5.0, 25)
        for ratio in np.linspace(0.5, 1.0, 6)
    ]
    assert result.best_score <= min(grid) + family.tolerance
    assert family.score.of(float(result.upper_bound_exact)) <= min(grid)
    best = [error_of(each, *result.best_params.values()) for each in instances]
    assert result.best_score == pytest.approx(np.mean(best), rel=1e-8)
    assert result.best_estimator.get_params()["alpha"] == result.best_params["alpha"]
    report = ct.verify(result.certificate, family, instances)
    assert report.optimal and report.n_boxes > 10
    result.certificate.save(tmp_path / "proof.json")
    content = json.loads((tmp_path / "proof.json").read_text())
    assert content["best_params"] == result.best_params


def test_a_continued_search_goes_the_same_way(tmp_path):
    instances = [problem(seed, 30, 2) for seed in (0, 2)]
    family = family_of(instances, tolerance=1e-3, l1_ratio=(0.5, 1.0))
    whole = ct.tune(family, instances, run_dir=tmp_path / "whole")
    ct.tune(family, instances, run_dir=tmp_path / "parts", max_nodes=20)
    parts = ct.tune(family, instances, run_dir=tmp_path / "parts")
    assert parts.certificate == whole.certificate
    assert parts.n_nodes == whole.n_nodes > 20


def test_the_family_keeps_its_promises():
    instances = [problem(0, 36, 3), problem(2, 45, 4, weighted=True)]
    check_family(family_of(instances), instances, n_points=10)


def test_sums_use_what_instances_share():
    first = BoxBound(Fraction(0), Fraction(3), (), shared=(Fraction(3), Fraction(0)))
    second = BoxBound(Fraction(0), Fraction(2), (), shared=(Fraction(0), Fraction(2)))
    plain = BoxBound(Fraction(0), Fraction(1), ())
    assert UpperSum.of([first, second]).value == 3
    assert UpperSum.of([first, second, plain]).value == 4
    assert UpperSum.of([plain, first, second]).value == 4
    assert UpperSum.of([plain, plain]).value == 2
    assert UpperSum.of([first, plain]).exchanged(Fraction(1), second).value == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1_ratio": (0.0, 0.5)}, "l1_ratio must be a positive finite number, got 0.0"),
        ({"l1_ratio": (0.5, 0.2)}, "a range 0 < low < high <= 1"),
        ({"l1_ratio": (0.5, 1.2)}, "a range 0 < low < high <= 1"),
        ({"l1_ratio": (0.1, 0.5, 0.9)}, "a number or a range"),
    ],
)
def test_bad_ranges_are_refused(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.RegularizedRegression("elastic-net", max_error=1.0, **options)


def test_other_penalties_have_no_ratio_to_tune():
    with pytest.raises(ct.ParameterError, match="use penalty='elastic-net'"):
        ct.RegularizedRegression("l1", max_error=1.0, l1_ratio=(0.1, 1.0))


def test_functions_go_along_alpha():
    instance = problem(0, 36, 3)
    family = family_of([instance])
    along = ct.Segment.coordinate("alpha", 0.1, 1.0, {"l1_ratio": 0.5})
    fixed = family_of([instance], l1_ratio=0.5)
    assert family.dual(instance, along)(0.3) == pytest.approx(fixed.dual(instance)(0.3))
    across = ct.Segment.coordinate("l1_ratio", 0.2, 1.0, {"alpha": 0.5})
    with pytest.raises(ct.ParameterError, match="alpha must be the coordinate"):
        family.dual(instance, across)
    with pytest.raises(ct.ParameterError, match="exactly 'alpha' and 'l1_ratio'"):
        family.run(instance, 0.5)


def test_bounds_that_a_larger_box_had_are_proved_again():
    """At the end of this search roundings of 1e-9 decide which of two nested boxes has more."""
    instance = ct.RegressionInstance(
        [[-253.87438539634982], [-774.7399246899263]],
        [-1039.847664340462, -3173.5170796837547],
        [[308.77517195330535], [947.1011718804152], [73.82945720526496]],
        [1264.927960991445, 3876.0800876265894, 301.7769563144693],
    )
    family = ct.RegularizedRegression(
        "elastic-net", alpha=(0.01, 10.0), l1_ratio=(0.3, 0.7), max_error=10.0
    )
    result = ct.tune(family, [instance], max_nodes=100)
    checked = ct.verify(result.certificate, family, [instance])
    assert checked.upper_bound == result.upper_bound_exact
