"""Checks for families of algorithms, the ones of this package and users' own.

`check_family` is the conformance suite; `StepFamily` is the smallest family that passes it, an
example to start from. `WindowDomain` draws instances for it whose expectation is known, to check
guarantees.
"""

from __future__ import annotations

from certune.testing.conformance import check_family
from certune.testing.steps import StepFamily, StepInstance
from certune.testing.windows import WindowDomain

__all__ = ["StepFamily", "StepInstance", "WindowDomain", "check_family"]
