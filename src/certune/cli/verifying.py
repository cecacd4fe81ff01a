"""``certune.verify``: the check of a proof, also by somebody who has only the folder of a run.

A run of the command line keeps its scenario, from which family and instances are made again; that
they are the same is told by their fingerprints. A run made in Python keeps neither data nor code,
and here it is said what it was made with.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from certune.cli.run_folder import CERTIFICATE, SCENARIO
from certune.cli.running import read_problem
from certune.cli.scenario import read_scenario
from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.runs.directory import read_events
from certune.tuning import (
    BoxVerificationReport,
    Choice,
    ChoiceCertificate,
    ChoiceVerificationReport,
    VerificationReport,
)
from certune.tuning.proof import verification
from certune.tuning.proof.verification import AnyCertificate, checked_certificate

LONGEST_NAME, MOST_NAMES = 60, 3


def verify(
    certificate: AnyCertificate | str | os.PathLike[str],
    family: Family | Choice | None = None,
    instances: Any = None,
) -> VerificationReport | BoxVerificationReport | ChoiceVerificationReport:
    """Check every claim of a certificate.

    Parameters
    ----------
    certificate : Certificate, BoxCertificate, ChoiceCertificate or path
        From :attr:`TuningResult.certificate` or :meth:`Certificate.load`; or the path of its file,
        or of the run directory that has it.
    family : Family or Choice, optional
        What was tuned. Not needed, together with the instances, for a run directory that
        ``certune tune`` has made: it has a scenario, whose data are read again. A family of one's
        own is imported from the module that the scenario names.
    instances : iterable, optional
        The instances it was tuned on, in any order; for a choice, as they were given to it.

    Returns
    -------
    VerificationReport, BoxVerificationReport or ChoiceVerificationReport
        Counts of what was checked.

    Raises
    ------
    CertificateError
        At the first thing that is wrong, such as data that are not those of the run.
    ParameterError
        If family and instances are needed; it says what the certificate was made with.

    Notes
    -----
    In this order: the form of the certificate and its checksum; the fingerprints of family and
    instances; the range of settings; that every stored function covers it; that maximum, maximisers
    and upper bound follow from the stored functions, by an algorithm that shares no code with the
    one that made them; that plain runs in the middle and at both ends of every piece have its
    value; and that the functions are found again when the domain is cut in the middles of the
    pieces. There every value that a fresh function has, and every bound that it gives in a gap,
    must be what the certificate says; where a fresh gap is not inside of one of the certificate,
    the part that sticks out is proved once more by itself. So a certificate can say less than could
    be known, by wider gaps with wider bounds in them, and is then accepted with the weaker claims
    that follow; it cannot say more. Instances which it does not cover count with the largest
    utility there is.

    Functions with smooth pieces have errors, which the family states: their claims are proved
    again as inequalities, and runs and fresh functions must agree up to these errors and four times
    the tolerance of the family.

    For several parameters: the best setting lies in the space, and plain runs there give the best
    value; the boxes follow from the cuts, and cover the space; the bound of every box is proved
    again from the instances alone, and plain runs at its centre stay below it.

    For a choice: the certificate of every alternative, and that the claims follow from them.

    Values of plain runs may differ from claims by the tolerance of the family, which is 0 for
    utilities that are rational numbers. Time grows with the size of the certificate.

    Examples
    --------
    >>> from certune.testing import StepFamily, StepInstance
    >>> from certune.tuning import tune
    >>> instances = [StepInstance((0.25,), (0, 1)), StepInstance((0.75,), (1, 0))]
    >>> verify(tune(StepFamily(), instances).certificate, StepFamily(), instances).optimal
    True
    """
    stored = checked_certificate(certificate)
    if family is None and instances is None:
        family, instances = _made_again(certificate, stored)
    if family is None or instances is None:
        missing, given = ("family", "instances") if family is None else ("instances", "family")
        raise ParameterError(
            f"verify got the {given} and not the {missing}: pass both, as in "
            "certune.verify(certificate, family, instances), or neither for a run directory that "
            "certune tune has made."
        )
    return verification.verify(stored, family, instances)


def _made_again(certificate: object, stored: AnyCertificate) -> tuple[Family | Choice, list[Any]]:
    """Return the family and the instances of a certificate, from the scenario beside it.

    Raises
    ------
    ParameterError
        If there is none; it says which family, and how many instances, there were.
    InputError
        If the data cannot be read again.
    """
    folder, shown = None, "certificate"
    if isinstance(certificate, (str, os.PathLike)):
        path = Path(certificate)
        folder, shown = path if path.is_dir() else path.parent, repr(os.fspath(certificate))
        if (folder / SCENARIO).is_file() and (path.is_dir() or path.name == CERTIFICATE):
            problem = read_problem(read_scenario(folder / SCENARIO))
            return problem.family, problem.tuning
    count = len(stored.instance_fingerprints)
    raise ParameterError(
        "verify needs the family and the instances of the certificate, which are not kept "
        f"with it. It was made with {_family_of(folder, stored)} and {count} "
        f"instance{'s' * (count != 1)}{_names_of(folder, count)}: call "
        f"certune.verify({shown}, family, instances) with these."
    )


def _family_of(folder: Path | None, stored: AnyCertificate) -> str:
    """Return what people call the family of a certificate."""
    if isinstance(stored, ChoiceCertificate):
        return f"a Choice of {', '.join(map(str, stored.proofs))}"
    about = _event(folder, "format").get("about") or stored.family.get("family")
    return str(about or f"a family with the fingerprint {stored.family_fingerprint[:12]}...")


def _names_of(folder: Path | None, count: int) -> str:
    """Return the names of the first instances in parentheses, as far as they are known."""
    pairs = _event(folder, "event", "started").get("instances")
    if not isinstance(pairs, list) or len(pairs) != count:
        return ""
    names = [str(pair[0])[:LONGEST_NAME] for pair in pairs[:MOST_NAMES] if pair]
    return f" ({', '.join(names)}{', ...' if count > MOST_NAMES else ''})"


def _event(folder: Path | None, field: str, value: str | None = None) -> dict[str, Any]:
    """Return the last event of a journal that has the field; nothing if it cannot be read."""
    found: dict[str, Any] = {}
    with suppress(InputError):
        for event in () if folder is None else read_events(folder):
            if isinstance(event, dict) and (event.get(field) == value or value is None):
                found = event if field in event else found
    return found
