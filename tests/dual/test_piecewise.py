from __future__ import annotations

import copy
import dataclasses
import io
import math
from fractions import Fraction
from operator import add, mul, sub
from typing import Any

import numpy as np
import pytest

from certune.dual import PiecewiseFunction, PiecewisePolynomial, mean, sum_of
from certune.dual.integers import nearest, rounded_down, rounded_up
from certune.errors import InputError, ParameterError, UndecidedError


def step(left: int, right: int, gap: tuple[float, float], denominator: int = 1) -> Any:
    return PiecewiseFunction(
        [0.0, gap[1]],
        [gap[0], 1.0],
        [left, right],
        [min(left, right)],
        [max(left, right)],
        denominator,
    )


class TestConstruction:
    def test_fields(self) -> None:
        f = PiecewiseFunction([0, 0.5], [0.25, 1], [1, 4], [0], [5], 7, name="alpha")
        assert (f.low, f.high, f.n_pieces, f.denominator, f.name) == (0.0, 1.0, 2, 7, "alpha")
        assert f.numerators.tolist() == [1, 4]
        assert f.gap_lower.tolist() == [0] and f.gap_upper.tolist() == [5]
        np.testing.assert_array_equal(f.breakpoints, [[0.25, 0.5]])
        np.testing.assert_array_equal(f.values, [1 / 7, 4 / 7])

    def test_gaps_without_a_change_are_closed(self) -> None:
        f = PiecewiseFunction(
            [0, 2, 4, 6], [1, 3, 5, 7], [1, 1, 1, 2], [1, 0, 2], [1, 1, 2], denominator=3
        )
        assert f.starts.tolist() == [0, 4, 6] and f.stops.tolist() == [3, 5, 7]
        assert f.gap_lower.tolist() == [0, 2]
        f._check()

    def test_gap_with_a_known_value_of_its_own_stays(self) -> None:
        f = PiecewiseFunction([0, 1], [0, 1], [1, 1], [2], [2], 1)
        assert f.n_pieces == 2
        assert f(0.5) == 2.0 and f.value_at(0.5) == 2

    def test_lowest_terms(self) -> None:
        f = PiecewiseFunction([0, 2], [1, 3], [10, 20], [5], [20], 100)
        assert f.denominator == 20 and f.numerators.tolist() == [2, 4]
        assert f == PiecewiseFunction([0, 2], [1, 3], [2, 4], [1], [4], 20)

    def test_huge_integers_are_kept_and_small_ones_are_int64(self) -> None:
        huge = PiecewiseFunction([0, 2], [1, 3], [3**90, 1], [1], [3**90], 7)
        assert huge.max_exact == Fraction(3**90, 7)
        assert huge.numerators.dtype == object
        reduced = PiecewiseFunction([0, 2], [1, 3], [3**90, 0], [0], [3**90], 3**89)
        assert reduced.numerators.dtype == np.int64 and reduced.numerators.tolist() == [3, 0]

    @pytest.mark.parametrize("value", [2**62 - 1, 2**62, 2**63 - 1, -(2**63)])
    def test_int64_input_at_the_limit_does_not_wrap(self, value: int) -> None:
        numerators = np.array([value, 1], dtype=np.int64)
        f = PiecewiseFunction([0, 2], [1, 3], numerators, [min(value, 1)], [max(value, 1)], 1)
        f._check()
        assert (f + f).value_at(0) == 2 * value
        assert (-f).value_at(0) == -value
        assert sum_of([f] * 5).value_at(0) == 5 * value
        assert (f * 2**62).value_at(0) == value * 2**62

    def test_zero_over_a_huge_denominator(self) -> None:
        zero = PiecewiseFunction([0, 2], [1, 3], [0, 0], [0], [0], 10**40)
        assert zero == PiecewiseFunction.constant(0, 3, 0) == zero * 10**40
        assert zero.denominator == 1

    def test_from_values_takes_floats_as_they_are(self) -> None:
        f = PiecewiseFunction.from_values(
            [0, 2], [1, 3], [0.1, Fraction(1, 3)], [np.float64(0.1)], [np.int64(2)]
        )
        assert f.value_at(0) == Fraction(0.1) != Fraction(1, 10)
        assert f.value_at(3) == Fraction(1, 3)
        assert f.enclose_exact(1.5) == (Fraction(0.1), Fraction(2))

    def test_inputs_are_copied_and_fields_are_read_only(self) -> None:
        starts, numerators = np.array([0.0, 2.0]), np.array([1, 2])
        f = PiecewiseFunction(starts, [1, 3], numerators, [1], [2], 3)
        starts[0], numerators[0] = -5.0, 99
        assert f.low == 0.0 and f.numerators[0] == 1
        for array in (f.starts, f.stops, f.numerators, f.gap_lower, f.gap_upper, f.values):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            f.name = "beta"  # type: ignore[misc]

    def test_negative_zero_is_zero(self) -> None:
        f, g = (PiecewiseFunction([zero], [1.0], [1], [], [], 1) for zero in (-0.0, 0.0))
        assert f == g and hash(f) == hash(g)
        whole = PiecewiseFunction.constant(-1, 1, 1)
        assert hash(whole.restrict(-0.0, 1.0)) == hash(f)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([], [], [], [], [], 1), "m >= 1 pieces"),
            (([0, 2], [1, 3], [1], [1], [1], 1), "m >= 1 pieces"),
            (([0, 2], [1, 3], [1, 2], [], [1], 1), "m >= 1 pieces"),
            (([0, 2], [1, 1], [1, 2], [1], [2], 1), "Piece 1 needs start <= stop"),
            (([0, 1], [1, 2], [1, 2], [1], [2], 1), "Piece 0 must stop before piece 1 starts"),
            (([0, math.nan], [1, 2], [1, 2], [1], [2], 1), "Piece 1"),
            (([0], [math.inf], [1], [], [], 1), "finite"),
            (([0, 2], [1, 3], [1, 2], [2], [1], 1), "Gap 0 needs lower <= upper"),
            (([0], [1], [1.5], [], [], 1), "sequence of integers"),
            (([0], [1], np.array([1.0]), [], [], 1), "sequence of integers"),
            (([0], [1], 3, [], [], 1), "sequence of integers"),
            (([0], [1], [1], [], [], 0), "positive"),
            (([0], [1], [1], [], [], -2), "positive"),
            (([0], [1], [1], [], [], 2.0), "integer"),
            (([[0]], [1], [1], [], [], 1), "one-dimensional"),
            ((["a"], [1], [1], [], [], 1), "must be numbers"),
        ],
    )
    def test_bad_input(self, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(InputError, match=message):
            PiecewiseFunction(*arguments)

    @pytest.mark.parametrize("value", [math.nan, math.inf, "1", None, 1j])
    def test_values_must_be_finite_numbers(self, value: Any) -> None:
        with pytest.raises(InputError, match="finite numbers"):
            PiecewiseFunction.constant(0, 1, value)

    def test_check_finds_broken_invariants(self) -> None:
        f = step(0, 1, (0.25, 0.5), 3)
        f._check()
        pieces = f._pieces
        broken = [
            pieces._replace(stops=np.array([0.6, 1.0])),
            pieces._replace(gap_lower=np.array([2])),
            pieces._replace(denominator=0),
            pieces._replace(numerators=np.array([0, 3]), gap_upper=np.array([3])),
            pieces._replace(numerators=np.array([1, 1]), gap_lower=np.array([1])),
            pieces._replace(numerators=np.array([0, 1])),
            pieces._replace(numerators=np.array([0, 1], dtype=object)),
        ]
        for wrong in broken:
            other = copy.copy(f)
            object.__setattr__(other, "_pieces", wrong)
            with pytest.raises(AssertionError):
                other._check()


class TestEvaluation:
    def test_nan_means_not_decided(self) -> None:
        f = step(0, 1, (0.25, 0.5))
        assert math.isnan(f(0.3)) and f.value_at(0.3) is None and f.enclose(0.3) == (0.0, 1.0)
        assert f(0.25) == 0.0 and f(0.5) == 1.0
        np.testing.assert_array_equal(f([[0.0, 0.3], [0.5, 1.0]]), [[0, np.nan], [1, 1]])

    def test_scalar_gives_float(self) -> None:
        assert type(step(0, 1, (0.25, 0.5))(np.float64(1.0))) is float

    @pytest.mark.parametrize("t", [-1e-300, 1.0000000001, math.nan, math.inf, [0.5, 2.0]])
    def test_outside_the_domain(self, t: Any) -> None:
        with pytest.raises(ParameterError, match=r"t must lie in the domain \[0.0, 1.0\]"):
            step(0, 1, (0.25, 0.5))(t)

    @pytest.mark.parametrize("t", [-1e-300, math.nan])
    def test_outside_the_domain_exactly(self, t: float) -> None:
        f = step(0, 1, (0.25, 0.5))
        for question in (f.enclose, f.value_at, f.enclose_exact):
            with pytest.raises(ParameterError, match="domain"):
                question(t)

    def test_enclosure_of_a_third_contains_it(self) -> None:
        lower, upper = PiecewiseFunction.constant(0, 1, Fraction(1, 3)).enclose(0.5)
        assert lower < Fraction(1, 3) < upper == math.nextafter(lower, 1)

    @pytest.mark.parametrize(
        ("top", "bottom"),
        [(2**53 + 1, 1), (25578818557822486, 7), (10**40 + 1, 10**40), (1, 2**1080)],
    )
    def test_values_are_correctly_rounded(self, top: int, bottom: int) -> None:
        f = PiecewiseFunction([0], [1], [top], [], [], bottom)
        assert f.values[0] == f(0.5) == f.max() == top / bottom

    def test_rounding_of_fractions(self) -> None:
        third = Fraction(1, 3)
        assert rounded_down(third) < third < rounded_up(third)
        assert rounded_down(Fraction(1, 2)) == rounded_up(Fraction(1, 2)) == 0.5
        assert nearest(Fraction(-(10**400))) == -math.inf
        assert rounded_down(Fraction(10**400)) == math.nextafter(math.inf, 0)
        assert rounded_up(Fraction(10**400)) == math.inf

    def test_sample_points_lie_in_their_pieces(self) -> None:
        big, tiny = 1.7e308, 5e-324
        f = PiecewiseFunction(
            [-big, 0.0, tiny * 2], [-tiny, 0.0, big], [0, 1, 2], [0, 1], [1, 2], 1
        )
        points = f.sample_points()
        assert (f.starts <= points).all() and (points <= f.stops).all()
        np.testing.assert_array_equal(f(points), [0, 1, 2])


class TestUndecided:
    def test_narrow_gap_within_the_hull_is_a_breakpoint(self) -> None:
        assert step(0, 1, (0.25, 0.25 + 1e-10)).undecided.shape == (0, 2)
        assert PiecewiseFunction.constant(0, 1, 1).undecided.shape == (0, 2)

    def test_wide_gap(self) -> None:
        np.testing.assert_array_equal(step(0, 1, (0.25, 0.26)).undecided, [[0.25, 0.26]])

    def test_width_is_relative_for_large_parameters(self) -> None:
        gap = (1e6, 1e6 + 5e-4)
        f = PiecewiseFunction([0, gap[1]], [gap[0], 2e6], [0, 1], [0], [1], 1)
        assert f.undecided.size == 0

    @pytest.mark.parametrize(("lower", "upper"), [(-1, 1), (0, 2)])
    @pytest.mark.parametrize("scale", [1, 10**30])
    def test_bounds_beyond_the_neighbours(self, lower: int, upper: int, scale: int) -> None:
        f = PiecewiseFunction(
            [0, 0.5 + 1e-12, 0.7 + 1e-12],
            [0.5, 0.7, 1],
            [0, scale, 0],
            [lower * scale, 0],
            [upper * scale, scale],
            7,
        )
        np.testing.assert_array_equal(f.undecided, [[0.5, 0.5 + 1e-12]])


class TestMaxima:
    def test_argmax_joins_pieces_across_gaps_that_stay_optimal(self) -> None:
        f = PiecewiseFunction([0, 2, 4, 6], [1, 3, 5, 7], [2, 2, 2, 0], [2, 1, 0], [3, 2, 2], 5)
        assert f.argmax() == [(0.0, 3.0), (4.0, 5.0)]
        assert f.max() == 0.4 and f.max_exact == Fraction(2, 5)
        assert f.upper_bound == 0.6 and f.upper_bound_exact == Fraction(3, 5)

    def test_ties_are_exact(self) -> None:
        third = step(1, 0, (0.25, 0.5), 3)
        f = third + third + third + step(0, 1, (0.25, 0.5))
        assert f.argmax() == [(0.0, 0.25), (0.5, 1.0)]

    def test_widest_plateau(self) -> None:
        f = PiecewiseFunction([0, 2, 5], [1, 4, 7], [10, 9, 9], [9, 8], [10, 9], 10)
        assert f.widest_plateau(0) == (0.0, 1.0)
        assert f.widest_plateau(Fraction(1, 10)) == (0.0, 4.0)
        assert f.widest_plateau(0.0999) == (0.0, 1.0)
        assert f.widest_plateau(1) == (0.0, 7.0)
        assert f.widest_plateau(10**40) == (0.0, 7.0)

    @pytest.mark.parametrize("tolerance", [-0.1, math.nan, math.inf, "0", None])
    def test_bad_tolerance(self, tolerance: Any) -> None:
        with pytest.raises(ParameterError, match="tolerance"):
            PiecewiseFunction.constant(0, 1, 1).widest_plateau(tolerance)


class TestSums:
    def test_touching_gaps_leave_one_point(self) -> None:
        f = step(0, 1, (0.25, 0.5)) + step(0, 2, (0.5, 0.75))
        assert f.starts.tolist() == [0.0, 0.5, 0.75]
        assert f.stops.tolist() == [0.25, 0.5, 1.0]
        assert f.numerators.tolist() == [0, 1, 3]
        assert f.gap_lower.tolist() == [0, 1] and f.gap_upper.tolist() == [1, 3]

    def test_overlapping_gaps_merge_with_the_extremes_of_the_sums(self) -> None:
        up = PiecewiseFunction([0, 3], [1, 4], [0, 5], [0], [5], 1)
        down = PiecewiseFunction([0, 3.5], [2, 4], [5, 0], [0], [5], 1)
        f = up + down
        assert f.breakpoints.tolist() == [[1.0, 3.5]]
        assert f.gap_lower.tolist() == [0] and f.gap_upper.tolist() == [10]
        inner = PiecewiseFunction([0, 2, 2.5], [1.5, 2, 4], [0, -9, 0], [0, 0], [0, 0], 1)
        g = up + inner
        assert g.breakpoints.tolist() == [[1.0, 3.0]]
        assert g.gap_lower.tolist() == [-9] and g.gap_upper.tolist() == [5]

    def test_opposite_steps_in_separate_gaps_cancel(self) -> None:
        f = step(0, 1, (0.25, 0.5)) + step(1, 0, (0.25, 0.5))
        assert f.n_pieces == 2 and f.numerators.tolist() == [1, 1]
        assert f.gap_lower.tolist() == [0] and f.gap_upper.tolist() == [2]

    def test_different_denominators(self) -> None:
        f = mean([step(0, 1, (0.25, 0.5), d) for d in (2, 3, 7)])
        assert f.max_exact == (Fraction(1, 2) + Fraction(1, 3) + Fraction(1, 7)) / 3

    def test_many_denominators_leave_int64(self) -> None:
        f = mean([step(0, 1, (0.25, 0.5), d) for d in range(2, 200)])
        f._check()
        assert f.max_exact == sum(Fraction(1, d) for d in range(2, 200)) / 198
        assert f.numerators.dtype == object

    def test_functions_without_gaps(self) -> None:
        f = mean(PiecewiseFunction.constant(0, 1, value) for value in (1, 2))
        assert f == PiecewiseFunction.constant(0, 1, 1.5)

    def test_names(self) -> None:
        f, g = (PiecewiseFunction.constant(0, 1, 1, name) for name in ("alpha", "beta"))
        assert (f + f).name == "alpha" and (f + g).name == "t"
        assert (2 * f).name == (-f).name == f.restrict(0, 0.5).name == "alpha"

    def test_domains_must_agree(self) -> None:
        f = PiecewiseFunction.constant(0, 1, 1)
        for other in (PiecewiseFunction.constant(0, 2, 1), PiecewiseFunction.constant(-1, 1, 1)):
            with pytest.raises(ParameterError, match="same domain.*restrict"):
                f + other

    def test_nothing_to_add(self) -> None:
        with pytest.raises(ParameterError, match="at least one"):
            mean([])
        with pytest.raises(ParameterError, match="Expected PiecewiseFunction"):
            sum_of([PiecewiseFunction.constant(0, 1, 1), 3])  # type: ignore[list-item]

    def test_operators_refuse_other_types(self) -> None:
        f = PiecewiseFunction.constant(0, 1, 1)
        for operation, other in ((add, 1), (sub, 1), (mul, "2"), (mul, math.nan), (mul, f)):
            with pytest.raises(TypeError):
                operation(f, other)
        assert f != 1

    @pytest.mark.parametrize("factor", [np.float64(0.5), np.int64(3), 0.1, Fraction(1, 3), 0, -2])
    def test_scalars_of_every_kind(self, factor: Any) -> None:
        f = step(1, 2, (0.25, 0.5), 3)
        assert f * factor == factor * f
        exact = Fraction(*factor.as_integer_ratio()) if factor != 3 else Fraction(3)
        assert (f * factor).value_at(1.0) == Fraction(2, 3) * exact

    def test_many_gaps(self) -> None:
        rng = np.random.default_rng(7)
        functions = []
        for _ in range(300):
            ends = np.sort(rng.uniform(0.01, 0.99, 30))
            values = rng.integers(0, 50, 31)
            pairs = np.array([values[:-1], values[1:]])
            functions.append(
                PiecewiseFunction(
                    np.append(0, ends + 1e-7),
                    np.append(ends - 1e-7, 1),
                    values,
                    pairs.min(axis=0),
                    pairs.max(axis=0),
                    50,
                )
            )
        total = sum_of(functions)
        total._check()
        points = total.sample_points()
        assert total.n_pieces > 8000
        for i in range(0, total.n_pieces, 97):
            expected = sum(f.enclose_exact(points[i])[0] for f in functions)
            assert total.value_at(points[i]) == expected


class TestRestriction:
    def test_cut_inside_a_piece_and_at_its_ends(self) -> None:
        f = step(0, 1, (0.25, 0.5))
        assert f.restrict(0.25, 0.5).starts.tolist() == [0.25, 0.5]
        assert f.restrict(0.1, 0.2) == PiecewiseFunction.constant(0.1, 0.2, 0)
        assert f.restrict(0.5, 0.5) == PiecewiseFunction.constant(0.5, 0.5, 1)
        assert f.restrict(0.0, 1.0) == f

    def test_cut_in_a_gap(self) -> None:
        with pytest.raises(UndecidedError, match=r"outside the gap \(0.25, 0.5\)"):
            step(0, 1, (0.25, 0.5)).restrict(0.3, 1.0)
        known = PiecewiseFunction([0, 1], [0, 1], [1, 1], [2], [2], 1)
        assert known.restrict(0.5, 0.75) == PiecewiseFunction.constant(0.5, 0.75, 2)
        assert known.restrict(0.5, 0.5) == PiecewiseFunction.constant(0.5, 0.5, 2)

    @pytest.mark.parametrize("ends", [(-0.1, 1), (0, 1.1), (0.6, 0.5), (math.nan, 1)])
    def test_bad_domain(self, ends: tuple[float, float]) -> None:
        with pytest.raises(ParameterError, match="domain"):
            step(0, 1, (0.25, 0.5)).restrict(*ends)


class TestStorage:
    @pytest.mark.parametrize("scale", [1, 3**100])
    def test_file_without_pickle(self, scale: int) -> None:
        f = step(-scale, 2, (0.25, 0.5), 7**40) * Fraction(1, 2)
        file = io.BytesIO()
        np.savez(file, **f.to_arrays())
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            assert PiecewiseFunction.from_arrays(stored) == f

    def test_corrupted_arrays(self) -> None:
        arrays = step(0, 3**100, (0.25, 0.5)).to_arrays()
        with pytest.raises(InputError, match="stops"):
            PiecewiseFunction.from_arrays({k: v for k, v in arrays.items() if k != "stops"})
        with pytest.raises(InputError, match="hexadecimal"):
            PiecewiseFunction.from_arrays({**arrays, "numerators": np.array(["0x1", "zz"])})
        with pytest.raises(InputError, match="one integer"):
            PiecewiseFunction.from_arrays({**arrays, "denominator": np.array([1, 2])})
        with pytest.raises(InputError, match="start <= stop"):
            PiecewiseFunction.from_arrays({**arrays, "stops": np.array([0.25, 0.4])})


def test_integral_bounds() -> None:
    lower, upper = step(0, 1, (0.25, 0.5)).integral()
    assert (lower, upper) == (0.5, 0.75)
    lower, upper = PiecewiseFunction.constant(0, 1, Fraction(1, 3)).integral()
    assert lower < Fraction(1, 3) < upper


def test_repr_is_short() -> None:
    assert repr(step(0, 1, (0.25, 0.5), 4)) == (
        "PiecewiseFunction(t in [0.0, 1.0], 2 pieces, max 0.25)"
    )
    assert "1 piece," in repr(PiecewiseFunction.constant(0, 1, 1))


def test_a_piece_far_below_that_is_known_badly_spoils_no_gap():
    rows = np.array([[1.0, 0.5], [9.0, 0.5]])
    nothing = np.zeros(1)
    for order in ([0, 1], [1, 0]):
        function = PiecewisePolynomial(
            [0.0, 1.0], [1.0, 2.0], rows[order], np.array([3.0, 1e-9])[order], nothing, nothing
        )
        assert function.max() == pytest.approx(9.5)
        assert float(function.upper_bound_exact - function.max_exact) < 1e-7
    near = PiecewisePolynomial(
        [0.0, 1.0], [1.0, 2.0], rows, np.array([9.0, 1e-9]), nothing, nothing
    )
    assert near.upper_bound_exact >= Fraction(21, 2)
