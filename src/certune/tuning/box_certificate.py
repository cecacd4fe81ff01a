"""The certificate of a search over several parameters.

It says how the space was cut into boxes, and what the mean utility is at most on each of them. The
boxes follow from the cuts, so that they cover the space by construction; the bounds do not have to
be believed, :func:`certune.verify` proves them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from certune.box import Box
from certune.errors import CertificateError, CertuneError
from certune.families.base import Family
from certune.tuning.branching import Cover
from certune.tuning.certificate import write_whole

FORMAT_VERSION = 1
FORMAT_NAME = "certune box certificate"
LEAF = -1


@dataclass(frozen=True)
class BoxCertificate:
    """Claims about the optimum over several parameters, with their evidence.

    Attributes
    ----------
    family_fingerprint : str
        Hash of the family.
    instance_fingerprints : tuple of str
        Hashes of all instances, in order.
    best_params : dict
        The best setting.
    best_value, upper_bound : Fraction
        Its mean utility, and a bound of the mean utility of all settings.
    cuts : tuple of int
        For every stratum of the space a binary tree of boxes, in preorder: the number of the edge
        at which a box was halved, or -1 for a box that was not. Empty if only lines were searched.
    uppers : tuple of Fraction
        For every box that was not halved a bound of the mean utility on it.
    checksum : str
        SHA-256 of everything else.
    """

    family_fingerprint: str
    instance_fingerprints: tuple[str, ...] = field(repr=False)
    best_params: dict[str, Any]
    best_value: Fraction
    upper_bound: Fraction
    cuts: tuple[int, ...] = field(repr=False)
    uppers: tuple[Fraction, ...] = field(repr=False)
    checksum: str = ""

    @cached_property
    def content_checksum(self) -> str:
        """SHA-256 of the content as it is, which the stored checksum must equal."""
        text = json.dumps(_content(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to a JSON file, as a whole or not at all."""
        write_whole(Path(path), json.dumps({**_content(self), "checksum": self.checksum}))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> BoxCertificate:
        """Read a certificate that :meth:`save` has written.

        Raises
        ------
        CertificateError
            If the file is not such a certificate, or was changed.
        """
        try:
            stored = json.loads(Path(path).read_text(encoding="ascii"))
            if stored["format"] != FORMAT_NAME or stored["format_version"] != FORMAT_VERSION:
                raise ValueError(f"format {stored['format']!r} {stored['format_version']!r}")
            certificate = _from_content(stored)
        except (
            CertuneError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
        ) as error:
            raise CertificateError(
                f"{path} is not a {FORMAT_NAME} of version {FORMAT_VERSION} ({error!r}): it was "
                "written by something else, or changed; write it again with save."
            ) from error
        if certificate.checksum != certificate.content_checksum:
            raise CertificateError(
                f"{path} was changed after it was written: its checksum is "
                f"{certificate.checksum!r}, its content has {certificate.content_checksum!r}."
            )
        return certificate

    def leaves(self, family: Family) -> Iterator[tuple[Box, Fraction]]:
        """Yield the boxes that were not halved, with their bounds.

        Raises
        ------
        CertificateError
            If the cuts are not those of the strata of the family's space.
        """
        cuts, uppers = iter(self.cuts), iter(self.uppers)
        for stratum in family.strata():
            pending = [stratum]
            while pending:
                box = pending.pop()
                cut = next(cuts, None)
                if cut == LEAF:
                    upper = next(uppers, None)
                    if upper is None:
                        raise CertificateError("The certificate has fewer bounds than boxes.")
                    yield box, upper
                elif (
                    cut is None
                    or not 0 <= cut < len(box.edges)
                    or not box.can_split(box.edges[cut])
                ):
                    raise CertificateError(
                        f"The cuts of the certificate do not fit the space: {cut!r} for {box!r}."
                    )
                else:
                    pending += reversed(box.split(box.edges[cut]))
        if next(cuts, None) is not None or next(uppers, None) is not None:
            raise CertificateError("The certificate has more cuts or bounds than boxes.")


def make_box_certificate(
    family: Family,
    instance_fingerprints: Sequence[str],
    best_params: Mapping[str, Any],
    best_value: Fraction,
    upper_bound: Fraction,
    cover: Cover | None,
) -> BoxCertificate:
    """Return the certificate of a search, with its checksum."""
    cuts: list[int] = []
    uppers: list[Fraction] = []
    if cover is not None:
        pending = list(reversed(range(len(family.strata()))))
        while pending:
            number = pending.pop()
            if number in cover.halves:
                edge, first, second = cover.halves[number]
                cuts.append(edge)
                pending += [second, first]
            else:
                cuts.append(LEAF)
                uppers.append(cover.uppers[number] / len(instance_fingerprints))
    draft = BoxCertificate(
        family_fingerprint=family.fingerprint,
        instance_fingerprints=tuple(instance_fingerprints),
        best_params=dict(best_params),
        best_value=best_value,
        upper_bound=upper_bound,
        cuts=tuple(cuts),
        uppers=tuple(uppers),
    )
    return replace(draft, checksum=draft.content_checksum)


def _content(certificate: BoxCertificate) -> dict[str, Any]:
    """Return everything but the checksum as JSON data; floats keep every bit."""
    return {
        "format": FORMAT_NAME,
        "format_version": FORMAT_VERSION,
        "family_fingerprint": certificate.family_fingerprint,
        "instance_fingerprints": list(certificate.instance_fingerprints),
        "best_params": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in certificate.best_params.items()
        },
        "best_value": str(certificate.best_value),
        "upper_bound": str(certificate.upper_bound),
        "cuts": list(certificate.cuts),
        "uppers": [str(upper) for upper in certificate.uppers],
    }


def _from_content(stored: Mapping[str, Any]) -> BoxCertificate:
    return BoxCertificate(
        family_fingerprint=str(stored["family_fingerprint"]),
        instance_fingerprints=tuple(str(item) for item in stored["instance_fingerprints"]),
        best_params={
            str(name): tuple(map(float, value)) if isinstance(value, list) else float(value)
            for name, value in stored["best_params"].items()
        },
        best_value=Fraction(stored["best_value"]),
        upper_bound=Fraction(stored["upper_bound"]),
        cuts=tuple(int(cut) for cut in stored["cuts"]),
        uppers=tuple(Fraction(upper) for upper in stored["uppers"]),
        checksum=str(stored["checksum"]),
    )
