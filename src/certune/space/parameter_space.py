"""Several parameters together: the space over which a family of algorithms is tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certune.checks import as_list, is_number
from certune.errors import ParameterError
from certune.space.parameters import Categorical, Integer, Parameter, Real, Simplex
from certune.space.segment import Segment
from certune.space.values import ParameterValue


@dataclass(frozen=True)
class ParameterSpace:
    """The parameters of a family of algorithms, with their ranges.

    Parameters
    ----------
    parameters : tuple of Real, LogReal, Integer, Categorical or Simplex
        At least one parameter; names are distinct.

    Examples
    --------
    >>> space = ParameterSpace((Real("alpha", -10, 10), Simplex("weights", 2)))
    >>> space.names, space.n_free
    (('alpha', 'weights'), 2)
    >>> space.validate({"alpha": 1, "weights": [0.5, 0.5]})
    {'alpha': 1.0, 'weights': (0.5, 0.5)}
    """

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        given = as_list("parameters", self.parameters, "pass a tuple, (parameter,) for one")
        object.__setattr__(self, "parameters", tuple(given))
        if not self.parameters:
            raise ParameterError("A ParameterSpace needs at least one parameter, got none.")
        for parameter in self.parameters:
            if not isinstance(parameter, (Real, Categorical, Simplex)):
                raise ParameterError(
                    f"Expected Real, LogReal, Integer, Categorical or Simplex, got {parameter!r}."
                )
        if len(set(self.names)) != len(self.names):
            raise ParameterError(f"Parameter names must be distinct, got {self.names!r}.")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def n_free(self) -> int:
        """Number of free real coordinates."""
        return sum(parameter.n_free for parameter in self.parameters)

    @cached_property
    def discrete(self) -> tuple[Integer | Categorical, ...]:
        """Parameters with finitely many settings."""
        return tuple(item for item in self.parameters if isinstance(item, (Integer, Categorical)))

    def validate(self, params: object) -> dict[str, ParameterValue]:
        """Check a setting of all parameters.

        Parameters
        ----------
        params : mapping of name to value, or number
            A bare number is accepted if the space consists of exactly one real parameter.

        Returns
        -------
        dict
            A float for each real parameter, an int for each whole one, one of its values for each
            categorical one and a tuple of floats for each simplex.

        Raises
        ------
        ParameterError
            If a name is missing or unknown, or a value is out of range.
        """
        if is_number(params) and len(self.parameters) == 1 and isinstance(self.parameters[0], Real):
            params = {self.names[0]: params}
        if not isinstance(params, Mapping):
            raise ParameterError(
                f"Expected a mapping with the keys {self.names!r}, got {params!r}."
            )
        if set(params) != set(self.names):
            raise ParameterError(
                f"Expected values for exactly {self.names!r}, got the keys {tuple(params)!r}."
            )
        return {item.name: item.validate(params[item.name]) for item in self.parameters}

    def default_segment(self) -> Segment:
        """Return the segment that covers the whole space, if it has one free coordinate."""
        return self._default_segment

    @cached_property
    def _default_segment(self) -> Segment:
        words = [item.name for item in self.parameters if isinstance(item, Categorical)]
        if words:
            raise ParameterError(
                f"The space has parameters without a scale, {words!r}, and no line covers it; "
                "family.slices() has a family for each of their settings."
            )
        if self.n_free != 1:
            free = tuple(item.name for item in self.parameters if item.n_free)
            raise ParameterError(
                f"The space has {self.n_free} free coordinates (parameters {free!r}), and a "
                "function along a line needs exactly one; pass along=Segment(start, stop)."
            )
        fixed = {item.name: (1.0,) for item in self.parameters if not item.n_free}
        free_parameter = next(item for item in self.parameters if item.n_free)
        name = free_parameter.name
        if isinstance(free_parameter, Real):
            return Segment.coordinate(name, free_parameter.low, free_parameter.high, fixed)
        return Segment({**fixed, name: (1.0, 0.0)}, {**fixed, name: (0.0, 1.0)})

    def sample(self, rng: np.random.Generator) -> dict[str, ParameterValue]:
        """Draw a random setting, each parameter uniform on its own scale."""
        return {item.name: item.sample(rng) for item in self.parameters}
