"""How well predicted clusters agree with the target, as an exact rational number.

Utilities that are counts or ratios of counts are computed in integers, so that averages over
instances are exact and ties at the optimum are real ties. A utility that is a float is taken as
the dyadic rational the float stands for.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from numbers import Rational
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from certune.checks import as_fraction
from certune.deadline import preparing
from certune.dual.integers import over_common_denominator
from certune.errors import InputError, ParameterError
from certune.kernels.linkage import heaviest_matching, matched_points
from certune.scores import Score

IntArray: TypeAlias = NDArray[np.int64]
IntegerRatios: TypeAlias = tuple[list[int], int]  # numerators and their common denominator


@dataclass(frozen=True)
class Utility:
    """A measure of agreement between two partitions, larger is better.

    Parameters
    ----------
    name : str
        Shown in messages and reports.
    function : callable
        ``function(target, labels)`` gives a finite real number; both arguments are int64 arrays of
        codes 0, 1, ..., one for every point.
    low, high : Fraction, default 0 and 1
        Range of the values, also used to bound the utility where it is not known.
    counts : callable, optional
        ``counts(target, partitions)`` gives the values of all rows of an int64 array at once, as
        integers and their common positive denominator. Without it ``function`` is called for each
        of them.

    Examples
    --------
    >>> import numpy as np
    >>> exact = Utility("all right", lambda target, labels: float((target == labels).all()))
    >>> exact.score(np.array([0, 0, 1]), np.array([0, 0, 1]))
    Fraction(1, 1)
    """

    name: str
    function: Callable[[IntArray, IntArray], Any]
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    counts: Callable[[IntArray, IntArray], IntegerRatios] | None = None

    @property
    def measure(self) -> Score:
        """The score that tables, pictures and reports show; a function without a name has none."""
        return Score() if self.name == "<lambda>" else Score(TITLES.get(self.name, self.name))

    def score(self, target: IntArray | None, labels: IntArray) -> Fraction:
        """Exact utility of predicted labels.

        Parameters
        ----------
        target : int64 array (n,)
            Codes of the true clusters; None raises.
        labels : int64 array (n,)
            Codes of the predicted clusters, in any number.

        Returns
        -------
        Fraction
            The value; a float result is converted without rounding.

        Raises
        ------
        InputError
            Without a target, for arrays of different lengths, and if the function returns anything
            but a finite number in the range.
        """
        value = self.function(self._target(target, len(labels)), labels)
        exact = value if isinstance(value, Fraction) else self._exact(value)
        self._check_range(value, *exact.as_integer_ratio())
        return exact

    def scores(self, target: IntArray | None, partitions: IntArray) -> IntegerRatios:
        """Exact utilities of many partitions of the same points.

        Parameters
        ----------
        target : int64 array (n,)
            Codes of the true clusters; None raises.
        partitions : int64 array (r, n)
            Codes of the predicted clusters, a partition in each row.

        Returns
        -------
        numerators : list of int
            The values of the rows times the denominator.
        denominator : int
            Positive, the same for all.

        Raises
        ------
        InputError
            As `score`.

        Examples
        --------
        >>> rows = np.array([[0, 0, 1], [1, 0, 0]])
        >>> UTILITIES["hamming"].scores(np.array([0, 0, 1]), rows)
        ([3, 2], 3)
        """
        if self.counts is None:
            values = [self.score(target, labels.copy()) for labels in partitions]
            return over_common_denominator(values, "utilities")
        numerators, denominator = self.counts(self._target(target, partitions.shape[1]), partitions)
        for top in sorted({*numerators}):
            self._check_range(f"{top}/{denominator}", top, denominator)
        return numerators, denominator

    def _target(self, target: IntArray | None, n_labels: int) -> IntArray:
        if target is None:
            raise InputError(
                f"utility {self.name!r} compares clusters with a target, but the instance has "
                "none: pass target= to ClusteringInstance"
            )
        if len(target) != n_labels or not n_labels:
            raise InputError(
                f"utility {self.name!r} needs one target and one label for every point, got "
                f"{len(target)} targets and {n_labels} labels"
            )
        return target

    def _check_range(self, value: Any, top: int, bottom: int) -> None:
        # Integer products are several times faster than comparisons of fractions.
        low, high = self.low, self.high
        if not (
            low.numerator * bottom <= top * low.denominator
            and top * high.denominator <= high.numerator * bottom
        ):
            raise InputError(
                f"utility {self.name!r} returned {value!r}, expected a value from {low} to "
                f"{high}: state its range, Utility(name, function, low=..., high=...)"
            )

    def _exact(self, value: Any) -> Fraction:
        if isinstance(value, Rational):
            return as_fraction(value)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not isfinite(number):
            raise InputError(
                f"utility {self.name!r} returned {value!r}, expected a finite real number: "
                "handle such partitions in the function"
            )
        return Fraction(number)


def contingency(target: IntArray, labels: IntArray) -> IntArray:
    """Count the points in every pair (target class, predicted cluster). O(n)."""
    n_classes, n_clusters = int(target.max()) + 1, int(labels.max()) + 1
    counts = np.bincount(target * n_clusters + labels, minlength=n_classes * n_clusters)
    return counts.reshape(n_classes, n_clusters)


def hamming(target: IntArray, labels: IntArray) -> Fraction:
    """Fraction of points that are right under the best matching of clusters to classes.

    Clusters left over, because there are more of them than classes or the other way round, count
    as wrong. O(n + k^3) for k classes and clusters.

    Examples
    --------
    >>> import numpy as np
    >>> hamming(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 2]))
    Fraction(4, 5)
    """
    table = contingency(target, labels)
    wide = table if table.shape[0] <= table.shape[1] else table.T
    return Fraction(int(heaviest_matching(np.ascontiguousarray(wide))), len(target))


def matched_counts(target: IntArray, partitions: IntArray) -> IntegerRatios:
    """`hamming` of every row of ``partitions``: points that are right, and the number of points."""
    return matched_points(target, partitions).tolist(), len(target)


def adjusted_rand(target: IntArray, labels: IntArray) -> Fraction:
    """Rand index corrected for chance, from -1/2 to 1; equal partitions give 1.

    The value of ``sklearn.metrics.adjusted_rand_score`` without rounding. O(n + k^2).

    Examples
    --------
    >>> import numpy as np
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    Fraction(4, 7)
    """
    table = contingency(target, labels)
    together = _n_pairs(table)
    in_target, in_labels = _n_pairs(table.sum(axis=1)), _n_pairs(table.sum(axis=0))
    all_pairs = len(target) * (len(target) - 1) // 2
    if together == in_target == in_labels:
        return Fraction(1)
    expected_times_pairs = in_target * in_labels
    return Fraction(
        2 * (together * all_pairs - expected_times_pairs),
        (in_target + in_labels) * all_pairs - 2 * expected_times_pairs,
    )


def _n_pairs(sizes: IntArray) -> int:
    """Count unordered pairs within groups of the given sizes."""
    return int((sizes * (sizes - 1)).sum()) // 2


def normalized_mutual_info(target: IntArray, labels: IntArray) -> float:
    """Mutual information over the mean of the two entropies, from 0 to 1.

    The value of ``sklearn.metrics.normalized_mutual_info_score``, brought back to [0, 1] where
    rounding leaves it. A float, hence exact only as a number, not as a formula.
    """
    with preparing():
        from sklearn.metrics import normalized_mutual_info_score

    return min(1.0, max(0.0, float(normalized_mutual_info_score(target, labels))))


UTILITIES = {
    "hamming": Utility("hamming", hamming, counts=matched_counts),
    "adjusted-rand": Utility("adjusted-rand", adjusted_rand, low=Fraction(-1, 2)),
    "normalized-mutual-info": Utility("normalized-mutual-info", normalized_mutual_info),
}
# What people call them; not a part of the utility, whose fingerprint it would change.
TITLES = {
    "hamming": "clustering accuracy",
    "adjusted-rand": "adjusted Rand index",
    "normalized-mutual-info": "normalized mutual information",
}


def utility_from(spec: str | Utility | Callable[[IntArray, IntArray], Any]) -> Utility:
    """Find the utility meant by a name, a function or a utility.

    Parameters
    ----------
    spec : str, callable or Utility
        A name in ``UTILITIES``; or a function of (target codes, labels) with values in [0, 1]; or
        a ``Utility``, which can state another range.

    Returns
    -------
    Utility

    Raises
    ------
    ParameterError
        For an unknown name or another kind of object.

    Examples
    --------
    >>> utility_from("hamming").name
    'hamming'
    """
    if isinstance(spec, Utility):
        return spec
    if isinstance(spec, str) and spec in UTILITIES:
        return UTILITIES[spec]
    if callable(spec):
        return Utility(str(getattr(spec, "__name__", type(spec).__name__)), spec)
    close = difflib.get_close_matches(str(spec), UTILITIES, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "pass a name, a function or a Utility"
    raise ParameterError(
        f"unknown utility {spec!r}, expected one of {', '.join(UTILITIES)} or a function: {hint}"
    )
