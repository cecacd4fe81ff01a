"""A choice among families: which algorithm, metric or option, and at which setting.

The alternatives are finite, and each is a family with its own parameters. The optimum over all of
them is the best of their optima. An alternative is only worked on while it can still win: with some
instances finished and the others counted as perfect, its bound either falls below what another one
reaches, or it does not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certune.checks import as_list
from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.scores import Score
from certune.tuning.instances import checked_family, checked_instances, refuse_discrete

LONGEST_NAME = 100


class Choice:
    """Several families, of which tuning finds the best one together with its setting.

    Parameters
    ----------
    alternatives : mapping of str to Family
        The families by name, at least one, with the same score and range of utilities, so that
        their utilities can be compared. Each has free parameters.

    Examples
    --------
    >>> from certune import Linkage
    >>> choice = Choice({kind: Linkage(kind) for kind in ("power-mean", "min-max")})
    >>> choice
    Choice('power-mean', 'min-max')
    """

    def __init__(self, alternatives: Mapping[str, Family]) -> None:
        if not isinstance(alternatives, Mapping) or not alternatives:
            raise ParameterError(
                "Choice needs families by name, such as {'power-mean': certune.Linkage()}, got "
                f"{alternatives!r}."
            )
        for name, family in alternatives.items():
            if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
                raise ParameterError(f"names of alternatives must be short strings, got {name!r}.")
            refuse_discrete(checked_family(family), "Choice")
            if family.space.n_free == 0:
                raise ParameterError(
                    f"every alternative needs a free parameter, but {name!r}, {family!r}, has "
                    "none: give one a range."
                )
        self.alternatives = dict(alternatives)
        first_name, first = next(iter(self.alternatives.items()))
        for name, family in self.alternatives.items():
            if (family.score, family.utility_range) != (first.score, first.utility_range):
                raise ParameterError(
                    f"alternatives must have the same score and range of utilities, but "
                    f"{first_name!r} has {first.score} in {first.utility_range} and {name!r} "
                    f"{family.score} in {family.utility_range}."
                )

    @property
    def score(self) -> Score:
        """What utilities mean to people."""
        return self._first.score

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest utility that any instance can have."""
        return self._first.utility_range

    @property
    def tolerance(self) -> float:
        """The gap at which an optimum counts as proved: the largest of the alternatives."""
        return max(family.tolerance for family in self.alternatives.values())

    @property
    def releases_lock(self) -> bool:
        """Whether all alternatives leave the interpreter lock to other threads."""
        return all(family.releases_lock for family in self.alternatives.values())

    @property
    def fingerprint(self) -> str:
        """Hash of names and families; their order does not matter."""
        content = sorted((name, family.fingerprint) for name, family in self.alternatives.items())
        return hashlib.sha256(json.dumps(["certune choice", content]).encode()).hexdigest()

    @property
    def _first(self) -> Family:
        return next(iter(self.alternatives.values()))

    def params_of(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting of an alternative together with its name, as ``choice``."""
        return {"choice": name, **params}

    def further_baselines(self, name: str) -> dict[str, dict[str, Any]]:
        """Return default settings that are no settings of an alternative: of a choice, none."""
        return {}

    def run_exact(self, instance: Any, params: Mapping[str, Any]) -> Fraction:
        """Return the utility of a further default on an instance."""
        raise ParameterError(f"{self!r} has no defaults of its own")

    def title_of(self, name: str, params: Mapping[str, Any]) -> str:
        """Return the headline of a report about the winner, whose setting is given."""
        others = ", ".join(other for other in self.alternatives if other != name)
        return f"{name}, chosen among {len(self.alternatives)} (others: {others})"

    def checked_instances(self, instances: Any) -> dict[str, list[Any]]:
        """Return the instances of every alternative.

        Parameters
        ----------
        instances : iterable, or mapping of str to iterable
            Instances that fit all alternatives; or for each alternative its own form of the same
            instances, in the same order, such as one with another metric or number of clusters.

        Raises
        ------
        InputError
            If instances are missing or do not fit; the message names the alternative.
        """
        if isinstance(instances, Mapping):
            given = dict(instances)
            if set(given) != set(self.alternatives):
                raise InputError(
                    "instances by alternative need the names "
                    f"{sorted(self.alternatives)}, got {sorted(map(str, given))}."
                )
        else:  # an iterator can be read once only
            shared = as_list("instances", instances, "pass [instance] for one")
            given = dict.fromkeys(self.alternatives, shared)
        listed = {}
        for name, family in self.alternatives.items():
            try:
                listed[name] = checked_instances(family, given[name])
            except InputError as error:
                raise InputError(f"alternative {name!r}: {error}") from None
        sizes = {name: len(items) for name, items in listed.items()}
        if len(set(sizes.values())) > 1:
            raise InputError(
                f"every alternative needs a form of every instance, in the same order, got {sizes}."
            )
        return listed

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.alternatives))})"


class Slices(Choice):
    """A family with discrete parameters as a choice among its slices.

    Parameters
    ----------
    family : Family
        The family; its `slices` are the alternatives.
    """

    def __init__(self, family: Family) -> None:
        super().__init__(family.slices())
        self.family = family

    def params_of(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting of the whole family."""
        found = self.alternatives[name].setting_of(params)
        return {key: found[key] for key in self.family.space.names}

    def further_baselines(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the default settings of the family that lie in other slices."""
        own = self.alternatives[name].baselines
        return {key: value for key, value in self.family.baselines.items() if key not in own}

    def run_exact(self, instance: Any, params: Mapping[str, Any]) -> Fraction:
        """Return the utility of a setting of the family."""
        return self.family.run_exact(instance, params)

    def title_of(self, name: str, params: Mapping[str, Any]) -> str:
        """Return the settings of discrete parameters, and how many there are."""
        discrete = self.family.space.discrete
        words = ", ".join(f"{item.name} = {params[item.name]}" for item in discrete)
        count = math.prod(item.size for item in discrete)
        return f"{words}, the best of {count} settings"

    def checked_instances(self, instances: Any) -> dict[str, list[Any]]:
        """Return the instances, the same for every slice."""
        listed = checked_instances(self.family, instances)
        return dict.fromkeys(self.alternatives, listed)

    def __repr__(self) -> str:
        return repr(self.family)
