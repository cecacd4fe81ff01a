"""How many neighbours, how fast their votes fade, and which distance: one proved optimum over all.

Integer and categorical parameters of a program are Python's own numbers and words. Tuning takes the
best of all their settings, each with an exact function of the real parameter beside them, and one
certificate proves it.
"""

import random

import certune as ct
from certune.pfaffian import exp


def right_votes(instance, parameters):
    """Share of the queries whose weighted vote of the k nearest points is right."""
    points, labels, queries, truth = instance
    right = 0
    for query, answer in zip(queries, truth, strict=True):
        gaps = [[abs(a - b) for a, b in zip(query, point, strict=True)] for point in points]
        far = [sum(gap) if parameters["distance"] == "city" else max(gap) for gap in gaps]
        nearest = sorted(range(len(points)), key=lambda i: (far[i], i))[: parameters["k"]]
        votes = [0, 0]
        for i in nearest:
            votes[labels[i]] += exp(-parameters["decay"] * (far[i] - far[nearest[0]]))
        right += int(votes[1] > votes[0]) == answer
    return right / len(queries)


def instance(seed):
    """Points of two overlapping classes in the plane."""
    rng = random.Random(seed)

    def draw(label):
        return tuple(rng.gauss(label, 0.8) for _ in range(2))

    labels, truth = ([rng.randint(0, 1) for _ in range(n)] for n in (9, 5))
    return tuple(map(draw, labels)), tuple(labels), tuple(map(draw, truth)), tuple(truth)


def main():
    """Tune on four data sets, and check the proof."""
    space = ct.ParameterSpace(
        (
            ct.Integer("k", 1, 4),
            ct.Real("decay", 0, 5),
            ct.Categorical("distance", ("city", "largest")),
        )
    )
    family = ct.ProgramFamily(
        right_votes, space, baselines={"one": {"k": 1, "decay": 1.0, "distance": "city"}}
    )
    instances = [instance(seed) for seed in range(60, 64)]
    result = ct.tune(family, instances, progress=False)
    print(result)
    print(ct.verify(result.certificate, family, instances).optimal)
    # Every setting is a family of its own.
    best = result.best_params
    part = family.slices()[f"k = {best['k']}, distance = {best['distance']}"]
    print(part.dual(instances[0]).n_pieces, "pieces along decay on the first data set")


if __name__ == "__main__":
    main()
