"""Files that are written as a whole, and read within limits.

A reader decides how much it takes in before it does: the size of a text, and the names, shapes and
sizes of arrays, which the directory of an archive and the headers in it say without unpacking.
"""

from __future__ import annotations

import math
import os
import stat
import struct
import tokenize
import uuid
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.errors import InputError

# No text is read that is longer, and no archive unpacked that holds more bytes than that.
MOST_TEXT = 2**30
MOST_ARRAYS = 2**32
PIECE = 2**20  # bytes that are read at once
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file under a temporary name, and rename it when it is on the disk.

    A symbolic link stays, and what it points to is replaced. Pipes and devices are never replaced.

    Raises
    ------
    InputError
        If it cannot be written, or is no plain file; what exists is as it was then.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"cannot write to {path!r}: expected the path of a file")
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a name that no file can have
        raise InputError(f"cannot write {path!r}: {error}") from None
    _refuse_special(path, target)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(target.parent)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; what was there is unchanged"
        ) from error


def _refuse_special(path: str | os.PathLike[str], target: Path) -> None:
    """Refuse what a renamed file would take the place of: a pipe, a device, a link to itself."""
    try:
        kind = os.lstat(target).st_mode
    except OSError:
        return
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # renaming refuses folders by itself
        raise InputError(
            f"cannot write {path}: it is no plain file; choose another name, what was there is "
            "unchanged"
        )


def sync_directory(folder: str | os.PathLike[str]) -> None:
    """Force the names of a folder to the disk, so that a new or renamed file survives a power cut.

    Some file systems cannot do that, and do not have to.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def read_text(path: str | os.PathLike[str], most: int = MOST_TEXT) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InputError
        If it cannot be read, is no plain file, or is longer than `most` bytes.
    """
    try:
        with open(path, "rb", buffering=0, opener=_opened_at_once) as file:
            kind = os.fstat(file.fileno())
            if not stat.S_ISREG(kind.st_mode):
                raise InputError(f"cannot read {path}: it is no plain file")
            if kind.st_size > most:
                raise InputError(
                    f"cannot read {path}: it has {kind.st_size} bytes, more than the {most} that "
                    "are read"
                )
            # A file may grow while it is read; memory is taken for what is there, not for `most`.
            content = bytearray()
            while piece := file.read(min(PIECE, most + 1 - len(content))):
                content += piece
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # a name that no file can have
        raise InputError(f"cannot read {os.fspath(path)!r}: {error}") from None
    return bytes(content)


def _opened_at_once(path: str, flags: int) -> int:
    # Opening a pipe would wait for somebody to write to it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_arrays(
    path: str | os.PathLike[str],
    names: Collection[str],
    required: Collection[str] = (),
    most: int = MOST_ARRAYS,
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an ``.npz`` file, without pickled objects.

    Parameters
    ----------
    path : path
        The file.
    names, required : collection of str
        Arrays that it can have, and those that it must have.
    most : int, optional
        Bytes of arrays that it can have.

    Raises
    ------
    InputError
        If the file cannot be read, has other arrays, or holds more than `most` bytes;
        nothing is unpacked then.
    """
    read_size = 0
    try:
        with zipfile.ZipFile(_plain_file(path)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if len(members) < len(archive.infolist()):
                raise InputError(f"{path} holds two arrays of the same name")
            if not set(required) <= set(members) <= set(names):
                raise InputError(
                    f"{path} must hold arrays among {', '.join(names)} with "
                    f"{', '.join(required) or 'none in particular'}, got "
                    f"{', '.join(sorted(members)[:20]) or 'none'}"
                )
            read_size = sum(info.file_size for info in members.values())
            if read_size > most:
                raise InputError(
                    f"{path} holds {read_size} bytes of arrays, more than the {most} that are read"
                )
            return {name: _array(archive, info) for name, info in members.items()}
    except _UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a readable .npz file of arrays: {error}") from None
    except MemoryError:
        raise InputError(
            f"{path} holds {read_size} bytes of arrays, more than memory has"
        ) from None


def _plain_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a plain file; a pipe would block, a device would not end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise InputError(f"cannot read {path}: it is no plain file")
    return Path(path)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return one array, after its header was compared with the size in the directory."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if reader is None:
            raise ValueError(f"{info.filename} has the version {version} of the format")
        shape, _, dtype = reader(file)
        if dtype.hasobject:
            raise ValueError(f"{info.filename} holds pickled objects, which are not read")
        if math.prod(shape) * dtype.itemsize != info.file_size - file.tell():
            raise ValueError(f"{info.filename} does not have the size that its header says")
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
