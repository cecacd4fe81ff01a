"""Do the guarantees hold, how tight are they, and what do they cost?

Three tables, each written into docs/guarantees.md between its markers with --write:

coverage  repeated draws from a domain with known expectation: how often every bound holds
digits    200 clustering instances of digits, split at random: tuning / held-out / optimism / bounds
cost      time of the guarantee against the time of the exact utility functions

    python benchmarks/guarantees.py [coverage digits cost] [--repetitions 1000] [--write]
"""

import argparse
import os
import platform
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import certune as ct
from certune.guarantees import Tuned, make_guarantee, mean_interval, rademacher, refine
from certune.testing import StepFamily, WindowDomain

DOCS = Path(__file__).parents[1] / "docs" / "guarantees.md"
DELTA = 0.05
UNIT_RANGE = (Fraction(0), Fraction(1))


def optimum(duals):
    """Tuned coordinate and mean utility on the tuning instances, as certune.tune finds them."""
    landscape = ct.mean(duals)
    low, high = landscape.widest_plateau(0)
    return landscape, min(max(0.5 * low + 0.5 * high, low), high)


def one_repetition(domain, n_instances, n_held_out, rng):
    """Draw instances, tune, and compare what is promised with the truth."""
    family = StepFamily()
    duals = [family.dual(instance) for instance in domain.sample(n_instances, rng)]
    landscape, t = optimum(duals)
    held_out = [family.run_exact(i, t) for i in domain.sample(n_held_out, rng)]
    guarantee = make_guarantee(
        Tuned(landscape.max_exact, len(duals), *UNIT_RANGE),
        landscape.upper_bound_exact,
        duals=duals,
        delta=DELTA,
        held_out=held_out,
        structure=domain.structure,
        random_state=rng,
    )
    truth = float(domain.expected_utility(t))
    optimism = guarantee.tuning_value - truth
    rows = {bound.name: (bound.value, bound.value >= optimism) for bound in guarantee.bounds}
    simple = guarantee.simple
    simple_optimism = simple.tuning_value - float(domain.expected_utility(simple.coordinate))
    rows["Occam, for its setting"] = (simple.bound.value, simple.bound.value >= simple_optimism)
    best = guarantee.best_possible
    rows["best possible utility, excess"] = (
        best - domain.best_utility,
        best >= domain.best_utility,
    )
    interval = mean_interval(held_out, DELTA)
    rows["held-out interval, width"] = (
        interval.high - interval.low,
        interval.low <= truth <= interval.high,
    )
    ends = np.concatenate((landscape.starts, landscape.stops))
    deviation = float(np.max(landscape(ends) - domain.expected_utility(ends)))
    complexity = rademacher(refine(duals), random_state=rng).upper
    return rows, optimism, deviation, complexity


def coverage(options):
    lines = [
        f"{options.repetitions} repetitions for each column, 50 held-out instances. Cells: median "
        f"of the bound, and how often it held; all at delta = {DELTA} jointly.",
    ]
    sizes = (5, 20, 100)
    for signal in (0.0, 0.5):
        domain, columns = WindowDomain(signal=signal), []
        for n_instances in sizes:
            rng = np.random.default_rng([n_instances, round(10 * signal)])
            found = [
                one_repetition(domain, n_instances, 50, rng) for _ in range(options.repetitions)
            ]
            columns.append(found)
        share = f"{100 * signal:g} % windows, {100 - 100 * signal:g} % noise"
        lines += ["", f"| {share} | " + " | ".join(f"N = {n}" for n in sizes) + " |"]
        lines.append("|---" * (len(sizes) + 1) + "|")
        lines += _truth_rows(columns)
        names = sorted(columns[-1][0][0], key=lambda name: _median(columns[-1], name))
        for name in names:
            held = [100 * np.mean([row[0][name][1] for row in column]) for column in columns]
            cells = [
                f"{_median(column, name):.3f}, {share:.1f} %"
                for column, share in zip(columns, held, strict=True)
            ]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        together = [
            100 * np.mean([all(ok for _, ok in list(row[0].values())[:-1]) for row in column])
            for column in columns
        ]
        cells = " | ".join(f"{share:.1f} %" for share in together)
        lines.append(f"| all bounds together | {cells} |")
    return lines


def _median(found, name):
    return np.median([row[0][name][0] for row in found])


def _truth_rows(columns):
    """Rows about the truth: realised optimism, uniform deviation, complexity."""
    rows = []
    values = [[np.array([row[k] for row in found]) for k in (1, 2, 3)] for found in columns]
    for title, cell in {
        "*optimism, mean*": lambda v: f"{v[0].mean():.3f}",
        "*optimism, 95 % quantile*": lambda v: f"{np.quantile(v[0], 1 - DELTA):.3f}",
        "*sup (P_N − P) u, mean*": lambda v: f"{v[1].mean():.3f}",
        "*twice the empirical Rademacher complexity, mean*": lambda v: (
            f"{2 * v[2].mean():.3f}, {2 * v[2].mean() / v[1].mean():.2f} times the row above"
        ),
    }.items():
        rows.append(f"| {title} | " + " | ".join(cell(v) for v in values) + " |")
    return rows


def digits(options):
    instances = ct.datasets.digits_clustering(200)
    family = ct.Linkage("power-mean", alpha=(-10, 10))
    duals = [family.dual(instance) for instance in instances]
    structure = family.structure_of(instances)
    rng = np.random.default_rng(0)
    lines = [
        "| N | tuning | held out (100) | optimism | tightest (held-out betting): utility ≥ | "
        "tuning instances alone (Occam): utility ≥ | Rademacher: optimism ≤ | "
        "worst case: optimism ≤ |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n_instances in (5, 20, 100):
        rows = []
        for _ in range(options.splits):
            order = rng.permutation(len(duals))
            chosen = [duals[i] for i in order[:n_instances]]
            landscape, t = optimum(chosen)
            held_out = [value_at(duals, family, instances, i, t) for i in order[-100:]]
            guarantee = make_guarantee(
                Tuned(landscape.max_exact, len(chosen), *UNIT_RANGE),
                landscape.upper_bound_exact,
                duals=chosen,
                held_out=held_out,
                structure=structure,
                random_state=rng,
            )
            named = {bound.name: bound for bound in guarantee.bounds}
            worst = min(b.value for n, b in named.items() if n.startswith("worst"))
            mean = float(sum(held_out) / len(held_out))
            rows.append(
                (
                    guarantee.tuning_value,
                    mean,
                    guarantee.tuning_value - mean,
                    named["held-out betting"].expected_utility,
                    guarantee.simple.expected_utility,
                    named["empirical Rademacher"].value,
                    worst,
                )
            )
        means = [f"{value:.3f}" for value in np.mean(rows, axis=0)]
        lines.append(f"| {n_instances} | " + " | ".join(means) + " |")
    return [
        f"Means over {options.splits} random splits of 200 instances (5 digits, 20 images each), "
        f"power-mean linkage, alpha in [-10, 10]; every bound at delta = {DELTA} jointly.",
        "",
        *lines,
    ]


def value_at(duals, family, instances, index, t):
    value = duals[index].value_at(t)
    return family.run_exact(instances[index], t) if value is None else value


def cost(options):
    family = ct.Linkage("power-mean", alpha=(-10, 10))
    lines = ["| N | exact functions | guarantee | ratio |", "|---|---|---|---|"]
    for n_instances in (5, 20, 100, 200):
        instances = ct.datasets.digits_clustering(n_instances)
        for instance in instances:
            _ = instance.distances
        family.dual(instances[0])
        start = time.perf_counter()
        duals = [family.dual(instance) for instance in instances]
        functions = time.perf_counter() - start
        landscape, t = optimum(duals)
        held_out = [value_at(duals, family, instances, i, t) for i in range(n_instances)]
        times = []
        for _ in range(3):
            start = time.perf_counter()
            make_guarantee(
                Tuned(landscape.max_exact, len(duals), *UNIT_RANGE),
                landscape.upper_bound_exact,
                duals=duals,
                held_out=held_out,
                structure=family.structure_of(instances),
            )
            times.append(time.perf_counter() - start)
        took = min(times)
        lines.append(
            f"| {n_instances} | {functions:.3f} s | {took:.3f} s | {took / functions:.2f} |"
        )
    return ["Digits, n = 100 points; as many held-out utilities as tuning instances.", "", *lines]


def write(name, text):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = DOCS.read_text()
    head, rest = page.split(begin)
    DOCS.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main():
    tables = {"coverage": coverage, "digits": digits, "cost": cost}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(tables)}; all by default")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    options = parser.parse_args()
    unknown = set(options.tables) - set(tables)
    if unknown:
        parser.error(f"unknown table {sorted(unknown)[0]!r}, expected some of {', '.join(tables)}")
    machine = (
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} cores."
    )
    for name in options.tables or tables:
        text = "\n".join([*tables[name](options), "", machine])
        print(f"== {name}\n{text}\n")
        if options.write:
            write(name, text)


if __name__ == "__main__":
    main()
