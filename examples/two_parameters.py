"""Two parameters at once: a proved optimum, the map of cells, and what matters more."""

import certune as ct
from certune.report.collecting import importance_of

metrics = ("euclidean", "cityblock")
instances = ct.datasets.random_clustering(3, 3, 4, spread=0.4, metrics=metrics)
family = ct.Linkage(alpha=(0.5, 4), weights="tune", n_metrics=2)
result = ct.tune(family, instances, timeout=30)
print(result.best_params, "gap", result.gap)
cells = ct.cell_map(family, instances, resolution=16)
for row in importance_of(cells):
    print(row["name"], f"{100 * row['share']:.1f} % of the variance")
result.report("report.html", cells=cells)
