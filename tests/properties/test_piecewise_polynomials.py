"""Piecewise polynomials against exact arithmetic.

The oracle knows the polynomials as such: it evaluates them with fractions, or with balls of 200
bits where the scale is logarithmic, and takes as the true function the polynomial shifted by a
share of the stated error. Everything that a function claims must hold for that one.
"""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certune.dual import PiecewiseFunction, PiecewisePolynomial, mean, sum_of
from certune.errors import InputError, ParameterError, UndecidedError

GRID = [0.25, 0.5, 1.0, 1.0 + 2**-30, 1.5, 3.0, 40.0]
MORE = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in itertools.pairwise(GRID)]))
# Dyadic numbers, so that the ends of a polynomial are exact floats.
NUMBERS = st.integers(-256, 256).map(lambda number: number / 64)
examples = settings(max_examples=60, deadline=None)
SHIFTS = st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)])


@st.composite
def polynomials(draw, scale=None):
    """A function whose pieces, gaps and touching ends lie on the grid."""
    ends = sorted(draw(st.sets(st.integers(1, len(GRID) - 2), max_size=4)))
    starts, stops = [GRID[0]], []
    for place in ends:
        gap = draw(st.booleans()) and place - 1 > 0 and GRID[place - 1] > starts[-1]
        stops.append(GRID[place - 1] if gap else GRID[place])
        starts.append(GRID[place])
    stops.append(GRID[-1])
    rows = [draw(st.lists(NUMBERS, min_size=1, max_size=7)) for _ in starts]
    matrix = np.zeros((len(rows), 7))
    for row, numbers in enumerate(rows):
        matrix[row, : len(numbers)] = numbers
        if row and starts[row] == stops[row - 1]:
            # Pieces that touch both tell the value there: the function is continuous.
            signs = (-1.0) ** np.arange(7)
            matrix[row, 0] += matrix[row - 1].sum() - matrix[row] @ signs
    errors = [draw(st.sampled_from([0.0, 1e-12, 1e-3]))] * len(starts)
    bounds = [sorted((draw(NUMBERS), draw(NUMBERS))) for _ in ends]
    scale = draw(st.sampled_from(["linear", "log"])) if scale is None else scale
    lower, upper = [low for low, _ in bounds], [high for _, high in bounds]
    return PiecewisePolynomial(starts, stops, matrix, errors, lower, upper, "x", scale)


def same_scale(count):
    return st.sampled_from(["linear", "log"]).flatmap(
        lambda scale: st.lists(polynomials(scale), min_size=1, max_size=count)
    )


def truth(f, t, shift):
    """The exact value at t of the polynomial plus shift times its error; None in a gap."""
    for row, (start, stop) in enumerate(zip(f.starts.tolist(), f.stops.tolist(), strict=True)):
        if start <= t <= stop and (row == f.n_pieces - 1 or t < f.starts[row + 1]):
            break
    else:
        return None
    return value_of_row(f, row, t) + shift * Fraction(float(f.errors[row]))


def value_of_row(f, row, t):
    start, stop = Fraction(float(f.starts[row])), Fraction(float(f.stops[row]))
    coefficients = [Fraction(c) for c in f.coefficients[row].tolist()]
    if start == stop:
        return coefficients[0]
    if f.scale == "linear":
        s = 2 * (Fraction(t) - start) / (stop - start) - 1
        return clenshaw(coefficients, s)
    with flint.ctx.workprec(200):
        log = [flint.arb(flint.fmpq(x.numerator, x.denominator)).log() for x in (start, stop)]
        place = flint.arb(t).log()
        s = 2 * (place - log[0]) / (log[1] - log[0]) - 1
        value = clenshaw(
            [flint.arb(flint.fmpq(c.numerator, c.denominator)) for c in coefficients], s
        )
        return fraction_of(value.mid())


def fraction_of(ball):
    man, exp = ball.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def clenshaw(coefficients, s):
    ahead = after = 0 * s
    for c in reversed(coefficients[1:]):
        ahead, after = c + 2 * s * ahead - after, ahead
    return coefficients[0] + s * ahead - after


def points_of(f):
    return MORE[(MORE >= f.low) & (MORE <= f.high)].tolist()


@examples
@given(polynomials(), SHIFTS)
def test_enclosures_contain_the_function(f, shift):
    f._check()
    for t in points_of(f):
        true = truth(f, t, shift)
        lower, upper = f.enclose_exact(t)
        if true is None:
            assert math.isnan(f(t)) and lower <= upper
        else:
            assert lower <= true <= upper
            assert abs(Fraction(f(t)) - true) <= upper - lower


@examples
@given(same_scale(4), SHIFTS)
def test_a_sum_encloses_the_sum(functions, shift):
    total, average = sum_of(functions), mean(functions)
    total._check()
    for t in points_of(total):
        parts = [truth(f, t, shift) for f in functions]
        lower, upper = total.enclose_exact(t)
        if None in parts:
            bounds = [f.enclose_exact(t) for f in functions]
            assert lower <= sum(b[0] for b in bounds) and sum(b[1] for b in bounds) <= upper
            continue
        assert lower <= sum(parts) <= upper
        if not math.isnan(average(t)):
            lower, upper = average.enclose_exact(t)
            assert lower <= sum(parts) / len(parts) <= upper


@examples
@given(same_scale(4))
def test_the_error_of_a_sum_is_little_more_than_the_errors(functions):
    total = sum_of(functions)
    allowed = sum(f.error for f in functions) * (1 + 1e-6) + 1e-10
    assert total.error <= allowed


@examples
@given(polynomials(), SHIFTS)
def test_maximum(f, shift):
    lower, upper = f.max_exact, f.upper_bound_exact
    assert truth(f, f.best_point, shift) >= lower
    region = f.argmax()
    assert any(low <= f.best_point <= high for low, high in region)
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(region))
    for t in points_of(f):
        true = truth(f, t, shift)
        if true is None:
            true = f.enclose_exact(t)[1]
        assert true <= upper
        assert true < lower or any(low <= t <= high for low, high in region)
    gaps = f.gap_upper[np.isfinite(f.gap_upper)].tolist()
    if all(bound <= lower for bound in gaps):
        assert upper - lower <= 8 * Fraction(f.error) + Fraction(1, 10**9)


@examples
@given(polynomials(), st.sampled_from([0.0, 1e-6, 0.1, 3.0]), SHIFTS)
def test_the_plateau_is_nearly_optimal(f, tolerance, shift):
    low, high = f.widest_plateau(tolerance)
    assert f.low <= low <= high <= f.high
    level = f.max_exact - Fraction(tolerance)
    for t in {low, high, 0.5 * low + 0.5 * high, *(t for t in points_of(f) if low <= t <= high)}:
        true = truth(f, t, shift)
        assert (f.enclose_exact(t)[0] if true is None else true) >= level


@examples
@given(polynomials(), NUMBERS, st.floats(0.01, 4), SHIFTS)
def test_clip(f, low, width, shift):
    clipped = f.clip(low, low + width)
    clipped._check()
    assert (clipped.low, clipped.high) == (f.low, f.high)
    for t in points_of(f):
        true = truth(f, t, shift)
        if true is not None:
            lower, upper = clipped.enclose_exact(t)
            assert lower <= min(max(true, Fraction(low)), Fraction(low + width)) <= upper
    assert clipped.error <= 3 * f.error + 1e-7


@examples
@given(polynomials(), st.integers(0, MORE.size - 1), st.integers(0, MORE.size - 1), SHIFTS)
def test_restrict(f, first, last, shift):
    low, high = sorted((float(MORE[first]), float(MORE[last])))
    if math.isnan(f(low)) or math.isnan(f(high)):
        with pytest.raises(UndecidedError, match="cannot be cut"):
            f.restrict(low, high)
        return
    part = f.restrict(low, high)
    part._check()
    assert (part.low, part.high) == (low, high)
    for t in points_of(part):
        true = truth(f, t, shift)
        lower, upper = part.enclose_exact(t)
        assert true is None or t == high or lower <= true <= upper


@examples
@given(polynomials("linear"), SHIFTS)
def test_integral_of_a_linear_scale(f, shift):
    lower, upper = f.integral()
    exact_low = exact_high = Fraction(0)
    for row in range(f.n_pieces):
        half = (Fraction(float(f.stops[row])) - Fraction(float(f.starts[row]))) / 2
        terms = [
            Fraction(c) * Fraction(2, 1 - k * k)
            for k, c in enumerate(f.coefficients[row].tolist())
            if k % 2 == 0
        ]
        piece = half * (sum(terms) + 2 * shift * Fraction(float(f.errors[row])))
        exact_low, exact_high = exact_low + piece, exact_high + piece
    for gap, (stop, start) in enumerate(f.breakpoints.tolist()):
        if stop < start:
            width = Fraction(start) - Fraction(stop)
            exact_low += width * Fraction(float(f.gap_lower[gap]))
            exact_high += width * Fraction(float(f.gap_upper[gap]))
    assert Fraction(lower) <= exact_low <= exact_high <= Fraction(upper)


def test_integral_of_a_logarithmic_scale():
    # The integral of log t over [1, e^2] is [t log t - t] = e^2 + 1; log t = 1 + s there.
    high = math.exp(2)
    f = PiecewisePolynomial([1.0], [high], [[1.0, 1.0]], [0.0], [], [], scale="log")
    lower, upper = f.integral()
    assert lower <= math.exp(2) + 1 <= upper and upper - lower < 1e-11


@examples
@given(polynomials(), SHIFTS, st.sampled_from([-2, Fraction(1, 3), 0.1, 0]))
def test_products_with_numbers(f, shift, factor):
    product = factor * f
    for t in points_of(f):
        true = truth(f, t, shift)
        lower, upper = product.enclose_exact(t)
        assert true is None or lower <= Fraction(factor) * true <= upper


@examples
@given(polynomials())
def test_storage(f):
    again = PiecewisePolynomial.from_arrays(f.to_arrays())
    assert again == f and again.name == f.name and hash(again) == hash(f)
    assert pickle.loads(pickle.dumps(f)) == f
    assert all(array.dtype != object for array in f.to_arrays().values())


STEP = PiecewiseFunction([0.25, 2.0], [1.75, 40.0], [1, 2], [1], [2], 3, name="x")


@examples
@given(polynomials(), SHIFTS)
def test_a_piecewise_constant_summand(f, shift):
    for total, sign in ((f + STEP, 1), (STEP + f, 1), (f - STEP, -1), (-(STEP - f), -1)):
        for t in points_of(f):
            true, step = truth(f, t, shift), STEP.enclose_exact(t)
            lower, upper = total.enclose_exact(t)
            if true is not None:
                ends = [true + sign * end for end in step]
                assert lower <= min(ends) and max(ends) <= upper


def test_constants_stay_exact():
    assert isinstance(sum_of([STEP, STEP]), PiecewiseFunction)
    f = PiecewisePolynomial.from_constants(STEP)
    assert f.enclose_exact(0.5)[0] <= Fraction(1, 3) <= f.enclose_exact(0.5)[1]
    assert f.breakpoints.tolist() == STEP.breakpoints.tolist()


def test_a_point_between_two_gaps():
    points = PiecewiseFunction([1, 1.5, 2], [1, 1.5, 2], [0, 1, 0], [0, 0], [1, 1], 1)
    line = PiecewisePolynomial([1], [2], [[0.0, 1.0]], [0.0], [], [])
    total = points + line
    assert (total.low, total.high) == (1.0, 2.0)
    assert total.enclose(1.0)[0] <= -1.0 <= total.enclose(1.0)[1] and math.isnan(total(1.5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 2]}, "m starts"),
        ({"errors": [-1.0]}, "errors finite and >= 0"),
        ({"coefficients": [[np.nan]]}, "must be finite"),
        ({"coefficients": [1.0]}, "2 dimension"),
        ({"coefficients": "no"}, "must be numbers"),
        ({"stops": [-1.0]}, "in order"),
        ({"scale": "cubic"}, "scale must be one of"),
        ({"scale": "log"}, "positive domain"),
    ],
)
def test_bad_pieces_are_refused(change, message):
    fields = {
        "starts": [0.0], "stops": [1.0], "coefficients": [[1.0]], "errors": [0.0],
        "gap_lower": [], "gap_upper": [],
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        PiecewisePolynomial(**{**fields, **change})


def test_bad_gaps_and_points_are_refused():
    two = ([0.0, 2.0], [1.0, 3.0], [[1.0], [1.0]], [0.0, 0.0])
    with pytest.raises(InputError, match="finite gap_lower <= gap_upper"):
        PiecewisePolynomial(*two, [1.0], [0.0])
    with pytest.raises(InputError, match="single point needs a constant"):
        PiecewisePolynomial([0.0], [0.0], [[1.0, 1.0]], [0.0], [], [])
    with pytest.raises(InputError, match="must not touch"):
        PiecewisePolynomial([0.0, 1.0], [1.0, 1.0], [[1.0], [1.0]], [0.0, 0.0], [0.0], [0.0])


def test_misuse_is_explained():
    line = PiecewisePolynomial([1], [2], [[0.0, 1.0]], [0.0], [], [])
    with pytest.raises(ParameterError, match="cannot be added; give all one scale"):
        line + PiecewisePolynomial([1], [2], [[0.0, 1.0]], [0.0], [], [], scale="log")
    with pytest.raises(ParameterError, match="same domain"):
        line + PiecewisePolynomial([1], [3], [[0.0, 1.0]], [0.0], [], [])
    with pytest.raises(ParameterError, match="must lie in the domain"):
        line(3.0)
    with pytest.raises(ParameterError, match="finite lower < upper"):
        line.clip(1.0, 1.0)
    with pytest.raises(InputError, match="needs the arrays"):
        PiecewisePolynomial.from_arrays({"starts": np.zeros(1)})
    with pytest.raises(TypeError):
        line + 1


def test_check_finds_a_writeable_array():
    line = PiecewisePolynomial([1], [2], [[0.0, 1.0]], [0.0], [], [])
    line.coefficients.setflags(write=True)
    with pytest.raises(AssertionError, match="coefficients is writeable"):
        line._check()
