"""Journals notice what happens to their file; locks name their owner and end with it."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace

import pytest

import certune as ct
from certune.runs import Journal, Lock, journal, lock
from certune.runs.lock import Owner, read_owner

HEADER = {"format": "certune test 1"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def opened(path):
    made = Journal(path)
    assert list(made.records()) == []
    made.append(HEADER)
    yield made
    made.close()


def stored(path):
    with_lock = Journal(path)
    try:
        return list(with_lock.records())
    finally:
        with_lock.close()


def test_records_come_back(opened, path):
    opened.append({"a": 0.1})
    opened.close()
    assert stored(path) == [HEADER, {"a": 0.1}]
    assert sorted(os.listdir(path.parent)) == ["journal"]


@pytest.mark.parametrize("change", ["unlink", "replace"])
def test_a_file_that_goes_away_is_noticed(opened, path, change):
    if change == "unlink":
        path.unlink()
    else:
        path.with_name("other").write_text("other")
        path.with_name("other").replace(path)
    with pytest.raises(ct.InputError, match="was deleted or replaced"):
        opened.append({})


@pytest.mark.parametrize("kind", ["pipe", "/dev/full", "/dev/null"])
def test_what_is_no_plain_file_is_refused(tmp_path, kind):
    target = kind
    if kind == "pipe":
        target = tmp_path / "pipe"
        os.mkfifo(target)
    with pytest.raises(ct.InputError, match="it is no plain file"):
        Journal(target)


def _write(opened, answers):
    try:
        opened.append({"from": "child"})
        answers.put("written")
    except ct.InputError as error:
        answers.put(str(error))
    opened.close()


def test_a_forked_writer_is_refused(opened, path):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_write, args=(opened, answers))
    child.start()
    assert "of which this one is a copy" in answers.get(timeout=60)
    child.join()
    opened.append({"from": "parent"})
    opened.close()
    assert stored(path) == [HEADER, {"from": "parent"}]


def test_an_idle_journal_reaches_the_disk(opened, monkeypatch):
    monkeypatch.setattr(journal, "SYNC_SECONDS", 0.05)
    synced = threading.Event()
    original = Journal.sync
    monkeypatch.setattr(Journal, "sync", lambda self: (original(self), synced.set()))
    opened._timer.cancel()
    opened._timer = None
    opened._synced = time.monotonic() + 1000
    opened.append({"a": 1})
    assert synced.wait(timeout=30)


def test_a_disk_that_fails_in_the_background_is_said(opened, monkeypatch):
    def fail(self):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "sync", fail)
        opened._sync_in_background()
    with pytest.raises(ct.InputError, match="cannot force .* Input/output error"):
        opened.append({})


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "journal")
    made = Journal(link)
    list(made.records())
    made.append(HEADER)
    with pytest.raises(ct.InputError, match="in use by process"):
        Journal(tmp_path / "there" / "journal")
    made.close()
    assert link.is_symlink() and stored(tmp_path / "there" / "journal") == [HEADER]


# Locks


def test_a_lock_names_its_owner(tmp_path):
    held = Lock(tmp_path / "lock", "the run")
    with pytest.raises(ct.InputError, match=f"the run is in use by process {os.getpid()} on "):
        Lock(tmp_path / "lock", "the run")
    held.check()
    held.release()
    assert os.listdir(tmp_path) == []
    Lock(tmp_path / "lock", "the run").release()


HOLDER = """
import sys, time
from certune.runs import Lock
held = Lock(sys.argv[1], "the run")
print(1, flush=True)
time.sleep(600)
"""


def test_the_lock_of_a_killed_process_ends(tmp_path):
    path = tmp_path / "lock"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], env=environment, stdout=subprocess.PIPE
    )
    assert holder.stdout.readline() == b"1\n"
    with pytest.raises(ct.InputError, match=f"in use by process {holder.pid}"):
        Lock(path, "the run")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    taken = Lock(path, "the run")
    assert read_owner(path) == taken.owner
    taken.release()


def left_behind(path, age=0.0, **changes):
    owner = replace(Owner.here(), token="other", **changes)
    path.write_text(json.dumps(asdict(owner)))
    then = time.time() - age
    os.utime(path, (then, then))
    return owner


def test_a_number_that_is_used_again_is_another_process(tmp_path):
    left_behind(tmp_path / "lock", birth="1")
    Lock(tmp_path / "lock", "the run").release()


def test_other_machines_are_believed_for_a_minute(tmp_path):
    path = tmp_path / "lock"
    left_behind(path, age=5.0, machine="elsewhere", host="elsewhere", pid=1)
    with pytest.raises(ct.InputError, match="in use by process 1 on elsewhere since"):
        Lock(path, "the run")
    left_behind(path, age=lock.STALE_SECONDS + 1, machine="elsewhere")
    Lock(path, "the run").release()
    left_behind(path, age=-86_400.0, machine="elsewhere")  # the clock of the disk was put back
    Lock(path, "the run").release()
    path.write_text("torn {")
    with pytest.raises(ct.InputError, match="in use by an unknown process"):
        Lock(path, "the run")
    os.utime(path, (0, 0))
    Lock(path, "the run").release()


def test_a_lock_that_was_taken_over_is_noticed(tmp_path):
    held = Lock(tmp_path / "lock", "the run")
    left_behind(tmp_path / "lock", machine="elsewhere")
    with pytest.raises(ct.InputError, match="was taken over"):
        held.check()
    held.release()
    assert read_owner(tmp_path / "lock").machine == "elsewhere"


def test_one_of_many_takes_a_lock_that_was_left_behind(tmp_path):
    path = tmp_path / "lock"
    for _ in range(20):
        left_behind(path, birth="1")
        held, refused = [], []

        def take(held=held, refused=refused):
            try:
                held.append(Lock(path, "the run"))
            except ct.InputError:
                refused.append(1)

        threads = [threading.Thread(target=take) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(held) == 1 and len(refused) == 5
        held[0].release()
        assert os.listdir(tmp_path) == []


def test_a_disk_without_hard_links_is_locked_too(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    held = Lock(tmp_path / "lock", "the run")
    with pytest.raises(ct.InputError, match="in use"):
        Lock(tmp_path / "lock", "the run")
    held.release()


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(ct.InputError, match="cannot lock the run: No such file"):
        Lock(tmp_path / "none" / "lock", "the run")


def test_drafts_of_killed_processes_are_swept(tmp_path):
    left_behind(tmp_path / "lock.dead", birth="1")
    left_behind(tmp_path / "lock.elsewhere", machine="elsewhere")
    (tmp_path / "lock.txt").write_text("a user's file")
    held = Lock(tmp_path / "lock", "the run")
    assert sorted(os.listdir(tmp_path)) == ["lock", "lock.elsewhere", "lock.txt"]
    held.release()
