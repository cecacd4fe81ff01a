"""The examples run, and make what they say."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_logistic_path(tmp_path):
    finished = subprocess.run(
        [sys.executable, EXAMPLES / "logistic_path.py", tmp_path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "OPTIMAL" in finished.stdout and "certificate verified" in finished.stdout
    pictures = {"accuracy.png", "coefficients.png", "curves.png", "landscape.png"}
    assert {path.name for path in tmp_path.iterdir()} == pictures
