"""Certificates of certune, which `ct.verify` accepts, with their instances as plain files."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import certune as ct

TWO = ("euclidean", "cityblock")
GRID = np.array([[x, y] for x in range(3) for y in range(3)], dtype=float)
GRID_TARGET = [0, 0, 0, 1, 1, 1, 2, 2, 2]


def scattered(n, seed, metrics=("euclidean",), k=3):
    rng = np.random.default_rng(seed)
    target = np.resize(np.arange(k), n)
    return ct.ClusteringInstance(
        points=rng.normal(size=(n, 2)), metrics=metrics, target=target, k=k
    )


def tied(metrics=("cityblock",)):
    return ct.ClusteringInstance(points=GRID, metrics=metrics, target=GRID_TARGET)


def doubled():
    points = [[0.0], [0.0], [1.0], [1.0], [3.0], [7.0], [7.0]]
    return ct.ClusteringInstance(points=points, target=[0, 0, 1, 1, 1, 2, 2])


def linkages():
    """Kinds, objectives, metrics, utilities, ties and copies of points."""
    for kind in ("power-mean", "min-max"):
        for seed, objective in enumerate(("k-median", "k-means", "k-center")):
            family = ct.Linkage(kind, alpha=(-6, 6), objective=objective)
            yield f"{kind} {objective}", family, [scattered(8, seed), tied(), doubled()]
        cut = ct.Linkage(kind, alpha=(-3, 3), objective="cut")
        yield f"{kind} cut", cut, [scattered(7, 8), tied(), doubled()]
        yield f"{kind} two metrics", ct.Linkage(kind, alpha=(-2, 3)), [scattered(7, 3, TWO)]
        for alpha in (1.0, -1.5, 0.0, 0.5, float("inf"), float("-inf")):
            family = ct.Linkage(kind, alpha=alpha, weights="tune", n_metrics=2)
            both = [scattered(7, 4, TWO), tied(("cityblock", "chebyshev"))]
            yield f"{kind} weights {alpha}", family, both
    for seed, objective in enumerate(("k-median", "cut")):
        family = ct.Linkage("energy", alpha=(0.1, 4), objective=objective)
        yield f"energy {objective}", family, [scattered(7, seed), tied(), doubled()]
    for alphas in ([(-2, 2), 1.0], [(-2, 2), 0.0], [(-2, 2), -1.0], [0.5, (-1, 2)]):
        both = [scattered(7, 5, TWO), tied(("cityblock", "chebyshev"))]
        yield f"product {alphas}", ct.Linkage("product", alpha=alphas), both
    for utility in ("adjusted-rand", "normalized-mutual-info"):
        yield utility, ct.Linkage(alpha=(-4, 4), utility=utility), [scattered(8, 6), doubled()]


def programs():
    """Those of the shelf with one parameter."""
    rng = np.random.default_rng(7)
    whole = [rng.integers(1, 20, 7).tolist() for _ in range(4)]
    knapsacks = [ct.KnapsackInstance(whole[i], whole[i + 1], 40) for i in (0, 2)]
    yield "knapsack", ct.GreedyKnapsack(), knapsacks
    sets = [(0, 1, 2, 3), (0, 1), (2, 3), (1, 2), (3,), (0,), (2,)]
    yield "set cover", ct.GreedySetCover(), [ct.SetCoverInstance(sets, costs=c) for c in whole[:3]]
    sizes = rng.integers(1, 9, (2, 7)) / 10
    yield "bin packing", ct.VectorBinPacking(), [ct.BinPackingInstance(*sizes)]
    line = [0, 1, 2, 10, 11, 12, 14]
    distances = [[abs(x - y) for x in line] for y in line]
    points = [ct.DensityInstance(distances, [0, 0, 0, 1, 1, 1, -1])]
    yield "dbscan", ct.DensityClustering(eps=(0, 20), min_samples=2), points
    rows = rng.integers(1, 6, (4, 6)).astype(float)
    voters = [ct.NeighborInstance(rows, list("aabbcc"), list("abca"))]
    yield "neighbours", ct.NeighborVoting(gamma=(0, 5)), voters
    tree = (1, -1, 3, -1, -1), (2, -1, 4, -1, -1), (0.5, 0.1, 0.3, 0.05, 0.1), (6, 5, 3, 2, 2)
    yield "pruning", ct.CostComplexityPruning(ccp_alpha=(0, 1)), [ct.PruningInstance(*tree, 10)]
    scored = ct.ScoredInstance((0.1, 0.4, 0.6, 0.9, 0.4), (True, False, True, True, True))
    yield "threshold", ct.ConstrainedThreshold(min_precision=0.6), [scored]


PROGRAM = """
def score(x, p):
    if p["rule"] == "product":
        return 1 if p["a"] * p["k"] >= x else 0
    return 1 if p["a"] + p["k"] <= x else 0


def steps(x, p):
    if p["limit"] == float("inf"):
        return 0
    return 1 if p["k"] * p["limit"] <= x else 0


def words(x, p):
    return {"low": 0, "middle": 1, "high": 0}[p["level"]] if x > 1 else 1
"""


def discrete():
    """Programs with integer and categorical parameters, alone and beside real ones."""
    defined = {}
    exec(PROGRAM, defined)
    a, k = ct.Real("a", 0, 2), ct.Integer("k", 1, 3)
    rule = ct.Categorical("rule", ("product", "sum"))
    level = ct.Categorical("level", ("low", "middle", "high"))
    limit = ct.Categorical("limit", (1, "1", 2.5, float("inf"))[::3])
    for name, space in {"score": (a, k, rule), "steps": (limit, k), "words": (level,)}.items():
        family = ct.ProgramFamily(defined[name], ct.ParameterSpace(space))
        yield name, family, [1.5, 2, 4.25]


def choices():
    """Kinds of linkage, of which some are not followed to the end."""
    kinds = {kind: ct.Linkage(kind, alpha=(-2, 2)) for kind in ("power-mean", "min-max")}
    yield "kinds", ct.Choice(kinds), [scattered(7, seed) for seed in range(3)]


@dataclass
class Case:
    name: str
    family: Any
    instances: list[Any]
    certificate: Any
    content: dict[str, Any]

    def saved(self, folder: Path) -> list[str]:
        """Write certificate and instances; returns the arguments of the command."""
        self.certificate.save(folder / "certificate.json")
        ct.save_instances(self.instances, folder / "data")
        return [str(folder / "certificate.json"), str(folder / "data")]


def made(name, family, instances) -> Case:
    certificate = ct.tune(family, instances, progress=False).certificate
    content = {**certificate._content(), "checksum": certificate.checksum}
    return Case(name, family, instances, certificate, json.loads(json.dumps(content)))
