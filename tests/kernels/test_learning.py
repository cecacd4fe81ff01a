"""Kernels of learning against plain definitions."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune.deadline import TimeIsUp, until
from certune.kernels.learning import JointSteps, OwnedEnds, StepWeights, fullest_window


def owned(ends, owners):
    order = np.argsort(ends, kind="stable")
    return OwnedEnds(np.array(ends)[order], np.array(owners)[order])


def count_at(position, intervals, width, closed):
    """Number of owners whose interval of positions, in rationals, contains the position."""
    met = set()
    for entry, exit_, owner in intervals:
        start, stop = Fraction(entry) - Fraction(width), Fraction(exit_)
        if start < position < stop or (closed and position in (start, stop) and start <= stop):
            met.add(owner)
    return len(met)


# Binary fractions and thirds: sums that are exact and sums that are rounded.
numbers = st.integers(-12, 12).map(lambda k: k / 4) | st.integers(-9, 9).map(lambda k: k / 3)
widths = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0, 2 / 3])


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 4)), max_size=12), widths, st.booleans())
def test_the_fullest_window_meets_as_many_owners_as_any_position(intervals, width, closed):
    if closed:
        intervals = [(max(a, b), min(a, b), owner) for a, b, owner in intervals]
        intervals = [
            (a, b, owner) for a, b, owner in intervals if Fraction(a) - Fraction(width) <= b
        ]
    else:
        intervals = [(min(a, b), max(a, b), owner) for a, b, owner in intervals]
        intervals = [
            (a, b, owner) for a, b, owner in intervals if Fraction(a) - Fraction(width) < b
        ]
    entries = owned([a for a, _, _ in intervals], np.array([o for *_, o in intervals], dtype=int))
    exits = owned([b for _, b, _ in intervals], np.array([o for *_, o in intervals], dtype=int))
    count, place = fullest_window(entries, exits, 5, width, closed)
    ends = {Fraction(b) for _, b, _ in intervals}
    ends |= {Fraction(a) - Fraction(width) for a, _, _ in intervals}
    ends = sorted(ends)
    inner = [(a + b) / 2 for a, b in zip(ends, ends[1:], strict=False)]
    best = max((count_at(x, intervals, width, closed) for x in ends + inner), default=0)
    assert count == best
    if best == 0:
        assert math.isnan(place)
    elif closed:
        assert count_at(Fraction(place), intervals, width, closed) == best
    else:
        before = max(x for x in inner if x < Fraction(place))
        assert count_at(before, intervals, width, closed) == best


def test_no_discontinuities_fill_no_window():
    empty = OwnedEnds(np.empty(0), np.empty(0, dtype=np.int64))
    count, place = fullest_window(empty, empty, 0, 1.0, True)
    assert count == 0 and math.isnan(place)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (OwnedEnds([1.0, 0.0], [0, 0]), "sorted"),
        (OwnedEnds([math.nan, 0.0], [0, 0]), "sorted"),
        (OwnedEnds([0.0, 1.0], [0]), "one owner"),
        (OwnedEnds([0.0, 1.0], [0, 2]), "from 0 to n_owners"),
        (OwnedEnds([0.0, 1.0], [-1, 0]), "from 0 to n_owners"),
    ],
)
def test_windows_refuse_what_they_cannot_walk_along(entries, message):
    exits = OwnedEnds([0.0, 1.0], [0, 1])
    with pytest.raises(ValueError, match=message):
        fullest_window(entries, exits, 2, 1.0, True)
    with pytest.raises(TypeError):
        fullest_window(OwnedEnds([0.0], [0.5]), exits, 2, 1.0, True)
    with pytest.raises(TypeError):
        fullest_window(OwnedEnds([[0.0]], [0]), exits, 2, 1.0, True)


def test_windows_end_at_the_deadline():
    ends = OwnedEnds(np.arange(100.0), np.zeros(100, dtype=np.int64))
    with until(time.perf_counter()), pytest.raises(TimeIsUp):
        fullest_window(ends, ends, 1, 1.0, True)


@pytest.mark.parametrize(
    ("edges", "values", "message"),
    [
        ([0.5, 0.2], [0.0, 1.0, 0.0], "sorted"),
        ([-0.1], [0.0, 1.0], "in the interval"),
        ([math.nan], [0.0, 1.0], "numbers"),
        ([math.inf], [0.0, 1.0], "numbers"),
        ([0.5], [0.0, 1.0, 2.0], "one more value"),
        ([0.5], [0.0], "one more value"),
        ([0.5], [0.0, math.nan], "finite"),
    ],
)
def test_weights_refuse_what_is_no_step_function(edges, values, message):
    weights = StepWeights(0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=message):
        weights.add(edges, values)
    with pytest.raises(ValueError, match=message):
        weights.take_in(edges, values, values)
    assert weights.n_pieces == 1 and weights.mass == 1.0
    with pytest.raises(ValueError, match="finite"):
        StepWeights(0.0, math.inf, 1.0)
    with pytest.raises(TypeError):
        weights.add([[0.5]], [0.0, 1.0])


def random_steps(rng, n_functions=4, n_places=9):
    """Joint steps whose functions have a gap between every two of their pieces."""
    first = rng.integers(0, 5, n_functions)
    function, lower, upper, opening, complete = [], [], [], [], []
    known = [(v, v) for v in first.tolist()]
    for i in rng.integers(0, n_functions, n_places).tolist():
        value = int(rng.integers(0, 5))
        old = known[i][0]
        within = min(old, value), max(old, value) + int(rng.integers(0, 2))
        for new, sign in ((within, 1), ((value, value), -1)):
            function.append(i)
            lower.append(new[0] - known[i][0])
            upper.append(new[1] - known[i][1])
            opening.append(sign)
            complete.append(True)
            known[i] = new
    states = [[[v, v, 0] for v in first.tolist()]]
    for i, low, high, sign in zip(function, lower, upper, opening, strict=True):
        new = [list(part) for part in states[-1]]
        new[i] = [new[i][0] + low, new[i][1] + high, sign == 1]
        states.append(new)
    return JointSteps((first, first), function, (lower, upper), opening, complete), states


@pytest.mark.parametrize("seed", range(20))
def test_weighted_sums_are_those_of_the_states(seed):
    rng = np.random.default_rng(seed)
    steps, states = random_steps(rng)
    begins = np.arange(float(len(states)))
    is_setting = rng.random(len(states)) < 0.8
    is_setting[0] = True
    signs = rng.integers(-2, 3, (6, 4))
    lower, upper = steps.signed_suprema(is_setting, signs)
    for row, own in enumerate(signs.tolist()):
        sums = [
            (
                sum(w * part[0 if w > 0 else 1] for w, part in zip(own, state, strict=True)),
                sum(w * part[1 if w > 0 else 0] for w, part in zip(own, state, strict=True)),
            )
            for state, counts in zip(states, is_setting, strict=True)
            if counts
        ]
        assert lower[row] == max(s[0] for s in sums) and upper[row] == max(s[1] for s in sums)
    counts = rng.integers(0, 3, (6, 4))
    counts[:, 0] += 1
    optima = steps.weighted_optima(begins, float(len(states)), counts)
    hits = np.zeros((2, len(states)), dtype=int)
    for row, own in enumerate(counts.tolist()):
        sums = [
            [sum(w * part[k] for w, part in zip(own, state, strict=True)) for k in (0, 1)]
            for state in states
        ]
        decided = [
            not any(part[2] and w for w, part in zip(own, state, strict=True)) for state in states
        ]
        best = max(s[0] for s, known in zip(sums, decided, strict=True) if known)
        assert optima.values[row] == best
        start, stop = optima.starts[row], optima.stops[row]
        assert all(sums[k][0] >= best for k in range(int(start), int(stop)))
        hits += np.array([[s[0] >= best for s in sums], [s[1] >= best for s in sums]])
    np.testing.assert_array_equal([optima.hits_lower, optima.hits_upper], hits)


def test_joint_steps_refuse_arrays_that_do_not_fit():
    good = dict(first=([0], [0]), function=[0], steps=([1], [1]), opening=[1], complete=[True])
    steps = JointSteps(**good)
    for name, bad in [
        ("function", [1]),
        ("function", [-1]),
        ("first", ([0], [0, 0])),
        ("steps", ([1], [])),
        ("opening", [1, -1]),
        ("complete", []),
    ]:
        with pytest.raises(ValueError):
            JointSteps(**{**good, name: bad})
    with pytest.raises(ValueError):
        steps.signed_suprema([True, True], [[1, 1]])
    with pytest.raises(ValueError):
        steps.signed_suprema([True], [[1]])
    with pytest.raises(ValueError):
        steps.weighted_optima([0.0], 1.0, [[1]])
    with pytest.raises(TypeError):
        steps.signed_suprema([True, True], [1])
    assert steps.signed_suprema([True, True], np.empty((0, 1), dtype=int))[0].size == 0
