"""Transactions of a recording: the coordinators' log, and what lies in the partitions, compared.

By the rules X1 to X27 (docs/reference/protocol-rules.md). `RULES` says what each check asks.
A recorder of clients does not see their producer ids and epochs, so EpochHeldOnce is checked in the
log only.

Misses: a transaction's effects in topics that were not recorded; that a decision came before its
marker in time, for the logs have no clock in common; of a TV1 client, whose transactions all have
one epoch, a marker that is missing where nothing was written and one like it was repeated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from kraftcheck.kafka.observed import txnlog
from kraftcheck.kafka.observed.logs import Replica, topic_of
from kraftcheck.kafka.observed.txnlog import COMPLETED, ONGOING, PREPARED, TOPIC, Gone, Log, Row
from kraftcheck.kafka.observed.txnrows import (
    EPOCHS,
    HELD_ONCE,
    NOBODY,
    STATES,
    STUCK,
    held_once,
    rows_of,
    stuck,
)
from kraftcheck.kafka.observed.verdicts import Defect, first_of_each

DECIDED = "DecidedBeforeMarked"
TAIL = "TailNotActedOn"
ADDED = "PartitionAdded"
MARKED = "LogMatchesMarkers"
COORDINATORS = "CoordinatorEpochMonotonic"
ONE_EPOCH = "OneEpochPerTransaction"
SEQUENCES = "SequencesWithoutGap"
HANGING = "NoHanging"

RULES: Final = {
    STATES: "rows of a transactional id follow each other as X1 to X27 allow",
    EPOCHS: "and their producer ids and epochs likewise (X7, X20)",
    HELD_ONCE: "no producer id belongs to two transactional ids",
    DECIDED: "a marker is of the next decision about its partition, or repeats the last one",
    TAIL: "no marker is of a decision that was seen on a disk and is gone",
    ADDED: "a record in a transaction has a row that its partition was added",
    MARKED: "what is complete has its marker in every partition, in order",
    COORDINATORS: "coordinator epochs of a producer's markers never fall",
    ONE_EPOCH: "what one marker ends has one producer epoch",
    SEQUENCES: "sequence numbers of a producer epoch have no gap",
    HANGING: "what is open at rest is under way to its coordinator as well",
    STUCK: "no transaction is decided at rest, and waits for its markers",
}
"""Each check, and what it asks."""

NUMBERS: Final = 1 << 31
"""Of sequences; after the last comes 0."""


class Report(NamedTuple):
    asked: Counter[str]
    """How often each rule was."""
    defects: list[Defect]
    """The first place of each kind."""
    left: dict[str, str]
    """Rules that were not judged, and why."""


class Written(NamedTuple):
    """A batch of one producer."""

    first: int
    last: int
    epoch: int
    sequence: int
    coordinator: int
    kind: str
    """COMMIT or ABORT of a marker, else empty."""
    transactional: bool


Producers = dict[int, list[Written]]


def judge(
    coordinators: Sequence[txnlog.Replica] | None,
    data: Sequence[Replica],
    *,
    anew: AbstractSet[str] = frozenset(),
    at_rest: bool = True,
) -> Report:
    """coordinators: replicas of the transaction log; None: it was not recorded.

    anew: topics that were made again, whose partitions are judged by themselves: rows name them by
    their names, and so do those of the topic before.
    """
    asked: Counter[str] = Counter()
    left: dict[str, str] = {}
    known = [each for each in data if each.batches or not each.transactions]
    if len(known) < len(data) or not data:
        why = "the recording has no producer epochs of batches" if data else "no disks were copied"
        left |= dict.fromkeys((COORDINATORS, ONE_EPOCH, SEQUENCES, *_BOTH), why)
        known = []
    found = [defect for each in known for defect in _alone(each, asked)]
    if not coordinators:
        why = "the transaction log was not recorded"
        left |= dict.fromkeys((STATES, EPOCHS, HELD_ONCE, STUCK, *_BOTH), why)
    else:
        log = txnlog.log_of(coordinators)
        found += txnlog.differing(coordinators) if at_rest else []
        if log.whole:
            found += rows_of(log, asked)
            if anew:
                why = f"not asked of {', '.join(sorted(anew))}, which was made again"
                left |= dict.fromkeys((DECIDED, TAIL, ADDED, MARKED), why)
            once = [replica for replica in known if topic_of(replica.key) not in anew]
            found += [each for replica in once for each in _against(replica, log, asked)]
        else:
            why = "the transaction log was cleaned, so it no longer has every row"
            left |= dict.fromkeys((STATES, EPOCHS, DECIDED, TAIL, ADDED, MARKED), why)
            found += held_once(log, asked)
        if at_rest:
            found += stuck(log, asked, left)
            found += [each for replica in known for each in _hanging(replica, log, asked)]
        else:
            why = "the cluster did not come to rest"
            left |= dict.fromkeys((STUCK, HANGING), why)
    # That nothing was open in the end is no gap.
    return reported(asked, found, left, RULES.keys() - {HANGING})


_BOTH: Final = (DECIDED, TAIL, ADDED, MARKED, HANGING)
"""What needs the transaction log and the partitions."""


def reported(
    asked: Counter[str],
    found: Iterable[Defect],
    left: dict[str, str],
    rules: Iterable[str],
) -> Report:
    """The first place of each kind; a rule that was never asked is named."""
    never = {name: "there was nothing to ask it of" for name in sorted(rules) if not asked[name]}
    return Report(asked, first_of_each(found), {**never, **left})


def producers_of(replica: Replica) -> Producers:
    """The batches of a partition by producer id."""
    values = {offset: value for offset, _, value in replica.records}
    inside = {offset for offset, _, _ in replica.transactions}
    found: Producers = defaultdict(list)
    for first, last, producer, epoch, sequence, coordinator in replica.batches:
        kind = str(values.get(first)) if coordinator != NOBODY else ""
        found[producer].append(
            Written(first, last, epoch, sequence, coordinator, kind, first in inside)
        )
    return found


# -- A partition by itself


def _alone(replica: Replica, asked: Counter[str]) -> Iterator[Defect]:
    for producer, batches in sorted(producers_of(replica).items()):
        for check in (_coordinators_fall, _two_epochs, _gap):
            for wrong in check(batches, asked):
                name, reason = wrong
                why = f"producer {producer}: {reason}"
                yield Defect(name, replica.key, (replica.broker,), why)
                break


Wrong = tuple[str, str]
"""The name of the rule, and what is wrong."""


def _coordinators_fall(batches: Sequence[Written], asked: Counter[str]) -> Iterator[Wrong]:
    markers = [each for each in batches if each.kind]
    for before, after in pairwise(markers):
        asked[COORDINATORS] += 1
        if after.coordinator < before.coordinator:
            reason = (
                f"the marker at {after.first} is of coordinator epoch {after.coordinator}, after "
                f"one of {before.coordinator}"
            )
            yield COORDINATORS, reason


def _two_epochs(batches: Sequence[Written], asked: Counter[str]) -> Iterator[Wrong]:
    run: Written | None = None
    for each in batches:
        if each.kind:
            if run is not None:
                asked[ONE_EPOCH] += 1
                if each.epoch < run.epoch:
                    yield ONE_EPOCH, f"the marker at {each.first} has an older epoch than its data"
            run = None
        elif each.transactional:
            if run is not None and each.epoch != run.epoch:
                reason = (
                    f"offset {each.first} of epoch {each.epoch} is in the transaction that offset "
                    f"{run.first} of epoch {run.epoch} began"
                )
                yield ONE_EPOCH, reason
            run = run or each


def _gap(batches: Sequence[Written], asked: Counter[str]) -> Iterator[Wrong]:
    """A first batch may have any number outside transactions (T3)."""
    epoch, expected = NOBODY, 0
    for each in batches:
        if each.kind:
            continue
        if each.epoch != epoch:
            epoch, expected = each.epoch, 0 if each.transactional else each.sequence
        asked[SEQUENCES] += 1
        if each.sequence != expected:
            yield SEQUENCES, f"offset {each.first} has number {each.sequence}, not {expected}"
        expected = following(each)


def following(batch: Written) -> int:
    """The sequence number that comes next."""
    return (batch.sequence + batch.last - batch.first + 1) % NUMBERS


# -- One against the other


def _against(replica: Replica, log: Log, asked: Counter[str]) -> Iterator[Defect]:
    added: set[tuple[int, int]] = set()
    decisions: dict[int, list[Decision]] = defaultdict(list)
    for rows in log.rows.values():
        for row, after in zip_longest(rows, rows[1:]):
            if replica.key in row.partitions and row.state == ONGOING:
                added.add(row.identity)
            elif replica.key in row.partitions:
                complete = after if after is not None and after.state in COMPLETED else None
                decisions[row.producer].append(Decision(row, complete))
    written = producers_of(replica)
    for producer in sorted(decisions.keys() | written.keys()):
        batches = written.get(producer, [])
        yield from _not_added(replica, producer, batches, added, asked)
        markers = Markers(replica, producer, decisions.get(producer, []), log, asked)
        yield from markers.judge(batches)


def _not_added(
    replica: Replica,
    producer: int,
    batches: Sequence[Written],
    added: AbstractSet[tuple[int, int]],
    asked: Counter[str],
) -> Iterator[Defect]:
    for batch in batches:
        if not batch.kind and batch.transactional:
            asked[ADDED] += 1
            if (producer, batch.epoch) not in added:
                named = f"offset {batch.first} of producer {producer}, epoch {batch.epoch}"
                reason = f"{named}: no row says that the partition was added"
                yield Defect(ADDED, replica.key, (replica.broker,), reason)


class Decision(NamedTuple):
    """A row that decides about a partition, and the one that says that all markers are written."""

    row: Row
    complete: Row | None

    def is_of(self, marker: Written) -> bool:
        row = self.row
        wanted = (row.producer_epoch, PREPARED.get(row.state))
        return wanted == (marker.epoch, marker.kind) and row.epoch <= marker.coordinator


class Markers:
    """The markers of a producer in one partition, against the decisions about it.

    A marker is of the next decision; or it repeats the last one, which a coordinator does that did
    not hear that it was written; then nothing is open here. Of a TV1 client decisions look alike,
    so several of them may be the last one.
    """

    def __init__(
        self,
        replica: Replica,
        producer: int,
        decisions: Sequence[Decision],
        log: Log,
        asked: Counter[str],
    ) -> None:
        self._where = (replica.key, (replica.broker,))
        self._begins = replica.records[0][0] if replica.records else 0
        self._producer, self._decisions, self._log = producer, decisions, log
        self._asked = asked
        self._last = {NOBODY}
        """Places of the decision that may be the last one whose marker was seen."""

    def judge(self, batches: Sequence[Written]) -> Iterator[Defect]:
        is_open = False
        for batch in batches:
            if batch.kind:
                yield from self._marker(batch, is_open)
            is_open = not batch.kind and (batch.transactional or is_open)
        left = range(max(self._last) + 1, len(self._decisions))
        yield from self._skipped(left)
        self._asked[MARKED] += sum(each.complete is not None for each in self._decisions)

    def _marker(self, marker: Written, is_open: bool) -> Iterator[Defect]:
        self._asked[DECIDED] += 1
        self._asked[TAIL] += 1
        told, last = self._decisions, self._last
        following = {at + 1 for at in last if at + 1 < len(told) and told[at + 1].is_of(marker)}
        repeated = {at for at in last if at >= 0 and not is_open and told[at].is_of(marker)}
        if following | repeated:
            self._last = following | repeated
            return
        first = min(last) + 1
        later = (at for at in range(first, len(told)) if told[at].is_of(marker))
        at = next(later, None)
        if at is not None:
            yield from self._skipped(range(max(last) + 1, at))
            self._last = {at}
            return
        named = f"{marker.kind} at {marker.first} of producer {self._producer}"
        reason = f"{named}, epoch {marker.epoch}, coordinator epoch {marker.coordinator}: no "
        reason += "decision about this partition is left that it could be of"
        yield Defect(DECIDED, *self._where, reason)
        for lost in self._log.gone:
            if _is_of(lost, self._producer, marker):
                yield Defect(TAIL, *self._where, f"{named}: {_where(lost)}")

    def _skipped(self, places: Iterable[int]) -> Iterator[Defect]:
        """Complete, and no marker is here; where the log begins later it may be cut off."""
        if self._begins:
            return
        for row, complete in (self._decisions[at] for at in places):
            if complete is not None:
                reason = (
                    f"{row.id} is {complete.state} (offset {complete.offset} of the transaction "
                    f"log), and its {PREPARED[row.state]} of producer {self._producer}, epoch "
                    f"{row.producer_epoch} is not here"
                )
                yield Defect(MARKED, *self._where, reason)


def _is_of(lost: Gone, producer: int, marker: Written) -> bool:
    row = lost.row
    return row.identity == (producer, marker.epoch) and PREPARED.get(row.state) == marker.kind


def _where(lost: Gone) -> str:
    at = f"offset {lost.row.offset} of {TOPIC}-{lost.partition}, epoch {lost.row.epoch}"
    return f"decided by {at}, which broker {lost.broker} had, and which is gone"


def _hanging(replica: Replica, log: Log, asked: Counter[str]) -> Iterator[Defect]:
    last: Mapping[int, Row] = {row.producer: rows[-1] for rows in log.rows.values() for row in rows}
    for producer, first in sorted(open_in(replica).items()):
        row = last.get(producer)
        asked[HANGING] += 1
        under_way = (ONGOING, *PREPARED)
        if row is None or row.state not in under_way or replica.key not in row.partitions:
            state = f"{row.id} is {row.state}" if row else "no row is of it"
            reason = f"producer {producer} has a transaction open since {first}, and {state}"
            yield Defect(HANGING, replica.key, (replica.broker,), reason)


def open_in(replica: Replica) -> dict[int, int]:
    """By producer, the first offset of the transaction that nobody has ended."""
    found: dict[int, int] = {}
    for offset, producer, marker in replica.transactions:
        if marker:
            found.pop(producer, None)
        else:
            found.setdefault(producer, offset)
    return found
