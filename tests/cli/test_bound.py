"""``certune bound``: tables, JSON, exit codes."""

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import certune as ct
from certune.cli import main

COMMANDS = {
    "min-max": ["--n", "100", "--metrics", "3", "--weights", "tune"],
    "power-mean": ["--n", "20"],
    "product": ["--n", "6", "--metrics", "2"],
    "harmonic-labeling": ["--n", "12", "--labeled", "3", "--metrics", "2", "--weights", "tune"],
    "logistic": ["--n", "20"],
    "gj": ["--q", "3", "--m", "2", "--degree", "1", "--d", "2", "--k", "10"],
    "piecewise": [
        "--q", "3", "--m", "2", "--degree", "1", "--d", "2", "--pieces", "4", "--boundaries", "9",
    ],
}  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(main, ["bound", *arguments])


def test_the_list_of_commands_cuts_no_sentence():
    assert "..." not in run("--help").output.split("Commands:")[1]


@pytest.mark.parametrize("family", COMMANDS)
def test_json_agrees_with_the_table(family):
    result = run(family, *COMMANDS[family], "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["pseudo_dimension"] == report["pdim_bounds"][0]["dimension"]
    assert report["n_instances"] == report["sample_sizes"][0]["n_instances"]
    table = run(family, *COMMANDS[family])
    assert table.exit_code == 0
    for row in report["pdim_bounds"]:
        if row["dimension"] < 10**9:
            assert f"{row['dimension']:,}" in table.stdout
        assert row["provenance"] in table.stdout
    assert f"{report['n_instances']:,}" in table.stdout


def test_numbers_are_those_of_the_library():
    report = json.loads(run("min-max", *COMMANDS["min-max"], "--json").stdout)
    structure = ct.Linkage("min-max", weights="tune", n_metrics=3).structure(100)
    assert report["pseudo_dimension"] == ct.pdim_bound(structure).dimension == 481
    assert report["n_instances"] == ct.sample_size(structure, 0.1, 0.05).n_instances
    assert any(row["provenance"] == "as printed" for row in report["pdim_bounds"])


def test_accuracy_is_passed_on():
    options = ["--epsilon", "0.2", "--delta", "0.01", "--range", "2", "--json"]
    report = json.loads(run("min-max", "--n", "20", *options).stdout)
    expected = ct.sample_size(ct.Linkage("min-max").structure(20), 0.2, 0.01, 2.0)
    assert report["n_instances"] == expected.n_instances
    assert report["sample_sizes"][0]["utility_range"] == 2.0


def test_constant_pieces():
    base = [*COMMANDS["piecewise"], "--json"]
    constant = json.loads(run("piecewise", *base, "--constant").stdout)
    assert (
        constant["pseudo_dimension"]
        < json.loads(run("piecewise", *base).stdout)["pseudo_dimension"]
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["min-max"], 2, "Missing option '--n'"),
        (["min-max", "--n", "2"], 1, "n must be a whole number >= 3, got 2"),
        (["min-max", "--n", "9", "--weights", "tune"], 1, "weights='tune' needs n_metrics"),
        (["product", "--n", "9", "--weights", "tune"], 2, "no weights to tune"),
        (["min-max", "--n", "9", "--epsilon", "0"], 1, "epsilon must be positive"),
        (["min-max", "--n", "9", "--delta", "1"], 1, "delta must lie strictly between 0 and 1"),
        (["harmonic-labeling", "--n", "5", "--labeled", "5"], 2, "must be less than --n"),
        (["logistic", "--n", "5", "--lam", "2", "1"], 1, "low < high"),
        (["gj", *COMMANDS["gj"][:2], "--m", "0", *COMMANDS["gj"][4:]], 1, "chain_degree >= 1"),
        (["ward", "--n", "9"], 2, "No such command 'ward'"),
    ],
)
def test_mistakes_end_with_a_message(arguments, code, message):
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr and result.stdout == ""


def test_console_script_is_declared():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["certune"].partition(":")
    assert getattr(importlib.import_module(module), name) is main


def test_command_line_as_a_module():
    finished = subprocess.run(
        [sys.executable, "-m", "certune", "bound", "gj", *COMMANDS["gj"], "--json"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["pseudo_dimension"] == 45
    failed = subprocess.run(
        [sys.executable, "-m", "certune", "bound", "gj"], capture_output=True, text=True
    )
    assert failed.returncode == 2 and "python -m certune bound gj" in failed.stderr
