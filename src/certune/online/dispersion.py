"""Is a sequence of utility functions dispersed?

Regret vanishes if discontinuities do not pile up (``def:f-point-dispersed``); the converse is not
true, since a pile at a place that costs nothing, or whose better side a learner soon knows, is
harmless.  For piecewise constant functions of one parameter the definition asks for D(T, width),
the largest number of the first T functions that change within one window; the theorems of the
paper promise D(T, width) = O~(width T + sqrt(T)).  D is computed exactly here, and compared with
that form.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from certune.cards import Carded
from certune.checks import as_array, as_list
from certune.dual import DualFunction
from certune.errors import InputError, ParameterError
from certune.online.comparison import Comparison
from certune.online.discontinuities import Discontinuities, Window
from certune.report.online import dispersion_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Under dispersion D(T, c / sqrt(T)) grows like sqrt(T) up to logarithms, without it like T. The
# fitted exponent says so if it is on one side of the middle, with room for logarithms.
DISPERSED_BELOW, CONCENTRATED_ABOVE = 0.7, 0.85
# Evenly spread discontinuities of n functions hardly meet in pairs within c / n^2. That many
# functions in so narrow a window are a pile, and its growth is fitted from an eighth of them on.
SMALLEST_PILE = 5
PILE_GROWTH = 8
FEWEST_FUNCTIONS = 30
N_WIDTHS = 13
NARROWEST_SHARE = 2.0**-24
SCALES = ("linear", "log")


class Verdict(Enum):
    """What the dispersion curve says; each value is the message for it."""

    DISPERSED = "the discontinuities spread out, which suffices for vanishing regret"
    CONCENTRATED = "the discontinuities pile up: regret may vanish, but this does not promise it"
    UNCLEAR = "the curve lies between both forms: more functions are needed"
    TOO_FEW = f"fewer than {FEWEST_FUNCTIONS} functions say nothing about growth"


@dataclass(frozen=True, repr=False)
class Dispersion(Carded):
    """The dispersion curve of a sequence of functions.

    Attributes
    ----------
    sizes : int array
        Numbers T of functions, the first T of the sequence each; the last is the whole sequence.
    widths : float array
        Widths of the windows, increasing; all places and widths are on the scale that was chosen.
    at_least, at_most : int array (sizes, widths)
        Exact bounds of D(T, width), equal wherever discontinuities are enclosed tightly enough.
        Along several lines: the largest over the lines.
    windows : tuple of Window
        A worst window of every width, for the whole sequence.
    lines : tuple of int
        The line on which each of these windows lies.
    exponent : float
        Fitted slope of log D(T, c / sqrt(T)) against log T, c the range of nine tenths of the
        discontinuities over their number a function; NaN if there are too few functions.
    pile : Window
        A worst window of width c / n^2, n the number of functions; evenly spread discontinuities
        hardly meet in pairs there.
    pile_exponent : float
        Fitted slope of log D(T, c / n^2) against log T, for T from n/8 on; NaN if there are too few
        functions or fewer than 5 of them in `pile`.
    rate, root : float
        Non-negative least squares fit D(T, width) = rate * width * T + root * sqrt(T).
    verdict : Verdict
        What follows.
    """

    sizes: IntArray
    widths: FloatArray
    at_least: IntArray
    at_most: IntArray
    windows: tuple[Window, ...]
    lines: tuple[int, ...]
    exponent: float
    pile: Window
    pile_exponent: float
    rate: float
    root: float
    verdict: Verdict

    @property
    def n_functions(self) -> int:
        """Length of the sequence."""
        return int(self.sizes[-1])

    @property
    def is_exact(self) -> bool:
        """Whether D is known exactly for all sizes and widths."""
        return bool((self.at_least == self.at_most).all())

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in words."""
        worst = self.windows[0]
        narrow = (
            f"{worst.at_most} of {self.n_functions} functions "
            f"{'changes' if worst.at_most == 1 else 'change'} in the worst window of width "
            f"{worst.high - worst.low:.2g}, which starts at {worst.low:.6g}"
            if worst.at_most
            else f"none of the {self.n_functions} functions changes"
        )
        if self.verdict is Verdict.TOO_FEW:
            return narrow
        text = f"D(T, c/sqrt(T)) grows like T^{self.exponent:.2f}; {narrow}"
        if self.pile_exponent > DISPERSED_BELOW:
            width = self.pile.high - self.pile.low
            place = f"within {width:.2g} of" if width > 0 else "at"
            text += (
                f"; {self.pile.at_most} change {place} {self.pile.low:.6g}, a number that grows "
                f"like T^{self.pile_exponent:.2f}"
            )
        return text

    def compare(self, form: Callable[[int, float], float]) -> Comparison:
        """Hold D(T, width) against a proved form f(T, width), for all sizes and widths.

        Parameters
        ----------
        form : callable
            A dispersion function: one of `certune.online.forms`, which have the constants of the
            theorems, or a function of T and width.

        Returns
        -------
        Comparison
            Both, and their quotients; as text, a table.
        """
        if not callable(form):
            raise ParameterError(
                f"compare needs a function of T and width, such as one of certune.online.forms; "
                f"got {form!r}"
            )
        bounds = [[form(int(size), float(width)) for width in self.widths] for size in self.sizes]
        return Comparison(
            str(getattr(form, "label", "the given form")),
            tuple(getattr(form, "assumptions", ())),
            self.sizes,
            self.widths,
            self.at_most,
            np.array(bounds, dtype=np.float64),
            str(getattr(form, "note", "")),
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the curve and its fitted form.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file; the suffix decides on the format.
        """
        title = self.verdict.name
        if self.verdict is not Verdict.TOO_FEW:
            title += f": D(T, c/√T) grows like T^{self.exponent:.2f}"
        spread, roots = np.outer(self.sizes, self.widths), np.sqrt(self.sizes)[:, None]
        return dispersion_figure(
            self.sizes,
            self.widths,
            self.at_most,
            self.rate * spread + self.root * roots,
            title=title,
            path=path,
        )

    def __str__(self) -> str:
        return f"{self.verdict.name}: {self.verdict.value}; {self.reason}"


def dispersion(
    duals: Sequence[Any], widths: npt.ArrayLike | None = None, scale: str = "linear"
) -> Dispersion:
    """Measure how the discontinuities of a sequence of functions spread out.

    Parameters
    ----------
    duals : sequence of DualFunction, or sequence of such sequences
        The utility functions in the order of their instances; for several parameters one sequence
        for each axis-aligned segment that is looked at, all of the same length. The curve is then
        the largest over these segments.
    widths : array-like of float, optional
        Widths of the windows, by default 13 from 2^-24 of the domain to all of it.
    scale : {"linear", "log"}, default="linear"
        "log" measures windows in the logarithm of the parameter, as learners do for a parameter
        that is declared on a logarithmic scale (`certune.LogReal`).

    Returns
    -------
    Dispersion
        The exact curve D(T, width), its growth and a verdict.

    Raises
    ------
    InputError
        If there is no function, or sequences have different lengths.

    Notes
    -----
    O(B log B) for B discontinuities, and O(B) for each width and size.

    Examples
    --------
    >>> from certune.dual import PiecewiseFunction
    >>> steps = [
    ...     PiecewiseFunction.from_values([0, x], [x - 1e-12, 1], [0, 1], [0], [1])
    ...     for x in (0.25, 0.5, 0.5, 0.875)
    ... ]
    >>> dispersion(steps, widths=[0.1, 0.3]).at_most[-1]
    array([2, 3])
    """
    listed = _lines(duals)
    collected = [Discontinuities.of(line) for line in listed]
    domains = _domains(listed)
    if scale not in SCALES or (scale == "log" and not all(low > 0 for low, _ in domains)):
        raise ParameterError(
            f"scale must be one of {SCALES}, 'log' for positive parameters; got {scale!r} on "
            f"{', '.join(f'[{low!r}, {high!r}]' for low, high in domains)}"
        )
    if scale == "log":
        collected = [line.logarithms() for line in collected]
        domains = [(math.log(low), math.log(high)) for low, high in domains]
    longest = max(high - low for low, high in domains)
    return measured(
        collected, default_widths(longest) if widths is None else _checked_widths(widths)
    )


def measured(collected: list[Discontinuities], widths: FloatArray) -> Dispersion:
    """Measure how discontinuities along every line spread out, in windows of these widths."""
    sizes = _sizes(collected[0].n_functions)
    windows = [
        [[part.worst_window(width) for part in parts] for width in widths.tolist()]
        for parts in ([line.prefix(size) for line in collected] for size in sizes.tolist())
    ]
    at_least = np.array([[max(w.at_least for w in row) for row in rows] for rows in windows])
    at_most = np.array([[max(w.at_most for w in row) for row in rows] for rows in windows])
    worst = [int(np.argmax([window.at_most for window in row])) for row in windows[-1]]
    exponent = _exponent(collected, sizes)
    pile, pile_exponent = _pile(collected, sizes)
    rate, root = _fit(sizes, widths, at_most)
    return Dispersion(
        sizes=sizes,
        widths=widths,
        at_least=at_least,
        at_most=at_most,
        windows=tuple(row[i] for row, i in zip(windows[-1], worst, strict=True)),
        lines=tuple(worst),
        exponent=exponent,
        pile=pile,
        pile_exponent=pile_exponent,
        rate=rate,
        root=root,
        verdict=_verdict(exponent, pile_exponent),
    )


def _lines(duals: Sequence[Any]) -> list[list[DualFunction]]:
    if isinstance(duals, (DualFunction, str, Mapping)) or not isinstance(duals, Iterable):
        raise InputError(f"dispersion needs a sequence of functions, got {duals!r}")
    listed = as_list("duals", duals)
    if listed and (isinstance(listed[0], DualFunction) or not isinstance(listed[0], Iterable)):
        listed = [listed]
    lines = [
        as_list("functions along a segment", line, "expected a sequence of functions")
        for line in listed
    ]
    if not lines or not lines[0] or len({len(line) for line in lines}) > 1:
        raise InputError(
            "dispersion needs at least one function, and as many along every segment; got "
            f"{[len(line) for line in lines]!r} functions"
        )
    for line in lines:
        for dual in line:
            if not isinstance(dual, DualFunction):
                raise InputError(
                    f"expected PiecewiseFunction or PiecewisePolynomial objects, got {dual!r}; the "
                    "functions of instances are family.dual(instance)"
                )
    return lines


def _domains(lines: list[list[DualFunction]]) -> list[tuple[float, float]]:
    for line in lines:
        ends = {(dual.low, dual.high) for dual in line}
        if len(ends) > 1:
            raise InputError(
                f"functions along one segment need one domain, got {sorted(ends)[:2]!r}; use "
                "restrict to cut them to a common one"
            )
    return [(line[0].low, line[0].high) for line in lines]


def default_widths(length: float) -> FloatArray:
    """Return widths of windows from a small share of a length to all of it."""
    return length * np.geomspace(NARROWEST_SHARE, 1.0, N_WIDTHS)


def _checked_widths(widths: npt.ArrayLike) -> FloatArray:
    try:
        chosen = np.unique(as_array("widths", widths))
    except InputError:
        chosen = np.empty(0)
    if chosen.size == 0 or not (np.isfinite(chosen) & (chosen >= 0)).all():
        raise ParameterError(f"widths must be finite numbers of at least 0, got {widths!r}")
    return chosen


def _sizes(n_functions: int) -> IntArray:
    smallest = min(10, n_functions)
    n_sizes = 1 + max(0, math.ceil(4 * math.log2(n_functions / smallest)))
    return np.unique(np.geomspace(smallest, n_functions, n_sizes).round().astype(np.int64))


def _exponent(collected: list[Discontinuities], sizes: IntArray) -> float:
    """Fit the growth of D(T, c / sqrt(T)), the largest over lines."""
    if sizes[-1] < FEWEST_FUNCTIONS:
        return math.nan
    units = [_unit(line) for line in collected]
    counts = [
        max(
            line.prefix(size).worst_window(unit / math.sqrt(size)).at_most
            for line, unit in zip(collected, units, strict=True)
        )
        for size in sizes.tolist()
    ]
    return _slope(sizes, counts)


def _slope(sizes: IntArray, counts: list[int]) -> float:
    slope, _ = np.polyfit(np.log(sizes), np.log(np.maximum(counts, 1)), 1)
    return float(slope)


def _pile(collected: list[Discontinuities], sizes: IntArray) -> tuple[Window, float]:
    """Return the worst window of width c / n^2, over lines, and the growth of its count."""
    widths = [_unit(line) / float(sizes[-1]) ** 2 for line in collected]

    def worst(size: int) -> Window:
        parts = [line.prefix(size) for line in collected]
        windows = [part.worst_window(w) for part, w in zip(parts, widths, strict=True)]
        return max(windows, key=lambda window: window.at_most)

    pile = worst(int(sizes[-1]))
    if sizes[-1] < FEWEST_FUNCTIONS or pile.at_most < SMALLEST_PILE:
        return pile, math.nan
    late = sizes[sizes * PILE_GROWTH >= sizes[-1]]
    return pile, _slope(late, [worst(size).at_most for size in late.tolist()])


def _unit(line: Discontinuities) -> float:
    """Return c: the range of nine tenths of the discontinuities, over their number a function.

    With it a window of width c / sqrt(T) holds about sqrt(T) of evenly spread discontinuities,
    whatever the scale of the parameter is.
    """
    if line.low.size == 0:
        return 0.0
    first, last = np.quantile(0.5 * (line.low + line.high), (0.05, 0.95))
    return float(last - first) / max(line.low.size / line.n_functions, 1.0)


def _fit(sizes: IntArray, widths: FloatArray, counts: IntArray) -> tuple[float, float]:
    from scipy.optimize import nnls

    spread = np.outer(sizes, widths).ravel()
    roots = np.repeat(np.sqrt(sizes), widths.size)
    (rate, root), _ = nnls(np.column_stack((spread, roots)), counts.ravel().astype(np.float64))
    return float(rate), float(root)


def _verdict(exponent: float, pile_exponent: float) -> Verdict:
    if math.isnan(exponent):
        return Verdict.TOO_FEW
    growth = exponent if math.isnan(pile_exponent) else max(exponent, pile_exponent)
    if growth <= DISPERSED_BELOW:
        return Verdict.DISPERSED
    return Verdict.CONCENTRATED if growth >= CONCENTRATED_ABOVE else Verdict.UNCLEAR
