"""Many weighted sums of the same step functions: their maxima, and where they lie.

All functions share one list of events, ordered along the parameter: event e changes what is known
of function ``function[e]`` by ``step_lower[e]`` and ``step_upper[e]``, and opens (+1) or closes
(-1) a gap of it. ``complete[e]`` says that no further event belongs to the same place; then a new
state begins at ``begins[state]``. Before the first event is state 0. Values are integers, so that
a running sum has no rounding error; the caller sees to it that none overflows.

A draw costs one pass over the events, whatever the number of functions.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def signed_suprema(
    first_lower, first_upper, function, step_lower, step_upper, complete, is_setting, weights
):
    """Bounds of the supremum of ``sum_i weights[draw, i] u_i`` over the parameter, for each draw.

    Weights are integers of any sign. In a state in which u_i is only known to lie in an interval,
    the sum lies between the sums of the respective ends. States in which there is no setting do
    not count.
    """
    n_draws, n_functions = weights.shape
    lower_bounds = np.empty(n_draws, dtype=np.int64)
    upper_bounds = np.empty(n_draws, dtype=np.int64)
    for draw in range(n_draws):
        lower, upper = np.int64(0), np.int64(0)
        for i in range(n_functions):
            weight = weights[draw, i]
            lower += weight * (first_lower[i] if weight > 0 else first_upper[i])
            upper += weight * (first_upper[i] if weight > 0 else first_lower[i])
        best_lower, best_upper, state = lower, upper, 0
        for event in range(function.size):
            weight = weights[draw, function[event]]
            lower += weight * (step_lower[event] if weight > 0 else step_upper[event])
            upper += weight * (step_upper[event] if weight > 0 else step_lower[event])
            if complete[event]:
                state += 1
                if is_setting[state]:
                    best_lower = max(best_lower, lower)
                    best_upper = max(best_upper, upper)
        lower_bounds[draw], upper_bounds[draw] = best_lower, best_upper
    return lower_bounds, upper_bounds


@njit(cache=True, nogil=True)
def _weighted_states(
    first_lower, first_upper, function, step_lower, step_upper, opening, complete, weights, out
):
    """Write bounds, number of open gaps and number of changes so far of every state to ``out``."""
    lower, upper, n_open, n_changes, state = np.int64(0), np.int64(0), np.int64(0), np.int64(0), 0
    for i in range(weights.size):
        lower += weights[i] * first_lower[i]
        upper += weights[i] * first_upper[i]
    out[0, 0], out[1, 0], out[2, 0], out[3, 0] = lower, upper, 0, 0
    for event in range(function.size):
        weight = weights[function[event]]
        if weight != 0:
            lower += weight * step_lower[event]
            upper += weight * step_upper[event]
            n_open += opening[event]
            n_changes += 1
        if complete[event]:
            state += 1
            out[0, state], out[1, state] = lower, upper
            out[2, state], out[3, state] = n_open, n_changes


@njit(cache=True, nogil=True)
def weighted_optima(
    first_lower,
    first_upper,
    function,
    step_lower,
    step_upper,
    opening,
    complete,
    begins,
    high,
    weights,
    hits_lower,
    hits_upper,
):
    """Best decided value and widest interval on which it is attained, for each row of weights.

    Weights are integers >= 0. Also adds 1 to ``hits_lower[state]`` for each row in which the
    state certainly attains the best decided value, and to ``hits_upper[state]`` if it may.
    Returns the value, the ends of the interval, and the number of pieces of the sum that may
    attain the value: if values are rounded, the answer is certain only if there is just one.
    """
    n_rows, n_states = weights.shape[0], begins.size
    values = np.empty(n_rows, dtype=np.int64)
    starts, stops = np.empty(n_rows), np.empty(n_rows)
    n_candidates = np.empty(n_rows, dtype=np.int64)
    states = np.empty((4, n_states), dtype=np.int64)
    for row in range(n_rows):
        _weighted_states(
            first_lower,
            first_upper,
            function,
            step_lower,
            step_upper,
            opening,
            complete,
            weights[row],
            states,
        )
        level = states[0, 0]
        for state in range(n_states):
            if states[2, state] == 0 and states[0, state] > level:
                level = states[0, state]
        widest, candidates, inside, last = -1.0, 0, False, -1
        start, stop = begins[0], begins[0]
        for state in range(n_states + 1):
            reached = state < n_states and states[0, state] >= level
            if reached and states[2, state] == 0:
                if not inside:
                    start, inside = begins[state], True
                stop = begins[state + 1] if state + 1 < n_states else high
            elif not reached and inside:
                if stop - start > widest:
                    widest, starts[row], stops[row] = stop - start, start, stop
                inside = False
            possible = state < n_states and states[1, state] >= level
            if possible and states[2, state] == 0 and states[3, state] != last:
                candidates, last = candidates + 1, states[3, state]
            if reached:
                hits_lower[state] += 1
            if possible:
                hits_upper[state] += 1
        values[row], n_candidates[row] = level, candidates
    return values, starts, stops, n_candidates
