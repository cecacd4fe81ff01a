"""Ctrl-C, also when it arrives while a compiled kernel returns."""

from __future__ import annotations


def is_interrupt(error: BaseException | None) -> bool:
    """Is this Ctrl-C, perhaps wrapped because it arrived while a compiled kernel returned?"""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
