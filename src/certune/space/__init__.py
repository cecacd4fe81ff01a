"""Parameter spaces, and straight lines through them.

A family of algorithms declares the parameters it can be tuned over as a :class:`ParameterSpace`.
The exact methods follow a function along a line of that space, a :class:`Segment`, so that
everything above this package only ever sees one real coordinate ``t``.
"""

from __future__ import annotations

from certune.space.parameter_space import ParameterSpace
from certune.space.parameters import Categorical, Integer, LogReal, Parameter, Real, Simplex
from certune.space.segment import Segment
from certune.space.values import ParameterValue

__all__ = [
    "Categorical",
    "Integer",
    "LogReal",
    "Parameter",
    "ParameterSpace",
    "ParameterValue",
    "Real",
    "Segment",
    "Simplex",
]
