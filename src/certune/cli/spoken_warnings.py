"""Warnings as commands tell them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_in_words(silent: bool) -> Iterator[None]:
    """Show warnings on stderr as sentences, without the lines of code that they come from."""
    with warnings.catch_warnings():

        def show(message: Warning | str, *details: object, **others: object) -> None:
            if not silent:
                click.echo(f"warning: {message}", err=True)

        # Who runs a command is told what the library warns of, each thing once.
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield
