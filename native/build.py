"""Build `certune._core` for this interpreter, for work in a checkout.

    python native/build.py              after every change of native/; compiles what has changed and
                                        puts the extension into src/certune
    python native/build.py --sanitize   with address and undefined-behaviour sanitizers, into a copy
                                        of the package made of links, build/sanitized

Needs cmake, ninja and nanobind (``pip install '.[dev]'`` brings them) and a C++20 compiler. An
installation does not use this file: there scikit-build-core runs CMake.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
ROOT = NATIVE.parent
PACKAGE = ROOT / "src" / "certune"
SANITIZED = ROOT / "build" / "sanitized" / "certune"


def tool(name: str) -> str:
    """Return the path of a program, preferably of the environment of this interpreter."""
    path = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if path is None:
        sys.exit(f"{name} was not found; install it: {sys.executable} -m pip install {name}")
    return path


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
        configure += [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
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
