"""Sums over a stream of instances, of which none is kept, and the files that keep these sums.

Blocks of consecutive instances are added by themselves, and their sums in a tree whose shape
depends on their numbers alone, so that the mean is the same to the last bit in whatever order they
arrive, from workers or from files. What is in memory are a few sums on every level of the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from certune.dual import DualFunction
from certune.dual.codec import from_json, to_json
from certune.dual.sums import sum_of
from certune.runs.directory import Kind
from certune.tuning.schema import Fields, written

# Instances in a block, and sums that are added at a time.
BLOCK, FAN = 32, 16
# Failures that are told by name; all are counted.
MOST_FAILURES = 1000


class Failure(NamedTuple):
    """An instance that has no function: its number in the stream, its name, and why."""

    number: int
    name: str
    why: str


class BlockSum(NamedTuple):
    """What came of a block of a stream.

    Attributes
    ----------
    number : int
        Which block this is.
    n_instances : int
        Instances in it.
    total : DualFunction or None
        Sum of their functions; None if all have failed.
    defaults : dict of str to Fraction
        Sum of the utilities of every default setting; None if a run stayed undecided.
    failures : tuple of Failure
        Instances that have no function.
    """

    number: int
    n_instances: int
    total: DualFunction | None
    defaults: dict[str, Fraction | None]
    failures: tuple[Failure, ...]


def _encoded(found: BlockSum) -> dict[str, Any]:
    return {
        "number": found.number,
        "n_instances": found.n_instances,
        "function": None if found.total is None else to_json(found.total),
        "defaults": {
            name: None if value is None else written(value)
            for name, value in found.defaults.items()
        },
        "failures": [list(failure) for failure in found.failures],
    }


def _decoded(stored: Mapping[str, Any]) -> BlockSum:
    present = {name: stored.get(name) for name in ("function", "defaults", "failures")}
    present["counts"] = [stored.get("number"), stored.get("n_instances")]
    fields = Fields(present, present, "a block")
    number, n_instances = fields.whole_numbers("counts")
    failures = tuple(map(_failure, fields.items("failures")))
    function, defaults = fields["function"], fields["defaults"]
    if not isinstance(defaults, dict):
        raise ValueError("defaults must be fractions by name")
    sums = Fields(defaults, defaults, "a block")
    if number < 0 or not len(failures) <= n_instances <= BLOCK or n_instances < 1:
        raise ValueError(f"{n_instances} instances, of which {len(failures)} failed, are no block")
    if (function is None) != (len(failures) == n_instances):
        raise ValueError("a block has a function unless all of its instances failed")
    return BlockSum(
        number,
        n_instances,
        None if function is None else from_json(function),
        {name: None if sums[name] is None else sums.fraction(name) for name in defaults},
        failures,
    )


def _failure(stored: object) -> Failure:
    number, name, why = stored if isinstance(stored, list) and len(stored) == 3 else (None,) * 3
    if type(number) is not int or not isinstance(name, str) or not isinstance(why, str):
        raise ValueError("failures must be numbers with names and reasons")
    return Failure(number, name, why)


BLOCKS: Kind[BlockSum] = Kind("certune block 1", "block", _encoded, _decoded)


class StreamSums:
    """What is known about the blocks of a stream that have arrived.

    Attributes
    ----------
    n_read, n_failed : int
        Instances of these blocks, and those of them that have no function.
    """

    def __init__(self) -> None:
        self.n_read = self.n_failed = 0
        self._tree = SumTree()
        self._defaults: dict[str, Fraction | None] = {}
        self._failures: list[Failure] = []

    def take(self, found: BlockSum) -> None:
        """Add a block."""
        self.n_read += found.n_instances
        self.n_failed += len(found.failures)
        self._failures += found.failures
        if len(self._failures) > 2 * MOST_FAILURES:
            self._failures = sorted(self._failures)[:MOST_FAILURES]
        self._tree.put(found.number, found.total)
        for name, value in found.defaults.items():
            known = self._defaults.get(name, Fraction(0))
            self._defaults[name] = None if known is None or value is None else known + value

    def mean(self) -> DualFunction | None:
        """Return the mean of all functions so far; None if there are none."""
        total = self._tree.total()
        return None if total is None else total * Fraction(1, self.n_read - self.n_failed)

    @property
    def failures(self) -> dict[str, str]:
        """Why instances failed, by name, the first of the stream; an equal name gets its number."""
        told: dict[str, str] = {}
        for number, name, why in sorted(self._failures)[:MOST_FAILURES]:
            told[f"{name}, number {number} of the stream" if name in told else name] = why
        return told

    @property
    def baselines(self) -> dict[str, float]:
        """Mean utility of the default settings whose runs are all decided."""
        known = {name: value for name, value in self._defaults.items() if value is not None}
        return {name: float(value / (self.n_read - self.n_failed)) for name, value in known.items()}


@dataclass
class SumTree:
    """Sum of numbered functions that arrive in any order, added in a tree of a fixed shape.

    A node has ``FAN`` children with consecutive numbers and is added up once all of them are there.

    Attributes
    ----------
    levels : list of dict
        On every level the functions that wait for their siblings, by number; None stands for an
        empty sum.
    """

    levels: list[dict[int, DualFunction | None]] = field(default_factory=list)

    def put(self, number: int, function: DualFunction | None) -> None:
        """Add a leaf."""
        level = 0
        while True:
            if level == len(self.levels):
                self.levels.append({})
            waiting = self.levels[level]
            waiting[number] = function
            first = number - number % FAN
            siblings = range(first, first + FAN)
            if not all(sibling in waiting for sibling in siblings):
                return
            function = _sum([waiting.pop(sibling) for sibling in siblings])
            number, level = number // FAN, level + 1

    def total(self) -> DualFunction | None:
        """Return the sum of everything so far, in the order of the numbers."""
        carried: list[DualFunction | None] = []
        for waiting in self.levels:
            # What lies on a lower level has larger numbers than what lies above it, if nothing is
            # missing in between.
            here = [waiting[number] for number in sorted(waiting)]
            carried = [_sum([*here, *carried])]
        return carried[0] if carried else None


def _sum(functions: Sequence[DualFunction | None]) -> DualFunction | None:
    there = [function for function in functions if function is not None]
    return sum_of(there) if there else None
