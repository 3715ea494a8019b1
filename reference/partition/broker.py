"""The handlers of a broker: the twin of BrokerLifecycle.tla, and the one entry `step`.

Law of this file: a handler sees its own broker, that broker's row and one input, and answers with
one outcome that the spec allows, or with None where the spec allows none (the input is disabled).
Every decision is asked of `rules`. Registration, heartbeats, applying metadata, becoming leader or
follower, clean stop, crash and recovery (C2 to C6, P1 to P3, P22 to P24; Kafka's
BrokerLifecycleManager, BrokerMetadataPublisher, ReplicaManager.applyDelta, LogLoader) are here; the
ISR is in isr.py, the data in replication.py.

Metadata arrives as a MetadataUpdate: the committed records from the broker's own offset on, as many
as it happens to read at once. Several changes are then folded into one, as Kafka's MetadataLoader
does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import action_name, handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.partition.log import (
    CORRUPT,
    UNDEFINED,
    RecordLog,
    ends_batch,
    producers_of,
)
from kraftcheck.reference.partition.messages import (
    BROKER_INPUTS,
    CONTROLLER,
    MESSAGES,
    NO_REQUEST,
    BrokerCrash,
    BrokerInput,
    BrokerRecord,
    BrokerRestart,
    ControlledShutdown,
    ControllerRequestTimeout,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRecord,
    MetadataUpdate,
    Partition,
    PartitionRecord,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    SendHeartbeat,
    SendRegistration,
)
from kraftcheck.reference.partition.replication import HighWatermarkSteps
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    UNKNOWN_REMOTE,
    BrokerOutcome,
    BrokerRow,
    Image,
    PartitionConstants,
    Remote,
    is_up,
)

BROKER_HANDLERS: dict[type, str] = {of: action_name(of) for of in BROKER_INPUTS}
"""From the type of an input to the name of its action, as in the spec and in traces."""

_MESSAGES = frozenset(MESSAGES)


class BrokerHandlers(HighWatermarkSteps):
    """All handlers, for one set of constants and one set of rules."""

    update_type: type[MetadataUpdate] = MetadataUpdate

    def __init__(self, constants: PartitionConstants, rules: PartitionRules | None = None) -> None:
        super().__init__(constants, rules)
        self._handlers: dict[type, Callable[[int, BrokerRow, Any], BrokerOutcome | None]] = (
            handlers_of(self, BROKER_INPUTS)
        )

    def step(self, node: int, row: BrokerRow, input: BrokerInput) -> BrokerOutcome | None:
        """One step of one broker, or None where the input is disabled.

        Deterministic: the spec allows a broker one outcome for each input.
        """
        of = type(input)
        if of in _MESSAGES:
            message: Any = input
            assert message.destination == node, f"for somebody else than {node}: {input}"
            if row.status == "Down":
                return None
        return self._handlers[of](node, row, input)

    # --- Applying metadata: P1 to P3.

    def folded(self, image: Image, records: tuple[MetadataRecord, ...]) -> Image:
        brokers, partition = image.brokers, image.partition
        for record in records:
            if isinstance(record, BrokerRecord):
                brokers = put(brokers, self.position[record.broker], record.registration)
            else:
                partition = record.partition
        return type(image)(image.offset + len(records), brokers, partition)

    def changes_partition(self, records: tuple[MetadataRecord, ...]) -> bool:
        return any(isinstance(record, PartitionRecord) for record in records)

    def become_leader(self, n: int, row: BrokerRow, partition: Partition) -> BrokerOutcome:
        """P2."""
        known = replace(
            row,
            role="Leader",
            leader=n,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            isr=partition.isr,
            pending=NO_PENDING if self.rules.clears_pending(row, partition) else row.pending,
            last_fetched_epoch=UNDEFINED,
        )
        if partition.leader_epoch <= row.leader_epoch:
            return self.advance_and_finish(n, known)
        keeps = self.rules.keeps_end_offsets(row)
        remotes = []
        for b, old in zip(self.brokers, row.remotes, strict=True):
            kept = old if keeps else UNKNOWN_REMOTE
            caught_up = b != n and b in partition.isr
            remotes.append(Remote(kept.end_offset, kept.broker_epoch, caught_up))
        opened = replace(
            known,
            epoch_start=len(row.log),
            epoch_cache=self.rules.cache_on_become_leader(row, partition.leader_epoch),
            remotes=tuple(remotes),
        )
        return self.advance_and_finish(n, opened)

    def become_follower(self, n: int, row: BrokerRow, partition: Partition) -> BrokerOutcome:
        """P3."""
        known = replace(
            row,
            role="Follower",
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            epoch_start=UNDEFINED,
            isr=(),
            pending=NO_PENDING,
            remotes=self.no_remotes,
            parked=(),
        )
        if partition.leader_epoch > row.leader_epoch:
            end = self.rules.end_on_become_follower(row)
            cut = self.truncate_to(known, end) if end < len(row.log) else known
            last_fetched = self.rules.last_fetched_on_become_follower(cut, partition)
            known = replace(cut, last_fetched_epoch=last_fetched)
        failed = self.failed_responses(n, row) if row.parked else ()
        return BrokerOutcome(known, canonical(failed), "")

    def publish(self, n: int, row: BrokerRow) -> BrokerOutcome:
        partition = row.image.partition
        if self.rules.is_outdated_partition(row, partition):
            return BrokerOutcome(row, (), "")
        if partition.leader == n:
            return self.become_leader(n, row, partition)
        return self.become_follower(n, row, partition)

    def handle_metadata_update(
        self, n: int, row: BrokerRow, input: MetadataUpdate
    ) -> BrokerOutcome | None:
        if not is_up(row) or input.offset != row.image.offset or not input.records:
            return None
        applied = replace(row, image=self.folded(row.image, input.records))
        if self.rules.acts_on_metadata(row) and self.changes_partition(input.records):
            return self.publish(n, applied)
        return BrokerOutcome(applied, (), "")

    # --- Registration and heartbeats: C2 to C5, the broker's side.

    def register_broker_request(self, n: int, row: BrokerRow) -> RegisterBrokerRequest:
        return RegisterBrokerRequest(n, CONTROLLER, row.incarnation, row.previous_epoch)

    def handle_send_registration(
        self, n: int, row: BrokerRow, input: SendRegistration
    ) -> BrokerOutcome | None:
        if not is_up(row) or row.broker_epoch != UNDEFINED or row.controller_request != NO_REQUEST:
            return None
        request = self.register_broker_request(n, row)
        return BrokerOutcome(replace(row, controller_request=request), (request,), "")

    def handle_register_broker_response(
        self, n: int, row: BrokerRow, m: RegisterBrokerResponse
    ) -> BrokerOutcome:
        if not is_up(row) or not self.rules.registration_accepted(row, m):
            return self.ignore(row, "NotAwaited")
        if m.error != "NONE":
            return BrokerOutcome(replace(row, controller_request=NO_REQUEST), (), "")
        registered = replace(row, controller_request=NO_REQUEST, broker_epoch=m.broker_epoch)
        return BrokerOutcome(registered, (), "")

    def heartbeat_request(self, n: int, row: BrokerRow) -> HeartbeatRequest:
        return HeartbeatRequest(
            source=n,
            destination=CONTROLLER,
            broker_epoch=row.broker_epoch,
            metadata_offset=row.image.offset,
            want_fence=row.status == "Starting",
            want_shut_down=row.status == "ShuttingDown",
        )

    def handle_send_heartbeat(
        self, n: int, row: BrokerRow, input: SendHeartbeat
    ) -> BrokerOutcome | None:
        if not is_up(row) or row.broker_epoch == UNDEFINED or row.controller_request != NO_REQUEST:
            return None
        request = self.heartbeat_request(n, row)
        return BrokerOutcome(replace(row, controller_request=request), (request,), "")

    def stopped(self, row: BrokerRow) -> BrokerRow:
        """What of a row survives the process; all else begins anew."""
        return replace(
            self.initial,
            status="Down",
            incarnation=row.incarnation,
            broker_epoch=UNDEFINED,
            clean_shutdown=row.clean_shutdown,
            log=row.log,
            log_start=row.log_start,
            flushed=row.flushed,
            corrupt=row.corrupt,
            epoch_cache=row.epoch_cache,
            checkpoint=row.checkpoint,
            role="None",
            leader_epoch=UNDEFINED,
            partition_epoch=UNDEFINED,
        )

    def stopped_cleanly(self, row: BrokerRow) -> BrokerRow:
        """P22."""
        return self.stopped(
            replace(
                row,
                flushed=len(row.log),
                checkpoint=row.high_watermark,
                clean_shutdown=row.broker_epoch,
            )
        )

    def handle_heartbeat_response(
        self, n: int, row: BrokerRow, m: HeartbeatResponse
    ) -> BrokerOutcome:
        if not is_up(row) or row.controller_request != m.request:
            return self.ignore(row, "NotAwaited")
        answered = replace(row, controller_request=NO_REQUEST)
        if m.error != "NONE":
            return BrokerOutcome(answered, (), "")
        if row.status == "ShuttingDown" and m.should_shut_down:
            return BrokerOutcome(self.stopped_cleanly(row), (), "")
        if row.status == "Starting" and m.is_caught_up:
            return self.publish(n, replace(answered, status="Running"))
        return BrokerOutcome(answered, (), "")

    def handle_controlled_shutdown(
        self, n: int, row: BrokerRow, input: ControlledShutdown
    ) -> BrokerOutcome | None:
        if row.status != "Running":
            return None
        return BrokerOutcome(replace(row, status="ShuttingDown"), (), "")

    def handle_controller_request_timeout(
        self, n: int, row: BrokerRow, input: ControllerRequestTimeout
    ) -> BrokerOutcome | None:
        """A request to the controller will not be answered any more."""
        if not is_up(row) or input.request == NO_REQUEST:
            return None
        if row.controller_request == input.request:
            return BrokerOutcome(replace(row, controller_request=NO_REQUEST), (), "")
        if row.alter_request == input.request:
            return BrokerOutcome(replace(row, alter_request=NO_REQUEST), (), "")
        return None

    # --- Crash and recovery: P23, P24. A process crash keeps everything; a machine crash what was
    # --- flushed, and as much of the rest as happened to be written.

    def is_batch_end(self, log: RecordLog, offset: int) -> bool:
        """Say whether a crash may leave the end of the log here.

        At the end of a batch that was not flushed, or at the flushed end.
        """
        return offset == 0 or ends_batch(log[offset - 1])

    def durable_end(self, row: BrokerRow) -> int:
        """Give the end of the log that is durable.

        A log that has lost everything is one that begins, and ends, where its start says
        (LogLoader).
        """
        return max(row.flushed, row.log_start)

    def may_keep(self, row: BrokerRow, keep: int) -> bool:
        end = self.durable_end(row)
        return end <= keep <= len(row.log) and (keep == end or self.is_batch_end(row.log, keep))

    def may_corrupt(self, row: BrokerRow, keep: int, corrupt: int) -> bool:
        return corrupt == UNDEFINED or (
            self.durable_end(row) <= corrupt < keep and self.is_batch_end(row.log, corrupt)
        )

    def handle_broker_crash(
        self, n: int, row: BrokerRow, input: BrokerCrash
    ) -> BrokerOutcome | None:
        """`keep`: what is left of the log. `corrupt`: the first bad batch in it."""
        keep, corrupt = input.keep, input.corrupt
        if not is_up(row) or not self.may_keep(row, keep):
            return None
        if not self.may_corrupt(row, keep, corrupt):
            return None
        left = row.log[:keep]
        if corrupt != UNDEFINED:
            bad = tuple(replace(record, value=CORRUPT) for record in left[corrupt:])
            left = left[:corrupt] + bad
        flushed = keep if keep < len(row.log) else row.flushed
        crashed = replace(row, log=left, corrupt=corrupt, flushed=flushed)
        return BrokerOutcome(self.stopped(crashed), (), "")

    def handle_broker_restart(
        self, n: int, row: BrokerRow, input: BrokerRestart
    ) -> BrokerOutcome | None:
        """A broker that starts has nothing but its disk; it registers first."""
        if row.status != "Down":
            return None
        end = self.rules.recovered_end(row)
        log = row.log[:end]
        high_watermark = self.rules.recovered_high_watermark(row, end)
        recovered = replace(
            row,
            status="Starting",
            incarnation=row.incarnation + 1,
            previous_epoch=row.clean_shutdown,
            clean_shutdown=UNDEFINED,
            log=log,
            flushed=min(row.flushed, end),
            corrupt=UNDEFINED,
            epoch_cache=self.rules.recovered_epoch_cache(row, end),
            producers=producers_of(log, self.rules.batches_kept()),
            high_watermark=high_watermark,
            checkpoint=high_watermark,
        )
        return BrokerOutcome(recovered, (), "")
