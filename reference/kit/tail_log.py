"""Hold a replicated, compacted log of one key as its leader sees it.

It is the twin of TailLog.tla and LoadedLog.tla.

A log is a value with three fields: `committed`, the last committed record; `leader`, what the
leader's log has after it; `tails`, what the log of any replica that may lead has there: values of
one field, `records`, sorted. There always is one. What records are, each protocol says.

Law of this file: nothing is decided here, and nothing changes its arguments.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

Log = TypeVar("Log", bound=Any)


def last_of(log: Any) -> Any:
    return log.leader[-1] if log.leader else log.committed


def with_appended(log: Log, records: tuple[Any, ...]) -> Log:
    leader = (*log.leader, *records)
    return replace(log, leader=leader, tails=tuple(sorted({*log.tails, _tail(log, leader)})))


def with_committed(log: Log) -> Log:
    """Move the high watermark to the end of the leader's log.

    Every replica in the ISR was cut to it, so nobody can be elected any more who lacks any of it,
    or has anything else behind it.
    """
    return replace(log, committed=last_of(log), leader=(), tails=(_tail(log, ()),))


def with_leader(log: Log, tail: Any) -> Log:
    return replace(log, leader=tail.records)


def with_found(log: Log) -> Log:
    """Let a new leader learn that what it found is committed.

    Nobody who lacks it can be elected any more. Of what others have behind it that says nothing.
    """
    end = len(log.leader)
    behind = {t.records[end:] for t in log.tails if t.records[:end] == log.leader}
    tails = tuple(sorted([_tail(log, records) for records in behind]))
    return replace(log, committed=last_of(log), leader=(), tails=tails)


def _tail(log: Any, records: tuple[Any, ...]) -> Any:
    """As the tails that there are."""
    return type(log.tails[0])(records)
