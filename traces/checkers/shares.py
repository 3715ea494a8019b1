"""Share groups against what was promised: is each record delivered, and is what is done done?

    shares_of(rows)               a `Shares`, or None: no share group is told of
    judged(shares, promise, ...)  an `Across`
    as_fetches(rows)              the history for the checkers of logs: deliveries as fetches

Each record of a group is an object (`Record`): *available*, *acquired* by a member, or *done*. A
delivery acquires it; a lock may end at any time; an acknowledgement that was answered without an
error is its holder's, or came after the record was done (an acknowledgement before the start offset
of the share partition is answered without an error). One without an answer may finish the record at
any time after it was sent, or never. The search for a linearization (search.py) decides whether an
order of these explains a record. Most records have one delivery and one final acknowledgement; they
are *plain*, need no search, and stay columns.

    acked-redelivered      no order does: the record was done before a poll that shows it was sent
    foreign-ack-accepted   no order does, for another reason: its holder had lost it

What needs the clock (locks, stalls) is left out of a history without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, Level, Promise
from kraftcheck.traces.checkers.columns import Flags, Ints, indices, pairs
from kraftcheck.traces.checkers.findings import (
    Across,
    Broken,
    Evidence,
    anomaly_of,
    gravest_first,
)
from kraftcheck.traces.checkers.search import Limits, check_object
from kraftcheck.traces.checkers.sequential import REFUSED, Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.collection import no_collection
from kraftcheck.traces.history import (
    ACCEPT,
    ACKNOWLEDGE,
    ACKNOWLEDGEMENTS,
    FAIL,
    INDETERMINATE,
    OK,
    REJECT,
    RELEASE,
    RENEW,
    SHARE_OPERATIONS,
    SHARE_POLL,
    Annotation,
    History,
    HistoryError,
    Operation,
)
from kraftcheck.traces.rows import NEVER, NULL, Rows, Words, begins, columns_at, places_of, rows_of

SHARES: Final = {
    "acked-redelivered": "a record was delivered after its ACCEPT or REJECT had succeeded",
    "skipped-record": "no member of a share group was shown a record, and others read to the end",
    "undelivered-archived": "a record was released or its lock ended, and it was not shown again",
    "stalled-partition": "a share group was shown nothing for too long, though records were there",
    "foreign-ack-accepted": "an acknowledgement succeeded whose member had lost the record",
    "double-acquisition": "two members were shown a record within the time of one lock",
    "over-delivered": "a record was delivered more often than the limit allows",
    "count-repeated": "a delivery has no higher delivery count than the one before it",
}
"""What may be wrong with a share group, the gravest first."""
UNREAD: Final = ("skipped-record", "undelivered-archived")
"""They need that consumers read to the end."""

FINAL: Final = (ACCEPT, REJECT)
DONE: Final = "done"
OPEN: Final = "open-record"
EVER: Final = 1 << 62


class Ack(NamedTuple):
    """An acknowledgement of one delivery of a record."""

    invoked: int
    completed: int
    """EVER: it has no answer."""
    kind: str
    outcome: str
    operation: int


class Delivery(NamedTuple):
    """A record in a member's hand, and what the member said of it."""

    invoked: int
    completed: int
    process: int
    number: int | None
    """Its delivery count, where it was told."""
    operation: int
    acks: list[Ack]

    def at_limit(self, limit: int) -> bool:
        """Whether the record may be archived when it is released."""
        return self.number is None or self.number >= limit


class Sent(NamedTuple):
    """The records that were written for certain, in the order of their offsets."""

    key: Words
    offset: Ints
    since: Ints
    """From when on it could be read; EVER: not known, since its transaction decides."""
    operation: Ints

    def of(self, key: str | None) -> Ints:
        """The places of those of a partition."""
        code = NULL if key is None else self.key.names.index(key)
        return indices(self.key.codes == code)


Place = tuple[Any, str | None]
"""A group and a partition."""


class Shown(NamedTuple):
    """What members were shown of one partition."""

    offset: Ints
    """Of each record, ascending."""
    first: Ints
    """When the first poll that shows it returned."""
    polls: Ints
    """When polls that show any returned, ascending."""


NOTHING: Final = Shown(*(np.empty(0, np.int64),) * 3)


NONE_SENT: Final = Sent(Words(NOTHING.offset, ()), *NOTHING)


class Shares(NamedTuple):
    """What the members of share groups were shown, record by record."""

    annotations: tuple[Annotation, ...]
    records: dict[Place, dict[int, list[Delivery]]]
    """Deliveries of the records that are not plain, in the order of their polls' invocations."""
    shown: dict[Place, Shown]
    trouble: dict[int, list[int]]
    """When a member closed, or sent what did not succeed: it may have lost its session."""
    polls: dict[Any, int]
    """Of each group, when its last answered poll began."""
    sent: Sent = NONE_SENT
    earliest: Mapping[str | None, int] = {}
    """The largest start of each log that a client was told."""

    @property
    def size(self) -> int:
        """The number of records that were shown."""
        return sum(len(each.offset) for each in self.shown.values())

    @property
    def keys(self) -> tuple[str | None, ...]:
        """The partitions whose records were written for certain."""
        codes = np.unique(self.sent.key.codes).tolist()
        return tuple(None if each == NULL else self.sent.key.names[each] for each in codes)


class _Items(NamedTuple):
    """Deliveries, or acknowledgements, of records: the row of each, and what is said of it."""

    row: Ints
    offset: Ints
    more: Ints

    def taken(self, at: Any) -> _Items:
        return _Items(*(each[at] for each in self))


def _items(rows: Rows, at: Ints) -> _Items:
    assert rows.more is not None
    places, counts = places_of(rows, at)
    return _Items(np.repeat(at, counts), rows.offsets[places], rows.more[places])


@no_collection()
def shares_of(rows: Rows) -> Shares | None:
    """Collect deliveries and their acknowledgements, record by record.

    Raises:
        HistoryError: A member of two groups, or an acknowledgement of what was never delivered.
    """
    sharing = rows.f.any_of(SHARE_OPERATIONS)
    if not sharing.any():
        return None
    poll, ack = rows.f.are(SHARE_POLL), rows.f.are(ACKNOWLEDGE)
    # A client has records when a poll returns, and acknowledges from then on.
    moment = np.where(poll & (rows.completed != NEVER), rows.completed, rows.invoked)
    _refuse_two_groups(rows, indices(sharing), moment)
    good = indices(poll & rows.outcome.are(OK) & (rows.completed != NEVER))
    given, acks = _items(rows, good), _items(rows, indices(ack))
    place = rows.group.codes * (len(rows.key.names) + 1) + rows.key.codes + 1
    record, number = _numbered(place, given, acks)
    plain = _plain(rows, given, acks, record, number, moment)

    def name(row: int) -> Place:
        return rows.group.word(row), rows.key.word(row)

    shown: dict[Place, Shown] = {}
    first = np.full(number, EVER)
    np.minimum.at(first, record[0], rows.completed[given.row])
    for row in _firsts(place, good[np.lexsort((rows.number[good], moment[good]))]).tolist():
        if rows.key.codes[row] != NULL:
            mine = indices(place[given.row] == place[row])
            of, at = np.unique(record[0][mine], return_index=True)
            offset, times = given.offset[mine][at], np.unique(rows.completed[given.row[mine]])
            shown[name(row)] = Shown(offset, first[of], times)
    records: dict[Place, dict[int, list[Delivery]]] = {each: {} for each in shown}
    _collect(
        rows, records, given.taken(~plain[record[0]]), acks.taken(~plain[record[1]]), moment, name
    )
    trouble: dict[int, list[int]] = {}
    for row in indices(~rows.outcome.are(OK) | rows.f.any_of(("leave", "crash"))).tolist():
        trouble.setdefault(int(rows.process[row]), []).append(int(rows.invoked[row]))
    polls: dict[Any, int] = {}
    for row in _firsts(rows.group.codes, good[np.argsort(-rows.invoked[good], kind="stable")]):
        polls[rows.group.word(row)] = int(rows.invoked[row])
    return Shares(rows.annotations, records, shown, trouble, polls)


def _firsts(of: Ints, at: Ints) -> Ints:
    """Of these rows, the first one with each value, in their order."""
    return at[np.sort(np.unique(of[at], return_index=True)[1])]


def _refuse_two_groups(rows: Rows, at: Ints, moment: Ints) -> None:
    if len(np.unique(pairs(rows.process, rows.group)[at])) == len(np.unique(rows.process[at])):
        return
    groups: dict[int, Any] = {}
    for row in at[np.lexsort((rows.number[at], moment[at]))].tolist():
        process, group = int(rows.process[row]), rows.group.word(row)
        if groups.setdefault(process, group) != group:
            what = f"process {process} is a member of {groups[process]} and of {group}"
            raise HistoryError(rows.source, int(rows.line[row]), what)


def _numbered(place: Ints, given: _Items, acks: _Items) -> tuple[tuple[Ints, Ints], int]:
    """Of each delivery and acknowledgement, the number of its record, and how many there are."""
    where = place[np.concatenate((given.row, acks.row))]
    offset = np.concatenate((given.offset, acks.offset))
    order = np.lexsort((offset, where))
    new = begins(where[order], offset[order])
    record = np.empty(len(order), np.int64)
    record[order] = np.cumsum(new) - 1
    return (record[: len(given.row)], record[len(given.row) :]), int(new.sum())


def _plain(
    rows: Rows,
    given: _Items,
    acks: _Items,
    record: tuple[Ints, Ints],
    number: int,
    moment: Ints,
) -> Flags:
    """Whether a record has one delivery, its first, and a final acknowledgement that succeeded."""
    counts = [np.bincount(each, minlength=number) for each in record]
    at = np.zeros((2, number), np.int64)
    at[0, record[0]], at[1, record[1]] = np.arange(len(record[0])), np.arange(len(record[1]))
    found: Flags = (counts[0] == 1) & (counts[1] == 1)
    mine = indices(found)
    delivery, ack = given.taken(at[0, mine]), acks.taken(at[1, mine])
    begun, ended = moment[delivery.row], moment[ack.row]
    earlier = (begun < ended) | (
        (begun == ended) & (rows.number[delivery.row] < rows.number[ack.row])
    )
    found[mine] = (
        earlier
        & (delivery.more <= 1)
        & (rows.process[delivery.row] == rows.process[ack.row])
        & rows.outcome.are(OK)[ack.row]
        & np.isin(ack.more, [ACKNOWLEDGEMENTS.index(each) for each in FINAL])
    )
    return found


def _collect(
    rows: Rows,
    records: dict[Place, dict[int, list[Delivery]]],
    given: _Items,
    acks: _Items,
    moment: Ints,
    name: Callable[[int], Place],
) -> None:
    """Puts deliveries, and the acknowledgements of each, into `records`."""
    row, offset, more = (np.concatenate(each) for each in zip(given, acks, strict=True))
    order = np.lexsort((rows.number[row], moment[row]))
    latest: dict[tuple[int, str | None, int], Delivery] = {}
    for at, place, extra in zip(
        *(each[order].tolist() for each in (row, offset, more)), strict=True
    ):
        process, key = int(rows.process[at]), rows.key.word(at)
        invoked, completed, index = (
            int(each[at]) for each in (rows.invoked, rows.completed, rows.number)
        )
        if rows.f.word(at) == SHARE_POLL:
            count = None if extra == NULL else extra
            found = Delivery(invoked, completed, process, count, index, [])
            records[name(at)].setdefault(place, []).append(found)
            latest[process, key, place] = found
        else:
            mine = latest.get((process, key, place))
            if mine is None:
                what = f"process {process} acknowledges offset {place} of {key}"
                what += ", which it was never shown"
                raise HistoryError(rows.source, int(rows.line[at]), what)
            kind, outcome = ACKNOWLEDGEMENTS[extra], rows.outcome.word(at)
            completed = EVER if completed == NEVER else completed
            mine.acks.append(Ack(invoked, completed, kind, outcome, index))
    for of in records.values():
        for deliveries in of.values():
            deliveries.sort(key=lambda each: (each.invoked, each.completed, each.operation))


def sent_in(rows: Rows, settled: Rows) -> Sent:
    """The records that were written for certain, in the order of their offsets.

    settled: the same columns, as seen by who reads only what is committed.
    """
    at = indices(settled.f.are("append") & settled.outcome.are(OK) & (settled.offset != NULL))
    at = at[np.argsort(settled.offset[at], kind="stable")]
    since = np.where(rows.txn[at] == NULL, rows.completed[at], EVER)
    key = settled.key._replace(codes=settled.key.codes[at])
    return Sent(key, settled.offset[at], since, settled.number[at])


@no_collection()
def as_fetches(rows: Rows) -> Rows:
    """Replace the first poll that shows a record by a fetch of a process of its own.

    A share group delivers in any order, and again.
    """
    if rows.objects is not None:
        return rows_of(_operations_as_fetches(rows.objects))
    sharing = rows.f.any_of(SHARE_OPERATIONS)
    mine = np.isin(rows.process, np.unique(rows.process[sharing]))
    kept = indices(~(sharing | (mine & rows.f.are("leave"))))
    polls = indices(rows.f.are(SHARE_POLL))
    place, counts = places_of(rows, polls)
    poll = np.repeat(polls, counts)
    values = rows.returned.take(pa.array(place)).dictionary_encode().indices.to_numpy()
    named = (values, rows.offsets[place], rows.key.codes[poll])
    order = np.lexsort(named)
    first = np.sort(order[begins(*(each[order] for each in named))])
    row = np.concatenate((kept, poll[first]))
    start = np.concatenate((rows.splits[kept], place[first]))
    length = np.concatenate((np.diff(rows.splits)[kept], np.ones(len(first), np.int64)))
    order = np.argsort(row, kind="stable")
    row, start, length = row[order], start[order], length[order]
    fetched = indices(order >= len(kept))
    splits = np.concatenate(([0], np.cumsum(length)))
    places = np.repeat(start - splits[:-1], length) + np.arange(splits[-1])
    columns = columns_at(rows, row)
    names = (*dict.fromkeys((*rows.f.names, "fetch")),)
    columns["f"] = Words(columns["f"].codes, names)
    columns["f"].codes[fetched] = names.index("fetch")
    free = int(max(rows.process.max(), rows.operation.max())) + 1
    for each in ("process", "operation"):
        columns[each][fetched] = free + 1 + np.arange(len(fetched))
    columns["offset"][fetched] = rows.offsets[start[fetched]]
    columns["answered"][fetched] = True
    return rows._replace(
        **columns,
        splits=splits,
        offsets=rows.offsets[places],
        returned=rows.returned.take(pa.array(places)),
        more=None,
    )


def _operations_as_fetches(history: History) -> History:
    """The same of operations, which alone tell of transactions."""
    free = max((max(each.process, each.group) for each in history.operations), default=0) + 1
    sharing = {each.process for each in history.operations if each.f in SHARE_OPERATIONS}
    found: list[Operation] = []
    seen: set[tuple[str | None, int, Any]] = set()
    for each in history.operations:
        if each.process not in sharing:
            found.append(each)
            continue
        for offset, value, _ in (each.result or ()) if each.f == SHARE_POLL else ():
            if (each.key, offset, value) in seen:
                continue
            seen.add((each.key, offset, value))
            name = free + len(seen)
            shown = ((offset, value),)
            found.append(
                replace(each, f="fetch", process=name, group=name, argument=offset, result=shown)
            )
        if each.f not in (*SHARE_OPERATIONS, "leave"):
            found.append(each)
    return replace(history, operations=tuple(found))


# -- One record


class Record(Model):
    """One record of a share group: its holder and whether it may be archived, or DONE."""

    name = "share record"
    verbs: ClassVar[tuple[str, ...]] = SHARE_OPERATIONS

    def initial(self) -> Any:
        return (None, False)

    def step(self, state: Any, operation: Operation) -> Any:
        member, said = operation.argument
        if operation.f == SHARE_POLL:
            return REFUSED if state == DONE else (member, said)
        if operation.outcome == INDETERMINATE and said in FINAL:
            return DONE
        if state == DONE:
            return DONE
        holder, at_limit = state
        if holder == member:
            return DONE if said in FINAL else state if said == RENEW else (None, at_limit)
        if operation.outcome == INDETERMINATE:
            return state
        return DONE if at_limit else REFUSED


_KIND_OF_RUN: Final[dict[str, tuple[str, Any]]] = {
    "accept": (ACKNOWLEDGE, ACCEPT),
    "release": (ACKNOWLEDGE, RELEASE),
    "reject": (ACKNOWLEDGE, REJECT),
}


class RecordOfRun(Record):
    """As simulated runs tell of it (reference/shares/deliveries.py).

    `deliver`, whose argument is twice the member, and 1 more where the record may be archived when
    it is released; `accept`, `release` and `reject`, whose argument is the member.
    """

    name = "share-record"
    verbs = ("deliver", *_KIND_OF_RUN)

    def step(self, state: Any, operation: Operation) -> Any:
        member, at_limit = operation.argument, False
        if operation.f == "deliver":
            member, at_limit = divmod(member, 2)
        f, said = _KIND_OF_RUN.get(operation.f, (SHARE_POLL, bool(at_limit)))
        return super().step(state, replace(operation, f=f, argument=(member, said)))


def placed(deliveries: Sequence[Delivery], limit: int, budget_s: float = 10.0) -> bool | None:
    """Return whether an order explains all deliveries of a record; None: not decided in time.

    Args:
        deliveries: of one record.
        limit: the largest number of deliveries.
        budget_s: time limit of the search.
    """
    if len(deliveries) == 1 and _once(deliveries[0]):
        return True
    found: list[Operation] = []
    for each in deliveries:
        shown = (each.process, each.at_limit(limit))
        found.append(_step(SHARE_POLL, shown, each.invoked, each.completed, OK))
        found += [
            _step(ACKNOWLEDGE, (each.process, a.kind), a.invoked, a.completed, a.outcome)
            for a in each.acks
        ]
    ordered = sorted(found, key=lambda each: each.invoked)
    numbered = [replace(each, index=at) for at, each in enumerate(ordered)]
    verdict = check_object(numbered, Record(), Limits(seconds=budget_s)).verdict
    return None if verdict == UNKNOWN else verdict == HOLDS


def _step(f: str, argument: Any, invoked: int, completed: int, outcome: str) -> Operation:
    return Operation(
        index=0,
        group=0,
        process=0,
        f=f,
        argument=argument,
        invoked=invoked,
        completed=completed,
        outcome=outcome,
    )


def _once(delivery: Delivery) -> bool:
    """Whether its member, the only one, was answered at most once."""
    answered = [each.kind for each in delivery.acks if each.outcome == OK]
    return len(answered) < 2


def redelivered(deliveries: Sequence[Delivery]) -> tuple[Ack, Delivery] | None:
    """The first final acknowledgement with an answer, and a delivery that was asked for later."""
    done = [a for d in deliveries for a in d.acks if a.kind in FINAL and a.outcome == OK]
    first = min(done, key=lambda each: each.completed, default=None)
    if first is None:
        return None
    return next(((first, d) for d in deliveries if d.invoked > first.completed), None)


def doubly_held(
    deliveries: Sequence[Delivery], lock: int, trouble: Mapping[int, Sequence[int]]
) -> tuple[Delivery, Delivery] | None:
    """Two members of whom each had the record within the time of the other's lock."""
    given = {each.process: list(trouble.get(each.process, ())) for each in deliveries}
    for each in deliveries:
        ends = (a.invoked for a in each.acks if a.kind != RENEW and a.outcome != FAIL)
        given[each.process] += ends
    for one, other in combinations(deliveries, 2):
        if one.process != other.process and not (
            _after_lock(one, other, lock, given[one.process])
            or _after_lock(other, one, lock, given[other.process])
        ):
            return one, other
    return None


def _after_lock(one: Delivery, other: Delivery, lock: int, given: Sequence[int]) -> bool:
    """Whether `other` may be the later one, and the lock of `one` may have ended before it.

    given: when the member of `one` may have given the record back.
    """
    if one.invoked > other.completed:
        return False
    renewed = (a for a in one.acks if a.kind == RENEW and a.completed < other.invoked)
    starts = [one.invoked, *(a.invoked for a in renewed if a.outcome == OK)]
    if other.completed >= max(starts) + lock:
        return True
    return any(one.invoked < at < other.completed for at in given)


def miscounted(deliveries: Sequence[Delivery]) -> tuple[Delivery, Delivery] | None:
    """Two deliveries whose counts cannot be those of one leader."""
    for one, other in combinations(deliveries, 2):
        if one.number is None or other.number is None:
            continue
        if one.number == other.number or (
            one.completed < other.invoked and one.number > other.number
        ):
            return one, other
    return None


# -- All of them


def broken(
    s: Shares, c: Configuration, unit: int | None, complete: bool | None, *, real_time: bool = True
) -> tuple[list[Broken], str | None]:
    """What happened, the gravest first, and why something may be missing.

    unit: how many of the history's times are a second; None: it has none. complete: whether
    consumers read every partition to its end. real_time: whether times say which of two members was
    first; otherwise the order of each is its own.
    """
    found: dict[str, list[Evidence]] = {name: [] for name in (*SHARES, OPEN)}
    lock = None if unit is None else int(unit * c.lock_s)
    reason = None
    for place, records in s.records.items():
        for offset, deliveries in records.items():
            for name, evidence in (
                _of_record(s, place, offset, deliveries, c, lock)
                if real_time
                else _of_members(place[1], offset, deliveries, c, lock)
            ):
                found[name].append(evidence)
    if not real_time:
        unit = lock = None
    unread = list(_unread(s, c, lock))
    if complete:
        for name, evidence in unread:
            found[name].append(evidence)
    elif complete is None and unread:
        reason = f"{unread[0][1][1]}: say --complete if consumers read to the end"
    if unit is not None:
        found["stalled-partition"] += _stalled(s, c, int(unit * c.stall_s))
    undecided = found.pop(OPEN)
    reason = undecided[0][1] if undecided else reason
    rows = (Broken(name, told_, lambda each: each) for name, told_ in found.items())
    return gravest_first(rows, SHARES), reason


def _of_record(
    s: Shares,
    place: Place,
    offset: int,
    deliveries: Sequence[Delivery],
    c: Configuration,
    lock: int | None,
) -> Iterator[tuple[str, Evidence]]:
    key, limit = place[1], c.delivery_limit
    yield from _over_delivered(key, offset, deliveries, limit)
    if len(deliveries) == 1 and _once(deliveries[0]):
        return
    again = redelivered(deliveries)
    if again is not None:
        yield _redelivered(key, offset, *again)
    elif (explained := placed(deliveries, limit)) is None:
        said = f"the search for an order of what was done with offset {offset} took too long"
        yield OPEN, ((deliveries[0].operation,), said, key)
    elif not explained:
        ack, other = _foreign(deliveries)
        said = f"offset {offset}: {ack.kind.upper()} succeeded, but its member did not hold the "
        yield "foreign-ack-accepted", ((other.operation, ack.operation), f"{said}record", key)
    both = None if lock is None else doubly_held(deliveries, lock, s.trouble)
    if both is not None:
        said = f"offset {offset} was shown to processes {both[0].process} and {both[1].process} "
        said += f"within {c.lock_s:g} s, and the first had neither acknowledged it nor left"
        yield "double-acquisition", ((both[0].operation, both[1].operation), said, key)
    both = miscounted(deliveries)
    if both is not None:
        said = f"offset {offset} has delivery count {both[0].number}, and then {both[1].number}"
        yield "count-repeated", ((both[0].operation, both[1].operation), said, key)


def _over_delivered(
    key: str | None, offset: int, deliveries: Sequence[Delivery], limit: int
) -> Iterator[tuple[str, Evidence]]:
    most = max(deliveries, key=lambda each: each.number or 0)
    times = max(len(deliveries), most.number or 0)
    if times > limit:
        said = f"offset {offset} was delivered {times} times, and the limit is {limit}"
        yield "over-delivered", ((most.operation,), said, key)


def _redelivered(key: str | None, offset: int, ack: Ack, later: Delivery) -> tuple[str, Evidence]:
    said = f"offset {offset}: {ack.kind.upper()} had succeeded before the poll was sent that "
    return "acked-redelivered", ((ack.operation, later.operation), f"{said}shows it again", key)


def _of_members(
    key: str | None, offset: int, deliveries: Sequence[Delivery], c: Configuration, lock: int | None
) -> Iterator[tuple[str, Evidence]]:
    """What needs no order of different members.

    Where a lock ended before the acknowledgement, the record may have been on its way again.
    """
    yield from _over_delivered(key, offset, deliveries, c.delivery_limit)
    for process in dict.fromkeys(each.process for each in deliveries):
        mine = [each for each in deliveries if each.process == process]
        again = redelivered(mine)
        if again is not None and (lock is None or again[0].completed - mine[0].completed < lock):
            yield _redelivered(key, offset, *again)


def _foreign(deliveries: Sequence[Delivery]) -> tuple[Ack, Delivery]:
    """What shows it best: a delivery between another one and its acknowledgement, if there is."""
    answered = [(d, a) for d in deliveries for a in d.acks if a.outcome == OK]
    for mine, ack in answered:
        for other in deliveries:
            if other is not mine and mine.completed < other.completed < ack.invoked:
                return ack, other
    return answered[-1][1], answered[-1][0]


def _unread(s: Shares, c: Configuration, lock: int | None) -> Iterator[tuple[str, Evidence]]:
    """Records that no member was shown, or not often enough."""
    groups = {group for group, _ in s.shown} | set(s.polls)
    for group in sorted(groups, key=str):
        missing = np.zeros(len(s.sent.offset), np.bool_)
        for key in s.keys:
            low = max(s.earliest.get(key, 0), _begin(s, group, key, c))
            at = s.sent.of(key)
            offsets = s.sent.offset[at]
            known = s.shown.get((group, key), NOTHING).offset
            missing[at] = (offsets >= low) & ~np.isin(offsets, known)
        for at in indices(missing).tolist():
            said = f"offset {s.sent.offset[at]} was never shown to a member of share group {group}"
            key = s.sent.key.word(at)
            yield "skipped-record", ((int(s.sent.operation[at]),), said, key)
    for (group, key), records in s.records.items():
        end = s.polls.get(group, -EVER)
        for offset, deliveries in records.items():
            if offset >= s.earliest.get(key, 0) and _given_up(
                deliveries, c.delivery_limit, lock, end
            ):
                said = f"offset {offset} was given back and never shown again"
                yield "undelivered-archived", ((deliveries[-1].operation,), said, key)


def _given_up(deliveries: Sequence[Delivery], limit: int, lock: int | None, end: int) -> bool:
    """Whether a record is neither done nor held, and may be delivered again. end: of all polls."""
    acks = [ack for each in deliveries for ack in each.acks if ack.outcome != FAIL]
    if any(ack.kind in FINAL for ack in acks) or len(deliveries) >= limit:
        return False
    if any(each.number is not None and each.number >= limit for each in deliveries):
        return False
    last = deliveries[-1]
    over = [each.completed for each in last.acks if each.kind == RELEASE and each.outcome == OK]
    if lock is not None and not over:
        over = [max([last.completed, *(ack.completed for ack in last.acks)]) + lock]
    return bool(over) and over[0] < end


def _stalled(s: Shares, c: Configuration, within: int) -> Iterator[Evidence]:
    """Times in which records waited, members polled, and none was shown a record."""
    for group, key in sorted(
        ((group, key) for group in s.polls for key in s.keys), key=lambda each: str(each)
    ):
        known, low = s.shown.get((group, key), NOTHING), _begin(s, group, key, c)
        end = s.polls[group]
        wanted = s.sent.of(key)
        wanted = wanted[s.sent.offset[wanted] >= low]
        offset, since_of = s.sent.offset[wanted], s.sent.since[wanted]
        at = np.minimum(np.searchsorted(known.offset, offset), max(len(known.offset) - 1, 0))
        shown = np.full(len(wanted), EVER)
        if len(known.offset):
            shown = np.where(known.offset[at] == offset, known.first[at], EVER)
        times = [-EVER, *known.polls[known.polls < end].tolist(), end]
        for since, until in pairwise(times):
            if until - since <= within:
                continue
            begun = np.maximum(since_of, _calm(s, since, until))
            waits = indices((shown >= until) & (until - begun > within))
            if len(waits):
                first = waits[np.argmin(since_of[waits])]
                said = f"share group {group} was shown no record for {c.stall_s:g} s, though "
                said += f"offset {offset[first]} was there"
                yield (int(s.sent.operation[wanted[first]]),), said, key
                break


def _begin(s: Shares, group: Any, key: str | None, c: Configuration) -> int:
    """From where on the group reads for certain: without `earliest`, from what it was shown."""
    if c.reset == "earliest":
        return 0
    return int(s.shown.get((group, key), NOTHING).offset.min(initial=EVER))


def _calm(s: Shares, since: int, until: int) -> int:
    """From when on no fault was under way."""
    ends = (each.until or each.at for each in s.annotations if each.at < until)
    return max([since, *ends])


def judged(
    s: Shares,
    promise: Promise,
    configuration: Configuration,
    unit: int | None,
    *,
    level: Level | None,
    complete: bool | None,
    real_time: bool = True,
) -> Across:
    """Against a promise; or, with a level, only told. unit and so on: as of `broken`."""
    found, reason = broken(s, configuration, unit, complete, real_time=real_time)
    anomalies = tuple(anomaly_of(each, SHARES, promise, level) for each in found)
    if any(not each.allowed for each in anomalies):
        return Across(VIOLATED, anomalies)
    if reason is not None and level is None:
        return Across(UNKNOWN, anomalies, reason)
    return Across(HOLDS, anomalies)
