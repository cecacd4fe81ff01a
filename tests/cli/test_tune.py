"""``certune tune`` and what is done with a run: from files to a page, and mistakes on the way."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import certune as ct
from certune.cli import main
from certune.cli.running import read_problem
from certune.cli.scenario import read_scenario
from certune.guarantees import mean_interval
from certune.runs import Journal
from certune.testing import StepFamily, StepInstance

FAST = ("--alpha", 0.5, 3)


def tuned(run, *arguments):
    return json.loads(run("tune", *arguments, "--json", "-q").stdout)


def test_a_folder_of_files_becomes_a_run(run, place):
    done = run(
        "tune", "linkage", "data", "--target", "label", "--holdout", 0.25, *FAST, "--out", "run"
    )
    assert "Is it proved? Yes." in " ".join(done.stdout.split())
    assert "certune open run" in done.stdout
    names = {path.name for path in (place / "run").iterdir()}
    assert names >= {
        "scenario.toml", "findings.json", "result.json", "instances.csv", "certificate.json",
        "report.html",
    }  # fmt: skip
    summary = json.loads((place / "run" / "result.json").read_text())
    assert summary["n_instances"] == 6 and summary["held_out"]["n_instances"] == 2
    assert json.loads(run("show", "run", "--json").stdout) == summary
    assert "d0" in run("show", "run", "--instances").stdout
    assert (place / "run" / "report.html").stat().st_size < 2e6
    assert run("open", "run", "--print").stdout.startswith("file:///")
    assert "verified" in run("verify", "run").stdout


def test_the_command_gives_what_the_library_gives(run, place):
    summary = tuned(run, "linkage", "data/*.csv", "--target", "label", *FAST)
    instances = ct.from_csv("data/*.csv", target="label")
    result = ct.tune(ct.Linkage("energy", alpha=(0.5, 3), objective="cut"), instances)
    assert summary["best_value"] == result.best_value
    assert summary["best_params"] == result.best_params
    assert summary["defaults"] == result.baselines
    assert summary["held_out"] is None


@pytest.mark.parametrize(
    ("options", "family"),
    [
        ((), ct.Linkage("energy", (0.1, 4), objective="cut")),
        (("--kind", "power-mean"), ct.Linkage("power-mean", (-10, 10))),
        (("--kind", "min-max", "--objective", "cut"), ct.Linkage("min-max", objective="cut")),
    ],
)
def test_what_counts_where_nothing_is_said_stands_in_the_scenario(run, place, options, family):
    run("tune", "linkage", "data/d0.csv", "--target", "label", *options, "--out", "run", "-q")
    instances = ct.from_csv("data/d0.csv", target="label")
    certificate = ct.Certificate.load(place / "run" / "certificate.json")
    assert ct.verify(certificate, family, instances).optimal
    text = (place / "run" / "scenario.toml").read_text()
    assert f'kind = "{family.kind}"' in text and f'objective = "{family.objective.name}"' in text
    again = tuned(run, "run/scenario.toml", "--alpha", 1, 2)
    assert 1 <= again["best_params"]["alpha"] <= 2


def test_groups_equal_files(run, place):
    by_file = tuned(run, "linkage", "data", "--target", "label", *FAST)
    by_group = tuned(run, "linkage", "all.csv", "--target", "label", "--group", "site", *FAST)
    assert by_file["best_value"] == by_group["best_value"] and by_group["n_instances"] == 8


def test_logistic_by_folds(run, place):
    summary = tuned(run, "logistic", "train.csv", "--target", "y", "--cv", 3)
    instances = ct.from_csv("train.csv", target="y", task="classification", cv=3)
    result = ct.tune(ct.RegularizedLogistic(), instances)
    assert summary["best_params"] == result.best_params and summary["n_instances"] == 3


def test_logistic_holds_rows_back(run, place):
    data = ("train.csv", "--target", "y", "--cv", 3, "--holdout", 0.2)
    summary = tuned(run, "logistic", *data, "--out", "run")
    assert summary["held_out"]["n_instances"] == 1
    assert summary["defaults"].keys() >= {"scikit-learn's default"}
    page = (place / "run" / "report.html").read_text()
    # Coefficients have the names of their columns, and one measurement has no interval.
    assert '"names": ["x' in page and "(95%" not in page
    assert f"best mean log-loss {summary['best_value']:.6g} on" in run("verify", "run").stdout


def test_regression_by_folds(run, place):
    data = ("houses.csv", "--target", "price")
    summary = tuned(run, "regression", *data, "--penalty", "l1", "--alpha", 0.01, 10)
    instances = ct.from_csv("houses.csv", target="price", task="regression")
    family = ct.RegularizedRegression("l1", alpha=(0.01, 10), metric="r2")
    result = ct.tune(family, instances)
    assert summary["best_params"] == result.best_params and summary["score"] == "R2"
    errors = tuned(run, "regression", *data, "--metric", "squared-error", "--holdout", 0.2)
    assert not errors["greater_is_better"] and errors["held_out"]["n_instances"] == 1


def test_labeling(run, place):
    summary = tuned(run, "labeling", "points.csv", "--target", "label", "--cv", 3)
    assert summary["status"] == "OPTIMAL" and summary["n_instances"] == 3


def test_labels_are_held_back(run, place):
    data = ("points.csv", "--target", "label", "--cv", 3)
    summary = tuned(run, "labeling", *data, "--holdout", 0.3, "--sigma", 0.3, 3, "--out", "run")
    assert summary["held_out"]["n_instances"] == 1 and summary["n_instances"] == 3
    findings = json.loads((place / "run/findings.json").read_text())
    assert findings["held_out"]["instances"][0]["name"] == "9 held-out labels"
    # What was held back took no part: the same labels, unknown from the start, tune the same.
    [judged] = read_problem(read_scenario(place / "run/scenario.toml")).held_out
    rows = (place / "points.csv").read_text().splitlines()
    for row in judged.scored:
        rows[row + 1] = rows[row + 1].rpartition(",")[0] + ",-1"
    (place / "fewer.csv").write_text("\n".join(rows) + "\n")
    fewer = tuned(run, "labeling", "fewer.csv", *data[1:], "--sigma", 0.3, 3)
    assert fewer["best_value"] == summary["best_value"]
    assert fewer["best_params"] == summary["best_params"]


def test_several_distances_with_tuned_weights(run, place):
    data = ("data/d0.csv", "--target", "label", "--alpha", 1, 2)
    summary = tuned(
        run, "linkage", *data, "--distance", "euclidean", "--distance", "cityblock",
        "--weights", "tune",
    )  # fmt: skip
    assert len(summary["best_params"]["weights"]) == 2


@pytest.mark.parametrize(
    ("text", "aggregate", "words"),
    [
        ("min", "min", "worst clustering accuracy"),
        ("cvar:0.5", ct.CVaR(0.5), "mean clustering accuracy of the worst 50%"),
    ],
)
def test_something_else_than_the_mean(run, place, text, aggregate, words):
    options = ("linkage", "data", "--target", "label", *FAST)
    found = tuned(run, *options, "--aggregate", text, "--out", "run")
    family = ct.Linkage("energy", alpha=(0.5, 3), objective="cut")
    instances = ct.from_csv("data", target="label")
    expected = ct.tune(family, instances, aggregate=aggregate)
    assert found["best_value"] == pytest.approx(expected.best_score)
    assert found["measure"] == words
    assert words in run("verify", "run").stdout
    assert words in " ".join(run("show", "run").stdout.split())
    assert words in (place / "run" / "report.html").read_text()
    assert (
        f"aggregate={aggregate!r}".replace("'", '"').replace("=CVaR", "=ct.CVaR")
        in (json.loads((place / "run" / "findings.json").read_text())["code"])
    )
    again = tuned(run, "run/scenario.toml")
    assert again["best_value"] == found["best_value"]
    plain = tuned(run, "run/scenario.toml", "--aggregate", "mean")
    assert plain["measure"] == "mean clustering accuracy"
    assert plain["best_value"] > found["best_value"]


def test_both_parameters_of_the_elastic_net(run, place):
    options = ("regression", "houses.csv", "--target", "price", "--cv", 3, "--alpha", 0.1, 10)
    net = ("--penalty", "elastic-net", "--l1-ratio", "0.5:1", "--gap", 0.05, "--aggregate", "min")
    found = tuned(run, *options, *net, "--out", "run")
    assert found["measure"] == "worst R2"
    assert "worst R2" in run("verify", "run").stdout
    again = tuned(run, "run/scenario.toml")
    assert again["best_value"] == found["best_value"]
    assert set(found["best_params"]) == {"alpha", "l1_ratio"}
    assert "l1_ratio = [0.5, 1.0]" in (place / "run" / "scenario.toml").read_text()


@pytest.mark.parametrize(
    ("options", "family"),
    [
        (("--cut-height", 0.5, 20), ct.ThresholdLinkage("energy", 2.0, (0.5, 20))),
        (("--relative",), ct.ThresholdLinkage("energy", 2.0, relative=True)),
        (
            ("--cut-height", 0.1, 0.9, "--relative", "--method", "single"),
            ct.ThresholdLinkage("power-mean", -np.inf, (0.1, 0.9), relative=True),
        ),
        (
            ("--cut-height", 0.5, 20, "--method", "average", "--distance", "cityblock"),
            ct.ThresholdLinkage("power-mean", 1.0, (0.5, 20)),
        ),
        (
            ("--cut-height", 0.5, 20, "--method", "complete"),
            ct.ThresholdLinkage("power-mean", np.inf, (0.5, 20)),
        ),
    ],
)
def test_the_height_of_a_cut_is_tuned_where_no_number_of_clusters_is_known(
    run, place, options, family
):
    found = tuned(run, "linkage", "data", "--target", "label", *options, "--out", "run")
    metrics = ("cityblock",) if "cityblock" in options else "euclidean"
    instances = ct.from_csv("data/*.csv", target="label", metrics=metrics)
    result = ct.tune(family, instances)
    assert found["best_value"] == result.best_value
    assert found["best_params"] == result.best_params and set(result.best_params) == {"cut_height"}
    assert "is right" in run("check", "run/scenario.toml").stdout
    assert tuned(run, "run/scenario.toml")["best_params"] == found["best_params"]
    assert "verified" in run("verify", "run").stdout
    code = json.loads((place / "run" / "findings.json").read_text())["code"]
    scope: dict[str, object] = {}
    exec(code, scope)
    assert scope["result"].best_params == found["best_params"]


def test_a_file_with_one_way_to_cut_can_be_run_with_the_other(run, place):
    run("init", "data")
    by_height = tuned(run, "scenario.toml", "--cut-height", 0.5, 20, "--out", "run")
    assert set(by_height["best_params"]) == {"cut_height"}
    assert "alpha" not in (place / "run" / "scenario.toml").read_text()
    by_number = tuned(run, "run/scenario.toml", *FAST)
    assert set(by_number["best_params"]) == {"alpha"}


def test_arrays_as_instances(run, place):
    for number, instance in enumerate(ct.datasets.random_clustering(3, 3, 4)):
        np.savez(place / f"{number}.npz", points=instance.points, target=instance.target)
    assert tuned(run, "linkage", "*.npz", *FAST)["n_instances"] == 3


OWN = """
import numpy as np
import certune as ct

def family():
    return ct.Linkage("min-max", alpha=(-3, 3))

def read_instance(path):
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    points = np.column_stack([table["x"], table["y"]])
    return ct.ClusteringInstance(points, target=table["label"], name=path.stem)
"""


def test_a_family_of_ones_own(run, place):
    (place / "own_family.py").write_text(OWN)
    # Names of families are no emoji.
    told = run("tune", "own_family:family", "data/d0.csv", "-q").stdout
    assert told.startswith("own_family:family: d0.csv")
    summary = tuned(run, "own_family:family", "data")
    instances = ct.from_csv("data", target="label")
    assert (
        summary["best_value"] == ct.tune(ct.Linkage("min-max", alpha=(-3, 3)), instances).best_value
    )


def test_a_run_can_be_repeated_from_its_scenario(run, place):
    arguments = ("data", "--target", "label", "--holdout", 0.25, "--seed", 5, *FAST)
    run("tune", "linkage", *arguments, "--out", "deep/run", "-q")
    first = json.loads((place / "deep/run/result.json").read_text())
    again = tuned(run, "deep/run/scenario.toml")
    for key in ("best_params", "best_value", "held_out", "best_region"):
        assert first[key] == again[key]


def test_a_changed_certificate_is_not_verified(run, place):
    run("tune", "linkage", "data", "--target", "label", *FAST, "--out", "run", "-q")
    certificate = place / "run" / "certificate.json"
    honest = certificate.read_text()
    certificate.write_text(honest.replace('"checksum": "', '"checksum": "0'))
    assert "changed after it was written" in run("verify", "run", exit_code=3).stdout
    certificate.write_text(honest)
    path = place / "data" / "d0.csv"
    path.write_text(path.read_text().replace("c0", "c1", 1))
    assert "NOT VERIFIED" in run("verify", "run", exit_code=3).stdout


def test_a_run_is_not_overwritten_unless_asked(run, place):
    arguments = ("tune", "linkage", "data/d0.csv", "--target", "label", *FAST, "-q", "--out")
    run(*arguments, "run")
    assert "--overwrite" in run(*arguments, "run", exit_code=1).stderr
    (place / "run" / "search-0123456789abcdef.jsonl").write_text("")
    journal = Journal(place / "run" / "journal.jsonl")
    refused = run(*arguments, "run", "--overwrite", exit_code=1)
    assert "in use by process" in refused.stderr
    journal.close()
    assert (place / "run" / "findings.json").exists()
    run(*arguments, "run", "--overwrite")
    assert not list((place / "run").glob("search-*"))
    assert "other files" in run(*arguments, "data", exit_code=1).stderr


def test_a_run_that_was_made_in_python_is_told(run, place):
    ct.tune_stream(StepFamily(), [StepInstance((0.5,), (0, 1))], run_dir=place / "run")
    for command in ("show", "report"):
        assert "certune.load reads it" in run(command, "run", exit_code=1).stderr


def test_a_run_that_was_stopped_is_continued(run, place):
    arguments = ("data", "--target", "label", *FAST)
    whole = tuned(run, "linkage", *arguments)
    run("tune", "linkage", *arguments, "--out", "run", "-q")
    for name in ("findings.json", "result.json", "report.html"):
        (place / "run" / name).unlink()
    assert "certune resume run" in run("show", "run", exit_code=1).stderr
    functions = sorted((place / "run" / "functions").iterdir())
    functions[0].unlink()
    kept = functions[1].stat().st_mtime_ns
    refused = run("tune", "linkage", *arguments, "--out", "run", exit_code=1)
    assert "certune resume run" in refused.stderr
    again = json.loads(run("resume", "run", "--json", "-q").stdout)
    for key in ("best_params", "best_value", "best_region", "status"):
        assert again[key] == whole[key]
    assert functions[0].exists() and functions[1].stat().st_mtime_ns == kept
    assert (place / "run" / "report.html").exists()


def test_who_stops_a_run_is_told_how_to_go_on(run, place, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("certune.cli.running.run_scenario", stopped)
    arguments = ("tune", "linkage", "data", "--target", "label", *FAST)
    said = run(*arguments, "--out", "run", exit_code=130).stderr
    assert "to go on: certune resume run\nstopped" in said
    assert "resume" not in run(*arguments, exit_code=130).stderr


def test_the_report_is_written_again(run, place):
    run("tune", "linkage", "data/d0.csv", "--target", "label", *FAST, "-q", "--out", "run")
    before = (place / "run/report.html").read_text()
    run("report", "run", "--to", "other.html")
    assert (place / "other.html").read_text() == before


HEIGHT = ("tune", "linkage", "data", "--target=label", "--cut-height", "1", "5")
MISTAKES = {
    ("tune", "linkag", "data", "--target", "label"): "no family 'linkag'; did you mean 'linkage'?",
    ("tune", "linkage", "hole.csv", "--target", "label"): (
        "hole.csv, line 3, column 'x': the value is missing; fill it in, drop the row, or leave "
        "the column out with --features"
    ),
    ("tune", "linkage", "typo.csv", "--target", "label"): "or say --categorical x if the numbers",
    ("tune", "linkage", "latin.csv", "--target", "label"): "pass its encoding, --encoding cp1252",
    ("tune", "linkage", "dta", "--target", "label"): "there is no file dta: the folder . has",
    ("tune", "linkage", "data/*.tsv", "--target", "label"): "no file matches 'data/*.tsv'",
    ("tune", "linkage", "data", "--target", "lable"): "did you mean 'label'",
    ("tune", "linkage", "data"): "--target NAME",
    ("tune", "linkage"): "certune tune linkage data/*.csv --target NAME",
    ("tune", "linkage", "empty", "--target", "label"): "the folder empty is empty",
    ("tune", "linkage", "data", "--target", "label", "--group", "sit"): "no column 'sit'",
    ("tune", "linkage", "data", "--target", "label", "--lam", "1", "2"): "no option 'lam'",
    (
        "tune",
        "linkage",
        "data",
        "--target",
        "label",
        "--cv",
        "3",
    ): "cv has no meaning for clustering",
    ("tune", "linkage", "data", "--target", "label", "--alpha", "3", "-3"): "alpha",
    ("tune", "linkage", "data", "--target", "label", "--alpha", "-3", "3"): (
        "for example --alpha 0.1 4, where alpha=2 is Ward's method; power means (--kind power-mean)"
    ),
    ("tune", "linkage", "data/d0.csv", "--target", "label", "--holdout", "0.5"): "single instance",
    ("tune", "linkage", "data", "--target", "label", "--holdout", "0.99"): "some are left",
    ("tune", "linkage", "data", "--target", "label", "--distance", "euklid"): "euklid",
    ("tune", "regression", "train.csv", "--target", "y"): (
        "train.csv, line 2, column 'y': 'malignant' is not a number; to predict classes, use"
    ),
    ("tune", "regression", "houses.csv", "--target", "price", "--metric", "accuracy"): "squared-e",
    ("tune", "regression", "houses.csv", "--target", "price", "--cv", "100"): "pass --cv 90",
    ("tune", "regression", "houses.csv", "--target", "price", "--lam", "1", "2"): "no option 'lam'",
    (
        "tune",
        "linkage",
        "data",
        "--target",
        "label",
        "--aggregate",
        "cvar",
    ): "mean, min, quantile:q",
    ("tune", "linkage", "data", "--target", "label", "--aggregate", "cvar:x"): "such as cvar:0.1",
    ("tune", "linkage", "data", "--target", "label", "--aggregate", "quantile:2"): "at most 1",
    ("tune", "linkage", "data", "--target", "label", "--group", "label"): "name another column of",
    ("tune", "logistic", "houses.csv", "--target", "price"): "certune tune regression",
    (
        "report",
        "hole.csv",
    ): "neither a run directory nor the state of an online run: name the folder",
    ("init", "data", "--target", "lable"): "did you mean 'label'",
    ("tune", "nowhere:family", "data"): "cannot import the module 'nowhere'",
    ("tune", "math:pi", "data"): "must be a certune family",
    ("tune", "math:pie", "data"): "did you mean 'pi'",
    ("tune", "none.toml"): "cannot read none.toml",
    ("show", "nowhere"): "there is no run nowhere",
    ("show", "data"): "not a run directory",
    ("report", "data"): "not a run directory",
    ("verify", "data"): "has no scenario.toml",
    (
        *HEIGHT,
        "--kind",
        "energy",
    ): "the tree is that of one --method (ward, average, complete, single): leave out --kind",
    (*HEIGHT, "--alpha", "1", "2"): "leave out --alpha",
    (*HEIGHT, "--objective", "cut"): "leave out --objective",
    (*HEIGHT, "--k", "3"): "--k has no meaning where the height of the cut is tuned",
    (*HEIGHT[:4], "--method", "ward"): "--method is for trees that are cut at a tuned height",
    (*HEIGHT[:5], "5", "1"): "cut_height must be a range (low, high) of heights from 0 on",
    (*HEIGHT[:5], "-5", "1"): "--relative tunes a share",
    ("resume", "data"): "there is nothing to continue",
    ("open", "data"): "not a run directory",
    ("init", "empty"): "the folder empty is empty",
    ("online", "data", "--state", "s"): "say which column of data/d0.csv has the labels: --target",
    ("online", "data", "--state", "s", "--target", "lable"): "did you mean 'label'",
    ("online", "data", "--state", "s", "--target", "label", "--cv", "3"): "cv has no meaning for",
    ("online", "notes", "--state", "s"): "has no CSV or .npz file (it has notes.pdf)",
    ("online", "empty", "--state", "s"): "it is empty",
    ("online", "-", "--state", "s"): "no path to an instance came on stdin",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line_with_a_remedy(run, place, arguments):
    (place / "empty").mkdir()
    (place / "notes").mkdir()
    (place / "notes" / "notes.pdf").touch()
    (place / "hole.csv").write_text("x,label\n1,a\n,b\n3,a\n")
    (place / "typo.csv").write_text("x,label\n" + "1,a\n" * 30 + "l,b\n")
    (place / "latin.csv").write_bytes("x,label\n1,ü\n".encode("latin-1"))
    failed = run(*arguments, exit_code=1)
    message = " ".join(failed.stderr.split())
    assert message.startswith("Error: ") and MISTAKES[arguments] in message
    assert not failed.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("tune",),
        ("tune", "linkage", "data", "--holdout", "2"),
        ("tune", "regression", "houses.csv", "--l1-ratio", "0.1:0.5:1"),
    ],
)
def test_wrong_usage_ends_with_code_2(run, place, arguments):
    run(*arguments, exit_code=2)


# Examples of --help run as they are written


def examples_of(command):
    text = CliRunner().invoke(main, [command, "--help"]).output
    return re.findall(r"^\s+certune (.*)$", text.partition("Examples:")[2], flags=re.MULTILINE)


def test_examples_of_help_run(run, place):
    (place / "mymodule.py").write_text(OWN)
    ran = []
    (place / "instances").mkdir()
    for number, item in enumerate(ct.datasets.random_clustering(2, 3, 4)):
        np.savez(place / "instances" / f"{number}.npz", points=item.points, target=item.target)
    commands = ("tune", "resume", "show", "report", "open", "verify", "init", "check", "online")
    for command in commands:
        for example in examples_of(command):
            arguments = shlex.split(example)
            if command == "open":
                arguments.append("--print")
            run(*arguments)
            ran.append(example)
    assert len(ran) >= 16


def test_metrics_are_those_of_the_family():
    from certune.cli.families import METRICS
    from certune.families import logistic, regression

    assert sorted(METRICS) == sorted((*logistic.family.METRICS, *regression.family.METRICS))


def test_help_needs_no_solver():
    heavy = "{'scipy', 'sklearn', 'matplotlib'}"
    script = f"import sys; import certune.cli; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr


def test_folds_of_several_tables_are_not_taken_for_independent(run, place):
    rng = np.random.default_rng(0)
    for number in range(6):
        x = rng.normal(size=(30, 2))
        y = (x[:, 0] + rng.normal(size=30) > 0).astype(int)
        rows = [f"{a},{b},{label}" for (a, b), label in zip(x, y, strict=True)]
        (place / f"part{number}.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    data = ("part*.csv", "--target", "y", "--cv", 3, "--holdout", 0.4, "--lam", 0.01, 1)
    run("tune", "logistic", *data, "--out", "run", "-q")
    findings = json.loads((place / "run/findings.json").read_text())
    held = findings["held_out"]
    assert len(held["instances"]) == 6 and len(held["groups"]) == 2
    # Nothing that needs independent instances is said of the folds that were tuned on.
    assert findings["shared_rows"] and findings["guarantee"] is None
    assert findings["cross_validation"] is None
    scores = np.array([item["tuned"] for item in held["instances"]]).reshape(2, 3).mean(axis=1)
    problem = read_problem(read_scenario(place / "run/scenario.toml"))
    worst = float(problem.family.score.of(problem.family.utility_range[0]))
    expected = mean_interval(scores.tolist(), 0.05, (0.0, worst))
    assert held["interval"] == pytest.approx([expected.low, expected.high], abs=1e-6)
    shown = " ".join(run("show", "run").stdout.split())
    assert "On 2 held-out tables, 6 folds, it scores" in shown


def test_a_class_of_one_row_is_named_with_advice_that_works(run, place):
    (place / "lone.csv").write_text("a,y\n" + "".join(f"{n},u\n" for n in range(9)) + "9,v\n")
    told = run("tune", "logistic", "lone.csv", "--target", "y", exit_code=1).output
    assert "lone.csv: class 'v' has 1 row, and folds need 2" in told and "--cv" not in told


CHOSEN = """
import certune as ct

def kept(values, parameters):
    count = 0
    for value in values:
        if value * parameters["scale"] >= parameters["k"]:
            count += 1
    return count / len(values)

family = ct.ProgramFamily(
    kept, ct.ParameterSpace((ct.Integer("k", 1, 3), ct.Real("scale", 0.1, 2)))
)

def choice():
    return ct.Choice({
        "means": ct.Linkage(alpha=(-2, 2)),
        "energies": ct.Linkage("energy", alpha=(0.5, 2), objective="cut"),
    })

def read_instance(path):
    return tuple(float(number) for number in path.read_text().split())
"""


def test_families_with_whole_numbers_and_choices_are_tuned_from_files(run, place):
    (place / "chosen_family.py").write_text(CHOSEN)
    for number in range(2):
        (place / f"{number}.txt").write_text(f"{number + 1} 2 3.5")
    summary = tuned(run, "chosen_family:family", "0.txt", "1.txt", "--out", "run")
    assert summary["best_params"]["k"] == 1 and summary["proved"]
    assert "verified" in run("verify", "run").stdout
    findings = json.loads((place / "run" / "findings.json").read_text())
    assert "import chosen_family\n" in findings["code"]
    told = run(
        "tune", "chosen_family:choice", "data", "--task", "clustering", "--target", "label",
        "--holdout", 0.25, "--out", "chosen", "-q",
    ).stdout  # fmt: skip
    assert "choice = " in told and "of the 2 alternatives" in " ".join(told.split())
    assert "verified" in run("verify", "chosen").stdout
    assert "is right" in run("check", "chosen/scenario.toml").stdout
    assert (
        "chosen_family.choice()" in json.loads((place / "chosen/findings.json").read_text())["code"]
    )


def test_tables_in_files_are_not_cut_and_have_no_spaces_at_the_end(run, place):
    run("tune", "linkage", "data", "--target", "label", *FAST, "--out", "run", "-q")
    told = run("show", "run", "--instances").stdout
    assert "…" not in told and "complete (cut)" in told.splitlines()[-9]
    assert all(line == line.rstrip() for line in told.splitlines())


def test_a_run_that_is_not_there_is_suggested(run, place):
    run("tune", "linkage", "data", "--target", "label", *FAST, "--out", "run", "-q")
    assert "did you mean 'run'?" in run("show", "rum", exit_code=1).stderr


def test_options_are_listed_by_what_they_are_about(run):
    told = run("tune", "--help").stdout
    places = [told.index(f"\n{title}:\n") for title in ("Data", "Linkage", "Labeling", "Output")]
    assert places == sorted(places) and "\nOptions:" not in told
    assert told.count("FAMILY") == 2 and told.count("[DATA]...") == 1
    commands = run("--help").stdout
    assert commands.count("...") == 1 and commands.index("  init") < commands.index("  check")


def test_nothing_is_silent_while_modules_are_loaded(tmp_path):
    code = """
import sys
class Watching:
    def find_spec(self, name, path=None, target=None):
        if name == "certune.cli.running":
            from certune.stages import _STAGE
            print("in a stage:", _STAGE.get() is not None)
sys.meta_path.insert(0, Watching())
from certune.cli import main
main(["tune", "linkage", "nothing.csv", "--target", "y"])
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "in a stage: True\n" and "there is no file nothing.csv" in run.stderr


def test_columns_of_uneven_scales_are_told(run, place):
    rng = np.random.default_rng(0)
    rows = [f"{1e5 * rng.normal():.2f},{rng.normal():.4f},{n % 2}" for n in range(40)]
    (place / "uneven.csv").write_text("\n".join(["area,texture,y", *rows]) + "\n")
    command = ("tune", "logistic", "uneven.csv", "--target", "y", "--cv", 2, "--lam", 0.1, 1)
    told = "hint: column 'area' varies about 90,000 times as much as 'texture': --standardize"
    assert told in run(*command).stderr
    assert "hint:" not in run(*command, "--standardize").stderr
    assert "hint:" not in run(*command, "-q").stderr
    assert "hint:" not in run("tune", "linkage", "data", "--target", "label", *FAST).stderr
