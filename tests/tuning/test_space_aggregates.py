"""Several parameters: something else than the mean is maximised, proved, kept and stated."""

import dataclasses
import importlib.util
import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certune as ct
from certune.aggregates import Criterion
from certune.box import Box
from certune.families.base import BoxBound
from certune.tuning.space.upper_values import UpperValue

_spec = importlib.util.spec_from_file_location(
    "space_search_tests", Path(__file__).with_name("test_space_search.py")
)
space_search = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(space_search)
SIZE, TableFamily, tables = space_search.SIZE, space_search.TableFamily, space_search.tables

AGGREGATES = ["mean", "min", ct.Quantile(0.3), ct.CVaR(0.35)]
WEIGHTS = [1, 2, 1, 0.5, 4, 3]
FAMILY, INSTANCES = TableFamily(), tables(6, seed=3)
METRICS = ("euclidean", "cityblock")


def brute_force(instances, criterion):
    """Best of all joint cells, by plain lookups at the middles between all edges."""
    edges = sorted((e - t.shift) / SIZE for t in instances for e in range(1, SIZE + 1))
    middles = [0.5 * (a + b) for a, b in zip([0, *edges], [*edges, 1], strict=True)]
    return max(
        criterion.value([Fraction(int(t.values[t.cell(x), t.cell(y)]), 100) for t in instances])
        for x, y in itertools.product(middles, middles)
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_optimum_is_that_of_brute_force(aggregate, weights):
    result = ct.tune(FAMILY, INSTANCES, aggregate=aggregate, weights=weights, progress=False)
    criterion = Criterion.checked(aggregate, weights, 6)
    assert result.status is ct.Status.OPTIMAL and result.criterion == criterion
    assert result.best_value_exact == result.upper_bound_exact == brute_force(INSTANCES, criterion)
    report = ct.verify(result.certificate, FAMILY, INSTANCES)
    words = criterion.words("utility")
    assert report.optimal and words in str(report)
    assert words in str(result) and words in str(result.evaluation)
    assert result.landscape.max_exact == result.best_value_exact
    for box in result.best_region:
        values = [FAMILY.bound_on_box(item, box) for item in INSTANCES]
        assert criterion.value([bound.lower for bound in values]) == result.best_value_exact


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_result_does_not_depend_on_the_number_of_workers(n_jobs):
    wishes = {"aggregate": ct.CVaR(0.35), "weights": WEIGHTS, "progress": False}
    one = ct.tune(FAMILY, INSTANCES, **wishes)
    many = ct.tune(FAMILY, INSTANCES, n_jobs=n_jobs, **wishes)
    assert one.certificate == many.certificate and one.n_nodes == many.n_nodes


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_bounds_hold_whenever_the_search_ends(aggregate):
    seen = []
    criterion = Criterion.checked(aggregate, WEIGHTS, 6)
    best = brute_force(INSTANCES, criterion)
    for max_nodes in (1, 5, 30):
        result = ct.tune(
            FAMILY, INSTANCES, aggregate=aggregate, weights=WEIGHTS, max_nodes=max_nodes,
            callbacks=[seen.append], progress=False,
        )  # fmt: skip
        assert result.best_value_exact <= best <= result.upper_bound_exact
        ct.verify(result.certificate, FAMILY, INSTANCES)
    assert all(s.best_value_exact <= best <= s.upper_bound_exact for s in seen)


def test_the_worst_instance_is_bounded_first():
    """Boxes end as soon as one instance is bad enough, not after all of them were bounded."""
    calls = {}
    for aggregate in ("mean", "min"):

        class Counting(TableFamily):
            n_calls = 0

            def bound_on_box(self, instance, box, reuse=None):
                Counting.n_calls += 1
                return super().bound_on_box(instance, box, reuse)

        many = [*tables(15, seed=5), *tables(1, seed=6, high=10)]
        ct.tune(Counting(), many, aggregate=aggregate, max_nodes=400, progress=False)
        calls[aggregate] = Counting.n_calls
    assert calls["min"] < calls["mean"] / 2


def test_instances_that_are_good_enough_do_not_count():
    high, low = Fraction(9, 10), Fraction(1, 10)
    bounds = [BoxBound(Fraction(1, 2), high, ()), BoxBound(low, Fraction(2, 5), ())]
    known = UpperValue.of(Criterion.checked("min", None, 2), bounds)
    assert known.value == Fraction(2, 5)
    assert [known.counts(bound) for bound in bounds] == [False, True]
    mean = UpperValue.of(Criterion.checked("mean", [1, 3], 2), bounds)
    assert mean.value == (high + 3 * Fraction(2, 5)) / 4
    assert [mean.counts(bound) for bound in bounds] == [True, True]
    settled = dataclasses.replace(bounds[1], lower=Fraction(2, 5))
    assert not known.exchanged(1, Fraction(2, 5), settled).counts(settled)


def test_weighted_means_use_shared_bounds():
    """Two instances that fall and rise together: neither bound alone tells that."""
    one = BoxBound(Fraction(0), Fraction(1), (), shared=(Fraction(0), Fraction(1)))
    two = BoxBound(Fraction(0), Fraction(1), (), shared=(Fraction(1), Fraction(0)))
    known = UpperValue.of(Criterion.checked("mean", [1, 2], 2), [one, two])
    assert known.value == Fraction(2, 3) and known.on_parts.value == 1
    assert UpperValue.of(Criterion.checked("min", None, 2), [one, two]).value == 1


@pytest.mark.parametrize("aggregate", AGGREGATES[1:])
def test_forged_certificates_are_refused(aggregate, tmp_path):
    honest = ct.tune(
        FAMILY, INSTANCES, aggregate=aggregate, weights=WEIGHTS, progress=False
    ).certificate
    honest.save(tmp_path / "c.json")
    assert ct.BoxCertificate.load(tmp_path / "c.json") == honest
    small = Fraction(1, 1000)
    forged = [
        ({"criterion": Criterion()}, "best value"),
        ({"criterion": Criterion.checked(ct.Quantile(0.9), WEIGHTS, 6)}, "is not what|bounds the"),
        ({"best_value": honest.best_value + small}, "best value"),
        ({"upper_bound": honest.upper_bound - small}, "does not follow from the boxes"),
        ({"uppers": (*honest.uppers[:-1], honest.uppers[-1] - 1)}, "bounds the"),
    ]
    if aggregate != "min":  # of which weights change nothing
        forged.append(({"criterion": Criterion(aggregate)}, "is not what|bounds the"))
    for change, message in forged:
        with pytest.raises(ct.CertificateError, match=message):
            ct.verify(dataclasses.replace(honest, **change).sealed(), FAMILY, INSTANCES)


def test_certificates_of_the_mean_are_as_ever():
    content = ct.tune(FAMILY, INSTANCES, weights=[2] * 6, progress=False).certificate._content()
    assert "aggregate" not in content and "weights" not in content


def test_a_run_directory_keeps_each_search_by_itself(tmp_path):
    class Counting(TableFamily):
        calls = 0

        @property
        def fingerprint(self):
            return FAMILY.fingerprint

        def bound_on_box(self, instance, box, reuse=None):
            Counting.calls += 1
            return super().bound_on_box(instance, box, reuse)

    found = {}
    for aggregate in (*AGGREGATES[:2], *AGGREGATES[:2]):
        wishes = {"aggregate": aggregate, "weights": WEIGHTS, "progress": False}
        before = Counting.calls
        kept = ct.tune(Counting(), INSTANCES, run_dir=tmp_path, **wishes)
        assert (Counting.calls == before) == (aggregate in found)
        found[aggregate] = kept
        fresh = ct.tune(FAMILY, INSTANCES, **wishes)
        assert kept.certificate == fresh.certificate
        stored = ct.load(tmp_path)
        assert stored.criterion == fresh.criterion
        assert stored.best_value_exact == fresh.best_value_exact
        assert stored.certificate.criterion == fresh.criterion
        assert fresh.criterion.words("utility") in str(stored)


def test_a_search_that_was_stopped_goes_on(tmp_path):
    wishes = {"aggregate": "min", "run_dir": tmp_path, "progress": False}
    first = ct.tune(FAMILY, INSTANCES, max_nodes=9, **wishes)
    assert first.status is ct.Status.NODE_LIMIT
    again = ct.tune(FAMILY, INSTANCES, **wishes)
    fresh = ct.tune(FAMILY, INSTANCES, aggregate="min", progress=False)
    assert again.certificate == fresh.certificate


def test_lines_alone_maximise_it_too():
    result = ct.tune(space_search.WithoutBounds(), INSTANCES, aggregate="min", progress=False)
    assert result.status is ct.Status.SEARCHED
    utilities = [FAMILY.run_exact(item, result.best_params) for item in INSTANCES]
    assert (
        result.best_value_exact
        == min(utilities)
        <= brute_force(INSTANCES, Criterion.checked("min", None, 6))
    )


def test_the_log_names_it(capfd):
    ct.tune(FAMILY, INSTANCES, aggregate=ct.CVaR(0.35), weights=WEIGHTS, progress=True)
    log = capfd.readouterr().err
    assert "best:  mean utility of the worst 35%, weighted of the best setting so far" in log


# What is said about new instances


def test_folds_and_boxes_are_judged_by_the_same():
    result = ct.tune(FAMILY, INSTANCES, aggregate="min", weights=WEIGHTS, progress=False)
    crossed = result.cross_validate(3)
    assert crossed.criterion == result.criterion
    assert crossed.value_exact == result.criterion.value(crossed.utilities)
    for fold in crossed.folds:
        kept = [n for n in range(6) if n not in fold.left_out]
        best = brute_force([INSTANCES[n] for n in kept], result.criterion.of(kept))
        assert fold.tuning_value_exact <= best <= fold.selection.upper_bound_exact
    plateau = result.select("plateau", epsilon=Fraction(1, 10))
    assert plateau.lower_bound_exact >= result.best_value_exact - Fraction(1, 10)
    assert result.select("optimum").value_exact == result.best_value_exact
    for method in (
        result.bootstrap, result.learning_curve, lambda: result.instances_needed(0.1),
        lambda: result.select("one-standard-error"),
    ):  # fmt: skip
        with pytest.raises(ct.ParameterError, match="is about the mean utility"):
            method()


def test_bounds_are_about_the_mean_utility():
    result = ct.tune(FAMILY, INSTANCES, aggregate="min", progress=False)
    mean = ct.tune(FAMILY, INSTANCES, progress=False)
    assert result.upper_bound_exact < mean.best_value_exact
    promise = result.guarantee(kinds=["rademacher"])
    utilities = [FAMILY.run_exact(item, result.best_params) for item in INSTANCES]
    assert promise.tuning_value == float(sum(utilities) / 6)
    assert promise.best_possible >= mean.guarantee(kinds=["rademacher"]).best_possible
    assert any("maximised the worst utility" in note for note in promise.notes)


# Real algorithms


def clusterings(count, seed=0, n=8):
    rng = np.random.default_rng(seed)
    return [
        ct.ClusteringInstance(
            points=np.rint(3 * rng.normal(size=(n, 2))) / 2, metrics=METRICS,
            target=rng.integers(0, 2, n), k=2,
        )
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_no_setting_of_linkage_is_better(aggregate):
    """Rounded points full of ties, faces of the weights included."""
    family = ct.Linkage("power-mean", alpha=(0.5, 4), weights="tune", n_metrics=2)
    items, weights = clusterings(4), [2, 1, 1, 3]
    wishes = {"aggregate": aggregate, "weights": weights, "progress": False}
    result = ct.tune(family, items, **wishes)
    assert result.status is ct.Status.OPTIMAL
    reached = [
        result.criterion.value(
            [family.run_exact(item, {"alpha": a, "weights": (1 - w, w)}) for item in items]
        )
        for a, w in itertools.product(np.linspace(0.5, 4, 15).tolist(), [0.0, 0.125, 0.5, 0.9, 1.0])
    ]
    assert max(reached) <= result.upper_bound_exact
    for fixed in ((1.0, 0.0), (0.5, 0.5)):
        line = ct.Linkage("power-mean", alpha=(0.5, 4), weights=fixed, n_metrics=2)
        assert ct.tune(line, items, **wishes).best_value_exact <= result.best_value_exact
    assert ct.verify(result.certificate, family, items).optimal


def test_equal_metrics_have_the_optimum_of_one_parameter():
    """Weights of the same metric twice change nothing: the exact result of one parameter."""
    rng = np.random.default_rng(4)
    points = [rng.normal(size=(8, 2)) for _ in range(3)]
    targets = [rng.integers(0, 2, 8) for _ in points]
    twice = [
        ct.ClusteringInstance(points=p, metrics=("euclidean",) * 2, target=t, k=2)
        for p, t in zip(points, targets, strict=True)
    ]
    once = [
        ct.ClusteringInstance(points=p, metrics="euclidean", target=t, k=2)
        for p, t in zip(points, targets, strict=True)
    ]
    for aggregate in AGGREGATES:
        wishes = {"aggregate": aggregate, "weights": [1, 2, 2], "progress": False}
        both = ct.Linkage("power-mean", alpha=(0.5, 4), weights="tune", n_metrics=2)
        result = ct.tune(both, twice, **wishes)
        line = ct.tune(ct.Linkage("power-mean", alpha=(0.5, 4)), once, **wishes)
        assert result.status is ct.Status.OPTIMAL
        assert result.best_value_exact == line.best_value_exact == line.upper_bound_exact


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_choice_of_families_with_one_and_several_parameters(aggregate, tmp_path):
    items, weights = clusterings(3, seed=2, n=6), [1, 1, 2]
    alternatives = {
        "one": ct.Linkage("min-max", alpha=(0.5, 2), weights=(1, 0), n_metrics=2),
        "two": ct.Linkage("min-max", alpha=(0.5, 2), weights="tune", n_metrics=2),
        "energy": ct.Linkage("energy", alpha=(0.5, 2), weights="tune", n_metrics=2),
    }
    choice = ct.Choice(alternatives)
    wishes = {"aggregate": aggregate, "weights": weights, "progress": False}
    result = ct.tune(choice, items, run_dir=tmp_path, **wishes)
    each = [ct.tune(family, items, **wishes) for family in alternatives.values()]
    assert result.status is ct.Status.OPTIMAL
    assert result.best_value_exact == max(found.best_value_exact for found in each)
    assert result.upper_bound_exact >= max(found.upper_bound_exact for found in each)
    assert result.criterion.words("clustering accuracy") in str(result)
    honest = result.certificate
    assert ct.verify(honest, choice, items).optimal
    proofs = {name: proof for name, proof in honest.proofs.items() if proof is not None}
    name = next(iter(proofs))
    other = Criterion.checked(ct.Quantile(0.77), None, 3)
    mixed = dataclasses.replace(proofs[name], criterion=other).sealed()
    forged = dataclasses.replace(honest, proofs={**honest.proofs, name: mixed}).sealed()
    words = "maximised different|is not what|does not follow"
    with pytest.raises(ct.CertificateError, match=words):
        ct.verify(forged, choice, items)
    again = ct.tune(choice, items, run_dir=tmp_path, **wishes)
    assert again.certificate == honest


def test_the_map_and_the_report_show_what_was_maximised(tmp_path):
    family = ct.Linkage("power-mean", alpha=(0.5, 4), weights="tune", n_metrics=2)
    items = clusterings(2, seed=7, n=6)
    result = ct.tune(family, items, aggregate="min", progress=False)
    cells = ct.cell_map(family, items, resolution=8, aggregate="min")
    rng = np.random.default_rng(0)
    for alpha, weight in zip(rng.uniform(0.5, 4, 60), rng.uniform(0, 1, 60), strict=True):
        setting = {"alpha": float(alpha), "weights": (1 - float(weight), float(weight))}
        value = min(family.run_exact(item, setting) for item in items)
        lower, upper = cells.bounds_at(float(alpha), float(weight))
        assert lower <= value <= upper
    assert max(cells.upper) <= result.upper_bound_exact
    assert cells.plot().axes[1].get_ylabel() == "worst clustering accuracy"
    result.report(tmp_path / "report.html", cells=cells)
    page = (tmp_path / "report.html").read_text()
    assert "Map of the worst clustering accuracy" in page and "utility over" not in page


@pytest.mark.slow
def test_both_parameters_of_the_elastic_net():
    """Curves with errors: errors of validation sets, against plain fits on a grid."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -0.5, 0.0] + 0.3 * rng.normal(size=40)
    folds = [
        ct.RegressionInstance(X[keep], y[keep], X[~keep], y[~keep], name=f"fold {k}")
        for k in range(3)
        for keep in [np.arange(40) % 3 != k]
    ]
    family = ct.RegularizedRegression(
        "elastic-net", alpha=(1e-2, 1.0), l1_ratio=(0.5, 1.0), max_error=4.0
    )
    for aggregate in AGGREGATES[1:]:
        result = ct.tune(
            family, folds, aggregate=aggregate, weights=[1, 2, 1], gap=0.001, progress=False
        )
        assert result.status in (ct.Status.OPTIMAL, ct.Status.GAP_LIMIT)
        for alpha, ratio in itertools.product(np.geomspace(1e-2, 1.0, 8), (0.5, 0.75, 1.0)):
            params = {"alpha": float(alpha), "l1_ratio": ratio}
            value = result.criterion.value([family.run_exact(item, params) for item in folds])
            assert value <= result.upper_bound_exact + Fraction(family.tolerance)


def test_a_box_is_known_where_the_rest_cannot_be_among_the_worst():
    """The value is settled on a box on which a better instance still changes."""
    flat = tables(1, seed=1, high=5)[0]
    flat = dataclasses.replace(flat, values=np.full_like(flat.values, 10))
    wild = tables(1, seed=2, high=50)[0]
    wild = dataclasses.replace(wild, values=wild.values + 20)
    result = ct.tune(FAMILY, [flat, wild], aggregate="min", progress=False)
    assert result.status is ct.Status.OPTIMAL and result.best_value_exact == Fraction(1, 10)
    assert result.n_nodes <= 1
    assert isinstance(result.best_region[0], Box)
