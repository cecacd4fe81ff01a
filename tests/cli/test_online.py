"""``certune online`` learns from a folder or a stream, stops and continues."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import certune as ct
from certune.cli import main

INSTANCES = ct.datasets.random_clustering(7, n_clusters=3, n_per_cluster=4, spread=0.3)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "instances"
    place.mkdir()
    for number, instance in enumerate(INSTANCES):
        np.savez(place / f"{number:03d}.npz", points=instance.points, target=instance.target)
    return place


def run(*arguments, **options):
    command = ["online", *map(str, arguments), "--alpha", "0.5", "4", "--seed", "3"]
    return CliRunner().invoke(main, command, **options)


def json_lines(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def expected_rows():
    family = ct.Linkage("energy", alpha=(0.5, 4), objective="cut")
    tuner = ct.OnlineTuner(family, random_state=3)
    finished = [tuner.update(instance) for instance in INSTANCES]
    return finished, tuner.regret()


def test_a_folder_is_played_in_order(folder, tmp_path):
    rows = json_lines(run(folder, "--state", tmp_path / "state", "--json"))
    finished, regret = expected_rows()
    assert [row["params"] for row in rows[:-1]] == [item.params for item in finished]
    assert [row["instance"] for row in rows[:-1]] == [f"{n:03d}.npz" for n in range(7)]
    assert rows[-1]["rounds"] == 7 and rows[-1]["regret"] == regret.value
    assert rows[-1]["bound"] == pytest.approx(regret.bound) and "alpha" in rows[-1]["next_params"]


def test_a_stopped_run_continues(folder, tmp_path):
    state = tmp_path / "state"
    whole = json_lines(run(folder, "--state", tmp_path / "other", "--json"))
    first = json_lines(run(folder, "--state", state, "--json", "--rounds", 3))
    second = run(folder, "--state", state, "--json")
    assert first[:-1] + json_lines(second)[:-1] == whole[:-1]
    assert "continuing after round 3" in second.stderr
    again = run(folder, "--state", state)
    assert again.exit_code == 0 and "regret" in again.stdout
    assert "for the next instance: alpha =" in again.stdout


def test_a_stream_of_paths(folder, tmp_path):
    whole = json_lines(run(folder, "--state", tmp_path / "folder", "--json"))
    paths = sorted(folder.glob("*.npz"))
    rows = []
    for part in (paths[:2], paths[2:]):
        text = "\n".join(map(str, part)) + "\n"
        result = run("-", "--state", tmp_path / "stream", "--json", input=text)
        rows += json_lines(result)[:-1]
    assert rows == whole[:-1]


def test_pictures(folder, tmp_path):
    result = run(folder, "--state", tmp_path / "state", "--plot", tmp_path / "pictures")
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert names == ["density.png", "regret.png"]


def table(path, columns):
    rows = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))


def test_tables_are_played_like_arrays(folder, tmp_path):
    (tmp_path / "tables").mkdir()
    for number, item in enumerate(INSTANCES):
        x, y = item.points.T.tolist()
        columns = {"x": x, "y": y, "label": item.target.tolist()}
        table(tmp_path / "tables" / f"{number:03d}.csv", columns)
    arrays = json_lines(run(folder, "--state", tmp_path / "a", "--json"))
    tables = json_lines(
        run(tmp_path / "tables", "--state", tmp_path / "t", "--json", "--target", "label")
    )
    assert [row["utility"] for row in tables[:-1]] == [row["utility"] for row in arrays[:-1]]
    assert tables[-1] == arrays[-1]
    np.savez(tmp_path / "tables" / "more.npz", points=item.points, target=item.target)
    mixed = run(tmp_path / "tables", "--state", tmp_path / "m", "--target", "label")
    assert mixed.exit_code == 1 and "keep one kind" in mixed.stderr


def test_a_table_is_divided_for_families_that_learn(tmp_path):
    (tmp_path / "tables").mkdir()
    for number in range(2):
        item = ct.datasets.breast_cancer_classification(1, 30, 10, random_state=number)[0]
        columns = {"a": item.X[:, 0], "b": item.X[:, 1], "y": item.y}
        table(tmp_path / "tables" / f"{number}.csv", columns)
    command = ["online", str(tmp_path / "tables"), "--state", str(tmp_path / "s"), "--json"]
    found = CliRunner().invoke(
        main, [*command, "--family", "logistic", "--standardize", "--target", "y", "--cv", "3"]
    )
    assert [row["instance"] for row in json_lines(found)[:-1]] == ["0.csv", "1.csv"]


def test_the_page_is_written_at_the_end_or_from_the_state(folder, tmp_path):
    state, page = tmp_path / "run.state", tmp_path / "page.html"
    result = run(folder, "--state", state, "--report", page)
    assert result.exit_code == 0 and f"written: {page}" in result.stdout
    assert 'id="regret"' in page.read_text()
    made = CliRunner().invoke(main, ["report", str(state)])
    assert made.exit_code == 0 and f"written: {state}.html" in made.stdout
    assert 'id="dispersion"' in (tmp_path / "run.state.html").read_text()
    opened = CliRunner().invoke(main, ["open", str(state), "--print"])
    assert opened.stdout.startswith("file:///")
    shown = CliRunner().invoke(main, ["show", str(state), "--instances"])
    assert "What did learning cost?" in shown.stdout and "006" in shown.stdout
    found = CliRunner().invoke(main, ["show", str(state), "--json"])
    assert json.loads(found.stdout)["n_rounds"] == 7


def test_a_state_that_cannot_be_reported_is_a_one_line_error(folder, tmp_path):
    state = tmp_path / "run.state"
    run(folder, "--state", state, "--rounds", 2)
    content = state.read_bytes()
    state.write_bytes(content[:200])
    result = CliRunner().invoke(main, ["report", str(state)])
    assert result.exit_code == 1 and len(result.stderr.splitlines()) == 1
    state.write_bytes(content.split(b"\n")[0] + b"\n")
    result = CliRunner().invoke(main, ["report", str(state)])
    assert result.exit_code == 1 and "no finished round" in result.stderr


def test_distances_and_k_can_be_given(tmp_path):
    instance = INSTANCES[0]
    np.savez(
        tmp_path / "a.npz", distances=instance.distances, target=instance.target, k=np.array(2)
    )
    [row, _] = json_lines(run(tmp_path, "--state", tmp_path / "state", "--json"))
    assert 0 <= row["utility"] <= 1


def test_an_empty_folder_is_refused(tmp_path):
    result = run(tmp_path, "--state", tmp_path / "state")
    assert result.exit_code == 1 and "has no CSV or .npz file" in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"points": [[0.0], [1.0], [3.0]]}, "with target"),
        ({"points": [[0.0], [1.0]], "target": [0, 1], "colour": [1]}, "must hold arrays among"),
        ({"points": [[0.0], [np.nan]], "target": [0, 1]}, "bad.npz"),
        ({"target": np.array([{}], dtype=object), "points": [[0.0]]}, "not a readable"),
    ],
)
def test_bad_files_are_one_line_errors(tmp_path, content, message):
    arrays = {name: np.asarray(values) for name, values in content.items()}
    np.savez(tmp_path / "bad.npz", **arrays)
    result = run(tmp_path, "--state", tmp_path / "state")
    assert result.exit_code == 1 and message in result.stderr
    assert "Traceback" not in result.output


def test_a_folder_that_does_not_fit_the_state_is_refused(folder, tmp_path):
    state = tmp_path / "state"
    json_lines(run(folder, "--state", state, "--json", "--rounds", 3))
    (folder / "002.npz").rename(folder / "009.npz")
    result = run(folder, "--state", state)
    assert result.exit_code == 1 and "is not the instance of round 3" in result.stderr
    for path in folder.glob("*.npz"):
        path.unlink()
    result = run(folder, "--state", state)
    assert result.exit_code == 1 and "fewer than the 3 rounds" in result.stderr
    result = run(tmp_path / "nowhere", "--state", state)
    assert result.exit_code == 1 and "is not a folder" in result.stderr


def test_bad_options_are_one_line_errors(folder, tmp_path):
    result = run(folder, "--state", tmp_path / "state", "--learner", "guess")
    assert result.exit_code == 1 and "unknown learner 'guess'" in result.stderr


# Every family

CLUSTERING = [
    {"distances": np.stack([i.distances[0], i.distances[0] ** 2]), "target": i.target}
    for i in INSTANCES
]
LABELING = [
    {"points": i.points, "labeled": i.labeled, "truth": i.truth}
    for i in ct.datasets.random_labeling(7, 2, 4, 1)
]
CLASSIFICATION = [
    {"X": i.X, "y": i.y, "X_val": i.X_val, "y_val": i.y_val}
    for i in ct.datasets.breast_cancer_classification(7, 15, 10)
]
REGRESSION = [
    {"X": i.X, "y": i.X[:, 0] - i.X[:, 1], "X_val": i.X_val, "y_val": i.X_val[:, 0]}
    for i in ct.datasets.breast_cancer_classification(7, 15, 10)
]
LOGISTIC = ["--family", "logistic", "--standardize", "--lam", "0.01", "1"]
COMMANDS = {
    "M1": (CLUSTERING, ["--kind", "min-max", "--alpha", "0.5", "4"]),
    "M2": (CLUSTERING, ["--kind", "power-mean", "--alpha", "-3", "3"]),
    "M3": (CLUSTERING, ["--kind", "product", "--alpha", "0.5", "4", "--other-alpha", "1"]),
    "graphs": (LABELING, ["--family", "labeling", "--sigma", "0.1", "2"]),
    "neighbors": (LABELING, ["--family", "labeling", "--neighbors", "3"]),
    "log-loss": (CLASSIFICATION, LOGISTIC),
    "l1": (CLASSIFICATION, [*LOGISTIC, "--penalty", "l1", "--horizon", "7"]),
    "r2": (REGRESSION, ["--family", "regression", "--penalty", "l1", "--alpha", "0.01", "10"]),
    "accuracy": (CLASSIFICATION, [*LOGISTIC, "--metric", "accuracy"]),
}


def write(folder, problems):
    folder.mkdir()
    for number, arrays in enumerate(problems):
        np.savez(folder / f"{number:03d}.npz", **arrays)
    return folder


def command(folder, state, options, *more):
    return ["online", str(folder), "--state", str(state), "--seed", "3", "--json", *options, *more]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_family_is_played_stopped_and_continued(tmp_path, name):
    problems, options = COMMANDS[name]
    folder = write(tmp_path / "instances", problems)
    whole = json_lines(CliRunner().invoke(main, command(folder, tmp_path / "whole", options)))
    assert [row["round"] for row in whole[:-1]] == list(range(1, 8))
    assert whole[-1]["regret"] >= 0 and whole[-1]["bound"] > 0
    state, parts = tmp_path / "state", []
    for more in (["--rounds", "2"], ["--rounds", "5"], []):
        found = CliRunner().invoke(main, command(folder, state, options, *more))
        parts.append(json_lines(found))
    assert sum((part[:-1] for part in parts), []) == whole[:-1] and parts[-1][-1] == whole[-1]
    paths = "".join(f"{path}\n" for path in sorted(folder.glob("*.npz")))
    stream = CliRunner().invoke(main, command("-", tmp_path / "stream", options), input=paths)
    assert json_lines(stream) == whole


# Killed by force, at chosen places of round 4: while its function is computed, when half of its
# line is on the disk, and when all of it is.

KILLED = """
import os, signal, sys
from certune.runs.journal import Journal
from certune.online.tuner import OnlineTuner
from certune.cli import main

place, append, duals = sys.argv.pop(1), Journal.append, OnlineTuner._duals

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def computed(tuner, *given):
    found = duals(tuner, *given)
    if place == "inside" and tuner.n_rounds == 3:
        die()
    return found

def written(journal, record):
    if record.get("round") != 4:
        return append(journal, record)
    before = journal._file.tell()
    append(journal, record)
    if place == "torn":
        journal._file.truncate((before + journal._file.tell()) // 2)
    die()

OnlineTuner._duals, Journal.append = computed, written
main()
"""


@pytest.mark.parametrize(
    ("place", "name", "survived"),
    [("inside", "M3", 3), ("torn", "log-loss", 3), ("after", "graphs", 4)],
)
def test_kill_minus_nine_loses_the_round_under_way_at_most(tmp_path, place, name, survived):
    problems, options = COMMANDS[name]
    folder, state = write(tmp_path / "instances", problems), tmp_path / "state"
    whole = json_lines(CliRunner().invoke(main, command(folder, tmp_path / "whole", options)))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, place, *command(folder, state, options)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    rows = [json.loads(line) for line in killed.stdout.splitlines()]
    assert rows == whole[:3]
    continued = CliRunner().invoke(main, command(folder, state, options))
    assert f"continuing after round {survived}" in continued.stderr
    assert json_lines(continued) == whole[survived:]


def test_options_of_another_family_are_refused(folder, tmp_path):
    result = run(folder, "--state", tmp_path / "state", "--sigma", 1, 2)
    assert result.exit_code == 2 and "--sigma does not belong to --family linkage" in result.stderr
    result = run(folder, "--state", tmp_path / "state", "--other-alpha", 1)
    assert result.exit_code == 1 and "--other-alpha is for --kind product" in result.stderr
    options = ["--family", "logistic", "--learner", "exponential-weights"]
    problems = write(tmp_path / "problems", CLASSIFICATION[:1])
    smooth = CliRunner().invoke(main, command(problems, tmp_path / "other", options))
    assert smooth.exit_code == 1 and "use learner='random-grid'" in smooth.stderr


def saved(path, **arrays):
    np.savez_compressed(path, **{name: np.asarray(values) for name, values in arrays.items()})
    return path.read_bytes()


def test_damaged_files_are_one_line_errors(tmp_path):
    path = tmp_path / "instances" / "bad.npz"
    path.parent.mkdir()
    rng = np.random.default_rng(0)
    whole = saved(path, points=rng.random((40, 2)), target=np.arange(40) % 2)
    flipped = bytearray(whole)
    flipped[200] ^= 0xFF
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    for content in (whole[:-30], whole[:300], bytes(flipped), buffer.getvalue(), b"", b"PK text"):
        path.write_bytes(content)
        result = run(path.parent, "--state", tmp_path / "state")
        assert result.exit_code == 1 and "bad.npz is not a readable .npz file" in result.stderr
        assert isinstance(result.exception, SystemExit) and len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("k", [[2, 2], [], 0, 2.5, 99, "two"])
def test_a_wrong_k_is_a_one_line_error(tmp_path, k):
    (tmp_path / "instances").mkdir()
    saved(tmp_path / "instances" / "bad.npz", points=[[0.0], [1.0], [3.0]], target=[0, 0, 1], k=k)
    result = run(tmp_path / "instances", "--state", tmp_path / "state")
    assert result.exit_code == 1 and "bad.npz" in result.stderr
    assert isinstance(result.exception, SystemExit) and len(result.stderr.splitlines()) == 1


def test_a_failed_command_does_not_block_the_next_one(folder, tmp_path):
    state = tmp_path / "state"
    failed = run(tmp_path / "nowhere", "--state", state, "--horizon", 9)
    assert failed.exit_code == 1
    again = json_lines(run(folder, "--state", state, "--horizon", 7, "--json"))
    assert again[-1]["rounds"] == 7


def test_a_folder_for_pictures_that_cannot_be_made_is_a_one_line_error(folder, tmp_path):
    (tmp_path / "file").write_text("")
    result = run(folder, "--state", tmp_path / "state", "--plot", tmp_path / "file" / "pictures")
    assert result.exit_code == 1 and "cannot make the folder" in result.stderr


@pytest.mark.parametrize("option", ["--report", "--plot", "--state"])
def test_an_option_is_no_path_to_write_to(run, place, option):
    told = run("online", "data", "--state", "s", option, "--json", exit_code=2).output
    assert "expected a path, got the option --json" in " ".join(told.split())
    assert not (place / "--json").exists()


def test_warnings_are_sentences_in_every_command(tmp_path):
    folder, state = write(tmp_path / "instances", COMMANDS["log-loss"][0]), tmp_path / "state"
    options = COMMANDS["log-loss"][1]
    json_lines(CliRunner().invoke(main, command(folder, state, options)))
    state.write_bytes(state.read_bytes()[:-3])
    again = subprocess.run(
        [sys.executable, "-W", "error", "-m", "certune", *command(folder, state, options)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert f"warning: the last record of {state} is not whole" in again.stderr
    assert "UserWarning" not in again.stderr
