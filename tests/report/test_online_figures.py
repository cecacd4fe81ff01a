"""Pictures of online runs show the numbers that the run has."""

import subprocess
import sys

import numpy as np
import pytest

import certune as ct
from certune.report import density_figure, dispersion_figure, regret_figure
from certune.testing import StepFamily, StepInstance

ROUNDS = [1, 10, 100]


def lines_of(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_regret_is_drawn_per_round_with_its_bound(tmp_path):
    path = tmp_path / "regret.png"
    drawn = regret_figure(ROUNDS, [0.5, 3, 9], [0.4, 3, 10], [2, 8, 30], title="T", path=path)
    [ax] = drawn.axes
    lines = lines_of(ax)
    np.testing.assert_allclose(lines["regret, exact"].get_ydata(), [0.5, 0.3, 0.09])
    np.testing.assert_allclose(lines["bound with its constants"].get_ydata(), [2, 0.8, 0.3])
    np.testing.assert_allclose(lines["slope −1/2"].get_ydata(), [1, 10**-0.5, 0.1])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    drawn.draw_without_rendering()
    texts = [label.get_text() for label in ax.get_xticklabels()]
    assert {"1", "10", "100"} <= set(texts) and not any("." in text for text in texts)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ax.get_xlim() == (1, 100)


def test_regret_may_be_zero_and_without_bound():
    [ax] = regret_figure(ROUNDS, [0, 0, 0], None, None).axes
    assert set(lines_of(ax)) == {"regret, exact", "slope −1/2"}


@pytest.mark.parametrize(("width", "height"), [(8, 4.8), (5, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize("regrets", [[0.5, 3, 9], [0.5, 4, 45], [0.01, 1, 40]])
def test_the_legend_of_the_regret_hides_no_curve(width, height, regrets):
    bounds = [3 * regret + 1 for regret in regrets]
    drawn = regret_figure(ROUNDS, regrets, regrets, bounds, title="Regret of exponential-weights")
    drawn.set_size_inches(width, height)
    drawn.draw_without_rendering()
    [ax], [legend] = drawn.axes, drawn.legends
    assert len(legend.get_texts()) == 4
    box = legend.get_window_extent()
    assert not ax.get_tightbbox().overlaps(box)
    for item in (box, drawn._suptitle.get_window_extent(), ax.yaxis.label.get_window_extent()):
        assert item.x0 >= -1 and item.x1 <= drawn.bbox.x1 + 1
        assert item.y0 >= -1 and item.y1 <= drawn.bbox.y1 + 1
    assert ax.get_window_extent().height > 0.3 * drawn.bbox.height


def test_density_is_drawn_through_time():
    positions, densities = np.linspace(0.1, 0.9, 5), np.arange(15.0).reshape(3, 5)
    drawn = density_figure(ROUNDS, positions, densities, "alpha", best=(0.4, 0.5))
    ax = drawn.axes[0]
    assert ax.get_ylim() == (1, 100)
    shown = ax.collections[0].get_array().reshape(3, 5)
    np.testing.assert_array_equal(shown, np.maximum(densities, 1e-3))
    assert ax.get_xlabel() == "alpha"
    ends = [line.get_xdata()[0] for line in ax.get_lines()[:2]]
    assert ends == [0.4, 0.5]


def test_dispersion_is_drawn_for_all_widths():
    sizes, widths = np.array([10, 100]), np.array([0.01, 0.1])
    counts, fitted = np.array([[1, 2], [3, 12]]), np.ones((2, 2))
    drawn = dispersion_figure(sizes, widths, counts, fitted)
    drawn.draw_without_rendering()
    [ax] = drawn.axes
    lines = lines_of(ax)
    assert {"10", "100"} <= {label.get_text() for label in ax.get_xticklabels()}
    assert lines["0.1"].get_ydata().tolist() == [2, 12]
    assert lines["0.01"].get_ydata().tolist() == [1, 3]


def test_a_run_draws_itself(tmp_path):
    rng = np.random.default_rng(0)
    family = StepFamily()
    tuner = ct.OnlineTuner(family, random_state=0)
    duals = []
    for place in rng.uniform(0.4, 0.6, 60).tolist():
        instance = StepInstance((place,), (0, 1))
        duals.append(family.dual(instance))
        tuner.update(instance)
    [ax] = tuner.plot_regret(tmp_path / "regret.png").axes
    curve = tuner.regret_curve()
    bounds = lines_of(ax)["bound with its constants"].get_ydata()
    np.testing.assert_allclose(bounds, [point.bound / point.n_rounds for point in curve])
    density = tuner.plot_density(tmp_path / "density.svg").axes[0]
    last = density.collections[0].get_array().reshape(len(curve), -1)[-1]
    assert last[-1] > last[0] and last.mean() == pytest.approx(1.0, abs=0.05)
    measured = ct.dispersion(duals)
    assert measured.plot(tmp_path / "dispersion.png").get_suptitle().startswith("DISPERSED")
    assert len(list(tmp_path.iterdir())) == 3


def test_online_figures_leave_pyplot_alone():
    statement = (
        "import sys, certune as ct\n"
        "from certune.testing import StepFamily, StepInstance\n"
        "tuner = ct.OnlineTuner(StepFamily(), 5)\n"
        "print('matplotlib' in sys.modules)\n"
        "tuner.update(StepInstance((0.5,), (0, 1))); tuner.plot_regret(); tuner.plot_density()\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-c", statement]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["False", "True", "False"]
