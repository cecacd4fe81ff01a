"""How a run over one parameter uses a run directory: what is there is not computed again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from certune.dual import DualFunction
from certune.errors import CertificateError, InputError
from certune.families.base import Family
from certune.runs import RunDirectory
from certune.space import Segment
from certune.tuning.instances import instance_name
from certune.tuning.schema import segment_data, written


class RunStore:
    """Finished functions of a list of instances, in a folder.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist, continued if it keeps a run of the same family.
    family : Family
        The algorithm.
    instances : list
        The instances of the run, of which any may be known to the folder.

    Raises
    ------
    InputError
        If the folder cannot be used, or it cannot be told which functions the family uses.
    """

    def __init__(self, path: str | os.PathLike[str], family: Family, instances: list[Any]) -> None:
        if family.fingerprint_doubts:
            raise InputError(
                f"run_dir cannot keep functions of {family!r}, because a later run could not be "
                f"told from one with other functions: {'; '.join(family.fingerprint_doubts)}; give "
                "such objects a string attribute `fingerprint`, or let the functions use plain data"
            )
        self._family = family
        self._fingerprints = [family.instance_fingerprint(item) for item in instances]
        self._names = [instance_name(item, number) for number, item in enumerate(instances)]
        self._directory = RunDirectory(path, family.fingerprint)

    def found(self) -> dict[int, DualFunction]:
        """Return the functions that are there, by the number of their instance; begins the run."""
        segment = self._family.space.default_segment()
        lowest, largest = self._family.utility_range
        self._directory.note(
            "started",
            segment=segment_data(segment),
            utility_range=[lowest, largest],
            proved=self._family.proves_duals,
            instances=[list(pair) for pair in zip(self._names, self._fingerprints, strict=True)],
        )
        known = ((n, self._directory.find(print_)) for n, print_ in enumerate(self._fingerprints))
        return {number: dual for number, dual in known if dual is not None and _fits(dual, segment)}

    def keep(self, number: int, dual: DualFunction) -> None:
        """Keep the function of an instance."""
        self._directory.keep(self._fingerprints[number], dual)

    def note_failure(self, number: int, why: str) -> None:
        """Note why an instance has no function."""
        self._directory.note("failed", instance=self._fingerprints[number], why=why)

    def conclude(self, result: Any) -> None:
        """Note how the run ended, and keep its certificate if it has one."""
        self._directory.note(
            "ended",
            status=result.status.name,
            best_params=result.best_params,
            best_value=written(result.best_value_exact),
            upper_bound=written(result.upper_bound_exact),
            elapsed=result.elapsed,
        )
        try:
            certificate = result.certificate
        except CertificateError:
            return
        certificate.save(self._directory.path / "certificate.json")

    def close(self) -> None:
        """Let go of the folder."""
        self._directory.close()


@contextmanager
def opened_store(
    path: str | os.PathLike[str] | None, family: Family, instances: list[Any]
) -> Iterator[RunStore | None]:
    """Hold a run directory, if there is to be one."""
    if path is None:
        yield None
        return
    store = RunStore(path, family, instances)
    try:
        yield store
    finally:
        store.close()


def _fits(dual: DualFunction, segment: Segment) -> bool:
    return (dual.low, dual.high, dual.name) == (segment.low, segment.high, segment.name)
