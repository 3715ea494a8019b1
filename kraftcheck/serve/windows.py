"""Steps of a long session, each judged by TLC in the window of the logs that it speaks of.

Logs of a session grow, so no two of its steps are equal, and a row of thousands of entries is more
than TLC can be asked about. But a step speaks of the end of a log alone, and of where somebody lags
or reads. So a step is moved to where it can be judged: entries far from all that it speaks of are
dropped, an offset becomes the number of those that stay below it, and values, requests' clients and
sequence numbers are counted from 1, in the order in which they appear. Most steps of a session then
are one of a few hundred.

Why a verdict on the moved step is one on the step. The moved step is one that the cluster's own
handler takes: it is executed again, on the moved row and the moved input, and has to make the
moved outcome of them. A step of which that is not so is not judged. So what TLC judges is a step of
the implementation, and what is left is that the spec's operators do not tell the two apart: they
compare offsets, count from them and look up what lies at them, like the handlers, whose twins they
are (tests/kraftcheck/serve/test_windows.py has TLC judge steps both ways, with bugs and without).
That steps follow one another, and that what arrives was sent, is so because they are played from a
tape.

Law of this file: a step that was not judged is counted, and never accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    get_args,
    get_origin,
)

import msgspec
from msgspec import StructMeta
from msgspec.structs import astuple, fields, replace

from kraftcheck.reference.partition.log import Batch, EpochCache, ProducerState, Record
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow, Parked, is_up

if TYPE_CHECKING:
    from kraftcheck.reference.sim.memo import Step
    from kraftcheck.serve.partition import ServedPartition

LONGEST: Final = 500
"""Entries of a log: TLC is not asked about longer ones."""
_KEPT: Final = 1
"""Entries around all that a step speaks of, which stay."""
_NEAR: Final = 16
"""So many entries between two that stay do as well: more distinct steps, and less is left out."""
_ENDLESS: Final = 1 << 62
_TOLD: Final = 1000
"""After so many steps it is told how far one is."""
Pieces: TypeAlias = tuple[tuple[int, int], ...]
_OFFSETS: Final = frozenset(
    {
        *("log_start", "flushed", "corrupt", "checkpoint", "high_watermark", "epoch_start"),
        *("end_offset", "required", "fetch_offset", "start", "keep"),
    }
)
_HAVE_OFFSET: Final = (
    *(Parked, Batch, ProduceResponse, ListOffsetsResponse),
    *(DeleteRecordsRequest, DeleteRecordsResponse),
)
"""Whose `offset` is one of the log, and not of metadata."""
_encode: Final = msgspec.msgpack.Encoder().encode


class Moved(NamedTuple):
    """A step where it can be judged."""

    node: int
    before: Any
    input: Any
    after: Any
    sent: tuple[Any, ...]
    ignored: str


class Move:
    """What one step is moved by.

    pieces: of the logs, what stays: from where, and up to where; the last goes on. least: of each
    producer the sequence number that becomes 1, where there are smaller ones than that.
    """

    def __init__(self, pieces: Pieces, least: dict[int, int]) -> None:
        self._pieces = pieces
        self._least = least
        self._numbers: dict[tuple[str, int], int] = {}
        self._known: dict[int, Any] = {}
        """What was moved already, by identity: it lives as long as its step."""
        self._begins = pieces[-1][0]
        self._below = sum([end - begin for begin, end in pieces[:-1]])
        """How many entries stay below the last piece."""

    def offset(self, offset: int) -> int:
        """As many entries as stay below it."""
        if offset >= self._begins:
            return offset - self._begins + self._below
        if offset < 0:
            return offset
        if not self._below:
            return 0
        return sum([max(0, min(offset, end) - begin) for begin, end in self._pieces[:-1]])

    def number(self, of: str, number: int) -> int:
        """Of a value or a client: in the order in which they come."""
        if number < 1:
            return number
        return self._numbers.setdefault((of, number), 1 + len(self._numbers))

    def sequence(self, producer: int, sequence: int) -> int:
        least = self._least.get(producer, 1)
        return sequence if sequence < 1 else max(0, sequence - max(0, least - 1))

    def log(self, log: Any) -> tuple[Any, ...]:
        return tuple([self.item(record) for record in _kept(log, self._pieces)])

    def cache(self, cache: EpochCache) -> EpochCache:
        kept = tuple([replace(each, start=self.offset(each.start)) for each in cache])
        while len(kept) > 1 and kept[1].start == 0:
            kept = kept[1:]
        return kept

    def item(self, item: Any) -> Any:
        """A row, a message, or any part of one. What a step leaves as it was is one object."""
        known = self._known.get(id(item))
        if known is not None:
            return known
        kind = item.__class__
        moved = item
        if kind is tuple:
            moved = tuple([self.item(each) for each in item])
        elif isinstance(item, msgspec.Struct) and (changes := _changes_of(kind)):
            said = list(astuple(item))
            for at, changed in changes:
                said[at] = changed(self, said[at], item)
            moved = kind(*said)
        self._known[id(item)] = moved
        return moved


Change: TypeAlias = Callable[[Move, Any, Any], Any]
"""What becomes of a field, given it and what it is a field of."""


@cache
def _changes_of(kind: type[msgspec.Struct]) -> tuple[tuple[int, Change], ...]:
    """By the place of each field that a move may change, what it becomes."""
    found = []
    for at, field in enumerate(fields(kind)):
        change = _change_of(kind, field.name)
        if change is None and _may_change(field.type):
            change = _nested
        if change is not None:
            found.append((at, change))
    return tuple(found)


def _nested(move: Move, field: Any, _: Any) -> Any:
    return move.item(field)


def _offset(move: Move, field: Any, _: Any) -> Any:
    return move.offset(field)


def _sequence(move: Move, field: Any, of: Any) -> Any:
    return move.sequence(of.producer, field)


def _change_of(kind: type, name: str) -> Change | None:
    """Of what has a meaning by its name."""
    if name in _OFFSETS or (name == "offset" and kind in _HAVE_OFFSET):
        return _offset
    if name == "client":
        return lambda move, field, _: move.number(name, field)
    if name == "values":
        return lambda move, field, _: tuple([move.number(name, value) for value in field])
    if kind is Record:
        if name == "value":
            return lambda move, field, _: move.number("values", field)
        return _sequence if name in ("sequence", "first", "last") else None
    if kind is ProduceRequest and name == "sequence":
        return _sequence
    if kind is ProducerState and name == "batches":
        return lambda move, field, of: tuple([_batch(move, of.producer, each) for each in field])
    if kind is BrokerRow and name == "log":
        return lambda move, field, _: move.log(field)
    if kind is BrokerRow and name == "epoch_cache":
        return lambda move, field, _: move.cache(field)
    return None


def _may_change(type: Any) -> bool:
    """Whether something in it may be moved: a field of it, or of what is in it."""
    if type in (int, str, bool, None, NoneType) or get_origin(type) is Literal:
        return False
    if isinstance(type, StructMeta):
        return bool(_changes_of(type))
    inner = get_args(type)[:1] if get_origin(type) is Annotated else get_args(type)
    return not inner or any(_may_change(each) for each in inner if each is not ...)


def _kept(log: Any, pieces: Pieces) -> Iterator[Record]:
    size = len(log)
    for begin, end in pieces:
        if begin < size:
            yield from log[begin : min(end, size)]


def _batch(move: Move, producer: int, batch: Batch) -> Batch:
    return Batch(
        move.sequence(producer, batch.first),
        move.sequence(producer, batch.last),
        move.offset(batch.offset),
    )


def pieces_of(step: Moved) -> Pieces:
    """Cut out of the logs what a step needs.

    That is what lies around all that it speaks of, and, where nothing far is left out in between,
    all of it.
    """
    before, after = step.before, step.after
    live = {*_of_row(before), *_of_row(after)}
    if before.log_start != after.log_start:
        live |= {before.log_start, after.log_start}
    for message in (step.input, *step.sent):
        live.update(_of_message(message))
    least = min(live)
    # Each epoch keeps an entry that it begins with.
    for row in (before, after):
        live.update([each.start for each in row.epoch_cache if each.start > least])
    pieces: list[tuple[int, int]] = []
    begin = end = max(0, least - _KEPT)
    for each in sorted(live):
        if each - _KEPT > end + _NEAR:
            pieces.append((begin, end))
            begin = each - _KEPT
        end = each + _KEPT
    return (*pieces, (begin, _ENDLESS))


def _of_row(row: BrokerRow) -> list[int]:
    found = [len(row.log)]
    if is_up(row):
        found.append(row.high_watermark)
    found += [parked.offset for parked in row.parked]
    found += [remote.end_offset for remote in row.remotes if remote.end_offset != UNDEFINED]
    found += [request.fetch_offset for request in row.fetching]
    return found


def _of_message(message: Any) -> Iterator[int]:
    asked = getattr(message, "request", message)
    for each in (asked, message):
        for name in ("fetch_offset", "end_offset", "keep"):
            found = getattr(each, name, UNDEFINED)
            if found != UNDEFINED:
                yield found
    diverging = getattr(message, "diverging", None)
    if diverging is not None and diverging.end_offset != UNDEFINED:
        yield diverging.end_offset
    records = getattr(message, "records", ())
    if records and isinstance(records[0], Record):
        end = asked.fetch_offset + len(records)
        yield from range(asked.fetch_offset, end, _NEAR)
        yield end


def _least_of(step: Moved, pieces: Pieces) -> dict[int, int]:
    """By producer the least sequence number that a step speaks of."""
    least: dict[int, int] = {}

    def seen(producer: int, sequence: int) -> None:
        if sequence >= 0:
            least[producer] = min(sequence, least.get(producer, sequence))

    for row in (step.before, step.after):
        for state in row.producers:
            for batch in state.batches:
                seen(state.producer, batch.first)
        for record in _kept(row.log, pieces):
            seen(record.producer, record.first)
    for message in (step.input, *step.sent):
        asked = getattr(message, "request", message)
        if isinstance(asked, ProduceRequest):
            seen(asked.producer, asked.sequence)
        for record in getattr(message, "records", ()):
            if isinstance(record, Record):
                seen(record.producer, record.first)
    return least


def moved(step: Moved) -> Moved:
    """A broker's step in its window."""
    pieces = pieces_of(step)
    move = Move(pieces, _least_of(step, pieces))
    return Moved(
        node=step.node,
        before=move.item(step.before),
        input=move.item(step.input),
        after=move.item(step.after),
        sent=tuple([move.item(message) for message in step.sent]),
        ignored=step.ignored,
    )


def taken(step: Moved, handler: Callable[[int, Any, Any], Any]) -> Moved | None:
    """A moved step as the handler takes it; None: it does not."""
    outcome = handler(step.node, step.before, step.input)
    if outcome is None or (outcome.row, outcome.ignored) != (step.after, step.ignored):
        return None
    if outcome.sent != step.sent:
        if len(outcome.sent) != len(step.sent) or set(outcome.sent) != set(step.sent):
            return None
        step = step._replace(sent=outcome.sent)
    return step


class Refusal(NamedTuple):
    """A step that the spec does not allow."""

    action: str
    node: int
    where: str
    at: int
    """The step's place among those of its partition."""

    def __str__(self) -> str:
        who = "the controller" if self.node == CONTROLLER else f"broker {self.node}"
        return f"{self.where}: step {self.at}, {self.action} of {who}, is not allowed by the spec"


class Windows:
    """The steps of a session, as they are taken; each that is not as another one is judged."""

    def __init__(self, most: int, told: Callable[[int], None] = lambda steps: None) -> None:
        """most: distinct steps, after which others are no longer judged.

        told: now and then, how many steps there were.
        """
        self._most = most
        self._told = told
        self._seen: dict[Any, dict[bytes, tuple[Moved, Refusal] | str]] = {}
        """By the partition's constants and what a moved step is: it, or why it is not judged."""
        self.distinct = self.steps = 0
        self.latest: tuple[Moved, Moved, Refusal] | None = None
        """The last distinct step: as it is, moved, and what it is called."""
        self.unjudged: dict[str, int] = {}
        """Steps that are not judged, by why."""

    def take(self, partition: ServedPartition, step: Step) -> None:
        self.steps += 1
        if self.steps % _TOLD == 0:
            self._told(self.steps)
        node = step.before.node
        sent = tuple([message.value for _, message in step.sent])
        whole = Moved(node, step.before.row, step.input.value, step.after.row, sent, step.ignored)
        step_moved = whole if node == CONTROLLER else moved(whole)
        known = self._seen.setdefault(partition.constants, {})
        key = _encode(step_moved)
        found = known.get(key)
        if found is None:
            found = self._first(partition, step, whole, step_moved)
            if self.distinct < self._most:
                known[key] = found
        if isinstance(found, str):
            self.unjudged[found] = self.unjudged.get(found, 0) + 1

    def _first(
        self, partition: ServedPartition, step: Step, whole: Moved, found: Moved
    ) -> tuple[Moved, Refusal] | str:
        """A step unlike all before: it is to be judged, or why it is not."""
        node = whole.node
        if node != CONTROLLER:
            if max(len(found.before.log), len(found.after.log)) > LONGEST:
                return f"a log of more than {LONGEST} entries"
            as_taken = taken(found, partition.handlers.step)
            if as_taken is None:
                return f"{step.input.kind} is no step where the log is cut"
            found = as_taken
        if self.distinct >= self._most:
            return f"more than {self._most:,} distinct steps"
        self.distinct += 1
        where = f"{partition.topic.name}-{partition.index}"
        refusal = Refusal(f"Handle{step.input.kind}", node, where, partition.handler_calls - 1)
        self.latest = whole, found, refusal
        return found, refusal

    def refused(self, store: Path) -> list[Refusal]:
        """Has TLC judge them. store: a folder for verdicts. Raises ToolError, TraceError."""
        # Not needed to serve, and long to load.
        from kraftcheck.traces.jobs.allowed import Allowed
        from kraftcheck.traces.steps.symmetry import Step as Judged

        allowed = Allowed(store)
        named = []
        for constants, known in self._seen.items():
            for each in known.values():
                if not isinstance(each, str):
                    step, refusal = each
                    judged = Judged(refusal.action, *step)
                    named.append((allowed.name(constants, judged), refusal))
        allowed.ask()
        return [at for name, at in named if name is None or allowed.refuses(name)]
