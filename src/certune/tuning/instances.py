"""What counts as a list of instances, checked before any work starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from certune.errors import InputError, ParameterError
from certune.families.base import Family


def checked_family(family: object) -> Family:
    """Return `family`, or raise :class:`ParameterError` if it is not a family."""
    if not isinstance(family, Family):
        hint = "make an instance of it first" if isinstance(family, type) else "pass a family first"
        raise ParameterError(
            f"Expected a Family such as certune.Linkage(), got {family!r}: {hint}."
        )
    return family


def checked_instances(family: Family, instances: object, purpose: str = "tuning") -> list[Any]:
    """Return the instances as a list, every one of which fits the family.

    Parameters
    ----------
    family : Family
        The family.
    instances : iterable
        At least one instance.
    purpose : str, default="tuning"
        What they are for, in messages.

    Raises
    ------
    InputError
        For an empty list, a single instance in place of a list, and an instance that does not
        fit; the message names it.
    """
    if not isinstance(instances, Iterable):
        raise InputError(f"instances must be a list, got {instances!r}: pass [instance] for one.")
    listed = list(instances)
    if not listed:
        raise InputError(f"instances are empty, and {purpose} needs at least one: pass some.")
    for number, instance in enumerate(listed):
        try:
            family.check_instance(instance)
        except InputError as error:
            if _is_instance(family, instances):
                raise InputError(
                    f"instances must be a list, got a single one: pass [{instances!r}]."
                ) from None
            raise InputError(f"{instance_name(instance, number)}: {error}") from error
    return listed


def _is_instance(family: Family, candidate: object) -> bool:
    try:
        family.check_instance(candidate)
    except InputError:
        return False
    return True


def instance_name(instance: object, number: int) -> str:
    """Return the name of an instance, or its place in the list if it has none."""
    name = getattr(instance, "name", None)
    return name if isinstance(name, str) and name else f"instance {number}"
