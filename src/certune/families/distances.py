"""What problems on points have in common: distances under one or several metrics.

Everything that an algorithm sees of the points is fixed here once and checked here once. Distances
are taken to be exact numbers from this point on.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.errors import InputError
from certune.families.metrics import (
    FloatArray,
    Metric,
    checked_metrics,
    checked_points,
    distance_matrix,
    evened_out,
    metric_name,
    read_only,
    stacked,
)

IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class DistanceInstance(ABC):
    """Points with pairwise distances: the base of clustering and labelling problems.

    Parameters
    ----------
    points : array-like (n, p), optional
        Finite coordinates.
    distances : array-like, optional
        What `certune.families.metrics.stacked` reads, instead of points.
    metrics : metric or sequence of metrics
        Used with ``points``; with ``distances`` the default.
    name : str, optional
        Shown in messages and reports.

    Attributes
    ----------
    default_metrics : tuple of metrics
        What a subclass takes where the user says nothing.
    """

    default_metrics: ClassVar[tuple[Metric, ...]]

    points: FloatArray | None
    metrics: tuple[Metric, ...]
    metric_names: tuple[str, ...]
    n_points: int
    n_metrics: int
    name: str | None

    def __init__(
        self,
        points: ArrayLike | None,
        distances: ArrayLike | Sequence[ArrayLike] | None,
        metrics: Metric | Sequence[Metric],
        name: str | None,
    ) -> None:
        if (points is None) == (distances is None):
            given = "neither" if points is None else "both"
            raise InputError(
                f"an instance needs either points or distances, got {given}: pass coordinates as "
                "points=, or precomputed distances as distances="
            )
        if name is not None and not isinstance(name, str):
            raise InputError(f"name must be a string, got {name!r}: pass name=str(...)")
        values = self.__dict__
        values["name"] = name
        if points is not None:
            values["points"] = read_only(checked_points(points))
            values["metrics"] = checked_metrics(metrics)
            values["metric_names"] = tuple(metric_name(m) for m in values["metrics"])
            values["n_points"] = len(values["points"])
        else:
            if checked_metrics(metrics) != self.default_metrics:
                raise InputError(
                    f"metrics={metrics!r} was given with distances=, but metrics apply to points "
                    "only: leave metrics out"
                )
            matrices = stacked(distances)
            values["points"], values["metrics"] = None, ()
            values["metric_names"] = tuple(f"distances[{i}]" for i in range(len(matrices)))
            values["distances"] = read_only(self._settled(matrices))
            values["n_points"] = matrices.shape[1]
        values["n_metrics"] = len(self.metric_names)

    @cached_property
    def distances(self) -> FloatArray:
        """Float64 array (n_metrics, n, n): symmetric, zero diagonal, read-only. O(L n^2 p)."""
        assert self.points is not None
        matrices = np.stack([distance_matrix(self.points, m) for m in self.metrics])
        return read_only(self._settled(matrices))

    def _settled(self, matrices: FloatArray) -> FloatArray:
        """What counts as the distances; a subclass may ask for more. Matrices may change."""
        return evened_out(matrices, self._label_of_metric)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of points and of metrics."""
        return self.n_points, self.n_metrics

    def check_metrics(self, n_metrics: int | None) -> None:
        """Raise `InputError` if a family was made for another number of metrics; None: for any."""
        if n_metrics not in (None, self.n_metrics):
            raise InputError(
                f"{self.name or 'the instance'} has {self.n_metrics} metric(s), but the family was "
                f"made for {n_metrics}"
            )

    def _label_of_metric(self, index: int) -> str:
        """Words for one metric in an error message."""
        label = self.metric_names[index]
        label = f"metric {label!r}" if self.metrics else label
        return label if self.name is None else f"{label} of instance {self.name!r}"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all but names and coordinates; the same in every process."""
        title, counts, columns = self._content()
        digest = hashlib.sha256(title)
        header = [self.n_metrics, self.n_points, *counts]
        digest.update(np.array(header, dtype="<i8").tobytes())
        digest.update(self.distances.astype("<f8", copy=False).tobytes())
        for column in columns:
            if column is not None:
                digest.update(column.astype("<i8", copy=False).tobytes())
        return digest.hexdigest()

    @abstractmethod
    def _content(self) -> tuple[bytes, Sequence[int], Sequence[IntArray | None]]:
        """Title of the kind of problem, and what it has besides distances: counts and columns."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)

    def _described(self, *parts: str) -> str:
        """The class with the name, the number of points, and these parts."""
        name = [] if self.name is None else [repr(self.name)]
        size = counted(self.n_points, "point", "points")
        return f"{type(self).__name__}({', '.join([*name, size, *parts])})"


def counted(count: int, one: str, several: str) -> str:
    """A number with a noun."""
    return f"{count} {several if count > 1 else one}"
