"""Searches over several parameters with a run directory: killed, damaged, continued, and read."""

import json
import os
import random
import re
import shutil
from fractions import Fraction

import joblib
import numpy as np
import pytest

import certune as ct
from certune.tuning.work.search_steps import number_data, number_from


def instance(seed):
    rng = np.random.default_rng(seed)
    target = np.arange(9) % 3
    sets = [rng.normal(size=(9, 2)) * (1 + i) + 0.8 * target[:, None] for i in range(2)]
    distances = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in sets]
    return ct.ClusteringInstance(distances=distances, target=target, k=3, name=f"number {seed}")


INSTANCES = [instance(seed) for seed in (4, 7)]


class Counting(ct.Linkage):
    """Counts bounds on boxes, runs and functions."""

    calls: list = []
    fingerprint = ct.Linkage.fingerprint

    def bound_on_box(self, instance, box, reuse=None):
        self.calls.append(("bound", instance.name))
        return super().bound_on_box(instance, box, reuse)

    def run_exact(self, instance, params):
        self.calls.append(("run", instance.name))
        return super().run_exact(instance, params)

    def dual(self, instance, along=None):
        self.calls.append(("function", instance.name))
        return super().dual(instance, along)


@pytest.fixture(scope="module")
def family():
    return Counting(alpha=(-2, 3), weights="tune", n_metrics=2)


def told(result):
    """Everything that two equal results have in common."""
    return (
        result.status,
        result.best_params,
        result.best_value_exact,
        result.upper_bound_exact,
        result.baselines,
        result.n_nodes,
        result.n_lines,
        result.proved_cover,
        result.certificate.checksum,
    )


@pytest.fixture(scope="module")
def whole(family):
    return ct.tune(family, INSTANCES)


@pytest.fixture(scope="module")
def finished(family, whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "a run, ä"
    assert told(ct.tune(family, INSTANCES, run_dir=folder)) == told(whole)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


def steps_of(folder):
    (path,) = folder.glob("search-*.jsonl")
    return path


def test_a_finished_search_only_runs_the_defaults_again(family, whole, folder):
    assert whole.status is ct.Status.OPTIMAL and whole.n_nodes > 50
    family.calls.clear()
    assert told(ct.tune(family, INSTANCES, run_dir=folder)) == told(whole)
    assert {kind for kind, _ in family.calls} <= {"run"}


def test_a_killed_search_ends_as_if_nothing_had_happened(family, whole, folder):
    """The file of a process that was killed is the beginning of the file, up to any byte."""
    path = steps_of(folder)
    content = path.read_bytes()
    bounds = len(family.calls)
    draw = random.Random(3)
    for end in sorted(draw.randrange(len(content)) for _ in range(4)):
        path.write_bytes(content[:end])
        family.calls.clear()
        with pytest.warns(UserWarning, match="is not whole"):
            assert told(ct.tune(family, INSTANCES, run_dir=folder)) == told(whole)
        assert path.read_bytes() == content
        bounds = sum(kind == "bound" for kind, _ in family.calls)
    assert 0 < bounds


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stopped_search_is_continued(family, whole, tmp_path, n_jobs):
    for n_nodes in (0, 30, 60):
        part = ct.tune(
            family,
            INSTANCES,
            run_dir=tmp_path,
            callbacks=[lambda state, least=n_nodes: state.n_nodes >= least],
            n_jobs=n_jobs,
        )
        assert part.status is ct.Status.STOPPED
    assert told(ct.tune(family, INSTANCES, run_dir=tmp_path, n_jobs=n_jobs)) == told(whole)


def test_limits_end_a_search_but_do_not_change_it(family, whole, tmp_path):
    part = ct.tune(family, INSTANCES, run_dir=tmp_path, max_nodes=20)
    assert part.status is ct.Status.NODE_LIMIT
    assert ct.load(tmp_path).status is ct.Status.NODE_LIMIT
    part = ct.tune(family, INSTANCES, run_dir=tmp_path, gap=0.2)
    assert told(ct.tune(family, INSTANCES, run_dir=tmp_path)) == told(whole)


@pytest.mark.parametrize("harm", ["flip", "swap", "result", "foreign", "header"])
def test_what_is_damaged_is_set_aside_and_done_again(family, whole, folder, harm):
    path = steps_of(folder)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    if harm == "flip":
        lines[-2] = lines[-2].replace(b"e", b"f", 1)
    elif harm == "swap":
        lines[6], lines[7] = lines[7], lines[6]
    elif harm == "result":
        lines[5] = sealed({**json.loads(lines[5][9:]), "result": [3, "x"]})
    elif harm == "foreign":
        lines = [b"mine\n"]
    else:
        lines[0] = sealed({"format": "certune search 1", "search": "other"})
    path.write_bytes(b"".join(lines))
    family.calls.clear()
    with pytest.warns(UserWarning, match="moved to .*aside.* done again"):
        assert told(ct.tune(family, INSTANCES, run_dir=folder)) == told(whole)
    if harm == "flip":  # all steps before the damage are kept
        assert sum(kind == "bound" for kind, _ in family.calls) < whole.n_nodes / 4
    assert path.read_bytes() == content and len(os.listdir(folder / "aside")) == 1


def sealed(record):
    import zlib

    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_other_instances_and_seeds_are_other_searches(family, folder):
    ct.tune(family, INSTANCES[:1], run_dir=folder, max_nodes=1)
    ct.tune(family, INSTANCES, run_dir=folder, random_state=1, max_nodes=1)
    ct.tune(family, INSTANCES, run_dir=folder, method="line-search")
    assert len([*folder.glob("search-*.jsonl")]) == 4


def test_load_needs_neither_family_nor_instances(family, whole, folder):
    stored = ct.load(folder)
    assert stored.status is ct.Status.OPTIMAL
    assert stored.best_value_exact == whole.best_value_exact
    assert stored.upper_bound == whole.upper_bound and stored.best_value == whole.best_value
    assert family.run_exact(INSTANCES[0], stored.best_params) == whole.evaluation.utilities[0]
    assert stored.n_boxes > 50 and "boxes" in str(stored)
    assert stored.certificate == whole.certificate
    assert ct.verify(folder, family, INSTANCES).optimal
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    killed = ct.load(folder)
    assert killed.status is None and killed.upper_bound == 1.0
    assert killed.best_value == whole.best_value


def test_processes_give_the_same(family, whole):
    with joblib.parallel_config(backend="loky"):
        away = ct.tune(ct.Linkage(alpha=(-2, 3), weights="tune", n_metrics=2), INSTANCES, n_jobs=2)
    assert told(away)[:-1] == told(whole)[:-1]


@pytest.mark.parametrize(
    "number", [0.1, 0.0, float("inf"), Fraction(-7, 3), Fraction(0), Fraction(2, 3**700)]
)
def test_numbers_survive(number):
    stored = json.loads(json.dumps(number_data(number)))
    back = number_from(stored)
    assert back == number and type(back) is type(number)


@pytest.mark.parametrize("kind", ["flipped", "foreign", "a folder"])
def test_loading_a_damaged_search_says_which_file_and_what_mends_it(tmp_path, kind):
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] >= x else 0, space)
    ct.tune(family, [0.5, 1.5], run_dir=tmp_path)
    (steps,) = tmp_path.glob("search-*.jsonl")
    content = bytearray(steps.read_bytes())
    if kind == "a folder":
        steps.unlink()
        steps.mkdir()
    else:
        content[len(content) // 2] ^= 1
        steps.write_bytes(content if kind == "flipped" else b"mine\n" * 9)
    with pytest.raises(ct.InputError, match=re.escape(str(steps))) as caught:
        ct.load(tmp_path)
    text = str(caught.value)
    assert "events that are none" not in text and "backup" not in text and "delete" not in text
    assert kind == "a folder" or "the call that made the run sets it aside" in text
