"""Whether a wait is due to the compilation of kernels, and that it counts against no limit.

Kernels are compiled on first use after installation and kept on disk from then on. That takes
about a minute during which nothing else happens, which a user should be told.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from certune.deadline import begin_preparation, end_preparation


def leave_compilation_out() -> None:
    """Let the clock of time limits stand still whenever kernels are compiled or loaded."""
    if "numba" in sys.modules:
        _watch_compiler()


@cache
def _watch_compiler() -> None:
    from numba.core import event

    class Watch(event.Listener):
        under_way = 0

        def on_start(self, event: Any) -> None:
            self.under_way += 1
            begin_preparation()

        def on_end(self, event: Any) -> None:
            if self.under_way:  # not one that began before this watch
                self.under_way -= 1
                end_preparation()

    # Whoever compiles, or loads what was compiled before, holds this lock.
    event.register("numba:compiler_lock", Watch())  # type: ignore[no-untyped-call]


def count_compilations() -> int:
    """Count the kernels that this process has had to compile, or is compiling now."""
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in _loaded_kernels())


def nothing_is_compiled() -> bool:
    """Tell whether kernels are loaded but not one compiled kernel is on disk."""
    folders = {kernel.stats.cache_path for kernel in _loaded_kernels()} - {None}
    return bool(folders) and not any(any(Path(folder).glob("*.nbi")) for folder in folders)


def _loaded_kernels() -> Iterator[Any]:
    modules = [
        module for name, module in sys.modules.items() if name.startswith("certune.kernels.")
    ]
    for module in modules:
        for kernel in list(vars(module).values()):
            own = getattr(kernel, "__module__", "") == module.__name__
            if own and hasattr(kernel, "stats") and not isinstance(kernel, type):
                yield kernel
