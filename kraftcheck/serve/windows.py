"""Steps of a long session, each judged by TLC in the window of the logs that it speaks of.

Logs of a session grow, so no two of its steps are equal, and a row of thousands of entries is more
than TLC can be asked about. But a step speaks of the end of a log alone. So a step is moved to
where it can be judged: entries below a bound are dropped, offsets are lowered by it (those below it
become 0), and values, requests' clients and sequence numbers are counted from 1, in the order in
which they appear. Most steps of a session then are one of a few hundred.

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from reference.partition.log import Batch, ProducerState, Record
from reference.partition.messages import (
    CONTROLLER,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from reference.partition.types import UNDEFINED, BrokerRow, Parked, is_up

if TYPE_CHECKING:
    from kraftcheck.serve.partition import ServedPartition
    from reference.sim.memo import Step

LONGEST: Final = 500
"""Entries of a log: TLC is not asked about longer ones."""
_KEPT: Final = 1
"""Entries below all that a step speaks of, which stay."""
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
    """What one step is moved by. bound: the first entry that stays. least: of each producer the
    sequence number that becomes 1, where there are smaller ones than that.
    """

    def __init__(self, bound: int, least: dict[int, int]) -> None:
        self.bound = bound
        self._least = least
        self._numbers: dict[tuple[str, int], int] = {}

    def offset(self, offset: int) -> int:
        return offset if offset < 0 else max(0, offset - self.bound)

    def number(self, of: str, number: int) -> int:
        """Of a value or a client: in the order in which they come."""
        if number < 1:
            return number
        return self._numbers.setdefault((of, number), 1 + len(self._numbers))

    def sequence(self, producer: int, sequence: int) -> int:
        least = self._least.get(producer, 1)
        return sequence if sequence < 1 else max(0, sequence - max(0, least - 1))

    def row(self, row: Any) -> Any:
        """Of a broker."""
        cache = [replace(each, start=self.offset(each.start)) for each in row.epoch_cache]
        kept = tuple(cache)
        while len(kept) > 1 and kept[1].start == 0:
            kept = kept[1:]
        moved = self.item(replace(row, log=(), epoch_cache=()))
        log = tuple([self.item(record) for record in row.log[self.bound : len(row.log)]])
        return replace(moved, log=log, epoch_cache=kept)

    def item(self, item: Any) -> Any:
        """A message, or any part of a row."""
        if isinstance(item, tuple):
            return tuple([self.item(each) for each in item])
        if not isinstance(item, msgspec.Struct):
            return item
        if isinstance(item, Record):
            return self._record(item)
        changed: dict[str, Any] = {}
        new: Any
        for name in item.__struct_fields__:
            old = getattr(item, name)
            if name in _OFFSETS or (name == "offset" and isinstance(item, _HAVE_OFFSET)):
                new = self.offset(old)
            elif name == "client":
                new = self.number(name, old)
            elif name == "values":
                new = tuple([self.number(name, value) for value in old])
            elif name == "sequence" and isinstance(item, ProduceRequest):
                new = self.sequence(item.producer, old)
            elif name == "batches" and isinstance(item, ProducerState):
                new = tuple([self._batch(item.producer, each) for each in old])
            elif isinstance(old, tuple | msgspec.Struct):
                new = self.item(old)
            else:
                continue
            if new != old:
                changed[name] = new
        return replace(item, **changed) if changed else item

    def _record(self, record: Record) -> Record:
        of = record.producer
        return replace(
            record,
            value=self.number("values", record.value),
            sequence=self.sequence(of, record.sequence),
            first=self.sequence(of, record.first),
            last=self.sequence(of, record.last),
        )

    def _batch(self, producer: int, batch: Batch) -> Batch:
        return Batch(
            self.sequence(producer, batch.first),
            self.sequence(producer, batch.last),
            self.offset(batch.offset),
        )


def bound_of(step: Moved) -> int:
    """The first entry that a step needs: one below all of which it speaks."""
    live = [*_of_row(step.before), *_of_row(step.after)]
    if step.before.log_start != step.after.log_start:
        live.append(step.before.log_start)
    for message in (step.input, *step.sent):
        live += _of_message(message)
    return max(0, min(live) - _KEPT)


def _of_row(row: BrokerRow) -> Iterator[int]:
    yield len(row.log)
    if is_up(row):
        yield row.high_watermark
    for parked in row.parked:
        yield parked.offset
    for remote in row.remotes:
        if remote.end_offset != UNDEFINED:
            yield remote.end_offset
    for request in row.fetching:
        yield request.fetch_offset


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


def _least_of(step: Moved, bound: int) -> dict[int, int]:
    """By producer the least sequence number that a step speaks of."""
    least: dict[int, int] = {}

    def seen(producer: int, sequence: int) -> None:
        if sequence >= 0:
            least[producer] = min(sequence, least.get(producer, sequence))

    for row in (step.before, step.after):
        for state in row.producers:
            for batch in state.batches:
                seen(state.producer, batch.first)
        for record in row.log[bound : len(row.log)]:
            seen(record.producer, record.first)
    for message in (step.input, *step.sent):
        asked = getattr(message, "request", message)
        if isinstance(asked, ProduceRequest):
            seen(asked.producer, asked.sequence)
        for record in getattr(message, "records", ()):
            if isinstance(record, Record):
                seen(record.producer, record.first)
    return least


def moved(step: Moved, handler: Callable[[int, Any, Any], Any]) -> Moved | None:
    """A broker's step in its window; None: the handler does not take it there."""
    bound = bound_of(step)
    move = Move(bound, _least_of(step, bound))
    found = Moved(
        node=step.node,
        before=move.row(step.before),
        input=move.item(step.input),
        after=move.row(step.after),
        sent=tuple([move.item(message) for message in step.sent]),
        ignored=step.ignored,
    )
    outcome = handler(step.node, found.before, found.input)
    if outcome is None or (outcome.row, outcome.ignored) != (found.after, found.ignored):
        return None
    if outcome.sent != found.sent:
        if len(outcome.sent) != len(found.sent) or set(outcome.sent) != set(found.sent):
            return None
        found = found._replace(sent=outcome.sent)
    return found


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

    def __init__(self, most: int) -> None:
        """most: distinct steps, after which others are no longer judged."""
        self._most = most
        self._seen: dict[Any, dict[bytes, tuple[Moved, Refusal]]] = {}
        self.distinct = self.steps = 0
        self.latest: tuple[Moved, Moved, Refusal] | None = None
        """The last distinct step: as it is, moved, and what it is called."""
        self.unjudged: dict[str, int] = {}
        """Steps that are not judged, by why."""

    def take(self, partition: ServedPartition, step: Step) -> None:
        self.steps += 1
        node = step.before.node
        sent = tuple([message.value for _, message in step.sent])
        whole = Moved(node, step.before.row, step.input.value, step.after.row, sent, step.ignored)
        if node == CONTROLLER:
            found: Moved | None = whole
        else:
            found = moved(whole, partition.handlers.step)
        if found is None:
            self._leave(f"{step.input.kind} is no step where the log is cut")
            return
        if node != CONTROLLER and max(len(found.before.log), len(found.after.log)) > LONGEST:
            self._leave(f"a log of more than {LONGEST} entries")
            return
        known = self._seen.setdefault(partition.constants, {})
        key = _encode(found)
        if key in known:
            return
        if self.distinct >= self._most:
            self._leave(f"more than {self._most:,} distinct steps")
            return
        self.distinct += 1
        where = f"{partition.topic.name}-{partition.index}"
        at = partition.handler_calls - 1
        known[key] = found, Refusal(f"Handle{step.input.kind}", node, where, at)
        self.latest = whole, *known[key]

    def _leave(self, why: str) -> None:
        self.unjudged[why] = self.unjudged.get(why, 0) + 1

    def refused(self, store: Path) -> list[Refusal]:
        """Has TLC judge them. store: a folder for verdicts. Raises ToolError, TraceError."""
        # Not needed to serve, and long to load.
        from traces.jobs.allowed import Allowed
        from traces.jobs.canonical import Step as Judged

        allowed = Allowed(store)
        named = []
        for constants, known in self._seen.items():
            for step, refusal in known.values():
                judged = Judged(refusal.action, *step)
                name = allowed.name(constants, judged)
                named.append((name, refusal))
        allowed.ask()
        return [at for name, at in named if name is None or allowed.refuses(name)]
