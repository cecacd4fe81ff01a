"""Instances as plain files that other programs can read, such as ``certune-check``."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certune.checks import as_list, as_path
from certune.errors import InputError
from certune.families.linkage import ClusteringInstance
from certune.files import write_whole

DEEPEST = 100


def save_instances(instances: Iterable[Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Write instances to files that need neither certune nor pickle to be read.

    Parameters
    ----------
    instances : iterable
        Clustering problems, or instances of programs: numbers, strings, arrays, and tuples, lists,
        mappings, sets and dataclasses of these.
    folder : path
        Where to write; made if it is not there, and otherwise empty.

    Returns
    -------
    list of Path
        The files, in the order of the instances, which is that of their names: ``000000.npz`` with
        ``distances``, ``target`` and ``k``, or ``000000.json``.

    Raises
    ------
    InputError
        If an instance has other parts, or a file cannot be written.

    Examples
    --------
    >>> import certune as ct, tempfile
    >>> instances = ct.datasets.random_clustering(2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in ct.save_instances(instances, folder)]
    ['000000.npz', '000001.npz']
    """
    target = as_path("folder", folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        there = next(target.iterdir(), None)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from error
    except ValueError as error:  # a name that no folder can have
        raise InputError(f"cannot write to {folder!r}: {error}") from None
    if there is not None:
        raise InputError(
            f"{folder} has files already, such as {there.name}, which would be taken for "
            "instances: pass a new or empty folder"
        )
    contents = [_content(instance) for instance in as_list("instances", instances)]
    paths = []
    for number, (suffix, content) in enumerate(contents):
        paths.append(target / f"{number:06}{suffix}")
        write_whole(paths[-1], content)
    return paths


def _content(instance: Any) -> tuple[str, bytes]:
    if not isinstance(instance, ClusteringInstance):
        return ".json", json.dumps(_plain(instance, 0), allow_nan=False).encode("ascii")
    if instance.target is None:
        raise InputError(f"{instance!r} has no target, so that nothing was tuned on it")
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, distances=instance.distances, target=instance.target, k=np.array(instance.k)
    )
    return ".npz", buffer.getvalue()


def _plain(value: Any, depth: int) -> Any:
    """Return JSON data for a value; ``checker/README.md`` says what they mean."""
    if depth > DEEPEST:
        raise InputError(f"a {type(value).__name__} is nested deeper than {DEEPEST} levels")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Fraction):
        return {"fraction": f"{value.numerator:#x}/{value.denominator:#x}"}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        entries = [_plain(entry, depth) for entry in value.ravel().tolist()]
        return {"array": [value.dtype.str, list(value.shape), entries]}
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(part, depth + 1) for part in value]}
    if isinstance(value, Mapping):
        pairs = [[_plain(key, depth + 1), _plain(part, depth + 1)] for key, part in value.items()]
        return {"mapping": pairs}
    if isinstance(value, Set):
        return {"set": [_plain(part, depth + 1) for part in value]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name != "name"]
        fields = {name: _plain(getattr(value, name), depth + 1) for name in names}
        return {"record": [type(value).__name__, fields]}
    raise InputError(
        f"{value!r} of type {type(value).__name__} cannot be written as plain data: use numbers, "
        "strings, arrays of numbers, tuples, lists, mappings, sets or dataclasses of these"
    )
