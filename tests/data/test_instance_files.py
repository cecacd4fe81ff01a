"""Instances as plain files."""

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import certune as ct


@dataclass(frozen=True)
class Level:
    height: Fraction
    tags: tuple[str, ...]
    name: str | None = None


def test_clustering_problems_can_be_read_without_certune(tmp_path):
    instance = ct.datasets.random_clustering(1, random_state=0)[0]
    (path,) = ct.save_instances([instance], tmp_path / "new" / "folder")
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["distances"], instance.distances)
        again = ct.ClusteringInstance(
            distances=arrays["distances"], target=arrays["target"], k=int(arrays["k"])
        )
    assert again.fingerprint == instance.fingerprint


def test_instances_of_programs_are_tagged_json(tmp_path):
    values = [Level(Fraction(1, 3), ("a",), "left out"), 2.5, {"x": [1, np.int64(2)]}]
    paths = ct.save_instances(values, tmp_path)
    assert [path.name for path in paths] == ["000000.json", "000001.json", "000002.json"]
    fields = {"height": {"fraction": "0x1/0x3"}, "tags": {"tuple": ["a"]}}
    stored = [json.loads(path.read_text()) for path in paths]
    assert stored == [{"record": ["Level", fields]}, 2.5, {"mapping": [["x", {"list": [1, 2]}]]}]


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path):
    for hostile in (object(), len, 1j, np.array([None])):
        with pytest.raises(ct.InputError, match="cannot be written as plain data"):
            ct.save_instances([1, hostile], tmp_path)
    endless = []
    endless.append(endless)
    with pytest.raises(ct.InputError, match="nested deeper"):
        ct.save_instances([endless], tmp_path)
    with pytest.raises(ct.InputError, match="no target"):
        ct.save_instances([ct.ClusteringInstance([[0.0], [1.0]], k=1)], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_refused(tmp_path):
    ct.save_instances([1], tmp_path)
    with pytest.raises(ct.InputError, match="000000.json"):
        ct.save_instances([2], tmp_path)
    with pytest.raises(ct.InputError, match="cannot write to"):
        ct.save_instances([2], tmp_path / "000000.json")
