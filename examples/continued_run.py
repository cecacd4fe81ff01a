"""A run that is kept on the disk, and continued with more instances."""

import certune as ct

instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
family = ct.Linkage("power-mean", alpha=(-4, 4))

first = ct.tune(family, instances[:6], run_dir="run")
print(first.best_params)
print(ct.load("run"))
print(ct.tune(family, instances, run_dir="run").best_params)
