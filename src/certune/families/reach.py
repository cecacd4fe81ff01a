"""Fingerprints of functions: hashes of everything that a function can reach.

What a function does depends on its source, on the values of its defaults, closure and global names,
and on the same of every function and class among them. Code of the standard library and of certune
counts by its name, code of installed packages by name and major version, everything else by its
source, so that a hash survives an upgrade of Python. Other objects count by what pickle would keep
of them. Something that cannot be told, such as an open connection or a lock, is named, and its hash
is good for this process only.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import enum
import functools
import importlib
import importlib.metadata
import importlib.util
import itertools
import sys
import sysconfig
import threading
import types
import uuid
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np

from certune.families.content import Content, attribute_of
from certune.families.sources import class_source, file_source, function_source

# No other process has the same, so that hashes of what cannot be told agree only within this one.
_PROCESS = uuid.uuid4().hex
# Roots of hashes that are being computed, by thread.
_ROOTS = threading.local()
_LIBRARY = sysconfig.get_path("stdlib")
_FUNCTION_KINDS = (types.FunctionType, classmethod, staticmethod, property)
# What objects are besides objects: data that count by their content.
_PLAIN = frozenset(
    (bool, int, float, str, bytes, Fraction, tuple, list, dict, set, frozenset, np.ndarray)
)
_DATA = (int, float, str, bytes, Fraction, tuple, list, Mapping, Set, np.ndarray)
# Python's own functions, and attributes, through which code reaches files, the environment, and
# global names that are not written in it.
_OUTSIDE = frozenset(("__import__", "eval", "exec", "globals", "input", "open"))
_OUTSIDE_ATTRIBUTES = frozenset(
    ("__globals__", "environ", "f_globals", "getenv", "import_module", "read_bytes", "read_text")
)
_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# Parts of a class that follow from its source, or are kept by Python for itself.
_FOLLOWING = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)
_PRIVATE_KINDS = frozenset(("_tuplegetter", "_abc_data", "member", "nonmember", "DerivedProperty"))


class DerivedProperty(property):
    """A property that certune gives to a user's class; no part of the code of that class."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let classes of scripts and notebooks go to other processes, which takes them apart."""
        return DerivedProperty, (self.fget, self.fset, self.fdel, self.__doc__)


@dataclass(frozen=True)
class Reach:
    """What a function can reach.

    Attributes
    ----------
    digest : str
        Hexadecimal hash of it.
    doubts : tuple of str
        What of it could not be told; the hash is that of no other process then.
    """

    digest: str
    doubts: tuple[str, ...] = ()


def reach(function: Any) -> Reach:
    """Return the hash of everything that a callable can reach.

    Parameters
    ----------
    function : callable
        A function, a method, an object with ``__call__``, a partial or compiled function.

    Notes
    -----
    A global variable counts with its value now: a function that changes one, such as a table of
    results, is another function afterwards (``functools.cache`` does not count).
    """
    if _home(function).partition(".")[0] == __name__.partition(".")[0]:
        function = getattr(function, "__wrapped__", function)
    return _reach(function, _Reached.add)


def object_reach(value: Any) -> Reach:
    """Return the hash of an object's class and attributes, whatever fingerprint it has itself."""
    return _reach(value, _Reached.add_members)


def _reach(root: Any, add: Callable[[_Reached, Any], None]) -> Reach:
    # What a root reaches can hold the family whose fingerprint asks for it.
    under_way: set[int] = vars(_ROOTS).setdefault("under_way", set())
    if id(root) in under_way:
        return Reach("itself")
    under_way.add(id(root))
    try:
        found = _Reached()
        add(found, root)
        return Reach(found.hexdigest(), tuple(dict.fromkeys(found.doubts)))
    finally:
        under_way.remove(id(root))


class _Reached(Content):
    """The hash of an object with all that it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.doubts: list[str] = []
        self._place: list[str] = []
        # Objects by identity, for those that refer to each other; kept so that none is reused.
        self._seen: dict[int, tuple[int, Any]] = {}

    def add(self, value: Any) -> None:
        """Add a value; one that was met before only by when that was."""
        if isinstance(value, (types.FunctionType, type, types.ModuleType, list, dict)) or (
            attribute_of(value, "__dict__") is not None
        ):
            if id(value) in self._seen:
                self.mark(f"number {self._seen[id(value)][0]}")
                return
            self._seen[id(value)] = len(self._seen), value
        if (isinstance(value, _DATA) or _is_record(value)) and type(value) not in _PLAIN:
            self._add_kind(value)
        if isinstance(value, Mapping) and len(value) > 1:  # a program may go through it in order
            self.mark(f"order {[self.alone(key) for key in value]}")
        doubts = None if isinstance(value, type) else attribute_of(value, "fingerprint_doubts")
        if isinstance(doubts, tuple):  # a family, which counts by its fingerprint
            self.doubts += [str(doubt) for doubt in doubts]
        super().add(value)

    def add_members(self, value: Any) -> None:
        """Add the class and the attributes of an object."""
        self._seen[id(value)] = len(self._seen), value
        self._add_object(value)

    def _add_kind(self, value: Any) -> None:
        """Add what an object of a user's class has besides the data that it is."""
        if isinstance(value, defaultdict):
            self._add_part("factory", value.default_factory)
        if isinstance(value, ChainMap):
            self._add_part("maps", value.maps)
        kind = type(value)
        if _known_class(kind) is not None:
            return
        fields: set[str] = set()
        if _is_record(value):  # which says its class by itself
            fields = {field.name for field in dataclasses.fields(value)}
        else:
            self._add_part("kind", kind)
        if isinstance(value, enum.Enum):  # its class and value say all of it
            return
        attributes = _without_cached(kind, attribute_of(value, "__dict__") or {})
        more = [pair for pair in sorted(attributes.items()) if pair[0] not in fields]
        if more:
            self.add_all("more", more)

    def alone(self, value: Any) -> str:
        """Return the hash of a value by itself; its doubts are those of the whole."""
        content = _Reached()
        content._depth, content._place, content.doubts = self._depth, self._place, self.doubts
        content._seen = dict(self._seen)
        content.add(value)
        return content.hexdigest()

    def fields(self, value: Any) -> list[Any]:
        """Return the class and all fields of a dataclass."""
        names = [field.name for field in dataclasses.fields(value)]
        return [type(value), *(getattr(value, name) for name in names)]

    def too_deep(self, value: Any) -> None:
        """Leave open what is nested too deeply."""
        self._doubt(value)

    def other(self, value: Any) -> None:
        """Add code, and objects by what pickle would keep of them."""
        if isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, types.ModuleType):
            self._add_module(value, ())
        elif isinstance(value, (classmethod, staticmethod)):
            self._add_part("method", value.__func__)
        elif isinstance(value, property):
            self.add_all("property", (value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            self._add_part("cached property", value.func)
        elif isinstance(value, functools._lru_cache_wrapper):
            self._add_part("cached", value.__wrapped__)
        elif isinstance(attribute_of(value, "py_func"), types.FunctionType):
            self._add_part("compiled", value.py_func)
        elif isinstance(value, np.ufunc) and not _is_public(value):
            self._doubt(value)  # made of a function that it does not show
        else:
            self._add_object(value)

    def _add_part(self, kind: str, value: Any) -> None:
        self.mark(kind)
        self.add(value)

    def _add_function(self, function: types.FunctionType) -> None:
        code, known = function.__code__, _known_module(_home(function))
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        if known is None:
            self._add_code(function)
        else:
            self.mark(f"function {known} {code.co_qualname}")
            if not closure:
                return
        for name, cell in closure.items():
            with self._at(f"the variable {name!r} around {_named(function)}"):
                self.add_all("cell", _contents(cell))
        with self._at(f"the defaults of {_named(function)}"):
            self.add_all("defaults", (function.__defaults__, function.__kwdefaults__))
        attributes = {key: item for key, item in vars(function).items() if key != "__wrapped__"}
        with self._at(f"the attributes of {_named(function)}"):
            self.add_all("attributes", sorted(attributes.items()))

    def _add_code(self, function: types.FunctionType) -> None:
        """Add the source of a function, or its byte code, and the global names that it uses."""
        source = function_source(function.__code__)
        if source is None:
            self.mark(f"code of {sys.implementation.cache_tag}")
            self._add_byte_code(function.__code__)
        else:
            self.mark(f"source {source}")
        space, names = function.__globals__, _Names.of(function.__code__)
        for name in sorted(names.of_globals | set(names.of_attributes)):
            is_called = name in names.of_globals and name not in space
            if (is_called and name in _OUTSIDE) or name in _OUTSIDE_ATTRIBUTES:
                self.doubts.append(f"{_named(function)} uses {name!r}, which may give it anything")
                self.mark(f"open {_PROCESS}")
        for name in sorted(names.of_globals):
            with self._at(f"the global name {name!r} of {_named(function)}"):
                self.mark(f"global {name}")
                if name in space:
                    self._add_global(space[name], names.of_attributes)
        for level, path in sorted(names.of_imports):
            module = _imported(level, path, space)
            self.mark(f"import {level} {path}")
            if module is not None:
                self._add_global(module, names.of_attributes)

    def _add_byte_code(self, code: types.CodeType) -> None:
        self.mark(f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_byte_code(constant)
            else:
                self.add(constant)

    def _add_global(self, value: Any, attributes: tuple[str, ...]) -> None:
        if isinstance(value, types.ModuleType):
            self._add_module(value, attributes)
        else:
            self.add(value)

    def _add_module(self, module: types.ModuleType, attributes: tuple[str, ...]) -> None:
        """Add a module by its name, or by its source and the attributes that may be used."""
        known = _known_module(module.__name__)
        if module is sys and "modules" in attributes:
            self._doubt(sys.modules)
        if known is not None:
            self.mark(f"module {known}")
            return
        if (id(module), attributes) in self._modules:
            return
        self._modules.add((id(module), attributes))
        source = file_source(module.__file__ or "") if hasattr(module, "__file__") else None
        if source is None:
            self._doubt(module)
            return
        self.mark(f"module {source}")
        for name in attributes:
            if name in vars(module):
                with self._at(f"{module.__name__}.{name}"):
                    self.mark(f"attribute {name}")
                    self._add_global(vars(module)[name], attributes)

    @functools.cached_property
    def _modules(self) -> set[tuple[int, tuple[str, ...]]]:
        return set()

    def _add_class(self, kind: type) -> None:
        known = _known_class(kind)
        self.mark(f"class {kind.__qualname__}" if known is None else f"class {known} {kind!r}")
        if known is not None:
            return
        source = class_source(_file_of(kind), kind.__qualname__)
        self.mark(f"source {source}")
        for base in kind.__bases__:
            self.add(base)
        if _known_class(type(kind)) is None:  # attributes may be those of the metaclass
            self._add_part("metaclass", type(kind))
        # The fields of a named tuple say what it is, also without a source.
        is_told = source is not None or "_fields" in vars(kind)
        for name, value in sorted(vars(kind).items()):
            if not self._follows(name, value, is_told):
                with self._at(f"{kind.__qualname__}.{name}"):
                    self._add_part(f"attribute {name}", value)

    def _follows(self, name: str, value: Any, is_told: bool) -> bool:
        """Tell whether a part of a class follows from its source, or is no part of what it does."""
        if isinstance(value, _FOLLOWING) or type(value).__name__ in _PRIVATE_KINDS:
            return True
        function = value
        if isinstance(value, (classmethod, staticmethod)):
            function = value.__func__
        if isinstance(function, types.FunctionType):
            is_generated = function_source(function.__code__) is None
            return is_told and (is_generated or _known_module(_home(function)) is not None)
        special = name.startswith("_") and name.endswith("_")
        return special and not isinstance(value, _FUNCTION_KINDS)

    def _add_object(self, value: Any) -> None:
        """Add an object by what pickle would keep of it."""
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            parts: Any = value.__reduce_ex__(4) if reducer is None else reducer(value)
        except Exception:  # whatever a foreign object raises, it says nothing of itself
            parts = None
        if isinstance(parts, str):
            module = getattr(value, "__module__", None) or type(value).__module__
            known = _known_module(module) if isinstance(module, str) else None
            if known is None:
                self._doubt(value)
            else:
                self.mark(f"name {known} {parts}")
        elif isinstance(parts, tuple):
            self._seen.setdefault(id(parts), (-1, parts))
            listed = [list(part) if isinstance(part, Iterator) else part for part in parts[:5]]
            if len(listed) > 2 and type(listed[2]) is dict:
                listed[2] = _without_cached(type(value), listed[2])
            self.add_all("object", listed)
        else:
            self._doubt(value)

    def _doubt(self, value: Any) -> None:
        """Leave open what a value is: it equals only itself, and only now."""
        place = self._place[-1] if self._place else "it"
        self.doubts.append(f"{place} is or holds a {type(value).__module__}.{type(value).__name__}")
        self.mark(f"open {_PROCESS} {id(value)}")

    @contextmanager
    def _at(self, place: str) -> Iterator[None]:
        self._place.append(place)
        try:
            yield
        finally:
            self._place.pop()


@dataclass(frozen=True)
class _Names:
    """Names that a code object and those inside of it use, in order."""

    of_globals: frozenset[str]
    of_attributes: tuple[str, ...]
    of_imports: frozenset[tuple[int, str]]

    @classmethod
    def of(cls, code: types.CodeType) -> _Names:
        """Return the names of a function."""
        codes = [code]
        for outer in codes:
            codes += [part for part in outer.co_consts if isinstance(part, types.CodeType)]
        loaded: set[str] = set()
        imported: set[tuple[int, str]] = set()
        for inner in codes:
            instructions = list(dis.get_instructions(inner))
            for number, instruction in enumerate(instructions):
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    loaded.add(instruction.argval)
                elif instruction.opname == "IMPORT_NAME":
                    imported.add((instructions[number - 2].argval, instruction.argval))
        names = sorted(set(itertools.chain.from_iterable(inner.co_names for inner in codes)))
        return cls(frozenset(loaded), tuple(names), frozenset(imported))


def _imported(level: int, path: str, space: dict[str, Any]) -> types.ModuleType | None:
    """Return the module that an import statement inside of a function gives."""
    try:
        full = importlib.util.resolve_name("." * level + path, space.get("__package__"))
        return importlib.import_module(full)
    except Exception:  # the function will fail in the same way
        return None


def _without_cached(kind: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an object without those that follow from the others when asked."""
    cached = {
        name
        for base in kind.__mro__
        for name, part in vars(base).items()
        if isinstance(part, functools.cached_property)
    }
    return {name: value for name, value in attributes.items() if name not in cached}


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_public(function: np.ufunc) -> bool:
    """Tell whether a library has a function under its name."""
    modules = (sys.modules.get(name) for name in ("numpy", "scipy.special"))
    return any(getattr(module, function.__name__, None) is function for module in modules)


def _home(value: Any) -> str:
    """Return the name of the module that holds the code of a callable."""
    if isinstance(value, types.FunctionType):
        return str(value.__globals__.get("__name__", ""))
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _known_module(name: str) -> str | None:
    """Return a module's name and version if that says what is in it, None for a user's code."""
    top = name.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return name
    file = getattr(sys.modules.get(name) or sys.modules.get(top), "__file__", None)
    path = PurePath(file) if isinstance(file, str) else PurePath()
    is_installed = bool({"site-packages", "dist-packages"} & set(path.parts))
    if top in sys.stdlib_module_names and not is_installed:
        # A file of the user can have the name of one of the library.
        return name if file is None or path.is_relative_to(_LIBRARY) else None
    if not is_installed:
        return None
    version = getattr(sys.modules.get(top), "__version__", None) or _installed_version(top)
    return f"{name} {_series(version)}" if isinstance(version, str) else None


def _known_class(kind: type) -> str | None:
    """Return the module and version of a class if that and its name say what it is.

    A class that was made by a call can have the module of the caller inside of Python, such as abc,
    which does not have it.
    """
    found: Any = sys.modules.get(kind.__module__)
    if "<locals>" not in kind.__qualname__ and kind.__flags__ & _MADE_BY_PYTHON:
        for name in kind.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not kind:
            return None
    return _known_module(kind.__module__)


def _series(version: str) -> str:
    """Return the part of a version that changes when results may: 2 of 2.4.1, 0.24 of 0.24.2."""
    first, *rest = version.split(".")
    return ".".join([first, *rest[:1]]) if first == "0" else first


@functools.cache
def _installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _file_of(kind: type) -> str:
    """Return the file that a class was defined in."""
    for value in vars(kind).values():
        function = getattr(value, "__func__", value)
        if isinstance(function, types.FunctionType) and function.__module__ == kind.__module__:
            if not function.__code__.co_filename.startswith("<string"):
                return function.__code__.co_filename
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


def _contents(cell: types.CellType) -> list[Any]:
    """Return the value of a variable around a function, or nothing if it has none yet."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _named(function: types.FunctionType) -> str:
    return function.__qualname__
