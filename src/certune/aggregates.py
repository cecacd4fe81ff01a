"""What is maximised over instances: their mean, the worst of them, a quantile, or a tail mean.

All of these look at utilities from the worst on, and at a *share* of the total weight of the
instances. A quantile is the utility at which that share is reached, the conditional value at risk
(CVaR) the mean utility within it; the minimum is the quantile of the smallest share, the mean the
CVaR of the whole. Each is non-decreasing in every utility, so that bounds of utilities give bounds
of it; adding a constant to all utilities adds it to the aggregate.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from certune.checks import as_list, is_number
from certune.errors import InputError, ParameterError

MOST_DIGITS = 100
_WRITTEN = re.compile(r"\d+(?:/\d+|\.\d+)?", re.ASCII)


@dataclass(frozen=True)
class Aggregate(ABC):
    """How utilities of instances become the one number that tuning maximises."""

    # Whether utilities within the share are averaged, or the one that completes it is taken.
    averages: ClassVar[bool]

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """The share of the total weight, from the worst utility on; 0 for the worst itself."""

    @property
    @abstractmethod
    def code(self) -> tuple[str, ...]:
        """Name and share, as files keep them."""

    @abstractmethod
    def words(self, score: str) -> str:
        """Return what the aggregate of a score is called."""

    def value(self, utilities: Iterable[Any], weights: Iterable[Any] | None = None) -> Fraction:
        """Return the aggregate of utilities, exactly. O(n log n).

        Parameters
        ----------
        utilities : iterable of Fraction or int
            At least one.
        weights : iterable of Fraction or int, optional
            A positive weight for each; by default all are the same.
        """
        total, missing, limit, last = self._checked(utilities, weights)
        return (total + missing * last) / limit if self.averages else last

    def last_that_counts(
        self, utilities: Iterable[Any], weights: Iterable[Any] | None = None
    ) -> Fraction:
        """Return the utility that completes the share: what is larger may change as long as it is.

        Parameters are those of `value`.
        """
        return self._checked(utilities, weights)[-1]

    def _checked(
        self, utilities: Iterable[Any], weights: Iterable[Any] | None
    ) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        try:
            known = list(utilities)
            if not known or any(utility != utility for utility in known):
                raise ValueError("there must be one at least, and no NaN")
            return self._from_the_worst(known, weights)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"utilities and weights must be finite numbers, and as many of each: {error}"
            ) from None

    def _from_the_worst(
        self, known: list[Any], weights: Iterable[Any] | None
    ) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Return the weighted sum before the share is complete, what is missing, share and end."""
        pairs = sorted(zip(known, [1] * len(known) if weights is None else weights, strict=True))
        limit = self.share * sum(weight for _, weight in pairs)
        reached, total = Fraction(0), Fraction(0)
        utility: Any = None
        for utility, weight in pairs:
            if reached + weight >= limit:
                break
            reached += weight
            total += weight * utility
        return total, limit - reached, limit, Fraction(utility)


@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean utility, ``aggregate="mean"``."""

    averages: ClassVar[bool] = True

    @property
    def share(self) -> Fraction:
        """Everything."""
        return Fraction(1)

    @property
    def code(self) -> tuple[str, ...]:
        """The name."""
        return ("mean",)

    def words(self, score: str) -> str:
        """Return ``mean ...``."""
        return f"mean {score}"


@dataclass(frozen=True)
class Minimum(Aggregate):
    """The utility of the worst instance, ``aggregate="min"``."""

    averages: ClassVar[bool] = False

    @property
    def share(self) -> Fraction:
        """As little as there is."""
        return Fraction(0)

    @property
    def code(self) -> tuple[str, ...]:
        """The name."""
        return ("min",)

    def words(self, score: str) -> str:
        """Return ``worst ...``."""
        return f"worst {score}"


@dataclass(frozen=True, repr=False)
class _OfAShare(Aggregate):
    """An aggregate of the worst instances, as many as have a share q of the weight."""

    q: Any
    name: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", _share(type(self).__name__, self.q, "min"))

    @property
    def share(self) -> Fraction:
        """The share q."""
        return Fraction(self.q)

    @property
    def code(self) -> tuple[str, ...]:
        """The name and the share."""
        return self.name, str(self.q)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.q})"


@dataclass(frozen=True, repr=False)
class Quantile(_OfAShare):
    """The utility that all but the worst instances reach.

    Instances are ordered from the worst to the best, and the utility is taken at which their
    weights first add up to the share `q` of the total weight. So instances of a share of at least
    ``1 - q`` are at least as good, and ``Quantile(0.5)`` is the lower median. Where lower scores
    are better, as for a log-loss, worst means largest: ``Quantile(0.1)`` is then the 90% quantile
    of the losses.

    Parameters
    ----------
    q : float, int, Fraction or str
        The share, above 0 and at most 1. A float is the decimal number that it is written as: 0.1
        is one tenth.

    Examples
    --------
    >>> Quantile(0.2).value([5, 1, 4, 2, 3])
    Fraction(1, 1)
    >>> Quantile(0.21).value([5, 1, 4, 2, 3])
    Fraction(2, 1)
    """

    averages: ClassVar[bool] = False
    name: ClassVar[str] = "quantile"

    def words(self, score: str) -> str:
        """Return ``... at the 10% quantile from the worst``."""
        return f"{score} at the {_percent(self.share)} quantile from the worst"


@dataclass(frozen=True, repr=False)
class CVaR(_OfAShare):
    """The mean utility of the worst instances: conditional value at risk, or expected shortfall.

    Instances are ordered from the worst to the best, and the mean is taken of those whose weights
    add up to the share `q` of the total weight; of the last one only what completes the share
    counts. ``CVaR(1)`` is the mean, and a share of one instance or less gives the worst. Worst is
    meant in the direction of the score: for a log-loss, the largest.

    Parameters
    ----------
    q : float, int, Fraction or str
        The share, above 0 and at most 1. A float is the decimal number that it is written as: 0.1
        is one tenth.

    Examples
    --------
    >>> CVaR(0.4).value([5, 1, 4, 2, 3])
    Fraction(3, 2)
    >>> CVaR(0.5).value([5, 1, 4, 2, 3])
    Fraction(9, 5)
    """

    averages: ClassVar[bool] = True
    name: ClassVar[str] = "CVaR"

    def words(self, score: str) -> str:
        """Return ``mean ... of the worst 10%``."""
        return f"mean {score} of the worst {_percent(self.share)}"


def aggregate_from(code: Sequence[str]) -> Aggregate:
    """Return the aggregate that files keep as `code`.

    Raises
    ------
    ParameterError
        If this is none.
    """
    match tuple(code):
        case ("mean",):
            return Mean()
        case ("min",):
            return Minimum()
        case ("quantile", q):
            return Quantile(q)
        case ("CVaR", q):
            return CVaR(q)
    raise ParameterError(f"there is no aggregate {code!r}.")


def aggregate_of(text: str) -> Aggregate:
    """Return the aggregate that a text names, on the command line and in files.

    Parameters
    ----------
    text : str
        ``mean``, ``min``, ``quantile:q`` or ``cvar:q`` with a share q, such as ``cvar:0.1``.

    Examples
    --------
    >>> aggregate_of("cvar:0.1")
    CVaR(1/10)
    """
    name, colon, share = text.strip().partition(":")
    plain: dict[str, Aggregate] = {"mean": Mean(), "min": Minimum()}
    shared: dict[str, type[_OfAShare]] = {"quantile": Quantile, "cvar": CVaR}
    if not colon and name in plain:
        return plain[name]
    if not colon or name not in shared:
        raise ParameterError(
            f"aggregate must be mean, min, quantile:q or cvar:q with a share q such as 0.1, got "
            f"{text!r}"
        )
    try:
        q = float(share)
    except ValueError:
        raise ParameterError(
            f"aggregate {name} needs a share, such as {name}:0.1, got {text!r}"
        ) from None
    return shared[name](q)


@dataclass(frozen=True)
class Criterion:
    """What tuning maximises: an aggregate, with a weight for each instance.

    Attributes
    ----------
    aggregate : Aggregate
        The aggregate.
    weights : tuple of int or None
        Positive weights of the instances, in their order, without a common divisor; None if all
        are the same.
    """

    aggregate: Aggregate = Mean()
    weights: tuple[int, ...] | None = None

    @classmethod
    def checked(cls, aggregate: object, weights: object, n_instances: int) -> Criterion:
        """Return the criterion that a user asks for.

        Raises
        ------
        ParameterError
            If there is no such aggregate.
        InputError
            If weights are not positive numbers, one for each instance.
        """
        named: dict[object, Aggregate] = {"mean": Mean(), "min": Minimum()}
        found = named.get(aggregate) if isinstance(aggregate, str) else aggregate
        if not isinstance(found, Aggregate):
            raise ParameterError(
                'aggregate must be "mean", "min", certune.Quantile(q) or certune.CVaR(q), got '
                f"{aggregate!r}."
            )
        return cls(found, None if weights is None else checked_weights(weights, n_instances))

    @property
    def is_plain(self) -> bool:
        """Whether this is the mean without weights."""
        return isinstance(self.aggregate, Mean) and self.weights is None

    def value(self, utilities: Sequence[Any]) -> Fraction:
        """Return the aggregate of the utilities of all instances, exactly."""
        return self.aggregate.value(utilities, self.weights)

    def last_that_counts(self, utilities: Sequence[Any]) -> Fraction:
        """Return the utility from which on larger ones do not count."""
        return self.aggregate.last_that_counts(utilities, self.weights)

    def of(self, numbers: Sequence[int]) -> Criterion:
        """Return the criterion for some of the instances, in the given order."""
        if self.weights is None:
            return self
        return Criterion(self.aggregate, _coprime([self.weights[n] for n in numbers]))

    def units(self, n_instances: int) -> tuple[list[int], int]:
        """Return whole weights of instances, and the limit up to which they count.

        Weights and limit are scaled by the denominator of the share, so that the limit is
        ``share * sum(weights)`` and whole; at least 1, with which the worst instance is found.
        """
        weights = [1] * n_instances if self.weights is None else list(self.weights)
        top, bottom = self.aggregate.share.as_integer_ratio()
        scaled = [bottom * weight for weight in weights]
        return scaled, max(1, top * sum(weights))

    def words(self, score: str) -> str:
        """Return what the aggregate of a score is called."""
        text = self.aggregate.words(score)
        return text if self.weights is None else f"{text}, weighted"


def checked_weights(weights: object, n_instances: int) -> tuple[int, ...] | None:
    """Return weights as whole numbers without a common divisor; None if all are the same."""
    listed = as_list("weights", weights, "pass one weight for each instance")
    if len(listed) != n_instances:
        raise InputError(
            f"weights must be one positive number for each of the {n_instances} instances, got "
            f"{len(listed)}."
        )
    exact = [_decimal(weight) for weight in listed]
    for number, weight in enumerate(exact):
        if weight is None or weight <= 0:
            raise InputError(
                f"weights must be positive numbers, got {listed[number]!r} for instance {number}: "
                "leave out instances that should not count."
            )
    known = [weight for weight in exact if weight is not None]
    if len(set(known)) == 1:
        return None
    bottom = math.lcm(*(weight.denominator for weight in known))
    if max(known) * bottom >= 10**MOST_DIGITS:
        raise InputError(
            f"weights need more than {MOST_DIGITS} digits as whole numbers in the same proportion: "
            "round them."
        )
    return _coprime([int(weight * bottom) for weight in known])


def _coprime(weights: Sequence[int]) -> tuple[int, ...] | None:
    divisor = math.gcd(*weights)
    found = tuple(weight // divisor for weight in weights)
    return None if len(set(found)) == 1 else found


def _share(what: str, q: object, remedy: str) -> Fraction:
    found = _decimal(q)
    if found is None or not 0 < found <= 1:
        raise ParameterError(
            f"{what} needs a share q of the instances, above 0 and at most 1, got {q!r}: "
            f'for the worst instance use aggregate="{remedy}".'
        )
    return found


def _decimal(value: Any) -> Fraction | None:
    """Return a number exactly, a float as the decimal number that it is written as."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        known = len(value) <= MOST_DIGITS and _WRITTEN.fullmatch(value) is not None
    else:
        known = is_number(value)
    try:
        return Fraction(repr(value) if isinstance(value, float) else value) if known else None
    except (TypeError, ZeroDivisionError, ValueError, OverflowError):  # no finite number
        return None


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.6g}%"
