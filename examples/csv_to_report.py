"""From CSV files to a report: one file for each problem, four of them held out."""

import csv
from pathlib import Path

import certune as ct

instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)

folder = Path("data")
folder.mkdir(exist_ok=True)
for number, instance in enumerate(instances):
    with open(folder / f"problem{number}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["x", "y", "cluster"])
        for point, cluster in zip(instance.points, instance.target, strict=True):
            table.writerow([*point, f"c{cluster}"])

read = ct.from_csv("data/*.csv", target="cluster")
result = ct.tune(ct.Linkage("power-mean", alpha=(-4, 4)), read[:6])
result.report("report.html", read[6:], title="Points in the plane")
print(result.status, result.best_params, "report.html")
