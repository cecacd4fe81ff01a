"""What a learner is: it draws a point, then learns from what the round has shown.

A learner knows lines and functions on them, nothing of families or instances.  Everything random
comes from the generators that are handed in, and learning itself is deterministic, so that a round
can be repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction
from certune.online.lines import Line
from certune.online.steps import Steps, steps_on

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Observed:
    """What a round has shown.

    Attributes
    ----------
    lines : tuple of Line
        The lines that can be played.
    line : int
        The line that was played.
    position : float
        Where it was played.
    utility : float
        What it earned.
    duals : tuple of DualFunction
        The utility along every line.
    points, values : float array
        Positions of the first line that the learner asked for, and the utilities there.
    """

    lines: tuple[Line, ...]
    line: int
    position: float
    utility: float
    duals: tuple[DualFunction, ...]
    points: FloatArray
    values: FloatArray

    @cached_property
    def steps(self) -> list[Steps]:
        """The piecewise constant utility along every line, on the scale of positions."""
        constants = [dual for dual in self.duals if isinstance(dual, PiecewiseFunction)]
        return [steps_on(line, dual) for line, dual in zip(self.lines, constants, strict=True)]


class Learner(ABC):
    """A rule that chooses points of lines.

    Parameters
    ----------
    lines : sequence of Line
        Where it can play.
    """

    asks: ClassVar[bool] = False
    """Whether the learner asks for utilities at points, see `questions`."""

    takes_smooth: ClassVar[bool] = False
    """Whether utilities may vary within a piece; otherwise they must be piecewise constant."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = tuple(lines)
        self.n_rounds = 0

    @property
    def ends(self) -> list[tuple[float, float]]:
        """Ends of the lines on the scale of positions."""
        return [(line.low, line.high) for line in self.lines]

    @property
    def length(self) -> float:
        """Total length of the lines."""
        return sum(line.length for line in self.lines)

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return a line and a position on it for the next round."""

    def questions(self, rng: np.random.Generator) -> FloatArray:
        """Return positions of the first line at which the utility of the round is asked for.

        Learners that look at the whole functions ask for none, and their `asks` is False.
        """
        return np.empty(0)

    @abstractmethod
    def learn(self, observed: Observed) -> tuple[float, float] | None:
        """Take in a round.

        Returns
        -------
        tuple of float or None
            Bounds of the expected utility of the round, over the learner's own randomness; they
            differ by gaps only. None if the learner cannot tell.
        """

    @abstractmethod
    def learning_bound(self, share: float) -> float | None:
        """Bound the expected regret against a fixed window that holds a share of all positions.

        This is the regret as long as no utility function changes inside the window; each function
        that does adds at most the range of utilities (``thm:dispersion-no-regret``). None if no
        bound is known.
        """

    @abstractmethod
    def density(self, line: int, positions: FloatArray) -> FloatArray:
        """Return the probability density of the next draw at positions of a line."""

    @property
    @abstractmethod
    def n_pieces(self) -> int:
        """Number of pieces of the density: what memory grows with."""
