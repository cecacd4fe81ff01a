"""The layers of the package, as stated in pyproject.toml, hold; and the contract can fail."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "certune"
KERNELS = sorted((PACKAGE / "kernels").glob("*.py"))
# The finder of an editable installation goes before PYTHONPATH: it would find the checkout always.
LINT_IMPORTS = """
import sys

sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__name__.startswith("ScikitBuild")]
from importlinter.cli import lint_imports_command

lint_imports_command()
"""


def check_contract(project):
    """Run import-linter on the package below ``project/src``; return the finished process."""
    return subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-cache"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def copy_project(folder):
    shutil.copy(ROOT / "pyproject.toml", folder)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)


def test_layers_hold():
    finished = check_contract(ROOT)
    assert finished.returncode == 0, finished.stdout + finished.stderr


ILLEGAL = [
    ("errors.py", "import certune.space", "certune.errors -> certune.space"),
    ("space/__init__.py", "import scipy", "certune.space -> scipy"),
    ("kernels/__init__.py", "import scipy", "certune.kernels -> scipy"),
    ("kernels/__init__.py", "import certune.errors", "certune.kernels -> certune.errors"),
    ("exact/__init__.py", "import certune.dual", "certune.exact -> certune.dual"),
    ("pfaffian/__init__.py", "import certune.dual", "certune.pfaffian -> certune.dual"),
    ("demo.py", "import certune.cli", "certune.demo -> certune.cli"),
    ("exact/__init__.py", "import certune.pfaffian", "certune.exact -> certune.pfaffian"),
    ("families/__init__.py", "import certune.report", "certune.families -> certune.report"),
    ("report/__init__.py", "import certune.estimators", "certune.report -> certune.estimators"),
    ("estimators/__init__.py", "import certune.tuning", "certune.estimators -> certune.tuning"),
    ("guarantees/__init__.py", "import certune.tuning", "certune.guarantees -> certune.tuning"),
    ("online/__init__.py", "import certune.tuning", "certune.online -> certune.tuning"),
    ("tuning/__init__.py", "import certune.online", "certune.tuning -> certune.online"),
    ("online/__init__.py", "import certune.datasets", "certune.online -> certune.datasets"),
    ("datasets/__init__.py", "import certune.testing", "certune.datasets -> certune.testing"),
]


@pytest.fixture(scope="module")
def report_of_illegal_imports(tmp_path_factory):
    """Return what the linter says of a copy of the package with every illegal import at once."""
    project = tmp_path_factory.mktemp("illegal")
    copy_project(project)
    for importer, illegal_import, _ in ILLEGAL:
        module = project / "src" / "certune" / importer
        module.write_text(module.read_text() + f"\n{illegal_import}\n")
    finished = check_contract(project)
    assert finished.returncode != 0, finished.stdout
    return finished.stdout


@pytest.mark.parametrize("reported", [reported for _, _, reported in ILLEGAL])
def test_an_illegal_import_breaks_the_contract(report_of_illegal_imports, reported):
    assert reported in report_of_illegal_imports


def test_a_module_without_a_layer_breaks_the_contract(tmp_path):
    copy_project(tmp_path)
    (tmp_path / "src" / "certune" / "newcomer.py").write_text('"""No layer."""\n')
    finished = check_contract(tmp_path)
    assert finished.returncode != 0, finished.stdout
    assert "newcomer" in finished.stdout, finished.stdout + finished.stderr


def packages_outside_kernels(source):
    """List what a module imports beyond the standard library, numpy, kernels and core."""
    below = {"certune._core", "certune.deadline", "certune.kernels"}
    allowed = {"numpy", *below, *sys.stdlib_module_names}
    imported = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            imported += ["." * node.level + (node.module or "")]
    prefixes = tuple(f"{name}." for name in allowed)
    return [name for name in imported if name not in allowed and not name.startswith(prefixes)]


@pytest.mark.parametrize("path", [PACKAGE / "deadline.py", *KERNELS], ids=lambda path: path.stem)
def test_kernels_import_only_numpy_and_the_core(path):
    assert packages_outside_kernels(path.read_text()) == []


def test_there_are_kernels_to_check():
    assert KERNELS


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import networkx as nx", ["networkx"]),
        ("from certune import errors", ["certune.errors"]),
        ("from ..exact import balls", ["..exact"]),
        ("import math, numpy as np\nfrom .arrays import reals", []),
        ("from certune.kernels.pruning import prune", []),
        ("from certune._core import graph, Stop\nimport certune._core", []),
        ("from certune import tune", ["certune.tune"]),
    ],
)
def test_the_kernel_import_check_finds_other_packages(source, found):
    assert packages_outside_kernels(source) == found


def uses_of_the_front_door(source):
    """List the names that a module takes from `certune` itself, which may lie in any layer."""
    packages = {path.stem for path in (ROOT / "src" / "certune").iterdir()}
    return [
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "certune"
        for alias in node.names
        if alias.name not in packages
    ]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_modules_do_not_go_through_the_front_door(path):
    assert uses_of_the_front_door(path.read_text()) == []


def test_the_front_door_check_finds_its_use():
    assert uses_of_the_front_door("from certune import tune, dual") == ["tune"]
