"""What certificates of both kinds are: plain data in a file with a checksum, read strictly."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Self

from certune.cards import Carded
from certune.errors import CertificateError, InputError
from certune.files import read_text, write_whole
from certune.tuning.schema import Fields, parsed, written

_COMMON = (
    "format",
    "format_version",
    "family",
    "family_fingerprint",
    "instance_fingerprints",
    "best_value",
    "upper_bound",
    "checksum",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class SealedCertificate(Carded, ABC):
    """Claims about the optimum of a family on instances, bound to both by hashes."""

    FORMAT_NAME: ClassVar[str]
    FORMAT_VERSION: ClassVar[int] = 3
    OWN_FIELDS: ClassVar[tuple[str, ...]]
    OPTIONAL_FIELDS: ClassVar[tuple[str, ...]] = ()

    family: dict[str, Any]
    family_fingerprint: str
    instance_fingerprints: tuple[str, ...] = field(repr=False)
    best_value: Fraction
    upper_bound: Fraction
    checksum: str = ""

    def __str__(self) -> str:
        count = len(self.instance_fingerprints)
        return (
            f"best value {float(self.best_value):.6g}, bound {float(self.upper_bound):.6g}, on "
            f"{count} instance{'s' * (count != 1)}; check it with certune.verify"
        )

    @abstractmethod
    def _own_content(self) -> dict[str, Any]:
        """Return the fields of this kind of certificate as JSON data; floats keep every bit."""

    @classmethod
    @abstractmethod
    def _own_fields(cls, stored: Fields) -> dict[str, Any]:
        """Return the fields of this kind from JSON data."""

    def _content(self) -> dict[str, Any]:
        """Return everything but the checksum as JSON data."""
        return {
            "format": self.FORMAT_NAME,
            "format_version": self.FORMAT_VERSION,
            "family": self.family,
            "family_fingerprint": self.family_fingerprint,
            "instance_fingerprints": list(self.instance_fingerprints),
            "best_value": written(self.best_value),
            "upper_bound": written(self.upper_bound),
            **self._own_content(),
        }

    @cached_property
    def content_checksum(self) -> str:
        """SHA-256 of the content as it is, which the stored checksum must equal."""
        text = json.dumps(self._content(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def sealed(self) -> Self:
        """Return the certificate with the checksum that belongs to its content."""
        return replace(self, checksum=self.content_checksum)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to a file, as a whole or not at all.

        Parameters
        ----------
        path : path
            A JSON file; an existing one is replaced.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        content = {**self._content(), "checksum": self.checksum}
        write_whole(path, json.dumps(content, allow_nan=False).encode("ascii"))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a certificate from a file.

        Parameters
        ----------
        path : path
            A file written by :meth:`save`.

        Raises
        ------
        CertificateError
            If the file cannot be read, is not a certificate, is damaged, or has another format
            version.
        """
        try:
            stored = parsed(read_text(path))
        except InputError as error:
            raise CertificateError(f"{error}.") from error
        except ValueError as error:
            raise CertificateError(
                f"{path} is not a complete certificate file ({error}): write it again with save, "
                "or in a run directory by the same call of tune, which computes nothing twice."
            ) from error
        try:
            return cls.from_content(stored)
        except CertificateError as error:
            raise CertificateError(f"{path}: {error}") from None

    @classmethod
    def from_content(cls, stored: object) -> Self:
        """Return the certificate of JSON data, the content of a file.

        Raises
        ------
        CertificateError
            If it is anything else, or the checksum is another one.
        """
        made = cls.unsealed(stored)
        if made.checksum != made.content_checksum:
            raise CertificateError(
                f"this was changed after it was written: its checksum is {made.checksum[:80]!r}, "
                f"its content has {made.content_checksum!r}."
            )
        return made

    @classmethod
    def unsealed(cls, stored: object) -> Self:
        """Return the certificate of JSON data, whatever its checksum.

        Raises
        ------
        CertificateError
            If the data are no certificate.
        """
        known = stored if isinstance(stored, Mapping) else {}
        if known.get("format") != cls.FORMAT_NAME:
            other = known.get("format")
            for kind in SealedCertificate.__subclasses__():
                if other == kind.FORMAT_NAME:
                    raise CertificateError(
                        f"this is a {other}, not a {cls.FORMAT_NAME}: read it with "
                        f"{kind.__name__}.load, or give its path to certune.verify, which takes "
                        "every kind."
                    )
            words = f"it is a {other}" if isinstance(other, str) else "no certificate"
            raise CertificateError(
                f"this is not a {cls.FORMAT_NAME} ({words[:60]}): it was written by something else."
            )
        if known.get("format_version") != cls.FORMAT_VERSION:
            raise CertificateError(
                f"this has format version {str(known.get('format_version'))[:60]}, expected "
                f"{cls.FORMAT_VERSION}: read it with the version of certune that wrote it."
            )
        optional = [name for name in cls.OPTIONAL_FIELDS if name in known]
        fields = Fields(stored, (*_COMMON, *cls.OWN_FIELDS, *optional), f"a {cls.FORMAT_NAME}")
        try:
            return cls(
                family=fields.description("family"),
                family_fingerprint=fields.text("family_fingerprint"),
                instance_fingerprints=fields.texts("instance_fingerprints"),
                best_value=fields.fraction("best_value"),
                upper_bound=fields.fraction("upper_bound"),
                checksum=fields.text("checksum"),
                **cls._own_fields(fields),
            )
        except ValueError as error:
            raise CertificateError(
                f"this does not have the content of a certificate ({error}): it was changed after "
                "it was written; write it again with save."
            ) from error

    def checked(self) -> Self:
        """Return the certificate as a file would give it back, so that its fields are right.

        Raises
        ------
        CertificateError
            If it is not what a file can hold, or was changed after it was sealed.
        """
        try:
            content = {**self._content(), "checksum": self.checksum}
            text = json.dumps(content, allow_nan=False).encode("ascii")
            stored = parsed(text)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CertificateError(f"This certificate has malformed fields: {error}.") from error
        return self.from_content(stored)
