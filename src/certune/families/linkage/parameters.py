"""Parameters of linkage: which are free and in which range, which are fixed, and their values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from certune.checks import as_float_or_nan, is_one_of
from certune.errors import ParameterError
from certune.families.linkage.lines import Line
from certune.families.metrics import checked_weights, tunes_weights
from certune.space import ParameterSpace, Real, Simplex
from certune.suggestions import suggested

KINDS = ("min-max", "power-mean", "product", "energy")
# What people call a linkage is a setting of a kind.
NAMED = {
    "ward": "Ward's method is the kind 'energy' at alpha = 2",
    "single": "single linkage is the kind 'power-mean' at alpha = -inf",
    "average": "average linkage is the kind 'power-mean' at alpha = 1",
    "complete": "complete linkage is the kind 'power-mean' at alpha = inf",
}

Range: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class LinkageParameters:
    """What is tuned in a linkage family, and what is fixed.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    alphas : tuple of range or float
        One exponent, or one for each metric of product linkage; a number is fixed.
    weights : tuple of float or None
        Fixed weights of the metrics.
    tunes_weights : bool
        Whether the weights are free.
    n_metrics : int or None
        Number of metrics, if it is known.
    """

    kind: str
    alphas: tuple[Range | float, ...]
    weights: tuple[float, ...] | None
    tunes_weights: bool
    n_metrics: int | None

    @classmethod
    def checked(
        cls, kind: str, alpha: Any, weights: ArrayLike | str | None, n_metrics: int | None
    ) -> LinkageParameters:
        """Parameters as the user of `certune.Linkage` gives them, or raise `ParameterError`."""
        if not is_one_of(kind, KINDS):
            where = f": {NAMED[str(kind)]}" if str(kind) in NAMED else suggested(str(kind), KINDS)
            raise ParameterError(f"unknown kind of linkage {kind!r}{where}")
        if n_metrics is not None and (
            isinstance(n_metrics, bool) or not isinstance(n_metrics, int)
        ):
            raise ParameterError(f"n_metrics must be a whole number, got {n_metrics!r}")
        if kind == "product":
            if weights is not None:
                raise ParameterError(
                    "product linkage has one exponent per metric and no weights; leave weights=None"
                )
            alphas = _product_alphas(alpha)
            if n_metrics not in (None, len(alphas)):
                raise ParameterError(
                    f"alpha has {len(alphas)} entries but n_metrics is {n_metrics}"
                )
            return cls(kind, alphas, None, False, len(alphas))
        alphas = (_alpha(alpha),)
        if kind == "energy":
            _check_positive(alpha, alphas[0])
        if weights is None or tunes_weights(weights, n_metrics):
            return cls(kind, alphas, None, weights is not None, n_metrics)
        shares = checked_weights(weights)
        if n_metrics not in (None, len(shares)):
            raise ParameterError(f"{len(shares)} weights given but n_metrics is {n_metrics}")
        return cls(kind, alphas, shares, False, len(shares))

    @cached_property
    def alpha_names(self) -> tuple[str, ...]:
        """Names of the exponents, fixed ones included."""
        if self.kind == "product":
            return tuple(f"alpha_{i}" for i in range(len(self.alphas)))
        return ("alpha",)

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """The free exponents by name."""
        named = zip(self.alpha_names, self.alphas, strict=True)
        return {name: alpha for name, alpha in named if isinstance(alpha, tuple)}

    @cached_property
    def fixed_exponents(self) -> dict[str, float]:
        """The other exponents by name."""
        named = zip(self.alpha_names, self.alphas, strict=True)
        return {name: alpha for name, alpha in named if not isinstance(alpha, tuple)}

    @cached_property
    def space(self) -> ParameterSpace | None:
        """The free parameters and their ranges, None if there are none."""
        parameters: list[Real | Simplex] = [
            Real(name, *ends, limits=self.kind in ("min-max", "power-mean"))
            for name, ends in self.ranges.items()
        ]
        if self.tunes_weights:
            assert self.n_metrics is not None
            parameters.append(Simplex("weights", self.n_metrics))
        return ParameterSpace(tuple(parameters)) if parameters else None

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """Settings of single, average and complete linkage; see `certune.Linkage.baselines`."""
        if self.kind == "product":
            share = 1.0 / len(self.alphas)
            return {"average": dict.fromkeys(self.alpha_names, share)}
        weights: dict[str, Any] = {}
        if self.tunes_weights:
            assert self.n_metrics is not None
            weights["weights"] = _equal(self.n_metrics)
        if self.kind == "energy":
            return {
                "energy distance": {"alpha": 1.0, **weights},
                "ward": {"alpha": 2.0, **weights},
            }
        middle = {"average": 1.0} if self.kind == "power-mean" else {"half-sum": 1.0}
        settings = {"single": -math.inf, **middle, "complete": math.inf}
        return {name: {"alpha": alpha, **weights} for name, alpha in settings.items()}

    def weights_of(self, n_metrics: int) -> tuple[float, ...]:
        """Weights for this number of metrics if they are not tuned: the fixed or equal ones."""
        return self.weights or _equal(n_metrics)

    def values(self, params: Mapping[str, Any], n_metrics: int) -> dict[str, Any]:
        """Parameter values by name, checked; any real alpha is allowed, not only the range."""
        names = [*self.alpha_names, *([] if self.kind == "product" else ["weights"])]
        unknown = set(params) - set(names)
        if unknown:
            wrong = str(sorted(unknown, key=str)[0])
            raise ParameterError(f"unknown parameter {wrong!r}{suggested(wrong, names)}")
        values: dict[str, Any] = {
            name: _real(name, params.get(name, self.fixed_exponents.get(name)))
            for name in self.alpha_names
        }
        if self.kind == "energy":
            _check_positive(values["alpha"], values["alpha"])
        if "weights" in params:
            values["weights"] = checked_weights(params["weights"], n_metrics)
        elif self.tunes_weights:
            raise ParameterError("parameter 'weights' is free and must be given")
        return values

    def line(self, n_metrics: int, start: Mapping[str, Any], slope: Mapping[str, Any]) -> Line:
        """The parameters as functions of t: values at t = 0 (if not fixed) and slopes (or 0)."""
        alphas = tuple(
            (float(start.get(name, fixed)), float(slope.get(name, 0.0)))
            for name, fixed in zip(self.alpha_names, self.alphas, strict=True)
        )
        if self.kind == "product":
            return Line(self.kind, alphas, ())
        given = start.get("weights", self.weights_of(n_metrics))
        slopes = slope.get("weights", (0.0,) * n_metrics)
        weights = tuple((float(w), float(s)) for w, s in zip(given, slopes, strict=True))
        return Line(self.kind, alphas, weights)

    def line_at(self, n_metrics: int, values: Mapping[str, Any]) -> Line:
        """Constant parameters; a limit of product linkage is one of power means."""
        line = self.line(n_metrics, values, {})
        if line.infinite and self.kind == "product":
            return _limit_of_product(line, n_metrics)
        return line


def _equal(n_metrics: int) -> tuple[float, ...]:
    return (1.0 / n_metrics,) * n_metrics


def _is_list(alpha: Any) -> bool:
    return isinstance(alpha, (tuple, list)) or (isinstance(alpha, np.ndarray) and alpha.ndim > 0)


def _alpha(alpha: Any) -> Range | float:
    if not _is_list(alpha):
        return _real("alpha", alpha)
    if len(alpha) != 2:
        raise ParameterError(f"alpha must be a number or a range (low, high), got {alpha!r}")
    low, high = (_real("alpha", end) for end in alpha)
    if math.isinf(low) or math.isinf(high):
        raise ParameterError(
            f"the range of alpha must be finite, got {alpha!r}; the limits are single linkage "
            "(alpha=-inf) and complete linkage (alpha=inf), reported as baselines"
        )
    if not low < high:
        raise ParameterError(f"the range of alpha must have low < high, got {alpha!r}")
    return low, high


def _check_positive(given: Any, alpha: Range | float) -> None:
    low, high = alpha if isinstance(alpha, tuple) else (alpha, alpha)
    if not 0 < low <= high < math.inf:
        raise ParameterError(
            f"energy linkage needs finite exponents alpha > 0, got {given!r}; for example "
            "alpha=(0.1, 4), where alpha=2 is Ward's method; power means (kind 'power-mean') take "
            "any exponent"
        )


def _product_alphas(alpha: Any) -> tuple[Range | float, ...]:
    default = isinstance(alpha, tuple) and alpha == (-10.0, 10.0)
    if default or not _is_list(alpha) or len(alpha) == 0:
        raise ParameterError(
            "product linkage needs one exponent per metric: alpha=[(low, high) or number, ...]; "
            f"got {alpha!r}"
        )
    return tuple(_alpha(entry) for entry in alpha)


def _real(name: str, value: Any) -> float:
    if value is None:
        raise ParameterError(f"parameter {name!r} is free and must be given")
    number = as_float_or_nan(value)
    if math.isnan(number):
        raise ParameterError(f"{name} must be a real number, got {value!r}")
    return number


def _limit_of_product(line: Line, n_metrics: int) -> Line:
    """Product linkage with one infinite exponent: single or complete linkage in that metric."""
    infinite = [i for i, (value, _) in enumerate(line.alpha) if math.isinf(value)]
    if len(infinite) > 1 or any(
        value != 0.0 for i, (value, _) in enumerate(line.alpha) if i not in infinite
    ):
        raise ParameterError(
            "product linkage has a limit only for one infinite exponent with all others 0; got "
            f"{tuple(value for value, _ in line.alpha)}"
        )
    metric = infinite[0]
    weights = tuple((float(i == metric), 0.0) for i in range(n_metrics))
    return Line("power-mean", (line.alpha[metric],), weights)
