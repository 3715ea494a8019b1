"""The offsets of a group, and who commits them: the twin of GroupOffsets.tla.

Law of this file: a handler is a pure function of the row and the input.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    OFFSETS_INPUTS,
    AskCommit,
    AskOffsets,
    AutoCommit,
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
            by[position.partition] = CommittedOffset(position.partition, offset, row.now)
        return replace(row, committed=tuple(sorted(by.values())))

    # --- The consumer: partitions ---

    def handle_take_partition(self, row: GroupOffsets, input: TakePartition) -> Outcome | None:
        if row.group != "Stable" or input.partition in row.taken:
            return None
        return Outcome(replace(row, taken=as_set((*row.taken, input.partition))))

    def handle_start_revocation(self, row: GroupOffsets, input: StartRevocation) -> Outcome | None:
        """G24. What was handed out is committed, then callbacks run; a commit that is asked for
        comes first.
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
        found = [e for e in row.committed if e.partition in of]
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
        return None if after == row or row.pending else Outcome(after)

    # --- G25, G29, G30: commits that the application asks for, and fences ---

    def handle_ask_commit(self, row: GroupOffsets, input: AskCommit) -> Outcome | None:
        position = position_of(row, input.partition)
        is_busy = row.requested or row.pending
        if position is None or input.partition in row.revoking or is_busy:
            return None
        request = RequestedCommit(input.partition, position.handed_out, row.epoch)
        return Outcome(replace(row, requested=(request,)))

    def handle_send_commit(self, row: GroupOffsets, input: SendCommit) -> Outcome | None:
        """The coordinator accepts what has the epoch that it knows."""
        if not row.requested:
            return None
        request, done = row.requested[0], replace(row, requested=())
        if self.rules.stamped_epoch(row, request) != row.epoch:
            return Outcome(done)
        new = CommittedOffset(request.partition, request.offset, row.now)
        return Outcome(_with_offset(done, new))

    def handle_fence_consumer(self, row: GroupOffsets, input: FenceConsumer) -> Outcome | None:
        if not row.taken:
            return None
        left = replace(row, taken=(), positions=(), update="None", asked=(), revoking=())
        return Outcome(replace(left, epoch=row.epoch + 1))

    def handle_others_commit(self, row: GroupOffsets, input: OthersCommit) -> Outcome | None:
        """Another member goes on from there."""
        p = input.partition
        each = next((each for each in row.committed if each.partition == p), None)
        if each is None or p in row.taken or row.group != "Stable":
            return None
        if any(each.partition == p for each in row.pending):
            return None
        return Outcome(_with_offset(row, CommittedOffset(p, each.offset + 1, row.now)))

    # --- G32: offsets in a transaction ---

    def handle_send_txn_offsets(self, row: GroupOffsets, input: SendTxnOffsets) -> Outcome | None:
        p, position = input.partition, position_of(row, input.partition)
        if position is None or p in row.revoking or row.requested:
            return None
        if not row.open and not self.rules.is_marker_answered(row):
            return None
        transaction = row.transaction if row.open else row.transaction + 1
        others = [each for each in row.pending if each.partition != p]
        new = PendingOffset(p, position.handed_out, transaction)
        pending = tuple(sorted((*others, new)))
        return Outcome(replace(row, transaction=transaction, open=True, pending=pending))

    def handle_end_transaction(self, row: GroupOffsets, input: EndTransaction) -> Outcome | None:
        if not row.open:
            return None
        marker = TransactionMarker(row.transaction, input.commits)
        return Outcome(replace(row, open=False, markers=tuple(sorted({*row.markers, marker}))))

    def handle_materialise_marker(
        self, row: GroupOffsets, input: MaterialiseMarker
    ) -> Outcome | None:
        """It does so with all that the producer has sent."""
        if input.marker not in row.markers:
            return None
        markers = tuple([each for each in row.markers if each != input.marker])
        done = replace(row, markers=markers, pending=())
        if input.marker.commits:
            for each in row.pending:
                new = CommittedOffset(each.partition, each.offset, row.now)
                done = _with_offset(done, new)
        return Outcome(done)

    # --- G35: the group and time ---

    def handle_group_change(self, row: GroupOffsets, input: GroupChange) -> Outcome | None:
        """It is empty only when the consumer has gone."""
        too_soon = (input.group == "Empty" and row.taken) or (
            input.group == "Stable" and row.group == "Empty"
        )
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
            if not rules.may_expire(row) or row.now - rules.expiry_base(row, each) < RETENTION
        ]
        if len(kept) == len(row.committed):
            return None
        return Outcome(replace(row, committed=tuple(kept)))

    # --- G36: topics that are deleted, and made anew with the same name ---

    def handle_forget_topic(self, row: GroupOffsets, input: ForgetTopic) -> Outcome | None:
        """Who has the partition hears of it at once, and has no position then."""
        p = input.partition
        if p in row.deleted:
            return None
        gone = replace(
            row,
            deleted=as_set((*row.deleted, p)),
            positions=tuple([each for each in row.positions if each.partition != p]),
            requested=tuple([each for each in row.requested if each.partition != p]),
        )
        if not input.coordinated and not self.rules.forgets_when_loaded():
            return Outcome(gone)
        pending = self.rules.pending_after_deletion(row, p)
        committed = tuple([each for each in row.committed if each.partition != p])
        return Outcome(replace(gone, pending=pending, committed=committed))
