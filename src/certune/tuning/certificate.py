"""A certificate: the claims of a tuning result, with what a checker needs to check them.

It is plain data, bound by hashes to the family and the instances it speaks about. Nothing in it
has to be believed; :func:`certune.verify` derives the claims from it and re-proves its parts.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial
from certune.errors import CertificateError, CertuneError
from certune.families.base import Family
from certune.space import Segment

FORMAT_VERSION = 1
FORMAT_NAME = "certune certificate"


@dataclass(frozen=True)
class Certificate:
    """Claims about the optimum of a family on instances, with their evidence.

    Attributes
    ----------
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
        Claimed maximum of the mean utility over the covered instances, which is attained.
    best_region : tuple of (float, float)
        Claimed set of maximisers, or intervals that contain it where functions have an error.
    best_point : float
        A setting at which the best value is attained.
    upper_bound : Fraction
        Claimed upper bound of the mean utility over all instances.
    checksum : str
        SHA-256 of everything else.
    format_version : int
        Version of the file format.
    """

    family_fingerprint: str
    instance_fingerprints: tuple[str, ...] = field(repr=False)
    segment: Segment
    duals: tuple[DualFunction, ...] = field(repr=False)
    best_value: Fraction
    best_region: tuple[tuple[float, float], ...]
    best_point: float
    upper_bound: Fraction
    checksum: str
    format_version: int = FORMAT_VERSION

    @cached_property
    def content_checksum(self) -> str:
        """SHA-256 of the content as it is, which the stored checksum must equal."""
        return _checksum(_content(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to a file, as a whole or not at all.

        Parameters
        ----------
        path : path
            A JSON file; an existing one is replaced.
        """
        write_whole(Path(path), json.dumps({**_content(self), "checksum": self.checksum}))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate from a file.

        Parameters
        ----------
        path : path
            A file written by :meth:`save`.

        Raises
        ------
        CertificateError
            If the file is not a certificate, is damaged, or has another format version.
        """
        try:
            stored = json.loads(Path(path).read_text(encoding="ascii"))
        except ValueError as error:
            raise CertificateError(
                f"{path} is not a complete certificate file ({error}): write it again with save."
            ) from error
        _check_format(stored, path)
        try:
            certificate = _from_content(stored)
        except (CertuneError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise CertificateError(
                f"{path} does not have the content of a certificate ({error!r}): it was changed "
                "after it was written; write it again with save."
            ) from error
        if certificate.checksum != certificate.content_checksum:
            raise CertificateError(
                f"{path} was changed after it was written: its checksum is "
                f"{certificate.checksum!r}, its content has {certificate.content_checksum!r}."
            )
        return certificate


def write_whole(target: Path, text: str) -> None:
    """Write a text file under a temporary name, and rename it when it is complete."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "x", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def make_certificate(
    family: Family,
    segment: Segment,
    instance_fingerprints: Sequence[str],
    duals: Sequence[DualFunction],
    landscape: DualFunction,
    upper_bound: Fraction,
) -> Certificate:
    """Return the certificate for the mean of exact functions, `landscape`."""
    return sealed(
        {
            "family_fingerprint": family.fingerprint,
            "instance_fingerprints": tuple(instance_fingerprints),
            "segment": segment,
            "duals": tuple(duals),
            "best_value": landscape.max_exact,
            "best_region": tuple(landscape.argmax()),
            "best_point": landscape.best_point,
            "upper_bound": upper_bound,
        }
    )


def sealed(fields: Mapping[str, Any]) -> Certificate:
    """Return the certificate with the given fields and the checksum that belongs to them."""
    draft = Certificate(**fields, checksum="")
    return Certificate(**fields, checksum=draft.content_checksum)


def _content(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the checksum as JSON data; floats keep every bit."""
    segment = certificate.segment
    return {
        "format": FORMAT_NAME,
        "format_version": certificate.format_version,
        "family_fingerprint": certificate.family_fingerprint,
        "instance_fingerprints": list(certificate.instance_fingerprints),
        "segment": {
            "origin": segment.origin,
            "direction": segment.direction,
            "low": segment.low,
            "high": segment.high,
        },
        "best_value": str(certificate.best_value),
        "best_region": [list(interval) for interval in certificate.best_region],
        "best_point": certificate.best_point,
        "upper_bound": str(certificate.upper_bound),
        "duals": [_encoded(dual) for dual in certificate.duals],
    }


def _encoded(dual: DualFunction) -> dict[str, Any]:
    if not isinstance(dual, PiecewiseFunction):
        return {key: array.tolist() for key, array in dual.to_arrays().items()}
    return {
        "name": dual.name,
        "starts": dual.starts.tolist(),
        "stops": dual.stops.tolist(),
        "numerators": dual.numerators.tolist(),
        "gap_lower": dual.gap_lower.tolist(),
        "gap_upper": dual.gap_upper.tolist(),
        "denominator": dual.denominator,
    }


def _decoded(arrays: Mapping[str, Any]) -> DualFunction:
    kind = PiecewisePolynomial if "coefficients" in arrays else PiecewiseFunction
    return kind(**arrays)


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_format(stored: object, path: object) -> None:
    if not isinstance(stored, dict) or stored.get("format") != FORMAT_NAME:
        raise CertificateError(
            f"{path} is not a certificate file; it was written by something else."
        )
    if stored.get("format_version") != FORMAT_VERSION:
        raise CertificateError(
            f"{path} has format version {stored.get('format_version')!r}, expected "
            f"{FORMAT_VERSION}: read it with the version of certune that wrote it."
        )


def _from_content(stored: Mapping[str, Any]) -> Certificate:
    return Certificate(
        family_fingerprint=str(stored["family_fingerprint"]),
        instance_fingerprints=tuple(str(item) for item in stored["instance_fingerprints"]),
        segment=Segment.line(**stored["segment"]),
        duals=tuple(_decoded(arrays) for arrays in stored["duals"]),
        best_value=Fraction(stored["best_value"]),
        best_region=tuple((float(low), float(high)) for low, high in stored["best_region"]),
        best_point=float(stored["best_point"]),
        upper_bound=Fraction(stored["upper_bound"]),
        checksum=str(stored["checksum"]),
    )
