"""Instances from files that are read one after the other, or in pieces."""

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import certune as ct
from certune.data import streaming


def columns(n_groups, seed=0):
    rng = np.random.default_rng(seed)
    label = np.tile(np.repeat(["a", "b"], 4), n_groups)
    return {
        "site": np.repeat([f"site {number}" for number in range(n_groups)], 8),
        "x": rng.normal(size=8 * n_groups) + (label == "b"),
        "y": rng.normal(size=8 * n_groups),
        "label": label,
    }


def write(path, data):
    parquet.write_table(pyarrow.table(data), path)
    return path


@pytest.mark.parametrize("piece", [3, 8, 1000])
def test_a_table_is_read_in_pieces(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(streaming, "PIECE", piece)
    data = columns(5)
    path = write(tmp_path / "all rows.parquet", data)
    found = list(ct.read_stream(path, target="label", group="site"))
    expected = ct.from_frame(data, target="label", group="site")
    assert [item.name for item in found] == [item.name for item in expected]
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.distances, other.distances)
        assert np.array_equal(one.target, other.target)


def test_a_folder_is_read_file_by_file(tmp_path):
    for number in range(3):
        data = columns(1, number)
        write(tmp_path / f"{number}.parquet", {n: c for n, c in data.items() if n != "site"})
    rows = zip(*(columns(1, 7)[name] for name in ("x", "y", "label")), strict=True)
    text = "x,y,label\n" + "".join(f"{x},{y},{label}\n" for x, y, label in rows)
    (tmp_path / "ä last.csv").write_text(text)
    (tmp_path / "._ä last.csv").write_bytes(b"\0\5\x16\7")  # as macOS leaves them
    (tmp_path / "older.csv").mkdir()
    stream = ct.read_stream(tmp_path, target="label")
    assert next(stream).name == "0"
    assert [item.name for item in stream] == ["1", "2", "ä last"]
    result = ct.tune_stream(ct.Linkage(alpha=(0, 2)), ct.read_stream(tmp_path, target="label"))
    assert result.n_instances == 4 and result.status is ct.Status.OPTIMAL


def test_groups_that_do_not_stand_together_are_refused(tmp_path):
    data = columns(2)
    order = [*range(8), *range(8, 16)]
    order[0], order[15] = order[15], order[0]
    path = write(tmp_path / "mixed.parquet", {name: c[order] for name, c in data.items()})
    with pytest.raises(ct.InputError, match=r"mixed.parquet: rows of group 'site .' do not stand"):
        list(ct.read_stream(path, target="label", group="site"))


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(ct.InputError, match="bad.parquet is not a readable Parquet file"):
        list(ct.read_stream(tmp_path, target="label"))
    with pytest.raises(ct.InputError, match="there is no file"):
        ct.read_stream(tmp_path / "none.parquet", target="label")
    path = write(tmp_path / "good.parquet", columns(1))
    with pytest.raises(ct.InputError, match="has no column 'place'"):
        list(ct.read_stream(path, target="label", group="place"))
    write(path, {name: cells[:0] for name, cells in columns(1).items()})
    with pytest.raises(ct.InputError, match="has no rows"):
        list(ct.read_stream(path, target="label"))


def test_files_that_cannot_be_read_are_left_out_where_asked(tmp_path):
    for name in ("a", "c"):
        write(tmp_path / f"{name}.parquet", columns(1))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nonsense")
    family, options = ct.Linkage(alpha=(0, 2)), {"target": "label", "features": ["x", "y"]}
    stream = ct.read_stream(tmp_path, on_error="skip", **options)
    result = ct.tune_stream(family, stream, on_error="skip")
    assert (result.n_instances, result.n_failed) == (3, 1)
    [(name, why)] = result.failures.items()
    assert name == "instance 1" and "b.parquet is not a readable" in why
    with pytest.raises(ct.InputError, match=r"b\.parquet is not a readable"):
        ct.tune_stream(family, ct.read_stream(tmp_path, on_error="skip", **options))
    with pytest.raises(ct.ParameterError, match="on_error must be 'raise' or 'skip'"):
        ct.read_stream(tmp_path, on_error="ignore", **options)


def test_a_folder_of_arrays_is_read_file_by_file(tmp_path):
    instances = ct.datasets.random_clustering(4, random_state=0)
    ct.save_instances(instances, tmp_path / "ä b")
    stream = ct.read_stream(tmp_path / "ä b")
    found = next(stream)
    assert found == instances[0] and found.name == "000000"
    assert list(stream) == instances[1:]
    result = ct.tune_stream(ct.Linkage(alpha=(0, 2)), ct.read_stream(tmp_path / "ä b"))
    assert result.landscape == ct.tune(ct.Linkage(alpha=(0, 2)), instances).landscape
    [alone] = ct.read_stream(str(tmp_path / "ä b" / "*2.npz"))
    assert alone == instances[2]


def test_files_are_read_when_they_are_reached(tmp_path):
    ct.save_instances(ct.datasets.random_clustering(2, random_state=0), tmp_path / "in")
    (tmp_path / "in" / "000001.npz").write_bytes(b"PK nonsense")
    stream = ct.read_stream(tmp_path / "in")
    assert next(stream).n_points > 1
    with pytest.raises(ct.InputError, match=r"000001.npz is not a readable .npz file"):
        next(stream)


def test_points_get_metrics_and_k_from_options(tmp_path):
    points = np.arange(12.0).reshape(6, 2) ** 2
    np.savez(tmp_path / "a.npz", points=points, target=["u", "v"] * 3)
    np.savez(tmp_path / "b.npz", points=points, target=[0, 1] * 3, k=3, metrics=["l1", "l2"])
    one, two = ct.read_stream(tmp_path, metrics="cityblock", k=4)
    assert (one.metric_names, one.k) == (("cityblock",), 4)
    assert (two.metric_names, two.k) == (("l1", "l2"), 3)


@pytest.mark.parametrize(
    ("task", "arrays", "family"),
    [
        (
            "labeling",
            {"points": [[0.0], [1.0], [5.0], [6.0]], "labeled": [0, 2], "truth": [0, 0, 1, 1]},
            ct.HarmonicLabeling(sigma=(0.5, 2)),
        ),
        (
            "regression",
            {"X": [[0.0], [1.0], [2.0]], "y": [0.0, 1.0, 2.5], "X_val": [[3.0]], "y_val": [3.0]},
            ct.RegularizedRegression(alpha=(0.1, 10), metric="squared-error", max_error=20.0),
        ),
    ],
)
def test_arrays_of_other_tasks(tmp_path, task, arrays, family):
    np.savez(tmp_path / "first.npz", **arrays)
    [instance] = ct.read_stream(tmp_path, task=task)
    assert instance.name == "first"
    assert ct.tune_stream(family, [instance]).n_instances == 1


def test_what_is_for_tables_is_refused_for_arrays(tmp_path):
    ct.save_instances(ct.datasets.random_clustering(1), tmp_path / "in")
    with pytest.raises(ct.ParameterError, match="target, group is for columns of tables"):
        ct.read_stream(tmp_path / "in", target="label", group="site")
    with pytest.raises(ct.ParameterError, match="standardize is for tables; .* options metrics, k"):
        ct.read_stream(tmp_path / "in", standardize=True)
    (tmp_path / "in" / "a.csv").write_text("x,label\n1,2\n")
    with pytest.raises(ct.InputError, match="tables and .npz files, .*000000.npz among them"):
        ct.read_stream(tmp_path / "in")
    with pytest.raises(ct.ParameterError, match=r"which column of .*a.csv has the labels"):
        ct.read_stream(tmp_path / "in" / "a.csv")


def test_large_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "MOST_BYTES", 1000)
    np.savez_compressed(tmp_path / "zeros.npz", points=np.zeros((100, 2)), target=np.zeros(100))
    with pytest.raises(ct.InputError, match=r"zeros.npz holds \d+ bytes .* more than the 1000"):
        list(ct.read_stream(tmp_path))


@pytest.mark.parametrize("named", [None, "row"])
def test_the_index_of_a_frame_is_no_feature(tmp_path, named):
    pandas = pytest.importorskip("pandas")
    data = columns(3)
    frame = pandas.DataFrame(data, index=pandas.Index(np.arange(100, 124), name=named))
    frame.to_parquet(tmp_path / "all.parquet")
    expected = ct.from_frame(data, target="label", group="site")
    found = list(ct.read_stream(tmp_path / "all.parquet", target="label", group="site"))
    assert [item.fingerprint for item in found] == [item.fingerprint for item in expected]
    if named:
        asked = {"target": "label", "group": "site", "features": ["row", "x"]}
        (first, *_) = ct.read_stream(tmp_path / "all.parquet", **asked)
        assert first.points[:, 0].tolist() == list(range(100, 108))


def test_a_row_without_a_group_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "PIECE", 5)
    data = columns(2)
    data["site"] = data["site"].astype(object)
    data["site"][11] = None
    path = write(tmp_path / "some.parquet", data)
    with pytest.raises(ct.InputError, match="row 12, column 'site': the value is missing; give"):
        list(ct.read_stream(path, target="label", group="site"))
