"""Files are written as a whole, and nothing is unpacked before its size is known."""

import io
import os
import socket
import struct
import zipfile

import numpy as np
import pytest

import certune as ct
from certune.errors import InputError
from certune.files import read_arrays, read_text, write_whole


def test_arrays_come_back(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.arange(6.0).reshape(2, 3), name=np.array("one"))
    found = read_arrays(path, ("x", "name", "y"), ("x",))
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and str(found["name"]) == "one"


def test_names_are_looked_at_before_anything_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, bomb=np.zeros(10**6))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args: pytest.fail("unpacked"))
    with pytest.raises(ct.InputError, match="must hold arrays among x with x, got bomb"):
        read_arrays(path, ("x",), ("x",))
    with pytest.raises(ct.InputError, match="holds 8000128 bytes of arrays, more than"):
        read_arrays(path, ("bomb",), most=10**6)


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)


def array_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nothing",
        array_bytes(np.arange(3)).replace(b"(3,)", b"(9,)"),
        array_bytes(np.zeros(4, dtype=object)),
        array_bytes(np.arange(3))[:-1],
        array_bytes(np.arange(3)).replace(b"<i8", b"<q9"),
        b"\x93NUMPY\x07\x00" + struct.pack("<H", 2) + b"{}",
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(tmp_path, content):
    archive(tmp_path / "a.npz", x=content)
    with pytest.raises(ct.InputError, match="not a readable .npz"):
        read_arrays(tmp_path / "a.npz", ("x",))


def test_a_shape_beyond_memory_is_refused_at_once(tmp_path):
    content = array_bytes(np.arange(3.0)).replace(b"(3,)", b"(3000000000000,)")
    archive(tmp_path / "a.npz", x=content)
    with pytest.raises(ct.InputError, match="not a readable .npz"):
        read_arrays(tmp_path / "a.npz", ("x",))


def test_what_is_no_archive_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("text")
    np.save(tmp_path / "single.npy", np.zeros(3))
    for name in ("pipe", "text", "single.npy", "none", "."):
        with pytest.raises(ct.InputError):
            read_arrays(tmp_path / name, ("x",))


@pytest.mark.parametrize("seed", range(40))
def test_damaged_archives_are_refused_or_read(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.arange(50.0), y=np.array([[1, 2], [3, 4]]))
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 6))):
        content[rng.integers(len(content))] = rng.integers(256)
    path.write_bytes(content[: rng.integers(len(content) // 2, len(content) + 1)])
    try:
        found = read_arrays(path, ("x", "y"))
    except ct.InputError:
        return
    assert set(found) <= {"x", "y"}


def test_texts_have_a_limit(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert read_text(path, 100) == b"x" * 100
    with pytest.raises(ct.InputError, match="has 100 bytes, more than the 99"):
        read_text(path, 99)


def test_a_read_only_folder_is_said(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ct.InputError, match="cannot write .*: Permission denied"):
        write_whole(tmp_path / "a", b"")


@pytest.mark.parametrize("kind", ["pipe", "socket", "link to itself"])
def test_what_is_no_plain_file_is_never_replaced(tmp_path, kind, monkeypatch):
    """A renamed file would take the place of a device, for root even of ``/dev/null``."""
    monkeypatch.chdir(tmp_path)  # addresses of sockets are short
    if kind == "pipe":
        os.mkfifo("special")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("special")
    else:
        os.symlink("special", "special")
    before = os.lstat("special")
    with pytest.raises(InputError, match="no plain file"):
        write_whole("special", b"content")
    assert (os.lstat("special").st_mode, os.lstat("special").st_ino) == (
        before.st_mode,
        before.st_ino,
    )
    assert os.listdir() == ["special"]


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot write 'a\\x00b': .*embedded null"):
        write_whole("a\0b", b"")
    with pytest.raises(InputError, match=r"cannot read 'a\\x00b': .*embedded null"):
        read_text("a\0b")
    with pytest.raises(InputError, match="embedded null"):
        ct.save_instances([1.0], "a\0b")
    with pytest.raises(InputError, match="embedded null"):
        ct.OnlineTuner(ct.testing.StepFamily(), 5, 0, state="a\0b")
