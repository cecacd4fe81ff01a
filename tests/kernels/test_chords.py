"""Chords of records: what they say of the values between two ends of a panel."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from certune.kernels.borrowing import bundled
from certune.kernels.certificates import Panel
from certune.kernels.chords import (
    BLOCK,
    KEY_UNIT,
    blend_row,
    blend_some,
    doubtful_among,
    doubtful_chords,
    nearest_by_chords,
    nobody_alive,
    set_alive,
    set_bars,
    until_chord,
)
from certune.kernels.kinetic_state import Records

positive = st.floats(0.1, 10.0)
WIDTH = 3 * BLOCK


def panel_with(slack, sign=1, base=0.0):
    """Part [2, 5] of a panel on which values are within a factor of ``slack`` of their chords."""
    factor = slack if sign > 0 else 1.0 / slack
    offset = abs(base * (factor - 1.0))
    where = 1.0, 9.0, 2.0, 5.0
    return Panel(
        0, 0, sign, 1e-9, *where, False, 0.0, np.ones(2), 0, factor, factor, True, factor, offset
    )


def records_of(chords, slots=None):
    """Records whose chords, given by slots, are known; nodes are in the given slots."""
    slots = np.arange(WIDTH) if slots is None else slots
    flat = np.ones(8)
    keys = np.array(chords, np.float32).reshape(-1)
    return Records(
        flat,
        flat.view(np.int64),
        np.ones(1, np.uint8),
        WIDTH,
        False,
        np.empty((WIDTH, 1), np.int32),
        np.zeros(WIDTH, np.int64),
        keys,
        slots,
        np.argsort(slots),
        np.empty(8),
        keys.view(np.int64),
    )


@njit
def bars_with(panel, depth):
    bars = np.empty(2)
    set_bars(bundled(panel), bars, depth)
    return bars


@njit
def until(panel, chords, bars, share):
    return until_chord(bundled(panel), chords, bars, share, 0, 2)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("depth", [0, 1, 20, 500])
def test_bars_allow_for_the_roundings_of_two_nodes(depth, sign):
    panel = panel_with(1.01, sign, 0.25)
    error = Fraction(1 + 3 * 2 * depth + 3) * Fraction(KEY_UNIT)
    growth = (1 + error) / (1 - error)
    factor, offset = map(Fraction, bars_with(panel, depth))
    assert factor >= Fraction(panel.key_factor) * growth
    assert offset >= Fraction(panel.key_offset) * (1 + error)
    assert factor < Fraction(panel.key_factor) * (1 + 4 * error + Fraction(2) ** -18)


@settings(deadline=None)
@given(st.lists(st.tuples(positive, st.floats(-1.25, 1.25)), min_size=1, max_size=6))
def test_averages_of_exponentials_lie_between_their_chord_and_a_part_of_it(terms):
    reach = max(abs(rate) for _, rate in terms)
    shares = np.linspace(0, 1, 41)
    values = sum(weight * np.exp(rate * shares) for weight, rate in terms)
    chord = (1 - shares) * values[0] + shares * values[-1]
    assert np.all(values <= chord * (1 + 1e-14))
    assert np.all(values >= chord * math.exp(-(reach**2) / 8) * (1 - 1e-14))


@settings(max_examples=300, deadline=None)
@given(
    positive,
    positive,
    positive,
    positive,
    st.floats(0.0, 0.95),
    st.floats(1.000001, 1.2),
    st.sampled_from([1, -1]),
)
def test_a_chord_stays_beyond_until_the_place_found(
    rival_start, rival_end, own_start, own_end, share, slack, sign
):
    values = np.array([own_start, own_end, rival_start, rival_end])
    base = (sign * values).min()
    panel = panel_with(slack, sign, base)
    keys = (sign * values - base).astype(np.float32)
    place = until(panel, keys, bars_with(panel, 0), share)

    def margin(part):
        rival = (1 - part) * rival_start + part * rival_end
        own = (1 - part) * own_start + part * own_end
        return rival - slack * own if sign > 0 else own - slack * rival

    if place == -np.inf:
        assert margin(share) <= 2e-4
        return
    last = 1.0 if place == np.inf else (place - panel.start) / (panel.stop - panel.start)
    assert all(margin(part) > 0 for part in np.linspace(share, last, 20))
    if place < np.inf:
        assert margin(last) < 2e-4


@njit
def fill_chords(records, absent, crowd, alive, node, p, q, size_p, size_q, some):
    bundle = bundled(records)
    nobody_alive(absent, crowd)
    for x in alive:
        set_alive(absent, crowd, records.slots[x])
    weight_p = size_p / (size_p + size_q)
    weight_q = size_q / (size_p + size_q)
    if some:
        blend_some(bundle, node, p, q, weight_p, weight_q, alive, alive.size)
    else:
        blend_row(bundle, crowd, node, p, q, weight_p, weight_q, alive, alive.size)


def random_state(seed):
    rng = np.random.default_rng(seed)
    chords = rng.uniform(1.0, 2.0, (WIDTH, WIDTH, 2))
    chords = chords + chords.transpose(1, 0, 2)
    slots = rng.permutation(WIDTH)
    alive = np.sort(rng.choice(WIDTH, 12, replace=False))
    return rng, chords, slots, alive


@pytest.mark.parametrize("some", [False, True])
def test_chords_of_a_union_are_averages_and_their_error_is_charged(some):
    # Three roundings for each merge: a chain of them, against rational numbers.
    rng, chords, slots, alive = random_state(1)
    records = records_of(chords, slots)
    keys = records.chords.reshape(WIDTH, WIDTH, 2)
    exact = {
        (x, c): [Fraction(float(keys[slots[x], slots[c], end])) for end in range(2)]
        for x in range(WIDTH)
        for c in alive
    }
    absent, crowd = np.empty(WIDTH, np.float32), np.empty(WIDTH // BLOCK, np.int64)
    nodes = [x for x in range(WIDTH) if x not in alive]
    total, merged = 1, nodes[0]
    for depth, (other, node) in enumerate(zip(nodes[1:9], nodes[9:17], strict=True), start=1):
        size = int(rng.integers(1, 9))
        fill_chords(records, absent, crowd, alive, node, merged, other, total, size, some)
        for c in alive:
            exact[node, c] = [
                (total * exact[merged, c][end] + size * exact[other, c][end]) / (total + size)
                for end in range(2)
            ]
            for end in range(2):
                key = Fraction(float(keys[slots[node], slots[c], end]))
                assert key == Fraction(float(keys[slots[c], slots[node], end]))
                assert abs(key / exact[node, c][end] - 1) <= Fraction(3 * depth * KEY_UNIT)
        total, merged = total + size, node


def test_some_chords_are_filled_and_others_kept():
    _, chords, slots, alive = random_state(2)
    records = records_of(chords, slots)
    before = records.chords.copy().reshape(WIDTH, WIDTH, 2)
    node, p, q = [x for x in range(WIDTH) if x not in alive][:3]
    absent, crowd = np.empty(WIDTH, np.float32), np.empty(WIDTH // BLOCK, np.int64)
    fill_chords(records, absent, crowd, alive, node, p, q, 1, 2, True)
    changed = (records.chords.reshape(WIDTH, WIDTH, 2) != before).any(axis=2)
    rows, columns = np.nonzero(changed)
    assert set(zip(rows, columns, strict=True)) == {
        pair for c in alive for pair in ((slots[node], slots[c]), (slots[c], slots[node]))
    }


@njit
def look_around(records, bars, alive, p, q, share, among):
    bundle = bundled(records)
    absent = np.empty(WIDTH, np.float32)
    crowd = np.empty(WIDTH // BLOCK, np.int64)
    nobody_alive(absent, crowd)
    for x in alive:
        set_alive(absent, crowd, records.slots[x])
    found = np.empty((2 * WIDTH, 2), np.int64)
    if among:
        count = doubtful_among(bundle, alive, alive.size, bars, share, p, q, found)
    else:
        count = doubtful_chords(bundle, absent, crowd, bars, share, p, q, found)
    return nearest_by_chords(bundle, absent, crowd, p, share), found[:count]


@pytest.mark.parametrize("among", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_neighbours_and_doubtful_rivals_are_those_of_all_that_are_alive(share, among):
    for seed in range(30):
        rng, chords, slots, alive = random_state(seed)
        records = records_of(chords, slots)
        keys = records.chords.reshape(WIDTH, WIDTH, 2)[np.ix_(slots, slots)].astype(float)
        here = (1 - share) * keys[..., 0] + share * keys[..., 1]
        p, q = rng.choice(alive, 2, replace=False)
        bars = np.array([1.05, 0.01])
        nearest, doubtful = look_around(records, bars, alive, p, q, share, among)
        others = [c for c in alive if c != p]
        assert nearest == others[int(np.argmin(here[p, others]))]
        bar, end_bar = (1.05 * own[p, q] + 0.01 for own in (here, keys[..., 1]))
        expected = {
            (row, c)
            for row in (p, q)
            for c in alive
            if c not in (p, q) and not (here[row, c] > bar and keys[row, c, 1] > end_bar)
        }
        assert {tuple(pair) for pair in doubtful} == expected
