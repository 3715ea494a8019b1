"""Every decision of consumer groups that has a name: the twin of GroupRules.tla.

Law of this file: a rule is a pure function of its arguments and the constants; it sends nothing and
changes nothing. Each method has the name of its operator in snake case, the same parameters and the
same place in the order. A bug replaces some of them in a subclass and nothing else.

Where Apache Kafka 4.3.1 decides otherwise, the correct rule stands here and Kafka's is a bug. Sets
come and go as sorted tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kraftcheck.reference.groups.messages import (
    ALL_FIELDS,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    OWN,
    RELEASED_EPOCH,
    Error,
    Given,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    GroupRecord,
    LeaderChange,
    MemberRecord,
    TransactionMarker,
)
from kraftcheck.reference.groups.types import (
    CommittedOffset,
    Constants,
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

RETENTION = 2
"""How long offsets are kept."""


class InEpoch(Protocol):
    """A consumer, or what it was asked for."""

    @property
    def epoch(self) -> int: ...


def as_set(of: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(of)))


def holding(member: MemberRecord | MigratedMember) -> set[int]:
    return {*member.assigned, *member.pending}


class GroupRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- Coordinator: runtime ---

    def waits_for_written(self, row: GroupCoordinator) -> bool:
        """G3.

        What needs no record is answered when all is committed that it was computed from: of this
        coordinator, or of one before it.
        """
        return row.log.leader != ()

    def waiting_after_move(
        self, waiting: tuple[GroupHeartbeatResponse, ...]
    ) -> tuple[GroupHeartbeatResponse, ...]:
        """G5, G7.

        Who waits for an answer when another coordinator takes over gets none from it: it may lack
        what was to be answered.
        """
        return ()

    # --- Coordinator: heartbeats ---

    def accepts_previous_epoch(self, member: MemberRecord, m: GroupHeartbeat) -> bool:
        """G12. The answer with the newer epoch was lost."""
        if m.epoch != member.previous_epoch or "Owned" not in m.given:
            return False
        return {*m.owned} <= {*member.assigned}

    def join_error(self, member: MemberRecord) -> Error:
        """G13.

        Of a member that joins and is known: its answer was lost. Kafka refuses it to a static one,
        who gives up then.
        """
        return "NONE"

    def shares_instance(self, m: int, n: int) -> bool:
        """G13. Whether two consumers have one instance id."""
        return any(m in each and n in each for each in self.constants.static)

    def instance_error(self, holder: MemberRecord, m: GroupHeartbeat) -> Error:
        """G13.

        Of a heartbeat under an instance id that another member has, the holder. Who has left for a
        while is replaced by who joins.
        """
        if m.epoch != JOIN_EPOCH:
            return "FENCED_INSTANCE_ID"
        return "NONE" if holder.epoch == RELEASED_EPOCH else "UNRELEASED_INSTANCE_ID"

    def member_epoch_error(self, member: MemberRecord, m: GroupHeartbeat) -> Error:
        """G12. Of a member that the group knows. Epoch 0 is always accepted (KAFKA-19233)."""
        if m.epoch == JOIN_EPOCH:
            return self.join_error(member)
        if m.epoch > member.epoch:
            return "FENCED_MEMBER_EPOCH"
        if m.epoch < member.epoch and not self.accepts_previous_epoch(member, m):
            return "FENCED_MEMBER_EPOCH"
        return "NONE"

    def bumped_epoch(self, epoch: int) -> int:
        """G14, G21."""
        return epoch + 1

    def changes_subscription(self, before: MemberRecord, after: MemberRecord) -> bool:
        """G14. A member that joins has changed its subscription, too."""
        return before.subscribed != after.subscribed

    def changes_metadata(self, group: GroupRecord, p: int) -> bool:
        """G14.

        Of a partition that comes or goes: whether somebody subscribes to its topic, so that the
        hash of the group's metadata is another one.
        """
        return any(p in member.subscribed for member in group.members)

    def needs_target(self, group: GroupRecord) -> bool:
        """G15. Without the assignment interval."""
        return group.target_epoch < group.epoch

    def is_target(self, group: GroupRecord, owner: Mapping[int, int]) -> bool:
        """G15. owner: of each partition that somebody subscribes to."""
        subscribed = [member.subscribed for member in group.members]
        asked = dict(zip(self.constants.members, subscribed, strict=True))
        owners = [*owner.values()]
        share = {n: owners.count(n) for n in asked}
        for p, n in owner.items():
            of_others = [share[k] for k, topics in asked.items() if p in topics]
            if p not in asked[n] or share[n] > min(of_others) + 1:
                return False
        return True

    def is_free(self, group: GroupRecord, member: MemberRecord, p: int) -> bool:
        """G16. Nobody holds it, or the member itself, which was to give it up."""
        return p not in group.held or p in member.pending

    def held_after(
        self, held: tuple[int, ...], before: MemberRecord, after: MemberRecord
    ) -> tuple[int, ...]:
        """G16. What is held after a member has changed."""
        return as_set(({*held} - holding(before)) | holding(after))

    def has_revoked(self, partitions: tuple[int, ...], m: GroupHeartbeat) -> bool:
        """G17. The member says what it has, and these are not among it."""
        return "Owned" in m.given and not {*m.owned} & {*partitions}

    def revocation_blocks(self, member: MemberRecord, m: GroupHeartbeat, retargeted: bool) -> bool:
        """G16.

        Whether a member has to revoke before anything else; retargeted: this heartbeat has made a
        new target.
        """
        return not self.has_revoked(member.pending, m)

    def tells_assignment(
        self, m: GroupHeartbeat, before: MemberRecord, after: MemberRecord
    ) -> bool:
        """G18."""
        return m.epoch == JOIN_EPOCH or m.given == ALL_FIELDS or after.assigned != before.assigned

    def kept_for_a_while(self, member: MemberRecord | MigratedMember) -> tuple[int, ...]:
        """G19. What is kept for a static member that has left for a while."""
        return member.assigned

    def is_revocation_late(self, member: MemberRecord) -> bool:
        """G20. Of a member whose time to revoke is over."""
        return member.state == "Unrevoked"

    # --- A broker that loads the log ---

    def is_outdated_event(self, row: GroupLoader, event: LeaderChange) -> bool:
        """G6, G7. An election or resignation that is heard of after a newer one."""
        return event.epoch <= row.epoch

    def is_loaded(self, position: int, end_offset: int) -> bool:
        """G6. A log is read to its end."""
        return position == end_offset

    def may_take(self, held_epoch: int, epoch: int) -> bool:
        """G50.

        Who still seems to have a partition was relieved of it by an entry that was cleaned away, if
        who takes it has a newer epoch, or has left for a while since he took it.
        """
        return held_epoch < epoch or epoch == RELEASED_EPOCH

    def lets_go(self, epoch: int, shared: bool) -> bool:
        """G50.

        Whether a partition is free that a member had in an epoch; shared: one that has left for a
        while seems to have it as well. All of these have one epoch, and it may be the other's by
        now.
        """
        return epoch != RELEASED_EPOCH or not shared

    def ignores_orphan(self) -> bool:
        """G50. A tombstone may be all that is left of a key."""
        return True

    def records_replacement(self) -> bool:
        """G13. The id of a static member that replaces another is for all coordinators to come."""
        return True

    def keeps_changed(self) -> bool:
        """G51.

        What an operation has changed in memory by itself stays when its records are appended, also
        where these get a batch of their own. Kafka 4.3.1 flushes the empty one before it, and so
        reverts its memory (KAFKA-20845).
        """
        return True

    # --- Members of both protocols ---

    def migrates_back(self, row: GroupMigration) -> bool:
        """G47. Whether a group goes back to the classic protocol (a setting of the broker)."""
        return row.policy == "Bidirectional"

    def downgraded_generation(self, row: GroupMigration) -> int:
        """G47.

        The generation in which a group goes back: none that a member knows, so that each joins
        again, whoever coordinates it then. Kafka takes the group epoch, and tells them from memory.
        """
        return self.bumped_epoch(row.epoch)

    def assignment_after_downgrade(self, member: MigratedMember) -> tuple[int, ...]:
        """G47.

        What is recorded as a member's own when a group goes back: what it has. Kafka records what
        was to be its own, and others may have.
        """
        return as_set(holding(member))

    def pending_after_upgrade(self, member: MigratedMember) -> tuple[int, ...]:
        """G45.

        What a classic member may have still of what it had when it joined last, as it has not heard
        perhaps that it is not its own any more. Kafka forgets it.
        """
        return as_set({*member.owned} - {*member.assigned})

    def tells_to_join(
        self, row: GroupMigration, member: MigratedMember, held: tuple[int, ...]
    ) -> bool:
        """G46.

        Whether a classic member is to join again: the group has changed, or all is free that it
        waits for; held: what others have. Kafka compares with the target's epoch, which nobody may
        make.
        """
        waits = member.assigned != member.target and not {*member.target} & {*held}
        return member.epoch < row.epoch or waits

    # --- Offsets ---

    def committable(self, position: FetchPosition) -> int:
        """G29. What a consumer commits by itself of a position."""
        return position.handed_out

    def may_hand_out(self, row: GroupOffsets, p: int) -> bool:
        """G24. Of a partition that is being given up nothing is handed out."""
        return p not in row.revoking

    def to_reset(self, row: GroupOffsets, rest: tuple[int, ...]) -> tuple[int, ...]:
        """G28. What is reset of those without a position: what was asked for, and had no offset."""
        return as_set({*row.asked} & {*rest})

    def stamped_epoch(self, row: InEpoch, request: InEpoch) -> int:
        """G29.

        Kafka stamps a commit when it is sent, also a member that was fenced since it was asked for,
        and joined again.
        """
        return request.epoch

    def is_marker_answered(self, row: GroupOffsets) -> bool:
        """G32.

        A transaction has ended when the coordinator has done what its marker says, so that the next
        one begins after that (KAFKA-17507).
        """
        return all(marker.producer != OWN for marker in row.markers)

    def of_marker(self, row: GroupOffsets, marker: TransactionMarker) -> tuple[PendingOffset, ...]:
        """G32.

        The offsets that a marker commits or drops: those of its own producer
        (OffsetMetadataManager.replayEndTransactionMarker).
        """
        return tuple([each for each in row.pending if each.producer == marker.producer])

    def is_newest(self, each: PendingOffset) -> bool:
        """G32.

        Whether a transaction's offset becomes the group's when it is committed: its record stands
        after that of the group's offset.
        """
        return not each.overtaken

    def accepts_txn_offsets(self, row: GroupOffsets, request: RequestedCommit) -> bool:
        """G30.

        Whether offsets of a transaction are accepted: they carry the epoch of their member, which
        may have been fenced since (KIP-447).
        """
        return request.epoch == row.epoch

    def is_stable_offset(self, row: GroupOffsets, p: int) -> bool:
        """G33. Whether a partition's offset may be told: no transaction is to change it."""
        return all(each.partition != p for each in row.pending)

    def expiry_base(self, row: GroupOffsets, each: CommittedOffset) -> int:
        """G35. Kafka counts from the commit in groups of the consumer protocol."""
        return max(each.time, row.since)

    def may_expire(self, row: GroupOffsets) -> bool:
        """G35. Of a group that rebalances nobody knows what it subscribes to."""
        return row.group == "Empty"

    def is_spared(self, row: GroupOffsets, p: int) -> bool:
        """G35.

        An offset is spared while a transaction has sent another one for its partition
        (OffsetMetadataManager.cleanupExpiredOffsets).
        """
        return any(each.partition == p for each in row.pending)

    def pending_after_tombstone(self, row: GroupOffsets, p: int) -> tuple[PendingOffset, ...]:
        """G36, G37.

        A tombstone of an offset removes what transactions have sent for the partition as well
        (OffsetMetadataManager.replay).
        """
        return tuple([each for each in row.pending if each.partition != p])

    def forgets_when_loaded(self) -> bool:
        """G36.

        A coordinator that has loaded its log forgets what is of topics that were deleted meanwhile.
        Kafka's does not look.
        """
        return True

    def goes_with_topic(self, each: CommittedOffset) -> bool:
        """G36.

        Whether a deletion of the partition's topic removes this offset. One that was committed to
        the new topic of that name carries another topic id (OffsetMetadataManager.onTopicsDeleted).
        """
        return not each.anew

    def is_of_topic(self, row: GroupOffsets, each: CommittedOffset) -> bool:
        """G33, G36.

        Whether an offset is returned to a member that asks for the partition by topic id: not one
        of the deleted topic of that name (OffsetMetadataManager.isMismatchedTopicId).
        """
        return each.anew or each.partition not in row.renewed

    def may_delete_group(self, row: GroupOffsets) -> bool:
        """G37. A group is deleted on request only when it is empty (validateDeleteGroup)."""
        return row.group == "Empty"

    # --- Member ---

    def report(self, row: GroupMember) -> tuple[int, ...]:
        """G23.

        What a member says it has. Kafka's says what it has acknowledged: what it is about to take
        is then free for others.
        """
        return as_set((*row.current, *row.target, *row.reconciling))

    def is_awaited(self, row: GroupMember, m: GroupHeartbeatResponse) -> bool:
        """G23. A response counts only for the request in flight."""
        return row.awaiting and m.correlation == row.correlation

    def unsent_after_failure(self, unsent: tuple[Given, ...]) -> tuple[Given, ...]:
        """G23. What the next heartbeat says after one that failed."""
        return ALL_FIELDS

    def epoch_of_leaving(self, n: int) -> int:
        """G19. With which epoch a consumer leaves: a static one for a while."""
        is_static = any(n in each for each in self.constants.static)
        return RELEASED_EPOCH if is_static else LEAVE_EPOCH

    def owned_after_fence(self, owned: tuple[int, ...]) -> tuple[int, ...]:
        """G25. What a member that was fenced may go on to fetch."""
        return ()
