"""Checks for families of algorithms, the ones of this package and users' own.

`check_family` is the conformance suite; `StepFamily` is the smallest family that passes it, an
example to start from.
"""

from __future__ import annotations

from certune.testing.conformance import check_family
from certune.testing.steps import StepFamily, StepInstance

__all__ = ["StepFamily", "StepInstance", "check_family"]
