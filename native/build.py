"""Build `certune._core` for this interpreter, for work in a checkout.

    python native/build.py              after every change of native/; compiles what has changed and
                                        puts the extension into src/certune
    python native/build.py --sanitize   with address and undefined-behaviour sanitizers, into a copy
                                        of the package made of links, build/sanitized

Needs cmake, ninja and nanobind (``pip install '.[dev]'`` brings them) and a C++20 compiler: `CXX`,
or the first of c++, g++ and clang++; if there is none, that of ziglang is fetched from PyPI. An
installation does not use this file: there scikit-build-core runs CMake.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
ROOT = NATIVE.parent
PACKAGE = ROOT / "src" / "certune"
SANITIZED = ROOT / "build" / "sanitized" / "certune"
COMPILERS = ("c++", "g++", "clang++")
ZIG_COMMANDS = {"cc": "cc", "c++": "c++", "ar": "ar", "ranlib": "ranlib"}


def tool(name: str) -> str:
    """Return the path of a program, preferably of the environment of this interpreter."""
    path = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if path is None:
        sys.exit(f"{name} was not found; install it: {sys.executable} -m pip install {name}")
    return path


def compiler_options() -> list[str]:
    """Return what CMake has to be told about the compiler: nothing if it finds one by itself."""
    if os.environ.get("CXX") or any(map(shutil.which, COMPILERS)):
        return []
    print(f"No C++ compiler was found ({', '.join(COMPILERS)}); using that of ziglang from PyPI.")
    print("The first build with it takes some minutes: it builds its C++ library, too.", flush=True)
    if importlib.util.find_spec("ziglang") is None:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "ziglang>=0.13"]
        subprocess.run(install, check=True)
    scripts = zig_scripts(ROOT / "build" / "zig")
    return [
        f"-DCMAKE_CXX_COMPILER={scripts / 'c++'}",
        f"-DCMAKE_AR={scripts / 'ar'}",
        f"-DCMAKE_RANLIB={scripts / 'ranlib'}",
    ]


def zig_scripts(folder: Path) -> Path:
    """Write scripts that look like the programs of a compiler, and return their folder.

    Code is for every machine of the architecture, as with other compilers; what zig keeps stays in
    the folder, because there may be no home directory.
    """
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None and spec.origin is not None
    zig = Path(spec.origin).parent / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in ZIG_COMMANDS.items():
        options = " -mcpu=baseline" if command in ("cc", "c++") else ""
        script = folder / name
        script.write_text(
            "#!/bin/sh\n"
            f'export ZIG_GLOBAL_CACHE_DIR="{folder / "cache"}" '
            f'ZIG_LOCAL_CACHE_DIR="{folder / "cache"}"\n'
            f'exec "{zig}" {command}{options} "$@"\n'
        )
        script.chmod(0o755)
    return folder


# Takes the finder of an editable installation away, which would find src/certune first.
SITECUSTOMIZE = """
import sys

sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__name__.startswith("ScikitBuild")]
"""


def link_package() -> None:
    """Make the sanitized package: links to everything in src/certune but the extension."""
    (SANITIZED.parent / "sitecustomize.py").write_text(SITECUSTOMIZE)
    for link in SANITIZED.iterdir():
        if link.is_symlink():
            link.unlink()
    for path in PACKAGE.iterdir():
        if path.suffix != ".so":
            (SANITIZED / path.name).symlink_to(path)


def build(sanitize: bool) -> None:
    """Configure where that was not done for this interpreter, then compile."""
    kind = "sanitize" if sanitize else "native"
    folder = ROOT / "build" / f"{kind}-{sys.implementation.cache_tag}"
    made_for = folder / "interpreter"
    if not made_for.exists() or made_for.read_text() != sys.executable:
        # A folder made by an environment that is gone names tools that are gone.
        shutil.rmtree(folder, ignore_errors=True)
        configure = [tool("cmake"), "-S", str(NATIVE), "-B", str(folder), "-G", "Ninja"]
        configure += [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", *compiler_options()]
        configure += [f"-DPython_EXECUTABLE={sys.executable}"]
        configure += [f"-DCERTUNE_OUTPUT={SANITIZED if sanitize else PACKAGE}"]
        configure += [f"-DCERTUNE_SANITIZE={'ON' if sanitize else 'OFF'}"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        made_for.write_text(sys.executable)
    subprocess.run([tool("cmake"), "--build", str(folder)], check=True)
    if sanitize:
        link_package()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitize", action="store_true", help="build with sanitizers")
    try:
        build(parser.parse_args().sanitize)
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
