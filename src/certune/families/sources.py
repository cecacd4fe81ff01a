"""The source of a function, found and proved to be that of the code that runs.

Byte code changes with every release of Python, a source does not. A file may have been edited since
it was imported, so that its text alone proves nothing: it is compiled again, and only a function
whose code comes out equal has a source here.
"""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

# Instructions that stand for the function as a whole; their places are not inside of its body.
_WHOLE = frozenset(("RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR"))
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Fields of a syntax tree that follow from others, or say nothing about what is done.
_SILENT = frozenset(("ctx", "kind", "type_comment", "type_ignores"))


def function_source(code: CodeType) -> str | None:
    """Return the meaning of the source of a function, None if it is not known for certain.

    Comments, layout and docstrings do not count.
    """
    module = _module_at(code.co_filename)
    node = None if module is None else module.node_of(code)
    return None if node is None else meaning(node)


def class_source(filename: str, qualname: str) -> str | None:
    """Return the meaning of the source of a class of a file, None if there is not just one."""
    module = _module_at(filename)
    found = [] if module is None else module.classes.get(qualname, [])
    return meaning(found[0]) if len(found) == 1 else None


def file_source(filename: str) -> str | None:
    """Return the meaning of a whole file, None if it has no source."""
    module = _module_at(filename)
    return None if module is None else meaning(module.tree)


def meaning(node: ast.AST) -> str:
    """Return a text that is the same for equal syntax in every release of Python.

    Fields that are empty are left out, because releases add such fields.
    """
    return "".join(_written(node))


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, ast.AST):
        yield f"{type(value).__name__}("
        for name, part in ast.iter_fields(value):
            if isinstance(value, _DOCUMENTED) and name == "body":
                part = _without_docstring(part)
            if name not in _SILENT and part is not None and part != []:
                yield f"{name}="
                yield from _written(part)
        yield ")"
    elif isinstance(value, list):
        yield "["
        for part in value:
            yield from _written(part)
            yield ","
        yield "]"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield hex(value)  # decimal digits of large integers are refused
    else:
        yield ascii(value)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if documented and isinstance(first.value.value, str) else body  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class _Module:
    """A text with its syntax tree and everything that is compiled from it."""

    tree: ast.Module
    codes: frozenset[CodeType]
    functions: dict[int, list[ast.AST]]
    classes: dict[str, list[ast.AST]]

    def node_of(self, code: CodeType) -> ast.AST | None:
        """Return the definition that a code object was compiled from."""
        if code not in self.codes:
            return None
        named = [
            node
            for node in self.functions.get(code.co_firstlineno, [])
            if getattr(node, "name", "<lambda>") == code.co_name
        ]
        if len(named) > 1:  # several lambdas in a line
            spans = list(_spans(code))
            named = [node for node in named if all(_contains(node, span) for span in spans)]
            named = [node for node in named if not any(_within(other, node) for other in named)]
        return named[0] if len(named) == 1 else None


def _module_at(filename: str) -> _Module | None:
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    return _parsed(filename, "".join(lines)) if lines else None


@lru_cache(maxsize=64)
def _parsed(filename: str, text: str) -> _Module | None:
    try:
        tree = ast.parse(text)
        compiled = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions: dict[int, list[ast.AST]] = {}
    classes: dict[str, list[ast.AST]] = {}
    for qualname, node in _definitions(tree, ""):
        if isinstance(node, ast.ClassDef):
            classes.setdefault(qualname, []).append(node)
        else:
            decorators = getattr(node, "decorator_list", [])
            line = min([node.lineno, *(item.lineno for item in decorators)])
            functions.setdefault(line, []).append(node)
    return _Module(tree, frozenset(_codes(compiled)), functions, classes)


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Any]]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + child.name, child
            inner = f"{prefix}{child.name}."
            inner += "" if isinstance(child, ast.ClassDef) else "<locals>."
        elif isinstance(child, ast.Lambda):
            yield prefix + "<lambda>", child
            inner = f"{prefix}<lambda>.<locals>."
        yield from _definitions(child, inner)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _spans(code: CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the places of the instructions, as (line, column) of start and end."""
    for instruction in dis.get_instructions(code):
        place = instruction.positions
        if place is None or instruction.opname in _WHOLE or None in place:
            continue
        start, stop = (place.lineno, place.col_offset), (place.end_lineno, place.end_col_offset)
        if start != stop:  # the end of a function has a place without extent
            yield start, stop  # type: ignore[misc]


def _contains(node: Any, span: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    start, stop = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return bool(start <= span[0] and span[1] <= stop)


def _within(inner: Any, outer: Any) -> bool:
    """Tell whether a node lies inside of another one."""
    if inner is outer:
        return False
    start, stop = (inner.lineno, inner.col_offset), (inner.end_lineno, inner.end_col_offset)
    return _contains(outer, (start, stop))
