"""Several parameters: the optimum and its bound, early ends, the certificate."""

import dataclasses
import hashlib
import json
import time
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.box import Box
from certune.families.base import BoxBound, Family
from certune.tuning.space.branching import BATCH, SLICE

SIZE = 6


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Utilities in hundredths on a grid that is shifted, so that no two instances share an edge."""

    values: np.ndarray
    shift: float

    def cell(self, coordinate):
        return int(coordinate * SIZE + self.shift)


class TableFamily(Family):
    """Look up the utility at (x, y) in a table."""

    bounded = True

    @property
    def space(self):
        return ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))

    @property
    def fingerprint(self):
        return "table"

    @property
    def baselines(self):
        return {"corner": {"x": 0.0, "y": 0.0}}

    @property
    def bounds_boxes(self):
        return self.bounded

    def check_instance(self, instance):
        if not isinstance(instance, Table):
            raise ct.InputError("expected a table")

    def instance_fingerprint(self, instance):
        return hashlib.sha256(instance.values.tobytes() + repr(instance.shift).encode()).hexdigest()

    def solve(self, instance, params):
        return int(instance.values[instance.cell(params["x"]), instance.cell(params["y"])])

    def run_exact(self, instance, params):
        return Fraction(self.solve(instance, params), 100)

    def dual(self, instance, along=None):
        steps = set()
        for name in ("x", "y"):
            slope = along.direction[name]
            for edge in range(1, SIZE + 1) if slope else ():
                steps.add(((edge - instance.shift) / SIZE - along.origin[name]) / slope)
        margin = 1e-12
        ends = [t for t in sorted(steps) if along.low + 9 * margin < t < along.high - 9 * margin]
        ends = [t for i, t in enumerate(ends) if i == 0 or t - ends[i - 1] > 9 * margin]
        starts, stops = [along.low, *(t + margin for t in ends)], [*(t - margin for t in ends)]
        stops.append(along.high)
        middles = [0.5 * (a + b) for a, b in zip(starts, stops, strict=True)]
        values = [self.run_exact(instance, along.at(t)) for t in middles]
        pairs = list(zip(values, values[1:], strict=False))
        lower, upper = [min(pair) for pair in pairs], [max(pair) for pair in pairs]
        return ct.PiecewiseFunction.from_values(starts, stops, values, lower, upper)

    def bound_on_box(self, instance, box, reuse=None):
        spans = []
        for name in ("x", "y"):
            low, high = (instance.cell(vertex[0]) for vertex in box.vertices(name))
            spans.append(slice(low, high + 1))
        values = instance.values[tuple(spans)]
        widths = tuple(high[0] - low[0] for low, high in box.parts)
        return BoxBound(
            Fraction(int(values.min()), 100), Fraction(int(values.max()), 100), widths, values.size
        )


class WithoutBounds(TableFamily):
    bounded = False


def tables(count, seed=0, high=80):
    rng = np.random.default_rng(seed)
    return [
        Table(rng.integers(0, high, (SIZE + 1, SIZE + 1)), float(rng.uniform(0.1, 0.9)))
        for _ in range(count)
    ]


def best_mean(instances):
    """Best of all joint cells, by the middles between all edges."""
    edges = sorted((e - t.shift) / SIZE for t in instances for e in range(1, SIZE + 1))
    middles = [0.5 * (a + b) for a, b in zip([0, *edges], [*edges, 1], strict=True)]
    total = sum(
        t.values[np.ix_([t.cell(x) for x in middles], [t.cell(y) for y in middles])]
        for t in instances
    )
    return Fraction(int(total.max()), 100 * len(instances))


def test_results_for_one_and_several_parameters_offer_the_same():
    """What every result has is written and documented once, but for what differs in kind."""
    shared = {name for name in dir(ct.TuningResult) if not name.startswith("_")}
    assert {"best_params", "certificate", "cross_validate", "evaluate", "gap"} < shared
    for kind in (ct.LineTuningResult, ct.SpaceTuningResult):
        assert issubclass(kind, ct.TuningResult)
        own = {name for name in shared if getattr(kind, name) is not getattr(ct.TuningResult, name)}
        assert own == {"best_region", "select"}
        assert all(kind.__dict__.get(name, getattr(kind, name)).__doc__ for name in own)


# The optimum


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 3])
def test_optimum_is_the_best_cell(seed, count):
    instances = tables(count, seed)
    result = ct.tune(TableFamily(), instances)
    assert result.status is ct.Status.OPTIMAL and result.gap == 0.0
    assert result.best_value_exact == result.upper_bound_exact == best_mean(instances)
    assert isinstance(result, ct.TuningResult)
    corner = Fraction(int(sum(t.values[0, 0] for t in instances)), 100 * count)
    assert result.baselines == {"corner": float(corner)}


@pytest.mark.parametrize("easy", [1, SLICE + 1])
def test_instances_that_reach_everything_on_a_part_do_not_hide_the_others(easy):
    """Boxes across the border of that part have the highest bound from them, however small."""
    half = np.zeros((SIZE + 1, SIZE + 1))
    half[: SIZE // 2] = 100
    shifts = (0.37, 0.41, 0.43, 0.47, 0.53)
    instances = [*(Table(half, shift) for shift in shifts[:easy]), *tables(3, high=60)]
    result = ct.tune(TableFamily(), instances, max_nodes=2000, progress=False)
    assert result.status is ct.Status.OPTIMAL
    assert result.best_value_exact == best_mean(instances)


def test_best_region_is_a_box_of_the_best_value():
    instances = tables(2)
    (box,) = ct.tune(TableFamily(), instances).best_region
    rng = np.random.default_rng(0)
    family = TableFamily()
    for _ in range(50):
        params = {n: rng.uniform(*(v[0] for v in box.vertices(n))) for n in ("x", "y")}
        assert sum(family.run_exact(t, params) for t in instances) / 2 == best_mean(instances)


def test_landscape_is_the_line_through_the_best_setting():
    result = ct.tune(TableFamily(), tables(2))
    assert result.landscape == ct.mean(result.duals)
    assert result.landscape.max() == result.best_value
    assert list(result.to_frame()["tuned"]) == [float(u) for u in result.evaluation.utilities]
    assert "boxes" in str(result) and "OPTIMAL" in str(result)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_result_does_not_depend_on_the_number_of_workers(n_jobs):
    instances = tables(4, 1)
    alone, together = (ct.tune(TableFamily(), instances, n_jobs=n) for n in (1, n_jobs))
    assert alone.best_params == together.best_params
    assert alone.certificate == together.certificate
    assert (alone.n_nodes, alone.n_lines) == (together.n_nodes, together.n_lines)


def test_lines_alone_have_no_bound():
    result = ct.tune(TableFamily(), tables(2), method="line-search")
    assert result.status is ct.Status.SEARCHED
    assert result.upper_bound == 1.0 and result.n_nodes == 0
    without = ct.tune(WithoutBounds(), tables(2))
    assert without.status is ct.Status.SEARCHED
    assert without.best_params == result.best_params and without.best_region == []
    with pytest.raises(ct.ParameterError, match="no bounds on boxes"):
        ct.tune(WithoutBounds(), tables(2), method="branch-and-bound")


def test_lines_alone_can_reach_the_largest_utility():
    table = Table(np.full((SIZE + 1, SIZE + 1), 100), 0.5)
    assert ct.tune(TableFamily(), [table], method="line-search").status is ct.Status.OPTIMAL


# Early ends


def test_stop_by_gap():
    instances = tables(6, 3)
    result = ct.tune(TableFamily(), instances, gap=0.4)
    assert result.status is ct.Status.GAP_LIMIT and 0 < result.gap <= 0.4
    assert result.upper_bound_exact >= best_mean(instances)


@pytest.mark.parametrize("max_nodes", [1, 10, 30])
def test_stop_by_number_of_boxes(max_nodes):
    instances = tables(8, 4)
    result = ct.tune(TableFamily(), instances, max_nodes=max_nodes)
    assert result.status is ct.Status.NODE_LIMIT
    assert max_nodes <= result.n_nodes < max_nodes + 32
    assert result.upper_bound_exact >= best_mean(instances) >= result.best_value_exact
    assert ct.verify(result.certificate, TableFamily(), instances).upper_bound < 1


def test_the_bound_falls_and_the_best_value_rises():
    seen = []
    ct.tune(TableFamily(), tables(8, 4), callbacks=[seen.append])
    assert len(seen) > 5 and seen[-1].gap < seen[0].gap
    assert all(a.upper_bound >= b.upper_bound for a, b in zip(seen, seen[1:], strict=False))
    assert all(a.best_value <= b.best_value for a, b in zip(seen, seen[1:], strict=False))


def test_a_callback_stops_the_search():
    result = ct.tune(TableFamily(), tables(8, 4), callbacks=[lambda state: state.n_nodes > 20])
    assert result.status is ct.Status.STOPPED and result.gap > 0


def test_interrupt_returns_the_best_so_far():
    class Interrupted(TableFamily):
        count = 0
        fingerprint = TableFamily.fingerprint

        def bound_on_box(self, instance, box, reuse=None):
            type(self).count += 1
            if self.count == 100:
                raise KeyboardInterrupt
            return super().bound_on_box(instance, box, reuse)

    instances = tables(8, 4)
    result = ct.tune(Interrupted(), instances)
    assert result.status is ct.Status.INTERRUPTED
    assert result.upper_bound_exact >= best_mean(instances) >= result.best_value_exact
    assert ct.verify(result.certificate, TableFamily(), instances)


@pytest.mark.parametrize("timeout", [0.3, 1.0])
def test_timeout_is_honoured(timeout):
    class Slow(TableFamily):
        def bound_on_box(self, instance, box, reuse=None):
            time.sleep(0.004)
            return super().bound_on_box(instance, box, reuse)

    instances = tables(30, 5, high=100)
    started = time.perf_counter()
    result = ct.tune(Slow(), instances, timeout=timeout)
    elapsed = time.perf_counter() - started
    assert result.status is ct.Status.TIME_LIMIT
    assert elapsed < timeout + 1.0  # a loaded machine may need a moment; all boxes take minutes
    assert result.upper_bound_exact >= best_mean(instances)


def test_boxes_that_stay_open_are_told():
    class Vague(TableFamily):
        """Promises more at one point than there is, on however small a box."""

        def bound_on_box(self, instance, box, reuse=None):
            bound = super().bound_on_box(instance, box, reuse)
            if all(low[0] <= 0.3 <= high[0] for low, high in box.parts):
                return dataclasses.replace(bound, upper=Fraction(9, 10))
            return bound

    result = ct.tune(Vague(), tables(1))
    assert result.status is ct.Status.UNDECIDED
    assert result.upper_bound_exact == Fraction(9, 10)


def test_a_family_whose_bounds_lie_is_caught():
    class Lying(TableFamily):
        def bound_on_box(self, instance, box, reuse=None):
            bound = super().bound_on_box(instance, box, reuse)
            return dataclasses.replace(bound, lower=Fraction(1), upper=Fraction(1))

    with pytest.raises(ct.CertificateError, match="bound_on_box and run of the family disagree"):
        ct.tune(Lying(), tables(1))


def test_log_has_boxes_and_gap(capfd):
    ct.tune(TableFamily(), tables(3), progress=True)
    log = capfd.readouterr().err
    assert "free parameters x, y (2 coordinates)" in log
    assert "boxes" in log and "bound" in log and "OPTIMAL" in log


# The certificate


@pytest.fixture
def tuned():
    instances = tables(3, 7)
    return ct.tune(TableFamily(), instances), instances


def test_certificate_is_verified_also_after_a_file(tuned, tmp_path):
    result, instances = tuned
    path = tmp_path / "certificate.json"
    result.certificate.save(path)
    stored = ct.BoxCertificate.load(path)
    assert stored == result.certificate
    report = ct.verify(stored, TableFamily(), instances)
    assert report.optimal and report.n_boxes == len(stored.uppers)
    assert "optimality" in str(report)


def resealed(certificate, **changes):
    return dataclasses.replace(certificate, **changes).sealed()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: {"best_value": c.best_value + Fraction(1, 100)}, "not what runs give"),
        (lambda c: {"upper_bound": c.upper_bound + 1}, "does not follow from the boxes"),
        (lambda c: {"uppers": tuple(u - Fraction(1, 5) for u in c.uppers)}, "runs at its centre"),
        (lambda c: {"uppers": c.uppers[:-1]}, "fewer bounds than boxes"),
        (lambda c: {"uppers": (*c.uppers, Fraction(0))}, "more cuts or bounds"),
        (lambda c: {"cuts": c.cuts[:-1]}, "do not fit the space"),
        (lambda c: {"cuts": (7, *c.cuts[1:])}, "do not fit the space"),
        (lambda c: {"best_params": {"x": 0.0, "y": 0.0}}, "not what runs give"),
        (lambda c: {"best_params": {"x": 100.0, "y": 0.0}}, "not in the space"),
        (lambda c: {"best_params": {"x": 0.0}}, "not in the space"),
        (lambda c: {"best_params": {"x": (0.0, 1.0), "y": 0.0}}, "not in the space"),
        (lambda c: {"family_fingerprint": "other"}, "another family"),
        (
            lambda c: {"instance_fingerprints": ("0" * 64, *c.instance_fingerprints[1:])},
            "not the instance",
        ),
        (lambda c: {"instance_fingerprints": c.instance_fingerprints[:2]}, "about 2 instances"),
    ],
)
def test_a_forged_certificate_is_refused(tuned, change, message):
    result, instances = tuned
    forged = resealed(result.certificate, **change(result.certificate))
    with pytest.raises(ct.CertificateError, match=message):
        ct.verify(forged, TableFamily(), instances)


def test_a_bound_that_is_too_small_between_the_runs_is_refused():
    """A peak in one cell away from the centre of its box: runs miss it, the proof does not."""
    table = Table(np.zeros((SIZE + 1, SIZE + 1), dtype=np.int64), 0.25)
    table.values[1, 5] = 50
    box = Box.strata(TableFamily().space)[0]
    honest = ct.tune(TableFamily(), [table]).certificate
    forged = resealed(
        honest,
        cuts=(-1,),
        uppers=(Fraction(1, 4),),
        upper_bound=Fraction(1, 4),
        best_params=box.centre,
        best_value=Fraction(0),
    )
    with pytest.raises(ct.CertificateError, match="only 1/2 can be proved"):
        ct.verify(forged, TableFamily(), [table])


def test_a_changed_certificate_is_refused(tuned, tmp_path):
    result, instances = tuned
    changed = dataclasses.replace(result.certificate, upper_bound=Fraction(1))
    with pytest.raises(ct.CertificateError, match="was changed"):
        ct.verify(changed, TableFamily(), instances)
    path = tmp_path / "certificate.json"
    changed.save(path)
    with pytest.raises(ct.CertificateError, match="changed after it was written"):
        ct.BoxCertificate.load(path)
    stored = json.loads(path.read_text())
    for content, message in [
        ([], "written by something else"),
        ({**stored, "best_params": None}, "best_params of .* must be numbers by name"),
        ({**stored, "best_value": float("inf")}, "Infinity is no number of JSON"),
        ({**stored, "cuts": [0.5]}, "cuts of .* must be a list of small integers"),
    ]:
        path.write_text(json.dumps(content))
        with pytest.raises(ct.CertificateError, match=message):
            ct.BoxCertificate.load(path)


# Linkage


def test_linkage_certificate():
    metrics = ("euclidean", "cityblock")
    instances = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=6, metrics=metrics)
    family = ct.Linkage("min-max", alpha=(-2, 6), weights="tune", n_metrics=2)
    result = ct.tune(family, instances)
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, family, instances).optimal
    worst = min(result.certificate.uppers)
    forged = tuple(worst - Fraction(1, 2) for _ in result.certificate.uppers)
    with pytest.raises(ct.CertificateError):
        ct.verify(resealed(result.certificate, uppers=forged), family, instances)
    assert result.best_estimator is not None


def test_three_exponents_of_both_signs_on_a_grid_of_points():
    """Lines cross the plane on which exponents add up to zero, where scaled pairs are tied."""
    metrics = ("euclidean", "cityblock", "chebyshev")
    points = np.random.default_rng(5).integers(0, 4, (5, 2))
    instance = ct.ClusteringInstance(points=points, target=[0, 0, 1, 1, 1], k=2, metrics=metrics)
    family = ct.Linkage("product", alpha=[(0.5, 2), (-2, 2), (-2, 2)])
    assert family.run(instance, {"alpha_0": 0.7, "alpha_1": -1.2, "alpha_2": 0.5}) > 0
    result = ct.tune(family, [instance], max_nodes=30, progress=False)
    rng = np.random.default_rng(0)
    tried = max(family.run(instance, family.space.sample(rng)) for _ in range(50))
    assert tried <= result.upper_bound and result.best_value >= 0.8


class Shy(ct.ProgramFamily):
    """Refuses to decide on lines, and at the middle of the space."""

    def dual(self, instance, along=None):
        raise ct.UndecidedError("not on lines")

    def run_exact(self, instance, params):
        if params["a"] == params["b"] == 0.5:
            raise ct.UndecidedError("not here")
        return super().run_exact(instance, params)


def test_what_stays_undecided_does_not_end_a_search():
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = Shy(lambda x, p: 1 if p["a"] * p["b"] >= 0.25 else 0, space)
    result = ct.tune(family, [None], max_nodes=50, progress=False)
    assert result.best_value == 1.0 and result.upper_bound == 1.0


class SlowCorner(TableFamily):
    """Takes a while where the default is run."""

    def run_exact(self, instance, params):
        if params == self.baselines["corner"]:
            time.sleep(0.1)
        return super().run_exact(instance, params)


def test_a_search_that_ends_by_itself_runs_the_defaults_however_long_they_take():
    result = ct.tune(SlowCorner(), tables(3), progress=False)
    assert result.status is ct.Status.OPTIMAL and "corner" in result.baselines


def test_few_instances_are_bounded_on_a_box_before_the_next_look():
    """So that the bound of everything falls from the start, with any number of instances."""
    bounded, counts = [], []

    class Counting(TableFamily):
        def bound_on_box(self, instance, box, reuse=None):
            bounded.append(instance)
            return super().bound_on_box(instance, box, reuse)

    ct.tune(Counting(), tables(12), callbacks=[lambda state: counts.append(len(bounded))])
    # In a step eight boxes are looked at, or their two halves.
    assert bounded and max(np.diff(counts)) <= 2 * BATCH * SLICE < 2 * BATCH * 12


def test_an_instance_is_prepared_for_boxes_once():
    """However many boxes it is first bounded on, and when the certificate is checked."""
    prepared = []

    class Preparing(TableFamily):
        def box_start(self, instance):
            prepared.append(instance)
            return "prepared"

        def bound_on_box(self, instance, box, reuse=None):
            assert reuse == "prepared"
            return dataclasses.replace(super().bound_on_box(instance, box), reuse=reuse)

    instances = tables(6)
    result = ct.tune(Preparing(), instances, progress=False)
    assert result.status is ct.Status.OPTIMAL and result.n_nodes > 6
    assert sorted(map(id, prepared)) == sorted(map(id, instances))
    prepared.clear()
    ct.verify(result.certificate, Preparing(), instances)
    assert len(prepared) == 6


def test_a_box_of_which_nothing_is_known_has_one_instance_bounded():
    """The bound falls once every box has an instance that says something: the first one."""

    class Rough(TableFamily):
        """Nothing is known on large boxes."""

        def bound_on_box(self, instance, box, reuse=None):
            found = super().bound_on_box(instance, box, reuse)
            if max(found.importance) > 0.3:
                return dataclasses.replace(found, lower=Fraction(0), upper=Fraction(1))
            bounded.append(instance)
            return found

    bounded, seen = [], []
    instances = tables(12)
    ct.tune(Rough(), instances, callbacks=[seen.append], max_nodes=40, progress=False)
    early = [state for state in seen if state.n_nodes and state.upper_bound_exact == 1]
    assert early and seen[-1].upper_bound_exact < 1
    assert all(item is instances[0] for item in bounded[: len(early)])
