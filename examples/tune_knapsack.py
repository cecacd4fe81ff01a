"""Tune the score of greedy knapsack packing exactly, on a hundred items.

Writes knapsack.png, the exact mean landscape, to the current directory.
"""

import time

import certune as ct

family = ct.GreedyKnapsack(rho=(0, 2))
instances = ct.datasets.knapsack_problems(n_instances=4, n_items=40)

start = time.perf_counter()
result = ct.tune(family, instances)
print(f"{result.status} in {time.perf_counter() - start:.1f} s")
print(f"best rho {result.best_params['rho']:.4f}, share of the bound {result.best_value:.4f}")
for name, value in result.baselines.items():
    print(f"{name}: {value:.4f}")
result.plot_landscape("knapsack.png")
