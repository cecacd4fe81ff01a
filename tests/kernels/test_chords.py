"""Chords of records: what they say of the polynomials between two ends of a panel."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from certune.kernels.borrowing import bundled
from certune.kernels.certificates import Panel, until_chord
from certune.kernels.kinetic_panels import CHORD
from certune.kernels.kinetic_state import Records
from certune.kernels.records import bow
from certune.kernels.series import DEGREE
from certune.kernels.tree_records import forget

positive = st.floats(0.1, 10.0)


@njit
def bow_of(flat, at):
    return bow(flat, at, CHORD)


@njit
def until(panel, share, rival_start, rival_end, own_start, own_end):
    return until_chord(bundled(panel), share, rival_start, rival_end, own_start, own_end)


def panel_with(slack, sign=1):
    factor = slack if sign > 0 else 1.0 / slack
    return Panel(
        0, 0, sign, 1e-9, 2.0, 5.0, False, 0.0, np.ones(2), 0, factor, factor, True, factor
    )


@settings(deadline=None)
@given(st.lists(positive, min_size=DEGREE, max_size=DEGREE))
def test_a_polynomial_stays_within_the_bow_of_its_chord(coefficients):
    flat = np.array([1.0] * DEGREE + coefficients)
    bound = bow_of(flat, DEGREE)
    line = (1 - CHORD) * coefficients[0] + CHORD * coefficients[-1]
    assert np.isclose(bound, np.max(np.abs(np.array(coefficients) / line - 1)), rtol=1e-12)
    shares = np.linspace(0, 1, 21)
    values = np.zeros_like(shares)
    for k, coefficient in enumerate(coefficients):
        values += (
            coefficient * math.comb(DEGREE - 1, k) * shares**k * (1 - shares) ** (DEGREE - 1 - k)
        )
    chord = (1 - shares) * coefficients[0] + shares * coefficients[-1]
    assert np.all(np.abs(values - chord) <= (bound + 1e-12) * chord)


@settings(max_examples=300, deadline=None)
@given(
    positive,
    positive,
    positive,
    positive,
    st.floats(0.0, 0.95),
    st.floats(1.0, 1.2),
    st.sampled_from([1, -1]),
)
def test_a_chord_stays_beyond_until_the_place_found(
    rival_start, rival_end, own_start, own_end, share, slack, sign
):
    panel = panel_with(slack, sign)
    place = until(
        panel, share, sign * rival_start, sign * rival_end, sign * own_start, sign * own_end
    )

    def margin(part):
        rival = (1 - part) * rival_start + part * rival_end
        own = (1 - part) * own_start + part * own_end
        return rival - slack * own if sign > 0 else own - slack * rival

    if place == -np.inf:
        assert margin(share) <= 1e-12
        return
    last = 1.0 if place == np.inf else (place - panel.low) / (panel.high - panel.low)
    parts = np.linspace(share, last, 20)
    assert all(margin(part) > -1e-12 for part in parts)
    if place < np.inf:
        assert margin(last) < 1e-9 * 20.0


@njit
def forget_node(records, node, dense, work):
    forget(bundled(records), node, dense, work)


def test_a_forgotten_node_has_no_chords_and_no_records_and_others_keep_theirs():
    width, node = 5, 2
    flat = np.ones(8 * width * width)
    known = np.triu(np.ones((width, width), np.uint8), 1)
    chords = np.ones((width, width, 2))
    records = Records(
        flat,
        flat.view(np.int64),
        known.reshape(-1),
        width,
        False,
        np.ones(width, np.bool_),
        chords.reshape(-1),
    )
    forget_node(records, node, True, np.empty(width + 1, np.int64))
    others = np.arange(width) != node
    assert np.isnan(chords[node, :, 0]).all()
    assert np.isnan(chords[:, node, 0]).all()
    assert (chords[np.ix_(others, others)] == 1.0).all()
    assert known[node].sum() == known[:, node].sum() == 0
    assert known.sum() == 6
