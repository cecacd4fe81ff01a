"""Is the tuned setting better on instances that it has not seen?"""

import certune as ct

instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
family = ct.Linkage("power-mean", alpha=(-4, 4))
result = ct.tune(family, instances[:6])

held_out = result.evaluate(instances[6:])
print(held_out)
print(result.guarantee(held_out=held_out).tightest.name)
