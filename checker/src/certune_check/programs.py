"""Programs of users: functions of an instance and of parameters by name, in ordinary Python.

A file with ``from certune.pfaffian import exp`` works as it is: it gets the functions of `numbers`.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from certune_check import numbers
from certune_check.instances import BadFile, Record


class _Stand(ModuleType):
    """Stands for certune while a user's file is read: only `pfaffian` is there."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"certune.{name} is not there: keep the program in a file of its own")


def user_function(spec: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function ``file.py:name``, and everything that the file defines. This runs the file."""
    path, _, name = spec.rpartition(":")
    stand, functions = _Stand("certune"), ModuleType("certune.pfaffian")
    for own in ("argmax", "argsort", "exp", "log", "power", "sigmoid", "softplus", "sqrt", "tanh"):
        setattr(functions, own, getattr(numbers, own))
    stand.pfaffian = functions  # type: ignore[attr-defined]
    kept = {own: sys.modules.pop(own, None) for own in ("certune", "certune.pfaffian")}
    sys.modules.update({"certune": stand, "certune.pfaffian": functions})
    try:
        defined = runpy.run_path(path, run_name="program")
    except Exception as error:
        raise BadFile(f"{path} cannot be run: {error!r}") from error
    finally:
        for own, module in kept.items():
            sys.modules.pop(own)
            if module is not None:
                sys.modules[own] = module
    if not callable(defined.get(name)):
        raise BadFile(f"{path} has no function {name!r}: write file.py:function")
    return defined[name], defined


def with_own_classes(value: Any, defined: Mapping[str, Any]) -> Any:
    """An instance whose records are objects of the classes of the user's file."""
    if isinstance(value, (list, tuple, frozenset)):
        return type(value)(with_own_classes(part, defined) for part in value)
    if isinstance(value, dict):
        return {key: with_own_classes(part, defined) for key, part in value.items()}
    if not isinstance(value, Record) or not isinstance(defined.get(value.record_class), type):
        return value
    made = object.__new__(defined[value.record_class])
    for name, part in vars(value).items():
        if name != "record_class":
            object.__setattr__(made, name, with_own_classes(part, defined))
    return made
