"""Which algorithm, and at which setting? The best of several families, proved over all of them.

Three kinds of linkage are tuned on the same clustering problems. An alternative is only computed on
further instances while it can still win.
"""

import certune as ct

instances = ct.datasets.digits_clustering(12, random_state=0)
choice = ct.Choice(
    {
        "power-mean": ct.Linkage("power-mean", alpha=(-5, 5)),
        "min-max": ct.Linkage("min-max", alpha=(-5, 5)),
        "near single": ct.Linkage("power-mean", alpha=(-60, -40)),
    }
)

result = ct.tune(choice, instances, progress=False)
print(result)
print()
print("best_params:", result.best_params)
print("as an estimator:", result.best_estimator)
result.plot_landscape("choice.png")
print("choice.png has a line for each alternative")
