"""Files that somebody else has written: refused with a reason, whatever is in them."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import certune as ct
from certune.cli.scenario import read_scenario
from certune.files import read_arrays
from certune.report.collecting import findings_of
from certune.report.findings import Findings
from certune.testing import StepFamily, StepInstance

FUZZ = Path(__file__).parents[1] / "benchmarks" / "reader_fuzz.py"
SCENARIO = '[family]\nname = "linkage"\n\n[data]\nfiles = ["a.csv"]\ntarget = "y"\n'


def test_a_sample_of_the_campaign_finds_nothing():
    """In a process of its own, whose memory is limited and whose every file is watched."""
    command = [sys.executable, str(FUZZ), "--count", "100", "--seed", "2024"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-5000:]
    assert "100 changed inputs" in ran.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SCENARIO + "x = " + "[" * 3000, "nested too deeply"),
        (SCENARIO + "k = nan\n", "k must be a number, got nan"),
        (SCENARIO + "\n[split]\nseed = inf\n", "seed must be a whole number"),
        (SCENARIO + "\n[run]\njobs = " + "9" * 400 + "\n", "jobs must be a number"),
        (SCENARIO + "k = " + "9" * 5000 + "\n", "is not a TOML file"),
    ],
)
def test_scenarios_that_are_hostile(tmp_path, content, message):
    path = tmp_path / "scenario.toml"
    path.write_text(content)
    with pytest.raises(ct.InputError, match=message):
        read_scenario(path)


def test_line_ends_of_scenarios_do_not_matter(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_bytes(SCENARIO.replace("\n", "\r").encode())
    assert read_scenario(path).family_name == "linkage"


def test_names_that_no_disk_can_have():
    with pytest.raises(ct.InputError, match="cannot look for"):
        ct.from_csv("x" * 5000, target="y")


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ct.InputError, match="no plain file"):
        ct.from_csv(tmp_path / "a.csv", target="y")


def test_headers_of_arrays_that_are_no_python(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("points.npy", array)
    with pytest.raises(ct.InputError, match="is not a readable .npz file"):
        read_arrays(tmp_path / "a.npz", ["points"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_value", "1"), ("best_value", True), ("best_value", 10**400), ("title", 3),
        ("n_finished", 1.5), ("region", [[1]]), ("region", 7), ("defaults", {"a": []}),
        ("cells", True), ("axis", {"name": "a", "low": "x", "high": 1, "logarithmic": False}),
        ("instances", [{}]), ("history", [[1, 2]]), ("held_out", 1), ("landscape", None),
    ],
)  # fmt: skip
def test_findings_with_fields_of_other_types(name, value):
    instance = StepInstance((0.5,), (0, 1))
    found = findings_of(ct.tune(StepFamily(), [instance], progress=False))
    record = json.loads(found.to_json())
    assert Findings.from_json(json.dumps(record)).best_value == found.best_value
    record[name] = value
    with pytest.raises(ct.InputError, match="is damaged"):
        Findings.from_json(json.dumps(record), "the record")


def test_arrays_still_open(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, points=np.arange(3.0))
    (tmp_path / "a.npz").write_bytes(buffer.getvalue())
    assert read_arrays(tmp_path / "a.npz", ["points"])["points"].tolist() == [0.0, 1.0, 2.0]
