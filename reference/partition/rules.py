"""Every decision of partition replication that has a name: the twin of PartitionRules.tla.

Law of this file: a rule is a pure function of its arguments and the constants; it sends nothing and
changes nothing. Each method has the name of its operator in snake case, the same parameters and the
same place in the order. A bug replaces some of them in a subclass and nothing else.

Rule ids (C1 ..., P1 ..., T1 ...) are those of docs/reference/protocol-rules.md. `n` is the broker
itself, `r` and `b` name brokers; `m` is a message; sets are sorted tuples.
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.partition.log import (
    UNDEFINED,
    EpochCache,
    EpochEnd,
    Producers,
    RecordLog,
    cache_assign,
    cache_truncate,
    duplicate_in,
    end_offset_for,
    last_epoch_of,
    producers_of,
    sequence_error,
)
from kraftcheck.reference.partition.messages import (
    NO_REQUEST,
    NOBODY,
    AlterPartitionRequest,
    HeartbeatRequest,
    Member,
    Partition,
    ProduceRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    BrokerRow,
    Contact,
    PartitionConstants,
    Registration,
)


class PartitionRules:
    """The decisions, for one set of constants."""

    __slots__ = ("brokers", "constants", "min_isr", "position")

    def __init__(self, constants: PartitionConstants) -> None:
        self.constants = constants
        self.brokers = constants.brokers
        self.min_isr = constants.effective_min_isr
        self.position = {broker: at for at, broker in enumerate(constants.brokers)}

    # --- Controller: elections, C8 to C11 ---

    def is_active(self, registration: Registration) -> bool:
        """Registered, unfenced, and not about to stop."""
        return (
            registration.epoch != UNDEFINED
            and not registration.fenced
            and not registration.stopping
        )

    def valid_leaders(
        self,
        target_isr: tuple[int, ...],
        target_elr: tuple[int, ...],
        acceptable: Collection[int],
    ) -> tuple[int, ...]:
        """C8.

        Who may lead without loss: an acceptable member of the ISR, or of the ELR when the ISR is
        empty.
        """
        return tuple(b for b in target_isr or target_elr if b in acceptable)

    def leader_choices(self, candidates: Collection[int]) -> tuple[int, ...]:
        """C9. Which of several is taken: the first in assignment order."""
        for replica in self.constants.replicas:
            if replica in candidates:
                return (replica,)
        return ()

    def preferred_replica(self) -> int:
        """C9, PREFERRED: which replica is asked first."""
        return self.constants.replicas[0]

    def preferred_choices(self, partition: Partition, valid: tuple[int, ...]) -> tuple[int, ...]:
        """C9, PREFERRED: who is chosen before the present leader."""
        preferred = self.preferred_replica()
        return (preferred,) if preferred in valid else ()

    def last_known_leader_electable(
        self,
        partition: Partition,
        target_isr: tuple[int, ...],
        target_elr: tuple[int, ...],
        acceptable: Collection[int],
    ) -> bool:
        """C9. The last known leader is elected only if it is alive (KAFKA-19522)."""
        return (
            self.constants.elr_enabled
            and not target_isr
            and not target_elr
            and partition.last_known_leader != NOBODY
            and partition.last_known_leader in acceptable
        )

    def target_elr(
        self, partition: Partition, target_isr: tuple[int, ...], unclean: Collection[int]
    ) -> tuple[int, ...]:
        """C11.

        Members that leave an ISR below min ISR stay eligible, unless they came back without proof
        of a clean stop (KAFKA-18106).
        """
        if not self.constants.elr_enabled or len(target_isr) >= self.min_isr:
            return ()
        eligible = {*partition.elr, *partition.isr}
        return tuple(sorted(eligible.difference(target_isr, unclean)))

    def isr_when_emptied(self, partition: Partition) -> tuple[int, ...]:
        """C10. Without ELR the last member stays in the ISR."""
        return () if self.constants.elr_enabled else partition.isr

    def leader_epoch_bumped(self, partition: Partition, leader: int) -> bool:
        """C1. ISR changes alone leave the leader epoch as it is (KAFKA-15021)."""
        return leader != partition.leader

    # --- Controller: registration and heartbeats, C2 to C5 ---

    def is_duplicate_registration(
        self, registration: Registration, contact: Contact, m: RegisterBrokerRequest
    ) -> bool:
        """C2. Another process with this id still has a live session."""
        return (
            registration.epoch != UNDEFINED
            and contact.live
            and registration.incarnation != m.incarnation
        )

    def is_unclean_restart(self, registration: Registration, m: RegisterBrokerRequest) -> bool:
        """C3.

        Was the previous incarnation's stop unclean (KIP-966)? Judged by the broker epoch in the
        clean-shutdown file (KAFKA-18635).
        """
        return m.previous_epoch != registration.epoch

    def is_stale_broker_epoch(self, registration: Registration, epoch: int) -> bool:
        """C4."""
        return epoch != registration.epoch

    def is_caught_up_with_registration(
        self, registration: Registration, m: HeartbeatRequest
    ) -> bool:
        """C5. Enough metadata was applied to be unfenced."""
        return m.metadata_offset > registration.record_offset

    def may_shut_down(self, contacts: tuple[Contact, ...], active: Collection[int], b: int) -> bool:
        """C5. A stopping broker may go when everyone has seen it lose its leads."""
        offset = contacts[self.position[b]].shutdown_offset
        return all(offset <= contacts[self.position[a]].metadata_offset for a in active)

    # --- Controller: when it answers, C0 ---

    def answers_before_commit(self) -> bool:
        """C0.

        Whether an answer goes out before what it was decided on is committed: never. So who was
        deposed and does not know it answers from what was committed once, and nothing more from its
        first write on.
        """
        return False

    # --- Controller: AlterPartition, C12 ---

    def leader_epoch_error(self, partition: Partition, m: AlterPartitionRequest) -> str:
        """C12.

        The epochs of an AlterPartition, in Kafka's order. Larger epochs than ours mean that we are
        the stale one (KAFKA-14154).
        """
        if m.leader_epoch > partition.leader_epoch:
            return "NOT_CONTROLLER"
        return "FENCED_LEADER_EPOCH" if m.leader_epoch < partition.leader_epoch else "NONE"

    def partition_epoch_error(self, partition: Partition, m: AlterPartitionRequest) -> str:
        """C12. The compare-and-set by partition epoch (KIP-497)."""
        if m.partition_epoch > partition.partition_epoch:
            return "NOT_CONTROLLER"
        stale = m.partition_epoch < partition.partition_epoch
        return "INVALID_UPDATE_VERSION" if stale else "NONE"

    def isr_member_active(self, registration: Registration) -> bool:
        """C12, KIP-841. A member must be active."""
        return self.is_active(registration)

    def isr_member_epoch_matches(self, registration: Registration, member: Member) -> bool:
        """C12, KIP-903. A member must be the incarnation that fetched."""
        return member.epoch in (UNDEFINED, registration.epoch)

    # --- Broker: becoming leader or follower, P1 to P3 ---

    def is_outdated_partition(self, row: BrokerRow, partition: Partition) -> bool:
        """P1."""
        return partition.partition_epoch < row.partition_epoch

    def keeps_end_offsets(self, row: BrokerRow) -> bool:
        """P2. Whether follower end offsets survive a new leader epoch: never.

        Kafka keeps them when the broker was leader before, although it may have missed another
        leader in between.
        """
        return False

    def clears_pending(self, row: BrokerRow, partition: Partition) -> bool:
        """P2.

        Metadata that says no more than an answer to AlterPartition said before leaves the next
        proposal alone: it may be on its way, and the high watermark must wait for whom it adds.
        Kafka clears it.
        """
        return partition.partition_epoch > row.partition_epoch

    def cache_on_become_leader(self, row: BrokerRow, epoch: int) -> EpochCache:
        """P2, KAFKA-7415. The cache knows an epoch even if nothing is written."""
        return cache_assign(row.epoch_cache, epoch, len(row.log))

    def end_on_become_follower(self, row: BrokerRow) -> int:
        """P3.

        Where the log of a new follower ends: nothing is cut before the leader has said where the
        logs diverge (KIP-101, KIP-279).
        """
        return len(row.log)

    def last_fetched_on_become_follower(self, row: BrokerRow, partition: Partition) -> int:
        """P3, KAFKA-7164. What a follower of a new epoch says that it fetched."""
        return last_epoch_of(row.epoch_cache)

    # --- Leader: serving a follower's fetch, P4 and P5 ---

    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        """P4, KIP-320."""
        if m.epoch < row.leader_epoch:
            return "FENCED_LEADER_EPOCH"
        if m.epoch > row.leader_epoch:
            return "UNKNOWN_LEADER_EPOCH"
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"

    def epoch_end_for(self, row: BrokerRow, m: ReplicaFetchRequest) -> EpochEnd:
        """P4, P13. Where the leader's log ends for the follower's last epoch."""
        return end_offset_for(row.epoch_cache, len(row.log), m.last_fetched_epoch)

    def fetch_offset_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        """P4."""
        if m.fetch_offset < row.log_start:
            return "OFFSET_OUT_OF_RANGE"
        if m.last_fetched_epoch == UNDEFINED:
            unknown = m.fetch_offset > len(row.log)
        else:
            unknown = self.epoch_end_for(row, m).epoch == UNDEFINED
        return "OFFSET_OUT_OF_RANGE" if unknown else "NONE"

    def is_diverging(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        """P4. A follower without any epoch is not checked: its log is empty."""
        if m.last_fetched_epoch == UNDEFINED:
            return False
        end = self.epoch_end_for(row, m)
        return end.epoch < m.last_fetched_epoch or end.end_offset < m.fetch_offset

    def may_update_fetch_state(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        """P4, KAFKA-13141. A diverging fetch tells nothing about the follower."""
        return not self.is_diverging(row, m)

    def is_stale_replica(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        """P5, KAFKA-15221."""
        return row.image.brokers[self.position[m.source]].epoch > m.broker_epoch

    # --- Leader: the ISR, P9 and P10 ---

    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        """P9, P6, KIP-841, KIP-903. May it be in the ISR, as far as the leader's metadata says?"""
        at = self.position[r]
        known = row.image.brokers[at]
        epoch = row.remotes[at].broker_epoch
        return (
            not known.fenced and not known.stopping and epoch != UNDEFINED and epoch == known.epoch
        )

    def is_in_sync(self, row: BrokerRow, r: int) -> bool:
        """P9, KAFKA-7128."""
        end = row.remotes[self.position[r]].end_offset
        return end >= row.high_watermark and end >= row.epoch_start

    def may_expand_isr(self, row: BrokerRow, r: int) -> bool:
        """P9. Whether r may be proposed as a member."""
        return (
            r not in row.isr
            and row.pending == NO_PENDING
            and self.is_isr_eligible(row, r)
            and self.is_in_sync(row, r)
        )

    def fenced_fetch_may_expand_isr(self) -> bool:
        """P9.

        Whether the offset of a fetch that is fenced is offered to the ISR all the same: never. In
        Kafka (Partition.fetchRecords) the epoch is checked and the fetch is noted in two steps, and
        what is noted later, in another leadership, is held against its high watermark.
        """
        return False

    def is_out_of_sync(self, row: BrokerRow, r: int) -> bool:
        """P10."""
        remote = row.remotes[self.position[r]]
        return not remote.caught_up and remote.end_offset != len(row.log)

    def proposed_epoch(self, n: int, row: BrokerRow, r: int) -> int:
        """P9, KIP-903, KAFKA-15221.

        The broker epochs in a proposal are those of the fetches that it was judged by.
        """
        return row.broker_epoch if r == n else row.remotes[self.position[r]].broker_epoch

    def maximal_isr(self, row: BrokerRow) -> tuple[int, ...]:
        """P6, KIP-497.

        Who must hold a record before it counts: a proposed expansion counts at once, a proposed
        shrink not before it is confirmed.
        """
        if row.pending.kind != "Expand":
            return row.isr
        return tuple(sorted({*row.isr, *(member.broker for member in row.pending.isr)}))

    def is_reverting_error(self, error: str) -> bool:
        """P11. A proposal that is refused, and that may be made anew."""
        return error in ("INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED")

    def is_final_error(self, error: str) -> bool:
        """P11. A proposal that is refused for good."""
        return error in (
            "UNKNOWN_TOPIC_OR_PARTITION",
            "UNKNOWN_TOPIC_ID",
            "FENCED_LEADER_EPOCH",
            "INVALID_UPDATE_VERSION",
            "INVALID_REQUEST",
            "NEW_LEADER_ELECTED",
        )

    def hears_deposed(self) -> bool:
        """P11.

        Whether a leader that has asked the present controller takes a deposed one for the present
        again: never. What a broker knows of the controller moves forward only, as epochs of the
        quorum do (Q4); and an answer to a request that was given up is not heard, as the connection
        was closed with it.
        """
        return False

    def may_send_alter_partition(self, row: BrokerRow) -> bool:
        """P11, KAFKA-12686.

        One AlterPartition in flight; what was refused for good waits for metadata.
        """
        return (
            row.pending != NO_PENDING
            and not row.pending.refused
            and row.alter_request == NO_REQUEST
        )

    # --- Leader: the high watermark, P6 ---

    def enough_in_sync(self, row: BrokerRow) -> bool:
        """P6, KAFKA-15583."""
        return len(row.isr) >= self.min_isr

    def high_watermark_quorum(self, row: BrokerRow) -> tuple[int, ...]:
        """P6. Whose end offsets bound the high watermark."""
        return self.maximal_isr(row)

    def is_waited_for(self, row: BrokerRow, r: int) -> bool:
        """P6, KAFKA-15021. A caught-up outsider that may join is waited for."""
        remote = row.remotes[self.position[r]]
        return (remote.caught_up or remote.end_offset == len(row.log)) and self.is_isr_eligible(
            row, r
        )

    def high_watermark_bound(self, n: int, row: BrokerRow) -> int:
        """P6. How far the high watermark may go."""
        bound = len(row.log)
        quorum = self.high_watermark_quorum(row)
        for broker, remote in zip(self.brokers, row.remotes, strict=True):
            if (
                remote.end_offset < bound
                and broker != n
                and (broker in quorum or self.is_waited_for(row, broker))
            ):
                bound = remote.end_offset
        return bound

    def advances_after_alter_partition(self) -> bool:
        """P6, KAFKA-13091. A confirmed change of the ISR is tried at once."""
        return True

    # --- Leader: deleted records, S9 ---

    def deletion_awaits(self, row: BrokerRow, r: int) -> bool:
        """S9, KIP-107.

        Whether a deletion is answered only when this replica has made it: every one that the
        leader's metadata has as unfenced.
        """
        return not row.image.brokers[self.position[r]].fenced

    def low_watermark(self, row: BrokerRow) -> int:
        """S9. Where the logs start of the leader and of all replicas that a deletion awaits."""
        return min(
            row.log_start,
            *(
                remote.log_start
                for broker, remote in zip(self.brokers, row.remotes, strict=True)
                if broker != row.leader and self.deletion_awaits(row, broker)
            ),
            len(row.log),
        )

    # --- Leader: produce and reads, P17 to P21, T1 to T3 ---

    def produce_error(self, row: BrokerRow, m: ProduceRequest) -> str:
        """P17."""
        if row.role != "Leader":
            return "NOT_LEADER_OR_FOLLOWER"
        if m.acks == -1 and len(row.isr) < self.min_isr:
            return "NOT_ENOUGH_REPLICAS"
        return sequence_error(row.producers, m)

    def duplicate_offset(self, row: BrokerRow, m: ProduceRequest) -> int:
        """T1."""
        return duplicate_in(row.producers, m)

    def batches_kept(self) -> int:
        """T1. How many batches of a producer are remembered: as many as may be in flight."""
        return 5

    def parked_error(self, row: BrokerRow) -> str:
        """P19. Enough copies, still, when the high watermark passes the record."""
        enough = len(self.maximal_isr(row)) >= self.min_isr
        return "NONE" if enough else "NOT_ENOUGH_REPLICAS_AFTER_APPEND"

    def recheck_completion(self) -> bool:
        """P19, KAFKA-6653.

        Who lets the high watermark pass a parked request looks at it, though another thread is just
        doing so: that one may have looked at the high watermark before.
        """
        return True

    def visible_end(self, row: BrokerRow) -> int:
        """P20."""
        return row.high_watermark

    def list_offsets_error(self, row: BrokerRow) -> str:
        """P21, KIP-207."""
        if row.role != "Leader":
            return "NOT_LEADER_OR_FOLLOWER"
        return "OFFSET_NOT_AVAILABLE" if row.high_watermark < row.epoch_start else "NONE"

    # --- Follower: using a fetch response, P7, P14 to P16 ---

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        """P15. The response answers what this follower would ask now."""
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.epoch == row.leader_epoch
            and m.request.fetch_offset == len(row.log)
        )

    def appendable(self, m: ReplicaFetchResponse) -> RecordLog:
        """P15, KAFKA-18723."""
        epoch = m.request.epoch
        for record in m.records:
            if record.epoch > epoch:
                return tuple(each for each in m.records if each.epoch <= epoch)
        return m.records

    def truncation_point(self, row: BrokerRow, diverging: EpochEnd) -> int:
        """P14, KIP-279. Where the follower's log is cut."""
        if diverging.epoch == UNDEFINED:
            return row.high_watermark
        end = len(row.log)
        own = end_offset_for(row.epoch_cache, end, diverging.epoch)
        if own.epoch == UNDEFINED:
            return min(diverging.end_offset, end)
        if own.epoch != diverging.epoch:
            return min(own.end_offset, end)
        return min(own.end_offset, diverging.end_offset, end)

    def cache_after_truncation(self, row: BrokerRow, offset: int) -> EpochCache:
        """KAFKA-10706. The cache is cut even if the log is not."""
        return cache_truncate(row.epoch_cache, offset)

    def follower_high_watermark(self, row: BrokerRow, high_watermark: int) -> int:
        """P7. After appending, never on a diverging response (KAFKA-14704); may go down."""
        return max(row.log_start, min(high_watermark, len(row.log)))

    def high_watermark_after_wipe(self, row: BrokerRow, start: int) -> int:
        """P16, KAFKA-9491."""
        return start

    def last_fetched_after(self, row: BrokerRow, records: RecordLog) -> int:
        """P15, KAFKA-15510. An empty response leaves it as it was."""
        return records[-1].epoch if records else row.last_fetched_epoch

    def producers_after_truncation(self, row: BrokerRow, log: RecordLog) -> Producers:
        """P14, P23. Producer state follows the log that is left."""
        return producers_of(log, self.batches_kept())

    # --- Broker: life, crash and recovery, P22 to P24, C2 ---

    def registration_accepted(self, row: BrokerRow, m: RegisterBrokerResponse) -> bool:
        """C2. An answer counts if it is to the request in flight (Q22), so to this incarnation."""
        return row.controller_request == m.request

    def acts_on_metadata(self, row: BrokerRow) -> bool:
        """Say whether a broker acts on what it leads or follows.

        Start-up gate: it does only when the controller has said that it has applied its own
        registration.
        """
        return row.status != "Starting"

    def recovered_end(self, row: BrokerRow) -> int:
        """P23. Recovery cuts at the first bad batch."""
        return len(row.log) if row.corrupt == UNDEFINED else row.corrupt

    def recovered_epoch_cache(self, row: BrokerRow, end: int) -> EpochCache:
        """S6. The epoch cache after a restart: entries past the end are dropped."""
        return cache_truncate(row.epoch_cache, end)

    def recovered_high_watermark(self, row: BrokerRow, end: int) -> int:
        """P23. The checkpoint may be older than the log, and the log shorter."""
        return max(row.log_start, min(row.checkpoint, end))
