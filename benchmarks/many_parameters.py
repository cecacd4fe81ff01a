"""Several parameters: how long does the proof take, and how good is the incumbent over time?

1. n = 50 and n = 100, two metrics, (alpha, weight) in [0.5, 8] x [0, 1]: seconds to gap 0, for one
   instance and for ten or twenty together; the optimum is confirmed by plain runs.
2. The gap over time for product linkage, for min-max linkage, and for graphs in (sigma, weight).
3. Twenty instances with n = 100 and three metrics: incumbent and bound over time beside random
   search, Optuna's TPE and, if installed, SMAC, on several draws, all in one process at the same
   CPU time. The peers run the same plain algorithm.

    python benchmarks/many_parameters.py [--draws 10] [--seconds 20] [--skip-peers]
"""

import argparse
import platform
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

TWO = ("euclidean", "cityblock")
THREE = ("euclidean", "cityblock", "correlation")
MARKS = (2, 5, 10, 20, 40)


def closing_times(n_instances, n_per_class):
    """Seconds until nothing can be better, for single instances and for all of them together."""
    import certune as ct

    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    instances = ct.datasets.digits_clustering(
        n_instances, n_classes=5, n_per_class=n_per_class, metrics=TWO, random_state=1
    )
    ct.tune(family, instances[:1], progress=False)
    rows = [[instance] for instance in instances[:5]] + [instances]
    for chosen in rows:
        cpu = time.process_time()
        result = ct.tune(family, chosen, progress=False)
        cpu = time.process_time() - cpu
        confirmed = result.evaluate(chosen).value == result.best_value
        print(
            f"  {len(chosen):>3} instance(s): {result.status.name}, best {result.best_value:.4f}, "
            f"{result.n_nodes} boxes, {cpu:.2f} s CPU, {result.elapsed:.2f} s; "
            f"confirmed by runs: {confirmed}",
            flush=True,
        )


def random_settings(count=100_000):
    """Plain runs at random settings: none may be better than the proved bound."""
    import certune as ct

    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    instances = ct.datasets.digits_clustering(
        3, n_classes=5, n_per_class=10, metrics=TWO, random_state=1
    )
    rng = np.random.default_rng(0)
    for instance in instances:
        result = ct.tune(family, [instance], progress=False)
        best = max(family.run(instance, family.space.sample(rng)) for _ in range(count))
        print(
            f"  {result.status.name}, bound {result.upper_bound:.4f}; best of {count} random "
            f"settings {best:.4f}"
        )
        assert best <= result.upper_bound


def gaps(seconds):
    import certune as ct

    digits = ct.datasets.digits_clustering(3, n_classes=4, n_per_class=8, metrics=TWO)
    three = ct.datasets.digits_clustering(3, n_classes=4, n_per_class=8, metrics=THREE)
    cases = {
        "product, L = 2, exponents in [0.25, 3]": (
            ct.Linkage("product", alpha=[(0.25, 3)] * 2),
            digits,
        ),
        "product, L = 2, exponents in [-1, 3]": (
            ct.Linkage("product", alpha=[(-1, 3)] * 2),
            digits,
        ),
        "product, L = 3, exponents in [0.25, 2]": (
            ct.Linkage("product", alpha=[(0.25, 2)] * 3),
            three,
        ),
        "min-max, alpha in [-3, 8] and a weight": (
            ct.Linkage("min-max", alpha=(-3, 8), weights="tune", n_metrics=2),
            digits,
        ),
    }
    show_gaps(cases, seconds)


def graph_gaps(seconds):
    """Harmonic labels over bandwidth and one weight, alone and three instances together."""
    import certune as ct

    metrics = ("sqeuclidean", "cityblock")
    family = ct.HarmonicLabeling(sigma=(0.3, 3), weights="tune", n_metrics=2)
    blobs = ct.datasets.random_labeling(
        3, n_per_class=15, n_labeled_per_class=3, spread=0.4, metrics=metrics
    )
    digits = ct.datasets.digits_labeling(
        3, n_classes=3, n_per_class=8, n_labeled_per_class=2, metrics=metrics
    )
    larger = ct.datasets.digits_labeling(
        3, n_classes=5, n_per_class=12, n_labeled_per_class=3, metrics=metrics
    )
    cases = {
        "blobs, 2 classes, n = 30, one instance": (family, blobs[:1]),
        "blobs, 2 classes, n = 30, three instances": (family, blobs),
        "digits, 3 classes, n = 24, one instance": (family, digits[:1]),
        "digits, 3 classes, n = 24, three instances": (family, digits),
        "digits, 5 classes, n = 60, one instance": (family, larger[1:2]),
        "digits, 5 classes, n = 60, three instances": (family, larger),
    }
    show_gaps(cases, seconds)


def show_gaps(cases, seconds):
    """Tune until the gap is 0 or the CPU time is up; the machine may be shared."""
    import certune as ct

    for name, (family, instances) in cases.items():
        gaps_at, started = [], time.process_time()

        def stop(state, gaps_at=gaps_at, started=started):
            gaps_at.append((time.process_time() - started, state.gap))
            return gaps_at[-1][0] >= seconds

        result = ct.tune(family, instances, timeout=20 * seconds, callbacks=[stop], progress=False)
        cpu = time.process_time() - started
        path = ", ".join(
            f"{[gap for when, gap in gaps_at if when <= mark][-1]:.4f} at {mark} s"
            for mark in MARKS
            if mark < cpu
        )
        print(
            f"  {name}: {result.status.name}, best {result.best_value:.4f}, "
            f"gap {result.gap:.4f} after {cpu:.1f} s CPU, "
            f"{result.n_lines} lines, {result.n_nodes} boxes" + (f" ({path})" if path else ""),
            flush=True,
        )


class Peer:
    """Mean utility of a setting, with the best value over CPU time."""

    def __init__(self, family, instances, seconds):
        self.family, self.instances = family, instances
        self.started, self.seconds = time.process_time(), seconds
        self.history, self.best = [], -1.0

    @property
    def over(self):
        return time.process_time() - self.started >= self.seconds

    def value(self, alpha, raw):
        weights = np.array(raw) / max(sum(raw), 1e-12)
        params = {"alpha": alpha, "weights": tuple(weights.tolist())}
        total = sum(self.family.run(item, params) for item in self.instances)
        self.best = max(self.best, total / len(self.instances))
        self.history.append((time.process_time() - self.started, self.best))
        return total / len(self.instances)

    def at(self, mark):
        return max((best for when, best in self.history if when <= mark), default=float("nan"))


def random_search(peer, seed):
    rng = np.random.default_rng(seed)
    while not peer.over:
        peer.value(float(rng.uniform(0.5, 8)), rng.dirichlet(np.ones(3)).tolist())


def optuna_tpe(peer, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    while not peer.over:
        trial = study.ask()
        raw = [trial.suggest_float(f"w{i}", 0.0, 1.0) for i in range(3)]
        study.tell(trial, peer.value(trial.suggest_float("alpha", 0.5, 8.0), raw))


def smac(peer, seed):
    from ConfigSpace import ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    space = ConfigurationSpace(seed=seed)
    space.add([Float("alpha", (0.5, 8.0))] + [Float(f"w{i}", (1e-6, 1.0)) for i in range(3)])
    folder = Path(tempfile.mkdtemp())
    scenario = Scenario(
        space, n_trials=100_000, seed=seed, deterministic=True, output_directory=folder
    )
    facade = HyperparameterOptimizationFacade(
        scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=50
    )
    while not peer.over:
        info = facade.ask()
        raw = [info.config[f"w{i}"] for i in range(3)]
        facade.tell(info, TrialValue(cost=1.0 - peer.value(info.config["alpha"], raw)))
    shutil.rmtree(folder)


def race(draws, seconds, first=10):
    import certune as ct

    peers = {"random": random_search, "optuna": optuna_tpe, "smac": smac}
    for name, module in (("optuna", "optuna"), ("smac", "smac")):
        try:
            __import__(module)
        except ImportError:
            print(f"  ({name} is not installed)")
            del peers[name]
    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=3)
    marks = [mark for mark in MARKS if mark <= seconds]
    wins = dict.fromkeys(peers, 0)
    for draw in range(first, first + draws):
        instances = ct.datasets.digits_clustering(
            20, n_classes=5, n_per_class=20, metrics=THREE, random_state=100 + draw
        )
        for instance in instances:
            _ = instance.distances, instance.pair_codes
        states, clock = [], []
        cpu = time.process_time()

        def stop(state, states=states, clock=clock, cpu=cpu):
            states.append(state)
            clock.append(time.process_time() - cpu)
            return clock[-1] >= seconds

        result = ct.tune(family, instances, timeout=4 * seconds, callbacks=[stop], progress=False)
        ours = [
            max((s.best_value for s, c in zip(states, clock, strict=True) if c <= m), default=0.0)
            for m in marks
        ]
        print(
            f"  draw {draw}: certune "
            + " ".join(f"{value:.4f}" for value in ours)
            + f" | bound {result.upper_bound:.4f} | {result.n_lines} lines {result.n_nodes} boxes"
        )
        for name, search in peers.items():
            peer = Peer(family, instances, seconds)
            search(peer, draw)
            theirs = [peer.at(mark) for mark in marks]
            wins[name] += all(a >= b for a, b in zip(ours, theirs, strict=True))
            print(
                f"          {name:<7} "
                + " ".join(f"{value:.4f}" for value in theirs)
                + f" | {len(peer.history)} runs",
                flush=True,
            )
    for name, count in wins.items():
        print(f"  at least as good as {name} at all of {marks} s: {count} of {draws} draws")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--skip-peers", action="store_true")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    print("Seconds to gap 0, n = 50, two metrics")
    closing_times(10, 10)
    print("Seconds to gap 0, n = 100, two metrics")
    closing_times(20, 20)
    print("Random settings against the proved bound, n = 50, two metrics")
    random_settings()
    print("Gap over CPU time, n = 32, three instances")
    gaps(options.seconds)
    print("Gap over CPU time, graphs, sigma in [0.3, 3] and one weight")
    graph_gaps(options.seconds)
    if not options.skip_peers:
        print("Incumbent over CPU time, 20 instances, n = 100, three metrics")
        race(options.draws, options.seconds)


if __name__ == "__main__":
    main()
