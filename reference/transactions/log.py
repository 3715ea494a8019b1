"""A replicated, compacted log of one key as its leader sees it: the twin of TailLog.tla and
LoadedLog.tla.

Law of this file: nothing is decided here, and nothing changes its arguments.
"""

from __future__ import annotations

from msgspec.structs import replace

from reference.transactions.messages import Tail, TxnRecord
from reference.transactions.types import TailLog


def last_of(log: TailLog) -> TxnRecord:
    return log.leader[-1] if log.leader else log.committed


def with_appended(log: TailLog, records: tuple[TxnRecord, ...]) -> TailLog:
    leader = log.leader + records
    return replace(log, leader=leader, tails=tuple(sorted({*log.tails, Tail(leader)})))


def with_committed(log: TailLog) -> TailLog:
    """The high watermark reaches the end of the leader's log: every replica in the ISR was cut to
    it, so that nobody can be elected any more who lacks any of it, or has anything else behind it.
    """
    return TailLog(last_of(log), (), (Tail(()),))


def with_leader(log: TailLog, tail: Tail) -> TailLog:
    return replace(log, leader=tail.records)


def with_found(log: TailLog) -> TailLog:
    """A new leader learns that what it found is committed: nobody who lacks it can be elected any
    more. Of what others have behind it that says nothing.
    """
    end = len(log.leader)
    behind = {t.records[end:] for t in log.tails if t.records[:end] == log.leader}
    return TailLog(last_of(log), (), tuple(sorted(map(Tail, behind))))
