"""Build the wheel as a user's pip would, install it where nothing else is, and tune with it.

    python tools/try_install.py [PYTHON ...]

builds with this interpreter and installs for it and for the others that are named (a wheel for the
stable ABI serves all later versions). The installation is made read-only, and there is no home
directory. Ends with an error if the wheel does not hold what its name says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_RUN = """
import time
start = time.perf_counter()
import certune as ct
imported = time.perf_counter() - start
instances = ct.datasets.digits_clustering(20, random_state=0)
result = ct.tune(ct.Linkage("power-mean", alpha=(-10, 10)), instances, progress=False)
assert result.status is ct.Status.OPTIMAL, result
print(f"  import {imported:.2f} s, first result after {time.perf_counter() - start:.2f} s")
"""


def extension_of(wheel: Path) -> str:
    """Return the name of the extension in a wheel, after a look at what its tag promises."""
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith((".so", ".pyd"))]
    stable = "-abi3-" in wheel.name
    if stable != (".abi3." in name) and os.name != "nt":
        sys.exit(f"{wheel.name} holds {name}: the tag of the wheel and the extension disagree")
    return name


def try_with(python: str, wheel: Path, folder: Path) -> None:
    """Install a wheel for an interpreter and run the first example there."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = str(folder / "bin" / "python")
    subprocess.run([inside, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    (package,) = folder.glob("lib/python*/site-packages/certune")
    for path in [package, *package.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    bare = {"PATH": os.defpath, "HOME": "/nonexistent"}
    subprocess.run([inside, "-B", "-c", FIRST_RUN], check=True, cwd=folder, env=bare)
    for path in [package, *package.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def main() -> None:
    """Build once, try with every interpreter."""
    pythons = [sys.executable, *sys.argv[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(ROOT)]
        subprocess.run([*build, "-w", scratch], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        print(f"{wheel.name}: {extension_of(wheel)}, {wheel.stat().st_size / 1e6:.1f} MB")
        for number, python in enumerate(pythons):
            print(f"installed for {python}", flush=True)
            try_with(python, wheel, Path(scratch) / f"environment-{number}")


if __name__ == "__main__":
    main()
