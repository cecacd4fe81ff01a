"""Does `certune-check` accept a false claim, or raise anything of its own?

Honest certificates of linkage and of programs are changed at random places, in every field, by
forgers who make the checksum again and, half of the time, derive the claims anew from changed
functions. What the checker accepts is held against plain runs of certune: every value, every bound
in a gap, best value, optimal set and upper bound. Accepted and true are only certificates that say
less than is known, and changes of what the checker says that it does not check.

What the checker found about a function is used again where the same function is said of the same
instance, family and segment, which is most of the time: it does not depend on anything else.

    python benchmarks/checker_mutations.py [--count 10000] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from certificate_mutations import Honest, line_falsehood, mutant, places_of

import certune as ct

sys.path.insert(0, str(Path(__file__).parents[1] / "checker" / "src"))

import certune_check  # noqa: E402
from certune_check import checking  # noqa: E402


def honest_certificates() -> list[Honest]:
    """Return certificates of several pieces that take little time to check."""
    rng = np.random.default_rng(5)

    def points(metrics: tuple[str, ...] = ("euclidean",)) -> Any:
        places = rng.normal(size=(5, 2))
        return ct.ClusteringInstance(places, metrics=metrics, target=[0, 1, 0, 1, 2])

    def several(family: Any, metrics: tuple[str, ...] = ("euclidean",)) -> list[Any]:
        found: list[Any] = []
        while len(found) < 2:
            instance = points(metrics)
            if family.dual(instance).n_pieces > 1:
                found.append(instance)
        return found

    two = ("euclidean", "cityblock")
    families = [
        ("power-mean", ct.Linkage("power-mean", alpha=(-6, 6)), ("euclidean",)),
        ("min-max", ct.Linkage("min-max", alpha=(-6, 6), objective="k-means"), ("euclidean",)),
        ("weights", ct.Linkage(alpha=1.0, weights="tune", n_metrics=2), two),
        ("product", ct.Linkage("product", alpha=[(-2, 2), 1.0]), two),
    ]
    cases = [(name, family, several(family, metrics)) for name, family, metrics in families]
    line = [0, 1, 2, 10, 11, 12, 14]
    distances = [[abs(x - y) for x in line] for y in line]
    density = ct.DensityInstance(distances, [0, 0, 0, 1, 1, 1, -1])
    cases += [
        ("knapsack", ct.GreedyKnapsack(), ct.datasets.knapsack_problems(2, n_items=5)),
        ("dbscan", ct.DensityClustering(eps=(0, 20), min_samples=2), [density, density]),
    ]
    made = []
    for name, family, instances in cases:
        certificate = ct.tune(family, instances, progress=False).certificate
        content = {**certificate._content(), "checksum": certificate.checksum}
        places = [path for path in places_of(content) if path[0] != "checksum"]
        made.append(Honest(name, family, instances, certificate, content, places, 0.0, 1.0))
    return made


def described(certificate: Any, honest: Honest) -> Honest:
    """Return the truth about the family, and the range of it, of a changed certificate."""
    family, segment = certificate.family, certificate.segment
    if (family, segment) == (honest.certificate.family, honest.certificate.segment):
        return honest
    if family.get("family") != "Linkage":
        options = {name: int(value) for name, value in family["options"].items()}
        # The descriptions of programs have no range: what is claimed is claimed of the segment.
        low, high = (segment.at(end) for end in (segment.low, segment.high))
        ranges = {name: (low[name], high[name]) for name in low}
        made: Any = type(honest.family)(**ranges, **options)
    else:
        alphas = [tuple(own) if isinstance(own, list) else float(own) for own in family["alpha"]]
        made = ct.Linkage(
            family["kind"],
            alpha=alphas if family["kind"] == "product" else alphas[0],
            weights=family["weights"],
            n_metrics=honest.family.n_metrics,
            objective=family["objective"],
            utility=family["utility"],
        )
    certificate = ct.tune(made, honest.instances, progress=False).certificate
    return replace(honest, family=made, certificate=certificate)


def falsehood(content: dict[str, Any], honest: Honest) -> str | None:
    """Return what is false about an accepted certificate."""
    highest = content["family"]["utility_range"][-1]
    if highest < 1 and len(content["duals"]) < len(honest.instances):
        return f"missing instances count with {highest}"
    certificate = ct.Certificate.unsealed(content)
    return line_falsehood(certificate, described(certificate, honest))


class Proofs:
    """Proofs of functions that the checker has made, and those that it could not make."""

    def __init__(self) -> None:
        self._prove = checking._prove
        self._known: dict[tuple[Any, ...], Exception | None] = {}

    @contextmanager
    def about(self, stored: dict[str, Any], instances: list[Any]) -> Iterator[None]:
        """Let the checker look here first; it proves functions in the order of instances."""
        described = [stored[name] for name in ("family", "segment", "instance_fingerprints")]
        subject, numbers = json.dumps(described), count()

        def prove(program: Any, dual: Any, slack: Any) -> None:
            key = (id(instances), subject, next(numbers), repr(dual), slack)
            if key not in self._known:
                problem: Exception | None = None
                try:
                    self._prove(program, dual, slack)
                except (certune_check.Refuted, certune_check.Unsupported) as error:
                    problem = error
                self._known[key] = problem
            if (problem := self._known[key]) is not None:
                raise problem

        checking._prove = prove
        try:
            yield
        finally:
            checking._prove = self._prove


def outcome_of(content: dict[str, Any], instances: list[Any], proofs: Proofs) -> str:
    """Return what the checker says; anything that it does not foresee goes through."""
    try:
        stored = json.loads(json.dumps(content))
        certificate = certune_check.certificate_from(stored)
        with proofs.about(stored, instances):
            certune_check.check(certificate, instances)
    except certune_check.Refuted:
        return "rejected"
    except certune_check.Unsupported:
        return "cannot be checked"
    return "accepted and true"


def campaign(size: int, seed: int) -> Counter[str]:
    """Forge certificates and count what becomes of them; raises at anything unexpected."""
    rng = random.Random(seed)
    honest = honest_certificates()
    files, proofs = {}, Proofs()
    for case in honest:
        with TemporaryDirectory() as folder:
            paths = ct.save_instances(case.instances, Path(folder) / "data")
            files[case.name] = [certune_check.read_instance(path) for path in paths]
        outcome = outcome_of(case.content, files[case.name], proofs)
        assert outcome == "accepted and true", case.name
    outcomes: Counter[str] = Counter()
    for number in range(size):
        case = rng.choice(honest)
        content = mutant(case, rng)
        if content == case.content:
            continue
        outcome = outcome_of(content, files[case.name], proofs)
        if outcome.startswith("accepted"):
            false = falsehood(content, case)
            if false:
                raise AssertionError(f"{number} of {case.name}: {false}: {json.dumps(content)}")
        outcomes[f"{case.name}: {outcome}"] += 1
    return outcomes


def main() -> None:
    """Run the campaign and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.perf_counter()
    outcomes = campaign(given.count, given.seed)
    for name, number in sorted(outcomes.items()):
        print(f"{number:8d}  {name}")
    print(f"{sum(outcomes.values())} changed certificates in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
