"""Whether a certificate is about this family and these instances; the same for both kinds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from certune.families.base import Family
from certune.tuning.instances import instance_name
from certune.tuning.proofs import demand
from certune.tuning.schema import shown
from certune.tuning.sealed import SealedCertificate


def in_order(certificate: SealedCertificate, family: Family, instances: list[Any]) -> list[Any]:
    """Return the instances in the order of a certificate, which has unfinished ones last.

    They stay as they are if they are others. Weights of the certificate belong to its instances, so
    that the order in which somebody lists these changes no claim.
    """
    stored = certificate.instance_fingerprints
    named: dict[str, list[Any]] = {}
    for instance in reversed(instances):
        named.setdefault(family.instance_fingerprint(instance), []).append(instance)
    if Counter(stored) != {own: len(those) for own, those in named.items()}:
        return instances
    return [named[own].pop() for own in stored]


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
            f"{number}, nor are all instances of it here: some were changed, or are others.",
        )
