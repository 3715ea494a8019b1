"""The log of the group coordinator as its leader sees it: the twin of GroupLog.tla.

Law of this file: nothing is decided here, and nothing changes its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.reference.groups.messages import GroupRecord, GroupTail
from kraftcheck.reference.groups.types import OffsetsLog
from kraftcheck.reference.kit.tail_log import last_of, with_appended, with_committed, with_leader


def newest(log: OffsetsLog) -> GroupRecord:
    """What the coordinator works on: also what is not committed (G2)."""
    group: GroupRecord = last_of(log)
    return group


def appended(log: OffsetsLog, group: GroupRecord) -> OffsetsLog:
    return with_appended(log, (group,))


def initial_log(group: GroupRecord) -> OffsetsLog:
    return OffsetsLog(group, (), (GroupTail(()),))


def committed(log: OffsetsLog) -> OffsetsLog:
    """Move the high watermark to the end of the leader's log.

    Nobody who may be elected holds anything else any more.
    """
    return with_committed(log)


def latest_records(group: GroupRecord) -> Mapping[str, Any]:
    """Read what the log says of a group, by key.

    It has a record of the group and one of its target, and of each member what it asked for, what
    it is to have, and what it has (CoordinatorRecordType 3, 5 to 8).
    """
    of: dict[str, Any] = {"group": (group.epoch, group.grown, group.gone)}
    of["target"] = group.target_epoch
    for n, member in enumerate(group.members, 1):
        known = member.state != "None"
        has = (member.state, member.epoch, member.previous_epoch, member.assigned, member.pending)
        of[f"member {n}"] = member.subscribed if known else None
        of[f"target of {n}"] = member.target if known else None
        of[f"assignment of {n}"] = has if known else None
    return of


def loaded(log: OffsetsLog, tail: GroupTail) -> OffsetsLog:
    return with_leader(log, tail)
