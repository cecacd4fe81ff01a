"""One model for each class against the others, all with the same lam.

The models do not know of each other: a solution is that of K binary problems, and its error the
Euclidean norm of theirs. With the l2 penalty they are followed together; with the l1 penalty each
has its own events, and between two events of any of them all are known as polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from certune.errors import UndecidedError
from certune.families.logistic.newton import Node
from certune.families.logistic.panels import Panel, Quantity
from certune.families.logistic.path import CoefficientPath, coefficient_path
from certune.families.logistic.smooth import SmoothProblem
from certune.families.logistic.training import TrainingData

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

DEGREES = (4, 8, 16, 32)
CHECKS = (0.5, 0.1)
# Share of the target that errors of the coefficients may have.
COEFFICIENT_SHARE = 0.1
# Ends of cells closer than this, relatively, are one.
NARROWEST = 1e-13


@dataclass(frozen=True)
class IndependentProblems:
    """Several smooth problems with the same lam, whose unknowns are put one after the other.

    Attributes
    ----------
    problems : tuple of SmoothProblem
        The problems, of the same size.
    """

    problems: tuple[SmoothProblem, ...]

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return sum(problem.size for problem in self.problems)

    def solve(self, lam: float, start: FloatArray, target: float) -> Node:
        """Solve each problem; see :class:`~certune.families.logistic.newton.PathProblem`."""
        each = target / len(self.problems) ** 0.5
        starts = np.split(start, len(self.problems))
        nodes = [
            problem.solve(lam, own, each)
            for problem, own in zip(self.problems, starts, strict=True)
        ]
        return Node(
            lam,
            np.concatenate([node.point for node in nodes]),
            float(np.linalg.norm([node.radius for node in nodes])),
            np.concatenate([node.slope for node in nodes]),
            np.concatenate([node.chances for node in nodes]),
            sum(node.n_steps for node in nodes),
        )

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients of all classes, one class after the other."""
        parts = np.split(point, len(self.problems), axis=-1)
        pairs = zip(self.problems, parts, strict=True)
        return np.concatenate([problem.expanded(part) for problem, part in pairs], axis=-1)


def joined_path(
    models: Sequence[TrainingData], low: float, high: float, quantity: Quantity, target: float
) -> CoefficientPath:
    """Follow what depends on all models, each of which has its own events.

    Parameters
    ----------
    models : sequence of TrainingData
        One for each class, with the same columns.
    low, high : float
        The range of lam.
    quantity : Quantity
        What is followed, as a function of the coefficients of all classes.
    target : float
        Aim for its error.

    Raises
    ------
    UndecidedError
        If it cannot be followed to this error.
    """
    own = COEFFICIENT_SHARE * target / (quantity.steepness * len(models) ** 0.5)
    themselves = Quantity(lambda b: b, 1.0)
    paths = [coefficient_path(model, low, high, themselves, own) for model in models]
    pieces, columns = [], []
    for start, stop in pairwise(_ends(paths)):
        inside = (start * stop) ** 0.5
        active = [path.columns[path.index(inside)] for path in paths]
        solve = _Evaluation(paths, inside)
        panel = Panel(start, stop, solve, lambda points: points, quantity, CHECKS)
        piece = panel.sample(DEGREES, solve.at(stop).point, target)
        if piece is None:
            raise UndecidedError(
                f"The models between lam = {start:.6g} and {stop:.6g} cannot be followed to an "
                f"error of {target:.3g}; raise the tolerance or the lower end of the range."
            )
        width = models[0].design.shape[1]
        pieces.append(piece)
        columns.append(np.concatenate([own + k * width for k, own in enumerate(active)]))
    return CoefficientPath(pieces, [lambda points: points] * len(pieces), columns)


def _ends(paths: Sequence[CoefficientPath]) -> list[float]:
    """Return the ends of all pieces; of those that are one up to rounding, the lowest."""
    found = np.unique(np.concatenate([np.append(path.starts, path.stops[-1]) for path in paths]))
    low, high = float(found[0]), float(found[-1])
    kept = [low]
    for end in found.tolist():
        if end > kept[-1] * (1.0 + NARROWEST) and end < high * (1.0 - NARROWEST):
            kept.append(end)
    return [*kept, high]


class _Evaluation:
    """Coefficients of all models on a cell without events, from their polynomials.

    Parameters
    ----------
    paths : sequence of CoefficientPath
        Of each model, on which the coefficients themselves were followed.
    inside : float
        A lam of the cell.
    """

    def __init__(self, paths: Sequence[CoefficientPath], inside: float) -> None:
        self._paths = paths
        self._places = [path.index(inside) for path in paths]
        # A stated error holds for every entry, of which only the active ones are not exact.
        errors = [
            path.pieces[place].error * path.columns[place].size ** 0.5
            for path, place in zip(paths, self._places, strict=True)
        ]
        self._radius = float(np.linalg.norm(errors))

    def at(self, lam: float) -> Node:
        """Return the coefficients at one lam."""
        pairs = zip(self._paths, self._places, strict=True)
        point = np.concatenate([path.on_piece(place, lam) for path, place in pairs])
        return Node(lam, point, self._radius, np.zeros(point.size), np.empty(0), 0)

    def __call__(self, lams: FloatArray, starts: FloatArray) -> list[Node]:
        """Return the coefficients at several lam, wherever the search for them would start."""
        return [self.at(lam) for lam in lams.tolist()]
