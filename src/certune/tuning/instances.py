"""What counts as a list of instances, checked before any work starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from certune.checks import as_list
from certune.errors import InputError, ParameterError, TuningError, UndecidedError
from certune.families.base import Family


def checked_family(family: object) -> Family:
    """Return `family`, or raise :class:`ParameterError` if it is not a family."""
    if not isinstance(family, Family):
        if isinstance(family, type):
            got, hint = f"the class {family.__name__}", f"make one first, {family.__name__}(...)"
        else:
            got = repr(family) if isinstance(family, str) else f"a {type(family).__name__}"
            hint = "the family comes first, then the instances"
        raise ParameterError(f"Expected a Family such as certune.Linkage(), got {got}: {hint}.")
    return family


def refuse_discrete(family: Family, what: str) -> None:
    """Raise :class:`ParameterError` if a family has parameters with separate settings."""
    if family.space.discrete:
        names = ", ".join(repr(item.name) for item in family.space.discrete)
        raise ParameterError(
            f"{what} takes families with real parameters, but {names} of {family!r} have separate "
            "settings: tune takes them, and family.slices() has a family for each setting."
        )


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
    listed = as_list("instances", instances, "pass [instance] for one")
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
    return _own_name(instance) or f"instance {number}"


def _own_name(instance: object) -> str | None:
    name = getattr(instance, "name", None)
    return name if isinstance(name, str) and name else None


def instance_names(instances: Sequence[object]) -> list[str]:
    """Return the names of a list of instances."""
    return [instance_name(instance, number) for number, instance in enumerate(instances)]


def further_names(known: Collection[str], instances: Sequence[object]) -> list[str]:
    """Return names of instances that follow others; where there is none, a number that is free."""
    taken = set(known)
    free = (number for number in count(len(known)) if f"instance {number}" not in taken)
    return [_own_name(instance) or f"instance {next(free)}" for instance in instances]


def failure_of(error: BaseException, name: str, place: str = "") -> BaseException:
    """Return what to raise when work on an instance failed: an error that names it.

    Interrupts and exits, which are no failures of the instance, are returned as they are.
    """
    if not isinstance(error, Exception):
        return error
    failure = TuningError(
        f"Tuning ended at {name}{place}: {type(error).__name__}: {error}\nWhat was finished by "
        "then is the attribute result of this error.",
        instance_name=name,
    )
    failure.__cause__ = error
    return failure


def place_of(instance: object, number: int) -> str:
    """Return where an instance is in the list, to be said after a name of its own."""
    return "" if _own_name(instance) is None else f" (instance {number})"


@contextmanager
def naming(alternative: str) -> Iterator[None]:
    """Let what fails inside say in which alternative, or at which discrete setting, it failed."""
    try:
        yield
    except TuningError as error:
        if error.instance_name is None:
            raise
        raise TuningError(
            f"{alternative}: {error}", error.result, error.instance_name
        ) from error.__cause__


@contextmanager
def blaming(instance: object, number: int) -> Iterator[None]:
    """Let what fails inside name an instance; what is undecided is no failure."""
    try:
        yield
    except (TuningError, UndecidedError):
        raise
    except Exception as error:
        name = instance_name(instance, number)
        raise failure_of(error, name, place_of(instance, number)) from error
