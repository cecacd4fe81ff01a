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
