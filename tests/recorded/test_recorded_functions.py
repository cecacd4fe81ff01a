"""Functions are the same as those that an earlier version has recorded.

`functions.json` is a sample of what `benchmarks/recorded_functions.py` recorded when the kernels
were compiled by numba.
"""

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPT = HERE.parents[1] / "benchmarks" / "recorded_functions.py"
RECORDED = json.loads((HERE / "functions.json").read_text())


@pytest.fixture(scope="module")
def recorder():
    spec = importlib.util.spec_from_file_location("recorded_functions", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", RECORDED)
def test_the_function_is_still_the_same(recorder, name):
    work = dict(recorder.cases())[name]
    found = recorder.difference(RECORDED[name], recorder.outcome(work))
    assert found in ("", "rounding")


def test_differences_are_found(recorder):
    name = "graph normal 0"
    changed = json.loads(json.dumps(RECORDED[name]))
    changed["values"][0] = "-1"
    assert recorder.difference(RECORDED[name], changed) == "values"
    moved = json.loads(json.dumps(RECORDED[name]))
    moved["stops"][0] = moved["starts"][0]
    assert recorder.difference(RECORDED[name], moved) not in ("", "rounding")
