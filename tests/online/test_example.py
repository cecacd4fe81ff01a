"""The example runs, and goes on where it ended."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "online_linkage.py"


def test_online_linkage(tmp_path, capsys):
    main = runpy.run_path(str(EXAMPLE))["main"]
    main(tmp_path)
    first = capsys.readouterr().out
    assert "round 150" in first and "DISPERSED" in first
    main(tmp_path)
    assert "150 rounds are in" in capsys.readouterr().out
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", ".png", ".png"]
