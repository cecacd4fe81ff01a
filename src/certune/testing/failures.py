"""A list of everything that is wrong, so that one run of a check shows all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

SHOWN_OF_A_KIND = 3


class Failures:
    """Collects failures and raises them together.

    Parameters
    ----------
    subject : object
        What is checked.
    """

    def __init__(self, subject: object) -> None:
        self._subject = subject
        self._by_kind: dict[str, list[str]] = {}

    def add(self, what: str, expected: object, got: object, at: object = None) -> None:
        """Record a failure; failures that differ only in `at` are of one kind."""
        place = "" if at is None else f" at {at}"
        message = f"{what}{place}: expected {expected}, got {got}"
        self._by_kind.setdefault(what, []).append(message)

    def expect(
        self, holds: bool, what: str, expected: object, got: object, at: object = None
    ) -> bool:
        """Record a failure unless `holds`; return `holds`."""
        if not holds:
            self.add(what, expected, got, at)
        return holds

    @contextmanager
    def caught(self, what: str) -> Iterator[None]:
        """Record an exception within the block as a failure."""
        try:
            yield
        except Exception as error:
            self.add(what, "an answer", f"{type(error).__name__}: {error}")

    def raise_all(self) -> None:
        """Raise one AssertionError with all failures, if there are any."""
        if self._by_kind:
            lines = [f"{self._subject!r} breaks its promises:"]
            for messages in self._by_kind.values():
                lines += [f"- {message}" for message in messages[:SHOWN_OF_A_KIND]]
                more = len(messages) - SHOWN_OF_A_KIND
                lines += [f"  and {more} more of this kind"] if more > 0 else []
            raise AssertionError("\n".join(lines))
