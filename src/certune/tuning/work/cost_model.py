"""What instances have cost on this machine, and what others will cost by that.

The logarithms of seconds and of bytes are taken to be affine in the logarithms of the sizes of an
instance (points, metrics, clusters). Finished runs leave sums for a least-squares fit, from which
growth is told once sizes differ; until then it is what is usual. The sums are in a file of the
user's cache. It only serves forecasts: one that is missing, damaged or cannot be written changes
nothing else.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.errors import InputError
from certune.files import read_text, write_whole

FORMAT = 1
# A variable of the environment that names another folder; empty, nothing is read or written.
CACHE_VARIABLE = "CERTUNE_CACHE_DIR"
# Limits of the file: bytes, families, and characters of the name of a family.
MOST_BYTES, MOST_MODELS, LONGEST_KEY = 2**18, 64, 300
# Old instances fade once there are more than this many.
MOST_INSTANCES = 2000.0
N_SIZES = 3
# What is usual: coefficients of 1 and of the logarithms of points, metrics and clusters, with their
# standard deviations. An instance of linkage keeps its distances, their logarithms, codes and
# reference distances: some 40 bytes for a pair of points. How long one takes nobody can say before.
USUAL_SECONDS = (-10.0, 2.0, 1.0, 0.5), (10.0, 0.5, 0.5, 0.5)
USUAL_BYTES = (math.log(40.0), 2.0, 0.8, 0.0), (0.5, 0.2, 0.2, 0.2)
# Objects without arrays count as so large; of most of them nobody knows better.
LEAST_BYTES = 1000.0
# Standard deviation of a single instance around the fit, before any is known.
SCATTER = 0.5
# Instances of one size that differ by more than this, in logarithms, are not of one kind.
MOST_SCATTER = 2.0

# What a file of somebody else can raise.
_UNUSABLE = (
    *(InputError, ValueError, TypeError, KeyError, AttributeError),
    *(RecursionError, OverflowError, np.linalg.LinAlgError),
)

Floats = npt.NDArray[np.float64]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class CostModel:
    """Sums over finished instances.

    Attributes
    ----------
    count : float
        Number of instances; old ones count less.
    moments : float64 array (4, 4)
        Sums of products of 1 and the logarithms of the sizes.
    seconds, memory : float64 array (5,)
        Sums of their products with the logarithm of seconds, or of bytes, and its square.
    """

    count: float
    moments: Floats
    seconds: Floats
    memory: Floats

    @classmethod
    def empty(cls) -> CostModel:
        """Return a model that knows nothing."""
        size = N_SIZES + 1
        return cls(0.0, np.zeros((size, size)), np.zeros(size + 1), np.zeros(size + 1))

    def with_instances(
        self, sizes: Sequence[Sizes], seconds: Sequence[float], memory: Sequence[int]
    ) -> CostModel:
        """Return the model that has seen further instances."""
        rows = regressors(sizes)
        logs = [
            np.log(np.maximum(np.array(of, dtype=np.float64), least))
            for of, least in ((seconds, 1e-9), (memory, LEAST_BYTES))
        ]
        sums = [np.append(rows.T @ y, y @ y) for y in logs]
        kept = min(1.0, MOST_INSTANCES / max(1.0, self.count + len(rows)))
        return CostModel(
            kept * (self.count + len(rows)),
            kept * (self.moments + rows.T @ rows),
            kept * (self.seconds + sums[0]),
            kept * (self.memory + sums[1]),
        )

    def seconds_of(self, sizes: Sequence[Sizes]) -> Floats | None:
        """Return the expected seconds of instances; None if no instance is known."""
        if not self.count:
            return None
        return self._predicted(self.seconds, USUAL_SECONDS, regressors(sizes))

    def memory_of(self, sizes: Sequence[Sizes], keeps_distances: bool) -> Floats | None:
        """Return the expected bytes of instances.

        If no instance is known, what is usual for distances, or None if they have none.
        """
        if not self.count and not keeps_distances:
            return None
        return self._predicted(self.memory, USUAL_BYTES, regressors(sizes))

    def _predicted(
        self, sums: Floats, usual: tuple[tuple[float, ...], tuple[float, ...]], rows: Floats
    ) -> Floats:
        """Means of a log-normal law whose logarithm has the posterior mean of the regression."""
        mean, deviations = np.array(usual[0]), np.array(usual[1])
        precision = np.diag((SCATTER / deviations) ** 2)
        normal = self.moments + precision
        found = np.linalg.solve(normal, sums[:-1] + precision @ mean)
        square = float(sums[-1] - 2 * found @ sums[:-1] + found @ self.moments @ found)
        scatter = min((max(0.0, square) + SCATTER**2) / (self.count + 1.0), MOST_SCATTER**2)
        return np.asarray(np.exp(np.clip(rows @ found + 0.5 * scatter, -60.0, 60.0)))

    def to_json(self) -> dict[str, Any]:
        """Return the sums as JSON data."""
        return {
            "count": self.count,
            "moments": self.moments.tolist(),
            "seconds": self.seconds.tolist(),
            "memory": self.memory.tolist(),
        }

    @classmethod
    def from_json(cls, data: Any) -> CostModel:
        """Return the model that JSON data describe, or raise ValueError or TypeError."""
        count = float(data["count"])
        arrays = [np.array(data[key], dtype=np.float64) for key in ("moments", "seconds", "memory")]
        shapes = [(N_SIZES + 1,) * 2, (N_SIZES + 2,), (N_SIZES + 2,)]
        is_finite = all(np.isfinite(array).all() for array in arrays)
        if [array.shape for array in arrays] != shapes or not is_finite:
            raise ValueError("sums of another shape")
        largest = max(float(np.abs(array).max()) for array in arrays)
        is_positive = np.linalg.eigvalsh(arrays[0]).min() >= -1e-9 * max(1.0, largest)
        if not 0 < count <= 2 * MOST_INSTANCES or largest > 1e9 or not is_positive:
            raise ValueError("sums of no instances")
        return cls(count, *arrays)


def regressors(sizes: Sequence[Sizes]) -> Floats:
    """Return 1 and the logarithms of the sizes in rows; sizes that are not given count as 1."""
    rows = np.ones((len(sizes), N_SIZES + 1))
    for row, own in zip(rows, sizes, strict=True):
        row[1 : len(own) + 1] = own[:N_SIZES]
    rows[:, 1:] = np.log(np.maximum(rows[:, 1:], 1.0))
    return rows


class CostStore:
    """The models of all families on this machine.

    Parameters
    ----------
    path : Path or None
        Their file; None for one that keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @classmethod
    def of_user(cls) -> CostStore:
        """Return the store in the cache of the user."""
        return cls(cache_file())

    def model(self, keys: Sequence[str]) -> CostModel:
        """Return the model of the first key that has one; an empty one if none has."""
        stored = self._read()
        found = (_decoded(stored.get(key)) for key in keys)
        return next((model for model in found if model.count), CostModel.empty())

    def learn(
        self,
        keys: Sequence[str],
        sizes: Sequence[Sizes],
        seconds: Sequence[float],
        memory: Sequence[int],
    ) -> None:
        """Add finished instances to the models of some keys; what cannot be written is let go."""
        if self._path is None or not sizes:
            return
        models = self._read()
        for key in keys:
            grown = _decoded(models.pop(key, None)).with_instances(sizes, seconds, memory)
            models[key] = grown.to_json()  # the last ones are the newest
        content = {"format": FORMAT, "models": dict(list(models.items())[-MOST_MODELS:])}
        with suppress(OSError, InputError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(content).encode())

    def _read(self) -> dict[str, Any]:
        """Return what is stored for every key, not looked at yet."""
        if self._path is None:
            return {}
        try:
            content = json.loads(read_text(self._path, MOST_BYTES))
            models = content["models"] if content["format"] == FORMAT else {}
            return {key: data for key, data in models.items() if len(key) <= LONGEST_KEY}
        except _UNUSABLE:
            return {}


def _decoded(data: Any) -> CostModel:
    """Return a stored model, an empty one if it is none."""
    try:
        return CostModel.from_json(data)
    except _UNUSABLE:
        return CostModel.empty()


def cache_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return where costs on this machine are kept, or None if nowhere.

    Home folders may be shared by machines, so that each has a file of its own.
    """
    own = environment.get(CACHE_VARIABLE)
    if own == "":
        return None
    machine = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())[:80] or "machine"
    name = f"costs-{machine}-{os.cpu_count()}.json"
    if own is not None:
        return Path(own) / name
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "certune" / name
    variable, usual = (
        ("LOCALAPPDATA", home / "AppData" / "Local")
        if os.name == "nt"
        else ("XDG_CACHE_HOME", home / ".cache")
    )
    return Path(environment.get(variable) or usual) / "certune" / name
