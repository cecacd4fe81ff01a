"""The example runs and shows every part of a guarantee."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "guarantees.py"


def test_example_runs(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown = capsys.readouterr().out
    for words in ("expect at least", "cross-validation", "resamples", "guaranteed", "estimate"):
        assert words in shown
