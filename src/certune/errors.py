"""Exceptions of certune.

Every error that the package raises on purpose derives from :class:`CertuneError`, so that a
caller can tell a misuse or an open decision from a defect. Messages say what was given, what was
expected and what to do.
"""

from __future__ import annotations

import sys
import warnings

# Frames of these packages lie between a user's line and the place that has something to warn of.
BETWEEN = ("certune", "sklearn", "joblib", "contextlib")


class CertuneError(Exception):
    """Base of all errors raised by certune."""


class InputError(CertuneError, ValueError):
    """Data (points, distances, labels, arrays of pieces) that cannot be used."""


class ParameterError(CertuneError, ValueError):
    """A parameter, an option or a range that is not admissible."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter of a type that is not admissible."""


class RangeWarning(UserWarning):
    """The best setting lies at the end of the range: a wider one may have a better."""


class UndecidedWarning(UserWarning):
    """The best setting is proved up to a gap only, larger than what was asked for."""


class CostWarning(UserWarning):
    """A run that is expected to need more memory or time than there is."""


def warn_user(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn, and point at the line of the user's that led here."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth + 1)


class UndecidedError(CertuneError):
    """A question that cannot be answered with certainty at the available precision."""


class CertificateError(CertuneError):
    """A certificate that does not prove what it claims."""


class WorkerError(CertuneError):
    """A worker process that was lost, or whose error could not be sent."""


class TuningError(CertuneError):
    """Tuning that was ended by an exception, which is the cause of this one.

    Attributes
    ----------
    result : TuningResult or None
        What was finished by then, with a bound that holds; None if nothing was.
    instance_name : str or None
        Name of the instance that failed; None if something else did.
    """

    def __init__(
        self, message: str, result: object = None, instance_name: str | None = None
    ) -> None:
        super().__init__(message)
        self.result = result
        self.instance_name = instance_name


class NothingFinishedError(CertuneError, TimeoutError):
    """A time limit that was reached before there was anything to return."""
