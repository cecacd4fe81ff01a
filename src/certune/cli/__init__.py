"""The command line ``certune``: one module for each command, registered here.

Tables and JSON go to stdout, log and messages to stderr. `certune.cli.refusals` has the exit codes.
"""

from __future__ import annotations

import click

from certune.cli.bound import bound
from certune.cli.demo import demo
from certune.cli.online import online
from certune.cli.runs import open_report, report, show, verify
from certune.cli.scenarios import check, init
from certune.cli.spoken_warnings import warnings_in_words
from certune.cli.tune import resume, tune

EPILOG = """\b
From a folder of CSV files to a page that explains the result:
  certune tune linkage data/*.csv --target label --holdout 0.25 --out run/
  certune open run/

\b
Exit codes: 0 done, 1 refused (one line says why), 2 wrong usage,
  3 not verified, 130 stopped by Ctrl-C.

\b
Shell completion (or zsh_source, fish_source):
  eval "$(_CERTUNE_COMPLETE=bash_source certune)"
"""


class _InOrder(click.Group):
    """A group whose commands are listed in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="certune")
@click.pass_context
def main(context: click.Context) -> None:
    """Certified algorithm configuration: the best setting, and the proof that it is best."""
    context.with_resource(warnings_in_words(silent=False))


for command in (demo, init, check, tune, resume, show, report, open_report, verify, bound, online):
    main.add_command(command)

__all__ = ["main"]
