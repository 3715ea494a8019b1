"""Name what transactions promise, as properties, and the history that these need.

It is the twin of TransactionProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it. The
fate of a batch is the type of the first marker after it in its partition, "None" while there is
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set as AbstractSet
from functools import lru_cache
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.kit.properties import of_state
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.transactions.messages import COORDINATOR, AddPartitions, Decision, EndTxn
from kraftcheck.reference.transactions.types import (
    NOTHING_PENDING,
    Client,
    Constants,
    Coordinators,
    Follower,
    LogEntry,
    NoOffsets,
    PartitionLeader,
    Reader,
    committed,
)

NOTHING: Final = (0, -1)
"""No offsets: of no transaction, and no number."""

TXN_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    "Dead",
)
PENDING_STATES: Final = (*TXN_STATES, "None", "PrepareEpochFence")
STATUSES: Final = (
    *("Off", "Initializing", "Ready", "Open", "Ending", "Abortable", "Recovering", "Bumping"),
    *("Fenced", "Failed", "Unusable"),
)


class Decided(NamedTuple):
    """A Prepare or Complete record that is committed."""

    state: str
    epoch: int
    partitions: tuple[int, ...]


class EndAnswer(NamedTuple):
    """The end of a transaction that was answered without an error."""

    txn: int
    decision: str
    epoch: int


class History(msgspec.Struct, frozen=True):
    decided: frozenset[Decided] = frozenset()
    told: frozenset[EndAnswer] = frozenset()
    asked: frozenset[int] = frozenset()
    """Transactions whose producer asked to commit them."""
    aborts: frozenset[int] = frozenset()
    """Epochs in which one asked to abort."""
    handed_out: int = 0
    """The epoch that InitProducerId was last answered with."""
    late: frozenset[tuple[int, int]] = frozenset()
    """(partition, transaction) of batches that were appended below that epoch."""


Rows: TypeAlias = Mapping[int, Any]


class State(msgspec.Struct):
    """All rows, by what they are."""

    constants: Constants
    log: Coordinators
    partitions: Mapping[int, PartitionLeader]
    clients: Mapping[int, Client]
    readers: Mapping[int, Reader]
    history: History
    logs: Mapping[int, tuple[LogEntry, ...]]
    """Of the partitions."""
    found: frozenset[tuple[int, str, int]] | None = None
    """See `fates`."""


def state_of(constants: Constants, rows: Rows) -> State:
    partitions = {p: rows[p] for p in constants.partitions}
    return State(
        constants,
        rows[COORDINATOR],
        partitions,
        {c: rows[c] for c in constants.clients},
        {r: rows[r] for r in (*constants.read_committed, *constants.read_uncommitted)},
        rows.get(HISTORY) or History(),
        {p: row.log for p, row in partitions.items()},
    )


# --- The history


def history_next(constants: Constants, before: Rows, after: Rows) -> History:
    """The history after a step."""
    past: History = before.get(HISTORY) or History()
    if _tells_nothing(constants, before, after):
        return past
    handed_out = past.handed_out
    told, asked, aborts = {*past.told}, {*past.asked}, {*past.aborts}
    for c in constants.clients:
        was, now = before[c], after[c]
        moved = was.status, now.status
        if moved in (("Initializing", "Ready"), ("Bumping", "Ready")):
            handed_out = now.epoch
        elif was.status in ("Ending", "Recovering") and now.status in ("Ready", "Bumping"):
            told.add(EndAnswer(was.txn, was.decision, now.epoch))
        elif was.decision == "None" and now.decision == "Commit":
            asked.add(now.txn)
        elif was.decision == "None" and now.decision == "Abort":
            aborts.add(now.epoch)
    records = newly_committed(before[COORDINATOR], after[COORDINATOR])
    decided = {
        Decided(r.state, r.epoch, r.partitions)
        for r in records
        if r.state not in ("Empty", "Ongoing", "Dead")
    }
    late = {
        (p, entry.txn)
        for p in constants.partitions
        for entry in after[p].log[len(before[p].log) :]
        if entry.kind == "Batch" and entry.epoch < past.handed_out
    }
    return History(
        past.decided | decided,
        frozenset(told),
        frozenset(asked),
        frozenset(aborts),
        handed_out,
        past.late | late,
    )


def _tells_nothing(constants: Constants, before: Rows, after: Rows) -> bool:
    """Whether nothing changes that a history is made of, as in most steps."""
    was, now = before[COORDINATOR], after[COORDINATOR]
    if now is not was and now.log.committed != was.log.committed:
        return False
    for p in constants.partitions:
        if len(after[p].log) != len(before[p].log):
            return False
    for c in constants.clients:  # noqa: SIM110
        if after[c].status != before[c].status:
            return False
    return True


def newly_committed(old: Coordinators, new: Coordinators) -> tuple[Any, ...]:
    return () if new.log.committed == old.log.committed else old.log.leader


# --- Words


def batches(log: tuple[LogEntry, ...]) -> Iterator[LogEntry]:
    return (e for e in log if e.kind == "Batch")


def markers(log: tuple[LogEntry, ...]) -> list[LogEntry]:
    return [e for e in log if e.kind == "Marker"]


def fates(state: State) -> frozenset[tuple[int, str, int]]:
    """(transaction, fate, partition) of every batch: found once for all who ask of a state."""
    if state.found is None:
        each = ((txn, fate, p) for p, log in state.logs.items() for txn, fate in _fates_in(log))
        state.found = frozenset(each)
    return state.found


@lru_cache(maxsize=64)
def _pairs(decided: frozenset[Decided]) -> frozenset[tuple[str, int]]:
    """State and epoch of each. Most steps leave what is decided as it is."""
    return frozenset((each.state, each.epoch) for each in decided)


@lru_cache(maxsize=64)
def _completed(decided: frozenset[Decided]) -> tuple[Decided, ...]:
    return tuple(sorted(each for each in decided if each.state.startswith("Complete")))


@lru_cache(maxsize=64)
def _prepared(decided: frozenset[Decided]) -> tuple[Decided, ...]:
    return tuple(sorted(each for each in decided if each.state.startswith("Prepare")))


@lru_cache(maxsize=4096)
def _fates_in(log: tuple[LogEntry, ...]) -> tuple[tuple[int, str], ...]:
    """(transaction, fate) of every batch of a log: most steps leave all logs as they are."""
    return tuple([(entry.txn, fate) for entry, fate in _batches_with_fates(log)])


@lru_cache(maxsize=4096)
def _batches_with_fates(log: tuple[LogEntry, ...]) -> tuple[tuple[LogEntry, str], ...]:
    """Every batch of a log, in its order, with its fate."""
    found = []
    decision = "None"
    for entry in reversed(log):
        if entry.kind == "Marker":
            decision = entry.decision
        elif entry.kind == "Batch":
            found.append((entry, decision))
    return tuple(reversed(found))


def decision_is(state: str) -> Decision:
    return "Commit" if state in ("PrepareCommit", "CompleteCommit") else "Abort"


def is_first_of_id(constants: Constants, epoch: int) -> bool:
    """Each producer id has max_epoch + 1 epochs to give, and one that it ends with."""
    return epoch % (constants.max_epoch + 2) == 0


def is_last_of_id(constants: Constants, epoch: int) -> bool:
    return epoch % (constants.max_epoch + 2) == constants.max_epoch + 1


def has_fate(state: State, txn: int, wanted: str) -> str | None:
    wrong = [p for t, fate, p in fates(state) if t == txn and fate == wanted]
    return f"its batch in partition {min(wrong)} has the marker {wanted}" if wrong else None


# --- Types


def transaction_type_inv(old: State, new: State) -> str | None:
    """Every field of a row has a value of its type.

    Misses: a value of the right type that is wrong in this state.
    """
    # Asked are those that a step has changed; all, if it has none.
    log = new.log
    others = all(
        getattr(new, name) == getattr(old, name) for name in ("partitions", "clients", "readers")
    )
    for n, c in enumerate(log.coordinators if log is not old.log or others else (), 1):
        if c.txn.state not in TXN_STATES or c.txn.epoch < -1:
            return f"coordinator {n} has the state {c.txn.state} in epoch {c.txn.epoch}"
        if c.pending.state not in PENDING_STATES:
            return f"coordinator {n} has {c.pending.state} pending"
        if c.to_mark and not {*c.to_mark} <= {*c.txn.partitions}:
            return f"coordinator {n} marks what is not in its transaction"
        if c.active and n > log.leader_epoch:
            return f"coordinator {n} is active in epoch {log.leader_epoch}"
    whole = others and log is old.log
    for p, row in new.partitions.items():
        if row is old.partitions[p] and not whole:
            continue
        if row.producer.epoch < -1 or row.guard < -1:
            return f"partition {p} has the producer epoch {row.producer.epoch}, guard {row.guard}"
        if row.verifying and any(v.request.partition != p for v in row.verifying):
            return f"partition {p} verifies a batch of another"
    for r, reader in new.readers.items():
        ends = [(e.shown[0], e.shown[-1], e.position) for e in reader.read if e.shown]
        if any(not 1 <= first <= last <= end for first, last, end in ends):
            return f"reader {r} has seen what it has not got past"
    wrong = [c for c, row in new.clients.items() if row.status not in STATUSES]
    return f"producer {wrong[0]} is {new.clients[wrong[0]].status}" if wrong else None


def producer_state_is_of_log(state: State) -> str | None:
    """A partition's state of its producer is the one that its log implies.

    Misses: a wrong log, and sequence numbers.
    """
    for p, row in state.partitions.items():
        known, last = (row.producer.epoch, row.producer.open), row.log[-1:]
        said = (last[0].epoch, last[0].kind == "Batch") if last else (-1, False)
        if known != said:
            return f"partition {p} knows epoch and open {known}, its log says {said}"
    return None


# --- Safety


def txn_atomic(state: State) -> str | None:
    """No transaction is committed in one partition and aborted in another.

    Misses: a transaction that is committed in one partition and never ends in another.
    """
    found = fates(state)
    committed = {t for t, fate, _ in found if fate == "Commit"}
    torn = sorted(t for t, fate, _ in found if fate == "Abort" and t in committed)
    return f"transaction {torn[0]} is committed in one place, aborted in another" if torn else None


def acked_commit(state: State) -> str | None:
    """A transaction whose commit was acknowledged is aborted in no partition.

    Misses: a committed batch that disappears from a log; logs lose nothing here.
    """
    return _told_otherwise(state, "Commit", "Abort")


def aborted_invisible(state: State) -> str | None:
    """A transaction whose abort was acknowledged is committed in no partition, so no reader of
    committed data sees it.

    Misses: a batch that is visible before its marker (see ReadersSeeCommitted).
    """
    return _told_otherwise(state, "Abort", "Commit")


def _told_otherwise(state: State, decision: str, other: str) -> str | None:
    for told in sorted(state.history.told):
        wrong = has_fate(state, told.txn, other) if told.decision == decision else None
        if wrong:
            return f"{decision} of transaction {told.txn} was answered; {wrong}"
    return None


def commit_was_asked(state: State) -> str | None:
    """A committed transaction had a request to commit it.

    Misses: a request of an instance that was replaced meanwhile.
    """
    wrong = sorted(
        t for t, fate, _ in fates(state) if fate == "Commit" and t not in state.history.asked
    )
    return f"nobody asked to commit transaction {wrong[0]}, and it is" if wrong else None


def decided_before_marked(state: State) -> str | None:
    """The decision of a marker was committed before the marker was appended.

    Misses: a marker of an earlier decision that arrives in a later epoch of the same number.
    """
    decided = _pairs(state.history.decided)
    for p, log in state.logs.items():
        for m in markers(log):
            if (f"Prepare{m.decision}", m.epoch) not in decided:
                return f"partition {p} has {m.decision} of epoch {m.epoch}, which is not decided"
    return None


def one_decision(state: State) -> str | None:
    """With an epoch for each transaction, all markers, Complete records and responses of an epoch
    have one decision.

    Misses: version 1, in which transactions share an epoch.
    """
    seen: set[tuple[int, str]]
    seen = {(m.epoch, m.decision) for log in state.logs.values() for m in markers(log)}
    seen |= {(t.epoch, t.decision) for t in state.history.told}
    seen |= {(d.epoch, decision_is(d.state)) for d in _completed(state.history.decided)}
    return _two_decisions(state, seen)


def one_prepared_decision(state: State) -> str | None:
    """All committed Prepare records of an epoch have one decision.

    This holds only if no append is given up (X3); otherwise a second record overrules the first.

    Misses: version 1, and runs in which an append is given up.
    """
    return _two_decisions(state, {(d.epoch, decision_is(d.state)) for d in state.history.decided})


def _two_decisions(state: State, seen: AbstractSet[tuple[int, str]]) -> str | None:
    if state.constants.version != 2:
        return None
    both = sorted(e for e, decision in seen if decision == "Commit" and (e, "Abort") in seen)
    return f"epoch {both[0]} has two decisions" if both else None


def log_matches_markers(state: State) -> str | None:
    """When a Complete record is committed, each partition of the transaction has its marker.

    Misses: a missing marker of a transaction without a Complete record.
    """
    marked = {(p, m.epoch, m.decision) for p, log in state.logs.items() for m in markers(log)}
    prepared = _prepared(state.history.decided)
    for done in _completed(state.history.decided):
        decision = decision_is(done.state)
        epochs = {done.epoch}
        if is_first_of_id(state.constants, done.epoch):
            epochs.add(done.epoch - 1)
        own = [d for d in prepared if d.epoch in epochs and d.state == f"Prepare{decision}"]
        if not any({(p, d.epoch, decision) for p in d.partitions} <= marked for d in own):
            return f"{done.state} of epoch {done.epoch} is committed, and a marker is missing"
    return None


def zombie_commits_nothing(state: State) -> str | None:
    """A batch that a replaced instance appends is never committed.

    Misses: a batch that was appended before the new instance received its epoch.
    """
    late = sorted(
        t for t, fate, p in fates(state) if fate == "Commit" and (p, t) in state.history.late
    )
    return f"transaction {late[0]} of a replaced producer is committed" if late else None


def exactly_once_append(state: State) -> str | None:
    """A producer's batch is in a log at most once, and its committed batches are in the order of
    sending. Copies of offsets are allowed, because they are harmless.

    Misses: a batch that never arrives (see CommitIsWhole and NoGaps).
    """
    committed = {t.txn for t in state.history.told if t.decision == "Commit"}
    for p in [p for p in state.logs if p not in state.constants.offsets]:
        for one, other in combinations(batches(state.logs[p]), 2):
            first, second = (one.txn, one.sequence), (other.txn, other.sequence)
            if first == second:
                return f"partition {p} has the batch of transaction {one.txn} twice"
            both = {one.txn, other.txn} <= committed and one.client == other.client
            if both and one.txn == other.txn and first > second:
                return f"partition {p} has batches of transaction {one.txn} out of order"
            if both and one.txn > other.txn:
                return f"partition {p} has transaction {other.txn} after {one.txn}"
    return None


def no_gaps(state: State) -> str | None:
    """With version 2 no batch is in a log without its predecessor, so no batch is mistaken for a
    copy. With version 1 a partition without state of the producer accepts any batch.

    Misses: version 1.
    """
    if state.constants.version != 2:
        return None
    for p in [p for p in state.logs if p not in state.constants.offsets]:
        there: set[tuple[int, int]] = set()
        for each in batches(state.logs[p]):
            if each.sequence > 0 and (each.epoch, each.sequence - 1) not in there:
                return f"partition {p} has batch {each.sequence} of epoch {each.epoch} alone"
            there.add((each.epoch, each.sequence))
    return None


def offsets_atomic_with_records(state: State) -> str | None:
    """The offsets that a group receives belong to a committed transaction, and without pending ones
    to the last committed transaction.

    Misses: offsets that are returned late because others are pending.
    """
    for p, row in state.partitions.items():
        if isinstance(row.offsets, NoOffsets):
            continue
        shown, pending = row.offsets.committed, row.offsets.pending
        done = [(e.txn, e.sequence) for e, fate in _batches_with_fates(row.log) if fate == "Commit"]
        told = (shown.txn, shown.sequence)
        if told != NOTHING and told not in done:
            return f"partition {p} tells offsets of transaction {shown.txn}, which is not committed"
        elsewhere = has_fate(state, shown.txn, "Abort")
        if elsewhere:
            return f"partition {p} tells offsets of transaction {shown.txn}; {elsewhere}"
        if (pending.txn, pending.sequence) == NOTHING and done and done[-1] != told:
            return f"partition {p} tells offsets of transaction {shown.txn}, not of {done[-1][0]}"
    return None


def exactly_once_inputs(state: State) -> str | None:
    """Offsets never replace offsets that the same producer sent later, so no input is consumed
    twice.

    Misses: offsets of several producers.
    """
    for p in [p for p in state.logs if p in state.constants.offsets]:
        sent = [e for e, fate in _batches_with_fates(state.logs[p]) if fate != "Abort"]
        for one, other in combinations(sent, 2):
            if one.client == other.client and (other.txn, other.sequence) < (one.txn, one.sequence):
                return (
                    f"partition {p} has offsets {other.sequence} of transaction {other.txn} after "
                    f"{one.sequence} of {one.txn}"
                )
    return None


def no_hanging(state: State) -> str | None:
    """If a partition has an open transaction, its active coordinator knows that, and will end it.

    Misses: whether it does end, and anything while the coordinator loads.
    """
    c = state.log.coordinators[state.log.leader_epoch - 1]
    if not c.active:
        return None
    ends = c.txn.state in ("Ongoing", "PrepareCommit", "PrepareAbort")
    for p, row in state.partitions.items():
        if row.producer.open and not (ends and p in c.txn.partitions):
            return f"a transaction is open in partition {p}, and its coordinator is {c.txn.state}"
    return None


def epochs_in_bounds(state: State) -> str | None:
    """No client has the last epoch of a producer id, and no transaction ends with an epoch of the
    next id. With version 1 the first epoch of an id ends the transactions of the client that
    received it.

    Misses: a next id that another producer has.
    """
    for c, row in state.clients.items():
        if is_last_of_id(state.constants, row.epoch):
            return f"producer {c} has epoch {row.epoch}, which is given to nobody"
    prepared = _prepared(state.history.decided)
    over = sorted(d.epoch for d in prepared if is_first_of_id(state.constants, d.epoch))
    if state.constants.version == 1:
        over = [epoch for epoch in over if epoch > state.history.handed_out]
    return f"a transaction is ended with epoch {over[0]}, of the next producer id" if over else None


def fenced_by_others(state: State) -> str | None:
    """A fenced producer was replaced, or its coordinator aborted its transaction.

    With version 1, a coordinator that moved or that has forgotten the id does not recognize a
    repeated request (KAFKA-20357). A fence counts from when it is written (X8).

    Misses: version 1, if the coordinator moved or ids expire.
    """
    fenced = [c for c, row in state.clients.items() if row.status == "Fenced"]
    alone = [c for c in fenced if all(_is_off(state, o) for o in state.clients if o != c)]
    constants, past, log = state.constants, state.history, state.log
    excused = constants.version == 1 and (log.leader_epoch > 1 or constants.ids_expire)
    if not alone or excused:
        return None
    ended = 1 if constants.version == 2 else 0
    written = {(r.state, r.epoch) for r in log.log.leader} | _pairs(past.decided)
    if any(each == "PrepareAbort" and e - ended not in past.aborts for each, e in written):
        return None
    return f"producer {alone[0]} is told that it is fenced, and nobody has fenced it"


def _is_off(state: State, c: int) -> bool:
    return state.clients[c].status == "Off"


def end_not_refused(state: State) -> str | None:
    """With version 2 no request to end a transaction is refused because of the transaction's state.

    Misses: version 1, and refused offsets.
    """
    ended = {c: row for c, row in state.clients.items() if row.decision != "None"}
    failed = [c for c, row in ended.items() if row.status == "Failed"]
    if state.constants.version != 2 or not failed:
        return None
    return f"producer {failed[0]} is told INVALID_TXN_STATE, after which it is unusable"


def epoch_held_once(state: State) -> str | None:
    """No two instances have one epoch.

    Misses: instances that have not received their epoch yet.
    """
    held = {
        c: row.epoch
        for c, row in state.clients.items()
        if row.status in ("Ready", "Open", "Ending")
    }
    for one, other in combinations(held, 2):
        if held[one] == held[other]:
            return f"producers {one} and {other} both have epoch {held[one]}"
    return None


def lso_bounds(state: State) -> str | None:
    """Everything below the last stable offset is committed, and its decision too (X17).

    Misses: partitions with one replica, and an offset that is smaller than possible.
    """
    for p, row in state.partitions.items():
        if not isinstance(row.follower, Follower):
            continue
        kept, stable = row.follower.log, row.follower.stable
        if stable > len(kept):
            return f"partition {p} shows {stable} records, {len(kept)} are committed"
        ended = any(e.kind == "Marker" for e in kept[stable:])
        tail = kept[:stable][-1:]
        if tail and tail[0].kind == "Batch" and not ended:
            return f"partition {p} shows {stable} records, and the last is not decided"
    return None


# --- Properties of steps


def epoch_monotonic(old: State, new: State) -> str | None:
    """Epochs never decrease in the transaction log, nor in the committed part of a partition.

    Misses: an epoch that should have increased.
    """
    if new.log.log.committed.epoch < old.log.log.committed.epoch:
        return f"the transaction log goes back to epoch {new.log.log.committed.epoch}"
    for p, row in new.partitions.items():
        before, after = committed(old.partitions[p]).producer, committed(row).producer
        if after.epoch < before.epoch or after.coordinator_epoch < before.coordinator_epoch:
            return (
                f"partition {p} goes back from epoch {before.epoch} of coordinator "
                f"{before.coordinator_epoch} to {after.epoch} of {after.coordinator_epoch}"
            )
    return None


def zombie_fenced(old: State, new: State) -> str | None:
    """After a response to InitProducerId, no older instance can add a partition or end a
    transaction.

    Misses: requests that change nothing at the coordinator, and appends of the older instance to
    partitions.
    """
    at = old.log.leader_epoch - 1
    before, after = old.log.coordinators[at].pending, new.log.coordinators[at].pending
    request = after.request
    if after == before or not isinstance(request, AddPartitions | EndTxn):
        return None
    if request.epoch >= old.history.handed_out:
        return None
    return f"a request of epoch {request.epoch} begins {after.state} after a newer one was told"


def guard_kept(old: State, new: State) -> str | None:
    """A guard ends with an appended batch or with a marker of a larger epoch, so no marker takes
    the guard of a later transaction.

    Misses: version 1, partitions with two replicas (a guard ends with its leader), and a guard that
    ends with a late batch of an earlier transaction.
    """
    if new.constants.version != 2 or new.constants.replicas != 1:
        return None
    for p, row in new.partitions.items():
        before = old.partitions[p]
        grown = row.log[len(before.log) :]
        if before.guard == -1 or row.guard != -1 or any(e.kind == "Batch" for e in grown):
            continue
        if row.producer.epoch <= before.guard:
            return (
                f"partition {p} loses the guard of epoch {before.guard} to a marker of epoch "
                f"{row.producer.epoch}"
            )
    return None


def lso_monotonic(old: State, new: State) -> str | None:
    """A new leader never has a smaller last stable offset than an earlier one (X17).

    Misses: partitions with one replica.
    """
    for p, row in new.partitions.items():
        before, after = old.partitions[p].follower, row.follower
        if not isinstance(before, Follower) or not isinstance(after, Follower):
            continue
        if after.stable < before.stable:
            return f"partition {p} showed {before.stable} records, and now {after.stable}"
    return None


def pending_is_local(state: State) -> str | None:
    """The pending transition of the active coordinator is the last record of its log, or not
    written yet.

    Misses: pending transitions of a replaced coordinator.
    """
    log = state.log
    c = log.coordinators[log.leader_epoch - 1]
    pending = c.pending
    if pending.logged:
        last = log.log.leader[-1] if log.log.leader else log.log.committed
        begun = (pending.state, pending.epoch, pending.partitions, log.leader_epoch)
        if (last.state, last.epoch, last.partitions, last.leader_epoch) != begun:
            return (
                f"{pending.state} of epoch {pending.epoch} is pending, and the log ends otherwise"
            )
        return None
    completes = pending.state.startswith("Complete")
    fences = pending.state == "PrepareEpochFence" and c.txn.state == "Ongoing"
    decided = c.txn.state.startswith("Prepare") and decision_is(c.txn.state) == decision_is(
        pending.state
    )
    if pending == NOTHING_PENDING or fences or (completes and decided):
        return None
    return f"{pending.state} is pending in the state {c.txn.state}"


def readers_see_committed(state: State) -> str | None:
    """A read_committed reader has seen exactly the committed batches before its position, and all
    of them are decided (X18).

    Misses: a batch with another decision in another partition.
    """
    for r in state.constants.read_committed:
        for p, kept, end, shown in _read(state, r):
            if end > len(kept):
                return f"reader {r} is past the high watermark of partition {p}"
            for at, fate in _numbered(kept, end):
                if fate == "None":
                    return f"reader {r} is past what is not decided in partition {p}"
                if (at in shown) != (fate == "Commit"):
                    told = "was shown" if at in shown else "was not shown"
                    return f"reader {r} {told} record {at} of partition {p}: its marker is {fate}"
    return None


def readers_see_all(state: State) -> str | None:
    """A read_uncommitted reader has seen all batches before its position, and only records that
    every leader has (X18).

    Misses: partitions with one replica, which commit at once.
    """
    for r in state.constants.read_uncommitted:
        for p, kept, end, shown in _read(state, r):
            if end > len(kept):
                return f"reader {r} is past the high watermark of partition {p}"
            if tuple([at for at, _ in _numbered(kept, end)]) != shown:
                return f"reader {r} was shown {[*shown]} of partition {p}, not each of its batches"
    return None


def _read(state: State, r: int) -> Iterator[tuple[int, tuple[LogEntry, ...], int, tuple[int, ...]]]:
    """Give for each partition what no change of leaders takes back.

    Also how far the reader has got, and what it was shown.
    """
    for p, read in zip(state.constants.partitions, state.readers[r].read, strict=True):
        yield p, committed(state.partitions[p]).log, read.position, read.shown


@lru_cache(maxsize=4096)
def _numbered(log: tuple[LogEntry, ...], end: int) -> tuple[tuple[int, str], ...]:
    """Number and fate of every batch of a log, up to end."""
    ats = [at for at, entry in enumerate(log, 1) if entry.kind == "Batch"]
    both = zip(ats, _batches_with_fates(log), strict=True)
    return tuple([(at, fate) for at, (_, fate) in both if at <= end])


def commit_is_whole(old: State, new: State) -> str | None:
    """When a commit is acknowledged, the logs have everything that the producer sent in the
    transaction (X32).

    Misses: all offsets of a transaction except one.
    """
    for c, row in old.clients.items():
        if row.status != "Ending" or row.decision != "Commit" or new.clients[c].status != "Ready":
            continue
        for p in row.sent:
            there = {e.sequence for e in batches(old.logs[p]) if e.txn == row.txn}
            if not there:
                return f"transaction {row.txn} is committed, and partition {p} has nothing of it"
            sent = row.sequences[old.constants.partitions.index(p)]
            is_counted = old.constants.version == 2 and p not in old.constants.offsets
            if is_counted and (lost := {*range(sent)} - there):
                return (
                    f"transaction {row.txn} is committed, and partition {p} lacks batch {min(lost)}"
                )
    return None


_named = of_state(state_of)


def aborted_is_listed(old: State, new: State) -> str | None:
    """A transaction that a sweep aborts is the one that the sweep has listed (X26).

    Misses: version 1, in which transactions share an epoch.
    """
    at = old.log.leader_epoch - 1
    before, after = old.log.coordinators[at], new.log.coordinators[at]
    acts = before.listed != -1 and after.listed == -1
    fences = (before.pending.state, after.pending.state) == ("None", "PrepareEpochFence")
    if not (acts and fences) or before.txn.epoch == before.listed:
        return None
    return f"the transaction of epoch {before.txn.epoch} is aborted, {before.listed} was listed"


PROPERTIES: Final = (
    _named("TransactionTypeInv", transaction_type_inv, "log", "partitions", "clients", "readers"),
    _named("ProducerStateIsOfLog", producer_state_is_of_log, "partitions"),
    _named("TxnAtomic", txn_atomic, "logs"),
    _named("AckedCommit", acked_commit, "logs", "history"),
    _named("AbortedInvisible", aborted_invisible, "logs", "history"),
    _named("CommitWasAsked", commit_was_asked, "logs", "history"),
    _named("DecidedBeforeMarked", decided_before_marked, "logs", "history"),
    _named("OneDecision", one_decision, "logs", "history"),
    _named("OnePreparedDecision", one_prepared_decision, "history"),
    _named("LogMatchesMarkers", log_matches_markers, "logs", "history"),
    _named("ZombieCommitsNothing", zombie_commits_nothing, "logs", "history"),
    _named("ExactlyOnceAppend", exactly_once_append, "logs", "history"),
    _named("NoGaps", no_gaps, "logs"),
    _named("OffsetsAtomicWithRecords", offsets_atomic_with_records, "partitions", "logs"),
    _named("ExactlyOnceInputs", exactly_once_inputs, "logs"),
    _named("NoHanging", no_hanging, "log", "partitions"),
    _named("EpochsInBounds", epochs_in_bounds, "clients", "history"),
    _named("FencedByOthers", fenced_by_others, "clients", "history", "log"),
    _named("EndNotRefused", end_not_refused, "clients"),
    _named("EpochHeldOnce", epoch_held_once, "clients"),
    _named("LsoBounds", lso_bounds, "partitions"),
    _named("PendingIsLocal", pending_is_local, "log"),
    _named("ReadersSeeCommitted", readers_see_committed, "readers", "partitions"),
    _named("ReadersSeeAll", readers_see_all, "readers", "partitions"),
    _named("EpochMonotonic", epoch_monotonic, "log", "partitions"),
    _named("ZombieFenced", zombie_fenced, "log"),
    _named("GuardKept", guard_kept, "partitions"),
    _named("LsoMonotonic", lso_monotonic, "partitions"),
    _named("CommitIsWhole", commit_is_whole, "clients"),
    _named("AbortedIsListed", aborted_is_listed, "log"),
)
