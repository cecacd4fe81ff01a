"""Choose the penalty of logistic regression while problems arrive: a smooth utility, no regret.

python examples/online_logistic.py [rounds]
"""

import sys
from itertools import islice

import certune as ct
from certune.online.streams import independent


def tumours(rng):
    return ct.datasets.breast_cancer_classification(1, 30, 40, random_state=rng)[0]


def main(n_rounds):
    family = ct.RegularizedLogistic("l2", lam=(1e-3, 1.0), standardize=True)
    tuner = ct.OnlineTuner(family, random_state=0, learner="random-grid")
    for instance in islice(independent(tumours, 0), n_rounds):
        params = tuner.propose()  # chosen before the problem is looked at
        finished = tuner.update(instance)
        if finished.number % max(n_rounds // 5, 1) == 0:
            print(f"round {finished.number}: lam = {params['lam']:.4g}, {tuner.regret()}")
    low, high = tuner.landscapes()[0].argmax()[0]
    print(f"best fixed lam in hindsight: {low:.6g} to {high:.6g}")
    print(f"random interpolants were off by {tuner.learner.surrogate_error:.3g} in all, at most")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
