"""Parameters, spaces of them, and the segment that covers a space."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certune.errors import CertuneError, InputError, ParameterError
from certune.space import LogReal, ParameterSpace, Real, Simplex


def test_parameter_errors_are_value_errors() -> None:
    for error in (ParameterError, InputError):
        assert issubclass(error, CertuneError) and issubclass(error, ValueError)


class TestParameters:
    @pytest.mark.parametrize("kind", [Real, LogReal])
    @pytest.mark.parametrize(
        "ends", [(2, 1), (1, 1), (1, math.inf), (-math.inf, 1), (math.nan, 1), ("1", 2), (True, 2)]
    )
    def test_bad_range(self, kind: type[Real], ends: tuple[Any, Any]) -> None:
        with pytest.raises(ParameterError, match="alpha"):
            kind("alpha", *ends)

    @pytest.mark.parametrize("low", [0.0, -1.0])
    def test_logarithmic_scale_needs_positive_numbers(self, low: float) -> None:
        with pytest.raises(ParameterError, match="low > 0"):
            LogReal("sigma", low, 1.0)

    @pytest.mark.parametrize("name", ["", 3, None])
    def test_bad_name(self, name: Any) -> None:
        for make in (lambda: Real(name, 0, 1), lambda: Simplex(name, 2)):
            with pytest.raises(ParameterError, match="name"):
                make()

    @pytest.mark.parametrize("size", [0, -1, 2.0, True, "2"])
    def test_bad_size(self, size: Any) -> None:
        with pytest.raises(ParameterError, match="size"):
            Simplex("weights", size)

    def test_limits(self) -> None:
        closed, open_ended = Real("alpha", -1, 1), Real("alpha", -1, 1, limits=True)
        for limit in (-math.inf, math.inf):
            assert open_ended.validate(limit) == limit
            with pytest.raises(ParameterError):
                closed.validate(limit)
        for wrong in (2.0, math.nan):
            with pytest.raises(ParameterError, match="or an infinite limit"):
                open_ended.validate(wrong)
        scale = LogReal("sigma", 1, 2, limits=True)
        assert scale.validate(math.inf) == math.inf
        with pytest.raises(ParameterError):
            scale.validate(-math.inf)


class TestParameterSpace:
    space = ParameterSpace((Real("alpha", -10, 10), LogReal("sigma", 0.1, 10), Simplex("beta", 3)))

    def test_names_and_size(self) -> None:
        assert self.space.names == ("alpha", "sigma", "beta")
        assert self.space.n_free == 4

    def test_validate_normalises(self) -> None:
        params = {
            "beta": np.array([0.5, 0.25, 0.25]),
            "alpha": np.int64(3),
            "sigma": Fraction(1, 2),
        }
        result = self.space.validate(params)
        assert result == {"alpha": 3.0, "sigma": 0.5, "beta": (0.5, 0.25, 0.25)}
        assert list(result) == list(self.space.names)
        assert type(result["alpha"]) is float

    @pytest.mark.parametrize(
        "change",
        [
            {"alpha": 10.1},
            {"alpha": math.nan},
            {"alpha": "1"},
            {"alpha": True},
            {"alpha": (1.0,)},
            {"sigma": 0.0},
            {"sigma": math.inf},
            {"beta": (0.5, 0.5)},
            {"beta": (0.5, 0.75, -0.25)},
            {"beta": (0.5, 0.5, 1e-6)},
            {"beta": (0.5, math.nan, 0.5)},
            {"beta": 1.0},
            {"beta": "abc"},
            {"gamma": 1.0},
        ],
    )
    def test_bad_values(self, change: dict[str, Any]) -> None:
        good = {"alpha": 0.0, "sigma": 1.0, "beta": (0.2, 0.3, 0.5)}
        self.space.validate(good)
        with pytest.raises(ParameterError, match=next(iter(change))):
            self.space.validate({**good, **change})

    def test_missing_name(self) -> None:
        with pytest.raises(ParameterError, match="exactly"):
            self.space.validate({"alpha": 0.0, "sigma": 1.0})

    def test_weights_may_be_rounded(self) -> None:
        weights = (0.3, 0.3, 0.2, 0.2 - 2.0**-54)
        space = ParameterSpace((Simplex("beta", 4),))
        assert sum(map(Fraction, weights)) != 1
        assert space.validate({"beta": weights}) == {"beta": weights}

    def test_bare_number(self) -> None:
        assert ParameterSpace((Real("alpha", 0, 1),)).validate(0.5) == {"alpha": 0.5}
        for space in (self.space, ParameterSpace((Simplex("beta", 1),))):
            with pytest.raises(ParameterError, match="mapping"):
                space.validate(1.0)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [((), "at least one"), ((Real("a", 0, 1),) * 2, "distinct"), (("a",), "Expected Real")],
    )
    def test_bad_space(self, parameters: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            ParameterSpace(parameters)

    def test_samples_are_valid_and_spread(self) -> None:
        rng = np.random.default_rng(1)
        draws = [self.space.validate(self.space.sample(rng)) for _ in range(2000)]
        alpha = np.array([draw["alpha"] for draw in draws])
        sigma = np.array([draw["sigma"] for draw in draws])
        beta = np.array([draw["beta"] for draw in draws])
        assert abs(alpha.mean()) < 0.5 and abs(np.mean(alpha > 5) - 0.25) < 0.05
        assert abs(np.mean(sigma < 1) - 0.5) < 0.05
        np.testing.assert_allclose(beta.mean(axis=0), 1 / 3, atol=0.02)
        assert abs(np.mean(beta[:, 0] > 0.5) - 0.25) < 0.05

    def test_samples_repeat_with_the_seed(self) -> None:
        first, second = (self.space.sample(np.random.default_rng(3)) for _ in range(2))
        assert first == second


class TestDefaultSegment:
    def test_one_real(self) -> None:
        for kind in (Real, LogReal):
            segment = ParameterSpace((kind("sigma", 0.5, 8),)).default_segment()
            assert (segment.low, segment.high) == (0.5, 8.0)
            assert segment.at(2.0) == {"sigma": 2.0}

    def test_two_weights(self) -> None:
        segment = ParameterSpace((Simplex("beta", 2),)).default_segment()
        assert segment.origin == {"beta": (1.0, 0.0)}
        assert segment.direction == {"beta": (-1.0, 1.0)}
        assert (segment.low, segment.high) == (0.0, 1.0)

    def test_fixed_weight_stays(self) -> None:
        space = ParameterSpace((Simplex("beta", 1), Real("alpha", 0, 1)))
        assert space.validate(space.default_segment().at(0.5)) == {"beta": (1.0,), "alpha": 0.5}

    def test_more_or_fewer_free_parameters(self) -> None:
        space = ParameterSpace((Real("alpha", 0, 1), Simplex("beta", 2), Simplex("gamma", 1)))
        with pytest.raises(ParameterError, match=r"\('alpha', 'beta'\).*along=Segment"):
            space.default_segment()
        with pytest.raises(ParameterError, match="0 free"):
            ParameterSpace((Simplex("gamma", 1),)).default_segment()
