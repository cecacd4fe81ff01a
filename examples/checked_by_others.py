"""A certificate: written, read, and checked against the data by another path."""

import certune as ct

instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
family = ct.Linkage("power-mean", alpha=(-4, 4))
result = ct.tune(family, instances)

result.certificate.save("certificate.json")
stored = ct.Certificate.load("certificate.json")
print(ct.verify(stored, family, instances))
