"""The code in tutorials and the examples run as written."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

from certune.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
# Every page whose blocks of Python a reader is told to run.
TUTORIALS = [
    *sorted((DOCS / "tutorials").glob("*.md")),
    *sorted((DOCS / "guides").glob("*.md")),
    *(DOCS / f"{name}.md" for name in ("start", "reading", "requests", "guarantees")),
]
# Those that write pictures are looked at in test_examples.py.
LOOKED_AT = {"harmonic_labeling", "learned_weights", "logistic_path", "whole_numbers_and_words"}
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem not in LOOKED_AT)
# Sizes below those that a reader gets.
ARGUMENTS = {"online_linkage": ["pictures", "60"], "online_logistic": ["20"]}


BLOCK = r"```python\n(?P<code>.*?)```(?:\n+```(?:text)?\n(?P<shown>.*?)```)?"
NUMBER = r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
END_OF_BLOCK = "-- end of a block --"


def code_of(tutorial):
    """Return the code of a page, which says where the output of each block ends."""
    blocks = re.finditer(BLOCK, tutorial.read_text(), flags=re.DOTALL)
    return "\n".join(f"{block['code']}\nprint({END_OF_BLOCK!r})" for block in blocks)


def check_shown(tutorial, printed):
    """What stands below a block is what it prints, up to times and the last digits of numbers."""
    blocks = re.finditer(BLOCK, tutorial.read_text(), flags=re.DOTALL)
    for block, output in zip(blocks, printed.split(END_OF_BLOCK), strict=False):
        if block["shown"] is None:
            continue
        shown, output = (
            re.sub(r"[\d.]+ s\b", "a time", text).strip() for text in (block["shown"], output)
        )
        if shown.endswith("..."):
            shown = shown.removesuffix("...").rstrip()
            output = "\n".join(output.splitlines()[: len(shown.splitlines())])
        assert re.sub(NUMBER, "#", output) == re.sub(NUMBER, "#", shown)
        found, expected = ([*map(float, re.findall(NUMBER, text))] for text in (output, shown))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-8), output


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a script as a program would be, but without imports that every one of them needs."""
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            assert not end.code
        return capsys.readouterr().out

    yield run
    plt.close("all")


def check_promises(code, printed):
    """What a comment promises as printed output is printed."""
    for text in re.findall(r"^print\(.*\)\s+# ([0-9/]+)$", code, flags=re.MULTILINE):
        assert text in printed.splitlines()


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(tutorial, tmp_path, run):
    script = tmp_path / "tutorial.py"
    script.write_text(code_of(tutorial))
    printed = run(script)
    check_promises(script.read_text(), printed)
    check_shown(tutorial, printed)


def test_the_start_page_shows_what_its_command_prints(tmp_path, run):
    page = DOCS / "start.md"
    script = tmp_path / "tutorial.py"
    script.write_text(code_of(page))
    run(script)
    command, shown = re.search(
        r"```sh\n(certune tune .*?)\n.*?```text\n(.*?)```", page.read_text(), flags=re.DOTALL
    ).groups()
    done = CliRunner().invoke(main, command.split()[1:])
    assert done.exit_code == 0 and done.stdout.startswith(shown.rstrip())


def test_the_first_page_in_a_process_of_its_own(tmp_path):
    script = tmp_path / "tutorial.py"
    script.write_text(code_of(README))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    finished = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    check_promises(script.read_text(), finished.stdout)
    check_shown(README, finished.stdout)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, run):
    assert run(example, *ARGUMENTS.get(example.stem, ()))


def test_there_is_something_to_run():
    assert TUTORIALS and EXAMPLES
    assert "ct.tune" in code_of(TUTORIALS[0])
