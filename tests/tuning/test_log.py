"""The log of a tuning run: when it appears and what it says."""

import pytest

import certune as ct
from certune.testing import StepFamily
from certune.tuning.log import COLUMNS


def test_short_runs_are_silent(capfd, random_instances):
    ct.tune(StepFamily(), random_instances(2))
    assert capfd.readouterr() == ("", "")


def test_log_has_header_rows_and_summary(capfd, random_instances):
    result = ct.tune(StepFamily(), random_instances(3), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "certune: exact tuning of StepFamily(low=0.0, high=1.0)"
    assert lines[1] == "3 instances, free parameter x in [0, 1]"
    titles = lines.index(COLUMNS.format("time", "finished", "pieces", "best", "bound", "gap"))
    last = lines[lines.index("", titles) - 1].split()
    pieces = str(sum(dual.n_pieces for dual in result.duals))
    value = f"{result.best_value:.6f}"
    assert last[2:] == ["3/3", pieces, value, value, "0.000000"]
    assert err.endswith(f"{result}\n")


def test_log_appears_once_a_run_is_long(capfd, monkeypatch, random_instances, slow_family):
    monkeypatch.setattr("certune.tuning.log.PATIENCE", 0.1)
    ct.tune(slow_family, random_instances(5))
    err = capfd.readouterr().err
    assert err.startswith("certune: exact tuning") and "OPTIMAL" in err
    ct.tune(slow_family, random_instances(5), progress=False)
    assert capfd.readouterr().err == ""


def test_log_of_weights_names_both_ends(capfd):
    instance = ct.datasets.random_clustering(
        1, n_clusters=2, n_per_cluster=5, metrics=("euclidean", "cityblock")
    )
    family = ct.Linkage(alpha=1.0, weights="tune", n_metrics=2)
    result = ct.tune(family, instance, progress=True)
    assert "free parameter weights from (1.0, 0.0) to (0.0, 1.0)" in capfd.readouterr().err
    assert sum(result.best_params["weights"]) == pytest.approx(1.0)
    assert result.best_region[0][0] >= 0.0 and result.best_region[-1][1] <= 1.0
