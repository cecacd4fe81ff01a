"""The examples run, and the one with a state goes on where it ended."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_online_linkage(tmp_path, capsys):
    main = runpy.run_path(str(EXAMPLES / "online_linkage.py"))["main"]
    main(tmp_path, 150)
    first = capsys.readouterr().out
    assert "round 150" in first and "DISPERSED" in first
    main(tmp_path, 150)
    assert "150 rounds are in" in capsys.readouterr().out
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", ".png", ".png"]


def test_online_logistic(capsys):
    runpy.run_path(str(EXAMPLES / "online_logistic.py"))["main"](10)
    printed = capsys.readouterr().out
    assert "round 10" in printed and "known up to" in printed and "best fixed lam" in printed
