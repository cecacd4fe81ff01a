"""The certificate of a choice: one of each alternative, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from certune.errors import CertificateError
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.certificate import Certificate
from certune.tuning.proof.sealed import SealedCertificate
from certune.tuning.schema import Fields

MOST_ALTERNATIVES = 1000


@dataclass(frozen=True, kw_only=True, repr=False)
class ChoiceCertificate(SealedCertificate):
    """Claims about the optimum over all alternatives of a choice, with their evidence.

    Attributes
    ----------
    family : dict
        Names of the alternatives.
    family_fingerprint : str
        Hash of the choice.
    instance_fingerprints : tuple of str
        Hashes of all instances of the winning alternative, in order.
    best_alternative : str
        The winner.
    best_value : Fraction
        What its certificate says is attained over the instances that it covers.
    upper_bound : Fraction
        Claimed bound over all instances, settings and alternatives: the largest of their bounds.
    proofs : dict of str to Certificate, BoxCertificate or None
        One certificate for each alternative; None for one of which only the range of utilities is
        known.
    checksum : str
        SHA-256 of everything else.
    """

    FORMAT_NAME: ClassVar[str] = "certune choice certificate"
    OWN_FIELDS: ClassVar[tuple[str, ...]] = ("best_alternative", "proofs")

    best_alternative: str
    proofs: Mapping[str, Certificate | BoxCertificate | None] = field(repr=False)

    def _own_content(self) -> dict[str, Any]:
        return {
            "best_alternative": self.best_alternative,
            "proofs": [
                [name, None if proof is None else {**proof._content(), "checksum": proof.checksum}]
                for name, proof in self.proofs.items()
            ],
        }

    @classmethod
    def _own_fields(cls, stored: Fields) -> dict[str, Any]:
        pairs = stored.items("proofs")
        if len(pairs) > MOST_ALTERNATIVES:
            raise CertificateError(f"The certificate has more than {MOST_ALTERNATIVES} proofs.")
        proofs: dict[str, Certificate | BoxCertificate | None] = {}
        for pair in pairs:
            right = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not right or pair[0] in proofs:
                raise CertificateError("proofs must be certificates with different names.")
            proofs[pair[0]] = None if pair[1] is None else _proof(pair[1])
        return {"best_alternative": stored.text("best_alternative"), "proofs": proofs}


def _proof(content: object) -> Certificate | BoxCertificate:
    kind = content.get("format") if isinstance(content, Mapping) else None
    if kind == BoxCertificate.FORMAT_NAME:
        return BoxCertificate.from_content(content)
    return Certificate.from_content(content)
