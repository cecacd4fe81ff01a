"""The examples run."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_learned_weights(tmp_path):
    picture = tmp_path / "cells.png"
    options = ["--instances", "1", "--held-out", "3", "--timeout", "2", "--picture", str(picture)]
    finished = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "learned_weights.py"), *options],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"},
    )
    assert "the best single metric" in finished.stdout
    assert "boxes" in finished.stderr
    assert picture.stat().st_size > 5000
