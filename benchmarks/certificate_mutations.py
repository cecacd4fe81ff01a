"""Does `verify` accept a false claim, hang, or raise anything but `CertificateError`?

Honest certificates of lines, boxes, choices and discrete parameters are changed at random places,
in every field, by forgers who make the checksum again and, half of the time, derive the claims anew
from changed functions. What is accepted is held against plain runs of the family: every stored
value, every bound in a gap, the best value, the optimal set, the bound of every box and of every
alternative. What is refused must be a `CertificateError`, and the time for a file is compared with
that for the honest one.

    python benchmarks/certificate_mutations.py [--count 100000] [--seed 0] [--only choice ...]
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import certune as ct
from certune.aggregates import Criterion
from certune.dual import aggregated
from certune.dual.codec import from_json, to_json
from certune.pfaffian import exp
from certune.testing import StepFamily, StepInstance
from certune.tuning.proof.sealed import SealedCertificate
from certune.tuning.schema import criterion_from
from certune.tuning.work.progress import upper_bound_of

# A file may take this much longer than the honest one of its size, and this many seconds more.
SLOWER, SECONDS = 30.0, 2.0
HOSTILE = [
    "1e10000000", "1/0", "-1/3", "9" * 5000, "0x" + "f" * 40000, "Infinity", "", "1/2/3", " 1/2",
    "\u0661", None, True, [], {}, 0, -1, 1, 2**63, 2**64, 10**4000, 0.5, -0.5, 1e308, -1e308,
    5e-324, -0.0, [[[[[[0]]]]]], "x" * 3000, {"a": 1},
]  # fmt: skip


@dataclass
class Honest:
    """A family with instances and their certificate."""

    name: str
    family: Any
    instances: list[Any]
    certificate: SealedCertificate
    content: dict[str, Any]
    places: list[tuple[Any, ...]]
    seconds: float
    share: float
    # Of a choice: the certificates of its alternatives, and of these with all instances.
    parts: dict[str, Honest] = field(default_factory=dict)
    whole: dict[str, Honest] = field(default_factory=dict)

    @cached_property
    def points(self) -> list[float]:
        """Places of a line between which its functions change."""
        pieces = [(d.starts.tolist(), d.stops.tolist()) for d in self.certificate.duals]
        ends = sorted({end for starts, stops in pieces for end in (*starts, *stops)})
        return ends + [0.5 * a + 0.5 * b for a, b in zip(ends, ends[1:], strict=False)]

    @cached_property
    def runs(self) -> list[list[Fraction]]:
        """Utilities of all instances at these places where the parameters are exact."""
        at = self.certificate.segment
        exact = [at.at(t) for t in self.points if at.is_exact_at(t)]
        return [[self.family.run_exact(i, params) for i in self.instances] for params in exact]

    def attained(self, criterion: Criterion) -> Fraction:
        """What is reached at the best of these places, by a criterion for the instances here."""
        return max(criterion.value(utilities) for utilities in self.runs)


def ramp(x: Any, parameters: Any) -> int:
    """A utility of two parameters."""
    above = 1 if parameters["a"] + x[0] * parameters["b"] >= x[1] else 0
    return above + (1 if parameters["b"] <= x[2] else 0)


def flat_ramp(x: Any, parameters: Any) -> int:
    """The same with one parameter."""
    return ramp(x, {"a": parameters["a"], "b": 0})


def smooth(x: float, parameters: Any) -> Any:
    """A smooth utility."""
    a = parameters["a"]
    return x * a * exp(-x * a)


def stepped(x: float, parameters: Any) -> int:
    """A utility of a real, a whole and a named parameter."""
    if parameters["a"] * parameters["k"] >= x:
        return 1
    return 2 if parameters["mode"] == "low" and parameters["a"] <= x / 4 else 0


def counted(x: float, parameters: Any) -> int:
    """A utility of a whole parameter."""
    return 1 if 2 <= parameters["k"] * x <= 4 else 0


def honest_certificates(names: Collection[str] = ()) -> list[Honest]:
    """Return the certificates that forgers start from, all or those of given names."""
    rng = np.random.default_rng(0)

    def steps(m: int) -> StepInstance:
        places = tuple(np.sort(rng.uniform(0.05, 0.95, m)).tolist())
        return StepInstance(places, tuple(Fraction(int(v), 6) for v in rng.integers(0, 7, m + 1)))

    clusters = ct.datasets.digits_clustering(2, n_classes=2, n_per_class=4)
    both = ct.datasets.digits_clustering(
        1, n_classes=3, n_per_class=5, metrics=("euclidean", "cityblock")
    )
    unit = ct.Real("a", 0, 1)
    plane = ct.ParameterSpace((unit, ct.Real("b", -1, 1)))
    named = ct.Categorical("mode", ["low", "high"])
    mixed = ct.ParameterSpace((unit, ct.Integer("k", 1, 3), named))
    forms = ct.Choice({"one": StepFamily(), "two": StepFamily(), "half": StepFamily(0.0, 0.5)})
    ranges = {"utility_range": (0, 2)}
    across = ct.Choice(
        {
            "line": ct.ProgramFamily(flat_ramp, unit, **ranges),
            "plane": ct.ProgramFamily(ramp, plane, **ranges),
        }
    )
    cases = [
        ("steps", StepFamily(), [steps(2), steps(3)], 0.64),
        ("linkage", ct.Linkage("min-max", alpha=(-3, 3)), clusters, 0.04),
        ("weights", ct.Linkage(alpha=-1.5, weights="tune", n_metrics=2), both, 0.03),
        ("knapsack", ct.GreedyKnapsack(), ct.datasets.knapsack_problems(2, n_items=5), 0.08),
        ("smooth", ct.ProgramFamily(smooth, unit, tolerance=1e-9), [2, 3], 0.05),
        ("boxes", ct.ProgramFamily(ramp, plane, utility_range=(0, 2)), _ramps(rng), 0.1),
        (
            "linkage boxes",
            ct.Linkage(alpha=(-1, 2), weights="tune", n_metrics=2),
            both[:1],
            0.06,
        ),
        ("elastic net", *_elastic_net(rng), 0.05),
        ("discrete", ct.ProgramFamily(stepped, mixed, utility_range=(0, 2)), [0.7, 1.4], 0.08),
        ("whole numbers", ct.ProgramFamily(counted, ct.Integer("k", 0, 9)), [0.5, 0.7], 0.04),
        ("choice", forms, {name: [steps(2), steps(2)] for name in forms.alternatives}, 0.1),
        ("mixed choice", across, _ramps(rng), 0.05),
    ]  # fmt: skip
    weights = {"weighted": [1, 3], "choice": [1, 4]}
    cases += [("weighted", StepFamily(), [steps(2), steps(3)], 0.05)]
    return [
        _honest(name, family, instances, share, weights.get(name))
        for name, family, instances, share in cases
        if not names or name in names
    ]


def _honest(
    name: str, family: Any, instances: Any, share: float, weights: list[int] | None = None
) -> Honest:
    options = {"progress": False, "max_nodes": 60, "weights": weights}
    certificate = ct.tune(family, instances, **options).certificate
    started = time.perf_counter()
    ct.verify(certificate, family, instances)
    seconds = time.perf_counter() - started
    made = _opened(name, family, instances, certificate, seconds, share)
    if isinstance(certificate, ct.ChoiceCertificate):
        choice = isinstance(family, ct.Choice)
        for part, own in (family.alternatives if choice else family.slices()).items():
            listed = instances[part] if isinstance(instances, dict) else instances
            whole = ct.tune(own, listed, **options).certificate
            made.whole[part] = _opened(part, own, listed, whole, seconds, share)
            proof = certificate.proofs[part]
            if proof is not None:
                made.parts[part] = _opened(part, own, listed, proof, seconds, share)
    return made


def _opened(
    name: str, family: Any, instances: Any, certificate: Any, seconds: float, share: float
) -> Honest:
    content = {**certificate._content(), "checksum": certificate.checksum}
    places = [path for path in places_of(content) if path[0] != "checksum"]
    return Honest(name, family, instances, certificate, content, places, seconds, share)


def _elastic_net(rng: np.random.Generator) -> tuple[Any, list[Any]]:
    X = rng.normal(size=(14, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=14)
    family = ct.RegularizedRegression(
        "elastic-net", alpha=(0.05, 1.0), max_error=3.0, l1_ratio=(0.3, 1.0)
    )
    return family, [ct.RegressionInstance(X[:9], y[:9], X[9:], y[9:])]


def _ramps(rng: np.random.Generator) -> list[Any]:
    return [tuple(round(float(v), 3) for v in rng.uniform(-0.5, 0.8, 3)) for _ in range(2)]


# Forging


def places_of(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all parts of JSON data."""
    found = [path] if path else []
    if isinstance(data, (dict, list)):
        pairs = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in pairs:
            found += places_of(value, (*path, key))
    return found


def changed_value(value: Any, rng: random.Random) -> Any:
    """Return something else of the same or of another kind."""
    if rng.random() < 0.1:
        return copy.deepcopy(rng.choice(HOSTILE))
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, 0, 2 * value + 1, value + 10**20, hex(3)])
    if isinstance(value, float):
        size = max(abs(value), 1e-3)
        near = [value + sign * size * 10.0**power for power in range(-16, 1) for sign in (-1, 1)]
        ulps = [math.nextafter(value, end) for end in (-math.inf, math.inf)]
        return rng.choice([*near, *ulps, *ulps, -value, 0.0, 1.0, int(value), 1e300])
    if isinstance(value, str):
        return changed_text(value, rng)
    if isinstance(value, list):
        return changed_list(value, rng)
    made = dict(value)
    if made and rng.random() < 0.5:
        del made[rng.choice(sorted(made))]
    else:
        made[rng.choice(["x", "name", "denominator", "b"])] = rng.choice(HOSTILE)
    return made


def changed_text(value: str, rng: random.Random) -> str:
    """Return another string; fractions stay fractions mostly."""
    try:
        number = Fraction(value if len(value) < 600 and "e" not in value else "none")
    except (ValueError, ZeroDivisionError):
        return rng.choice([value[:-1], value + "0", value[::-1], "0" * 64, "linear", "log", "t"])
    steps = [Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 2), Fraction(1)]
    step = rng.choice(steps) * rng.choice([-1, 1])
    return str(rng.choice([number + step, -number, Fraction(0), Fraction(1), number / 2]))


def changed_list(value: list[Any], rng: random.Random) -> list[Any]:
    """Drop, double, swap or add entries."""
    made = list(value)
    i, j = (rng.randrange(len(made)) for _ in "ab") if made else (0, 0)
    kind = rng.randrange(5)
    if kind == 0 and made:
        del made[i]
    elif kind == 1 and made:
        made.insert(i, copy.deepcopy(made[j]))
    elif kind == 2 and made:
        made[i], made[j] = made[j], made[i]
    elif kind == 3:
        made = made[:i]
    else:
        made.append(copy.deepcopy(rng.choice(HOSTILE)))
    return made


def changed_function(stored: dict[str, Any], rng: random.Random) -> None:
    """Let a stored function of constant pieces hide a piece, or know more than it can."""
    last = len(stored["starts"]) - 1
    i = rng.randrange(max(last, 1))
    kind = rng.randrange(4)
    if kind == 0 and 0 < i < last:  # the piece is hidden in a gap
        for name in ("starts", "stops", "numerators"):
            del stored[name][i]
        for name, choose in (("gap_lower", min), ("gap_upper", max)):
            stored[name][i - 1 : i + 1] = [choose(stored[name][i - 1 : i + 1])]
    elif kind == 1 and i < last:  # one piece takes over the next one
        stored["stops"][i] = stored["stops"][i + 1]
        for name, gone in (("starts", i + 1), ("stops", i + 1), ("numerators", i + 1)):
            del stored[name][gone]
        for name in ("gap_lower", "gap_upper"):
            del stored[name][i]
    elif kind == 2 and i < last:  # a wide gap with bounds that are too good
        share = rng.choice([0.5, 0.1, 1e-6])
        start, stop = stored["starts"][i], stored["stops"][i]
        stored["stops"][i] = stop - share * (stop - start)
        value = stored["numerators"][rng.choice([i, i + 1])]
        stored["gap_lower"][i] = stored["gap_upper"][i] = value
    elif i < last:  # a breakpoint elsewhere
        step = rng.choice([-1, 1]) * 10.0 ** rng.randrange(-16, -1)
        stored["stops"][i] += step
        stored["starts"][i + 1] += step


def forged_claims(content: dict[str, Any], honest: Honest) -> None:
    """Derive the claims from changed functions, as a forger would who knows certune."""
    if "duals" in content:
        duals = [from_json(dual) for dual in content["duals"]]
        n, largest = len(content["instance_fingerprints"]), Fraction(honest.family.utility_range[1])
        criterion = criterion_from(content, n)
        landscape = aggregated(duals, criterion.of(range(len(duals))))
        bound = upper_bound_of(landscape, duals, criterion, n, largest)
        content["duals"] = [to_json(dual) for dual in duals]
        content["best_value"] = str(landscape.max_exact)
        content["best_region"] = [list(pair) for pair in landscape.argmax()]
        content["best_point"] = landscape.best_point
        content["upper_bound"] = str(bound)
    else:
        value = _mean_run(honest, content["best_params"])
        largest = Fraction(honest.family.utility_range[1])
        bounds = [min(Fraction(upper), largest) for upper in content["uppers"]] or [largest]
        content["best_value"] = str(value)
        content["upper_bound"] = str(max(value, *bounds))


def forged_choice(content: dict[str, Any], rng: random.Random) -> None:
    """Derive the claims of a choice from changed proofs."""
    proofs = {name: proof for name, proof in content["proofs"] if proof is not None}
    best = max(proofs, key=lambda name: Fraction(proofs[name]["best_value"]))
    if rng.random() < 0.3:
        best = rng.choice(sorted(proofs))
    content["best_alternative"] = best
    for name in ("instance_fingerprints", "best_value"):
        content[name] = proofs[best][name]
    content["upper_bound"] = str(max(Fraction(proof["upper_bound"]) for proof in proofs.values()))


def choice_mutant(honest: Honest, rng: random.Random) -> dict[str, Any]:
    """Return the content of a choice with a changed proof, or with proofs in other places."""
    content = copy.deepcopy(honest.content)
    proofs = content["proofs"]
    chosen = rng.choice(proofs)
    kind = rng.randrange(4)
    if kind == 0:
        chosen[1] = copy.deepcopy(rng.choice(proofs)[1])
    elif kind == 1:
        whole = honest.whole[chosen[0]]
        chosen[1] = rng.choice([None, copy.deepcopy(whole.content), mutant(whole, rng)])
    elif chosen[1] is not None:
        chosen[1] = mutant(honest.parts[chosen[0]], rng)
    try:
        forged_choice(content, rng)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        pass
    return content


def turned(content: dict[str, Any]) -> None:
    """Turn the order of instances round, with their functions; weights stay where they are."""
    content["instance_fingerprints"].reverse()
    content["duals"].reverse()


def _mean_run(honest: Honest, params: Any) -> Fraction:
    setting = {
        name: tuple(value) if isinstance(value, list) else value for name, value in params.items()
    }
    values = [honest.family.run_exact(item, setting) for item in honest.instances]
    return sum(values, Fraction(0)) / len(values)


def mutant(honest: Honest, rng: random.Random) -> dict[str, Any]:
    """Return changed content with the right checksum where that is possible."""
    if honest.whole and rng.random() < 0.6:
        return resealed(choice_mutant(honest, rng), honest)
    content = copy.deepcopy(honest.content)
    everywhere = honest.places
    evidence = ("duals", "uppers", "cuts", "best_params")
    where = [path for path in everywhere if path[0] in evidence] or everywhere
    if "duals" in content and "numerators" in content["duals"][0] and rng.random() < 0.3:
        if rng.random() < 0.2:
            turned(content)
        else:
            changed_function(rng.choice(content["duals"]), rng)
        try:
            forged_claims(content, honest)
        except (ValueError, ct.CertuneError):
            return content
        return resealed(content, honest)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # Long lists would take nearly all changes: first a field, then a place in it.
        field = rng.choice(sorted({path[0] for path in everywhere}))
        places = [path for path in everywhere if path[0] == field]
        path = rng.choice(where if rng.random() < 0.5 else places)
        target = content
        try:
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = changed_value(target[path[-1]], rng)
        except (LookupError, TypeError):
            pass  # an earlier change took the place away
    if rng.random() < 0.5:
        try:
            forged_claims(content, honest)
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ct.CertuneError,
        ):
            pass
    return resealed(content, honest) if rng.random() < 0.98 else content


def resealed(content: dict[str, Any], honest: Honest) -> dict[str, Any]:
    """Return the content with the checksum that it should have, if it can have one."""
    try:
        content["checksum"] = type(honest.certificate).unsealed(content).content_checksum
    except ct.CertificateError:
        pass
    return content


# What is accepted


def near_points(low: float, high: float, ends: list[float]) -> list[float]:
    """Return ends, their neighbours and middles between them."""
    points = sorted({low, high, *ends})
    points += [math.nextafter(t, end) for t in points for end in (-math.inf, math.inf)]
    points = sorted(set(points))
    points += [0.5 * a + 0.5 * b for a, b in zip(points, points[1:], strict=False)]
    return [t for t in points if low <= t <= high]


def line_falsehood(certificate: Any, honest: Honest) -> str | None:
    """Return what is false about an accepted certificate of a line, by plain runs."""
    segment, slack = certificate.segment, 5 * Fraction(honest.family.tolerance)
    places = places_of_instances(certificate, honest)
    instances = [honest.instances[place] for place in places]
    for number, dual in enumerate(certificate.duals):
        ends = [*dual.starts.tolist(), *dual.stops.tolist()]
        for t in near_points(dual.low, dual.high, [*ends, *honest.points]):
            if not segment.is_exact_at(t):
                continue
            lower, upper = dual.enclose_exact(t)
            value = honest.family.run_exact(instances[number], segment.at(t))
            if not lower - slack <= value <= upper + slack:
                return f"function {number} at {t!r}: {lower} to {upper}, truth {value}"
    count = len(certificate.duals)
    exact = honest.attained(in_places(certificate.criterion, places))
    if not certificate.upper_bound + slack >= exact:
        return f"upper bound {certificate.upper_bound}, truth {exact}"
    for t in [certificate.best_point, *(end for pair in certificate.best_region for end in pair)]:
        if not segment.low <= t <= segment.high:
            return f"{t!r} is not in the space"
        if not segment.is_exact_at(t) or (slack and t != certificate.best_point):
            continue
        runs = [honest.family.run_exact(item, segment.at(t)) for item in instances[:count]]
        value = certificate.criterion.of(range(count)).value(runs)
        if not abs(value - certificate.best_value) <= slack:
            return f"mean of runs at {t!r} is not the best value"
    return None


def places_of_instances(certificate: Any, honest: Honest) -> list[int]:
    """Return where the instances of a certificate are among the honest ones, which differ."""
    known = [honest.family.instance_fingerprint(item) for item in honest.instances]
    return [known.index(own) for own in certificate.instance_fingerprints]


def in_places(criterion: Criterion, places: list[int]) -> Criterion:
    """Return a criterion for instances in places as one for the honest order."""
    return criterion.of(sorted(range(len(places)), key=places.__getitem__))


def choice_falsehood(certificate: Any, honest: Honest, rng: random.Random) -> str | None:
    """Return what is false about an accepted certificate of a choice, by plain runs."""
    criteria = [Criterion()]
    for name, proof in certificate.proofs.items():
        if proof is None:
            continue
        whole = honest.whole[name]
        found = falsehood(proof, whole, rng)
        if found:
            return f"{name}: {found}"
        if isinstance(proof, ct.Certificate):
            criteria.append(in_places(proof.criterion, places_of_instances(proof, whole)))
    for name, whole in honest.whole.items():
        slack = 5 * Fraction(whole.family.tolerance)
        is_line = isinstance(whole.certificate, ct.Certificate)
        attained = whole.attained(criteria[-1]) if is_line else whole.certificate.best_value
        if certificate.upper_bound + slack < attained:
            return f"upper bound {certificate.upper_bound}, {name} reaches {attained}"
    best = certificate.proofs[certificate.best_alternative]
    return None if certificate.best_value == best.best_value else "best value"


def falsehood(certificate: Any, honest: Honest, rng: random.Random) -> str | None:
    """Return what is false about an accepted certificate, by plain runs."""
    if isinstance(certificate, ct.ChoiceCertificate):
        return choice_falsehood(certificate, honest, rng)
    if isinstance(certificate, ct.Certificate):
        return line_falsehood(certificate, honest)
    return box_falsehood(certificate, honest, rng)


def box_falsehood(certificate: Any, honest: Honest, rng: random.Random) -> str | None:
    """Return what is false about an accepted certificate of boxes, by plain runs."""
    space, slack = honest.family.space, Fraction(honest.family.tolerance)
    for item in space.parameters:
        value = certificate.best_params[item.name]
        if isinstance(item, ct.Real) and not item.low <= value <= item.high:
            return f"{certificate.best_params} is not in the space"
    if not abs(_mean_run(honest, certificate.best_params) - certificate.best_value) <= slack:
        return "best value is not what runs give"
    if certificate.upper_bound + slack < honest.certificate.best_value:
        return f"upper bound {certificate.upper_bound}"
    for box, upper in certificate.leaves(honest.family) if certificate.cuts else ():
        if not box.is_empty and rng.random() < 0.2:
            if _mean_run(honest, box.centre) > upper + slack:
                return f"bound {upper} of {box}"
    return None


# The campaign


def campaign(count: int, seed: int, names: Collection[str] = ()) -> Counter[str]:
    """Forge certificates and count what becomes of them; raises at anything unexpected."""
    rng = random.Random(seed)
    honest = honest_certificates(names)
    weights = [case.share for case in honest]
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        for number in range(count):
            case = rng.choices(honest, weights)[0]
            content = mutant(case, rng)
            text = json.dumps(content)
            path.write_text(text)
            started, outcome = time.perf_counter(), "refused by load"
            try:
                certificate = type(case.certificate).load(path)
                outcome = "refused by verify"
                ct.verify(certificate, case.family, case.instances)
                outcome = "accepted"
            except ct.CertificateError:
                pass
            outcomes[f"{case.name}: {outcome}"] += 1
            elapsed = time.perf_counter() - started
            size = max(1.0, len(text) / len(json.dumps(case.content)))
            if elapsed > SECONDS + SLOWER * size * case.seconds:
                raise AssertionError(f"{number} of {case.name} took {elapsed:.1f} s: {text[:2000]}")
            if outcome == "accepted":
                wrong = falsehood(certificate, case, rng)
                if wrong:
                    raise AssertionError(f"{number} of {case.name}: {wrong}: {text[:4000]}")
    return outcomes


def main() -> None:
    """Run the campaign and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=(), help="names of certificates")
    given = parser.parse_args()
    started = time.perf_counter()
    outcomes = campaign(given.count, given.seed, given.only)
    for name, number in sorted(outcomes.items()):
        print(f"{number:8d}  {name}")
    seconds = time.perf_counter() - started
    print(f"{given.count} mutations in {seconds:.0f} s: no false claim, no foreign exception")


if __name__ == "__main__":
    main()
