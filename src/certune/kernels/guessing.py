"""Nearest clusters by values near one point: what is guessed here is proved elsewhere."""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import value_at
from certune.kernels.chords import nearest_by_chords
from certune.kernels.frames import AVERAGE
from certune.kernels.pair_keys import key_of
from certune.kernels.records import dot_record
from certune.kernels.series import MINMAX, exponentials
from certune.kernels.tree_records import ensure


@borrowing
def nearest_alive(panel, records, forest, work, x, share):
    """Nearest alive cluster of a fresh one."""
    if panel.dense:
        return nearest_by_chords(records, work.absent, work.crowd, x, share)
    _fill_by_records(panel, records, forest, work, x, share)
    best = np.inf
    near = -1
    for i in range(work.n_alive[0]):
        if work.alive[i] != x and work.values[i] < best:
            best = work.values[i]
            near = work.alive[i]
    return near


@borrowing
def _fill_by_records(panel, records, forest, work, x, share):
    alive = work.alive
    n_alive = work.n_alive[0]
    known = records.known
    for i in range(n_alive):
        c = alive[i]
        if c != x and known[key_of(x, c)] == 0:
            ensure(panel, records, forest, x, c, work.stack)
    values = work.values
    flat = records.flat
    if panel.form == AVERAGE and share > 0.0:
        _gather_averages(flat, x, alive, n_alive, panel.sign, work.basis, values)
    elif panel.form == AVERAGE:
        _gather_lanes(flat, 0, 0, x, alive, n_alive, panel.sign, values)
    elif panel.kind == MINMAX and share == 0.0:
        _gather_lanes(flat, 0, 4, x, alive, n_alive, panel.sign, values)
    elif panel.kind == MINMAX and not panel.box_cox and share < 1.0:
        alpha = panel.power[0] + panel.power[1] * (panel.low + share * (panel.high - panel.low))
        _gather_exponents(flat, x, alive, n_alive, alpha, panel.centre, values)
        exponentials(values, work.exponents, 2 * n_alive)
        for i in range(n_alive):
            values[i] = panel.sign * (values[i] + values[n_alive + i])
    else:
        for i in range(n_alive):
            c = alive[i]
            if c != x:
                at = 8 * key_of(x, c)
                values[i] = value_at(panel, flat, at, share, work.basis)


@borrowing
def _gather_averages(flat, x, alive, n_alive, sign, basis, values):
    for i in range(n_alive):
        c = alive[i]
        if c != x:
            at = 8 * key_of(x, c)
            values[i] = sign * dot_record(flat, at, basis)


@borrowing
def _gather_lanes(flat, lane, other, x, alive, n_alive, sign, values):
    """Sums of two lanes (the same one twice: of that lane)."""
    for i in range(n_alive):
        c = alive[i]
        if c != x:
            at = 8 * key_of(x, c)
            values[i] = sign * (flat[at + lane] + flat[at + other])


@borrowing
def _gather_exponents(flat, x, alive, n_alive, alpha, centre, values):
    """Exponents of the smallest and the largest distance of x from the alive clusters (ENDS)."""
    for i in range(n_alive):
        c = alive[i]
        values[i] = 0.0
        values[n_alive + i] = 0.0
        if c != x:
            at = 8 * key_of(x, c)
            values[i] = alpha * (flat[at + 2] - centre)
            values[n_alive + i] = alpha * (flat[at + 6] - centre)
