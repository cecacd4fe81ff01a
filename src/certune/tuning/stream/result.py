"""What tuning on a stream gives, in memory and in a file: the exact mean, and what follows from it.

Single instances are not kept, so that a result is small however many there were.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from certune.cards import Carded
from certune.dual import DualFunction
from certune.dual.codec import from_json, to_json
from certune.errors import CertificateError, InputError
from certune.families.base import Family
from certune.files import read_text, write_whole
from certune.space import Segment
from certune.space.values import shown_setting
from certune.stages import stage
from certune.tuning.schema import LONGEST_TEXT, Fields, parsed, segment_data, segment_from
from certune.tuning.status import Status
from certune.tuning.work.progress import Bracket

FORMAT = "certune stream 1"
_FIELDS = (
    *("format", "family", "family_fingerprint", "segment", "status", "landscape", "n_instances"),
    *("n_failed", "failures", "baselines", "elapsed", "utility_range", "proves", "checksum"),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StreamSummary(Carded, Bracket):
    """The mean over a stream of instances, and what follows from it.

    Attributes
    ----------
    segment : Segment
        The line of settings.
    status : Status or None
        How tuning ended; None for a run directory whose run was killed, or is still in work.
    landscape : PiecewiseFunction or PiecewisePolynomial
        Exact mean utility over the instances that have a function, along the line.
    n_instances, n_failed : int
        Instances that were read, and those of them that failed.
    failures : dict of str to str
        Why instances failed, by their names; the first thousand.
    baselines : dict of str to float
        Mean utility of every default setting over the same instances as `landscape`; defaults whose
        run stays undecided on some instance are left out.
    elapsed : float
        Seconds that tuning took.
    """

    segment: Segment
    status: Status | None
    landscape: DualFunction
    n_instances: int
    n_failed: int
    failures: dict[str, str]
    baselines: dict[str, float]
    elapsed: float

    @property
    def _utility_range(self) -> tuple[float, float]:
        raise NotImplementedError

    @property
    def _proves(self) -> bool:
        raise NotImplementedError

    @property
    def best_params(self) -> dict[str, Any]:
        """A best setting."""
        return self.segment.at(self.landscape.best_point)

    @property
    def best_region(self) -> list[tuple[float, float]]:
        """All closed intervals of t in which the landscape is, or can be, at its maximum."""
        return self.landscape.argmax()

    @property
    def best_value_exact(self) -> Fraction:  # type: ignore[override]
        """Mean utility of `best_params`; instances that failed count with the lowest utility."""
        return self._over_all(self.landscape.max_exact, Fraction(self._utility_range[0]))

    @property
    def upper_bound_exact(self) -> Fraction:  # type: ignore[override]
        """No setting has a larger mean utility over all instances that were read."""
        largest = Fraction(self._utility_range[1])
        if not self._proves:
            return largest
        return self._over_all(self.landscape.upper_bound_exact, largest)

    @property
    def gap(self) -> float:
        """Difference of upper bound and best value; 0 proves the optimum."""
        return max(0.0, float(self.upper_bound_exact - self.best_value_exact))

    def _over_all(self, finished: Fraction, failed: Fraction) -> Fraction:
        n_finished = self.n_instances - self.n_failed
        return (finished * n_finished + failed * self.n_failed) / self.n_instances

    def _told_baselines(self) -> list[str]:
        if not self.baselines:
            return []
        reached = ", ".join(f"{name} {value:.6g}" for name, value in self.baselines.items())
        better = [name for name, value in self.baselines.items() if value > self.best_value]
        note = f"               note: a default is better: {', '.join(better)}; widen the range"
        return [f"baselines      {reached}", *([note] if better else [])]

    def __repr__(self) -> str:
        status = None if self.status is None else self.status.name
        return (
            f"{type(self).__name__}({status}, best_value={self.best_value!r}, "
            f"best_params={self.best_params!r}, n_instances={self.n_instances})"
        )

    def __str__(self) -> str:
        lines = [
            f"status         {self.status or 'not ended, or killed'}",
            f"best value     {self.best_value:.6g} at {shown_setting(self.best_params)}",
            f"upper bound    {self.upper_bound:.6g}",
            *self._told_baselines(),
            f"instances      {self.n_instances}, {self.landscape.n_pieces} pieces, "
            f"{self.elapsed:.1f} s",
        ]
        if self.n_failed:
            first = next(f"{name}: {why}" for name, why in self.failures.items())
            lines.append(f"failed         {self.n_failed}; the first one {first}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StreamResult(StreamSummary):
    """Result of :func:`certune.tune_stream`; attributes beside those below are its exact mean.

    Attributes
    ----------
    family : Family
        The algorithm that was tuned.
    """

    family: Family
    status: Status

    @property
    def _utility_range(self) -> tuple[float, float]:
        return self.family.utility_range

    @property
    def _proves(self) -> bool:
        return self.family.proves_duals

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file, as a whole or not at all; :func:`certune.load` reads it.

        Parameters
        ----------
        path : path
            The file, of plain JSON; an existing one is replaced.
        """
        content = {
            "format": FORMAT,
            "family": repr(self.family)[:LONGEST_TEXT],
            "family_fingerprint": self.family.fingerprint,
            "segment": segment_data(self.segment),
            "status": self.status.name,
            "landscape": to_json(self.landscape),
            "n_instances": self.n_instances,
            "n_failed": self.n_failed,
            "failures": [[name[:LONGEST_TEXT], why[:LONGEST_TEXT]] for name, why in
                         self.failures.items()],
            "baselines": self.baselines,
            "elapsed": self.elapsed,
            "utility_range": list(self._utility_range),
            "proves": self._proves,
        }  # fmt: skip
        sealed = {**content, "checksum": _checksum(content)}
        write_whole(path, json.dumps(sealed, allow_nan=False).encode("ascii"))

    @stage("writing the report")
    def report(self, path: str | PathLike[str], *, title: str = "") -> None:
        """Write a report: one page that works offline, with the verdict in words first.

        Parameters
        ----------
        path : path
            The HTML file; an existing one is replaced.
        title : str, optional
            Headline.
        """
        from certune.report import stream_findings, write_report

        write_report(path, stream_findings(self, title))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredStream(StreamSummary):
    """What :meth:`StreamResult.save` has written, or a run directory keeps of a stream.

    Needs neither the family nor the instances.

    Attributes
    ----------
    path : Path
        The file, or the folder.
    family : str
        The algorithm, as it prints itself.
    family_fingerprint : str
        Hash of everything that defines it.
    damaged : tuple of str
        Files of the folder that could not be read, in words: their instances are not counted, and
        the next run computes them again.
    """

    path: Path
    family: str
    family_fingerprint: str
    stored_range: tuple[float, float]
    stored_proves: bool
    damaged: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *self.damaged])

    @property
    def _utility_range(self) -> tuple[float, float]:
        return self.stored_range

    @property
    def _proves(self) -> bool:
        return self.stored_proves


def load_stream(path: str | PathLike[str]) -> StoredStream:
    """Read what :meth:`StreamResult.save` has written.

    Raises
    ------
    InputError
        If the file cannot be read, is something else, or was changed.
    """
    content = read_text(path)
    try:
        stored = parsed(content)
        fields = Fields(stored, _FIELDS, "a stream")
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']!r}")
        if fields.text("checksum") != _checksum({n: stored[n] for n in stored if n != "checksum"}):
            raise ValueError("its checksum is another one: it was changed")
        low, high = _range(fields)
        [n_instances, n_failed] = Fields(
            {"counts": [fields["n_instances"], fields["n_failed"]]}, ("counts",), "a stream"
        ).whole_numbers("counts")
        if not 0 <= n_failed < n_instances:
            raise ValueError(f"{n_failed} of {n_instances} instances cannot have failed")
        if type(fields["proves"]) is not bool:
            raise ValueError("whether it proves anything is not said")
        return StoredStream(
            path=Path(fspath(path)),
            family=fields.text("family"),
            family_fingerprint=fields.text("family_fingerprint"),
            segment=segment_from(fields["segment"]),
            status=Status[fields.text("status")],
            landscape=from_json(fields["landscape"]),
            n_instances=n_instances,
            n_failed=n_failed,
            failures=_failures(fields),
            baselines={str(name): value for name, value in fields.point("baselines").items()},
            elapsed=fields.number("elapsed"),
            stored_range=(low, high),
            stored_proves=fields["proves"],
        )
    except (ValueError, KeyError, TypeError, CertificateError, RecursionError) as error:
        raise InputError(
            f"{path} is no result of a stream that can be read: {error}; certune.load takes what "
            "such a result has saved, or the folder of a run (run_dir=)"
        ) from None


def _range(fields: Fields) -> tuple[float, float]:
    pairs = Fields({"pairs": [fields["utility_range"]]}, ("pairs",), "a stream").intervals("pairs")
    if not pairs[0][0] <= pairs[0][1]:
        raise ValueError("its range of utilities is empty")
    return pairs[0]


def _failures(fields: Fields) -> dict[str, str]:
    pairs = fields.items("failures")
    flat = [text for pair in pairs for text in (pair if isinstance(pair, list) else [None])]
    checked = Fields({"texts": flat}, ("texts",), "a stream").texts("texts")
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("failures must be names with reasons")
    return dict(zip(checked[::2], checked[1::2], strict=True))


def _checksum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
