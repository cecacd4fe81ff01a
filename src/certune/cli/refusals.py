"""How commands end: exit codes, and one line for what is refused.

========  ==========================================================================
exit code meaning
========  ==========================================================================
0         done; for ``tune``, a result with its status, also after a time limit
1         refused: data, a file or an option that certune cannot use; one line says why
2         wrong usage of the command line
3         ``verify``: the certificate does not prove what it claims
130       stopped by Ctrl-C before there was a result
========  ==========================================================================
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import click

from certune.displays import SILENCE
from certune.errors import CertuneError

P = ParamSpec("P")

# Arguments of Python that messages speak of, and the options that mean the same.
_ARGUMENT = re.compile(
    r"\b(features|categorical|encoding|delimiter|group|cv)=(?:\['([^']*)'\]|'([^']*)'|(\d+))?"
)
_ALPHA = re.compile(r"\balpha=\(([-\d.]+), ([-\d.]+)\)")
_KIND = re.compile(r"\(kind '([a-z-]+)'\)")

REFUSED, WRONG_USAGE, NOT_VERIFIED, STOPPED = 1, 2, 3, 130


class WrittenPath(click.Path):
    """A path to write to; an option in its place means that the path was forgotten."""

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """Return the path, or refuse what looks like an option."""
        if str(value).startswith("-"):
            self.fail(
                f"expected a path, got the option {value}; ./{value} is a file of that name",
                param,
                context,
            )
        return super().convert(value, param, context)


def in_options(message: str) -> str:
    """Return a message with options of the command line in the place of arguments of Python."""

    def option(found: re.Match[str]) -> str:
        value = found[2] or found[3] or found[4]
        return f"--{found[1]}" + (f" {shlex.quote(value)}" if value else "")

    message = _ARGUMENT.sub(option, message).replace("relative=True", "--relative")
    return _KIND.sub(r"(--kind \1)", _ALPHA.sub(r"--alpha \1 \2", message))


def refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors that certune raises on purpose into one line and an exit code."""

    @wraps(command)
    def wrapped(*args: P.args, **options: P.kwargs) -> None:
        try:
            with SILENCE.conversation(quiet=bool(options.get("quiet"))):
                command(*args, **options)
        except CertuneError as error:
            raise click.ClickException(in_options(str(error))) from None
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(STOPPED)

    return wrapped
