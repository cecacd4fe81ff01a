"""Checking a certificate by another path than the one that made it.

The claims are derived anew from the stored functions, and the functions are compared with plain
runs and with fresh proofs on other parts of the domain, which together cover all of it.
"""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from certune.dual import PiecewiseFunction
from certune.dual.codec import MOST_BITS
from certune.errors import CertificateError, InputError
from certune.families.base import Family
from certune.files import read_text
from certune.guarantees.records import counted
from certune.runs.directory import read_events
from certune.stages import stage
from certune.tuning.choice.choice import Choice, Slices
from certune.tuning.instances import checked_family, checked_instances, instance_name
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.box_verification import BoxVerificationReport, verify_boxes
from certune.tuning.proof.certificate import Certificate
from certune.tuning.proof.choice_certificate import ChoiceCertificate
from certune.tuning.proof.choice_verification import ChoiceVerificationReport, verify_choice
from certune.tuning.proof.claims import claims_from
from certune.tuning.proof.inequalities import check_best_point, prove_claims
from certune.tuning.proof.origin import check_origin, in_order
from certune.tuning.proof.proofs import Case, check_runs, check_windows, demand
from certune.tuning.proof.report import Verified
from certune.tuning.schema import shown

AnyCertificate: TypeAlias = Certificate | BoxCertificate | ChoiceCertificate


@dataclass(frozen=True, repr=False, kw_only=True)
class VerificationReport(Verified):
    """What :func:`verify` has checked; it exists only if everything was right.

    Attributes
    ----------
    n_instances, n_covered : int
        All instances, and those whose exact functions are in the certificate.
    n_pieces, n_gaps : int
        Pieces and gaps that were proved again.
    n_runs : int
        Plain runs that agreed.
    """

    n_covered: int
    n_pieces: int
    n_gaps: int
    n_runs: int

    @property
    def covers_all(self) -> bool:
        """Whether all instances have an exact function."""
        return self.n_covered == self.n_instances

    def __str__(self) -> str:
        return (
            f"{self._confirmed()} on {self.n_covered} of them; {counted(self.n_pieces, 'piece')} "
            f"and {counted(self.n_gaps, 'gap')} proved again, {self.n_runs} plain runs agree, "
            f"{self.elapsed:.1f} s"
        )


@stage("checking every claim of the certificate")
def verify(
    certificate: AnyCertificate | str | os.PathLike[str],
    family: Family | Choice,
    instances: Any,
) -> VerificationReport | BoxVerificationReport | ChoiceVerificationReport:
    """Check every claim of a certificate; see `certune.verify`, which finds what is not given.

    Parameters
    ----------
    certificate : Certificate, BoxCertificate, ChoiceCertificate or path
        From a result, or the path of its file, or of the run directory that has it.
    family : Family or Choice
        What was tuned.
    instances : iterable
        The instances it was tuned on, in any order; for a choice, as they were given to it.

    Raises
    ------
    CertificateError
        At the first thing that is wrong.
    """
    started = time.perf_counter()
    certificate = checked_certificate(certificate)
    if isinstance(family, Family) and family.space.discrete:
        family = Slices(family)
    if isinstance(certificate, ChoiceCertificate) or isinstance(family, Choice):
        if not isinstance(certificate, ChoiceCertificate) or not isinstance(family, Choice):
            raise CertificateError(
                f"The certificate of a choice is checked with the choice, got {family!r} and a "
                f"{type(certificate).__name__}."
            )
        return verify_choice(certificate.checked(), family, instances, verify)
    listed = checked_instances(checked_family(family), instances)
    certificate = certificate.checked()
    listed = in_order(certificate, family, listed)
    check_origin(certificate, family, listed)
    if isinstance(certificate, BoxCertificate):
        return verify_boxes(certificate, family, listed)
    _check_functions(certificate, family, len(listed))
    _check_claims(certificate, family, len(listed))
    n_runs = 0
    for number, dual in enumerate(certificate.duals):
        name = instance_name(listed[number], number)
        case = Case(dual, certificate.segment, family, listed[number], name)
        n_runs += check_runs(case)
        check_windows(case)
    n_pieces = sum(dual.n_pieces for dual in certificate.duals)
    return VerificationReport(
        n_instances=len(listed),
        n_covered=len(certificate.duals),
        n_pieces=n_pieces,
        n_gaps=n_pieces - len(certificate.duals),
        n_runs=n_runs,
        best_value=certificate.best_value,
        upper_bound=certificate.upper_bound,
        tolerance=family.tolerance,
        elapsed=time.perf_counter() - started,
        aggregate=certificate.criterion.words(family.score.name),
        score=family.score,
    )


def checked_certificate(certificate: object) -> AnyCertificate:
    """Return a certificate, read from its file or from a run directory if this is a path."""
    if isinstance(certificate, (str, os.PathLike)):
        return load_certificate(certificate)
    if not isinstance(certificate, (Certificate, BoxCertificate, ChoiceCertificate)):
        raise CertificateError(
            f"Expected a Certificate, got {certificate!r}: pass result.certificate, or the path of "
            "its file or run directory."
        )
    return certificate


def load_certificate(path: str | os.PathLike[str]) -> AnyCertificate:
    """Read a certificate of any kind from its file or from a run directory."""
    file = Path(path) / "certificate.json" if os.path.isdir(path) else Path(path)
    if os.path.isdir(path) and not os.path.lexists(file):
        raise CertificateError(f"cannot read {file}: {_why_there_is_none(Path(path))}.")
    try:
        start = read_text(file)[:200]
    except InputError as error:
        raise CertificateError(f"{error}.") from error
    kinds: tuple[type[AnyCertificate], ...] = (BoxCertificate, ChoiceCertificate)
    for kind in kinds:
        if json.dumps(kind.FORMAT_NAME).encode("ascii") in start:
            return kind.load(file)
    return Certificate.load(file)


def _why_there_is_none(folder: Path) -> str:
    """Say why a folder has no certificate, and what can be done."""
    stream = None
    with suppress(InputError):
        for event in read_events(folder):
            if isinstance(event, dict) and event.get("event") == "started":
                stream = event.get("stream")
    if stream is None:
        return (
            "there is none, as long as no run has ended in the folder; the same call of tune goes "
            "on with it"
        )
    return (
        f"the folder keeps a stream over {stream}, which has no certificate, because functions of "
        "single instances are not kept; certune.load reads its sums, each with a checksum of its "
        "own, the same stream in a new folder computes them again, and certune.tune makes a "
        "certificate of instances that fit into memory"
    )


def _check_functions(certificate: Certificate, family: Family, n_instances: int) -> None:
    """Check that there are functions of the first instances, over the whole range of settings."""
    segment, expected = certificate.segment, family.space.default_segment()
    demand(
        segment == expected,
        f"The certificate covers {segment!r}, expected the whole range {expected!r}.",
    )
    demand(
        1 <= len(certificate.duals) <= n_instances,
        f"The certificate has {len(certificate.duals)} functions for {n_instances} instances.",
    )
    places = range(len(certificate.duals), n_instances)
    demand(
        all(place in places for place in certificate.failures),
        f"The certificate has failures of instances that do not miss: {[*certificate.failures]}.",
    )
    common = 1
    for number, dual in enumerate(certificate.duals):
        demand(
            (dual.low, dual.high, dual.name) == (segment.low, segment.high, segment.name),
            f"Function {number} covers {dual.name!r} in [{dual.low!r}, {dual.high!r}], expected "
            f"{segment.name!r} in [{segment.low!r}, {segment.high!r}].",
        )
        if isinstance(dual, PiecewiseFunction):
            common = math.lcm(common, dual.denominator)
            # Sums over all functions have this denominator, so that each step has a bounded cost.
            demand(
                common.bit_length() <= MOST_BITS,
                f"The utilities have a common denominator of more than {MOST_BITS} bits.",
            )


def _check_claims(certificate: Certificate, family: Family, n_instances: int) -> None:
    constants = [dual for dual in certificate.duals if isinstance(dual, PiecewiseFunction)]
    largest = Fraction(family.utility_range[1])
    n_covered = len(certificate.duals)
    if len(constants) < n_covered:
        prove_claims(certificate, n_instances, largest)
        return
    derived = claims_from(constants, certificate.criterion, n_instances, largest)
    for what, claimed, found in (
        ("best value", certificate.best_value, derived.best_value),
        ("optimal set", certificate.best_region, derived.best_region),
        ("upper bound", certificate.upper_bound, derived.upper_bound),
    ):
        demand(
            claimed == found,
            f"The claimed {what} {shown(claimed)} does not follow from the functions, which give "
            f"{shown(found)}.",
        )
    check_best_point(certificate)
