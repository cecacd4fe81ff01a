"""Plateau before point: settings that stay good, by several rules."""

import certune as ct

instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
family = ct.Linkage("power-mean", alpha=(-4, 4))
result = ct.tune(family, instances)

print("best", result.best_params, "in", result.best_region)
print("centre of the widest plateau", result.robust_params)
for rule in ("one-standard-error", "plateau", "smoothed"):
    print(rule, result.select(rule).params)
