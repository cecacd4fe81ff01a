"""Doors: hostile values end in an answer or an error of certune, soon."""

import importlib.util
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import certune as ct
from certune.checks import as_array, as_float, as_list, as_n_jobs, is_number, is_one_of

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "hostile_calls.py"
MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])
DATES = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")


def hostile_calls():
    """Load the script of the benchmark."""
    spec = importlib.util.spec_from_file_location("hostile_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_call_ends_in_a_foreign_exception():
    assert hostile_calls().foreign(500, seed=7) == []


# What users are given, and do not make or call.
GIVEN = (
    ct.CertuneError, Warning, ct.TuningResult, ct.Status, ct.Box, ct.CellMap, ct.ChoiceProgress,
    ct.Progress, ct.SearchProgress, ct.ChoiceResult, ct.ScheduleResult, ct.Schedule,
    ct.StreamResult, ct.StoredRun, ct.StoredSearch, ct.StoredStream, ct.Certificate,
    ct.BoxCertificate, ct.ChoiceCertificate, ct.VerificationReport, ct.BoxVerificationReport,
    ct.ChoiceVerificationReport, ct.CostEstimate, ct.Decisions, ct.Dispersion, ct.Evaluation,
    ct.HeldOutEvaluation, ct.Guarantee, ct.PdimBound, ct.SampleSize, ct.Regret, ct.Score,
    ct.GJStructure, ct.HomogeneousStructure, ct.PiecewiseStructure, ct.PiecewisePolynomial,
)  # fmt: skip


def test_every_public_name_that_users_call_is_among_the_doors():
    """Estimators take hostile values as scikit-learn wants, which its own checks look at."""
    called = {function for function, _, _ in hostile_calls().doors().values()}
    public = {name: getattr(ct, name) for name in ct.__all__}
    missing = [
        name
        for name, item in public.items()
        if callable(item)
        and item not in called
        and not (isinstance(item, type) and issubclass(item, (*GIVEN, BaseEstimator)))
    ]
    assert missing == []


def test_numbers():
    assert as_float("x", Fraction(1, 4)) == 0.25 and is_number(np.float32(1))
    for value in ("1", None, True, 1j, np.timedelta64(1, "s"), [1.0]):
        assert not is_number(value)
        with pytest.raises(ct.ParameterError, match="x must be a number"):
            as_float("x", value)
    with pytest.raises(ct.ParameterError, match="range of floats"):
        as_float("x", 10**400)


def test_choices_lists_and_workers():
    assert is_one_of("a", ("a", "b")) and not is_one_of(np.array(["a", "b"]), ("a", "b"))
    assert as_list("items", (1, 2)) == [1, 2]
    for values in (3, "ab", None, np.array(2.0), MASKED):
        with pytest.raises(ct.InputError, match="items"):
            as_list("items", values)
    assert as_n_jobs(np.int64(2)) == 2 and as_n_jobs(None) is None
    for value in (0, 1.5, True, "2", [1]):
        with pytest.raises(ct.ParameterError, match="n_jobs"):
            as_n_jobs(value)


@pytest.mark.parametrize("values", [MASKED, DATES, [1, 10**400], [1j], ["a"], [[1], [2, 3]]])
def test_arrays_of_anything_but_numbers_are_refused(values):
    with pytest.raises(ct.InputError):
        as_array("values", values)


def test_masks_and_dates_are_refused_by_instances_and_families():
    points = np.arange(8.0).reshape(4, 2)
    masked = np.ma.masked_array(points, mask=points > 6)
    target = np.ma.masked_array([0, 0, 1, 1], mask=[0, 0, 0, 1])
    for arguments in (
        {"points": masked, "target": [0, 0, 1, 1]},
        {"points": points, "target": target},
    ):
        with pytest.raises(ct.InputError, match="mask"):
            ct.ClusteringInstance(**arguments)
    with pytest.raises(ct.InputError, match="mask"):
        ct.LabelingInstance(points=points, labeled=target, truth=[0, 0, 1, 1])
    with pytest.raises(ct.InputError, match="mask"):
        ct.ClassificationInstance(masked, [0, 0, 1, 1], points, [0, 0, 1, 1])
    with pytest.raises(ct.ParameterError, match="weights must be numbers"):
        ct.Linkage(weights=DATES)


def test_structures_of_huge_sizes_are_refused_at_once():
    with pytest.raises(ct.ParameterError, match="n must be"):
        ct.Linkage("power-mean", alpha=(0.5, 2)).structure(n=2**63)


STEPS = ct.PiecewiseFunction([0, 0.5], [0.25, 1], [0, 1], [0], [1], 2)
CURVE = ct.PiecewisePolynomial.from_constants(STEPS)
SQUARE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
ROWS = np.arange(8.0).reshape(4, 2)
HALVES = [0, 0, 1, 1]
NO_ARRAYS_OF_REALS = {
    "masked": lambda entries: np.ma.masked_array(entries, mask=entries == entries.flat[1]),
    "dates": lambda entries: entries.astype("datetime64[s]"),
    "spans of time": lambda entries: entries.astype("timedelta64[s]"),
    "complex": lambda entries: entries + 1j,
    "bytes": lambda entries: entries.astype("S"),
}
TAKES_NUMBERS = {
    "density": (lambda entries: ct.DensityInstance(entries, HALVES), SQUARE),
    "neighbours": (lambda entries: ct.NeighborInstance(entries, HALVES, HALVES), SQUARE),
    "targets": (lambda entries: ct.RegressionInstance(ROWS, entries), SQUARE[0]),
    "rows": (lambda entries: ct.RegressionInstance(entries, SQUARE[0]), ROWS),
    "sample weights": (
        lambda entries: ct.RegressionInstance(ROWS, SQUARE[0], sample_weight=entries),
        1.0 + SQUARE[0],
    ),
    "folds": (lambda entries: ct.folds(entries, HALVES, 2), ROWS),
    "range of alpha": (lambda entries: ct.Linkage(alpha=entries), np.array([0.5, 2.0])),
    "range of sigma": (lambda entries: ct.HarmonicLabeling(sigma=entries), np.array([0.5, 2.0])),
    "starts": (
        lambda entries: ct.PiecewiseFunction(entries, [0.25, 1], [0, 1], [0], [1], 2),
        np.array([0.0, 0.5]),
    ),
    "numerators": (
        lambda entries: ct.PiecewiseFunction([0, 0.5], [0.25, 1], entries, [0], [1], 2),
        np.array([0, 1]),
    ),
    "widths": (lambda entries: ct.dispersion([STEPS] * 2, widths=entries), np.array([0.1, 0.5])),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("kind", NO_ARRAYS_OF_REALS)
@pytest.mark.parametrize("door", TAKES_NUMBERS)
def test_nothing_is_dropped_from_arrays_that_are_no_real_numbers(door, kind):
    call, entries = TAKES_NUMBERS[door]
    call(entries)
    with pytest.raises(ct.CertuneError):
        call(NO_ARRAYS_OF_REALS[kind](entries))


@pytest.mark.parametrize("value", [None, "0.5", 10**400, -(10**400), 1j, [], np.array([1, 2])])
@pytest.mark.parametrize("function", [STEPS, CURVE], ids=["steps", "curve"])
def test_functions_refuse_places_that_are_no_numbers(function, value):
    for call in (
        function.value_at,
        function.enclose,
        function.enclose_exact,
        lambda place: function.restrict(place, 1),
        lambda place: function.restrict(0, place),
    ):
        with pytest.raises(ct.ParameterError, match="t must"):
            call(value)


@pytest.mark.parametrize("level", [float("nan"), float("inf"), None, "x", [], Decimal("1e999999")])
def test_levels_that_are_no_numbers_are_refused(level):
    for function in (STEPS, CURVE):
        with pytest.raises(ct.ParameterError, match="level must be a finite number"):
            function.superlevel(level)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_n_jobs(2**63), "at most 100000 workers"),
        (lambda: as_n_jobs(np.timedelta64(3, "s")), "n_jobs"),
        (lambda: ct.Simplex("w", np.timedelta64(3, "s")), "size must be int"),
        (lambda: ct.CVaR(10**400), "share q"),
        (lambda: ct.Quantile(-(10**400)), "share q"),
        (lambda: ct.CVaR(np.longdouble("inf")), "share q"),
        (lambda: ct.folds(ROWS, HALVES, np.timedelta64(2, "s")), "cv"),
        (lambda: ct.save_instances([1], 3.5), "folder must be a path"),
        (lambda: ct.read_stream(np.array("x")), "files must be a list"),
        (lambda: ct.tune_stream(ct.Linkage(), np.array(2.0)), "instances must be a list"),
        (lambda: ct.dispersion([np.array(2.0)]), "functions along a segment"),
        (lambda: ct.ClusteringInstance(points=ROWS, metrics=np.array("x"), k=2), "metrics"),
        (lambda: ct.SetCoverInstance(3), "sets must be a list"),
        (lambda: ct.SetCoverInstance([3]), "elements must be whole numbers"),
        (lambda: ct.AlignmentInstance("a", "b", [3]), "pairs must be whole numbers"),
        (lambda: ct.IndependentSetInstance([1, 2], 3), "edges must be a list"),
        (lambda: ct.ProgramFamily(len, ct.Real("a", 0, 1), utility_range=1), "utility_range"),
        (lambda: ct.ProgramFamily(len, ct.Real("a", 0, 1), utility_range=(0,)), "two numbers"),
        (
            lambda: ct.ProgramFamily(len, ct.Real("a", 0, 1), utility_range=(0, 10**400)),
            "range of floats",
        ),
    ],
)
def test_doors_name_what_they_expect(call, message):
    with pytest.raises(ct.CertuneError, match=message):
        call()


def test_a_utility_of_a_million_digits_is_named_shortly():
    family = ct.ProgramFamily(lambda _, p: Decimal("1e999999"), ct.Real("a", 0, 1))
    with pytest.raises(ct.InputError, match=r"about 2\*\*33219"):
        family.dual(0)
