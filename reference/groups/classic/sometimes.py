"""What runs of classic groups should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.groups.classic.messages import (
    ClassicHeartbeat,
    ClassicHeartbeatResponse,
    ClassicRebalanceTimeout,
    ClassicSessionTimeout,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MoveClassicCoordinator,
    SyncGroup,
    SyncGroupResponse,
)
from kraftcheck.reference.groups.classic.types import ClassicCoordinator, ClassicMember
from kraftcheck.reference.kit.sometimes import Conditions

sometimes = Conditions()


def _known(row: ClassicCoordinator) -> int:
    return sum(member.known for member in row.members)


@sometimes(JoinGroup)
def member_joins_a_stable_group(before: ClassicCoordinator, after: ClassicCoordinator) -> bool:
    """A member joins a group that is stable, which rebalances."""
    return before.state == "Stable" != after.state


@sometimes(JoinGroup)
def member_joins_while_others_sync(before: ClassicCoordinator, after: ClassicCoordinator) -> bool:
    """A member joins while the leader's assignment is awaited."""
    return before.state == "Completing" and after != before


@sometimes(SyncGroup)
def assignment_of_an_older_generation_arrives(before: ClassicCoordinator, input: SyncGroup) -> bool:
    """A leader's assignment comes when the group is in another generation."""
    return bool(input.assignments) and input.generation != before.generation


@sometimes(ClassicHeartbeat)
def heartbeat_finds_a_rebalance(before: ClassicCoordinator) -> bool:
    """A member says that it lives while the group rebalances."""
    return before.state == "Preparing"


@sometimes(ClassicSessionTimeout)
def leader_of_the_group_expires(before: ClassicCoordinator, after: ClassicCoordinator) -> bool:
    """The member that assigns is removed, since it was not heard of."""
    return before.leader >= 0 and after.leader != before.leader


@sometimes(ClassicRebalanceTimeout)
def rebalance_goes_on_without_a_member(
    before: ClassicCoordinator, after: ClassicCoordinator
) -> bool:
    """A member that did not join in time is left out."""
    return _known(after) < _known(before)


@sometimes(MoveClassicCoordinator)
def coordinator_moves_with_a_write_under_way(before: ClassicCoordinator) -> bool:
    """Another coordinator is elected while an assignment is not yet in the log."""
    return bool(before.log.leader)


@sometimes(MoveClassicCoordinator)
def coordinator_loads_what_the_last_one_never_saw(
    before: ClassicCoordinator, input: MoveClassicCoordinator
) -> bool:
    """Another coordinator has a tail of an earlier one, which the last one did not have."""
    has = input.tail.records
    return before.log.leader[: len(has)] != has


@sometimes(SyncGroup, ClassicHeartbeat)
def member_asks_while_a_loaded_tail_is_uncommitted(before: ClassicCoordinator) -> bool:
    """A member asks a coordinator that has loaded more than is committed."""
    return before.state == "Stable" and bool(before.log.leader)


@sometimes(MoveClassicCoordinator)
def coordinator_moves_in_a_rebalance(before: ClassicCoordinator) -> bool:
    """Another coordinator is elected while a group rebalances."""
    return before.state in ("Preparing", "Completing")


@sometimes(LeaveGroup)
def last_member_leaves(before: ClassicCoordinator, after: ClassicCoordinator) -> bool:
    """A group has no members any more."""
    return _known(before) > 0 and _known(after) == 0


@sometimes(JoinGroupResponse)
def member_has_to_assign(input: JoinGroupResponse) -> bool:
    """A member learns that it leads its group."""
    return bool(input.claims)


@sometimes(SyncGroupResponse)
def member_gives_up_partitions(before: ClassicMember, input: SyncGroupResponse) -> bool:
    """A member is assigned less than it owns."""
    return input.error == "NONE" and not {*before.owned} <= {*input.assigned}


@sometimes(ClassicHeartbeatResponse)
def member_is_unknown_with_partitions(before: ClassicMember, input: Any) -> bool:
    """A member that owns partitions is told that nobody knows it."""
    return bool(before.owned) and input.error == "UNKNOWN_MEMBER_ID"
