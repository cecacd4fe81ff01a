"""Ctrl-C and SIGTERM at random moments: every run answers soon and keeps what is finished.

    python benchmarks/interrupts.py              300 moments with seed 0
    python benchmarks/interrupts.py 40 --seed 3 --largest 500

Each moment is a process of its own that tunes instances of one family: linkage of small and large
instances, graphs, logistic and linear regression, a program, two parameters of linkage; with one or
two workers. It gets one signal somewhere between its first step and the end of the run. It must not
crash, must end soon, and what it answers must be a result that holds, with a bound not below the
value.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time

LIMIT = 0.5  # seconds between a signal and the answer
KINDS = ("linkage", "large", "product", "graph", "logistic", "lasso", "program", "boxes")


def instances_and_family(kind, size):
    """Return a family and some of its instances, which together take seconds."""
    import numpy as np

    import certune as ct

    rng = np.random.default_rng(0)

    def clouds(count, n, metrics=("euclidean",)):
        return [
            ct.ClusteringInstance(rng.normal(size=(n, 3)), metrics=metrics, target=np.arange(n) % 4)
            for _ in range(count)
        ]

    two = ("euclidean", "cityblock")
    if kind == "linkage":
        return ct.Linkage("power-mean", alpha=(-10, 10)), clouds(40, 150)
    if kind == "large":
        return ct.Linkage("min-max", alpha=(-5, 5)), clouds(3, size)
    if kind == "product":
        family = ct.Linkage("product", alpha=[(-2, 3), 1.0])
        return family, clouds(12, 120, two)
    if kind == "graph":
        family = ct.HarmonicLabeling(sigma=(0.1, 5))
        return family, ct.datasets.digits_labeling(12, n_per_class=40)
    if kind == "logistic":
        family = ct.RegularizedLogistic("l1", lam=(1e-4, 1.0), standardize=True)
        return family, ct.datasets.breast_cancer_classification(12)
    if kind == "lasso":
        X, y = rng.normal(size=(300, 60)), rng.normal(size=300)
        folds = np.array_split(np.arange(300), 12)
        return ct.RegularizedRegression("l1", alpha=(1e-4, 1.0), max_error=2.0), [
            ct.RegressionInstance(
                np.delete(X, fold, 0), np.delete(y, fold), X[fold], y[fold], name=f"fold {number}"
            )
            for number, fold in enumerate(folds)
        ]
    if kind == "program":
        return ct.GreedyKnapsack(rho=(0, 2)), [
            ct.KnapsackInstance(rng.integers(1, 99, 40), rng.integers(1, 99, 40), capacity=600)
            for _ in range(12)
        ]
    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    return family, clouds(4, 60, two)


def work(kind, size, n_jobs):
    """Tune, and print what came of it; the process that is interrupted."""
    import certune as ct

    family, instances = instances_and_family(kind, size)
    print("ready", flush=True)
    try:
        result = ct.tune(family, instances, n_jobs=n_jobs, progress=False)
    except (KeyboardInterrupt, ct.NothingFinishedError):
        print(json.dumps({"finished": 0}), flush=True)
        return
    answered = time.time()
    holds = result.best_value_exact <= result.upper_bound_exact
    finished = len(getattr(result, "duals", ()))
    answer = {"status": result.status.name, "finished": finished, "holds": bool(holds)}
    print(json.dumps({**answer, "answered": answered}), flush=True)


def moment(kind, size, n_jobs, number, wait):
    """Send a signal to a run; return (what is wrong or None, seconds until it ended, answer)."""
    command = [sys.executable, __file__, "--work", kind, "--largest", str(size)]
    process = subprocess.Popen(
        [*command, "--workers", str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(wait)
    finished_before = process.poll() is not None
    sent = time.time()
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "did not end within two minutes", 120.0, {}
    answer = json.loads(out) if out.strip() else {}
    took = answer.get("answered", time.time()) - sent
    if finished_before or answer.get("status") in ("OPTIMAL", "UNDECIDED"):
        return None, 0.0, answer
    if process.returncode not in (0, -signal.SIGTERM, -signal.SIGINT, 130, 143):
        return f"exit code {process.returncode}: {err.strip()[-300:]}", took, answer
    if not answer and number == signal.SIGINT:
        return f"no answer: {err.strip()[-300:]}", took, answer
    if answer.get("holds") is False:
        return f"a result that does not hold: {answer}", took, answer
    return None, took, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=3000, help="points of a large instance")
    parser.add_argument("--work", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.largest, options.workers)
    rng = random.Random(options.seed)
    times = {kind: [] for kind in KINDS}
    faults = 0
    for turn in range(options.count):
        kind = KINDS[turn % len(KINDS)]
        size = rng.choice((500, 1000, options.largest))
        number = rng.choice((signal.SIGINT, signal.SIGTERM))
        n_jobs = rng.choice((1, 2))
        wait = rng.random() ** 2 * 4.0
        wrong, took, answer = moment(kind, size, n_jobs, number, wait)
        times[kind].append(took)
        if wrong or took > LIMIT:
            faults += bool(wrong)
            print(
                f"{kind} n_jobs={n_jobs} {number.name} after {wait:.2f} s: ended {took:.2f} s "
                f"later; {wrong or answer}",
                flush=True,
            )
    print(f"{options.count} signals, {faults} faults; seconds until the answer, by kind:")
    for kind, taken in times.items():
        late = sum(value > LIMIT for value in taken)
        print(f"  {kind:>9}: largest {max(taken, default=0.0):.2f}, later than {LIMIT} s: {late}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
