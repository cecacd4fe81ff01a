"""DBSCAN, its radius tuned.

A point with enough points within ``eps`` is a core point, core points within ``eps`` of each other
share a cluster, and other points within ``eps`` of a core point join it; the rest is noise.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certune.checks import as_array
from certune.errors import InputError, ParameterError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import check_type, over_range, whole_numbers

NOISE = -1


@dataclass(frozen=True, init=False)
class DensityInstance:
    """Points by their distances, and the clusters they belong to.

    Parameters
    ----------
    distances : array-like, shape (n, n)
        Symmetric distances, finite and not negative; taken exactly.
    truth : iterable of int
        True cluster of each point; points with -1 belong to none.
    name : str, optional
        Shown in reports.
    """

    distances: tuple[tuple[float, ...], ...]
    truth: tuple[int, ...]
    name: str | None = None

    def __init__(self, distances: ArrayLike, truth: Iterable[int], name: str | None = None) -> None:
        matrix = as_array("distances", distances)
        labels = whole_numbers("truth", truth)
        square = matrix.shape == (len(labels), len(labels)) and len(labels) >= 2
        if not square or not (np.isfinite(matrix) & (matrix >= 0)).all():
            raise InputError(
                "distances must be a square of finite numbers >= 0 with one row for each of at "
                f"least two labels, got the shape {matrix.shape} and {len(labels)} labels"
            )
        if not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
            raise InputError("distances must be symmetric, and 0 from a point to itself")
        object.__setattr__(self, "distances", tuple(map(tuple, matrix.tolist())))
        object.__setattr__(self, "truth", labels)
        object.__setattr__(self, "name", name)

    @cached_property
    def levels(self) -> list[float]:
        """The distances that occur, in order."""
        return sorted({distance for row in self.distances for distance in row})


@dataclass(frozen=True)
class DensityProgram:
    """The share of pairs of points that are right together or apart.

    Parameters
    ----------
    min_samples : int
        Points within the radius that make a core point, itself included.
    """

    min_samples: int

    def __call__(self, instance: DensityInstance, parameters: Mapping[str, Any]) -> Fraction:
        """Return the Rand index; noise is together with nothing."""
        labels, truth = self.labels(instance, parameters), instance.truth
        pairs = list(combinations(range(len(truth)), 2))
        right = sum(
            (labels[i] == labels[j] != NOISE) == (truth[i] == truth[j] != NOISE) for i, j in pairs
        )
        return Fraction(right, len(pairs))

    def labels(self, instance: DensityInstance, parameters: Mapping[str, Any]) -> list[int]:
        """Return the cluster of each point, numbered as scikit-learn does, -1 for noise."""
        # Where eps lies among the distances is all that matters, and takes few comparisons.
        reach = bisect_right(instance.levels, parameters["eps"])
        radius = instance.levels[reach - 1] if reach else -1.0
        near = [[j for j, d in enumerate(row) if d <= radius] for row in instance.distances]
        labels = [NOISE] * len(near)
        n_clusters = 0
        for seed, others in enumerate(near):
            if labels[seed] != NOISE or len(others) < self.min_samples:
                continue
            stack = [seed]
            while stack:
                point = stack.pop()
                if labels[point] == NOISE:
                    labels[point] = n_clusters
                    if len(near[point]) >= self.min_samples:
                        stack += near[point]
            n_clusters += 1
        return labels


class DensityClustering(ProgramFamily):
    """DBSCAN with a tuned radius.

    Parameters
    ----------
    eps : pair of numbers
        Range of the radius.
    min_samples : int, default 5
        Points within the radius that make a core point, itself included.

    Notes
    -----
    The utility is the Rand index: the share of pairs that are right together or apart.

    Examples
    --------
    >>> import certune as ct
    >>> line = [0, 1, 2, 10, 11, 12]
    >>> distances = [[abs(x - y) for x in line] for y in line]
    >>> instance = ct.DensityInstance(distances, [0, 0, 0, 1, 1, 1])
    >>> ct.DensityClustering(eps=(0, 20), min_samples=2).dual(instance).argmax()[0]
    (1.0, 7.999999999999999)
    """

    def __init__(self, eps: tuple[float, float], min_samples: int = 5) -> None:
        if isinstance(min_samples, bool) or not isinstance(min_samples, int) or min_samples < 1:
            raise ParameterError(f"min_samples must be a whole number >= 1, got {min_samples!r}")
        program = DensityProgram(min_samples)
        super().__init__(
            program,
            over_range("eps", eps),
            solver=program.labels,
            check=partial(check_type, kind=DensityInstance),
        )
