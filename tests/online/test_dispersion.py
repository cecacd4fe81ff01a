"""D(T, width) against brute force in rational numbers, and what the theorems say about it."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.online.dispersion import Verdict
from certune.online.streams import halving, smoothed_clustering
from certune.pfaffian.bounds.dispersion import discontinuity_deviation
from certune.testing import StepFamily, StepInstance


def step_function(gaps, values=None):
    """A function on [0, 1] that changes in the given gaps."""
    opens, closes = [low for low, _ in gaps], [high for _, high in gaps]
    values = [i % 2 for i in range(len(gaps) + 1)] if values is None else values
    pairs = list(zip(values, values[1:], strict=False))
    return ct.PiecewiseFunction.from_values(
        [0, *closes], [*opens, 1], values, [min(p) for p in pairs], [max(p) for p in pairs]
    )


def at_point(*places):
    return step_function([(math.nextafter(x, 0), x) for x in places])


def brute_force(functions, width):
    """Count over all window positions that matter, in rational numbers.

    A window [x, x + width] contains a change for certain if it contains the closed gap, and
    possibly if it meets the open gap. The counts only change at x = ends of gaps, or ends minus
    the width; between two such places one x stands for all.
    """
    width = Fraction(width)
    ends = [Fraction(float(e)) for f in functions for row in f.breakpoints for e in row]
    places = sorted({e for e in ends} | {e - width for e in ends})
    if not places:
        return 0, 0
    tries = places + [(a + b) / 2 for a, b in zip(places, places[1:], strict=False)]
    at_least = at_most = 0
    for x in tries:
        sure = maybe = 0
        for function in functions:
            gaps = [(Fraction(float(a)), Fraction(float(b))) for a, b in function.breakpoints]
            changes = function.numerators[1:] != function.numerators[:-1]
            sure += any(
                c and x <= a and b <= x + width
                for (a, b), c in zip(gaps, changes.tolist(), strict=True)
            )
            maybe += any(x < b and a < x + width for a, b in gaps)
        at_least, at_most = max(at_least, sure), max(at_most, maybe)
    return at_least, at_most


numbers = st.integers(0, 32).map(lambda i: i / 32)
gap_lists = st.lists(numbers, min_size=0, max_size=3, unique=True).map(
    lambda xs: [(x, x + 1 / 64) for x in sorted(xs) if x < 31 / 32]
)


@given(st.lists(gap_lists, min_size=1, max_size=6), numbers)
@settings(max_examples=150, deadline=None)
def test_counts_equal_brute_force(rounds, width):
    functions = [step_function(gaps) for gaps in rounds]
    measured = ct.dispersion(functions, widths=[width])
    expected = brute_force(functions, width)
    assert (measured.at_least[-1, 0], measured.at_most[-1, 0]) == expected


def test_counts_equal_brute_force_on_linkage():
    base = np.ones((8, 8))
    stream = smoothed_clustering(base, np.arange(8) % 2, 1.0, 0)
    family = ct.Linkage("power-mean", alpha=(-5, 5))
    duals = [family.dual(instance) for instance in islice(stream, 20)]
    widths = [1e-6, 0.3, 2.0]
    measured = ct.dispersion(duals, widths)
    assert measured.is_exact
    for column, width in enumerate(widths):
        for size, counts in zip(measured.sizes.tolist(), measured.at_most, strict=True):
            assert brute_force(duals[:size], width)[1] == counts[column]


def test_a_window_is_decided_without_rounding():
    # 0.1 + 0.2 rounds up to 0.30000000000000004: in rational numbers a window of width 0.2 that
    # starts at 0.1 ends before it.
    functions = [at_point(0.1), at_point(0.30000000000000004)]
    for width in (0.2, math.nextafter(0.2, 1), 0.19):
        measured = ct.dispersion(functions, widths=[width])
        assert (measured.at_least[0, 0], measured.at_most[0, 0]) == brute_force(functions, width)


def test_one_function_counts_once_and_the_worst_window_is_reported():
    functions = [at_point(0.25, 0.26, 0.27), at_point(0.5), at_point(0.501), at_point(0.9)]
    measured = ct.dispersion(functions, widths=[0.05])
    [window] = measured.windows
    assert window.at_most == window.at_least == 2
    assert window.low <= 0.5 and window.high >= 0.501
    assert "2 of 4 functions" in measured.reason


def test_open_gaps_give_bounds():
    wide = [step_function([(0.2, 0.6)]), step_function([(0.4, 0.8)])]
    measured = ct.dispersion(wide, widths=[0.1, 0.5])
    assert measured.at_least.tolist() == [[0, 1]] and measured.at_most.tolist() == [[2, 2]]
    assert not measured.is_exact
    maybe = step_function([(0.5, 0.5 + 1e-9)], values=[1, 1])
    flat = ct.PiecewiseFunction([0, 0.6], [0.5, 1], [1, 1], [0], [1], 1)
    assert maybe.n_pieces == 1
    assert ct.dispersion([flat], widths=[0.3]).at_least.tolist() == [[0]]
    assert ct.dispersion([flat], widths=[0.3]).at_most.tolist() == [[1]]


def test_windows_on_a_logarithmic_scale():
    places = [0.01, 0.02, 0.05, 0.5]
    functions = [
        ct.PiecewiseFunction([0.001, x], [math.nextafter(x, 0), 1], [0, 1], [0], [1], 1)
        for x in places
    ]
    widths = [math.log(1.9), math.log(2.1), math.log(5.1), math.log(51)]
    measured = ct.dispersion(functions, widths, scale="log")
    assert measured.at_most.tolist() == measured.at_least.tolist() == [[1, 2, 3, 4]]
    window = measured.windows[1]
    assert window.low <= math.log(0.01) and math.log(0.02) <= window.high
    for scale, low in (("log", 0.0), ("wide", 0.5)):
        with pytest.raises(ct.ParameterError, match="scale must be one of"):
            ct.dispersion([ct.PiecewiseFunction.constant(low, 1, 1)], scale=scale)


def test_several_segments_count_by_the_worst():
    quiet, busy = [at_point(0.1), at_point(0.9)], [at_point(0.5), at_point(0.5)]
    measured = ct.dispersion([quiet, busy], widths=[0.01])
    assert measured.at_most.tolist() == [[2]] and measured.lines == (1,)


def uniform_steps(n_functions, rng, n_each=1):
    return [at_point(*np.sort(rng.uniform(0.01, 0.99, n_each))) for _ in range(n_functions)]


def test_verdicts():
    rng = np.random.default_rng(0)
    spread = ct.dispersion(uniform_steps(400, rng))
    assert spread.verdict is Verdict.DISPERSED and 0.3 < spread.exponent < 0.65
    assert ct.dispersion(uniform_steps(300, rng, n_each=12)).verdict is Verdict.DISPERSED
    same_place = [at_point(0.5, x) for x in rng.uniform(0.51, 0.99, 200)]
    piled = ct.dispersion(same_place)
    assert piled.verdict is Verdict.CONCENTRATED and piled.windows[0].at_least == 200
    family = StepFamily()
    halves = halving(0, 1, lambda x, below: StepInstance((x,), (below, not below)), 1)
    undispersed = ct.dispersion([family.dual(instance) for instance in islice(halves, 45)])
    assert undispersed.verdict is Verdict.CONCENTRATED
    few = ct.dispersion(uniform_steps(5, rng))
    assert few.verdict is Verdict.TOO_FEW and "5 functions" in str(few)
    constant = ct.dispersion([ct.PiecewiseFunction.constant(0, 1, 1)] * 50)
    assert constant.verdict is Verdict.DISPERSED and "none of the 50" in constant.reason


def test_fit_recovers_its_form():
    # 3 functions change in every window of width 1/100: D = 300 * width * T is the spread part.
    rng = np.random.default_rng(3)
    measured = ct.dispersion(uniform_steps(2000, rng), widths=[0.25, 0.5])
    # One uniform change each: D = width * T + deviation.
    assert measured.rate == pytest.approx(1.0, abs=0.15)


def test_deviation_shrinks_as_the_theorem_says():
    # One change each, uniform on [0.01, 0.99]: E D(T, window of width w) = T w / 0.98 inside.
    rng, width, sizes = np.random.default_rng(4), 0.1, [50, 200, 800]
    means = []
    for size in sizes:
        excess = [
            ct.dispersion(uniform_steps(size, rng), widths=[width]).at_most[-1, 0]
            - size * width / 0.98
            for _ in range(8)
        ]
        assert max(excess) <= discontinuity_deviation(size, 1).value
        means.append(np.mean(excess) / size)
    slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
    assert -0.65 < slope < -0.35


def test_product_linkage_flips_everywhere_at_once_where_its_exponents_sum_to_zero():
    # The order of all clusters turns round at alpha_0 = -1: no perturbation disperses that.
    base = np.ones((2, 8, 8))
    stream = smoothed_clustering(base, np.arange(8) % 2, 1.0, 0)
    instances = list(islice(stream, 150))
    across = ct.Linkage("product", alpha=[(-2, 2), 1.0])
    beside = ct.Linkage("product", alpha=[(0.5, 4), 1.0])
    flipped = ct.dispersion([across.dual(instance) for instance in instances])
    assert flipped.verdict is Verdict.CONCENTRATED
    assert flipped.windows[0].low <= -1 <= flipped.windows[0].high
    assert ct.dispersion([beside.dual(i) for i in instances]).verdict is Verdict.DISPERSED


@pytest.mark.parametrize(
    ("duals", "message"),
    [
        ([], "at least one function"),
        ([[at_point(0.5)], []], r"\[1, 0\] functions"),
        ([at_point(0.5), "no"], "got 'no'"),
        ([at_point(0.5), ct.PiecewiseFunction.constant(0, 2, 1)], "one domain"),
    ],
)
def test_bad_functions_are_refused(duals, message):
    with pytest.raises(ct.InputError, match=message):
        ct.dispersion(duals)


@pytest.mark.parametrize("widths", [[], [-1.0], [math.nan], "wide"])
def test_bad_widths_are_refused(widths):
    with pytest.raises(ct.ParameterError, match="widths must be"):
        ct.dispersion([at_point(0.5)], widths=widths)


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_a_pile_under_an_even_background_is_found(share):
    # D(T, c/sqrt(T)) is dominated by the background; the pile grows like share * T.
    rng = np.random.default_rng(1)
    piled = [at_point(0.5 if rng.random() < share else rng.uniform(0.01, 0.99)) for _ in range(900)]
    measured = ct.dispersion(piled, widths=[0.01])
    n_piled = sum(function.breakpoints[0, 1] == 0.5 for function in piled)
    assert measured.exponent < 0.7 and measured.verdict is Verdict.CONCENTRATED
    assert n_piled <= measured.pile.at_least == measured.pile.at_most <= n_piled + 2
    assert measured.pile.low <= 0.5 <= measured.pile.high
    assert f"{measured.pile.at_most} change within" in measured.reason
    assert "grows like" in str(measured)


def test_a_pile_of_the_order_of_a_root_is_allowed():
    # Function t^2 changes at 0.5 for every t: sqrt(T) of T functions, as dispersion allows.
    rng = np.random.default_rng(2)
    roots = {t * t for t in range(31)}
    functions = [at_point(0.5 if t in roots else rng.uniform(0.01, 0.99)) for t in range(900)]
    measured = ct.dispersion(functions, widths=[0.01])
    assert measured.pile.at_most >= 30 and measured.verdict is Verdict.DISPERSED
    assert 0.4 < measured.pile_exponent < 0.6 and "change within" not in measured.reason


def test_a_gap_as_wide_as_the_window_is_inside():
    gap = step_function([(0.25, 0.5)])
    measured = ct.dispersion([gap], widths=[math.nextafter(0.25, 0), 0.25])
    assert measured.at_least.tolist() == [[0, 1]] and measured.at_most.tolist() == [[1, 1]]
    # 0.1 + 0.2 rounds to this end, which lies beyond the rational sum.
    rounded = step_function([(0.1, 0.30000000000000004)])
    assert ct.dispersion([rounded], widths=[0.2]).at_least.tolist() == [[0]]


def test_a_logarithmic_scale_needs_every_line_to_be_positive():
    positive, negative = (ct.PiecewiseFunction.constant(*ends, 1) for ends in ((1, 10), (-1, 1)))
    with pytest.raises(ct.ParameterError, match=r"\[1.0, 10.0\], \[-1.0, 1.0\]"):
        ct.dispersion([[positive], [negative]], scale="log")


@pytest.mark.parametrize(
    "given", [None, 3, "text", at_point(0.5), [StepInstance((0.5,), (0, 1))], {"a": at_point(0.5)},
              [[at_point(0.5)], 3], [at_point(0.5), None]]
)  # fmt: skip
def test_anything_but_functions_is_refused(given):
    with pytest.raises(ct.InputError, match="expected|sequence of functions"):
        ct.dispersion(given)


def test_what_is_no_form_or_no_place_for_a_figure_is_refused(tmp_path):
    measured = ct.dispersion([at_point(0.5)])
    with pytest.raises(ct.ParameterError, match="function of T and width"):
        measured.compare(None)
    for path in (tmp_path / "nowhere" / "a.png", tmp_path / "a.xyz", 3.5):
        with pytest.raises(ct.InputError, match="cannot write the figure"):
            measured.plot(path)
