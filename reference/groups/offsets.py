"""The offsets of a group, and who commits them: the twin of GroupOffsets.tla.

Law of this file: a handler is a pure function of the row and the input.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    OF_OTHERS,
    OFFSETS_INPUTS,
    OWN,
    AlterOffset,
    AskCommit,
    AskOffsets,
    AskTxnOffsets,
    AutoCommit,
    DeleteGroup,
    EndTransaction,
    ExpireOffsets,
    FenceConsumer,
    FetchRecord,
    FinishRevocation,
    ForgetTopic,
    GroupChange,
    HandOut,
    HearOffsets,
    MaterialiseMarker,
    OthersCommit,
    OthersSend,
    RenewTopic,
    ResetRest,
    SendCommit,
    SendTxnOffsets,
    StartRevocation,
    TakePartition,
    TimePasses,
    TransactionMarker,
)
from kraftcheck.reference.groups.rules import RETENTION, GroupRules, as_set
from kraftcheck.reference.groups.types import (
    CommittedOffset,
    FetchPosition,
    GroupOffsets,
    PendingOffset,
    RequestedCommit,
)
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome


def without_position(row: GroupOffsets) -> tuple[int, ...]:
    """What is being given up needs none."""
    there = {each.partition for each in row.positions}
    return tuple([p for p in row.taken if p not in there and p not in row.revoking])


def position_of(row: GroupOffsets, p: int) -> FetchPosition | None:
    return next((each for each in row.positions if each.partition == p), None)


def _with_positions(row: GroupOffsets, new: Iterable[FetchPosition]) -> GroupOffsets:
    """In the place of those that the partitions had."""
    by = {each.partition: each for each in (*row.positions, *new)}
    return replace(row, positions=tuple(sorted(by.values())))


def _with_offset(row: GroupOffsets, new: CommittedOffset) -> GroupOffsets:
    others = [each for each in row.committed if each.partition != new.partition]
    return replace(row, committed=tuple(sorted((*others, new))))


def _stored(row: GroupOffsets, p: int, offset: int) -> GroupOffsets:
    """A commit that stands after all that transactions have sent."""
    new = CommittedOffset(p, offset, row.now, anew=p in row.renewed)
    pending = [replace(e, overtaken=e.overtaken or e.partition == p) for e in row.pending]
    return _with_offset(replace(row, pending=tuple(sorted(pending))), new)


def _without_offsets(row: GroupOffsets, p: int) -> tuple[CommittedOffset, ...]:
    return tuple([each for each in row.committed if each.partition != p])


def _without_positions(row: GroupOffsets, p: int) -> GroupOffsets:
    return replace(
        row,
        positions=tuple([each for each in row.positions if each.partition != p]),
        requested=tuple([each for each in row.requested if each.partition != p]),
    )


def is_pending(row: GroupOffsets, p: int) -> bool:
    """Whether a transaction has sent an offset of the partition."""
    return any(each.partition == p for each in row.pending)


def farthest(row: GroupOffsets, p: int) -> int:
    """The largest offset that was committed, or sent; or 0."""
    committed = [each.offset for each in row.committed if each.partition == p]
    return max([0, *committed, *[e.offset for e in row.pending if e.partition == p]])


def is_transactional(row: GroupOffsets) -> bool:
    """Whether the consumer's own transaction has sent offsets, or is about to."""
    sent = any(each.producer == OWN for each in row.pending)
    return sent or any(each.sends for each in row.requested)


def is_open(row: GroupOffsets, producer: int) -> bool:
    """Whether a producer has a transaction to end; what is sent is answered before."""
    if producer == OWN:
        return row.open and not any(each.sends for each in row.requested)
    has_sent = any(each.producer == producer for each in row.pending)
    return has_sent and all(marker.producer != producer for marker in row.markers)


def _sent(row: GroupOffsets, p: int, offset: int, producer: int, transaction: int) -> GroupOffsets:
    others = [each for each in row.pending if each.partition != p]
    new = PendingOffset(p, offset, transaction, producer)
    return replace(row, pending=tuple(sorted((*others, new))))


def _sent_by_own(row: GroupOffsets, p: int, offset: int) -> GroupOffsets:
    transaction = row.transaction if row.open else row.transaction + 1
    sent = _sent(row, p, offset, OWN, transaction)
    return replace(sent, transaction=transaction, open=True)


class OffsetsHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules
        self._handlers = handlers_of(self, OFFSETS_INPUTS)

    def step(self, row: GroupOffsets, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    def _committing(self, row: GroupOffsets, some: Iterable[FetchPosition]) -> GroupOffsets:
        by = {each.partition: each for each in row.committed}
        for position in some:
            offset = self.rules.committable(position)
            p = position.partition
            by[p] = CommittedOffset(p, offset, row.now, anew=p in row.renewed)
        return replace(row, committed=tuple(sorted(by.values())))

    # --- The consumer: partitions ---

    def handle_take_partition(self, row: GroupOffsets, input: TakePartition) -> Outcome | None:
        if row.group != "Stable" or input.partition in row.taken:
            return None
        return Outcome(replace(row, taken=as_set((*row.taken, input.partition))))

    def handle_start_revocation(self, row: GroupOffsets, input: StartRevocation) -> Outcome | None:
        """G24.

        What was handed out is committed, then callbacks run; a commit that is asked for comes
        first.
        """
        p = input.partition
        asked = {each.partition for each in row.requested} | {e.partition for e in row.pending}
        if p not in row.taken or p in row.revoking or p in asked:
            return None
        committed = self._committing(row, [e for e in row.positions if e.partition == p])
        return Outcome(replace(committed, revoking=as_set((*row.revoking, p))))

    def handle_finish_revocation(
        self, row: GroupOffsets, input: FinishRevocation
    ) -> Outcome | None:
        p = input.partition
        if p not in row.revoking:
            return None
        return Outcome(
            replace(
                row,
                revoking=as_set({*row.revoking} - {p}),
                taken=as_set({*row.taken} - {p}),
                asked=as_set({*row.asked} - {p}),
                epoch=row.epoch + 1,
                positions=tuple([each for each in row.positions if each.partition != p]),
            )
        )

    # --- G28: positions ---

    def handle_ask_offsets(self, row: GroupOffsets, input: AskOffsets) -> Outcome | None:
        rest = without_position(row)
        if row.update != "None" or not rest:
            return None
        return Outcome(replace(row, update="Asked", asked=rest))

    def handle_hear_offsets(self, row: GroupOffsets, input: HearOffsets) -> Outcome | None:
        if row.update != "Asked":
            return None
        if not all(self.rules.is_stable_offset(row, p) for p in row.asked):
            return None
        of = {*row.asked} - {*row.revoking}
        found = [e for e in row.committed if e.partition in of and self.rules.is_of_topic(row, e)]
        new = [FetchPosition(each.partition, each.offset, each.offset) for each in found]
        return Outcome(_with_positions(replace(row, update="Heard"), new))

    def handle_reset_rest(self, row: GroupOffsets, input: ResetRest) -> Outcome | None:
        if row.update != "Heard":
            return None
        new = [FetchPosition(p, 0, 0) for p in self.rules.to_reset(row, without_position(row))]
        return Outcome(_with_positions(replace(row, update="None", asked=()), new))

    # --- Records ---

    def handle_fetch_record(self, row: GroupOffsets, input: FetchRecord) -> Outcome | None:
        position = position_of(row, input.partition)
        if position is None or input.partition in row.revoking:
            return None
        return Outcome(_with_positions(row, [replace(position, fetched=position.fetched + 1)]))

    def handle_hand_out(self, row: GroupOffsets, input: HandOut) -> Outcome | None:
        position = position_of(row, input.partition)
        if position is None or position.fetched == position.handed_out:
            return None
        if not self.rules.may_hand_out(row, input.partition):
            return None
        return Outcome(_with_positions(row, [replace(position, handed_out=position.fetched)]))

    def handle_auto_commit(self, row: GroupOffsets, input: AutoCommit) -> Outcome | None:
        """G29. Of what is being given up the commit is done."""
        some = [each for each in row.positions if each.partition not in row.revoking]
        after = self._committing(row, some)
        return None if after == row or is_transactional(row) else Outcome(after)

    # --- G25, G29, G30: commits that the application asks for, and fences ---

    def handle_ask_commit(self, row: GroupOffsets, input: AskCommit) -> Outcome | None:
        return None if is_transactional(row) else self._requesting(row, input.partition, False)

    def handle_ask_txn_offsets(self, row: GroupOffsets, input: AskTxnOffsets) -> Outcome | None:
        """G32.

        The application sends an offset in its transaction, with what it knows of its membership at
        that moment.
        """
        return self._requesting(row, input.partition, True) if self._may_begin(row) else None

    def _requesting(self, row: GroupOffsets, p: int, sends: bool) -> Outcome | None:
        position = position_of(row, p)
        if position is None or p in row.revoking or row.requested:
            return None
        request = RequestedCommit(p, position.handed_out, row.epoch, sends)
        return Outcome(replace(row, requested=(request,)))

    def _may_begin(self, row: GroupOffsets) -> bool:
        return row.open or self.rules.is_marker_answered(row)

    def handle_send_commit(self, row: GroupOffsets, input: SendCommit) -> Outcome | None:
        """The coordinator accepts what has the epoch that it knows."""
        if not row.requested:
            return None
        request, done = row.requested[0], replace(row, requested=())
        if request.sends:
            accepted = self.rules.accepts_txn_offsets(row, request)
            sent = _sent_by_own(done, request.partition, request.offset)
            return Outcome(sent if accepted else done)
        if self.rules.stamped_epoch(row, request) != row.epoch:
            return Outcome(done)
        return Outcome(_stored(done, request.partition, request.offset))

    def handle_fence_consumer(self, row: GroupOffsets, input: FenceConsumer) -> Outcome | None:
        if not row.taken:
            return None
        left = replace(row, taken=(), positions=(), update="None", asked=(), revoking=())
        return Outcome(replace(left, epoch=row.epoch + 1))

    def handle_others_commit(self, row: GroupOffsets, input: OthersCommit) -> Outcome | None:
        """Another member goes on from there."""
        p = input.partition
        is_known = any(each.partition == p for each in row.committed)
        if not is_known or p in row.taken or row.group != "Stable":
            return None
        if is_pending(row, p) or p in row.renewed:
            return None
        return Outcome(_stored(row, p, farthest(row, p) + 1))

    def handle_alter_offset(self, row: GroupOffsets, input: AlterOffset) -> Outcome | None:
        """An administrator commits while nobody is a member, and waits for no transaction."""
        p = input.partition
        if row.group != "Empty" or p in row.renewed:
            return None
        return Outcome(_stored(row, p, farthest(row, p) + 1))

    # --- G32: offsets in a transaction ---

    def handle_send_txn_offsets(self, row: GroupOffsets, input: SendTxnOffsets) -> Outcome | None:
        p, position = input.partition, position_of(row, input.partition)
        if position is None or p in row.revoking or row.requested:
            return None
        if not self._may_begin(row):
            return None
        return Outcome(_sent_by_own(row, p, position.handed_out))

    def handle_others_send(self, row: GroupOffsets, input: OthersSend) -> Outcome | None:
        """Another member sends an offset in a transaction of its own.

        It has the partition. Its next transaction begins after the marker.
        """
        p = input.partition
        if p in row.taken or row.group != "Stable" or is_pending(row, p) or p in row.renewed:
            return None
        if any(marker.producer == OF_OTHERS for marker in row.markers):
            return None
        return Outcome(_sent(row, p, farthest(row, p) + 1, OF_OTHERS, 1))

    def handle_end_transaction(self, row: GroupOffsets, input: EndTransaction) -> Outcome | None:
        if not is_open(row, input.producer):
            return None
        is_own = input.producer == OWN
        transaction = row.transaction if is_own else 1
        marker = TransactionMarker(transaction, input.commits, input.producer)
        markers = tuple(sorted({*row.markers, marker}))
        return Outcome(replace(row, open=row.open and not is_own, markers=markers))

    def handle_materialise_marker(
        self, row: GroupOffsets, input: MaterialiseMarker
    ) -> Outcome | None:
        """It does so with all that the producer has sent."""
        if input.marker not in row.markers:
            return None
        markers = tuple([each for each in row.markers if each != input.marker])
        some = self.rules.of_marker(row, input.marker)
        pending = tuple([each for each in row.pending if each not in some])
        done = replace(row, markers=markers, pending=pending)
        for each in some if input.marker.commits else ():
            if self.rules.is_newest(each):
                new = CommittedOffset(each.partition, each.offset, row.now)
                done = _with_offset(done, new)
        return Outcome(done)

    # --- G35: the group and time ---

    def handle_group_change(self, row: GroupOffsets, input: GroupChange) -> Outcome | None:
        """It is empty only when the consumer has gone."""
        too_soon = (input.group == "Empty" and row.taken) or (
            input.group == "Stable" and row.group in ("Empty", "Dead")
        )
        too_soon = too_soon or (input.group == "Empty" and row.group == "Dead")
        if input.group == row.group or too_soon:
            return None
        return Outcome(replace(row, group=input.group, since=row.now))

    def handle_time_passes(self, row: GroupOffsets, input: TimePasses) -> Outcome:
        return Outcome(replace(row, now=row.now + 1))

    def handle_expire_offsets(self, row: GroupOffsets, input: ExpireOffsets) -> Outcome | None:
        rules = self.rules
        kept = [
            each
            for each in row.committed
            if not rules.may_expire(row)
            or row.now - rules.expiry_base(row, each) < RETENTION
            or rules.is_spared(row, each.partition)
        ]
        expired = [each for each in row.committed if each not in kept]
        for each in expired:
            row = self._with_tombstone(row, each.partition)
        return Outcome(row) if expired else None

    def _with_tombstone(self, row: GroupOffsets, p: int) -> GroupOffsets:
        """A record removes the offset of a partition."""
        pending = self.rules.pending_after_tombstone(row, p)
        return replace(row, committed=_without_offsets(row, p), pending=pending)

    # --- G37: groups that are deleted ---

    def handle_delete_group(self, row: GroupOffsets, input: DeleteGroup) -> Outcome | None:
        """What transactions have sent goes with the group."""
        if row.group == "Dead" or not self.rules.may_delete_group(row):
            return None
        return Outcome(replace(row, group="Dead", since=row.now, committed=(), pending=()))

    # --- G36: topics that are deleted, and made anew with the same name ---

    def handle_forget_topic(self, row: GroupOffsets, input: ForgetTopic) -> Outcome | None:
        """Who has the partition hears of it at once, and has no position then."""
        p = input.partition
        if p in row.deleted:
            return None
        gone = replace(
            row if p in row.renewed else _without_positions(row, p),
            deleted=as_set((*row.deleted, p)),
            renewed=as_set({*row.renewed} - {p}),
            committed=tuple([replace(e, anew=e.anew and e.partition != p) for e in row.committed]),
        )
        if not input.coordinated and not self.rules.forgets_when_loaded():
            return Outcome(gone)
        stays = any(
            each.partition == p and not self.rules.goes_with_topic(each) for each in row.committed
        )
        committed = gone.committed if stays else _without_offsets(gone, p)
        pending = self.rules.pending_after_tombstone(row, p)
        return Outcome(replace(gone, pending=pending, committed=committed))

    def handle_renew_topic(self, row: GroupOffsets, input: RenewTopic) -> Outcome | None:
        """The coordinator hears of it later: members commit to the new one before."""
        p = input.partition
        if p in row.deleted or p in row.renewed:
            return None
        return Outcome(replace(_without_positions(row, p), renewed=as_set((*row.renewed, p))))
