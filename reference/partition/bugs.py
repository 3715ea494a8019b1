"""Known bugs of a partition, by the numbers of bugs.toml."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.log import (
    NO_DIVERGENCE,
    UNDEFINED,
    EpochCache,
    EpochEnd,
    Producers,
    RecordLog,
)
from kraftcheck.reference.partition.messages import (
    AlterPartitionRequest,
    Member,
    Partition,
    ProduceRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import NO_PENDING, BrokerOutcome, BrokerRow, Registration


class Z22AnswersBeforeCommit(PartitionRules):
    def answers_before_commit(self) -> bool:
        return True


class Z23TruncateToHighWatermark(PartitionRules):
    def end_on_become_follower(self, row: BrokerRow) -> int:
        return min(row.high_watermark, len(row.log))

    def is_diverging(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        return False


class Z25EndOffsetWithoutEpoch(PartitionRules):
    def epoch_end_for(self, row: BrokerRow, m: ReplicaFetchRequest) -> EpochEnd:
        end = super().epoch_end_for(row, m)
        return end if end.epoch == UNDEFINED else EpochEnd(m.last_fetched_epoch, end.end_offset)

    def truncation_point(self, row: BrokerRow, diverging: EpochEnd) -> int:
        return min(diverging.end_offset, len(row.log))


class Z26NoFencing(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"

    def is_diverging(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        known = m.last_fetched_epoch != UNDEFINED
        return known and self.epoch_end_for(row, m).epoch < m.last_fetched_epoch

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
        )


class Z27FencedByLastEpochOnly(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"


class Z28JoinsBeforeEpochStart(PartitionRules):
    def is_in_sync(self, row: BrokerRow, r: int) -> bool:
        return row.remotes[self.position[r]].end_offset >= row.high_watermark


class Z29CountsDivergingFetch(PartitionRules):
    def may_update_fetch_state(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        return True


class Z30UnfencedTruncation(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        if row.role == "Leader" and self.is_diverging(row, m):
            return "NONE"
        return super().fetch_epoch_error(row, m)

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
            and (m.diverging != NO_DIVERGENCE or m.request.epoch == row.leader_epoch)
        )


class Z31SameLeaderNotAsked(PartitionRules):
    def last_fetched_on_become_follower(self, row: BrokerRow, partition: Partition) -> int:
        if row.image.partition.leader == partition.leader:
            return UNDEFINED
        return super().last_fetched_on_become_follower(row, partition)


class Z32EpochStartNotRecorded(PartitionRules):
    def cache_on_become_leader(self, row: BrokerRow, epoch: int) -> EpochCache:
        return row.epoch_cache


class Z33CommittedIsrOnly(PartitionRules):
    def high_watermark_quorum(self, row: BrokerRow) -> tuple[int, ...]:
        return row.isr


class Z34EagerShrink(PartitionRules):
    def maximal_isr(self, row: BrokerRow) -> tuple[int, ...]:
        if row.pending == NO_PENDING:
            return row.isr
        return tuple(member.broker for member in row.pending.isr)


class Z35NoCompareAndSet(PartitionRules):
    def partition_epoch_error(self, partition: Partition, m: AlterPartitionRequest) -> str:
        return "NONE"


class Z36SeveralInFlight(PartitionRules):
    def may_send_alter_partition(self, row: BrokerRow) -> bool:
        return row.pending != NO_PENDING and not row.pending.refused


class Z37InactiveMayJoin(PartitionRules):
    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        return row.remotes[self.position[r]].broker_epoch != UNDEFINED

    def isr_member_active(self, registration: Registration) -> bool:
        return True


class Z38BrokerEpochNotChecked(PartitionRules):
    def isr_member_epoch_matches(self, registration: Registration, member: Member) -> bool:
        return True


class Z39ProposesTheNewEpoch(BrokerHandlers):
    """The request is written by what metadata says now, and not by what was proposed."""

    def alter_partition_request(self, n: int, row: BrokerRow) -> AlterPartitionRequest:
        known = row.image.brokers
        isr = tuple(
            Member(member.broker, known[self.position[member.broker]].epoch)
            for member in row.pending.isr
        )
        return replace(super().alter_partition_request(n, row), isr=isr)


class Z41AdvancesBelowMinIsr(PartitionRules):
    def enough_in_sync(self, row: BrokerRow) -> bool:
        return True


class Z42UncleanStaysEligible(PartitionRules):
    def target_elr(
        self, partition: Partition, target_isr: tuple[int, ...], unclean: Collection[int]
    ) -> tuple[int, ...]:
        return super().target_elr(partition, target_isr, ())


class Z43DeadLastLeaderElected(PartitionRules):
    def last_known_leader_electable(
        self,
        partition: Partition,
        target_isr: tuple[int, ...],
        target_elr: tuple[int, ...],
        acceptable: Collection[int],
    ) -> bool:
        return super().last_known_leader_electable(
            partition, target_isr, target_elr, (partition.last_known_leader,)
        )


class Z44HighWatermarkFirst(BrokerHandlers):
    """The handler in two halves: the first lifts the high watermark and leaves the rest."""

    def handle_replica_fetch_response(
        self, n: int, row: BrokerRow, m: ReplicaFetchResponse
    ) -> BrokerOutcome:
        if (
            m.request in row.fetching
            and self.rules.response_matches(row, m)
            and m.error == "NONE"
            and m.diverging != NO_DIVERGENCE
        ):
            high_watermark = self.rules.follower_high_watermark(row, m.high_watermark)
            if high_watermark != row.high_watermark:
                return BrokerOutcome(replace(row, high_watermark=high_watermark), (), "")
        return super().handle_replica_fetch_response(n, row, m)


class Z45LastEpochLost(PartitionRules):
    def last_fetched_after(self, row: BrokerRow, records: RecordLog) -> int:
        return records[-1].epoch if records else UNDEFINED


class Z46ResponseOutlivesEpoch(PartitionRules):
    def appendable(self, m: ReplicaFetchResponse) -> RecordLog:
        return m.records

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
        )


class Z48OffsetsGoBack(PartitionRules):
    def list_offsets_error(self, row: BrokerRow) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"


class Z49HighWatermarkBelowStart(PartitionRules):
    def high_watermark_after_wipe(self, row: BrokerRow, start: int) -> int:
        return row.high_watermark


class Z50NoCheckAfterAppend(PartitionRules):
    def enough_in_sync(self, row: BrokerRow) -> bool:
        return True

    def parked_error(self, row: BrokerRow) -> str:
        return "NONE"


class Z51NotTriedAfterAlter(PartitionRules):
    def advances_after_alter_partition(self) -> bool:
        return False


class Z52WaitsForIneligible(PartitionRules):
    def is_waited_for(self, row: BrokerRow, r: int) -> bool:
        remote = row.remotes[self.position[r]]
        return remote.caught_up or remote.end_offset == len(row.log)


class Z55RecoverySkipsBadBatch(PartitionRules):
    def recovered_end(self, row: BrokerRow) -> int:
        return len(row.log)


class Z56IncarnationNotChecked(PartitionRules):
    def registration_accepted(self, row: BrokerRow, m: RegisterBrokerResponse) -> bool:
        return isinstance(row.controller_request, RegisterBrokerRequest)


class Z58NoDeduplication(PartitionRules):
    def produce_error(self, row: BrokerRow, m: ProduceRequest) -> str:
        error = super().produce_error(row, m)
        known = ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS")
        return error if error in known else "NONE"

    def duplicate_offset(self, row: BrokerRow, m: ProduceRequest) -> int:
        return UNDEFINED


class Z59OneBatchKept(PartitionRules):
    def batches_kept(self) -> int:
        return 1


class Z60ProducerStateKept(PartitionRules):
    def producers_after_truncation(self, row: BrokerRow, log: RecordLog) -> Producers:
        return row.producers


class Z67KeepsEndOffsets(PartitionRules):
    def keeps_end_offsets(self, row: BrokerRow) -> bool:
        return row.role == "Leader"


class Z69MetadataClearsProposal(PartitionRules):
    def clears_pending(self, row: BrokerRow, partition: Partition) -> bool:
        return True


class Z155NobodyLooksAgain(PartitionRules):
    def recheck_completion(self) -> bool:
        return False


class Z170FencedFetchExpandsIsr(PartitionRules):
    def fenced_fetch_may_expand_isr(self) -> bool:
        return True


class Z194HearsDeposed(PartitionRules):
    def hears_deposed(self) -> bool:
        return True


class Z308DeletionToldEarly(PartitionRules):
    def deletion_awaits(self, row: BrokerRow, r: int) -> bool:
        return False


class Z309RenumbersBatches(ProducerRules):
    def renumbers(self, batch_epoch: int, epoch: int) -> bool:
        return batch_epoch != epoch


class Z310KeepsSequence(ProducerRules):
    def first_sequence(self, next_sequence: int) -> int:
        return next_sequence
