"""Ctrl-C and SIGTERM at random moments: every run answers soon and keeps what is finished.

    python benchmarks/interrupts.py              300 moments with seed 0
    python benchmarks/interrupts.py 40 --seed 3 --largest 500 --only large graph

Each moment is a process of its own that works on instances of one family, with one or two workers:
linkage of small and large instances, graphs, logistic and linear regression, Genie, programs and
reported decisions, schedules, discrete parameters, choices, two parameters of each of four
families, verification of a certificate, online learning. It gets one signal, at the start or once
some instances are finished. It must not crash, must answer soon, and
must not lose a finished instance; its bound must hold.

A machine that is busy with something else lets processes wait for a processor. How long the threads
of the process did so is read from the kernel (Linux), and does not count as lateness.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LIMIT = 0.5  # seconds between a signal and the answer
PATIENCE = 20.0  # seconds that are waited for the steps of a run before the signal is sent


def clouds(count, n, metrics=("euclidean",)):
    """Return clustering instances without structure."""
    import numpy as np

    import certune as ct

    rng = np.random.default_rng(0)
    return [
        ct.ClusteringInstance(rng.normal(size=(n, 3)), metrics=metrics, target=np.arange(n) % 4)
        for _ in range(count)
    ]


TWO = ("euclidean", "cityblock")


def linkage(ct, np, size):
    return ct.Linkage("power-mean", alpha=(-10, 10)), clouds(40, 150)


def large(ct, np, size):
    return ct.Linkage("min-max", alpha=(-5, 5)), clouds(3, size)


def means(ct, np, size):
    return ct.Linkage("power-mean", alpha=(-3, 3)), clouds(2, size)


def energy(ct, np, size):
    return ct.Linkage("energy", alpha=(0.1, 4), objective="cut"), clouds(3, min(size, 1000))


def moving(ct, np, size):
    return ct.Linkage("min-max", alpha=0.5, weights="tune", n_metrics=2), clouds(2, size, TWO)


def product(ct, np, size):
    return ct.Linkage("product", alpha=[(-2, 3), 1.0]), clouds(12, 120, TWO)


def genie(ct, np, size):
    return ct.GenieClustering(), clouds(20, 120)


def graph(ct, np, size):
    family = ct.HarmonicLabeling(sigma=(0.1, 5))
    return family, ct.datasets.digits_labeling(12, n_per_class=40)


def logistic(ct, np, size):
    family = ct.RegularizedLogistic("l1", lam=(1e-4, 1.0), standardize=True)
    return family, ct.datasets.breast_cancer_classification(12)


def ridge(ct, np, size):
    family = ct.RegularizedLogistic("l2", lam=(1e-4, 1.0), standardize=True)
    return family, ct.datasets.breast_cancer_classification(12)


def classes(ct, np, size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(240, 8)), np.arange(240) % 4
    return ct.RegularizedLogistic("l2", lam=(1e-3, 1.0)), [
        ct.ClassificationInstance(np.delete(X, fold, 0), np.delete(y, fold), X[fold], y[fold])
        for fold in np.array_split(np.arange(240), 8)
    ]


def folds(ct, np, columns, count):
    """Return the folds of a regression without structure."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, columns)), rng.normal(size=300)
    return [
        ct.RegressionInstance(
            np.delete(X, fold, 0), np.delete(y, fold), X[fold], y[fold], name=f"fold {number}"
        )
        for number, fold in enumerate(np.array_split(np.arange(300), count))
    ]


def lasso(ct, np, size):
    return ct.RegularizedRegression("l1", alpha=(1e-4, 1.0), max_error=2.0), folds(ct, np, 60, 12)


def elastic_net(ct, np, size):
    family = ct.RegularizedRegression(
        "elastic-net", alpha=(1e-2, 1.0), max_error=2.0, l1_ratio=(0.1, 1)
    )
    return family, folds(ct, np, 8, 4)


def schedule(ct, np, size):
    rng = np.random.default_rng(0)
    family = ct.SolverSchedule(("a", "b", "c"), cutoff=100)
    draws = rng.integers(1, 150, (12, 3)).tolist()
    return family, [ct.RuntimeInstance(dict(zip("abc", row, strict=True))) for row in draws]


def knapsacks(ct, np, count):
    rng = np.random.default_rng(0)
    return [
        ct.KnapsackInstance(rng.integers(1, 99, 40), rng.integers(1, 99, 40), capacity=600)
        for _ in range(count)
    ]


def program(ct, np, size):
    return ct.GreedyKnapsack(rho=(0, 2)), knapsacks(ct, np, 12)


def decisions(ct, np, size):
    return ct.DecisionFamily(dear_first, ct.Real("price", 0, 10)), list(range(12))


def dear_first(seed, decisions):
    """Take forty times the better of six offers, told to certune one by one."""
    draw, gained = random.Random(seed), 0
    for _ in range(40):
        gains = [draw.randint(1, 1000) for _ in range(6)]
        costs = [draw.randint(1, 200) for _ in range(6)]
        gained += gains[decisions.choose_linear(gains, [-cost for cost in costs])]
    return gained / 40_000


def discrete(ct, np, size):
    space = ct.ParameterSpace((ct.Real("rho", 0, 2), ct.Integer("shift", 0, 5)))
    return ct.ProgramFamily(shifted_greedy, space), list(range(8))


def choice(ct, np, size):
    means = ct.Linkage("power-mean", alpha=(-10, 10))
    return ct.Choice({"means": means, "genie": ct.GenieClustering()}), clouds(12, 120)


def program_boxes(ct, np, size):
    space = ct.ParameterSpace((ct.Real("rho", 0, 2), ct.Real("shift", 0, 1)))
    return ct.ProgramFamily(shifted_greedy, space), list(range(8))


def shifted_greedy(seed, parameters):
    """Pack ten items by value over a power of size, with a discount for large ones."""
    draw = random.Random(seed)
    items = [(draw.randint(1, 20), draw.randint(1, 20)) for _ in range(10)]
    rho, shift = parameters["rho"], parameters["shift"]
    order = sorted(items, key=lambda item: -(item[0] - rho * item[1] - shift * item[1] ** 2))
    room, packed = 40, 0
    for value, size in order:
        if size <= room:
            room, packed = room - size, packed + value
    return packed / sum(value for value, _ in items)


def boxes(ct, np, size):
    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    return family, clouds(4, 60, TWO)


def graph_boxes(ct, np, size):
    family = ct.HarmonicLabeling(sigma=(0.5, 3), weights="tune", n_metrics=2)
    rng = np.random.default_rng(0)
    return family, [
        ct.LabelingInstance(
            rng.normal(size=(40, 3)), labeled=range(8), truth=np.arange(40) % 2, metrics=TWO
        )
        for _ in range(3)
    ]


RUNS = {
    run.__name__: run
    for run in (
        (linkage, large, means, energy, moving, product, genie, graph, logistic, ridge, classes)
        + (lasso, elastic_net, program, decisions, schedule, discrete, choice, program_boxes)
        + (boxes, graph_boxes)
    )
}
KINDS = (*RUNS, "verify", "online")


def work(kind, size, n_jobs):
    """Do what is interrupted, and print how far it gets and what comes of it."""
    import numpy as np

    import certune as ct

    if kind == "verify":
        answer = verified(ct, np)
    elif kind == "online":
        answer = learned(ct)
    else:
        answer = tuned(ct, *RUNS[kind](ct, np, size), n_jobs)
    answered = {"answered": time.time(), "waits": waits("self")}
    print(json.dumps({**answer, **answered}), flush=True)


def tuned(ct, family, instances, n_jobs):
    """Tune; what was finished when the last state was reported must be in the result."""
    steps = 0

    def report(state):
        nonlocal steps
        steps += 1
        print(steps, flush=True)

    print("ready", flush=True)
    try:
        result = ct.tune(family, instances, n_jobs=n_jobs, progress=False, callbacks=[report])
    except KeyboardInterrupt:
        return {"lost": steps}
    # An instance may be finished whose state was not reported any more.
    kept = finished_functions(ct, family, result)
    lost = 0 if kept is None else max(0, steps - kept)
    holds = result.best_value_exact <= result.upper_bound_exact
    return {"status": result.status.name, "lost": lost, "holds": bool(holds)}


def finished_functions(ct, family, result):
    """Return how many functions of instances a result has; None for boxes of parameters."""
    if isinstance(family, ct.Choice) or family.space.discrete:
        return result.n_computed
    return len(result.duals) if family.space.n_free == 1 else None


def verified(ct, np):
    """Verify; nothing can be lost."""
    family, instances = linkage(ct, np, 0)
    result = ct.tune(family, instances[:8], progress=False)
    print("ready", flush=True)
    try:
        ct.verify(result.certificate, family, instances[:8])
    except KeyboardInterrupt:
        return {"lost": 0}
    return {"status": "OPTIMAL", "lost": 0}


def learned(ct):
    """Learn online; every round that was finished must be there afterwards."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        options = {"horizon": 60, "random_state": 0, "state": Path(folder, "state")}
        family, finished, status = ct.Linkage("power-mean", alpha=(-10, 10)), 0, "OPTIMAL"
        stream = clouds(60, 150)
        tuner = ct.OnlineTuner(family, **options)
        print("ready", flush=True)
        try:
            for instance in stream:
                tuner.propose()
                tuner.update(instance)
                finished += 1
                print(finished, flush=True)
        except KeyboardInterrupt:
            status = "INTERRUPTED"
        tuner.close()
        with ct.OnlineTuner(family, **options) as again:
            return {"status": status, "lost": max(0, finished - again.n_rounds)}


def waits(process):
    """Return for every thread the seconds that it was ready and had no processor."""
    found = {}
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        try:
            found[path.parent.name] = int(path.read_text().split()[1]) / 1e9
        except (OSError, IndexError):  # a thread that has ended, or a kernel that does not say
            continue
    return found


def moment(command, number, steps, wait):
    """Send a signal to a run after some steps (or a while) and seconds; return what happened."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        lines, enough = [], threading.Event()
        reader = threading.Thread(target=follow, args=(process.stdout, steps, lines, enough))
        reader.start()
        enough.wait(PATIENCE)
        time.sleep(wait)
        before, sent = waits(process.pid), time.time()
        process.send_signal(number)
        last = last_waits(process, sent + 120)
        if process.poll() is None:
            process.kill()
            reader.join()
            return {"wrong": "did not end within two minutes"}
        ended = time.time()
        reader.join()
        errors.seek(0)
        err = errors.read()
    # An interrupt can come between a number of steps and the end of its line.
    answers = [line[line.index("{") :] for line in lines if "{" in line]
    answer = json.loads(answers[0]) if answers else {}
    return {
        "took": max(0.0, answer.get("answered", ended) - sent),
        "waited": longest_wait(before, answer.get("waits", last)),
        "wrong": fault(process.returncode, number, answer, err),
        "answer": {key: answer[key] for key in answer if key in ("status", "lost", "holds")},
    }


def last_waits(process, deadline):
    """Wait until a process ends; return its `waits` of shortly before: the signal may end it."""
    last = {}
    while process.poll() is None and time.time() < deadline:
        last = waits(process.pid) or last
        time.sleep(0.01)
    return last


def follow(stream, steps, lines, enough):
    """Keep the lines of a process; tell when it has begun and made some steps, or has answered."""
    for line in stream:
        lines.append(line)
        if len(lines) > steps or "{" in line:
            enough.set()
    enough.set()


def longest_wait(before, after):
    """Return the longest time that one thread waited for a processor in between.

    It is 0 where the answer came first.
    """
    return max(0.0, *(after[thread] - before.get(thread, 0.0) for thread in after), 0.0)


def fault(code, number, answer, err):
    """Return what is wrong with how a process ended, or None."""
    if answer.get("lost"):
        return f"lost {answer['lost']} finished"
    if answer.get("holds") is False:
        return "a bound that does not hold"
    if not answer and code != -number:
        return f"no answer, exit code {code}: {err.strip()[-300:]}"
    # After its answer a process may still be hit by the signal, while it ends.
    if code not in (0, -number, 130) and not (number == signal.SIGINT and code == 1):
        return f"exit code {code}: {err.strip()[-300:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=3000, help="points of a large instance")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--work", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.largest, options.workers)
    # A job in the background of a shell is told to ignore Ctrl-C, and would hand that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = random.Random(options.seed)
    times = {kind: [] for kind in options.only}
    faults = late = 0
    for turn in range(options.count):
        kind = options.only[turn % len(options.only)]
        size = rng.choice((500, 1000, options.largest))
        number = rng.choice((signal.SIGINT, signal.SIGTERM))
        n_jobs = rng.choice((1, 2))
        steps, wait = rng.choice((0, 0, 1, 2, 3, 5, 8, 12, 40)), rng.random() ** 2 * 4.0
        command = [sys.executable, __file__, "--work", kind, "--largest", str(size)]
        found = moment([*command, "--workers", str(n_jobs)], number, steps, wait)
        own = found.get("took", 120.0) - found.get("waited", 0.0)
        times[kind].append((own, found.get("took", 120.0)))
        faults, late = faults + bool(found["wrong"]), late + (own > LIMIT)
        if found["wrong"] or own > LIMIT:
            moment_text = f"{number.name} {wait:.2f} s after step {steps}"
            print(f"{kind} {size} n_jobs={n_jobs} {moment_text}: {found}", flush=True)
    print(f"{options.count} signals, {faults} faults, {late} later than {LIMIT} s;")
    print("largest seconds until the answer, without and with waiting for a processor:")
    for kind, taken in times.items():
        own, whole = (max(column) for column in zip(*taken, strict=True)) if taken else (0, 0)
        print(f"  {kind:>13}: {own:.2f}  {whole:.2f}  ({len(taken)} signals)")
    return 1 if faults or late else 0


if __name__ == "__main__":
    sys.exit(main())
