"""The examples with options run, on small data, and write what they promise."""

import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run an example as a program with options; return what it printed, and what it told beside."""
    matplotlib.use("agg")

    def run(name, *options):
        monkeypatch.setattr(sys, "argv", [name, *map(str, options)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr()

    yield run
    plt.close("all")


def test_harmonic_labeling(run, tmp_path):
    printed = run("harmonic_labeling.py", tmp_path, 2).out
    assert "OPTIMAL" in printed and "held out" in printed
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert pictures == ["graph.png", "mean.png", "one_problem.png"]
    assert all((tmp_path / name).stat().st_size > 10_000 for name in pictures)


def test_logistic_path(run, tmp_path):
    printed = run("logistic_path.py", tmp_path, 2).out
    assert "OPTIMAL" in printed and "certificate verified" in printed
    pictures = {"accuracy.png", "coefficients.png", "curves.png", "landscape.png"}
    assert {path.name for path in tmp_path.iterdir()} == pictures


def test_learned_weights(run, tmp_path):
    picture = tmp_path / "cells.png"
    sizes = "--instances", 1, "--held-out", 3, "--resolution", 16
    told = run("learned_weights.py", *sizes, "--timeout", 2, "--picture", picture)
    assert "the best single metric" in told.out
    assert "boxes" in told.err
    assert picture.stat().st_size > 5000


def test_whole_numbers_and_words(run):
    printed = run("whole_numbers_and_words.py").out
    assert "k = 3" in printed and "one 0.6" in printed
    assert "True" in printed
