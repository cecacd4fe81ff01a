"""``ct.verify`` of a folder alone: the command line's are read again, others described."""

import json
import re

import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance

STEPS = [StepInstance((0.2 * n,), (0, 1), name=f"step {n}") for n in (1, 2, 3, 4)]


def tuned(run, *arguments):
    run("tune", *arguments, "--out", "run", "-q")


@pytest.mark.parametrize("how", ["folder", "file"])
def test_a_run_of_the_command_line_is_verified_by_its_folder(run, place, monkeypatch, how):
    options = ("--target", "label", "--holdout", 0.25, "--alpha", 1, 2)
    tuned(run, "linkage", "data", *options)
    monkeypatch.chdir("/")
    path = place / "run" if how == "folder" else place / "run" / "certificate.json"
    report = ct.verify(path)
    assert report.optimal and report.n_instances == 6
    stored = json.loads((place / "run" / "result.json").read_text())
    assert float(report.best_value) == stored["best_value"]


def test_a_choice_and_a_family_of_ones_own_are_verified_by_their_folder(run, place, monkeypatch):
    (place / "mine_to_verify.py").write_text(
        "import certune as ct\n"
        "from certune.testing import StepFamily, StepInstance\n"
        "family = StepFamily()\n"
        "choice = ct.Choice({'one': family, 'other': family})\n"
        "def read_instance(path):\n"
        "    return StepInstance((len(path.read_text()) / 10_000,), (0, 1))\n"
    )
    monkeypatch.syspath_prepend(str(place))
    for number, name in enumerate(("family", "choice")):
        run("tune", f"mine_to_verify:{name}", "data/d0.csv", "--out", f"run{number}", "-q")
        assert ct.verify(f"run{number}").optimal


def test_changed_data_are_noticed(run, place):
    tuned(run, "linkage", "data", "--target", "label", "--alpha", 1, 2)
    changed = place / "data" / "d3.csv"
    content = changed.read_text()
    changed.write_text(re.sub(r"^([-\d.]+),", "7.25,", content, count=1, flags=re.MULTILINE))
    with pytest.raises(ct.CertificateError, match="some were changed, or are others"):
        ct.verify("run")
    changed.unlink()
    with pytest.raises(ct.CertificateError, match="is about 8 instances, got 7"):
        ct.verify("run")
    for path in (place / "data").iterdir():
        path.unlink()
    with pytest.raises(ct.InputError, match="data"):
        ct.verify("run")


@pytest.mark.parametrize("kind", ["family", "choice"])
def test_a_run_of_python_says_what_it_was_made_with(run, tmp_path, kind):
    family = StepFamily() if kind == "family" else ct.Choice({"a": StepFamily(), "b": StepFamily()})
    folder = tmp_path / "with a space ä"
    result = ct.tune(family, STEPS, run_dir=folder, progress=False)
    made = "StepFamily(low=0.0, high=1.0) and 4 instances (step 1, step 2, step 3, ...)"
    made = made if kind == "family" else "a Choice of a, b and 4 instances"
    told = f"It was made with {made}: call certune.verify('{folder}', family, instances) with these"
    with pytest.raises(ct.ParameterError, match=re.escape(told)):
        ct.verify(folder)
    assert told in run("verify", folder, exit_code=1).stderr
    with pytest.raises(ct.ParameterError, match=r"4 instances: call certune.verify\(certificate"):
        ct.verify(result.certificate)
    for half in ({"family": family}, {"instances": STEPS}):
        with pytest.raises(ct.ParameterError, match="pass both"):
            ct.verify(folder, **half)
    assert ct.verify(folder, family, STEPS).optimal
    (folder / "journal.jsonl").unlink(missing_ok=True)
    with pytest.raises(ct.ParameterError, match="made with .* and 4 instances: call"):
        ct.verify(folder)


@pytest.mark.parametrize("given", [(), (StepFamily(), STEPS)])
def test_a_stream_says_why_it_has_no_certificate(tmp_path, given):
    result = ct.tune_stream(StepFamily(), iter(STEPS), run_dir=tmp_path / "stream", progress=False)
    with pytest.raises(ct.CertificateError, match=r"stream over StepFamily\(.*\), which has no"):
        ct.verify(tmp_path / "stream", *given)
    result.save(tmp_path / "stream.json")
    with pytest.raises(ct.CertificateError, match="not a certune certificate .* stream 1"):
        ct.verify(tmp_path / "stream.json", *given)


def test_a_run_that_has_not_ended_says_so(tmp_path):
    with pytest.raises(ct.NothingFinishedError):
        ct.tune(StepFamily(), STEPS, run_dir=tmp_path, timeout=1e-9, progress=False)
    with pytest.raises(ct.CertificateError, match="as long as no run has ended in the folder"):
        ct.verify(tmp_path)


@pytest.mark.parametrize("wrong", [None, 5, b"out", {"family": 1}])
def test_what_is_no_certificate_is_refused(wrong):
    with pytest.raises(ct.CertificateError, match="Expected a Certificate"):
        ct.verify(wrong)
