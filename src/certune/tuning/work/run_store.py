"""How a run over one parameter uses a run directory: what is there is not computed again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from certune.aggregates import Criterion
from certune.dual import DualFunction
from certune.errors import CertificateError, InputError
from certune.families.base import Family
from certune.runs import RunDirectory
from certune.runs.directory import FUNCTIONS
from certune.space import Segment
from certune.tuning.instances import instance_name
from certune.tuning.schema import criterion_data, segment_data, written
from certune.tuning.work.workplace import with_result


class RunStore:
    """Finished functions of a list of instances, in a folder.

    Parameters
    ----------
    directory : RunDirectory
        The folder.
    family : Family
        The algorithm.
    instances : list
        The instances of the run, of which any may be known to the folder.
    criterion : Criterion
        What is maximised; functions do not depend on it.
    """

    def __init__(
        self,
        directory: RunDirectory,
        family: Family,
        instances: list[Any],
        criterion: Criterion,
    ) -> None:
        self._family, self._criterion = family, criterion
        self._instances = instances
        self._fingerprints = [family.instance_fingerprint(item) for item in instances]
        self._directory = directory

    def found(self) -> dict[int, DualFunction]:
        """Return the functions that are there, by the number of their instance; begins the run."""
        segment = self._family.space.default_segment()
        note_start(
            self._directory,
            self._family,
            self._instances,
            self._fingerprints,
            segment=segment_data(segment),
            **criterion_data(self._criterion),
        )
        known = (
            (n, self._directory.find(FUNCTIONS, print_))
            for n, print_ in enumerate(self._fingerprints)
        )
        return {number: dual for number, dual in known if dual is not None and _fits(dual, segment)}

    def keep(self, number: int, dual: DualFunction) -> None:
        """Keep the function of an instance."""
        self._directory.keep(FUNCTIONS, self._fingerprints[number], dual)

    def note_failure(self, number: int, why: str) -> None:
        """Note why an instance has no function."""
        self._directory.note("failed", instance=self._fingerprints[number], why=why)

    def conclude(self, result: Any) -> None:
        """Note how the run ended, and keep its certificate if it has one."""
        conclude(self._directory, result)


@contextmanager
def opened_store(
    path: str | os.PathLike[str] | None,
    family: Family,
    instances: list[Any],
    criterion: Criterion,
) -> Iterator[RunStore | None]:
    """Hold a run directory, if there is to be one."""
    if path is None:
        yield None
        return
    with opened_directory(path, family) as directory:
        yield RunStore(directory, family, instances, criterion)


@contextmanager
def opened_directory(path: str | os.PathLike[str], family: Family) -> Iterator[RunDirectory]:
    """Hold a run directory of a family: made if it does not exist, else continued.

    Raises
    ------
    InputError
        If the folder cannot be used, or it cannot be told which functions the family uses.
    """
    if family.fingerprint_doubts:
        raise InputError(
            f"run_dir cannot keep functions of {family!r}, because a later run could not be "
            f"told from one with other functions: {'; '.join(family.fingerprint_doubts)}; give "
            "such objects a string attribute `fingerprint`, or let the functions use plain data"
        )
    directory = RunDirectory(path, family.fingerprint, repr(family))
    try:
        yield directory
    finally:
        directory.close()


def note_start(
    directory: RunDirectory, family: Family, instances: list[Any], prints: list[str], **details: Any
) -> None:
    """Note that a run begins, or goes on, and what about."""
    names = [instance_name(item, number) for number, item in enumerate(instances)]
    directory.note(
        "started",
        **details,
        utility_range=list(family.utility_range),
        proved=family.proves_duals,
        instances=[list(pair) for pair in zip(names, prints, strict=True)],
    )


def note_end(directory: RunDirectory, result: Any) -> None:
    """Note how a run ended."""
    directory.note(
        "ended",
        status=result.status.name,
        best_params=result.best_params,
        best_value=written(result.best_value_exact),
        upper_bound=written(result.upper_bound_exact),
        elapsed=result.elapsed,
    )


def conclude(directory: RunDirectory, result: Any) -> None:
    """Note how a run ended, and keep its certificate if it has one."""
    with result_kept(result):
        note_end(directory, result)
        keep_certificate(directory.path, result)


def keep_certificate(folder: Path, result: Any) -> None:
    """Write the certificate of a result, if it has one."""
    try:
        certificate = result.certificate
    except CertificateError:
        return
    certificate.save(folder / "certificate.json")


@contextmanager
def result_kept(result: Any) -> Iterator[None]:
    """Let an error while a run is put away take along its result, which may be the work of hours.

    Raises
    ------
    InputError
        In place of one that does not say so.
    """
    try:
        yield
    except InputError as error:
        if hasattr(error, "result"):  # that of a part of this run
            error.result = result
            raise
        told = InputError(
            f"{error}; the run itself has ended: its result is the attribute result of this error, "
            "what was computed is kept, and once this is mended the same call ends the same"
        )
        with_result(told, lambda: result)
        raise told from error.__cause__


def _fits(dual: DualFunction, segment: Segment) -> bool:
    return (dual.low, dual.high, dual.name) == (segment.low, segment.high, segment.name)
