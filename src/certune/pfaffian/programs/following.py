"""Programs that use what only numbers can do: refused by name, whatever exception that causes.

A program may hand its parameters to any function of any library. Those of Python and numpy that
compute by arithmetic and comparisons give the right answer; others look into the memory of floats,
or ask for types, and end in exceptions that say nothing to the author of a program which runs well
on numbers. Whether an exception is Python's own answer is found out by running the program on
Python's own floats, at a point where all comparisons so far have the same answers.
"""

from __future__ import annotations

import linecache
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import TracebackType
from typing import Any

from certune.errors import CertuneError
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.programs.decisions import (
    AT_A_POINT,
    SymbolicValueError,
    current_oracle,
    deciding,
    outside_programs,
    unless_failed,
)

Run = Callable[[Mapping[str, Any]], Any]
"""A program as a function of its parameters by name."""


def followed(run: Run, parameters: Mapping[str, Any], on_floats: Run | None = None) -> Any:
    """Run a program for whoever decides its comparisons.

    Parameters
    ----------
    run : callable
        The program with its instance.
    parameters : mapping of name to Expression, tuple of Expression, or str
        Its parameters.
    on_floats : callable, optional
        The same program for a run on floats, if that is another function.

    Returns
    -------
    object
        What the program returns.

    Raises
    ------
    SymbolicValueError
        If it fails, or has caught an error, only because its parameters are traced.
    """
    try:
        with unless_failed():
            return run(parameters)
    except Exception as error:
        if not is_foreign(error):
            raise
        floats = _floats_here(parameters)
        if floats is None or _fails_too(run if on_floats is None else on_floats, floats, error):
            raise
        raise _refusal(error, floats) from error


def is_foreign(error: Exception) -> bool:
    """Tell whether a program has raised it, or a library for it; a division by 0 is no value."""
    is_own = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return not (is_own or isinstance(error, (ZeroDivisionError, MemoryError)))


def _floats_here(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the parameters as floats, at a point that goes the same way; None if none is known."""
    oracle = current_oracle()
    point = None if oracle is None else oracle.somewhere()
    entries = [each for value in parameters.values() for each in _entries(value)]
    if point is None or not any(isinstance(entry, Expression) for entry in entries):
        return None
    try:
        return {
            name: tuple(_float(entry, point) for entry in value)
            if isinstance(value, tuple)
            else _float(value, point)
            for name, value in parameters.items()
        }
    except (CertuneError, ArithmeticError):
        return None


def _entries(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@outside_programs()
def _float(value: Any, point: Mapping[str, float]) -> Any:
    if not isinstance(value, Expression):
        return value
    return value.evaluate(point) if value.parameters else float(value)


def _fails_too(run: Run, floats: dict[str, Any], error: Exception) -> bool:
    """Tell whether Python's own floats end in the same kind of exception."""
    try:
        with deciding(AT_A_POINT):
            run(floats)
    except Exception as own:
        return type(own) is type(error)
    return False


def _refusal(error: Exception, floats: dict[str, Any]) -> SymbolicValueError:
    names = ", ".join(floats)
    which = f"the parameter{'s' if len(floats) > 1 else ''} {names}"
    place = ", ".join(f"{name} = {value!r}" for name, value in floats.items())
    return SymbolicValueError(
        f"{_where(error.__traceback__)} does not take what a program computes from {which}: "
        f"{type(error).__name__}: {error}. On plain floats the program runs, as at {place}, but to "
        "know it at all points, certune follows it on expressions; write this step with "
        "arithmetic, comparisons, sorted, min and max, and the functions of certune.pfaffian"
    )


def _where(trace: TracebackType | None) -> str:
    """Return the line of the program that has failed, which is the last one outside of libraries.

    A program that is part of a library has only such lines; then it is the last of all.
    """
    last, found = trace, None
    while trace is not None:
        last = trace
        if not _is_library(trace.tb_frame.f_code.co_filename):
            found = trace
        trace = trace.tb_next
    found = last if found is None else found
    if found is None:
        return "the program"
    code, number = found.tb_frame.f_code, found.tb_lineno
    text = linecache.getline(code.co_filename, number, found.tb_frame.f_globals).strip()
    words = f"line {number} of {PurePath(code.co_filename).name}, in {code.co_qualname}"
    return f"{text!r} ({words})" if text else words


_PACKAGE = str(PurePath(__file__).parents[1])
_LIBRARIES = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def _is_library(file: str) -> bool:
    return file.startswith((_PACKAGE, *_LIBRARIES, "<frozen", "<__array_function__"))
