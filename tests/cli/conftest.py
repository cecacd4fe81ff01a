"""Small files of data, as a user would have them."""

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import certune as ct
from certune.cli import main


@pytest.fixture
def run():
    """Return a function that runs the command line in this process."""

    def invoke(*arguments, exit_code=0, **options):
        result = CliRunner().invoke(main, list(map(str, arguments)), **options)
        shown = f"{result.output}\n{result.exception!r}"
        assert result.exit_code == exit_code, shown
        # What is refused on purpose is one line, never a traceback.
        assert result.exception is None or isinstance(result.exception, SystemExit), shown
        return result

    return invoke


def write_table(path, columns):
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with data/*.csv and other small tables, and go there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    everything = {"x": [], "y": [], "site": [], "label": []}
    instances = ct.datasets.random_clustering(8, n_clusters=3, n_per_cluster=5, spread=0.35)
    for number, instance in enumerate(instances):
        x, y = instance.points.T
        label = [f"c{code}" for code in instance.target]
        write_table(tmp_path / "data" / f"d{number}.csv", {"x": x, "y": y, "label": label})
        everything["x"] += list(x)
        everything["y"] += list(y)
        everything["site"] += [f"s{number}"] * len(x)
        everything["label"] += label
    write_table(tmp_path / "all.csv", everything)
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    columns = {f"x{k}": X[:150, k] for k in range(4)}
    write_table(tmp_path / "train.csv", {**columns, "y": np.where(y[:150], "benign", "malignant")})
    X, y = load_diabetes(return_X_y=True)
    columns = {f"x{k}": X[:90, k] for k in range(4)}
    write_table(tmp_path / "houses.csv", {**columns, "price": y[:90]})
    X, y = load_iris(return_X_y=True)
    write_table(
        tmp_path / "points.csv",
        {**{f"p{k}": X[::5, k] for k in range(4)}, "label": y[::5]},
    )
    return tmp_path
