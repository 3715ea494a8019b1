"""What partition replication promises: the twin of PartitionProperties.tla, and as plain.

Law of this file: every property is computed from whole states, as the spec says it, with no thought
of speed; invariants.py is the fast one, and both must agree. No rule of rules.py
is asked, so that replacing a rule never replaces the property that should catch it. What a client
would be told is asked of the handlers: an answer may change with a rule, its judge does not.

A property is a function of some of these: the state before a step, the state after it, the history
in which the step has already been entered, and the handlers. It answers None, or says briefly what
is wrong. Its docstring is its sentence in reports.

A broker is running when its process is up and knows the epoch of its registration. One that lost
part of its log and has not registered yet is still in the controller's ISR, and promises nothing.

Whether a property is promised depends on the configuration and on the faults of a run; that is said
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.reference.kit.log import CacheEntry, EpochCache, cache_assign
from kraftcheck.reference.kit.properties import Declared, Invariant
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    BrokerRecord,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRecord,
    MetadataRecords,
    ProduceResponse,
)
from kraftcheck.reference.partition.types import (
    CORRUPT,
    GONE,
    INITIAL_OFFSET,
    NO_PENDING,
    NOBODY,
    UNDEFINED,
    UNKNOWN_REMOTE,
    BrokerRow,
    ControllerRow,
    Image,
    PartitionConstants,
    Record,
    RecordLog,
    initial_controller,
    initial_row,
    is_leader,
    is_up,
)

Rows: TypeAlias = Mapping[int, BrokerRow]


class PartitionState(NamedTuple):
    """A state of the whole: what properties look at, but for the history."""

    rows: Rows
    controller: ControllerRow
    metadata: tuple[MetadataRecord, ...]
    """The committed metadata records, from INITIAL_OFFSET on."""

    def stepped(self, node: int, row: Any, sent: Iterable[Message]) -> PartitionState:
        """The state after a step of one node: what the controller writes is committed at once."""
        if node != CONTROLLER:
            return PartitionState({**self.rows, node: row}, self.controller, self.metadata)
        written = [r for m in sent if isinstance(m, MetadataRecords) for r in m.records]
        return PartitionState(self.rows, row, self.metadata + tuple(written))


def initial_state(constants: PartitionConstants) -> PartitionState:
    rows = dict.fromkeys(constants.brokers, initial_row(constants))
    return PartitionState(rows, initial_controller(constants), ())


@dataclass(slots=True)
class PartitionHistory:
    """What rows do not remember. Written beside every step and read by no handler (L5)."""

    committed: RecordLog = ()
    """P8. The longest prefix that any leader's high watermark covered."""
    committed_before: RecordLog = ()
    """`committed` as it was before the latest step."""
    acked: frozenset[int] = frozenset()
    """The values of acks=all that were answered without an error."""
    acked_before: frozenset[int] = frozenset()


def merged(log: RecordLog, old: RecordLog, end: int) -> RecordLog:
    """Give the records below `end`, where deleted ones are those that were there.

    What is deleted is a log's beginning.
    """
    if not log or log[0] != GONE:
        return log[:end]
    return tuple(
        old[i] if log[i] == GONE and i < len(old) else log[i] for i in range(min(end, len(log)))
    )


def committed_after(old_committed: RecordLog, new_rows: Rows) -> RecordLog:
    for _, row in sorted(new_rows.items()):
        if is_leader(row) and row.high_watermark > len(old_committed):
            return merged(row.log, old_committed, row.high_watermark)
    return old_committed


def acked_in(sent: Iterable[Message]) -> frozenset[int]:
    return frozenset(
        value
        for m in sent
        if isinstance(m, ProduceResponse) and m.error == "NONE" and m.request.acks == -1
        for value in m.request.values
    )


def history_next(
    history: PartitionHistory, after: PartitionState, sent: Iterable[Message]
) -> PartitionHistory:
    return PartitionHistory(
        committed=committed_after(history.committed, after.rows),
        committed_before=history.committed,
        acked=history.acked | acked_in(sent),
        acked_before=history.acked,
    )


_invariant = Declared("before", "after", "history", "handlers")


class OfRow(NamedTuple):
    """What an invariant says of each broker's row by itself."""

    check: Callable[[int, BrokerRow, Collection[int]], str | None]
    """Of a broker, its row, and all brokers."""
    looked_at: Callable[[BrokerRow], Any]
    """What it looks at of a row."""


OF_ROWS: Final[dict[str, OfRow]] = {}
"""By the invariant's name."""


def _of_row(*looks_at: str) -> Callable[[Callable[..., str | None]], Callable[..., str | None]]:
    """Declare a function of one row, which looks at these fields of it, as an invariant."""

    def declare(check: Callable[..., str | None]) -> Callable[..., str | None]:
        @wraps(check)
        def of_all(after: PartitionState) -> str | None:
            for n, row in after.rows.items():
                if wrong := check(n, row, after.rows):
                    return wrong
            return None

        _invariant("state")(of_all)
        OF_ROWS[_invariant.all[-1].name] = OfRow(check, attrgetter(*looks_at))
        return check

    return declare


# --- Words ---


def is_running(row: BrokerRow) -> bool:
    return is_up(row) and row.broker_epoch != UNDEFINED


def chosen_leader(state: PartitionState) -> int:
    return state.controller.partition.leader


def is_current_leader(state: PartitionState, n: int) -> bool:
    """A leader that the controller has not replaced."""
    row, partition = state.rows[n], state.controller.partition
    return is_leader(row) and partition.leader == n and row.leader_epoch == partition.leader_epoch


def same_record(a: Record, b: Record) -> bool:
    return a == b or GONE in (a, b)


def agree_below(a: RecordLog, b: RecordLog, end: int) -> bool:
    return len(a) >= end and len(b) >= end and all(map(same_record, a[:end], b[:end]))


def first_missing(log: RecordLog, wanted: RecordLog, end: int) -> str:
    """Name the first record of `wanted` below `end` where `log` does not agree.

    The log has not got it, or has another one.
    """
    both = min(len(log), len(wanted), end)
    at = next((i for i in range(both) if not same_record(log[i], wanted[i])), both)
    return f"the record at {at}"


def holds_committed(history: PartitionHistory, log: RecordLog) -> bool:
    return agree_below(log, history.committed, len(history.committed))


def values_of(records: Iterable[Record]) -> list[int]:
    """Those that clients sent, and that can be read."""
    return [r.value for r in records if r.value != CORRUPT and r.value != GONE.value]


def values_in(log: RecordLog) -> set[int]:
    return {record.value for record in log}


def counts_as_in_sync(row: BrokerRow) -> set[int]:
    proposed = row.pending.isr if row.pending.kind == "Expand" else ()
    return {*row.isr, *(member.broker for member in proposed)}


def position(state: PartitionState, b: int) -> int:
    return sorted(state.rows).index(b)


# --- Types ---


@_of_row(
    *("status", "role", "leader", "isr", "flushed", "corrupt", "log", "epoch_start"),
    *("pending", "remotes", "parked"),
)
def partition_row_type_inv(n: int, row: BrokerRow, brokers: Collection[int]) -> str | None:
    """Every field of a broker's row has a value of its type, and fields fit the role.

    Misses: a value of the right type that is wrong in this state.
    """
    leads, end = row.role == "Leader", len(row.log)
    right = {
        "status": row.status in ("Starting", "Running", "ShuttingDown", "Down"),
        "role": row.role in ("None", "Leader", "Follower"),
        "role when down": row.status != "Down" or row.role == "None",
        "leader": row.leader in brokers or row.leader == NOBODY,
        "flushed": 0 <= row.flushed <= end,
        "corrupt": -1 <= row.corrupt <= end,
        "leads": not leads or (row.leader == n and n in row.isr),
        "what only leaders have": leads
        or (
            row.isr == ()
            and row.pending == NO_PENDING
            and all([remote == UNKNOWN_REMOTE for remote in row.remotes])
            and row.parked == ()
        ),
        "epoch_start": leads == (row.epoch_start != UNDEFINED) and -1 <= row.epoch_start <= end,
        "pending": row.pending.kind in ("None", "Expand", "Shrink"),
        "remotes": all([remote.end_offset >= -1 for remote in row.remotes]),
    }
    wrong = [name for name, is_right in right.items() if not is_right]
    return f"broker {n}: {', '.join(wrong)}" if wrong else None


@_invariant("state")
def controller_type_inv(after: PartitionState) -> str | None:
    """Every field of the controller's row has a value of its type.

    Misses: a value of the right type that is wrong in this state.
    """
    partition, brokers = after.controller.partition, set(after.rows)
    if {partition.leader, partition.last_known_leader} - brokers - {NOBODY}:
        return "the leader is no broker"
    if min(partition.leader_epoch, partition.partition_epoch) < 0:
        return "an epoch is undefined"
    if not {*partition.isr, *partition.elr} <= brokers:
        return "the ISR or the ELR names somebody who is no replica"
    return None


# --- The controller ---


@_invariant("state")
def leader_in_isr(after: PartitionState) -> str | None:
    """The chosen leader is in the ISR.

    Misses: a leader that should not be in the ISR.
    """
    leader = chosen_leader(after)
    if leader != NOBODY and leader not in after.controller.partition.isr:
        return f"leader {leader} is not in the ISR {after.controller.partition.isr}"
    return None


@_invariant("state")
def valid_controller_isr_and_elr(after: PartitionState, handlers: BrokerHandlers) -> str | None:
    """ISR and ELR are disjoint.

    An ISR of at least min ISR leaves no ELR.

    Misses: a missing member, and members that lack records.
    """
    isr, elr = after.controller.partition.isr, after.controller.partition.elr
    if set(isr) & set(elr):
        return f"ISR {isr} and ELR {elr} overlap"
    if len(isr) >= handlers.constants.effective_min_isr and elr:
        return f"the ISR {isr} is large enough, but the ELR is {elr}"
    if not handlers.constants.elr_enabled and (elr or not isr):
        return f"without ELR the ISR is {isr} and the ELR {elr}"
    return None


@_invariant("state")
def valid_controller_state(after: PartitionState, handlers: BrokerHandlers) -> str | None:
    """No fenced broker is in the ISR.

    Without ELR its last member may be fenced (C10). A stopping broker may be in it, because Kafka
    elects a broker that it unfences without checking this: a heartbeat from before the stop may
    arrive after the session has timed out.

    Misses: dead brokers that are not fenced yet, and the ELR.
    """
    isr = after.controller.partition.isr
    if not handlers.constants.elr_enabled and len(isr) <= 1:
        return None
    for b in isr:
        if after.controller.registrations[position(after, b)].fenced:
            return f"broker {b} is fenced, and is in the ISR {isr}"
    return None


@_invariant("step")
def fenced_never_elected(before: PartitionState, after: PartitionState) -> str | None:
    """An elected leader is not fenced, and is not stopping unless it was just unfenced
    (KAFKA-19522).

    Misses: a leader that was fenced after its election.
    """
    old, new = before.controller.partition, after.controller.partition
    if new.leader_epoch == old.leader_epoch or new.leader == NOBODY:
        return None
    at = position(after, new.leader)
    registration = after.controller.registrations[at]
    unfenced = before.controller.registrations[at].fenced
    if registration.fenced or (registration.stopping and not unfenced):
        return f"broker {new.leader} was elected and is fenced or stops"
    return None


# --- The ISR and the high watermark ---


@_invariant("state")
def weak_isr(after: PartitionState) -> str | None:
    """Every running member of a leader's ISR has the leader's log up to its high watermark.

    Excepted is a member with a new broker epoch that the leader has not read yet.

    Misses: followers outside the ISR, and members that are down.
    """
    for n, row in after.rows.items():
        for r in row.isr if is_leader(row) else ():
            other = after.rows[r]
            known = row.image.brokers[position(after, r)].epoch
            told = r == n or other.broker_epoch == known
            has = agree_below(other.log, row.log, row.high_watermark)
            if is_running(other) and told and not has:
                missing = first_missing(other.log, row.log, row.high_watermark)
                return (
                    f"{r} is in the ISR of leader {n} and lacks {missing}, which is committed there"
                )
    return None


@_invariant("state")
def strong_isr(after: PartitionState) -> str | None:
    """Every running member of the controller's ISR has the log of any leader up to its high
    watermark.

    Misses: brokers that are down, and the ELR (see LeaderCandidateCompleteness).
    """
    for n, row in after.rows.items():
        for r in after.controller.partition.isr if is_leader(row) else ():
            other = after.rows[r]
            if is_running(other) and not agree_below(other.log, row.log, row.high_watermark):
                missing = first_missing(other.log, row.log, row.high_watermark)
                return f"{r} is in the ISR and lacks {missing}, which leader {n} calls committed"
    return None


@_invariant("state")
def valid_high_watermark(after: PartitionState) -> str | None:
    """The logs of the controller's ISR reach the high watermark of the current leader.

    Misses: other records below the high watermark than the leader's (see StrongIsr).
    """
    for n, row in after.rows.items():
        for r in after.controller.partition.isr if is_current_leader(after, n) else ():
            other = after.rows[r]
            if is_running(other) and len(other.log) < row.high_watermark:
                reaches = f"ends at {len(other.log)}, below the high watermark {row.high_watermark}"
                return f"{r} is in the ISR and {reaches} of leader {n}"
    return None


@_invariant("state")
def replication_quorum_superset(after: PartitionState, handlers: BrokerHandlers) -> str | None:
    """The high watermark of the current leader waits for every broker that can be elected.

    Misses: a leader that waits for enough brokers and still advances too early, and replaced
    leaders.
    """
    partition = after.controller.partition
    for n, row in after.rows.items():
        if not is_current_leader(after, n):
            continue
        if len(row.isr) < handlers.constants.effective_min_isr:
            continue
        for r in sorted({*partition.isr, *partition.elr}):
            if is_running(after.rows[r]) and r not in counts_as_in_sync(row):
                return f"{r} may be elected, and leader {n} does not wait for it"
    return None


# --- Data ---


@_invariant("state")
def leader_candidate_completeness(after: PartitionState, history: PartitionHistory) -> str | None:
    """Every running member of the ISR or the ELR has all committed records.

    Misses: members that are down, and acknowledged records that no high watermark covered.
    """
    partition = after.controller.partition
    for r in sorted({*partition.isr, *partition.elr}):
        row = after.rows[r]
        if is_running(row) and not holds_committed(history, row.log):
            missing = first_missing(row.log, history.committed, len(history.committed))
            return f"{r} may be elected and lacks {missing}, which is committed"
    return None


@_invariant("state")
def partition_leader_completeness(after: PartitionState, history: PartitionHistory) -> str | None:
    """The chosen leader, if it runs, has all committed records and all acknowledged values.

    Misses: a leader that is down; acknowledged values after records were deleted from the start of
    the log.
    """
    leader = chosen_leader(after)
    if leader == NOBODY or not is_running(after.rows[leader]):
        return None
    row = after.rows[leader]
    if not holds_committed(history, row.log):
        missing = first_missing(row.log, history.committed, len(history.committed))
        return f"leader {leader} lacks {missing}, which is committed"
    lost = history.acked - values_in(row.log)
    if row.log_start == 0 and lost:
        return f"leader {leader} lacks the acked values {sorted(lost)}"
    return None


@_invariant("state")
def partition_log_matching(after: PartitionState) -> str | None:
    """The logs of two running brokers agree below both high watermarks.

    Misses: a difference above one of them, and brokers that are down.
    """
    for a, one in after.rows.items():
        for b, two in after.rows.items():
            end = min(one.high_watermark, two.high_watermark)
            if is_up(one) and is_up(two) and not agree_below(one.log, two.log, end):
                where = first_missing(one.log, two.log, end)
                return f"brokers {a} and {b} differ in {where}, below high watermark {end}"
    return None


@_invariant("state")
def no_committed_record_lost(after: PartitionState, history: PartitionHistory) -> str | None:
    """Some log has each committed record.

    Misses: a record that remains only in a log that can never lead.
    """
    for i, record in enumerate(history.committed):
        logs = [row.log for row in after.rows.values() if len(row.log) > i]
        if not any(same_record(log[i], record) for log in logs):
            return f"the committed record at offset {i} is nowhere"
    return None


@_invariant("step")
def monotonic_true_high_watermark(
    before: PartitionState, after: PartitionState, history: PartitionHistory
) -> str | None:
    """The committed log only grows, and a leader's high watermark never decreases during its epoch.

    Misses: a high watermark that decreases from one leader to the next (see MonotonicListOffsets).
    """
    if history.committed[: len(history.committed_before)] != history.committed_before:
        return "what was committed has changed"
    for n, row in after.rows.items():
        old = before.rows[n]
        same = is_leader(old) and is_leader(row) and old.leader_epoch == row.leader_epoch
        if same and row.high_watermark < old.high_watermark:
            return f"the high watermark of leader {n} went back to {row.high_watermark}"
    return None


@_invariant("step")
def acked_has_min_isr_copies(
    after: PartitionState, history: PartitionHistory, handlers: BrokerHandlers
) -> str | None:
    """When a value is acknowledged, min ISR brokers have it, deleted records up to it, or have lost
    it in a crash that the controller has not noticed yet.

    Misses: enough copies outside the ISR, and copies that are lost later.
    """
    for value in sorted(history.acked - history.acked_before):
        copies = [
            n
            for n, row in after.rows.items()
            if value in values_in(row.log) or row.log_start > 0 or row.broker_epoch == UNDEFINED
        ]
        if len(copies) < handlers.constants.effective_min_isr:
            return f"value {value} was acked with copies on {copies} only"
    return None


@_of_row("log")
def no_duplicate(n: int, row: BrokerRow, brokers: Collection[int]) -> str | None:
    """No log has a value twice.

    Clients send a value once, or repeatedly as idempotent producers.

    Misses: a second copy after the first one is gone, and a lost value.
    """
    values = values_of(row.log)
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        return f"the log of broker {n} has value {twice} twice"
    return None


# --- What clients are told ---


def consumer_fetch(n: int, offset: int) -> ConsumerFetchRequest:
    return ConsumerFetchRequest(
        source=CLIENTS,
        destination=n,
        client=UNDEFINED,
        epoch=UNDEFINED,
        fetch_offset=offset,
        from_follower=True,
    )


@_invariant("state")
def read_only_committed(
    after: PartitionState, history: PartitionHistory, handlers: BrokerHandlers
) -> str | None:
    """Consumer fetches return committed records only.

    Misses: a committed record that is not returned, and fetches in flight.
    """
    committed = history.committed
    for n, row in after.rows.items():
        for offset in range(row.log_start, len(row.log) + 1) if is_up(row) else ():
            outcome = handlers.handle_consumer_fetch_request(n, row, consumer_fetch(n, offset))
            (m,) = outcome.sent
            assert isinstance(m, ConsumerFetchResponse)
            for at, record in enumerate(m.records, offset):
                if at >= len(committed) or not same_record(record, committed[at]):
                    return f"broker {n} shows the record at offset {at}, which is not committed"
    return None


def list_latest(n: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(CLIENTS, n, UNDEFINED, UNDEFINED, "Latest")


@_invariant("state")
def monotonic_list_offsets(
    after: PartitionState, history: PartitionHistory, handlers: BrokerHandlers
) -> str | None:
    """The latest offset that a current leader returns is at least the committed end, so clients
    never see it decrease (KIP-207).

    Misses: replaced leaders, and an offset that is too large.
    """
    for n, row in after.rows.items():
        if is_current_leader(after, n):
            (m,) = handlers.handle_list_offsets_request(n, row, list_latest(n)).sent
            assert isinstance(m, ListOffsetsResponse)
            if m.error == "NONE" and m.offset < len(history.committed):
                return f"leader {n} says {m.offset}, and {len(history.committed)} are committed"
    return None


def delete_up_to(n: int, offset: int) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(CLIENTS, n, UNDEFINED, offset)


@_invariant("state")
def deleted_everywhere(after: PartitionState, handlers: BrokerHandlers) -> str | None:
    """A current leader confirms a deletion only after all replicas that it knows as unfenced have
    made it (S9).

    Misses: fenced replicas, which may lead again from the ELR.
    """
    return confirms_too_early(after, handlers, lambda known, r: True)


def confirms_too_early(
    after: PartitionState, handlers: BrokerHandlers, is_replica: Callable[[BrokerRow, int], bool]
) -> str | None:
    """DeletedEverywhere, of the brokers that are replicas: what a leader knows, and a broker."""
    for n, row in after.rows.items():
        if row.log_start == 0 or not is_current_leader(after, n):
            continue
        asked = delete_up_to(n, row.log_start)
        for m in handlers.handle_delete_records_request(n, row, asked).sent:
            assert isinstance(m, DeleteRecordsResponse)
            for known, (b, other) in zip(row.image.brokers, after.rows.items(), strict=True):
                if known.fenced or not is_replica(row, b):
                    continue
                if m.error == "NONE" and other.log_start < m.offset:
                    starts = f"the log of broker {b} starts at {other.log_start}"
                    return f"leader {n} confirms a deletion up to {m.offset}, and {starts}"
    return None


# --- One broker ---


@_of_row("log_start", "high_watermark", "log", "status")
def log_bounds(n: int, row: BrokerRow, brokers: Collection[int]) -> str | None:
    """Log start, high watermark and log end are in order.

    Misses: a wrong position that keeps this order.
    """
    if is_up(row) and not 0 <= row.log_start <= row.high_watermark <= len(row.log):
        reaches = f"from {row.log_start} to {len(row.log)}"
        known = f"its high watermark is {row.high_watermark}"
        return f"the log of broker {n} reaches {reaches}, and {known}"
    return None


def cache_from(log: RecordLog) -> EpochCache:
    """The cache that the records of a log imply."""
    cache: EpochCache = ()
    for offset, record in enumerate(log):
        if record != GONE:
            cache = cache_assign(cache, record.epoch, offset)
    return cache


def cache_is_sound(row: BrokerRow) -> bool:
    cache: tuple[CacheEntry, ...] = row.epoch_cache
    implied = cache_from(row.log)
    return cache == implied or (cache[:-1] == implied and cache[-1].start == len(row.log))


@_of_row("epoch_cache", "log", "status")
def partition_epoch_cache_sound(n: int, row: BrokerRow, brokers: Collection[int]) -> str | None:
    """The epoch cache is the one that the log implies, with at most one more entry at its end, for
    an epoch without records.

    Misses: a wrong log with the matching cache, and brokers that are down.
    """
    if is_up(row) and not cache_is_sound(row):
        return f"the epoch cache of broker {n} is not that of its log"
    return None


def folded(brokers: Collection[int], image: Image, records: Iterable[MetadataRecord]) -> Image:
    """The image after reading these records, one by one."""
    places = sorted(brokers)
    for record in records:
        known, partition = list(image.brokers), image.partition
        if isinstance(record, BrokerRecord):
            known[places.index(record.broker)] = record.registration
        else:
            partition = record.partition
        image = type(image)(image.offset + 1, tuple(known), partition)
    return image


@_invariant("state")
def metadata_log_matching(after: PartitionState, handlers: BrokerHandlers) -> str | None:
    """A broker's image is that of a prefix of the committed metadata.

    Misses: metadata that is read late or never, and wrong decisions that are committed.
    """
    initial = handlers.initial.image
    for n, row in after.rows.items():
        if not is_up(row):
            continue
        read = row.image.offset - INITIAL_OFFSET
        if read > len(after.metadata):
            return f"broker {n} knows metadata that is not committed"
        if row.image != folded(after.rows, initial, after.metadata[:read]):
            return f"broker {n} knows other metadata than is committed"
    return None


# --- Refinement: a partition is one committed log (specs/common/CommittedLog.tla) ---


def known_committed(row: BrokerRow, committed: RecordLog) -> RecordLog:
    return merged(row.log, committed, row.high_watermark) if is_leader(row) else ()


@_invariant("step")
def partition_refines_committed_log(
    before: PartitionState, after: PartitionState, history: PartitionHistory
) -> str | None:
    """A partition implements one committed log that only grows; each leader knows a prefix of it.

    Misses: a leader that is the first to call a record committed that the ISR does not have,
    because its high watermark defines the committed log.
    """
    old_committed, committed = history.committed_before, history.committed
    if committed[: len(old_committed)] != old_committed:
        return "what was committed has changed"
    for n, row in after.rows.items():
        known = known_committed(row, committed)
        if known != committed[: len(known)]:
            return f"leader {n} believes records committed that are not"
        knew = known_committed(before.rows[n], old_committed)
        if known and knew != known[: len(knew)]:
            return f"leader {n} knew other records to be committed"
    return None


PARTITION_INVARIANTS: tuple[Invariant, ...] = tuple(_invariant.all)
"""All of them, in the order of the spec."""
