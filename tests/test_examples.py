"""The examples run, and write what they promise."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_harmonic_labeling(tmp_path):
    script = EXAMPLES / "harmonic_labeling.py"
    finished = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "OPTIMAL" in finished.stdout and "held out" in finished.stdout
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert pictures == ["graph.png", "mean.png", "one_problem.png"]
    assert all((tmp_path / name).stat().st_size > 10_000 for name in pictures)


def test_logistic_path(tmp_path):
    finished = subprocess.run(
        [sys.executable, EXAMPLES / "logistic_path.py", tmp_path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "OPTIMAL" in finished.stdout and "certificate verified" in finished.stdout
    pictures = {"accuracy.png", "coefficients.png", "curves.png", "landscape.png"}
    assert {path.name for path in tmp_path.iterdir()} == pictures


def test_learned_weights(tmp_path):
    picture = tmp_path / "cells.png"
    options = ["--instances", "1", "--held-out", "3", "--timeout", "2", "--picture", str(picture)]
    finished = subprocess.run(
        [sys.executable, str(EXAMPLES / "learned_weights.py"), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the best single metric" in finished.stdout
    assert "boxes" in finished.stderr
    assert picture.stat().st_size > 5000


def test_whole_numbers_and_words():
    finished = subprocess.run(
        [sys.executable, EXAMPLES / "whole_numbers_and_words.py"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "k = 3" in finished.stdout and "one 0.6" in finished.stdout
    assert "True" in finished.stdout
