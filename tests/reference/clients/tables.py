"""Another table of promises for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kraftcheck.reference.clients import promises


@contextmanager
def another_table(rows: tuple[promises.Row, ...]) -> Iterator[None]:
    """What was looked up before is forgotten, and so is what is looked up now. (To mypy the table
    is Final, which it is to all but these tests.)
    """
    usual = promises.TABLE
    try:
        promises.TABLE = rows  # type: ignore[misc]
        promises.promised.cache_clear()
        yield
    finally:
        promises.TABLE = usual  # type: ignore[misc]
        promises.promised.cache_clear()
