"""Dispersion functions that are proved, with all constants, to hold measured ones against.

Independent functions that change within a window of width w with a probability of at most p(w),
and have at most P discontinuities each, satisfy

    E D(T, w) <= T p(w) + sqrt(2 T ln(C(TP + 1, 2) + 1))

(``thm:VC-bound-Pfaffian`` for one parameter).  The theorems of the paper differ in p and P; pass
one of the forms here to `certune.Dispersion.compare`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from certune.errors import ParameterError
from certune.pfaffian.bounds.dispersion import (
    discontinuity_deviation,
    line_points,
    linkage_window_probability,
    shattering_constant,
)
from certune.pfaffian.bounds.product_dispersion import (
    product_discontinuities,
    product_window_probability,
)
from certune.pfaffian.structure import whole_number


@dataclass(frozen=True)
class Form:
    """A dispersion function f(T, w) with its constants.

    Attributes
    ----------
    label : str
        LaTeX label of the theorem.
    assumptions : tuple of str
        What it needs.
    window_probability : callable
        p: bounds the probability that a function changes within a window of a given width.
    n_discontinuities : int
        P: bounds the discontinuities of a function.
    note : str
        Other constants of the theorem, in words.
    """

    label: str
    assumptions: tuple[str, ...]
    window_probability: Callable[[float], float]
    n_discontinuities: int
    note: str = ""

    def __call__(self, n_functions: int, width: float) -> float:
        """Return min(T, T p(w) + deviation), a bound of E D(T, w).

        Parameters
        ----------
        n_functions : int
            T.
        width : float
            w, the width of the windows.
        """
        if not width >= 0:
            raise ParameterError(f"the width of a window must be at least 0, got {width!r}")
        chance = min(1.0, self.window_probability(width)) if width > 0 else 0.0
        deviation = discontinuity_deviation(_plain(n_functions), self.n_discontinuities).value
        return min(float(n_functions), n_functions * chance + deviation)


def independent_functions(
    n_discontinuities: int, window_probability: Callable[[float], float]
) -> Form:
    """``thm:VC-bound-Pfaffian`` for functions of which P and p are known.

    Parameters
    ----------
    n_discontinuities : int
        P, at least 1.
    window_probability : callable
        p, a function of the width of a window.

    Examples
    --------
    >>> uniform = independent_functions(1, lambda width: width)
    >>> round(uniform(1000, 0.01), 1)
    172.0
    """
    if not callable(window_probability):
        raise ParameterError(
            f"window_probability must be a function of the width, got {window_probability!r}"
        )
    n_discontinuities = whole_number("n_discontinuities", _plain(n_discontinuities), 1)
    return Form(
        "thm:VC-bound-Pfaffian",
        ("the functions are independent", "one parameter"),
        window_probability,
        n_discontinuities,
    )


def pfaffian_boundaries(
    n_boundaries: int,
    chain_length: int,
    chain_degree: int,
    function_degree: int,
    window_probability: Callable[[float], float],
) -> Form:
    """``thm:VC-bound-Pfaffian`` for boundaries that are Pfaffian functions of one parameter.

    Parameters
    ----------
    n_boundaries : int
        Number of boundary functions of one utility function.
    chain_length, chain_degree, function_degree : int
        q, M and the degree of the boundary functions, see `certune.PiecewiseStructure`.
    window_probability : callable
        p, a function of the width of a window.
    """
    points = line_points(chain_length, chain_degree, function_degree)
    constant = shattering_constant(chain_length, chain_degree, function_degree)
    return Form(
        "thm:VC-bound-Pfaffian",
        ("the functions are independent", "one parameter"),
        window_probability,
        n_boundaries * points,
        f"intervals cannot shatter {constant} such boundaries (thm:alg-hyp)",
    )


def min_max_linkage(
    n_points: int, density: float, largest_distance: float, smallest_exponent: float
) -> Form:
    """``thm:linkage-dispersion``: min-max linkage with smoothed distances.

    Parameters
    ----------
    n_points : int
        n.
    density : float
        kappa: distances are independent with densities of at most this.
    largest_distance : float
        R: distances lie in [0, R].
    smallest_exponent : float
        alpha_min > 0, the lower end of the range of alpha.

    Examples
    --------
    >>> form = min_max_linkage(7, 1.0, 2.0, 0.5)
    >>> round(form(1000, 1e-7)), form(1000, 0.1)
    (296, 1000.0)
    """

    def probability(width: float) -> float:
        return linkage_window_probability(
            n_points, density, largest_distance, smallest_exponent, width
        ).value

    first = linkage_window_probability(n_points, density, largest_distance, smallest_exponent, 1.0)
    roots = comb(comb(n_points, 2) + 1, 4)
    return Form(first.label, first.assumptions, probability, roots)


def product_linkage(
    n_points: int,
    density: float,
    largest_distance: float,
    smallest_exponent: float,
    other_exponents: Sequence[float],
) -> Form:
    """``thm:linkage-dispersion-geometric``: product linkage with smoothed distances.

    Parameters
    ----------
    n_points : int
        n.
    density : float
        kappa: the distances of all metrics are independent with densities of at most this.
    largest_distance : float
        R: distances lie in [0, R].
    smallest_exponent : float
        alpha_min > 0: the moving exponent is at least this far from 0.
    other_exponents : sequence of float
        Exponents of the other metrics; the sum of all exponents must keep its sign.
    """

    def bound(width: float) -> float:
        return product_window_probability(
            n_points, density, largest_distance, smallest_exponent, other_exponents, width
        ).value

    first = product_window_probability(
        n_points, density, largest_distance, smallest_exponent, other_exponents, 1.0
    )
    return Form(first.label, first.assumptions, bound, product_discontinuities(n_points))


def random_grid(horizon: int, length: float = 1.0) -> Form:
    """``thm:logistic-dispersion``: the kinks of the interpolants of the randomised grid.

    One point is uniform in each of T^(1/4) equal intervals, so that a window of width w holds one
    of them with a probability of at most w over the length of an interval.

    Parameters
    ----------
    horizon : int
        T, which the grid is made for.
    length : float, default=1.0
        Length of the line, on the scale on which positions are drawn.
    """
    horizon = whole_number("horizon", _plain(horizon), 1)
    if not isinstance(length, (int, float, np.floating)) or not 0 < length < math.inf:
        raise ParameterError(f"length must be a positive, finite number, got {length!r}")
    n_cells = math.ceil(horizon**0.25)
    return Form(
        "thm:logistic-dispersion",
        ("kinks inside the line, drawn by the learner: no assumption on the instances",),
        lambda width: width * n_cells / length,
        n_cells,
    )


def _plain(number: int) -> int:
    """Return an integer of numpy as a Python one, anything else as it is."""
    return int(number) if isinstance(number, np.integer) else number
