"""The paper's figure on piecewise structure: chain, regions, forms and the picture, computed.

Three boundaries cut the parameter plane into 7 regions with 4 forms of the utility. The number of
regions is proved by box subdivision, the forms are found by tracing the program, and the picture is
drawn from them. Writes paper_figure.png and paper_figure_tree.png to the current directory.
"""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import certune as ct
from certune.families.programs import FIGURE_DOMAIN, figure_boundaries, figure_utility
from certune.families.programs.figure import figure_chain

COLOURS = ["#e4876b", "#8fbf7a", "#f2cf63", "#7fa6d6"]

chain = figure_chain()
print(f"the chain of the caption is verified: q = {chain.length}, M = {chain.degree}")
print(chain)

regions = ct.pfaffian.count_regions(figure_boundaries(), FIGURE_DOMAIN)
print(f"\n{regions.n_regions} regions, proved with {regions.n_boxes} boxes: {regions}")

trace = ct.pfaffian.trace(figure_utility, None, FIGURE_DOMAIN)
print()
print(trace.to_text())
trace.draw("paper_figure_tree.png")

# Which form holds where, on a grid of points.
n = 241
axes = [np.linspace(low, high, n) for low, high in FIGURE_DOMAIN.values()]
run = ct.pfaffian.program(figure_utility)
x, y = np.meshgrid(*axes)
g1, g2, g3 = (np.vectorize(lambda a1, a2, g=g: g(a1=a1, a2=a2))(x, y) for g in figure_boundaries())
form = np.where(g2 >= 0, 0, np.where(g3 >= 0, 1, np.where(g1 >= 0, 2, 3)))
height = np.choose(
    form,
    [
        np.exp(-(x**2 + y**2) / 5),
        np.log(y) + 2,
        np.sqrt(x**2 + y**2 + np.exp(np.sqrt(x) / 10)),
        x + y / 2,
    ],
)
for i, j in [(20, 20), (120, 120), (180, 60), (60, 120)]:
    assert abs(float(run(None, {"a1": x[i, j], "a2": y[i, j]})) - height[i, j]) < 1e-9

figure = plt.figure(figsize=(11, 4.6), layout="constrained")
left = figure.add_subplot(1, 2, 1, projection="3d")
colours = np.array([matplotlib.colors.to_rgba(c) for c in COLOURS])
left.plot_surface(x, y, height, facecolors=colours[form], rstride=4, cstride=4, linewidth=0)
left.view_init(28, -125)
left.set_xlabel("$a_1$")
left.set_ylabel("$a_2$")
left.set_zlabel("utility")
left.set_title("utility")

right = figure.add_subplot(1, 2, 2)
right.pcolormesh(
    x, y, form, cmap=matplotlib.colors.ListedColormap(COLOURS), shading="nearest", rasterized=True
)
for g, place, name in [
    (g1, (4.1, 9.4), r"$\frac{1}{2}a_1^2 = a_2$"),
    (g2, (8.45, 7.6), "circle"),
    (g3, (8.1, 1.35), r"$a_1 = e^{a_2}$"),
]:
    right.contour(x, y, g, levels=[0.0], colors="black", linewidths=1.3)
    right.annotate(name, place, ha="right" if g is g1 else "left")
for place, label in [
    ((7.8, 9.45), r"$e^{-0.2(a_1^2+a_2^2)}$"),
    ((5.35, 1.28), r"$\log a_2+2$"),
    ((5.6, 4.8), r"$\sqrt{a_1^2+a_2^2+e^{0.1\sqrt{a_1}}}$"),
    ((2.25, 5.6), "$a_1+a_2/2$"),
]:
    right.annotate(label, place, ha="center", va="center", fontsize=9)
right.set_aspect("equal")
right.set_xlabel("$a_1$")
right.set_ylabel("$a_2$")
right.set_title(f"{regions.n_regions} regions, {len(trace.forms)} forms")
figure.savefig("paper_figure.png", dpi=130)
print("\nwrote paper_figure.png and paper_figure_tree.png")
