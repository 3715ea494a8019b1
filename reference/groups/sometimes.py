"""What runs of groups should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from kraftcheck.reference.groups.messages import (
    CompleteReconciliation,
    ExpireOffsets,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    GroupSessionTimeout,
    HeartbeatTimeout,
    LeaderEvent,
    MoveCoordinator,
    RebalanceTimeout,
    SendCommit,
    StartReconciliation,
)
from kraftcheck.reference.groups.types import (
    GroupCoordinator,
    GroupLoader,
    GroupMember,
    GroupOffsets,
)
from kraftcheck.reference.kit.sometimes import Conditions

sometimes = Conditions()


@sometimes(MoveCoordinator)
def coordinator_moves_with_records_uncommitted(before: GroupCoordinator) -> bool:
    """Another coordinator is elected while records of the group are not committed."""
    return bool(before.log.leader)


@sometimes(MoveCoordinator)
def coordinator_moves_with_answers_waiting(before: GroupCoordinator) -> bool:
    """Another coordinator is elected while members wait for their answer."""
    return bool(before.waiting)


@sometimes(GroupSessionTimeout, RebalanceTimeout)
def silent_member_loses_partitions(before: GroupCoordinator, after: GroupCoordinator) -> bool:
    """A member that was not heard of for too long is removed."""
    return after != before


@sometimes(GroupHeartbeat)
def heartbeat_of_an_older_epoch_arrives(before: GroupCoordinator, input: GroupHeartbeat) -> bool:
    """A member that joined says an epoch that the group has left behind."""
    records = before.log.leader or (before.log.committed,)
    return 0 < input.epoch < records[-1].epoch


@sometimes(GroupHeartbeatResponse)
def member_is_fenced_with_partitions(before: GroupMember, input: GroupHeartbeatResponse) -> bool:
    """A member that owns partitions is told that it is none any more."""
    return bool(before.owned) and input.error != "NONE"


@sometimes(GroupHeartbeatResponse)
def target_changes_while_reconciling(
    before: GroupMember, after: GroupMember, input: GroupHeartbeatResponse
) -> bool:
    """A member is given other partitions while it still takes and gives the last ones."""
    return before.busy and after.target != before.target


@sometimes(HeartbeatTimeout)
def member_gives_up_waiting(before: GroupMember) -> bool:
    """A member that owns partitions hears no answer for too long."""
    return bool(before.owned) and before.awaiting


@sometimes(StartReconciliation, CompleteReconciliation)
def member_gives_partitions_back(before: GroupMember, after: GroupMember) -> bool:
    """A member that keeps some partitions gives others back."""
    return bool(after.owned) and len(after.owned) < len(before.owned)


@sometimes(LeaderEvent)
def leader_changes_while_loading(before: GroupLoader) -> bool:
    """The group's log has another leader while it is being read."""
    return before.state == "Loading"


@sometimes(SendCommit)
def commit_of_an_older_epoch_is_sent(before: GroupOffsets) -> bool:
    """Offsets are committed that were asked for in an epoch before."""
    return any(each.epoch < before.epoch for each in before.requested)


@sometimes(ExpireOffsets)
def offsets_expire(before: GroupOffsets, after: GroupOffsets) -> bool:
    """Committed offsets are forgotten."""
    return len(after.committed) < len(before.committed)
