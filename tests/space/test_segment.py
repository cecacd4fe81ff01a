"""Lines through a parameter space: ends, domains, and where their points are rounded."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune.errors import ParameterError
from certune.space import ParameterSpace, Segment, Simplex

FINITE = st.floats(-1e9, 1e9)


class TestSegment:
    def test_between_two_points(self) -> None:
        segment = Segment({"a": 1, "w": [1, 0]}, {"a": 3, "w": np.array([0.0, 1.0])})
        assert segment.origin == {"a": 1.0, "w": (1.0, 0.0)}
        assert segment.direction == {"a": 2.0, "w": (-1.0, 1.0)}
        assert (segment.low, segment.high) == (0.0, 1.0)
        assert segment.at(0.25) == {"a": 1.5, "w": (0.75, 0.25)}

    def test_coordinate_is_the_parameter(self) -> None:
        segment = Segment.coordinate("alpha", -3, 0.1, fixed={"w": (0.5, 0.5), "s": 2})
        assert segment.origin == {"alpha": 0.0, "w": (0.5, 0.5), "s": 2.0}
        assert segment.direction == {"alpha": 1.0, "w": (0.0, 0.0), "s": 0.0}
        for t in (-3.0, 0.1, 1e-17):
            assert segment.at(t) == {"alpha": t, "w": (0.5, 0.5), "s": 2.0}

    @given(FINITE, FINITE, st.floats(0, 1))
    def test_never_leaves_the_range(self, start: float, stop: float, t: float) -> None:
        if start == stop:
            return
        segment = Segment({"a": start}, {"a": stop})
        assert segment.at(0.0) == {"a": start}
        low, high = min(start, stop), max(start, stop)
        value, end = segment.at(t)["a"], segment.at(1.0)["a"]
        assert isinstance(value, float) and isinstance(end, float)
        assert low <= value <= high and low <= end <= high
        assert abs(end - stop) <= 2 * math.ulp(max(abs(start), abs(stop)))

    @given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0, 1))
    def test_stays_in_the_simplex(self, raw: list[float], t: float) -> None:
        weights = (np.array(raw) + 1e-3) / np.sum(np.array(raw) + 1e-3)
        segment = Segment({"w": (1, 0, 0)}, {"w": tuple(weights)})
        ParameterSpace((Simplex("w", 3),)).validate(segment.at(t))

    @pytest.mark.parametrize(
        ("start", "stop", "message"),
        [
            ({"a": 1}, {"a": 1}, "must differ"),
            ({"a": 1}, {"b": 2}, "same parameters"),
            ({"a": 1}, {"a": (1, 2)}, "same shape"),
            ({"a": (1, 2, 3)}, {"a": (1, 2)}, "same shape"),
            ({"a": 1}, {"a": math.inf}, "finite"),
            ({"a": (1, math.nan)}, {"a": (1, 2)}, "finite"),
            ({"a": -1.7e308}, {"a": 1.7e308}, "overflows"),
            ({"a": "x"}, {"a": 1}, "numbers"),
            (1.0, {"a": 1}, "mapping"),
        ],
    )
    def test_bad_ends(self, start: Any, stop: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            Segment(start, stop)

    @pytest.mark.parametrize("ends", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1)])
    def test_bad_coordinate_range(self, ends: tuple[float, float]) -> None:
        with pytest.raises(ParameterError, match="alpha"):
            Segment.coordinate("alpha", *ends)

    def test_coordinate_cannot_be_fixed(self) -> None:
        with pytest.raises(ParameterError, match="fixed too"):
            Segment.coordinate("alpha", 0, 1, fixed={"alpha": 0.5})

    @pytest.mark.parametrize("t", [-0.1, 1.1, math.nan])
    def test_outside_the_domain(self, t: float) -> None:
        with pytest.raises(ParameterError, match="t must lie in"):
            Segment({"a": 0}, {"a": 1}).at(t)

    def test_is_a_value(self) -> None:
        segment = Segment.coordinate("alpha", 0, 1)
        assert segment == Segment.coordinate("alpha", 0, 1) != Segment.coordinate("alpha", 0, 2)
        assert pickle.loads(pickle.dumps(segment)) == segment
        with pytest.raises(AttributeError):
            segment.low = 3.0  # type: ignore[misc]

    def test_restrict_keeps_the_meaning_of_the_coordinate(self) -> None:
        whole = Segment({"a": 1, "w": (1, 0)}, {"a": 3, "w": (0, 1)})
        part = whole.restrict(0.25, 0.5)
        assert (part.low, part.high) == (0.25, 0.5)
        assert part.at(0.3) == whole.at(0.3)
        assert whole.restrict(whole.low, whole.high) == whole != part
        with pytest.raises(ParameterError, match="t must lie in"):
            part.at(0.6)

    @pytest.mark.parametrize(
        "ends", [(-0.1, 0.5), (0.5, 1.1), (0.5, 0.5), (0.6, 0.5), (0, math.nan)]
    )
    def test_bad_restriction(self, ends: tuple[float, float]) -> None:
        with pytest.raises(ParameterError, match="domain"):
            Segment({"a": 0}, {"a": 1}).restrict(*ends)

    def test_line_restores_a_segment_from_its_parts(self) -> None:
        for segment in (
            Segment.coordinate("alpha", -3, 4, fixed={"w": (0.5, 0.5)}),
            Segment({"a": 1, "w": (1, 0)}, {"a": 3, "w": (0, 1)}),
        ):
            parts = (segment.origin, segment.direction, segment.low, segment.high)
            assert Segment.line(*parts) == segment

    @pytest.mark.parametrize(
        ("origin", "direction", "domain", "message"),
        [
            ({"a": 1}, {"b": 2}, (0, 1), "same names"),
            ({"a": 1}, {"a": (1, 2)}, (0, 1), "same names and shapes"),
            ({"a": 1, "w": (1, 0)}, {"a": 0, "w": (0, 0)}, (0, 1), "not be zero"),
            ({"a": 1}, {"a": math.nan}, (0, 1), "finite"),
            ({"a": 1}, {"a": 1}, (1, 0), "domain"),
        ],
    )
    def test_bad_line(
        self, origin: Any, direction: Any, domain: tuple[float, float], message: str
    ) -> None:
        with pytest.raises(ParameterError, match=message):
            Segment.line(origin, direction, *domain)

    def test_knows_where_its_points_are_rounded(self) -> None:
        coordinate = Segment.coordinate("alpha", -3, 4)
        assert all(coordinate.is_exact_at(t) for t in (-3.0, 0.1, 1e-300))
        weights = Segment({"w": (1, 0)}, {"w": (0, 1)})
        assert weights.is_exact_at(0.25) and not weights.is_exact_at(1e-17)
        point = weights.exact_point(0.001, 0.0010001)
        assert point is not None and 0.001 <= point <= 0.0010001 and weights.is_exact_at(point)
        assert weights.exact_point(1e-18, 2e-18) is None
        assert coordinate.exact_point(0.1, 0.1) == 0.1

    def test_coordinate_has_the_name_of_the_parameter_that_it_is(self) -> None:
        assert (
            Segment.coordinate("alpha", 1, 2, fixed={"w": (1, 0)}).restrict(1, 1.5).name == "alpha"
        )
        assert Segment({"alpha": 0}, {"alpha": 2}).name == "t"
        assert Segment({"alpha": 0, "beta": 0}, {"alpha": 1, "beta": 1}).name == "t"
        assert Segment({"w": (1, 0)}, {"w": (0, 1)}).name == "t"
