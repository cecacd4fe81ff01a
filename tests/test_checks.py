"""Doors: hostile values end in an answer or an error of certune, soon."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

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
