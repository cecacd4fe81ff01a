"""How good will the tuned setting be on data it has not seen?

Tune a clustering algorithm on 40 instances, hold 60 back, and read what follows: the held-out
value with its interval, the guarantee, the stability of the optimum, and how many instances an
accuracy of 0.05 needs.

    python examples/guarantees.py
"""

import certune as ct


def main():
    instances = ct.datasets.digits_clustering(100, n_classes=4, n_per_class=10)
    result = ct.tune(ct.Linkage("power-mean", alpha=(-10, 10)), instances[:40])
    print(result, end="\n\n")

    held_out = result.evaluate(instances[40:])
    print(held_out, end="\n\n")
    print(result.guarantee(delta=0.05, held_out=held_out), end="\n\n")

    print(result.cross_validate())
    print(result.bootstrap())
    print(result.learning_curve(), end="\n\n")

    for rule in ("optimum", "one-standard-error", "plateau", "smoothed", "guaranteed"):
        chosen = result.select(rule)
        there = [float(result.family.run(item, chosen.params)) for item in instances[40:]]
        print(
            f"{rule:<19} alpha = {chosen.coordinate:8.4f}   tuning {chosen.value:.4f}   "
            f"held out {sum(there) / len(there):.4f}"
        )

    print("\ninstances for an accuracy of 0.05:")
    for answer in result.instances_needed(0.05):
        print(answer)


if __name__ == "__main__":
    main()
