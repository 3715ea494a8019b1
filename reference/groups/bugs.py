"""Known bugs of consumer groups, by the numbers of bugs.toml."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference.groups.messages import (
    JOIN_EPOCH,
    RELEASED_EPOCH,
    UNKNOWN,
    Error,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    GroupRecord,
    LeaderChange,
    MemberRecord,
    TransactionMarker,
)
from kraftcheck.reference.groups.rules import GroupRules, InEpoch, as_set, holding
from kraftcheck.reference.groups.types import (
    CommittedOffset,
    FetchPosition,
    GroupCoordinator,
    GroupLoader,
    GroupMember,
    GroupMigration,
    GroupOffsets,
    MigratedMember,
    PendingOffset,
    RequestedCommit,
)


class Z90GivenBackIsFree(GroupRules):
    def held_after(
        self, held: tuple[int, ...], before: MemberRecord, after: MemberRecord
    ) -> tuple[int, ...]:
        added = ({*held} - {*before.assigned}) | holding(after)
        return as_set(added - ({*before.pending} - {*after.pending}))


class Z91AckMissed(GroupRules):
    def revocation_blocks(self, member: MemberRecord, m: GroupHeartbeat, retargeted: bool) -> bool:
        return retargeted or not self.has_revoked(member.pending, m)


class Z92LastTenuresAnswers(GroupRules):
    def waiting_after_move(
        self, waiting: tuple[GroupHeartbeatResponse, ...]
    ) -> tuple[GroupHeartbeatResponse, ...]:
        return waiting


class Z93MissedRelease(GroupRules):
    def may_take(self, held_epoch: int, epoch: int) -> bool:
        return held_epoch == UNKNOWN


class Z94OrphanTombstone(GroupRules):
    def ignores_orphan(self) -> bool:
        return False


class Z95UncommittedTail(GroupRules):
    def waits_for_written(self, row: GroupCoordinator) -> bool:
        return row.waiting != ()


class Z96PositionsRunAhead(GroupRules):
    def committable(self, position: FetchPosition) -> int:
        return position.fetched


class Z97LatePartitionReset(GroupRules):
    def to_reset(self, row: GroupOffsets, rest: tuple[int, ...]) -> tuple[int, ...]:
        return rest


class Z98HandedOutTooLate(GroupRules):
    def may_hand_out(self, row: GroupOffsets, p: int) -> bool:
        return True


class Z100OwnInstanceRefused(GroupRules):
    def join_error(self, member: MemberRecord) -> Error:
        return "NONE" if member.epoch == RELEASED_EPOCH else "UNRELEASED_INSTANCE_ID"


class Z101ExpiryInRebalance(GroupRules):
    def may_expire(self, row: GroupOffsets) -> bool:
        return row.group != "Stable"


class Z102ExpiryFromCommit(GroupRules):
    def expiry_base(self, row: GroupOffsets, each: CommittedOffset) -> int:
        return each.time


class Z103LoadStopsEarly(GroupRules):
    def is_loaded(self, position: int, end_offset: int) -> bool:
        return position > 0 or position == end_offset


class Z104EventsInAnyOrder(GroupRules):
    def is_outdated_event(self, row: GroupLoader, event: LeaderChange) -> bool:
        return False


class Z105ReplacementNotRecorded(GroupRules):
    def records_replacement(self) -> bool:
        return False


class Z106MarkerAnsweredEarly(GroupRules):
    def is_marker_answered(self, row: GroupOffsets) -> bool:
        return True


class Z107ClassicNotTold(GroupRules):
    def tells_to_join(
        self, row: GroupMigration, member: MigratedMember, held: tuple[int, ...]
    ) -> bool:
        waits = member.assigned != member.target and not {*member.target} & {*held}
        return member.epoch < row.target_epoch or waits


class Z108RestampedCommit(GroupRules):
    def stamped_epoch(self, row: InEpoch, request: InEpoch) -> int:
        return row.epoch


class Z109NotYetOwned(GroupRules):
    def report(self, row: GroupMember) -> tuple[int, ...]:
        return row.current


class Z180RebalanceForgotten(GroupRules):
    def downgraded_generation(self, row: GroupMigration) -> int:
        return row.epoch


class Z181TargetsTakenForOwned(GroupRules):
    def assignment_after_downgrade(self, member: MigratedMember) -> tuple[int, ...]:
        return member.target


class Z187AwayIsOlder(GroupRules):
    def may_take(self, held_epoch: int, epoch: int) -> bool:
        return held_epoch == UNKNOWN or held_epoch < epoch


FORMER = 1


class Z202TimeYetToCome(GroupRules):
    __slots__ = ()

    def needs_target(self, group: GroupRecord) -> bool:
        return FORMER != group.target_epoch < group.epoch


class Z210LastAssignmentOnly(GroupRules):
    def pending_after_upgrade(self, member: MigratedMember) -> tuple[int, ...]:
        return ()


class Z215StaticTakenOver(GroupRules):
    __slots__ = ()

    def instance_error(self, holder: MemberRecord, m: GroupHeartbeat) -> Error:
        return "NONE" if m.epoch == JOIN_EPOCH else "FENCED_INSTANCE_ID"


class Z216KeptIsFree(GroupRules):
    __slots__ = ()

    def held_after(
        self, held: tuple[int, ...], before: MemberRecord, after: MemberRecord
    ) -> tuple[int, ...]:
        return as_set(({*held} - holding(before)) | (set() if after.epoch < 0 else holding(after)))


class Z217GrowthUnheard(GroupRules):
    __slots__ = ()

    def changes_metadata(self, group: GroupRecord, p: int) -> bool:
        return False


class Z218InstancesMixed(GroupRules):
    __slots__ = ()

    def shares_instance(self, m: int, n: int) -> bool:
        static = [each for instance in self.constants.static for each in instance]
        return m in static and n in static


class Z219DeletionUnheard(GroupRules):
    __slots__ = ()

    def changes_metadata(self, group: GroupRecord, p: int) -> bool:
        return p not in group.grown and any(p in member.subscribed for member in group.members)


class Z220PendingOutlives(GroupRules):
    __slots__ = ()

    def pending_after_tombstone(self, row: GroupOffsets, p: int) -> tuple[PendingOffset, ...]:
        return row.pending


class Z221OffsetsOutlive(GroupRules):
    __slots__ = ()

    def forgets_when_loaded(self) -> bool:
        return False


class Z240ExpiryDespitePending(GroupRules):
    __slots__ = ()

    def is_spared(self, row: GroupOffsets, p: int) -> bool:
        return False


class Z241OlderOffsetWins(GroupRules):
    __slots__ = ()

    def is_newest(self, each: PendingOffset) -> bool:
        return True


class Z242AnyMarkerCommits(GroupRules):
    __slots__ = ()

    def of_marker(self, row: GroupOffsets, marker: TransactionMarker) -> tuple[PendingOffset, ...]:
        return row.pending


class Z243OutdatedSends(GroupRules):
    __slots__ = ()

    def accepts_txn_offsets(self, row: GroupOffsets, request: RequestedCommit) -> bool:
        return True


class Z244LiveGroupDeleted(GroupRules):
    __slots__ = ()

    def may_delete_group(self, row: GroupOffsets) -> bool:
        return True


class Z245NewTopicForgotten(GroupRules):
    __slots__ = ()

    def goes_with_topic(self, each: CommittedOffset) -> bool:
        return True


class Z246OffsetOfOldTopic(GroupRules):
    __slots__ = ()

    def is_of_topic(self, row: GroupOffsets, each: CommittedOffset) -> bool:
        return True


class Z250ChangeReverted(GroupRules):
    __slots__ = ()

    def keeps_changed(self) -> bool:
        return False


class Z313SubscriptionNotAsked(GroupRules):
    __slots__ = ()

    def is_target(self, group: GroupRecord, owner: Mapping[int, int]) -> bool:
        present = [
            n
            for n, member in zip(self.constants.members, group.members, strict=True)
            if member.state != "None"
        ]
        shares = [[*owner.values()].count(n) for n in present]
        return max(shares) <= min(shares) + 1
