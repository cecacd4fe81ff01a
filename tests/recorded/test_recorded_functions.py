"""Functions are the same as those that an earlier version has recorded.

`functions.json` and `linkage.json` are samples of what `benchmarks/recorded_functions.py` and
`benchmarks/linkage_corpus.py` recorded before the kernels were written in C++.
"""

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[1] / "benchmarks"
RECORDED = json.loads((HERE / "functions.json").read_text())
LINKAGE = json.loads((HERE / "linkage.json").read_text())


def script(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recorder():
    return script("recorded_functions")


@pytest.fixture(scope="module")
def corpus():
    return script("linkage_corpus")


@pytest.mark.parametrize("name", LINKAGE)
def test_the_function_of_linkage_is_still_the_same(corpus, name):
    recorded = LINKAGE[name]
    found = corpus.result_of(recorded["case"])["dual"]
    assert corpus.judged(recorded["dual"], found) in ("equal", "same")


def test_differences_of_linkage_are_found(corpus):
    recorded = next(r["dual"] for r in LINKAGE.values() if len(r["dual"]["starts"]) > 1)
    changed = json.loads(json.dumps(recorded))
    changed["values"][0] += 1
    assert corpus.judged(recorded, changed).startswith("CONTRADICTION")


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
