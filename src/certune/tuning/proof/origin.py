"""Whether a certificate is about this family and these instances; the same for both kinds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from certune.families.base import Family
from certune.families.reach import DerivedProperty
from certune.tuning.instances import instance_name
from certune.tuning.proof.proofs import demand
from certune.tuning.proof.sealed import SealedCertificate
from certune.tuning.schema import shown


def in_order(certificate: SealedCertificate, family: Family, instances: list[Any]) -> list[Any]:
    """Return the instances in the order of a certificate, which has unfinished ones last.

    They stay as they are if they are others. Weights of the certificate belong to its instances, so
    that the order in which somebody lists these changes no claim.
    """
    return [instances[place] for place in places_of(certificate, family, instances)]


def places_of(certificate: SealedCertificate, family: Family, instances: list[Any]) -> list[int]:
    """Return at which place of a list each instance of a certificate is; 0, 1, ... for others."""
    stored = certificate.instance_fingerprints
    named: dict[str, list[int]] = {}
    for place in reversed(range(len(instances))):
        named.setdefault(family.instance_fingerprint(instances[place]), []).append(place)
    if Counter(stored) != {own: len(those) for own, those in named.items()}:
        return list(range(len(instances)))
    return [named[own].pop() for own in stored]


def check_origin(certificate: SealedCertificate, family: Family, instances: list[Any]) -> None:
    """Raise `CertificateError` unless the certificate can say something about the instances."""
    demand(
        family.proves_duals,
        f"Functions of {family!r} are not proved, so that a certificate about them shows nothing.",
    )
    demand(
        certificate.family_fingerprint == family.fingerprint,
        f"The certificate is about another family than {family!r}: fingerprint "
        f"{certificate.family_fingerprint[:80]!r}, expected {family.fingerprint!r}."
        + _why_fingerprints_differ(family),
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


def _why_fingerprints_differ(family: Family) -> str:
    """Return what besides another family can be the cause, as a sentence, or nothing."""
    if family.fingerprint_doubts:
        doubts = "; ".join(family.fingerprint_doubts)
        return f" It cannot be told from that of another process: {doubts}."
    if isinstance(type(family).fingerprint, DerivedProperty):
        return (
            f" Code and attributes of {type(family).__name__} count as they are now: if it changes "
            "some while it runs, such as a counter, give the class a property `fingerprint` of "
            "what matters."
        )
    return ""
