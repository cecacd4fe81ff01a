"""A certificate: the claims of a tuning result, with what a checker needs to check them.

It is plain data, bound by hashes to the family and the instances it speaks about. Nothing in it
has to be believed; :func:`certune.verify` derives the claims from it and re-proves its parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from certune.aggregates import Criterion
from certune.dual import DualFunction
from certune.dual.codec import from_json, to_json
from certune.errors import CertificateError
from certune.families.base import Family
from certune.space import Segment
from certune.tuning.proof.sealed import SealedCertificate
from certune.tuning.schema import (
    LONGEST_TEXT,
    Fields,
    criterion_data,
    criterion_from,
    segment_data,
    segment_from,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(SealedCertificate):
    """Claims about the optimum of a family on instances, with their evidence.

    Attributes
    ----------
    family : dict
        What the family is, as `Family.description` says it.
    family_fingerprint : str
        Hash of the family.
    instance_fingerprints : tuple of str
        Hashes of all instances, in order.
    segment : Segment
        The line of settings.
    duals : tuple of PiecewiseFunction or PiecewisePolynomial
        Exact utilities of the covered instances, which are the first ``len(duals)``; all of them
        unless tuning ended early.
    best_value : Fraction
        Claimed maximum over the covered instances, which is attained: of the mean utility, or of
        what else `criterion` says.
    best_region : tuple of (float, float)
        Claimed set of maximisers, or intervals that contain it where functions have an error.
    best_point : float
        A setting at which the best value is attained.
    upper_bound : Fraction
        Claimed upper bound of it over all instances.
    failures : dict of int to str
        Why instances have no function, by their place, where that was an error.
    criterion : Criterion
        What was maximised, with weights of all instances.
    checksum : str
        SHA-256 of everything else.
    """

    FORMAT_NAME: ClassVar[str] = "certune certificate"
    OWN_FIELDS: ClassVar[tuple[str, ...]] = (
        "segment",
        "best_region",
        "best_point",
        "duals",
        "failures",
    )
    # Certificates about the mean without weights have neither.
    OPTIONAL_FIELDS: ClassVar[tuple[str, ...]] = ("aggregate", "weights")

    segment: Segment
    duals: tuple[DualFunction, ...] = field(repr=False)
    best_region: tuple[tuple[float, float], ...]
    best_point: float
    failures: dict[int, str] = field(default_factory=dict)
    criterion: Criterion = Criterion()

    def _own_content(self) -> dict[str, Any]:
        return {
            "segment": segment_data(self.segment),
            "best_region": [list(interval) for interval in self.best_region],
            "best_point": self.best_point,
            "duals": [to_json(dual) for dual in self.duals],
            "failures": [[place, why] for place, why in sorted(self.failures.items())],
            **criterion_data(self.criterion),
        }

    @classmethod
    def _own_fields(cls, stored: Fields) -> dict[str, Any]:
        if not stored.items("duals"):
            raise CertificateError("The certificate has no function.")
        return {
            "segment": segment_from(stored["segment"]),
            "best_region": stored.intervals("best_region"),
            "best_point": stored.number("best_point"),
            "duals": tuple(from_json(dual) for dual in stored.items("duals")),
            "failures": stored.notes("failures"),
            "criterion": criterion_from(stored, len(stored.items("instance_fingerprints"))),
        }


def make_certificate(
    family: Family,
    segment: Segment,
    instance_fingerprints: Sequence[str],
    duals: Sequence[DualFunction],
    landscape: DualFunction,
    upper_bound: Fraction,
    criterion: Criterion,
    failures: Mapping[int, str],
) -> Certificate:
    """Return the certificate for the mean of exact functions, or another aggregate, `landscape`.

    The aggregate is known more closely than the stored functions where their terms cancel; what is
    claimed follows from these alone.
    """
    best = landscape.best_point
    known = [dual.enclose_exact(best)[0] for dual in duals]
    attained = criterion.of(range(len(duals))).value(known)
    return Certificate(
        family=family.description,
        family_fingerprint=family.fingerprint,
        instance_fingerprints=tuple(instance_fingerprints),
        segment=segment,
        duals=tuple(duals),
        best_value=min(landscape.max_exact, attained),
        best_region=tuple(landscape.argmax()),
        best_point=best,
        upper_bound=upper_bound,
        criterion=criterion,
        failures={place: why[:LONGEST_TEXT] for place, why in failures.items()},
    ).sealed()
