"""The data of a partition: the twin of specs/partition/HighWatermark.tla.

Law of this file: produce, replication by fetch with divergence and truncation, the leader's and the
follower's high watermark, reads (KIP-101, KIP-207, KIP-279, KIP-320, KIP-595; Kafka's Partition,
UnifiedLog and AbstractFetcherThread).

Left out: fetches do not wait for data (replica.fetch.wait.max.ms = 0), transactions, compaction.
The end and start that a follower whose fetch is out of range asks for (ListOffsets) come with the
error itself.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.partition.isr import IsrMembershipSteps
from kraftcheck.reference.partition.log import (
    NO_DIVERGENCE,
    UNDEFINED,
    EpochEnd,
    Record,
    RecordLog,
    batches_from,
    cache_append,
    cache_trimmed,
    empty_log_at,
    last_epoch_of,
    producers_after_append,
    producers_from,
    trimmed,
)
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    NOBODY,
    BrokerFlush,
    CheckpointHighWatermark,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceTimeout,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    SendReplicaFetch,
)
from kraftcheck.reference.partition.row import parked_with
from kraftcheck.reference.partition.types import BrokerOutcome, BrokerRow, Parked, Remote, is_up


class HighWatermarkSteps(IsrMembershipSteps):
    """The handlers of the data."""

    # --- Produce: P17 to P19.

    def records_of(self, row: BrokerRow, m: ProduceRequest) -> RecordLog:
        epoch, producer, producer_epoch = row.leader_epoch, m.producer, m.producer_epoch
        if producer == UNDEFINED:
            return tuple(
                Record(epoch, value, producer, producer_epoch, UNDEFINED, UNDEFINED, UNDEFINED)
                for value in m.values
            )
        first, last = m.sequence, m.sequence + len(m.values) - 1
        return tuple(
            Record(epoch, value, producer, producer_epoch, sequence, first, last)
            for sequence, value in enumerate(m.values, first)
        )

    def appended_as_leader(self, row: BrokerRow, m: ProduceRequest) -> BrokerRow:
        offset = len(row.log)
        records = self.records_of(row, m)
        return replace(
            row,
            log=row.log + records,
            epoch_cache=cache_append(row.epoch_cache, offset, records),
            producers=producers_after_append(
                *(row.producers, m.producer, m.producer_epoch, m.sequence),
                *(len(m.values), offset, self.rules.batches_kept()),
            ),
        )

    def answer_produce(
        self, n: int, row: BrokerRow, m: ProduceRequest, offset: int
    ) -> BrokerOutcome:
        """P18.

        The answer that the producer asked for: none, at once, or when all in-sync replicas hold the
        records.
        """
        if m.acks == 0:
            return self.advance_and_finish(n, row)
        if m.acks == 1:
            return self.advance_and_finish(n, row, self.produce_response(n, m, "NONE", offset))
        waiting = Parked(m, offset, offset + len(m.values))
        return self.advance_and_finish(n, replace(row, parked=parked_with(row.parked, waiting)))

    def handle_produce_request(self, n: int, row: BrokerRow, m: ProduceRequest) -> BrokerOutcome:
        error = self.rules.produce_error(row, m)
        if row.role == "Leader" and error in ("NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER"):
            duplicate = self.rules.duplicate_offset(row, m)
            if duplicate != UNDEFINED:
                return self.answer_produce(n, row, m, duplicate)
        if error == "NONE":
            return self.answer_produce(n, self.appended_as_leader(row, m), m, len(row.log))
        if m.acks == 0:
            return self.ignore(row, error)
        return BrokerOutcome(row, (self.produce_response(n, m, error, UNDEFINED),), "")

    def handle_produce_timeout(
        self, n: int, row: BrokerRow, input: ProduceTimeout
    ) -> BrokerOutcome | None:
        """P19. request.timeout.ms has passed; what was asked for may be done later."""
        waiting = [p for p in row.parked if p.request == input.request]
        if not waiting:
            return None
        left = tuple(p for p in row.parked if p.request != input.request)
        told = canonical(self.parked_response(n, p, "REQUEST_TIMED_OUT") for p in waiting)
        return BrokerOutcome(replace(row, parked=left), told, "")

    # --- Replication, the leader: P4, P5.

    def replica_fetch_response(
        self,
        n: int,
        row: BrokerRow,
        m: ReplicaFetchRequest,
        error: str,
        records: RecordLog,
        diverging: EpochEnd,
    ) -> ReplicaFetchResponse:
        return ReplicaFetchResponse(
            source=n,
            destination=m.source,
            request=m,
            error=error,
            records=records,
            diverging=diverging,
            high_watermark=row.high_watermark,
            log_start=row.log_start,
            end_offset=len(row.log) if error == "OFFSET_OUT_OF_RANGE" else UNDEFINED,
        )

    def noted(self, n: int, row: BrokerRow, m: ReplicaFetchRequest) -> BrokerRow:
        """P5. What the leader notes of a valid fetch; then P9, then P6."""
        at = self.position[m.source]
        old = row.remotes[at]
        caught_up = old.caught_up or m.fetch_offset >= len(row.log)
        new = Remote(m.fetch_offset, m.broker_epoch, caught_up, m.log_start)
        changed = row if new == old else replace(row, remotes=put(row.remotes, at, new))
        noted = self.maybe_expand_isr(n, changed, m.source)
        return noted if old.end_offset == m.fetch_offset else self.advanced(n, noted)

    def fenced(self, n: int, row: BrokerRow, m: ReplicaFetchRequest) -> BrokerRow:
        """P9. What comes of a fetch that is fenced: nothing is noted of it."""
        if row.role != "Leader" or not self.rules.fenced_fetch_may_expand_isr():
            return row
        at = self.position[m.source]
        remote = replace(row.remotes[at], end_offset=m.fetch_offset)
        told = replace(row, remotes=put(row.remotes, at, remote))
        return replace(row, pending=self.maybe_expand_isr(n, told, m.source).pending)

    def handle_replica_fetch_request(
        self, n: int, row: BrokerRow, m: ReplicaFetchRequest
    ) -> BrokerOutcome:
        rules = self.rules
        error = rules.fetch_epoch_error(row, m)
        if error == "NONE":
            error = rules.fetch_offset_error(row, m)
        if error == "NONE" and rules.is_stale_replica(row, m):
            error = "NOT_LEADER_OR_FOLLOWER"
        if error != "NONE":
            failed = self.replica_fetch_response(n, row, m, error, (), NO_DIVERGENCE)
            after = self.fenced(n, row, m) if error == "FENCED_LEADER_EPOCH" else row
            return BrokerOutcome(after, (failed,), "")
        noted = self.noted(n, row, m) if rules.may_update_fetch_state(row, m) else row
        # P4: the high watermark in the reply is the one before the fetch was noted.
        if rules.is_diverging(row, m):
            end = rules.epoch_end_for(row, m)
            reply = self.replica_fetch_response(n, row, m, "NONE", (), end)
        else:
            limit = self.constants.fetch_max_records
            records = batches_from(row.log, m.fetch_offset, len(row.log), limit)
            reply = self.replica_fetch_response(n, row, m, "NONE", records, NO_DIVERGENCE)
        if not rules.recheck_completion():
            return BrokerOutcome(noted, (reply,), "")
        return self.answer_reached(n, noted, reply)

    # --- Replication, the follower: P7, P14 to P16.

    def replica_fetch_request(self, n: int, row: BrokerRow) -> ReplicaFetchRequest:
        return ReplicaFetchRequest(
            source=n,
            destination=row.leader,
            broker_epoch=row.broker_epoch,
            epoch=row.leader_epoch,
            fetch_offset=len(row.log),
            last_fetched_epoch=row.last_fetched_epoch,
            log_start=row.log_start,
        )

    def handle_send_replica_fetch(
        self, n: int, row: BrokerRow, input: SendReplicaFetch
    ) -> BrokerOutcome | None:
        if not is_up(row) or row.role != "Follower" or row.leader == NOBODY:
            return None
        if row.fetching and any(m.destination == row.leader for m in row.fetching):
            return None
        request = self.replica_fetch_request(n, row)
        fetching = (*row.fetching, request)
        if len(fetching) > 1:
            fetching = tuple(sorted(fetching, key=lambda m: m.destination))
        return BrokerOutcome(replace(row, fetching=fetching), (request,), "")

    def truncate_to(self, row: BrokerRow, offset: int) -> BrokerRow:
        log = row.log[:offset]
        cache = self.rules.cache_after_truncation(row, offset)
        return replace(
            row,
            log=log,
            log_start=min(row.log_start, offset),
            flushed=min(row.flushed, offset),
            epoch_cache=cache,
            producers=self.rules.producers_after_truncation(row, log),
            high_watermark=min(row.high_watermark, offset),
            last_fetched_epoch=last_epoch_of(cache),
        )

    def wipe_to(self, row: BrokerRow, start: int) -> BrokerRow:
        """P16. The follower has nothing that the leader still has."""
        return replace(
            row,
            log=empty_log_at(start),
            log_start=start,
            flushed=start,
            epoch_cache=(),
            producers=(),
            last_fetched_epoch=UNDEFINED,
            high_watermark=self.rules.high_watermark_after_wipe(row, start),
        )

    def out_of_range(self, row: BrokerRow, m: ReplicaFetchResponse) -> BrokerRow:
        if m.end_offset < len(row.log):
            return self.truncate_to(row, m.end_offset)
        if m.log_start > len(row.log):
            return self.wipe_to(row, m.log_start)
        return row

    def raise_log_start(self, row: BrokerRow, start: int) -> BrokerRow:
        new = min(start, row.high_watermark)
        if new <= row.log_start:
            return row
        return replace(
            row,
            log=trimmed(row.log, new),
            log_start=new,
            epoch_cache=cache_trimmed(row.epoch_cache, new),
        )

    def append_fetched(self, row: BrokerRow, m: ReplicaFetchResponse) -> BrokerRow:
        records = self.rules.appendable(m)
        last_fetched = self.rules.last_fetched_after(row, records)
        longer = row
        if records:
            offset = len(row.log)
            log = row.log + records
            longer = replace(
                row,
                log=log,
                epoch_cache=cache_append(row.epoch_cache, offset, records),
                producers=producers_from(row.producers, log, offset, self.rules.batches_kept()),
                last_fetched_epoch=last_fetched,
            )
        elif last_fetched != row.last_fetched_epoch:
            longer = replace(row, last_fetched_epoch=last_fetched)
        high_watermark = self.rules.follower_high_watermark(longer, m.high_watermark)
        told = longer
        if high_watermark != longer.high_watermark:
            told = replace(longer, high_watermark=high_watermark)
        return self.raise_log_start(told, m.log_start)

    def handle_replica_fetch_response(
        self, n: int, row: BrokerRow, m: ReplicaFetchResponse
    ) -> BrokerOutcome:
        if m.request not in row.fetching:
            return self.ignore(row, "NotAwaited")
        answered = replace(row, fetching=tuple([f for f in row.fetching if f != m.request]))
        if not self.rules.response_matches(row, m):
            return BrokerOutcome(answered, (), "")
        if m.error == "OFFSET_OUT_OF_RANGE":
            return BrokerOutcome(self.out_of_range(answered, m), (), "")
        if m.error != "NONE":
            return BrokerOutcome(answered, (), "")
        if m.diverging != NO_DIVERGENCE:
            offset = self.rules.truncation_point(row, m.diverging)
            return BrokerOutcome(self.truncate_to(answered, offset), (), "")
        return BrokerOutcome(self.append_fetched(answered, m), (), "")

    def handle_replica_fetch_timeout(
        self, n: int, row: BrokerRow, input: ReplicaFetchTimeout
    ) -> BrokerOutcome | None:
        """A fetch will not be answered any more."""
        if not is_up(row) or input.request not in row.fetching:
            return None
        fetching = tuple(f for f in row.fetching if f != input.request)
        return BrokerOutcome(replace(row, fetching=fetching), (), "")

    # --- Reads: P20, P21; and DeleteRecords: S9.

    def client_epoch_error(
        self, row: BrokerRow, m: ConsumerFetchRequest | ListOffsetsRequest
    ) -> str:
        if m.epoch != UNDEFINED and m.epoch < row.leader_epoch:
            return "FENCED_LEADER_EPOCH"
        if m.epoch != UNDEFINED and m.epoch > row.leader_epoch:
            return "UNKNOWN_LEADER_EPOCH"
        return "NONE"

    def consumer_fetch_response(
        self, n: int, row: BrokerRow, m: ConsumerFetchRequest, error: str, records: RecordLog
    ) -> ConsumerFetchResponse:
        return ConsumerFetchResponse(
            *(n, CLIENTS, m, error, records, row.high_watermark, row.log_start)
        )

    def handle_consumer_fetch_request(
        self, n: int, row: BrokerRow, m: ConsumerFetchRequest
    ) -> BrokerOutcome:
        """P20. The leader serves it, or a follower up to its own high watermark (KIP-392)."""
        records: RecordLog = ()
        error = self.client_epoch_error(row, m)
        if error == "NONE":
            if row.role == "None" or (row.role != "Leader" and not m.from_follower):
                error = "NOT_LEADER_OR_FOLLOWER"
            elif m.fetch_offset < row.log_start or m.fetch_offset > len(row.log):
                error = "OFFSET_OUT_OF_RANGE"
            else:
                end, limit = self.rules.visible_end(row), self.constants.fetch_max_records
                records = batches_from(row.log, m.fetch_offset, end, limit)
        return BrokerOutcome(row, (self.consumer_fetch_response(n, row, m, error, records),), "")

    def list_offsets_response(
        self, n: int, m: ListOffsetsRequest, error: str, offset: int
    ) -> ListOffsetsResponse:
        return ListOffsetsResponse(n, CLIENTS, m, error, offset)

    def handle_list_offsets_request(
        self, n: int, row: BrokerRow, m: ListOffsetsRequest
    ) -> BrokerOutcome:
        error, offset = self.client_epoch_error(row, m), UNDEFINED
        if error == "NONE" and m.timestamp == "Latest":
            error = self.rules.list_offsets_error(row)
        elif error == "NONE" and row.role != "Leader":
            error = "NOT_LEADER_OR_FOLLOWER"
        if error == "NONE":
            latest = m.timestamp == "Latest"
            offset = self.rules.visible_end(row) if latest else row.log_start
        return BrokerOutcome(row, (self.list_offsets_response(n, m, error, offset),), "")

    def handle_delete_records_request(
        self, n: int, row: BrokerRow, m: DeleteRecordsRequest
    ) -> BrokerOutcome:
        """S9.

        The leader's own start moves at once, and followers learn it by fetching. The answer waits
        for those that are unfenced.
        """
        error = "NONE"
        if row.role != "Leader":
            error = "NOT_LEADER_OR_FOLLOWER"
        elif m.offset > row.high_watermark:
            error = "OFFSET_OUT_OF_RANGE"
        if error != "NONE":
            refused = self.delete_records_response(n, m, error, UNDEFINED)
            return BrokerOutcome(row, (refused,), "")
        raised = self.raise_log_start(row, m.offset)
        waiting = Parked(m, m.offset, m.offset)
        if self.is_reached(raised, waiting):
            return BrokerOutcome(raised, (self.parked_response(n, waiting, "NONE"),), "")
        return BrokerOutcome(replace(raised, parked=parked_with(raised.parked, waiting)), (), "")

    # --- The disk: S4, S5.

    def handle_broker_flush(
        self, n: int, row: BrokerRow, input: BrokerFlush
    ) -> BrokerOutcome | None:
        if not is_up(row) or row.flushed >= len(row.log):
            return None
        return BrokerOutcome(replace(row, flushed=len(row.log)), (), "")

    def handle_checkpoint_high_watermark(
        self, n: int, row: BrokerRow, input: CheckpointHighWatermark
    ) -> BrokerOutcome | None:
        if not is_up(row) or row.checkpoint == row.high_watermark:
            return None
        return BrokerOutcome(replace(row, checkpoint=row.high_watermark), (), "")
