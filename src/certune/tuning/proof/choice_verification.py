"""Checking the certificate of a choice: every alternative's own, and that the claims follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.tuning.choice.choice import Choice
from certune.tuning.proof.choice_certificate import ChoiceCertificate
from certune.tuning.proof.origin import places_of
from certune.tuning.proof.proofs import demand
from certune.tuning.proof.report import Verified
from certune.tuning.schema import shown


@dataclass(frozen=True, repr=False, kw_only=True)
class ChoiceVerificationReport(Verified):
    """What :func:`certune.verify` has checked about a choice; it exists only if all was right.

    Attributes
    ----------
    reports : dict of str to VerificationReport or BoxVerificationReport
        What was checked for each alternative that has a proof.
    best_alternative : str
        The winner.
    n_instances : int
        Number of instances.
    """

    reports: dict[str, Any]
    best_alternative: str

    @property
    def covers_all(self) -> bool:
        """Whether the certificate of the winner covers all instances."""
        return bool(self.reports[self.best_alternative].covers_all)

    def __str__(self) -> str:
        confirmed = self._confirmed(f" among {len(self.reports)} alternatives")
        lines = [f"{confirmed} by {self.best_alternative}, {self.elapsed:.1f} s"]
        return "\n".join([*lines, *(f"{name}: {item}" for name, item in self.reports.items())])


def verify_choice(
    certificate: ChoiceCertificate,
    choice: Choice,
    instances: Any,
    verify: Callable[[Any, Any, Any], Any],
) -> ChoiceVerificationReport:
    """Check every claim of a certificate about a choice.

    Parameters
    ----------
    certificate : ChoiceCertificate
        The certificate, in the form in which a file would give it back.
    choice : Choice
        The alternatives.
    instances : iterable, or mapping of str to iterable
        The instances, as for tuning.
    verify : callable
        Checks the certificate of one alternative.
    """
    started = time.perf_counter()
    listed = choice.checked_instances(instances)
    demand(
        certificate.family_fingerprint == choice.fingerprint,
        f"The certificate is about other alternatives than {choice!r}.",
    )
    demand(
        set(certificate.proofs) == set(choice.alternatives),
        f"The certificate has proofs for {sorted(certificate.proofs)}, expected "
        f"{sorted(choice.alternatives)}.",
    )
    best = certificate.proofs.get(certificate.best_alternative)
    demand(best is not None, "The certificate has no proof for its best alternative.")
    assert best is not None
    demand(
        certificate.instance_fingerprints == best.instance_fingerprints,
        "The certificate names other instances than the proof of its best alternative.",
    )
    reports, bounds = {}, []
    for name, family in choice.alternatives.items():
        proof = certificate.proofs[name]
        if proof is None:
            bounds.append(Fraction(family.utility_range[1]))
            continue
        reports[name] = verify(proof, family, listed[name])
        bounds.append(proof.upper_bound)
    _check_criteria(certificate, choice, listed)
    for what, claimed, found in (
        ("best value", certificate.best_value, best.best_value),
        ("upper bound", certificate.upper_bound, max(bounds)),
    ):
        demand(
            claimed == found,
            f"The claimed {what} {shown(claimed)} does not follow from the alternatives, which "
            f"give {shown(found)}.",
        )
    report = reports[certificate.best_alternative]
    return ChoiceVerificationReport(
        reports=reports,
        best_alternative=certificate.best_alternative,
        n_instances=report.n_instances,
        best_value=certificate.best_value,
        upper_bound=certificate.upper_bound,
        tolerance=choice.tolerance,
        elapsed=time.perf_counter() - started,
        aggregate=report.aggregate,
        score=report.score,
    )


def _check_criteria(
    certificate: ChoiceCertificate, choice: Choice, listed: dict[str, list[Any]]
) -> None:
    """All alternatives must have maximised the same: values of others cannot be compared.

    Weights are those of the same instances, in whichever order a proof has these.
    """
    criteria = set()
    for name, proof in certificate.proofs.items():
        if proof is not None:
            places = places_of(proof, choice.alternatives[name], listed[name])
            criteria.add(proof.criterion.of(np.argsort(places).tolist()))
    demand(
        len(criteria) <= 1, "The alternatives of the certificate have maximised different things."
    )
