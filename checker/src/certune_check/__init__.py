"""A checker of certune's certificates that shares no code with certune."""

from certune_check.certificate import certificate_from, read_certificate
from certune_check.checking import Report, check
from certune_check.decisions import Refuted
from certune_check.instances import BadFile, read_instance
from certune_check.numbers import Unsupported

__all__ = [
    "BadFile",
    "Refuted",
    "Report",
    "Unsupported",
    "certificate_from",
    "check",
    "read_certificate",
    "read_instance",
]
