"""Family and instances of a search, with what is remembered about boxes, in any process.

A search over several parameters comes back to the same instances again and again. Threads see the
one problem of the run; a process of a cluster is sent the problem once, and asks for it if it has
forgotten it. What a family knows about a box and can use on its parts (`BoxBound.reuse`) is never
sent or stored: it follows from the boxes around the box, and is made again from them where it is
not at hand.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property, partial
from typing import Any, TypeAlias

from certune.aggregates import Criterion
from certune.box import Box
from certune.families.base import BoxBound, Family
from certune.tuning.work.executors import Crew

# A box: the number of its stratum, then for every halving twice the number of the edge, plus one
# for the second half.
Path: TypeAlias = tuple[int, ...]

# Problems that a process of a cluster keeps, and what is kept about instances on boxes beside what
# open boxes hold themselves.
MOST_PROBLEMS, MOST_KEPT = 2, 4096
NOTHING = object()
MEAN = Criterion()


class Problem:
    """Family and instances of a search, and what is maximised.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : sequence
        Checked instances.
    criterion : Criterion
        The aggregate of their utilities, by default the mean.
    """

    def __init__(
        self, family: Family, instances: Sequence[Any], criterion: Criterion = MEAN
    ) -> None:
        self.family = family
        self.instances = instances
        self.criterion = criterion
        self._token = uuid.uuid4().hex

    @cached_property
    def boxes(self) -> BoxMemory:
        """What the family knows about boxes."""
        return BoxMemory(self.family, self.instances)

    def map(self, crew: Crew, function: Callable[[Problem, Any], Any], items: Sequence[Any]) -> Any:
        """Return ``function(problem, item)`` for every item, wherever the crew works."""
        if not crew.is_away or len(items) == 1:
            return crew.map(partial(function, self), items)
        call = partial(_there, self._token, None, function)
        found = crew.map(call, items)
        missing = [place for place, value in enumerate(found) if value is _Answer.UNKNOWN]
        if missing:
            content = (self.family, list(self.instances), self.criterion)
            call = partial(_there, self._token, content, function)
            again = crew.map(call, [items[place] for place in missing])
            for place, value in zip(missing, again, strict=True):
                found[place] = value
        return found


class _Answer(Enum):
    UNKNOWN = "the problem is not known here"


_known: OrderedDict[str, Problem] = OrderedDict()


def _there(token: str, content: Any, function: Callable[[Problem, Any], Any], item: Any) -> Any:
    """Work on an item in another process; says so if that was never sent the problem."""
    problem = _known.get(token)
    if problem is None:
        if content is None:
            return _Answer.UNKNOWN
        problem = _known[token] = Problem(*content)
        problem.boxes.keeps_all = True
        while len(_known) > MOST_PROBLEMS:
            _known.popitem(last=False)
    return function(problem, item)


class Known:
    """What a family knows about an instance on a box, or how to make it again.

    Parameters
    ----------
    marks : tuple of int
        On which boxes the instance was bounded one after the other: the lengths of their paths, the
        last of which is that of the box itself. Only these are sent to other processes.
    reuse : tuple of object, optional
        What `Family.bound_on_box` returned to be used on parts of the box, if it is at hand.
    """

    __slots__ = ("marks", "reuse")

    def __init__(self, marks: tuple[int, ...], *reuse: Any) -> None:
        self.marks = marks
        self.reuse = reuse

    @classmethod
    def on(cls, path: Path, around: Known | None, *reuse: Any) -> Known:
        """Return what is known on the box of a path, from what was known on a box around it."""
        return cls((*(() if around is None else around.marks), len(path)), *reuse)

    def __reduce__(self) -> tuple[Any, ...]:
        return Known, (self.marks,)


class BoxMemory:
    """Bounds on boxes, with what a family knows about boxes around them.

    Parameters
    ----------
    family : Family
        A family with bounds on boxes.
    instances : sequence
        Checked instances.

    Attributes
    ----------
    strata : list of Box
        Where paths begin.
    keeps_all : bool
        Whether what is known is kept here, because nobody else in this process holds it.
    """

    def __init__(self, family: Family, instances: Sequence[Any]) -> None:
        self._family = family
        self._instances = instances
        self._kept: OrderedDict[tuple[int, Path], Any] = OrderedDict()
        self._starts: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.strata = family.strata()
        self.keeps_all = False

    def bound(self, number: int, path: Path, box: Box, known: Known | None) -> BoxBound:
        """Bound the utility of an instance on the box of a path, with a `Known` to be handed on."""
        found = self._family.bound_on_box(
            self._instances[number], box, self._reuse(number, path, known)
        )
        if self.keeps_all:
            self._keep(number, path, found.reuse)
        return replace(found, reuse=Known.on(path, known, found.reuse))

    def _reuse(self, number: int, path: Path, known: Known | None) -> Any:
        """Return what is known about a box around that of a path, made again if need be.

        Families are deterministic, so that this is what it was, whoever made it and when.
        """
        if known is None:
            return self._start(number)
        if not known.reuse:
            around = path[: known.marks[-1]]
            kept = self._kept.get((number, around), NOTHING)
            if kept is NOTHING:
                before = Known(known.marks[:-1]) if len(known.marks) > 1 else None
                start = self._reuse(number, around, before)
                instance = self._instances[number]
                kept = self._family.bound_on_box(instance, self._box(around), start).reuse
                self._keep(number, around, kept)
            known.reuse = (kept,)
        return known.reuse[0]

    def _start(self, number: int) -> Any:
        """Return what holds on every box, prepared once for an instance."""
        if number not in self._starts:
            self._starts[number] = self._family.box_start(self._instances[number])
        return self._starts[number]

    def _box(self, path: Path) -> Box:
        box = self.strata[path[0]]
        for step in path[1:]:
            box = box.split(box.edges[step // 2])[step % 2]
        return box

    def _keep(self, number: int, path: Path, reuse: Any) -> None:
        with self._lock:
            self._kept[number, path] = reuse
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
