"""How long does the exact dual of greedy knapsack take, against plain runs of the program?

The dual is valid for every rho at once; the ratio says how many grid points one could have tried
in the same time with the same exact program, and with a plain float implementation.
"""

import math
import platform
import time

import certune as ct


def float_run(instance, rho):
    """The greedy algorithm in floats."""
    scores = [v / s**rho for v, s in zip(instance.values, instance.sizes, strict=True)]
    room, total = instance.capacity, 0
    for item in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if instance.sizes[item] <= room:
            room -= instance.sizes[item]
            total += instance.values[item]
    return total


def best_of(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    print(f"python {platform.python_version()}, {platform.machine()}, one process")
    columns = ("items", "orders", "pieces", "dual [s]", "exact run", "float run")
    print(" ".join(f"{column:>9}" for column in columns))
    family = ct.GreedyKnapsack(rho=(0, 3))
    for n_items in (10, 30, 100):
        (instance,) = ct.datasets.knapsack_problems(1, n_items=n_items)
        dual = family.dual(instance)
        orders = len(family._sweep(instance, family.space.default_segment()).pieces)
        seconds = best_of(lambda i=instance: family.dual(i), 3)
        exact = best_of(lambda i=instance: family.run_exact(i, math.pi / 4), 5)
        floats = best_of(lambda i=instance: float_run(i, math.pi / 4), 5)
        print(
            f"{n_items:9d} {orders:9d} {dual.n_pieces:9d} {seconds:9.3f} "
            f"{1e3 * exact:6.2f} ms {1e3 * floats:6.3f} ms"
        )


if __name__ == "__main__":
    main()
