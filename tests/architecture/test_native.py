"""The compiled core is the one that the sources describe."""

import inspect
from pathlib import Path

import certune._core as core

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
STUBS = ROOT / "src" / "certune" / "_core"


def test_the_core_in_this_checkout_was_compiled_after_the_last_change():
    """A green test must not have tested older code: run `make native` after a change."""
    compiled = Path(core.__file__)
    sources = [*NATIVE.rglob("*.h"), *NATIVE.rglob("*.cpp")]
    assert sources
    if compiled.is_relative_to(ROOT / "src"):
        newer = [str(path) for path in sources if path.stat().st_mtime > compiled.stat().st_mtime]
        assert not newer, "run `make native`"


def public_names(module):
    return {name for name in vars(module) if not name.startswith("_")}


def test_every_room_has_its_types_written_down():
    rooms = {name for name in public_names(core) if inspect.ismodule(getattr(core, name))}
    assert rooms and rooms == {path.stem for path in STUBS.glob("*.pyi")} - {"__init__"}
    for room in rooms:
        stub = (STUBS / f"{room}.pyi").read_text()
        for name in public_names(getattr(core, room)):
            written = f"def {name}(", f"class {name}", f"\n{name}: "
            assert any(words in stub for words in written), f"{room}.{name}"


def test_only_bindings_know_python():
    for path in [*NATIVE.rglob("*.h"), *NATIVE.rglob("*.cpp")]:
        if path.parent.name != "bindings":
            assert "nanobind" not in path.read_text() and "Python.h" not in path.read_text(), path
