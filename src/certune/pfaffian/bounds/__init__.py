"""Numbers from structures: pseudo-dimensions, sample sizes, component counts, dispersion constants.

Every function here evaluates one result, of the paper (cited by label) or of certune
(``docs/theory/bounds.md``), with explicit constants in certified arithmetic: what is returned is
rounded towards the safe side.
"""

from __future__ import annotations

from certune.pfaffian.bounds.records import Bound, PdimBound, Provenance, SampleSize
from certune.pfaffian.bounds.tightest import pdim_bound, sample_size

__all__ = ["Bound", "PdimBound", "Provenance", "SampleSize", "pdim_bound", "sample_size"]
