"""Exact decisions: ball arithmetic with growing precision, and algebra where a value is zero.

Floats propose, this layer decides.  Answers are three-valued: a sign, zero, or ``None`` when
nothing could be proved within the stated effort.
"""

from certune.exact.radicals import Radicals, sign_of_radicals
from certune.exact.taylor import sign_on_interval

__all__ = ["Radicals", "sign_of_radicals", "sign_on_interval"]
