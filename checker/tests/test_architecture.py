"""The checker stays small, and shares nothing with what it checks."""

import ast
import sys
import tokenize
from pathlib import Path

import certune_check

FILES = sorted(Path(certune_check.__file__).parent.rglob("*.py"))
ALLOWED = {"certune_check", "flint", "numpy", *sys.stdlib_module_names}
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module.partition(".")[0]


def code_lines(path):
    """Lines with code, without docstrings, comments and blank lines."""
    documented = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NO_CODE and token.string:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented - {0})


def test_only_numpy_and_flint_are_imported():
    assert len(FILES) >= 8
    for path in FILES:
        assert set(imported(path)) <= ALLOWED, path


def test_it_can_be_read_in_an_afternoon():
    sizes = {path: code_lines(path) for path in FILES}
    algorithms = sum(size for path, size in sizes.items() if path.parent.name == "algorithms")
    assert sum(sizes.values()) - algorithms < 1000
    assert algorithms < 300
