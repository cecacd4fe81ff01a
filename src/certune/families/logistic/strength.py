"""How strongly a model is regularised: lam, or scikit-learn's C.

lam weighs the penalty against the *mean* loss, C the *sum* of losses against the penalty. Folds of
different sizes with one C therefore have different lam: a shift of each fold's curve in log lam,
together with a reflection. A curve in log lam becomes one in log C without loss of exactness.

By definition, C stands for the double ``1.0 / (factor * C)`` as lam, rounding included. This map
is monotone, so that a piece of constant value keeps its value between two doubles that are inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
# Rounding moves lam by two units in the last place at most, and C by as many.
MOST_NUDGES = 16


@dataclass(frozen=True)
class Strength:
    """The parameter of one instance, and which lam it stands for.

    Attributes
    ----------
    name : {"lam", "C"}
        The parameter.
    factor : float
        ``lam = 1 / (factor * C)``: the total weight of the training points with l1, twice that
        with l2.
    """

    name: str
    factor: float

    def lam(self, value: float) -> float:
        """Return the weight of the penalty relative to the mean loss."""
        return value if self.name == "lam" else 1.0 / (self.factor * value)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Return the range of lam, in increasing order."""
        return tuple(sorted((self.lam(low), self.lam(high))))  # type: ignore[return-value]

    def function(self, dual: DualFunction, low: float, high: float) -> DualFunction:
        """Return a function of lam over ``span(low, high)`` as one of the parameter.

        Parameters
        ----------
        dual : PiecewiseFunction or PiecewisePolynomial
            The function of lam.
        low, high : float
            The range of the parameter.
        """
        if self.name == "lam":
            return dual
        if isinstance(dual, PiecewiseFunction):
            return self._reflected_steps(dual, low, high)
        assert isinstance(dual, PiecewisePolynomial)
        return self._reflected_curve(dual, low, high)

    def _reflected_curve(
        self, dual: PiecewisePolynomial, low: float, high: float
    ) -> PiecewisePolynomial:
        """Reflect polynomials in log lam: T_k(-s) = (-1)^k T_k(s)."""
        starts = 1.0 / (self.factor * dual.stops)[::-1]
        stops = 1.0 / (self.factor * dual.starts)[::-1]
        starts[0], stops[-1] = low, high
        signs = np.where(np.arange(dual.coefficients.shape[1]) % 2, -1.0, 1.0)
        coefficients = (dual.coefficients * signs)[::-1]
        # All places are known up to 8 u, relatively, and |p'| <= sum k^2 |c_k| on [-1, 1].
        steepness = np.abs(coefficients) @ np.arange(coefficients.shape[1]) ** 2.0
        widths = np.log1p((stops - starts) / starts)
        moved = 32 * UNIT * steepness / np.where(steepness > 0.0, widths, 1.0)
        reach = np.maximum(moved[:-1], moved[1:])
        return PiecewisePolynomial(
            starts, stops, coefficients, dual.errors[::-1] + moved,
            dual.gap_lower[::-1] - reach, dual.gap_upper[::-1] + reach,
            name=self.name, scale="log",
        )  # fmt: skip

    def _reflected_steps(self, dual: PiecewiseFunction, low: float, high: float) -> DualFunction:
        """Reflect constant pieces; each keeps the values of C whose lam lies inside of it."""
        starts = np.clip(self._nudged(dual.stops, dual.stops, np.inf), low, high)[::-1]
        stops = np.clip(self._nudged(dual.starts, dual.starts, 0.0), low, high)[::-1]
        starts[0], stops[-1] = low, high
        kept = np.flatnonzero(starts <= stops)
        values = [int(value) for value in dual.numerators[::-1]]
        lower = [int(value) for value in dual.gap_lower[::-1]]
        upper = [int(value) for value in dual.gap_upper[::-1]]
        gaps = list(zip(kept[:-1].tolist(), kept[1:].tolist(), strict=True))
        # A piece that no double C belongs to becomes a part of the gap around it.
        return PiecewiseFunction(
            starts[kept],
            stops[kept],
            [values[piece] for piece in kept],
            [min([*lower[a:b], *values[a + 1 : b]]) for a, b in gaps],
            [max([*upper[a:b], *values[a + 1 : b]]) for a, b in gaps],
            dual.denominator,
            self.name,
        )

    def _nudged(self, lams: FloatArray, bound: FloatArray, direction: float) -> FloatArray:
        """Return values of C whose lam is on the right side of a bound, as close as possible.

        Upwards, lam is at most the bound; downwards, it is at least the bound.
        """
        values = 1.0 / (self.factor * lams)
        for _ in range(MOST_NUDGES):
            found = 1.0 / (self.factor * values)
            wrong = found > bound if direction > 0.0 else found < bound
            if not wrong.any():
                return values
            values = np.where(wrong, np.nextafter(values, direction), values)
        raise AssertionError("a few units in the last place make up for rounding")
