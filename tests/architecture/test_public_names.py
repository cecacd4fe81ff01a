"""Promises about the source as a whole: public names, light import, exactness, citations."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import certune

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "certune").rglob("*.py"))
HEAVY = {"flint", "matplotlib", "pandas", "scipy", "sklearn"}
BANNED = {"cloudpickle", "dill", "fastmath", "pickle"}
PAPER_LABELS = set(Path(__file__).with_name("paper_labels.txt").read_text().split())
LABEL = re.compile(r"\b(?:thm-apx|thm|lem|lm|def|sec|alg|cor|eqn|fig|appx|apx|app):[A-Za-z0-9:_-]+")


def name_of(path):
    return str(path.relative_to(ROOT / "src"))


# Public names


@pytest.mark.parametrize("name", certune.__all__)
def test_public_name_resolves(name):
    assert getattr(certune, name) is not None
    assert name in dir(certune)


@pytest.mark.parametrize("name", sorted(set(certune.__all__) - {"__version__"}))
def test_public_name_is_documented(name):
    documentation = getattr(certune, name).__doc__
    assert documentation and documentation.strip()
    generated_by_dataclass = f"{name}("
    assert not documentation.startswith(generated_by_dataclass)


def test_public_names_are_unique_and_sorted():
    assert certune.__all__ == sorted(set(certune.__all__))


def test_names_come_from_the_stub_that_type_checkers_read():
    tree = ast.parse(Path(certune.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    assert names | {"__version__"} == set(certune.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="did you mean .tune."):
        certune.tuna  # noqa: B018


def test_version_is_the_one_in_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert certune.__version__ == project["version"]


# Light import


def run_fresh(statement):
    finished = subprocess.run(
        [sys.executable, "-c", statement], capture_output=True, text=True, check=True
    )
    return finished.stdout


def test_import_loads_nothing_heavy():
    loaded = run_fresh("import certune, sys; print(*sys.modules)").split()
    assert "certune" in loaded
    assert HEAVY.isdisjoint(loaded)


def test_import_takes_less_than_three_tenths_of_a_second():
    statement = "from time import process_time as t; s = t(); import certune; print(t() - s)"
    assert min(float(run_fresh(statement)) for _ in range(3)) < 0.3


# Exactness: no unsafe float optimisation, no pickled data


def banned_words(source):
    """List the uses in code, not in prose, of what is banned from the package."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)):
                found.append(word)
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=False)):
                pass
            case ast.keyword(arg="allow_pickle"):
                found.append("pickle")
            case ast.keyword(arg=str(word)):
                found.append(word)
            case ast.alias(name=module):
                found += module.split(".")
            case ast.ImportFrom(module=str(module)):
                found += module.split(".")
    return sorted(BANNED.intersection(found))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_fastmath_and_no_pickle(path):
    assert banned_words(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("@compiled(fastmath=True)\ndef f(): pass", ["fastmath"]),
        ("options = {'fastmath': True}", ["fastmath"]),
        ("import pickle", ["pickle"]),
        ("from pickle import loads", ["pickle"]),
        ("np.load(path, allow_pickle=True)", ["pickle"]),
        ("np.load(path, allow_pickle=False)", []),
        ("'''Arrays are stored without pickle.'''", []),
    ],
)
def test_the_ban_finds_violations(source, found):
    assert banned_words(source) == found


# Citations


def unknown_labels(source):
    """List the labels cited in docstrings and messages which the paper does not have."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    cited = {label.rstrip(":_-") for text in texts for label in LABEL.findall(text)}
    return sorted(cited - PAPER_LABELS)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_cited_labels_exist(path):
    assert unknown_labels(path.read_text()) == []


@pytest.mark.parametrize(
    ("docstring", "unknown"),
    [
        ("Carries `thm:pdim-clustering-1`, proved with lm:kho-91.", []),
        ("See thm:pdim-clustering-9 and sec:linkage.", ["thm:pdim-clustering-9"]),
        ("See thm-apx:using-stoc, lem:algebraic, eqn:none.", ["eqn:none"]),
    ],
)
def test_the_citation_check_finds_unknown_labels(docstring, unknown):
    assert unknown_labels(repr(docstring)) == unknown


def test_modules_say_why_they_exist():
    silent = [
        name_of(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
