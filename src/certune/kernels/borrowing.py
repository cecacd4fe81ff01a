"""Compilation of the innermost kernels: they borrow arrays instead of counting references.

numba counts references to every array that a function receives, views or takes out of a bundle,
with atomic instructions that cost more than the short loops of the sweep.  A *borrowing* kernel
is compiled without its memory manager: it cannot allocate or return arrays (numba refuses to
compile that), and whoever calls it owns the arrays.  A *lending* kernel allocates, and is called by
borrowing ones.  An *inlined* kernel becomes a part of its caller: bundles are long arguments.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False}
_WITH_COUNTS: dict[str, Any] = {"_nrt": True}

borrowing = njit(cache=True, nogil=True, **_WITHOUT_COUNTS)
inlined = njit(cache=True, nogil=True, inline="always", **_WITHOUT_COUNTS)
lending = njit(cache=True, nogil=True, **_WITH_COUNTS)
