"""A checker of certune's certificates that shares no code with certune."""

from certune_check.certificate import certificate_from as certificate_from
from certune_check.certificate import proofs_from as proofs_from
from certune_check.certificate import read_proofs as read_proofs
from certune_check.checking import check as check
from certune_check.decisions import Refuted as Refuted
from certune_check.instances import BadFile as BadFile
from certune_check.instances import read_instance as read_instance
from certune_check.numbers import Unsupported as Unsupported
