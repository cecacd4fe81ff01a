"""Tune linkage clustering while instances arrive: regret vanishes, and the run can be stopped.

python examples/online_linkage.py [folder for pictures and state] [rounds]
"""

import sys
import tempfile
from itertools import islice
from pathlib import Path

import certune as ct
from certune.online.streams import independent


def digits(rng):
    return ct.datasets.digits_clustering(1, n_classes=3, n_per_class=6, random_state=rng)[0]


def main(folder, n_rounds):
    family = ct.Linkage("power-mean", alpha=(-10, 10))
    duals = []
    with ct.OnlineTuner(family, random_state=0, state=folder / "state") as tuner:
        print(f"{tuner.n_rounds} rounds are in {folder / 'state'}")
        for instance in islice(independent(digits, 0), tuner.n_rounds, n_rounds):
            params = tuner.propose()  # chosen before the instance is looked at
            finished = tuner.update(instance)
            duals.append(finished.duals[0])
            if finished.number % 50 == 0:
                print(f"round {finished.number}: alpha = {params['alpha']:.3f}, {tuner.regret()}")
        tuner.plot_regret(folder / "regret.png")
        tuner.plot_density(folder / "density.png")
    if duals:
        print(ct.dispersion(duals))
    print(f"pictures in {folder}; run again with this folder: the state goes on where it ended")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary), 150)
