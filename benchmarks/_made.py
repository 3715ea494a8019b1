"""Histories that were made up, one operation after the other, each answered at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traces.history import OK, History, Operation

Event = tuple[int, str, dict[str, Any]]
"""A process, what it asks, and further fields of the operation."""


def history_of(events: Iterable[Event]) -> History:
    """They in their order."""
    found: list[Operation] = []
    for process, f, more in events:
        at = len(found)
        times: dict[str, Any] = {"invoked": 2 * at, "completed": 2 * at + 1}
        found.append(
            Operation(index=at, group=at, process=process, f=f, outcome=OK, **times, **more)
        )
    return History(
        source="made",
        format="made",
        time_unit="event",
        operations=tuple(found),
        model="partition-log",
    )
