"""The log of the group coordinator as its leader sees it: the twin of GroupLog.tla.

Law of this file: nothing is decided here, and nothing changes its arguments.
"""

from __future__ import annotations

from msgspec.structs import replace

from reference.groups.messages import GroupRecord, GroupTail
from reference.groups.types import OffsetsLog


def newest(log: OffsetsLog) -> GroupRecord:
    """What the coordinator works on: also what is not committed (G2)."""
    return log.leader[-1] if log.leader else log.committed


def appended(log: OffsetsLog, group: GroupRecord) -> OffsetsLog:
    leader = (*log.leader, group)
    return replace(log, leader=leader, tails=tuple(sorted({*log.tails, _tail(log, leader)})))


def _tail(log: OffsetsLog, records: tuple[GroupRecord, ...]) -> GroupTail:
    """As the tails that there are; there always is one."""
    return type(log.tails[0])(records)


def initial_log(group: GroupRecord) -> OffsetsLog:
    return OffsetsLog(group, (), (GroupTail(()),))


def committed(log: OffsetsLog) -> OffsetsLog:
    """The high watermark reaches the end of the leader's log: nobody who may be elected holds
    anything else any more.
    """
    return replace(log, committed=newest(log), leader=(), tails=(_tail(log, ()),))


def loaded(log: OffsetsLog, tail: GroupTail) -> OffsetsLog:
    return replace(log, leader=tail.records)
