"""What a family is: a parameterised algorithm together with its exact dual utility function.

A family runs on an instance at one parameter (``run``: the plain algorithm, a utility) and along
a segment of the parameter space (``dual``: the same utility as an exact function of the
parameter).  ``dual(t)`` equals ``run`` at that point, up to the `tolerance` of a family whose
utility is not a rational number; `certune.testing.check_family` holds a family to that.
Everything above this layer (tuning, guarantees, online learning) sees families only through this
class.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from certune.box import Box
from certune.dual import DualFunction
from certune.errors import CertificateError, CertuneError, ParameterError
from certune.families.reach import DerivedProperty, object_reach
from certune.pfaffian.structure import Structure
from certune.scores import Score
from certune.space import ParameterSpace, Segment

Params = Mapping[str, Any] | float

# Names of functions are cut to so many characters in descriptions.
LONGEST_WORD = 200


@dataclass(frozen=True)
class BoxBound:
    """What is proved about the utility of one instance on a box of parameters.

    Attributes
    ----------
    lower, upper : Fraction
        The utility lies between them at every parameter of the box.
    importance : tuple of float
        For every edge of the box, how much it promises to halve the box there.
    n_outcomes : int or None
        Number of outputs of the algorithm that the box can have; None if they were too many.
    reuse : object
        What `Family.bound_on_box` can use on any part of the box.
    shared : tuple of Fraction
        Sharper bounds for sums over instances, none by default. At every parameter of the box there
        are weights, not negative and of sum 1, that are the same for all instances of the family,
        and the utility is at most the mean of these numbers with these weights. So the sum over
        instances is at most the largest entry of the sum of these vectors.
    """

    lower: Fraction
    upper: Fraction
    importance: tuple[float, ...]
    n_outcomes: int | None = None
    reuse: Any = field(default=None, repr=False)
    shared: tuple[Fraction, ...] = field(default=(), repr=False)

    @property
    def settled(self) -> bool:
        """Is the utility the same on the whole box?"""
        return self.lower == self.upper


class UpperSum(NamedTuple):
    """An upper bound of a weighted sum of utilities on a box, from the bounds of the instances.

    Attributes
    ----------
    uppers : Fraction
        Sum of their upper bounds.
    shared : tuple of Fraction
        Sum of their shared bounds, in which an upper bound stands for missing ones; empty if all
        are missing.
    """

    uppers: Fraction = Fraction(0)
    shared: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, bounds: Iterable[BoxBound]) -> UpperSum:
        """Return the sum of several bounds."""
        total = cls()
        for bound in bounds:
            total = total.exchanged(Fraction(0), bound)
        return total

    def exchanged(self, old: Fraction, new: BoxBound, weight: int = 1) -> UpperSum:
        """Return the sum with a bound in the place of an upper bound of the same weight."""
        uppers = self.uppers + weight * (new.upper - old)
        if not new.shared:
            shared = tuple(entry + weight * (new.upper - old) for entry in self.shared)
        elif not self.shared:
            shared = tuple(self.uppers + weight * (entry - old) for entry in new.shared)
        else:
            pairs = zip(self.shared, new.shared, strict=True)
            shared = tuple(entry + weight * (other - old) for entry, other in pairs)
        return UpperSum(uppers, shared)

    @property
    def value(self) -> Fraction:
        """The bound of the sum."""
        return min(self.uppers, max(self.shared)) if self.shared else self.uppers


@dataclass(frozen=True)
class PlaneCut:
    """A comparison on which the utility depends, in a plane of two parameters.

    Attributes
    ----------
    value, slopes : float, pair of float
        At a point (u, v) of the square [-1, 1]^2, which stands for a box of the two parameters, the
        comparison is value + slopes . (u, v), up to the error.
    error : float
        The comparison differs by no more anywhere on the box.
    above, below : PlaneCut, Fraction or None
        The utility where the comparison is positive and where it is negative; None if it never is.
    """

    value: float
    slopes: tuple[float, float]
    error: float
    above: PlaneCut | Fraction | None
    below: PlaneCut | Fraction | None

    @property
    def values(self) -> set[Fraction]:
        """Every utility that the box can have."""
        found: set[Fraction] = set()
        for side in (self.above, self.below):
            if isinstance(side, PlaneCut):
                found |= side.values
            elif side is not None:
                found.add(side)
        return found


class Family(ABC):
    """A parameterised algorithm whose utility is known exactly along segments.

    Subclasses are immutable: the same family, instance and parameter always give the same answer.

    A user's subclass of a family is another one than its parent, whatever it overrides: unless it
    defines `fingerprint` itself, its own counts its code and attributes too, by what they are when
    it is asked for.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Tell a user's subclass from its parent in everything that is kept and compared."""
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return
        derived: dict[str, Callable[[Any], Any]] = {}
        if _is_inherited(cls, "fingerprint"):
            derived["fingerprint"] = lambda self: _with_code(_parent(cls, self).fingerprint, self)
            if _is_inherited(cls, "fingerprint_doubts"):
                derived["fingerprint_doubts"] = lambda self: (
                    _parent(cls, self).fingerprint_doubts + object_reach(self).doubts
                )
        if _is_inherited(cls, "description"):  # programs that know the parent would be misled
            derived["description"] = lambda self: {}
        for name, getter in derived.items():
            setattr(cls, name, DerivedProperty(getter, doc=getattr(cls, name).__doc__))

    @property
    @abstractmethod
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hexadecimal hash of everything that defines the family; part of certificates."""

    @property
    def fingerprint_doubts(self) -> tuple[str, ...]:
        """What belongs to the family and cannot be told from outside, in words; mostly nothing.

        The fingerprint is good for one process then: what other runs have kept is not mixed with
        this family.
        """
        return ()

    @property
    def description(self) -> dict[str, Any]:
        """What defines the family as far as JSON data can say; part of certificates.

        Programs that check certificates without certune read it; empty where they know no way.
        """
        return {}

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest utility that any instance can have."""
        return 0.0, 1.0

    @property
    def score(self) -> Score:
        """What the utility means to people: its name, direction and range."""
        return Score()

    @property
    def tolerance(self) -> float:
        """How much runs and duals may differ, and the gap at which an optimum counts as proved.

        0 for utilities that are counts or other rational numbers. A family whose utility is only
        computed up to an error states a bound of it here.
        """
        return 0.0

    def limits(self, name: str) -> tuple[float, float]:
        """Return between which values a parameter has a meaning, whatever range is tuned."""
        return -math.inf, math.inf

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """Default settings by name, as parameters for `run`."""
        return {}

    def instance_baselines(self, instance: Any) -> dict[str, dict[str, Any]]:
        """Default settings that depend on the instance, by the same names for all instances."""
        return {}

    def company(self, instance: Any) -> dict[str, Fraction | None]:
        """Utilities of other algorithms that a user would have taken without tuning.

        By the same names for all instances; None where one does not apply.
        """
        return {}

    @property
    def proves_duals(self) -> bool:
        """Whether everything that `dual` states is proved; tuning claims an optimum only then."""
        return True

    @property
    def releases_lock(self) -> bool:
        """Whether `dual`, `run` and `bound_on_box` leave the interpreter lock to other threads.

        Threads then work side by side, without the start of processes.
        """
        return False

    def structure_of(self, instances: Sequence[Any]) -> Structure | None:
        """Counts that are proved for every instance no larger than the given ones.

        Worst-case guarantees rest on them; None if none are known.
        """
        return None

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Sizes by which the cost of an instance is told: points, metrics, clusters.

        Or what comes near to them: rows, columns, classes. Nothing is computed, and the instance
        need not have been checked. Empty if nothing is known.
        """
        return ()

    @property
    def keeps_distances(self) -> bool:
        """Whether instances hold the distances of all pairs of points."""
        return False

    def slices(self) -> dict[str, Family]:
        """Return the family at every setting of its discrete parameters, by the setting in words.

        Each slice has real parameters only. Tuning takes the best of them; a family without
        discrete parameters has no slices.

        Raises
        ------
        ParameterError
            If the family has discrete parameters and cannot be cut at them.
        """
        if self.space.discrete:
            names = ", ".join(repr(item.name) for item in self.space.discrete)
            raise ParameterError(
                f"{self!r} has the discrete parameters {names} and no slices: ProgramFamily and "
                "DecisionFamily take integer and categorical parameters; for a family of your own, "
                "make one for each setting and tune certune.Choice({...})."
            )
        return {}

    def setting_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting of the family that this one is a slice of."""
        return dict(params)

    @abstractmethod
    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""

    @abstractmethod
    def instance_fingerprint(self, instance: Any) -> str:
        """Hexadecimal hash of the instance's content."""

    @abstractmethod
    def run_exact(self, instance: Any, params: Params) -> Fraction:
        """Utility of the algorithm at one parameter, as an exact rational number.

        A family with a positive `tolerance` returns a float of that accuracy.
        """

    def run(self, instance: Any, params: Params) -> float:
        """Utility of the algorithm at one parameter: the plain algorithm, the oracle of `dual`.

        Parameters
        ----------
        instance : object
            A problem instance of this family.
        params : mapping or float
            Parameter values by name; a bare number if there is just one real parameter.

        Returns
        -------
        float
            The utility; larger is better.
        """
        return float(self.run_exact(instance, params))

    def run_plain(self, instance: Any, params: Params) -> tuple[float, float] | None:
        """Utility by a second path that shares nothing with `run_exact`, to check it.

        Parameters
        ----------
        instance : object
            A problem instance of this family.
        params : mapping or float
            Parameter values by name; a bare number if there is just one real parameter.

        Returns
        -------
        tuple of float or None
            The utility in plain floats and an estimate of its rounding error; None if there is no
            such path, or rounding may have changed its way.
        """
        return None

    def plain_disagreement(self, instance: Any, params: Params, value: Fraction) -> float | None:
        """Return what `run_plain` gives if rounding cannot explain that it is not `value`."""
        found = self.run_plain(instance, params)
        if found is None:
            return None
        plain, error = found
        return plain if abs(Fraction(plain) - value) > error + self.tolerance else None

    def check_on_floats(self, instance: Any, params: Params, value: Fraction) -> None:
        """Hold a utility against the program on plain floats, which sees what tracing cannot.

        Raises
        ------
        CertificateError
            If rounding cannot explain the difference.
        """
        try:
            plain = self.plain_disagreement(instance, params, value)
        except CertuneError:
            raise
        except (TypeError, AttributeError):  # it was made for expressions only: `verify` says so
            return
        if plain is not None:
            raise CertificateError(
                f"at {params} the program gives {float(value)!r} traced, and {plain!r} on plain "
                "floats: it asks for something else than values, such as the type of a parameter "
                "or of an array, which is another one while certune follows it; let it compute "
                "with values only"
            )

    @abstractmethod
    def solve(self, instance: Any, params: Params) -> Any:
        """Output of the algorithm at one parameter."""

    @abstractmethod
    def dual(self, instance: Any, along: Segment | None = None) -> DualFunction:
        """Utility as an exact function of the position on a segment.

        Parameters
        ----------
        instance : object
            A problem instance of this family.
        along : Segment, optional
            A straight line in the parameter space; by default the one free parameter.

        Returns
        -------
        PiecewiseFunction or PiecewisePolynomial
            Function of t on the segment's domain, equal to `run` at ``along.at(t)``.
        """

    def outline(self, instance: Any, along: Segment) -> DualFunction:
        """Utility on a segment as `dual` has it, but with gaps where that would take long.

        Bounds hold in the gaps as everywhere. A search that looks for something better than what
        it has asks `dual` about those gaps only in which that may be. By default the same as
        `dual`.
        """
        return self.dual(instance, along)

    @property
    def has_outline(self) -> bool:
        """Whether `outline` takes less time than `dual`."""
        return False

    @property
    def line_names(self) -> tuple[str, ...] | None:
        """Parameters along which `dual` goes, one at a time; None if it goes along any segment."""
        return None

    @property
    def bounds_boxes(self) -> bool:
        """Whether `bound_on_box` is there, so that several parameters can be tuned with a proof."""
        return False

    def strata(self) -> list[Box]:
        """Return boxes that together hold every setting, where branch and bound begins.

        By default those of the space, with faces of the weights as boxes of their own.
        """
        return Box.strata(self.space)

    def box_start(self, instance: Any) -> Any:
        """Return what `bound_on_box` can use on every box of an instance, if there is such a thing.

        Whoever bounds an instance on many boxes asks for it once.
        """
        return None

    def cuts_on_box(self, box: Box, axes: tuple[int, int], reuse: Any) -> PlaneCut | None:
        """Return the comparisons on which the utility depends on a box, if they are known.

        Maps of two parameters then follow the borders of their cells instead of halving boxes
        along them.

        Parameters
        ----------
        box : Box
            A box on which all parameters but two are fixed, and whose bound is not settled.
        axes : pair of int
            Places of the two parameters; of two weights, the second one is the coordinate.
        reuse : object
            ``reuse`` of the bound on this box.
        """
        return None

    def bound_on_box(self, instance: Any, box: Box, reuse: Any = None) -> BoxBound:
        """Bound the utility on a box of parameters.

        Parameters
        ----------
        instance : object
            A checked instance of this family.
        box : Box
            A part of one of the strata, or any box of the space; of weights, the points at which
            exactly those are positive that are positive at some vertex.
        reuse : object, optional
            ``reuse`` of the bound on a box that contains this one.

        Returns
        -------
        BoxBound
            Proved bounds; the whole utility range if nothing better is known.
        """
        raise ParameterError(
            f"{self!r} has no bounds on boxes of parameters; tune it with method='line-search'."
        )


def _is_inherited(cls: type[Family], name: str) -> bool:
    """Tell whether a property is one of another class, and nothing that a subclass has derived."""
    if name in vars(cls):  # a class that is made again, for its slots, has that of its first form
        return isinstance(vars(cls)[name], DerivedProperty)
    found = getattr(cls, name)
    return not (isinstance(found, DerivedProperty) or getattr(found, "__isabstractmethod__", False))


def _parent(cls: type[Family], family: Any) -> Any:
    """Return a family as the parent of its class sees it."""
    return super(cls, family)


def _with_code(fingerprint: str, family: Family) -> str:
    content = f"{fingerprint} {object_reach(family).digest}"
    return hashlib.sha256(content.encode()).hexdigest()
