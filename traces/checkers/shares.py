"""Share groups against what was promised: is each record delivered, and is what is done done?

    shares_of(history)            a `Shares`, or None: no share group is told of
    judged(shares, promise, ...)  an `Across`
    as_fetches(history)           the history for the checkers of logs: deliveries as fetches

Each record of a group is an object (`Record`): *available*, *acquired* by a member, or *done*. A
delivery acquires it; a lock may end at any time; an acknowledgement that was answered without an
error is its holder's, or came after the record was done (an acknowledgement before the start offset
of the share partition is answered without an error). One without an answer may finish the record at
any time after it was sent, or never. The search for a linearization (search.py) decides whether an
order of these explains a record; most have one delivery and one acknowledgement, and need none.

    acked-redelivered      no order does: the record was done before a poll that shows it was sent
    foreign-ack-accepted   no order does, for another reason: its holder had lost it

What needs the clock (locks, stalls) is left out of a history without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, Level, Promise
from kraftcheck.traces.checkers.columns import indices
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
    FAIL,
    INDETERMINATE,
    OK,
    REJECT,
    RELEASE,
    RENEW,
    SHARE_OPERATIONS,
    SHARE_POLL,
    History,
    HistoryError,
    Operation,
)
from kraftcheck.traces.rows import NULL, Rows

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
    """A record that was written for certain."""

    key: str | None
    offset: int
    since: int
    """From when on it could be read; EVER: not known, since its transaction decides."""
    operation: int


Place = tuple[Any, str | None]
"""A group and a partition."""


class Shares(NamedTuple):
    """What the members of share groups were shown, record by record."""

    history: History
    records: dict[Place, dict[int, list[Delivery]]]
    """Deliveries in the order of their polls' invocations."""
    trouble: dict[int, list[int]]
    """When a member closed, or sent what did not succeed: it may have lost its session."""
    polls: dict[Any, list[tuple[int, int]]]
    """Of each group, when polls that were answered began and ended."""
    sent: tuple[Sent, ...] = ()

    @property
    def keys(self) -> tuple[str | None, ...]:
        """The partitions whose records were written for certain."""
        return tuple(dict.fromkeys(each.key for each in self.sent))


@no_collection()
def shares_of(history: History) -> Shares | None:
    """Collect deliveries and their acknowledgements, record by record.

    Raises:
        HistoryError: A member of two groups, or an acknowledgement of what was never delivered.
    """
    if not any(each.f in SHARE_OPERATIONS for each in history.operations):
        return None
    groups: dict[int, Any] = {}
    records: dict[Place, dict[int, list[Delivery]]] = {}
    trouble: dict[int, list[int]] = {}
    polls: dict[Any, list[tuple[int, int]]] = {}
    latest: dict[tuple[int, str | None, int], Delivery] = {}
    for each in sorted(history.operations, key=_known_from):
        if each.outcome != OK or each.f in ("leave", "crash"):
            trouble.setdefault(each.process, []).append(each.invoked)
        if each.f not in SHARE_OPERATIONS:
            continue
        group = each.argument if each.f == SHARE_POLL else each.argument[0]
        if groups.setdefault(each.process, group) != group:
            what = f"process {each.process} is a member of {groups[each.process]} and of {group}"
            raise HistoryError(history.source, each.line, what)
        if each.f == SHARE_POLL and each.outcome == OK and each.completed is not None:
            polls.setdefault(group, []).append((each.invoked, each.completed))
            place = records.setdefault((group, each.key), {}) if each.key is not None else {}
            for offset, _, count in each.result or ():
                times = (each.invoked, each.completed)
                found = Delivery(*times, each.process, count, each.index, [])
                place.setdefault(offset, []).append(found)
                latest[each.process, each.key, offset] = found
        elif each.f == ACKNOWLEDGE:
            completed = EVER if each.completed is None else each.completed
            for offset, kind in each.argument[1]:
                mine = latest.get((each.process, each.key, offset))
                if mine is None:
                    what = f"process {each.process} acknowledges offset {offset} of {each.key}"
                    raise HistoryError(
                        history.source, each.line, f"{what}, which it was never shown"
                    )
                times = (each.invoked, completed)
                mine.acks.append(Ack(*times, kind, each.outcome, each.index))
    for place in records.values():
        for deliveries in place.values():
            deliveries.sort(key=lambda each: (each.invoked, each.completed, each.operation))
    return Shares(history, records, trouble, polls)


def sent_in(rows: Rows, settled: Rows) -> tuple[Sent, ...]:
    """The records that were written for certain, in the order of their offsets.

    settled: the same columns, as seen by who reads only what is committed.
    """
    known = settled.f.are("append") & settled.outcome.are(OK) & (settled.offset != NULL)
    at = indices(known)
    since = np.where(rows.txn[at] == NULL, rows.completed[at], EVER)
    columns = (settled.offset[at], since, settled.number[at])
    keys = map(settled.key.word, at.tolist())
    found = zip(keys, *(each.tolist() for each in columns), strict=True)
    return tuple(sorted((Sent(*each) for each in found), key=lambda each: each.offset))


def _known_from(each: Operation) -> tuple[int, int]:
    """A client has records when a poll returns, and acknowledges from then on."""
    moment = each.completed if each.f == SHARE_POLL else each.invoked
    return (each.invoked if moment is None else moment, each.index)


@no_collection()
def as_fetches(history: History) -> History:
    """Replace the first poll that shows a record by a fetch of a process of its own.

    A share group delivers in any order, and again.
    """
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
    first: dict[str | None, int] = {}
    for each in s.history.operations:
        if each.f == "earliest" and each.result is not None:
            first[each.key] = max(first.get(each.key, 0), each.result)
    groups = {group for group, _ in s.records} | set(s.polls)
    for group in sorted(groups, key=str):
        low = {key: max(first.get(key, 0), _begin(s, group, key, c)) for key in s.keys}
        for sent in s.sent:
            key, offset = sent.key, sent.offset
            if offset >= low[key] and offset not in s.records.get((group, key), ()):
                said = f"offset {offset} was never shown to a member of share group {group}"
                yield "skipped-record", ((sent.operation,), said, key)
    for (group, key), records in s.records.items():
        end = max((begun for begun, _ in s.polls[group]), default=-EVER)
        for offset, deliveries in records.items():
            if offset >= first.get(key, 0) and _given_up(deliveries, c.delivery_limit, lock, end):
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
        records, low = s.records.get((group, key), {}), _begin(s, group, key, c)
        shown = {offset: min(d.completed for d in each) for offset, each in records.items()}
        told_at = sorted({d.completed for each in records.values() for d in each})
        end = max((begun for begun, _ in s.polls[group]), default=-EVER)
        wanted = [one for one in s.sent if one.key == key and one.offset >= low]
        for since, until in pairwise([-EVER, *(at for at in told_at if at < end), end]):
            if until - since <= within:
                continue
            waits = (
                one
                for one in wanted
                if shown.get(one.offset, EVER) >= until
                and until - _calm(s, max(since, one.since), until) > within
            )
            first = min(waits, key=lambda one: one.since, default=None)
            if first is not None:
                said = f"share group {group} was shown no record for {c.stall_s:g} s, though "
                yield (first.operation,), f"{said}offset {first.offset} was there", key
                break


def _begin(s: Shares, group: Any, key: str | None, c: Configuration) -> int:
    """From where on the group reads for certain: without `earliest`, from what it was shown."""
    return 0 if c.reset == "earliest" else min(s.records.get((group, key), ()), default=EVER)


def _calm(s: Shares, since: int, until: int) -> int:
    """From when on no fault was under way."""
    ends = (each.until or each.at for each in s.history.annotations if each.at < until)
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
