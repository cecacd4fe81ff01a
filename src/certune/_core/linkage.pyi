"""Cluster trees along a segment."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.uint8]
Found = tuple[Reals, Integers, Reals, Marks, Integers]
Ranked = tuple[Reals, Reals, Integers, Integers]
Cover = tuple[Reals, Integers, Integers]
Answering = Callable[[int, float, float, int, Marks], int | tuple[float, float, int]]

class PairFunctions:
    def __init__(
        self,
        mode: int,
        first: Reals,
        second: Reals,
        power: tuple[float, float],
        input_error: float,
        codes: tuple[Codes, bool],
        twins: Integers,
        box_cox: bool,
    ) -> None: ...

class Problem:
    def __init__(
        self,
        kind: int,
        pairs: PairFunctions,
        offset_and_span: tuple[float, float],
        merges: tuple[Integers, Integers, Integers, int],
        pruning: tuple[int, Integers, int],
    ) -> None: ...

def contract(
    kind: int,
    ends: tuple[Reals, Reals],
    margin: float,
    merges: tuple[Integers, Integers, Integers],
    stop: Stop,
) -> int: ...
def panel_edges(
    pairs: PairFunctions,
    labels: Integers,
    interval: tuple[float, float],
    tolerance: float,
    stop: Stop,
) -> Reals: ...
def search(
    problem: Problem,
    panels: Reals,
    may_tie: Flags,
    wide_zone: float,
    answer: Answering,
    near: tuple[float, float, float] | None,
    stop: Stop,
) -> Found: ...
def follow(
    problem: Problem,
    panels: Reals,
    may_tie: Flags,
    meetings: tuple[tuple[Codes, bool], tuple[Codes, bool]],
    stop: Stop,
) -> tuple[Found, Reals, int]: ...
def solve_at(
    problem: Problem,
    t: float,
    values: Reals,
    error: float,
    answer: Answering,
    near: tuple[float, float, float] | None,
    stop: Stop,
) -> tuple[Integers, Integers, Integers] | None: ...
def polish(
    kind: int, pairs: PairFunctions, splits: Reals, marks: Marks, which: Integers, stop: Stop
) -> Marks: ...
def may_tie(kind: int, pairs: PairFunctions, marks: Marks, t: float, stop: Stop) -> bool: ...
def ranked_leaves(
    leaves: tuple[Reals, Integers, Reals], ranks: Integers, highest: int, ranges: Reals
) -> Ranked: ...
def envelope(low: Reals, high: Reals, least: Integers, most: Integers) -> Cover: ...
def unsettled_splits(splits: Reals, cover: Cover) -> Integers: ...
def joined(cover: Cover, special: Reals) -> Ranked: ...
def prune(
    objective: int, reference: Integers, left: Integers, right: Integers, k: int, stop: Stop
) -> Integers: ...
def merge_values(kind: int, values: Reals, left: Integers, right: Integers) -> Reals: ...
def heaviest_matching(weights: Integers) -> int: ...
def matched_points(target: Integers, partitions: Integers, stop: Stop) -> Integers: ...
