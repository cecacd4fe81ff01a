"""The command line ``certune``: one module for each command, registered here.

Tables and JSON go to stdout, messages to stderr.  A wrong option ends with exit code 2, anything
that certune refuses with exit code 1 and one line that says why.
"""

from __future__ import annotations

import click

from certune.cli.bound import bound
from certune.cli.online import online


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="certune")
def main() -> None:
    """Certified algorithm configuration."""


main.add_command(bound)
main.add_command(online)

__all__ = ["main"]
