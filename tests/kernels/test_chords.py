"""Chords of records: what they say of the values between two ends of a panel."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certune._core.linkage_parts import FollowedParts

KEY_UNIT = 2.0**-24
COUNT = 40  # first clusters: three blocks of sixteen places
positive = st.floats(0.1, 10.0)


def parts_of(starts, stops, sign=1, slack=1.01):
    """First clusters with these values (one for each pair) at both ends of the panel [0, 1]."""
    starts, stops = np.asarray(starts, dtype=float), np.asarray(stops, dtype=float)
    shares = np.linspace(0.0, 1.0, 8)
    records = starts[:, None] * (1 - shares) + stops[:, None] * shares
    count = round((1 + math.sqrt(1 + 8 * len(starts))) / 2)
    return FollowedParts(list(range(count)), np.ascontiguousarray(records), sign, slack)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("depth", [0, 1, 20, 500])
def test_bars_allow_for_the_roundings_of_two_nodes(depth, sign):
    parts = parts_of([0.5, 0.25, 1.0], [1.0, 0.5, 2.0], sign)
    key_factor, key_offset = map(Fraction, parts.key_bar())
    error = Fraction(1 + 3 * 2 * depth + 3) * Fraction(KEY_UNIT)
    growth = (1 + error) / (1 - error)
    factor, offset = map(Fraction, parts.bars(depth))
    assert factor >= key_factor * growth
    assert offset >= key_offset * (1 + error)
    assert factor < key_factor * (1 + 4 * error + Fraction(2) ** -18)


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
    # Pairs (1, 0), (2, 0) and (2, 1); the last one is that of (1, 0) again.
    starts, stops = [own_start, rival_start, own_start], [own_end, rival_end, own_end]
    parts = parts_of(starts, stops, sign, slack)
    place = parts.until((1, 0), (2, 0), share)

    def margin(part):
        rival = (1 - part) * rival_start + part * rival_end
        own = (1 - part) * own_start + part * own_end
        return rival - slack * own if sign > 0 else own - slack * rival

    if place == -math.inf:
        assert margin(share) <= 2e-4
        return
    last = min(place, 1.0)
    assert all(margin(part) > 0 for part in np.linspace(share, last, 20))
    if place < math.inf:
        assert margin(last) < 2e-4


def random_parts(seed):
    rng = np.random.default_rng(seed)
    parts = parts_of(*rng.uniform(1.0, 2.0, (2, COUNT * (COUNT - 1) // 2)))
    alive = np.sort(rng.choice(COUNT, 12, replace=False)).tolist()
    return rng, parts, alive


def keys(parts, a, b):
    return [Fraction(parts.key(a, b, float(end))) for end in range(2)]


@pytest.mark.parametrize("some", [False, True])
def test_chords_of_a_union_are_averages_and_their_error_is_charged(some):
    # Three roundings for each merge: a chain of them, against rational numbers.
    _, parts, alive = random_parts(1)
    singles = [x for x in range(COUNT) if x not in alive]
    exact = {c: keys(parts, singles[0], c) for c in alive}
    merged = singles[0]
    for depth, other in enumerate(singles[1:9], start=1):
        merged = parts.unite(merged, other, alive, some)
        for c in alive:
            own = keys(parts, other, c)
            exact[c] = [(depth * a + b) / (depth + 1) for a, b in zip(exact[c], own, strict=True)]
            assert keys(parts, merged, c) == keys(parts, c, merged)
            for key, truth in zip(keys(parts, merged, c), exact[c], strict=True):
                assert abs(key - truth) <= Fraction(3 * depth * KEY_UNIT) * truth


def test_some_chords_are_filled_and_others_kept():
    # The same place is filled twice: for all clusters, then from another pair and for some of them.
    _, parts, alive = random_parts(2)
    p, q, r, s = [x for x in range(COUNT) if x not in alive][:4]
    node = parts.unite(r, s, list(range(COUNT)), False)
    nodes = range(node + 1)
    before = {(a, b): keys(parts, a, b) for a in nodes for b in nodes if a != b}
    parts.begin_again(True)
    assert parts.unite(p, q, alive, True) == node
    changed = {(a, b) for (a, b), key in before.items() if keys(parts, a, b) != key}
    assert changed == {pair for c in alive for pair in ((node, c), (c, node))}


@pytest.mark.parametrize("among", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_neighbours_and_doubtful_rivals_are_those_of_all_that_are_alive(share, among):
    for seed in range(30):
        rng, parts, alive = random_parts(seed)
        p, q = rng.choice(alive, 2, replace=False).tolist()
        factor, offset = parts.bars(0)
        others = [c for c in alive if c != p]
        nearest = min(others, key=lambda c: parts.key(p, c, share))
        assert parts.nearest(p, alive, share) == nearest
        bar, end_bar = (factor * parts.key(p, q, s) + offset for s in (share, 1.0))
        expected = {
            (row, c)
            for row in (p, q)
            for c in alive
            if c not in (p, q)
            and not (parts.key(row, c, share) > bar and parts.key(row, c, 1.0) > end_bar)
        }
        assert set(parts.doubts(p, q, alive, share, among)) == expected
