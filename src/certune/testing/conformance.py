"""The conformance suite for families.

Everything above families relies on one promise: the exact function of a family says at every
parameter what the plain algorithm gives there. `check_family` holds a family to that where it is
most likely to be broken, close to breakpoints, and to the smaller promises around it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, mean
from certune.errors import ParameterError
from certune.families.base import Family
from certune.space import ParameterSpace, Real, Segment
from certune.testing.boxes import check_boxes
from certune.testing.failures import Failures
from certune.tuning.instances import checked_family, checked_instances, instance_name

# Distances from a breakpoint at which runs are compared, relative to max(1, |t|).
CLOSE = (1e-9, 1e-7, 1e-5, 1e-3)
# Where the points of a line are rounded, a run closer to a breakpoint than this proves nothing.
ROUNDING_MARGIN = 1e-10
RANDOM_SEGMENTS = 3


def check_family(
    family: Family, instances: Iterable[Any], *, n_points: int = 50, random_state: int = 0
) -> None:
    """Check that a family keeps the promises of :class:`certune.families.base.Family`.

    Parameters
    ----------
    family : Family
        The family to check.
    instances : iterable
        Small instances of it, at least one; different ones.
    n_points : int, default=50
        Random parameters at which each exact function is compared with plain runs, besides the
        ends of all pieces and points close to all breakpoints.
    random_state : int, default=0
        Seed of the random parameters.

    Raises
    ------
    AssertionError
        With a list of everything that is wrong: what, where, expected, got.

    Notes
    -----
    Checked are: the parameter space; the form and the domain of the exact functions, that their
    values lie in the utility range, and that they decide at least half of the domain; agreement
    with `run_exact`, along the free parameter or, if there are several, along random segments, or
    random lines along `line_names` if the family has those only;
    agreement of `run_exact` with a run on plain floats, if the family is a program;
    bounds on random boxes, if the family has them; the functions on parts of the domain; that
    twice the same question has the same answer, also after a trip through a file; the mean of all
    functions; fingerprints; baselines; and that bad parameters are refused.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from certune.testing import StepFamily, StepInstance, check_family
    >>> check_family(StepFamily(), [StepInstance((0.5,), (Fraction(0), Fraction(1)))])
    """
    listed = checked_instances(checked_family(family), instances)
    if family.space.discrete:
        for part in family.slices().values():
            check_family(part, listed, n_points=n_points, random_state=random_state)
        return
    rng = np.random.default_rng(random_state)
    failures = Failures(family)
    with failures.caught("the parameter space"):
        _check_space(family.space, failures)
        _check_bad_parameters(family, listed[0], failures)
    for segment in _segments(family, rng):
        duals = []
        for number, instance in enumerate(listed):
            where = instance_name(instance, number)
            with failures.caught(f"the exact function of {where}"):
                case = _Case(family, segment, instance, where, family.dual(instance, segment))
                _check_form(case, failures)
                duals.append(case.dual)
                _check_values(case, n_points, rng, failures)
                _check_part(case, rng, failures)
        if duals:
            with failures.caught("the mean of the exact functions"):
                _check_mean(duals, rng, failures)
    if family.bounds_boxes:
        with failures.caught("the bounds on boxes"):
            check_boxes(family, listed, rng, failures)
    with failures.caught("answers that must not change"):
        _check_determinism(family, listed, failures)
    with failures.caught("the fingerprints"):
        _check_fingerprints(family, listed, failures)
    with failures.caught("the baselines"):
        _check_baselines(family, listed, failures)
    failures.raise_all()


def _segments(family: Family, rng: np.random.Generator) -> Iterator[Segment]:
    space = family.space
    if space.n_free == 1:
        yield space.default_segment()
    elif family.line_names is not None:
        ranges = {item.name: item for item in space.parameters if isinstance(item, Real)}
        for name in family.line_names:
            for _ in range(RANDOM_SEGMENTS):
                fixed = space.sample(rng)
                del fixed[name]
                yield Segment.coordinate(name, ranges[name].low, ranges[name].high, fixed)
    else:
        for _ in range(RANDOM_SEGMENTS):
            yield Segment(space.sample(rng), space.sample(rng))


def _check_space(space: Any, failures: Failures) -> None:
    if failures.expect(isinstance(space, ParameterSpace), "space", "a ParameterSpace", space):
        failures.expect(space.n_free >= 1, "space.n_free", "at least 1", space.n_free)


def _check_bad_parameters(family: Family, instance: Any, failures: Failures) -> None:
    bad: list[Any] = [{}, {"no such parameter": 1.0}, "no mapping"]
    good = family.space.sample(np.random.default_rng(0))
    bad += [{**good, name: float("nan")} for name in family.space.names]
    for params in bad:
        try:
            answer: object = family.run_exact(instance, params)
        except ParameterError:
            continue
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        failures.add(f"run_exact with the parameters {params!r}", "ParameterError", answer)


@dataclass(frozen=True)
class _Case:
    """An instance and its exact function along a segment."""

    family: Family
    segment: Segment
    instance: Any
    where: str
    dual: DualFunction


def _check_form(case: _Case, failures: Failures) -> None:
    dual = case.dual
    if not isinstance(dual, DualFunction):
        raise TypeError(
            f"dual must return a PiecewiseFunction or a PiecewisePolynomial, got {dual!r}"
        )
    dual._check()
    expected, got = (case.segment.low, case.segment.high), (dual.low, dual.high)
    failures.expect(got == expected, f"domain of {case.where}", expected, got)
    low, high = case.family.utility_range
    tolerance = Fraction(case.family.tolerance)
    lowest, highest = -(-dual).upper_bound_exact, dual.upper_bound_exact
    failures.expect(
        low - tolerance <= lowest and highest <= high + tolerance,
        f"values and bounds of {case.where}",
        f"within the utility range [{low}, {high}]",
        f"from {lowest} to {highest}",
    )


def _check_values(case: _Case, n_points: int, rng: np.random.Generator, failures: Failures) -> None:
    """Compare with plain runs at random points, at the ends of pieces and close to breakpoints."""
    dual, segment, tolerance = case.dual, case.segment, Fraction(case.family.tolerance)
    gaps = dual.breakpoints
    scale = np.maximum(1.0, np.abs(gaps))
    anywhere = rng.uniform(dual.low, dual.high, n_points)
    n_open = int(np.sum([np.isnan(dual(t)) for t in anywhere.tolist()]))
    failures.expect(
        2 * n_open <= n_points,
        f"undecided parts of {case.where}",
        "at most half of the domain",
        f"{n_open} of {n_points} random parameters",
    )
    points = [anywhere, dual.starts, dual.stops]
    points += [gaps[:, 0] - distance * scale[:, 0] for distance in CLOSE]
    points += [gaps[:, 1] + distance * scale[:, 1] for distance in CLOSE]
    for t in np.unique(np.concatenate(points)).tolist():
        if not max(dual.low, segment.low) <= t <= min(dual.high, segment.high):
            continue
        if np.isnan(dual(t)) or not _run_is_meaningful(segment, t, gaps):
            continue
        lower, upper = dual.enclose_exact(t)
        got = case.family.run_exact(case.instance, segment.at(t))
        expected = f"{lower} as in dual" if lower == upper else f"{lower} to {upper} as in dual"
        holds = lower - tolerance <= got <= upper + tolerance
        failures.expect(holds, f"run_exact of {case.where}", expected, got, at=segment.at(t))
        plain = case.family.plain_disagreement(case.instance, segment.at(t), got)
        what = f"a run of {case.where} on plain floats"
        failures.expect(plain is None, what, f"{got} as run_exact", plain, at=segment.at(t))


def _run_is_meaningful(segment: Segment, t: float, gaps: npt.NDArray[np.float64]) -> bool:
    if segment.is_exact_at(t):
        return True
    distance = np.maximum(gaps[:, 0] - t, t - gaps[:, 1])
    return bool(np.all(distance > ROUNDING_MARGIN * max(1.0, abs(t))))


def _check_part(case: _Case, rng: np.random.Generator, failures: Failures) -> None:
    """Compare the function on a part of the domain with the function on all of it."""
    low, high = np.sort(rng.uniform(case.segment.low, case.segment.high, 2)).tolist()
    part = case.family.dual(case.instance, case.segment.restrict(low, high))
    what = f"dual of {case.where} on the part [{low!r}, {high!r}]"
    domain = (part.low, part.high)
    failures.expect(domain == (low, high), what, f"the domain {(low, high)}", domain)
    for t in np.concatenate((part.sample_points(), part.starts, part.stops)).tolist():
        expected, got = case.dual.enclose_exact(t), part.enclose_exact(t)
        failures.expect(
            got[0] <= expected[1] and expected[0] <= got[1],
            what,
            f"from {expected[0]} to {expected[1]} as on the whole segment",
            f"from {got[0]} to {got[1]}",
            at=t,
        )


def _check_mean(duals: list[DualFunction], rng: np.random.Generator, failures: Failures) -> None:
    average = mean(duals)
    for t in rng.uniform(average.low, average.high, 10).tolist():
        if any(np.isnan(dual(t)) for dual in duals):
            continue
        bounds = [dual.enclose_exact(t) for dual in duals]
        lower = sum((pair[0] for pair in bounds), Fraction(0)) / len(duals)
        upper = sum((pair[1] for pair in bounds), Fraction(0)) / len(duals)
        got = average.enclose_exact(t)
        holds = got[0] <= upper and lower <= got[1]
        failures.expect(holds, "mean", f"{lower} to {upper}", f"{got[0]} to {got[1]}", at=t)


def _check_determinism(family: Family, instances: list[Any], failures: Failures) -> None:
    segment = next(_segments(family, np.random.default_rng(0)))
    params = segment.at(0.5 * segment.low + 0.5 * segment.high)
    copied_family, *copies = _through_a_file([family, *instances])
    for number, (instance, copied) in enumerate(zip(instances, copies, strict=True)):
        where = instance_name(instance, number)
        first, value = family.dual(instance, segment), family.run_exact(instance, params)
        if family.space.n_free == 1:
            again = family.dual(instance)
            failures.expect(again == first, f"dual of {where} without a segment", first, again)
        for what, other_family, other in (
            ("twice", family, instance),
            ("after a trip through a file", copied_family, copied),
        ):
            again = other_family.dual(other, segment)
            failures.expect(again == first, f"dual of {where} {what}", first, again)
            run = other_family.run_exact(other, params)
            failures.expect(run == value, f"run_exact of {where} {what}", value, run)
        prints = family.instance_fingerprint(instance), copied_family.instance_fingerprint(copied)
        failures.expect(
            prints[0] == prints[1], f"fingerprint of {where} after a trip through a file", *prints
        )
    prints = family.fingerprint, copied_family.fingerprint
    failures.expect(
        prints[0] == prints[1], "fingerprint of the family after a trip through a file", *prints
    )


def _through_a_file(objects: list[Any]) -> list[Any]:
    file = io.BytesIO()
    joblib.dump(objects, file)
    file.seek(0)
    return list(joblib.load(file))


def _check_fingerprints(family: Family, instances: list[Any], failures: Failures) -> None:
    prints = [family.instance_fingerprint(instance) for instance in instances]
    again = [family.instance_fingerprint(instance) for instance in instances]
    failures.expect(prints == again, "instance fingerprints asked for twice", prints, again)
    failures.expect(
        len(set(prints)) == len(prints), "fingerprints of different instances", "distinct", prints
    )
    for print_ in (*prints, family.fingerprint):
        hexadecimal = isinstance(print_, str) and set(print_) <= set("0123456789abcdef")
        failures.expect(
            bool(hexadecimal and print_), "a fingerprint", "a hexadecimal string", print_
        )


def _check_baselines(family: Family, instances: list[Any], failures: Failures) -> None:
    low, high = family.utility_range
    for number, instance in enumerate(instances):
        defaults = {**family.baselines, **family.instance_baselines(instance)}
        for name, params in defaults.items():
            value = family.run_exact(instance, params)
            where = f"baseline {name!r} on {instance_name(instance, number)}"
            failures.expect(low <= value <= high, where, f"within [{low}, {high}]", value)
