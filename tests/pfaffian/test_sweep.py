"""Programs along a line: brackets of changes, ties, poles, identical zeros."""

import math
from fractions import Fraction

import pytest

from certune.errors import CertuneError, InputError
from certune.pfaffian import constant, exp, log, parameter, program, sqrt
from certune.pfaffian.programs.sweep import sweep
from certune.pfaffian.signs.on_line import Line

t = parameter("t")


def cells_of(node, low, high):
    return Line("t").sign_map(node, low, high).cells


@pytest.mark.parametrize(
    ("node", "low", "high", "roots"),
    [
        (t * t - 2, -3.0, 3.0, [-math.sqrt(2), math.sqrt(2)]),
        (exp(t) - 3, 0.0, 2.0, [math.log(3)]),
        (exp(t) + exp(-t) - 3, -2.0, 2.0, [-math.acosh(1.5), math.acosh(1.5)]),
        (log(t) - 1 / t, 0.5, 4.0, [1.763222834351896]),  # the fixed point of e^(1/t)
        ((t - 1) * (t - 1 - Fraction(1, 10**6)), 0.0, 2.0, [1.0, 1.000001]),
        (t**3 - t, -2.0, 2.0, [-1.0, 0.0, 1.0]),
    ],
    ids=str,
)
def test_roots_are_bracketed_between_certain_signs(node, low, high, roots):
    cells = cells_of(node, low, high)
    brackets = [cell for cell in cells if cell.sign is None]
    assert len(brackets) == len(roots)
    for bracket, root in zip(brackets, roots, strict=True):
        assert bracket.low <= root <= bracket.high or bracket.high - bracket.low < 1e-9
        assert bracket.high - bracket.low <= 1e-9
        assert abs(0.5 * (bracket.low + bracket.high) - root) <= 1e-9
    for cell in cells:
        if cell.sign is not None:
            middle = Fraction(cell.low) / 2 + Fraction(cell.high) / 2
            for point in (middle, Fraction(cell.low), Fraction(cell.high)):
                assert node.sign({"t": point}) == cell.sign


def test_an_exact_root_is_known():
    (bracket,) = [cell for cell in cells_of(2**t - 2, 0.0, 3.0) if cell.sign is None]
    assert bracket.root == 1.0
    assert (bracket.low, bracket.high) == (math.nextafter(1, 0), math.nextafter(1, 2))


def test_a_double_root_is_narrow_and_open():
    (bracket,) = [
        cell for cell in cells_of((t - Fraction(1, 3)) ** 2, 0.0, 1.0) if cell.sign is None
    ]
    assert bracket.low <= 1 / 3 <= bracket.high
    assert bracket.high - bracket.low < 1e-6


def test_zero_everywhere_is_recognised():
    assert [cell.sign for cell in cells_of(exp(2 * t) - exp(t) * exp(t), 0.0, 1.0)] == [0]


def test_a_pole_is_a_bracket():
    signs = [cell.sign for cell in cells_of(1 / (t - Fraction(1, 3)), 0.0, 1.0)]
    assert signs == [-1, None, 1]


def test_outside_of_the_domain_nothing_is_claimed():
    cells = cells_of(log(t) + 1, -1.0, 1.0)
    assert cells[0].sign is None and cells[0].high < 1e-9
    assert cells[-1].sign == 1


def run(function, low=0.0, high=1.0):
    return sweep(function, "t", low, high)


def levels(found):
    """The values from left to right, repetitions left out."""
    values = [piece.value.value for piece in found.pieces]
    return [v for i, v in enumerate(values) if i == 0 or v != values[i - 1]]


def test_pieces_cover_the_interval_with_the_values_of_the_program():
    def steps(x):
        return sum(1 for k in range(1, 8) if exp(x) >= Fraction(k, 3))

    found = run(steps)
    assert levels(found) == [3, 4, 5, 6, 7]
    assert found.pieces[0].start == 0.0 and found.pieces[-1].stop == 1.0
    plain = program(lambda _, p: steps(p["t"]))
    for piece in found.pieces:
        for x in (piece.start, piece.stop, (Fraction(piece.start) + Fraction(piece.stop)) / 2):
            assert plain(None, {"t": x}) == piece.value.value
    for left, right in zip(found.pieces, found.pieces[1:], strict=False):
        assert 0 < right.start - left.stop < 1e-9


def test_values_at_exact_ties_are_found():
    def tie(x):
        return 2 if x == Fraction(1, 2) else 1 if x > Fraction(1, 2) else 0

    found = run(tie)
    assert [(p.start, p.stop, p.value.value) for p in found.pieces] == [
        (0.0, math.nextafter(0.5, 0), 0),
        (0.5, 0.5, 2),
        (math.nextafter(0.5, 1), 1.0, 1),
    ]
    # between the floats on both sides of the tie the value is known
    assert [[v.value for v in gap] for gap in found.gaps] == [[0], [1]]


def test_an_irrational_tie_is_among_the_values_of_its_gap():
    def tie(x):
        return 2 if x * x * 2 == 1 else 1 if x * x * 2 > 1 else 0

    (gap,) = run(tie).gaps
    assert {value.value for value in gap} == {0, 1, 2}


def test_changes_that_coincide_are_followed_in_all_combinations():
    third = Fraction(1, 3)

    def two(x):
        return (1 if x >= third else 0) + (2 if exp(x) >= exp(third) else 0)

    found = run(two)
    assert [p.value.value for p in found.pieces] == [0, 3]
    (gap,) = found.gaps
    assert {0, 3} <= {value.value for value in gap}


def test_guards_of_the_domain_are_respected():
    def guarded(x):
        if x <= 0:
            return 0
        return 1 if log(x) >= -1 else 2

    found = run(guarded, -1.0, 1.0)
    assert levels(found) == [0, 2, 1]


def test_too_many_pieces_are_an_error():
    with pytest.raises(CertuneError, match="more than 3 pieces"):
        sweep(
            lambda x: sum(1 for k in range(9) if 9 * x >= k + Fraction(1, 3)),
            "t",
            0.0,
            1.0,
            limit=3,
        )


def test_values_that_are_functions_are_kept():
    found = run(lambda x: sqrt(x + 1) if x >= Fraction(1, 3) else constant(1))
    assert [str(p.value) for p in found.pieces] == ["1", "sqrt(t + 1)"]


def test_a_pole_at_a_simple_number_leaves_a_gap():
    found = run(lambda x: 1 if 1 / x >= 3 else 0, -1.0, 1.0)
    assert levels(found) == [0, 1, 0]
    assert {value.value for value in found.gaps[0]} == {0, 1}


def test_what_is_undefined_at_a_point_is_named():
    undefined = program(lambda _, p: 1 if log(p["t"] - 1) >= 0 else 0)
    with pytest.raises(InputError, match="no value at t = 0.5: log needs a number > 0"):
        undefined(None, {"t": 0.5})


@pytest.mark.parametrize(
    "node",
    [
        (t + 1) ** 2 - t * t - 2 * t - 1,
        exp(t) * exp(-t) - 1,
        (t * t - 1) / (t + 2) - t + 2 - 3 / (t + 2),
    ],
    ids=str,
)
def test_a_function_that_vanishes_has_one_cell(node):
    (cell,) = cells_of(node, -1.0, 1.0)
    assert cell.sign == 0


def test_relations_that_differ_at_an_end_only():
    def ends(x):
        return (x <= 1) + (x < 1) + 4 * (x >= 0) + 4 * (x > 0)

    found = run(ends)
    by_place = [(p.start, p.stop, p.value.value) for p in found.pieces]
    assert by_place[0] == (0.0, 0.0, 6) and by_place[-1] == (1.0, 1.0, 9)
    assert {value for _, _, value in by_place[1:-1]} == {10}


def test_a_guarded_root_leaves_no_wide_gap():
    # The root exists on [3/5, 7/10] only; u >= 1/10000 on an interval with these ends.
    def guarded(a):
        u = (a - Fraction(3, 5)) * (Fraction(7, 10) - a)
        if u < 0:
            return 0
        return 2 if sqrt(u) >= Fraction(1, 100) else 1

    found = sweep(guarded, "t", 0.0, 1.0)
    assert [piece.value.value for piece in found.pieces] == [0, 1, 2, 1, 0]
    reach = math.sqrt(0.05**2 - 0.01**2)
    ends = [0.6, 0.65 - reach, 0.65 + reach, 0.7]
    for left, right, end in zip(found.pieces, found.pieces[1:], ends, strict=False):
        assert left.stop <= end + 1e-15 and end - 1e-15 <= right.start
        assert right.start - left.stop < 1e-11


def test_a_line_shorter_than_a_bracket_is_cut_as_well():
    """Beside a pole that nearly cancels, where a window of a proof is as narrow as a bracket."""
    level = constant(0.36) - Fraction(0.6) ** 2  # what rounding leaves of the numerator
    node = (t * t - Fraction(0.6) ** 2 - level) / (t - Fraction(0.6)) - 1
    low, high = 0.5999999999973976, 0.5999999999982849
    assert [cell.sign for cell in cells_of(node, low, high)] == [1]
    assert [cell.sign for cell in cells_of((t - 1) ** 2 * (t + 1), 1 - 2.0**-50, 1.0)][0] == 1
