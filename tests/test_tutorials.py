"""The code in tutorials and the examples run as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Every page whose blocks of Python a reader is told to run.
TUTORIALS = [
    *sorted((DOCS / "tutorials").glob("*.md")),
    *sorted((DOCS / "guides").glob("*.md")),
    *(DOCS / f"{name}.md" for name in ("start", "reading", "requests")),
    ROOT / "README.md",
]
# Those that write pictures are looked at in test_examples.py.
LOOKED_AT = {"harmonic_labeling", "learned_weights", "logistic_path"}
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem not in LOOKED_AT)


def code_of(tutorial):
    return "\n".join(re.findall(r"```python\n(.*?)```", tutorial.read_text(), flags=re.DOTALL))


def run(script, directory):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(tutorial, tmp_path):
    script = tmp_path / "tutorial.py"
    script.write_text(code_of(tutorial))
    finished = run(script, tmp_path)
    assert finished.returncode == 0, finished.stderr
    # what a comment promises as printed output is printed
    promised = re.findall(r"^print\(.*\)\s+# ([0-9/]+)$", script.read_text(), flags=re.MULTILINE)
    for text in promised:
        assert text in finished.stdout.splitlines()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    finished = run(example, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


def test_there_is_something_to_run():
    assert TUTORIALS and EXAMPLES
    assert "ct.tune" in code_of(TUTORIALS[0])
