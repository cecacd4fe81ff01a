"""Several parameters: how long does the proof take, and how good is the incumbent over time?

1. n = 50 and n = 100, two metrics, (alpha, weight) in [0.5, 8] x [0, 1]: seconds to gap 0, for one
   instance and for ten or twenty together; the optimum is confirmed by plain runs.
2. The gap over time for product linkage, for min-max linkage, and for graphs in (sigma, weight).
3. Twenty instances with n = 100 and three metrics: incumbent and bound over time beside random
   search, Optuna's TPE and, if installed, SMAC, on several draws, all in one process at the same
   CPU time. The peers run the same plain algorithm.

4. With a folder of data (``mnist.npz`` or ``fashion_mnist.npz`` with arrays images, hog and label):
   seconds and memory to gap 0 on real images, two or three distances (pixels euclidean, histograms
   of gradients, pixels cityblock), one case at a time.
5. The regression case: n = 200, one metric that decides nearly all comparisons of single pairs, so
   that their surfaces run parallel to the axis of alpha; boxes must not shrink to nothing.

    python benchmarks/many_parameters.py [--draws 10] [--seconds 20] [--skip-peers]
    python benchmarks/many_parameters.py --data FOLDER --case power-mean:100:2:20 [--limit 300]
    python benchmarks/many_parameters.py --case graph:150:2:1
    python benchmarks/many_parameters.py --parallel-surfaces
    python benchmarks/many_parameters.py --race-only --draws 3 --seconds 30
"""

import argparse
import platform
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

TWO = ("euclidean", "cityblock")
THREE = ("euclidean", "cityblock", "correlation")
MARKS = (2, 5, 10, 20, 30, 40)


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


def image_instances(folder, n_points, n_metrics, count, seed=0):
    """Five random classes of images each, with two or three distances."""
    from scipy.spatial.distance import cdist

    import certune as ct

    data = np.load(Path(folder) / "mnist.npz")
    pixels = data["images"].reshape(len(data["label"]), -1) / 255.0
    gradients = data["hog"] / 510.0
    rng = np.random.default_rng(seed)
    instances = []
    for number in range(count):
        classes = rng.choice(10, 5, replace=False)
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(data["label"] == c), n_points // 5, replace=False)
                for c in classes
            ]
        )
        distances = [
            cdist(pixels[rows], pixels[rows]),
            cdist(gradients[rows], gradients[rows]),
            cdist(pixels[rows], pixels[rows], "cityblock"),
        ][:n_metrics]
        distances = [0.5 * (d + d.T) for d in distances]
        instances.append(
            ct.ClusteringInstance(
                distances=distances, target=data["label"][rows], name=f"images {number}"
            )
        )
    return instances


def graph_case(n_points, count):
    """Five classes of scikit-learn's digits, three labels each, over (sigma, weight)."""
    import certune as ct

    family = ct.HarmonicLabeling(sigma=(0.3, 3), weights="tune", n_metrics=2)
    return family, ct.datasets.digits_labeling(
        count,
        n_classes=5,
        n_per_class=n_points // 5,
        n_labeled_per_class=3,
        metrics=("sqeuclidean", "cityblock"),
    )


def closing_case(folder, case, limit, n_jobs):
    """Seconds of CPU until the gap of one case is 0, or how far it got."""
    import certune as ct

    kind, n_points, n_metrics, count = case.split(":")
    if kind == "graph":
        family, instances = graph_case(int(n_points), int(count))
    else:
        energy = kind == "energy"
        family = ct.Linkage(
            kind,
            alpha=(0.1, 4.0) if energy else (0.5, 8.0),
            weights="tune",
            n_metrics=int(n_metrics),
            objective="cut" if energy else "k-median",
        )
        instances = image_instances(folder, int(n_points), int(n_metrics), int(count))
        for instance in instances:
            _ = instance.distances, instance.pair_codes
    started, wall, bounds = time.process_time(), time.perf_counter(), []

    def stop(state):
        bounds.append((time.process_time() - started, state.best_value, state.upper_bound))
        return bounds[-1][0] >= limit

    result = ct.tune(
        family, instances, callbacks=[stop], progress=False, n_jobs=n_jobs, timeout=20 * limit
    )
    cpu, wall = time.process_time() - started, time.perf_counter() - wall
    marks = [mark for mark in (2, 5, 10, 30, 60, 120, 240) if mark < cpu]
    path = ", ".join(
        "{1:.4f} to {2:.4f} at {0} s".format(mark, *[b for b in bounds if b[0] <= mark][-1][1:])
        for mark in marks
        if any(b[0] <= mark for b in bounds)
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {kind}, n={n_points}, {n_metrics} metrics, N={count}: {result.status.name}, best "
        f"{result.best_value:.4f}, gap {result.gap:.4f}, {result.n_nodes} boxes, {cpu:.1f} s CPU "
        f"({wall:.1f} s, {n_jobs} worker(s)), {memory:.0f} MB"
        + (f"; best and bound {path}" if path else ""),
        flush=True,
    )


def parallel_surfaces(limit):
    """Pairs of points whose order hardly depends on alpha, n = 200."""
    import certune as ct

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 2)) * 6
    points = np.repeat(centres, 40, axis=0) + rng.normal(size=(200, 2))
    instance = ct.ClusteringInstance(
        points, metrics=TWO, target=np.repeat(np.arange(5), 40), name="parallel surfaces"
    )
    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    started = time.process_time()
    result = ct.tune(
        family,
        [instance],
        progress=False,
        callbacks=[lambda state: time.process_time() - started > limit],
    )
    print(
        f"  n=200: {result.status.name}, best {result.best_value:.4f}, gap {result.gap:.4f}, "
        f"{result.n_nodes} boxes, {time.process_time() - started:.1f} s CPU"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--skip-peers", action="store_true")
    parser.add_argument("--race-only", action="store_true")
    parser.add_argument("--parallel-surfaces", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--case", action="append", default=[], help="kind:points:metrics:instances")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.race_only:
        return race(options.draws, options.seconds)
    if options.parallel_surfaces:
        return parallel_surfaces(options.limit)
    if options.case:
        for case in options.case:
            closing_case(options.data, case, options.limit, options.jobs)
        return None
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
    return None


if __name__ == "__main__":
    main()
