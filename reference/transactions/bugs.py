"""Known bugs of transactions, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.transactions.messages import (
    AbortedTxn,
    AddPartitions,
    BumpEpoch,
    Decision,
    EndTxn,
    Isolation,
    Produce,
    Verification,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import PREPARING, TransactionRules, decided_up_to
from kraftcheck.reference.transactions.types import (
    UNKNOWN,
    Client,
    Coordinator,
    KeptOffsets,
    PartitionLeader,
    Producer,
    committed,
)


class Z61EpochNotChecked(TransactionRules):
    def add_partitions_answer(self, row: Coordinator, m: AddPartitions) -> str:
        if row.pending.state != "None" or row.txn.state in PREPARING:
            return "CONCURRENT_TRANSACTIONS"
        is_known = row.txn.state == "Ongoing" and m.partition in row.txn.partitions
        return "NONE" if is_known else "Append"

    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        if row.txn.state == "Ongoing" and row.pending.state == "None":
            return "Append"
        return self.end_txn_answer_v2(row, m)


class Z62NoVerification(TransactionRules):
    def needs_verification(self, producer: Producer, epoch: int) -> bool:
        return False


class Z63AnyGuardWillDo(TransactionRules):
    def is_guarded(self, guard: int, v: Verification) -> bool:
        return guard != UNKNOWN


class Z65CoordinatorEpochNotChecked(TransactionRules):
    def is_coordinator_fenced(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return False


class Z66UnreplicatedMarkerPassed(TransactionRules):
    def last_stable_offset(self, row: PartitionLeader) -> int:
        return min(len(committed(row).log), decided_up_to(row.log))


class Z70LeaderlessIsDeleted(TransactionRules):
    def marker_destination(self, has_leader: bool) -> str:
        return "Leader" if has_leader else "Deleted"


class Z71ActsOnUncommittedTail(TransactionRules):
    def acts_on_committed_only(self) -> bool:
        return False


class Z72AnswersWhenDeposed(TransactionRules):
    def answers_when_deposed(self) -> bool:
        return True


class Z73LateMarkerTaken(TransactionRules):
    def marker_epoch_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return m.epoch >= producer.epoch


class Z74RepeatedMarkerRefused(TransactionRules):
    def marker_repeat_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return False


class Z76NextGuardCleared(TransactionRules):
    def marker_clears_guard(self, guard: int, m: WriteTxnMarkers) -> bool:
        return True


class Z77FencedTwice(TransactionRules):
    def fenced_epoch(self, epoch: int) -> int:
        return epoch + 2


class Z78OldIdentityTold(TransactionRules):
    def end_answered_epoch(self, epoch: int) -> int:
        return epoch


class Z79EpochBeforePending(TransactionRules):
    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        retried = (m.epoch + 1, self.completed_epoch(m.epoch + 1))
        if row.txn.state in PREPARING and row.txn.epoch not in retried:
            return "PRODUCER_FENCED"
        return self.end_txn_answer_v2(row, m)


class Z80AbortIsNotTold(TransactionRules):
    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        answer = self.end_txn_answer_v2(row, m)
        retried = (m.epoch + 1, self.completed_epoch(m.epoch + 1))
        aborted = row.txn.state == "CompleteAbort" and row.txn.epoch in retried
        told = aborted and row.txn.epoch != m.epoch and answer == "PRODUCER_FENCED"
        return "INVALID_TXN_STATE" if told else answer


class Z82AbortKeepsTheEpoch(TransactionRules):
    def fenced_epoch(self, epoch: int) -> int:
        return epoch


class Z83AnsweredBeforeAll(TransactionRules):
    def marked_by(self, row: Coordinator, m: WriteTxnMarkers) -> tuple[int, ...]:
        return row.to_mark


class Z84AppliedLate(TransactionRules):
    def is_applied_at_once(self, offsets: KeptOffsets) -> bool:
        return False


class Z85CompletionMissed(TransactionRules):
    def is_completion_seen(self, row: Coordinator) -> bool:
        return len(row.txn.partitions) < 2


class Z86FailedLoadUsed(TransactionRules):
    def reads_whole_log(self) -> bool:
        return False


class Z87LateOffsetsCount(TransactionRules):
    def has_sequence(self, partition: int) -> bool:
        return partition not in self.constants.offsets


class Z89ForgottenByRecordTime(TransactionRules):
    def is_producer_expired(self, producer: Producer) -> bool:
        return not producer.open


class Z163LaterGuardCleared(TransactionRules):
    def marker_clears_guard(self, guard: int, m: WriteTxnMarkers) -> bool:
        return not (self.epoch_per_transaction and guard == m.epoch)


class Z165RefusedIsForgotten(TransactionRules):
    def retries_refused_marker(self) -> bool:
        return False


class Z166FailedStaysPending(TransactionRules):
    def is_taken_back(self, row: Coordinator) -> bool:
        return False


class Z168AbortedNotTold(TransactionRules):
    def aborted_among(
        self, aborted: tuple[AbortedTxn, ...], offset: int, end: int
    ) -> tuple[AbortedTxn, ...]:
        return ()


class Z169ReadsTheTail(TransactionRules):
    def read_up_to(self, row: PartitionLeader, isolation: Isolation) -> int:
        committed_only = isolation == "read_committed"
        return self.last_stable_offset(row) if committed_only else len(row.log)


class Z172SameProducerId(TransactionRules):
    def returned_epoch(self, epoch: int) -> int:
        return epoch // self.epochs_of_id * self.epochs_of_id


class Z173CommitsAfterAnError(TransactionRules):
    def may_commit(self, client: Client) -> bool:
        goes_on = client.status == "Abortable" and bool(client.acked)
        return super().may_commit(client) or goes_on


class Z174KeepsItsEpoch(TransactionRules):
    def bumps_epoch(self) -> bool:
        return False


class Z175ExpiresWhatIsOpen(TransactionRules):
    def may_expire(self, row: Coordinator) -> bool:
        rests = row.pending.state == "None" and row.txn.state != "Dead"
        return self.constants.ids_expire and rests


OF_MEMBERS = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")


class Z176OffsetsAreFenced(TransactionRules):
    def after_offsets_error(self, error: str) -> str:
        return "Fenced" if error in OF_MEMBERS else super().after_offsets_error(error)


class Z177RepeatedBumpRefused(TransactionRules):
    def is_repeated_bump(self, row: Coordinator, m: BumpEpoch) -> bool:
        return False


class Z200ListIsOld(TransactionRules):
    def still_listed(self, row: Coordinator) -> bool:
        return True


class Z247FirstOfNoSequence(TransactionRules):
    __slots__ = ()

    def is_in_sequence(self, producer: Producer, m: Produce) -> bool:
        return producer.sequence in (UNKNOWN, m.sequence)


class Z248HigherVerifiedFirst(TransactionRules):
    __slots__ = ()

    def waits_for_lower(self, verifying: tuple[Verification, ...], v: Verification) -> bool:
        return False


class Z249FencedPastItsId(TransactionRules):
    __slots__ = ()

    def fenced_epoch(self, epoch: int) -> int:
        return epoch + 1


class Z311ExpiredIsFenced(TransactionRules):
    __slots__ = ()

    def after_end_error(self, decision: Decision, error: str) -> str:
        if error == "INVALID_PRODUCER_ID_MAPPING":
            return "Fenced"
        return super().after_end_error(decision, error)
