"""Which solver first, and for how long? The best schedule over all orders and times, with proof."""

import random

import certune as ct

CUTOFF = 300


def recorded_runs(number, seed=0):
    """Runtimes of four made-up solvers; some are quick on easy problems, some steady."""
    rng = random.Random(seed)
    problems = []
    for index in range(number):
        hardness = rng.lognormvariate(0, 1.5)
        times = {
            "quick": rng.lognormvariate(0, 1) * hardness**2,
            "steady": 30 + 20 * rng.random() * (1 + hardness),
            "lucky": rng.choice([5, 1000]) * rng.random(),
            "old": 100 + 50 * rng.random() * hardness,
        }
        known = {name: time if time <= CUTOFF else None for name, time in times.items()}
        problems.append(ct.RuntimeInstance(known, name=f"problem {index}"))
    return problems


def main():
    runs = recorded_runs(150)
    for size in (2, 3):
        result = ct.best_schedule(runs[:100], CUTOFF, size)
        print(result)
        costs = result.evaluate(runs[100:])
        print(f"  on new problems: {float(sum(costs) / len(costs)):.6g} s")
        promise = result.guarantee(held_out=runs[100:]).expected_utility
        print(f"  promised with 95 %: at most {result.par10_of(promise):.6g} s")
    family = ct.SolverSchedule(result.schedule.solvers[:2], CUTOFF)
    tuned = ct.tune(family, runs[:20], progress=False)
    print(tuned.status, {name: round(time, 3) for name, time in tuned.best_params.items()})


if __name__ == "__main__":
    main()
