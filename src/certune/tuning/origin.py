"""Whether a certificate is about this family and these instances; the same for both kinds."""

from __future__ import annotations

from typing import Any

from certune.families.base import Family
from certune.tuning.instances import instance_name
from certune.tuning.proofs import demand
from certune.tuning.schema import shown
from certune.tuning.sealed import SealedCertificate


def check_origin(certificate: SealedCertificate, family: Family, instances: list[Any]) -> None:
    """Raise `CertificateError` unless the certificate can say something about the instances."""
    demand(
        family.proves_duals,
        f"Functions of {family!r} are not proved, so that a certificate about them shows nothing.",
    )
    doubts = "; ".join(family.fingerprint_doubts)
    demand(
        certificate.family_fingerprint == family.fingerprint,
        f"The certificate is about another family than {family!r}: fingerprint "
        f"{certificate.family_fingerprint[:80]!r}, expected {family.fingerprint!r}."
        + (f" It cannot be told from that of another process: {doubts}." if doubts else ""),
    )
    demand(
        certificate.family == family.description,
        f"The certificate describes another family than {family!r}: {shown(certificate.family)}.",
    )
    stored = certificate.instance_fingerprints
    demand(
        len(stored) == len(instances),
        f"The certificate is about {len(stored)} instances, got {len(instances)}.",
    )
    for number, (fingerprint, instance) in enumerate(zip(stored, instances, strict=True)):
        demand(
            fingerprint == family.instance_fingerprint(instance),
            f"{instance_name(instance, number)} is not the instance of the certificate at place "
            f"{number}: it was changed, or the order is another one.",
        )
