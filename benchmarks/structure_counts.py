"""Counts proved for all instances of a shape against those of random instances.

    python benchmarks/structure_counts.py [--instances 10000] [--seed 0]

For each program `structure` is found once, on symbols in the place of an instance's numbers; then
random instances of that shape are traced, and no trace may compare more functions, return more
forms or need a longer chain than the structure says. Many numbers are small and whole, so that ties
and coincidences occur.
"""

import argparse
import random
import time
from collections import Counter
from fractions import Fraction

import certune as ct
from certune.families.programs.structure import check_counts
from certune.pfaffian import argmax, argsort, exp, log, sqrt


def packed(instance, p):
    values, sizes, capacity = instance
    scores = [v / s ** p["rho"] for v, s in zip(values, sizes, strict=True)]
    total = 0
    for item in argsort(scores, descending=True):
        if sizes[item] <= capacity:
            capacity -= sizes[item]
            total += values[item]
    return total / sum(values)


def nearest(points, p):
    return Fraction(argmax([-abs(p["a"] - point) for point in points]), 9)


def votes(distances, p):
    weight = sum(exp(-p["gamma"] * d) for d in distances)
    return 1 if weight >= 1 + p["c"] else 0


def odds(numbers, p):
    return Fraction(sum(x / (p["a"] + x) >= (p["a"] + 1) / (p["b"] * x) for x in numbers), 9)


def mixture(points, p):
    return Fraction(argmax([p["w"] * a + (1 - p["w"]) * b for a, b in points]), 9)


def density(numbers, p):
    return Fraction(sum(x / sqrt(p["a"] + x) >= log(p["a"] + 1) / x for x in numbers), 9)


def smooth(numbers, p):
    first, second = numbers
    return p["a"] / (1 + first) if p["a"] * first >= second else second / (1 + second)


def merged(numbers, p):
    """Sort the pairs of three numbers by a mixture of two distances."""
    gaps = [
        p["w"] * abs(x - y) + (1 - p["w"]) * abs(x * y - 9)
        for place, x in enumerate(numbers)
        for y in numbers[:place]
    ]
    order = argsort(gaps)
    return Fraction(order[0] * 3 + order[1], 9)


def number(rng):
    return rng.choice((rng.randint(1, 4), rng.randint(1, 99), rng.randint(1, 999) / 64))


def numbers(count):
    return lambda rng: tuple(number(rng) for _ in range(count))


def problem(rng):
    values, sizes = (tuple(number(rng) for _ in range(3)) for _ in range(2))
    return values, sizes, sum(sizes) / 2


def pairs(rng):
    return tuple((number(rng), number(rng)) for _ in range(3))


def space(**ranges):
    return ct.ParameterSpace(tuple(ct.Real(name, *ends) for name, ends in ranges.items()))


PROGRAMS = [
    (packed, space(rho=(0, 3)), problem),
    (nearest, space(a=(0, 100)), numbers(3)),
    (votes, space(gamma=(0, 2), c=(0, 2)), numbers(2)),
    (odds, space(a=(0.5, 9), b=(0.5, 9)), numbers(2)),
    (mixture, space(w=(0, 1)), pairs),
    (density, space(a=(0.5, 60)), numbers(2)),
    (smooth, space(a=(0, 9)), numbers(2)),
    (merged, space(w=(0, 1)), numbers(3)),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, began, above = random.Random(options.seed), time.process_time(), Counter()
    count = -(-options.instances // len(PROGRAMS))
    for program, where, draw in PROGRAMS:
        family = ct.ProgramFamily(program, where, tolerance=1e-9, utility_range=(0, 99))
        example = draw(random.Random(1))
        structure = family.structure(example)
        most = 0
        for place in range(count):
            instance = draw(rng)
            trace = family.trace(instance, boxes=32)
            most = max(most, len(trace.predicates))
            try:
                check_counts(place, structure, trace)
            except ct.InputError as error:
                above[program.__name__] += 1
                print(f"{program.__name__}: {error}\n{instance!r}")
        print(
            f"{program.__name__:<8} {count} instances: at most {most} of "
            f"{structure.n_boundaries} functions, {above[program.__name__]} above",
            flush=True,
        )
    print(
        f"{count * len(PROGRAMS)} instances, {sum(above.values())} above their structure; "
        f"{time.process_time() - began:.0f} s of CPU, seed {options.seed}"
    )
    raise SystemExit(bool(sum(above.values())))


if __name__ == "__main__":
    main()
