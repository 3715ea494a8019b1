"""Handle batches and markers at the leader of a partition (X11, X13, X14).

It is the twin of TransactionPartition.tla; of one that keeps offsets, X28 to X30.

Law of this file: a handler is a pure function of the row and the input; what is decided is asked of
the rules. With one replica what is appended is committed: elections are the matter of
reference/partition. With two, the other one has the log up to the high watermark, may lead at any
time, and what is written is acknowledged once it has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    NO_CLIENT,
    PARTITION_INPUTS,
    AbortedTxn,
    AddPartitions,
    Allowed,
    ApplyMarker,
    Ask,
    ChangeLeader,
    ConsumerFetch,
    Decision,
    Fetched,
    MarkerReply,
    Message,
    NotAllowed,
    Produce,
    Produced,
    Refused,
    Replicate,
    Sweep,
    Verification,
    Verified,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import (
    INITIAL_OFFSETS,
    NO_COMMIT,
    UNKNOWN,
    UNKNOWN_PRODUCER,
    Follower,
    KeptOffsets,
    LogEntry,
    NoOffsets,
    PartitionLeader,
    Producer,
    SentOffsets,
    is_replicated,
)


def batch_record(m: Produce) -> LogEntry:
    return LogEntry("Batch", m.txn, m.client, m.epoch, "None", m.sequence)


def marker_record(m: WriteTxnMarkers) -> LogEntry:
    return LogEntry("Marker", 0, 0, m.epoch, m.decision)


# --- Offsets


def commit_of(m: Produce | LogEntry) -> SentOffsets:
    return SentOffsets(m.txn, m.sequence)


def with_sent(offsets: KeptOffsets | NoOffsets, m: Produce) -> KeptOffsets | NoOffsets:
    """X29. Of those that a transaction has sent the last one counts."""
    if isinstance(offsets, NoOffsets):
        return offsets
    return replace(offsets, pending=commit_of(m))


def applied(offsets: KeptOffsets, decision: Decision) -> KeptOffsets:
    counts = decision == "Commit" and offsets.pending != NO_COMMIT
    return KeptOffsets(offsets.pending if counts else offsets.committed, NO_COMMIT, "None")


def loaded_offsets(records: tuple[LogEntry, ...]) -> KeptOffsets:
    """What a new leader finds in its log: of each transaction the last."""
    found = INITIAL_OFFSETS
    for entry in records:
        if entry.kind == "Batch":
            found = replace(found, pending=commit_of(entry))
        elif entry.decision != "None":
            found = applied(found, entry.decision)
    return found


# --- Batches and markers


def outdated(verifying: Iterable[Verification]) -> tuple[Verification, ...]:
    return tuple(sorted({replace(v, guarded=False) for v in verifying}))


def with_batch(row: PartitionLeader, m: Produce) -> PartitionLeader:
    producer = replace(row.producer, epoch=m.epoch, sequence=m.sequence + 1, open=True)
    others = [v for v in row.verifying if v.request != m]
    return replace(
        row,
        log=(*row.log, batch_record(m)),
        producer=producer,
        guard=UNKNOWN,
        verifying=outdated(others),
        offsets=with_sent(row.offsets, m),
    )


def aborted_in(records: tuple[LogEntry, ...]) -> tuple[AbortedTxn, ...]:
    """X18. The index: of each aborted transaction its first batch, and its marker."""
    found, first = [], 0
    for at, entry in enumerate(records, 1):
        if entry.kind == "Batch":
            first = first or at
            continue
        if first and entry.decision == "Abort":
            found.append(AbortedTxn(first, at))
        first = 0
    return tuple(found)


def without_refused(row: PartitionLeader) -> PartitionLeader:
    """What will be refused for ever, as epochs only grow, is forgotten."""
    left = tuple([v for v in row.verifying if v.request.epoch >= row.producer.epoch])
    return replace(row, verifying=left)


class PartitionHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: TransactionRules) -> None:
        self.rules = rules
        self._handlers = handlers_of(self, PARTITION_INPUTS)

    def step(self, n: int, row: PartitionLeader, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](n, row, input)
        return outcome

    def handle_produce(self, n: int, row: PartitionLeader, m: Produce) -> Outcome | None:
        """X11a: a batch arrives; it is appended, refused or has to be verified."""
        done = Produced(n, m.source, m.txn, m.partition, m.sequence)
        if self.rules.is_duplicate_batch(row.producer, m):
            return self._handled(row, row, "NONE", done)
        if m.epoch < row.producer.epoch:
            return self._handled(row, row, "INVALID_PRODUCER_EPOCH", done, m)
        if not self.rules.needs_verification(row.producer, m.epoch):
            error = self.rules.batch_error(row.producer, m, False)
            after = with_batch(row, m) if error == "NONE" else row
            return self._handled(row, after, error, done, m)
        if any(v.request == m and v.guarded for v in row.verifying):
            return None
        others = [v for v in row.verifying if v.request != m]
        verifying = tuple(sorted([*others, Verification(m, True, False)]))
        waiting = replace(row, guard=max(row.guard, m.epoch), verifying=verifying)
        return self._handled(row, waiting, "WAIT", done)

    def handle_ask(self, n: int, row: PartitionLeader, input: Ask) -> Outcome | None:
        """X11b. Version 2 adds, version 1 asks whether the partition has been added."""
        v = input.verification
        if v.answered or v not in row.verifying:
            return None
        epoch = v.request.epoch
        if self.rules.epoch_per_transaction:
            m: Message = AddPartitions(n, COORDINATOR, NO_CLIENT, n, epoch, input.behind)
        else:
            m = Verify(n, COORDINATOR, n, epoch, input.behind)
        return Outcome(row, (m,))

    def handle_allowed(self, n: int, row: PartitionLeader, m: Allowed) -> Outcome | None:
        """X11b: the coordinator lets the batches of this epoch in."""
        allowed = {
            replace(v, answered=v.answered or v.request.epoch == m.epoch) for v in row.verifying
        }
        return self._handled(row, replace(row, verifying=tuple(sorted(allowed))), "WAIT", m)

    def handle_not_allowed(self, n: int, row: PartitionLeader, m: NotAllowed) -> Outcome | None:
        """X11b: it does not, whatever happens: they are refused."""
        waiting = [v for v in row.verifying if v.request.epoch == m.epoch and not v.answered]
        if not waiting:
            return None
        left = tuple([v for v in row.verifying if v not in waiting])
        error = self.rules.passed_on(m.error)
        told = tuple([Refused(n, v.request.source, v.request, error) for v in waiting])
        return Outcome(without_refused(self._showing(replace(row, verifying=left))), told)

    def handle_consumer_fetch(
        self, n: int, row: PartitionLeader, m: ConsumerFetch
    ) -> Outcome | None:
        """X18."""
        end = self.rules.read_up_to(row, m.isolation)
        aborted: tuple[AbortedTxn, ...] = ()
        if m.isolation == "read_committed":
            aborted = self.rules.aborted_among(aborted_in(row.log), m.offset, end)
        return Outcome(row, (Fetched(n, m.source, m.offset, row.log[m.offset : end], aborted),))

    def handle_verified(self, n: int, row: PartitionLeader, input: Verified) -> Outcome | None:
        """X11c, X13: a verified batch is appended, or refused after all."""
        v, m = input.verification, input.verification.request
        if not v.answered or v not in row.verifying:
            return None
        done = Produced(n, m.source, m.txn, m.partition, m.sequence)
        without = replace(row, verifying=tuple([each for each in row.verifying if each != v]))
        if self.rules.is_duplicate_batch(row.producer, m):
            return self._handled(row, without, "NONE", done)
        guarded = self.rules.is_guarded(row.guard, v)
        error = self.rules.batch_error(row.producer, m, guarded)
        if error == "NONE" and self.rules.waits_for_lower(row.verifying, v):
            error = "OUT_OF_ORDER_SEQUENCE_NUMBER"
        after = with_batch(row, m) if error == "NONE" else without
        return self._handled(row, after, error, done, m)

    def handle_write_txn_markers(
        self, n: int, row: PartitionLeader, m: WriteTxnMarkers
    ) -> Outcome | None:
        """X14.

        A marker that says again what stands at the end is not appended again here (in Kafka it is);
        its guard and coordinator epoch count.
        """
        done = MarkerReply(n, COORDINATOR, m)
        error = self.rules.marker_error(row.producer, m)
        if error != "NONE":
            return self._handled(row, row, error, done)
        record = marker_record(m)
        clears = self.rules.marker_clears_guard(row.guard, m)
        sequence = row.producer.sequence if row.producer.epoch == m.epoch else UNKNOWN
        after = replace(
            row,
            log=row.log if row.log[-1:] == (record,) else (*row.log, record),
            producer=Producer(m.epoch, m.coordinator_epoch, sequence, False),
            guard=UNKNOWN if clears else row.guard,
            verifying=outdated(row.verifying) if clears else row.verifying,
            offsets=self._marked(row.offsets, m.decision),
        )
        return self._handled(row, after, "NONE", done)

    # --- With two replicas, and as time goes by ---

    def handle_replicate(self, n: int, row: PartitionLeader, input: Replicate) -> Outcome | None:
        """The other replica fetches all that it has not."""
        follower = row.follower
        if not isinstance(follower, Follower) or is_replicated(row):
            return None
        fetched = replace(follower, log=row.log, producer=row.producer)
        return self._moved(replace(row, follower=fetched))

    def handle_change_leader(
        self, n: int, row: PartitionLeader, input: ChangeLeader
    ) -> Outcome | None:
        """The other replica leads, and the old leader has what it has.

        Guards are the leader's own.
        """
        other = row.follower
        if not isinstance(other, Follower):
            return None
        offsets = row.offsets
        if isinstance(offsets, KeptOffsets):
            offsets = loaded_offsets(other.log)
        after = PartitionLeader(other.log, other.producer, UNKNOWN, (), other, offsets)
        return self._moved(after)

    def handle_sweep(self, n: int, row: PartitionLeader, input: Sweep) -> Outcome | None:
        """X16. What is known of a producer is forgotten; its log stays."""
        known = row.producer
        if not self.rules.is_producer_expired(known) or known == UNKNOWN_PRODUCER:
            return None
        return self._moved(replace(row, producer=UNKNOWN_PRODUCER))

    def handle_apply_marker(
        self, n: int, row: PartitionLeader, input: ApplyMarker
    ) -> Outcome | None:
        """The group applies what was decided, if it has not at once."""
        offsets = row.offsets
        if isinstance(offsets, NoOffsets) or offsets.marker == "None":
            return None
        return self._moved(replace(row, offsets=applied(offsets, offsets.marker)))

    def _marked(
        self, offsets: KeptOffsets | NoOffsets, decision: Decision
    ) -> KeptOffsets | NoOffsets:
        """X30."""
        if isinstance(offsets, NoOffsets):
            return offsets
        if self.rules.is_applied_at_once(offsets):
            return applied(offsets, decision)
        return replace(offsets, marker=decision)

    def _showing(self, row: PartitionLeader) -> PartitionLeader:
        """The leader shows what it finds stable."""
        follower = row.follower
        if not isinstance(follower, Follower):
            return row
        return replace(row, follower=replace(follower, stable=self.rules.last_stable_offset(row)))

    def _moved(self, after: PartitionLeader) -> Outcome:
        return Outcome(without_refused(self._showing(after)))

    def _handled(
        self,
        row: PartitionLeader,
        after: PartitionLeader,
        error: str,
        done: Message,
        asked: Produce | None = None,
    ) -> Outcome:
        """done: what is sent of what was written, and is on every replica.

        asked: the batch, whose producer may hear why it is refused.
        """
        after = without_refused(self._showing(after))
        if error == "NONE":
            return Outcome(after, (done,) if is_replicated(after) else ())
        if asked is not None and self.rules.constants.recovers and error != "WAIT":
            return Outcome(after, (Refused(done.source, asked.source, asked, error),))
        return Outcome(after, ignored=error if error != "WAIT" and after == row else "")
