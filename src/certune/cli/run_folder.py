"""A run directory: where ``tune --out`` puts its files and the other commands find them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from certune.cli.scenario import Scenario
from certune.errors import CertificateError, InputError
from certune.files import write_whole
from certune.report.findings import Findings
from certune.report.tables import table_of_instances
from certune.runs import Journal
from certune.suggestions import suggested

SCENARIO, FINDINGS, RESULT = "scenario.toml", "findings.json", "result.json"
CERTIFICATE, REPORT, INSTANCES = "certificate.json", "report.html", "instances.csv"
# What tuning itself keeps there, see certune.runs.directory.
JOURNAL, SEARCHES, FOLDERS = "journal.jsonl", "search-*.jsonl", ("functions", "aside")
# A record that is larger than this was not written by certune.
LARGEST_RECORD = 200 * 2**20


def begin_run(folder: Path, scenario: Scenario, overwrite: bool) -> None:
    """Make the folder of a new run, with its scenario; raise if it cannot take one."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder for the run")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / SCENARIO).exists():
            raise InputError(f"the folder {folder} has other files: name a new or an empty one")
        if not overwrite:
            ended = (folder / FINDINGS).exists()
            hint = "" if ended else f", continue it with certune resume {folder}"
            raise InputError(
                f"{folder} has a run already: name another folder{hint}, or --overwrite"
            )
        if (folder / JOURNAL).exists():
            Journal(folder / JOURNAL).close()  # refuses if another process is at work there
        for name in (FINDINGS, RESULT, CERTIFICATE, REPORT, INSTANCES, JOURNAL):
            (folder / name).unlink(missing_ok=True)
        for path in folder.glob(SEARCHES):
            path.unlink()
        for name in FOLDERS:
            shutil.rmtree(folder / name, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from None
    write_whole(folder / SCENARIO, scenario.to_toml(folder).encode())


def write_run(folder: Path, scenario: Scenario, result: Any, findings: Findings) -> list[Path]:
    """Write what a run gave and return the paths of all its files."""
    from certune.report.page import write_report

    written = {
        SCENARIO: scenario.to_toml(folder),
        FINDINGS: findings.to_json(),
        RESULT: json.dumps(summary_of(findings), indent=2) + "\n",
        INSTANCES: table_of_instances(findings),
    }
    for name, text in written.items():
        write_whole(folder / name, text.encode())
    paths = [folder / name for name in written]
    try:
        result.certificate.save(folder / CERTIFICATE)
        paths.append(folder / CERTIFICATE)
    except CertificateError:
        # A family whose functions are not proved has nothing to certify; the status says so.
        pass
    write_report(folder / REPORT, findings)
    return [*paths, folder / REPORT]


def is_online_state(path: Path) -> bool:
    """Tell whether a file looks like the state of an online run."""
    try:
        with open(path, "rb") as file:
            return b'"certune online' in file.read(100)
    except OSError:
        return False


def _runs_beside(folder: Path) -> str:
    """Return the runs in the same folder, the most similar first, for a message."""
    if not folder.parent.is_dir():
        return ""
    there = sorted(path.name for path in folder.parent.iterdir() if (path / SCENARIO).is_file())
    return suggested(folder.name, there).replace("it has", f"the folder {folder.parent} has")


def read_findings(folder: Path) -> Findings:
    """Read the findings of a run.

    Raises
    ------
    InputError
        If there is no run, with what to do.
    """
    path = folder if folder.is_file() else folder / FINDINGS
    if not folder.exists():
        raise InputError(
            f"there is no run {folder}{_runs_beside(folder)}; make one with certune tune ... --out "
            f"{folder}"
        )
    if not path.is_file():
        if (folder / SCENARIO).is_file():
            hint = f"the run has not ended, continue it with certune resume {folder}"
        elif (folder / JOURNAL).is_file():
            hint = "the run was made in Python, where certune.load reads it"
        else:
            raise InputError(
                f"{folder} is not a run directory: it has neither {SCENARIO} nor {FINDINGS}; "
                "certune tune ... --out FOLDER makes one"
            )
        raise InputError(f"{folder} is not a finished run: it has no {FINDINGS}: {hint}")
    if path.stat().st_size > LARGEST_RECORD:
        raise InputError(f"{path} is too large to be a record of certune")
    try:
        text = path.read_text(encoding="utf-8")
        if folder.is_file() and not text.startswith("{"):
            raise InputError(
                f"{folder} is neither a run directory nor the state of an online run: name the "
                f"folder of the run, such as {folder.parent}"
            )
        return Findings.from_json(text, str(path))
    except UnicodeError:
        raise InputError(f"{path} is not a record of certune: it is not text") from None


def summary_of(findings: Findings) -> dict[str, Any]:
    """Return the few numbers that scripts need."""
    held = findings.held_out
    return {
        "status": findings.status,
        "proved": findings.proved,
        "score": findings.score,
        "measure": findings.measure,
        "greater_is_better": findings.greater_is_better,
        "best_params": dict(findings.best_params),
        "best_value": findings.best_value,
        "bound": findings.bound,
        "gap": findings.gap,
        "best_region": [list(interval) for interval in findings.region],
        "robust_params": dict(findings.robust_params),
        "robust_value": findings.robust_value,
        "defaults": dict(findings.defaults),
        "n_instances": len(findings.instances),
        "n_finished": findings.n_finished,
        "elapsed": findings.elapsed,
        "held_out": None if held is None else {
            "n_instances": len(held.instances),
            "value": held.value,
            "interval": None if held.interval is None else list(held.interval),
            "defaults": dict(held.defaults),
        },
    }  # fmt: skip
