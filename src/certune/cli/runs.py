"""``certune show``, ``report``, ``open`` and ``verify``: what to do with a run directory."""

from __future__ import annotations

import json
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certune.cli.refusals import NOT_VERIFIED, WrittenPath, refusing
from certune.errors import CertificateError, InputError

if TYPE_CHECKING:
    from certune.report.online_findings import OnlineFindings

RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command(
    short_help="Print the verdict and the numbers of a run.",
    epilog="\b\nExamples:\n  certune show run/\n  certune show run/ --json",
)
@RUN
@click.option("--instances", is_flag=True, help="One row for each instance, or round.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@refusing
def show(run: Path, instances: bool, as_json: bool) -> None:
    """Print the verdict and the numbers of a run, or of the state of an online run."""
    from rich.console import Console

    from certune.cli.run_folder import is_online_state, read_findings, summary_of
    from certune.report.text import print_findings, print_online_findings

    if is_online_state(run):
        found = _online_findings(run)
        if as_json:
            click.echo(found.to_json())
        else:
            print_online_findings(Console(emoji=False), found, rounds=instances)
        return
    findings = read_findings(run)
    if as_json:
        click.echo(json.dumps(summary_of(findings), indent=2))
    else:
        print_findings(Console(emoji=False), findings, instances=instances)


@click.command(epilog="\b\nExamples:\n  certune report run/\n  certune report run/ --to page.html")
@RUN
@click.option(
    "--to",
    "target",
    type=WrittenPath(dir_okay=False, path_type=Path),
    help="File to write; by default report.html in the run, or beside a state.",
)
@refusing
def report(run: Path, target: Path | None) -> None:
    """Write the report of a run: one page that works offline.

    RUN is a run directory, or the state of an online run, which may go on meanwhile.
    """
    click.echo(f"written: {_written_report(run, target)}")


@click.command(
    "open",
    short_help="Open the report of a run in the browser.",
    epilog="\b\nExamples:\n  certune open run/",
)
@RUN
@click.option("--print", "only_print", is_flag=True, help="Print the address only.")
@refusing
def open_report(run: Path, only_print: bool) -> None:
    """Open the report of a run, or of the state of an online run, in the browser."""
    from certune.cli.run_folder import REPORT

    path = run / REPORT
    if not path.is_file():
        path = _written_report(run, None)
    address = path.resolve().as_uri()
    click.echo(address)
    if not only_print:
        webbrowser.open(address)


@click.command(
    short_help="Check the proof of a run against its data.",
    epilog="\b\nExamples:\n  certune verify run/",
)
@RUN
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refusing
def verify(run: Path, as_json: bool) -> None:
    """Check the certificate of a run against its data, read again.

    Exit code 0 if every claim holds, 3 if one does not.
    """
    from certune.cli import verifying
    from certune.cli.run_folder import CERTIFICATE, SCENARIO

    if not (run / CERTIFICATE).is_file():
        missing = CERTIFICATE if (run / SCENARIO).is_file() else SCENARIO
        raise InputError(
            f"{run} has no {missing}: there is nothing to verify; make a run with certune tune "
            f"... --out {run}"
        )
    try:
        found = verifying.verify(run)
    except CertificateError as error:
        _say(as_json, False, str(error))
        sys.exit(NOT_VERIFIED)
    _say(as_json, True, str(found))


def _online_findings(state: Path) -> OnlineFindings:
    from certune.online.overview import Overview

    found = Overview.of_state(state).findings()
    return replace(found, title=f"{state.name}: {found.title}")


def _say(as_json: bool, verified: bool, text: str) -> None:
    if as_json:
        click.echo(json.dumps({"verified": verified, "text": text}))
    else:
        click.echo(text if verified else f"NOT VERIFIED: {text}")


def _written_report(run: Path, target: Path | None) -> Path:
    from certune.cli.run_folder import REPORT, is_online_state, read_findings
    from certune.report.online_page import write_online_report
    from certune.report.page import write_report

    if is_online_state(run):
        path = target or run.with_name(f"{run.name}.html")
        write_online_report(path, _online_findings(run))
        return path
    findings = read_findings(run)
    path = target or (run if run.is_dir() else run.parent) / REPORT
    write_report(path, findings)
    return path
