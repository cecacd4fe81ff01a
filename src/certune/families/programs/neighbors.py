"""Nearest neighbours that vote with a weight exp(-gamma * distance), gamma tuned.

At gamma = 0 the neighbours vote with equal weights, for large gamma the nearest one decides.  A
prediction changes where two sums of exponentials are equal, which are Pfaffian functions of gamma
on a chain with one function for each distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certune.checks import as_array, as_list
from certune.errors import InputError, ParameterError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import over_range
from certune.pfaffian.expressions.functions import exp
from certune.space import Real


@dataclass(frozen=True, init=False)
class NeighborInstance:
    """Points to classify, by their distances to labelled points.

    Parameters
    ----------
    distances : array-like, shape (n_queries, n_labelled)
        Distances, finite and not negative; taken exactly.
    labels : sequence
        Label of each labelled point.
    truth : sequence
        True label of each query.
    name : str, optional
        Shown in reports.
    """

    distances: tuple[tuple[float, ...], ...]
    labels: tuple[Any, ...]
    truth: tuple[Any, ...]
    name: str | None = None

    def __init__(
        self,
        distances: ArrayLike,
        labels: Iterable[Any],
        truth: Iterable[Any],
        name: str | None = None,
    ) -> None:
        matrix = as_array("distances", distances)
        known, right = _plain("labels", labels), _plain("truth", truth)
        if matrix.shape != (len(right), len(known)) or not matrix.size:
            raise InputError(
                "distances must have one row for each query and one column for each label, got "
                f"the shape {matrix.shape} for {len(right)} queries and {len(known)} labels"
            )
        if not (np.isfinite(matrix) & (matrix >= 0)).all():
            raise InputError("distances must be finite and not negative")
        object.__setattr__(self, "distances", tuple(map(tuple, matrix.tolist())))
        object.__setattr__(self, "labels", known)
        object.__setattr__(self, "truth", right)
        object.__setattr__(self, "name", name)


def _plain(what: str, labels: Iterable[Any]) -> tuple[Any, ...]:
    """Labels without numpy's scalar types."""
    listed = list(labels) if isinstance(labels, str) else as_list(what, labels)
    return tuple(label.item() if isinstance(label, np.generic) else label for label in listed)


@dataclass(frozen=True)
class VotingProgram:
    """The share of queries whose weighted vote is right.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote.
    """

    n_neighbors: int

    def __call__(self, instance: NeighborInstance, parameters: Mapping[str, Any]) -> Fraction:
        """Return the accuracy."""
        predicted = self.predict(instance, parameters)
        right = sum(a == b for a, b in zip(predicted, instance.truth, strict=True))
        return Fraction(right, len(instance.truth))

    def predict(self, instance: NeighborInstance, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the predicted label of each query; ties go to the class of a nearer neighbour."""
        gamma = parameters["gamma"]
        predicted = []
        for row in instance.distances:
            nearest = sorted(range(len(row)), key=lambda i: (row[i], i))[: self.n_neighbors]
            # Only differences matter, and the nearest neighbour then has weight 1.
            votes: dict[Any, Any] = {}
            for i in nearest:
                gap = Fraction(row[i]) - Fraction(row[nearest[0]])
                votes[instance.labels[i]] = votes.get(instance.labels[i], 0) + exp(-gamma * gap)
            winner, best = next(iter(votes.items()))
            for label, vote in votes.items():
                if vote is not best and vote > best:
                    winner, best = label, vote
            predicted.append(winner)
        return predicted


class NeighborVoting(ProgramFamily):
    """Weighted nearest-neighbour classification with a tuned decay of the weights.

    Parameters
    ----------
    gamma : pair of numbers, default (0, 10)
        Range of the decay in exp(-gamma * distance).
    n_neighbors : int, default 5
        How many neighbours vote.

    Notes
    -----
    The utility is the share of queries that are classified right.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.NeighborInstance([[1.0, 2.0, 2.0]], ["a", "b", "b"], ["a"])
    >>> dual = ct.NeighborVoting(gamma=(0, 2), n_neighbors=3).dual(instance)
    >>> dual.breakpoints.round(9)  # exp(-gamma) + exp(-gamma) = 1
    array([[0.69314718, 0.69314718]])
    """

    def __init__(self, gamma: tuple[float, float] = (0.0, 10.0), n_neighbors: int = 5) -> None:
        if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int) or n_neighbors < 1:
            raise ParameterError(f"n_neighbors must be a whole number >= 1, got {n_neighbors!r}")
        space = over_range("gamma", gamma)
        self._voting = VotingProgram(n_neighbors)
        super().__init__(
            self._voting,
            space,
            baselines={"equal weights": {"gamma": 0.0}} if space.low <= 0 <= space.high else None,
            solver=self._voting.predict,
            check=_check,
        )

    def __repr__(self) -> str:
        (gamma,) = self.space.parameters
        assert isinstance(gamma, Real)
        return (
            f"NeighborVoting(gamma=({gamma.low!r}, {gamma.high!r}), "
            f"n_neighbors={self._voting.n_neighbors})"
        )


def _check(instance: Any) -> None:
    if not isinstance(instance, NeighborInstance):
        raise InputError(
            f"expected a NeighborInstance, got {type(instance).__name__}; make one with "
            "certune.NeighborInstance(distances, labels, truth)"
        )
