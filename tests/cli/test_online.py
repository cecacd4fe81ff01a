"""``certune online`` learns from a folder or a stream, stops and continues."""

import json

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
    command = ["online", *map(str, arguments), "--alpha", "-4", "4", "--seed", "3"]
    return CliRunner().invoke(main, command, **options)


def json_lines(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def expected_rows():
    tuner = ct.OnlineTuner(ct.Linkage("power-mean", alpha=(-4, 4)), random_state=3)
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


def test_distances_and_k_can_be_given(tmp_path):
    instance = INSTANCES[0]
    np.savez(
        tmp_path / "a.npz", distances=instance.distances, target=instance.target, k=np.array(2)
    )
    [row, _] = json_lines(run(tmp_path, "--state", tmp_path / "state", "--json"))
    assert 0 <= row["utility"] <= 1


def test_an_empty_folder_plays_nothing(tmp_path):
    result = run(tmp_path, "--state", tmp_path / "state")
    assert result.exit_code == 0 and "no round was played" in result.stderr


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
