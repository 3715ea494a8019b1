"""What Kafka's test clients print: VerifiableProducer, VerifiableConsumer, VerifiableShareConsumer.

Each prints a JSON object for each thing that happens (org.apache.kafka.tools, 4.3.1), and ducktape
stores what they print: a folder for each test, with a folder for each service and node. All of a
test's files are one history. `console_consumer.stdout` beside them is a consumer that prints values
alone; a value is read at the place where it was acknowledged.

Laws of this file:

* Files are of several machines, with clocks of their own, and nobody says when a record was sent.
  So no order of real time is read: an append may have happened at any time after its producer
  began. What one file says stays in its order.
* A producer sends its values in the order of their numbers, and consumers poll in the order of
  lines. A consumer's `partitions_assigned` and `partitions_revoked` say where its polls begin anew.
* Without `--verbose` a consumer tells ranges of offsets. Where each offset of a range is there,
  values are those that were acknowledged; that offsets hold other ones is not seen, and said so.
* A producer that was killed had sent more than it tells. What consumers then show is its own.
* Nobody names the group of a consumer. Consumers of one service are of one group; where there are
  several services, what their groups committed or acknowledged is not read, and said so.
* A consumer that was killed may have committed what it was shown last. A share consumer accepts
  what it acknowledges, and does not tell delivery counts.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.text import head_lines, lines_of, read_head, read_text, shown
from kraftcheck.traces.history import (
    ACCEPT,
    ACKNOWLEDGE,
    ASSIGNED,
    INDETERMINATE,
    OK,
    REVOKED,
    SHARE_POLL,
    History,
    HistoryError,
    Operation,
)
from kraftcheck.traces.values import Word

NAME: Final = "verifiable"
CONSOLE: Final = ("console_consumer.stdout", "console_share_consumer.stdout")
"""Files of values alone, by the names that ducktape gives them."""
TEST_LOGS: Final = ("test_log.info", "test_log.debug")
"""What ducktape leaves in the folder of a test."""
SENT: Final = ("producer_send_success", "producer_send_error")
NAMES: Final = frozenset(
    {
        *SENT,
        *("startup_complete", "shutdown_requested", "shutdown_complete", "tool_data"),
        *("partitions_assigned", "partitions_revoked", "records_consumed", "record_data"),
        *("offsets_committed", "offset_reset_strategy_set", "offsets_acknowledged"),
    }
)
"""The `name` of every event."""
CONSOLE_KEY: Final = "console"
"""In the place of a partition, of values that a console consumer got and nobody sent."""
RANGE_MAX: Final = 1 << 24
"""Offsets of a range that is told by its ends."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_DEEP: Final = 8
"""Folders below a test's own in which files are looked for."""


def claims(head: bytes) -> bool:
    """Whether some line is an event of these tools."""
    return any(_named(line) in NAMES for line in head_lines(head)[:100] if line[:1] == "{")


def _named(line: str) -> str | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def is_test(folder: Path) -> bool:
    """Whether the files in a folder are of one test: ducktape's, or of these tools."""
    if any((folder / name).is_file() for name in TEST_LOGS):
        return bool(files_of(folder))
    return any(each.parent == folder for each in files_of(folder, 0))


def files_of(folder: Path, depth: int = _DEEP) -> list[Path]:
    """The files that tools printed, in the order of their paths. Links are not followed."""
    found = []
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False) and depth:
            found += files_of(path, depth - 1)
        elif entry.is_file(follow_symlinks=False) and (
            entry.name in CONSOLE or claims(read_head(path))
        ):
            found.append(path)
    return found


def read(path: Path) -> History:
    """The history of a test's folder, or of one file. Raises HistoryError."""
    files = files_of(path) if path.is_dir() else [path]
    test = _Test(str(path))
    told = [(file, list(test.events(file))) for file in files if file.name not in CONSOLE]
    test.find_groups(told)
    # What was acknowledged is to be known first.
    for of_producers in (True, False):
        for file, events in told:
            if _produces(events) == of_producers:
                test.add(str(file), events)
    for file in files:
        if file.name in CONSOLE:
            test.console(file)
    return test.history()


class Sent(NamedTuple):
    """A record that a producer tells of. at: topic and partition with the offset, once acked."""

    producer: int
    begun: int
    number: int
    line: int
    topic: str
    key: str | None
    offset: int | None
    value: Any
    error: str | None


class _Step(NamedTuple):
    """What a consumer did: an operation, without its number."""

    consumer: int
    time: int
    line: int
    f: str
    key: str | None = None
    argument: Any = None
    records: tuple[tuple[Any, ...], ...] | None = None
    """Of a poll."""
    outcome: str = OK


Events = list[tuple[int, str, dict[str, Any]]]


def _produces(events: Events) -> bool:
    return any(name in SENT for _, name, _ in events)


def _shares(events: Events) -> bool:
    """Whether they are of a share consumer, which names each offset."""
    listed = (
        isinstance(each, dict) and "offsets" in each
        for _, name, event in events
        if name == "records_consumed"
        for each in event.get("partitions") or ()
    )
    names = {name for _, name, _ in events}
    return bool(names & {"offsets_acknowledged", "offset_reset_strategy_set"}) or any(listed)


class _Test:
    """What the files of a test tell, one after the other."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.sent: list[Sent] = []
        self.steps: list[_Step] = []
        self.groups: dict[bool, str | None] = {}
        """By whether they are share groups, the one of all consumers; None: there may be more."""
        self.resets: set[str] = set()
        """Where share groups begin."""
        self.clients = 0
        self.passed_over = 0
        self.notes: Counter[str] = Counter()
        self.killed: list[tuple[int, int]] = []
        """Producers that do not say that they ended: client, and when it began."""
        self.loose: list[_Step] = []
        """Values of console consumers at no known place."""
        self.placed: dict[Any, list[tuple[str, int]]] = {}
        self.told: dict[tuple[str, int], Any] = {}

    # -- Files

    def find_groups(self, told: list[tuple[Path, Events]]) -> None:
        """Consumers of one service, which is a folder for each of its nodes, are one group."""
        services: dict[bool, set[str]] = {}
        for file, events in told:
            if not _produces(events):
                services.setdefault(_shares(events), set()).add(file.parent.parent.name)
        self.groups = {
            kind: names.pop() or NAME if len(names) == 1 else None
            for kind, names in services.items()
        }

    def add(self, source: str, events: Events) -> None:
        """A file of events. Raises HistoryError: one without what it is to have."""
        if _produces(events):
            self._producer(self.client(), source, events)
        else:
            self._consumer(source, events)

    def events(self, path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """The file's events. Raises HistoryError: one that these tools do not print."""
        source = str(path)
        for line, text in lines_of(read_text(path), source):
            if text[:1] != "{":
                self.passed_over += 1
                continue
            try:
                event = jsonlines.decoded(source, line, text)
            except HistoryError:
                # What was printed while the process died, or by two threads at once.
                self.passed_over += 1
                continue
            name = event.get("name") if isinstance(event, dict) else None
            if name is None:
                self.passed_over += 1
            elif name not in NAMES:
                raise HistoryError(source, line, f"{shown(name)} is no event of these tools")
            else:
                yield line, name, event

    def client(self) -> int:
        self.clients += 1
        return self.clients - 1

    def _producer(self, client: int, source: str, events: Events) -> None:
        begun, ended = _time(events[0][2]), False
        for line, name, event in events:
            if name == "startup_complete":
                # Started again, it prints into the same file.
                if not ended and self._of(client):
                    self.killed.append((client, begun))
                client, begun, ended = self.client(), _time(event), False
            elif name in ("shutdown_complete", "tool_data"):
                ended = True
            elif name in SENT:
                self._add_sent(client, begun, source, line, name, event)
        if not ended:
            self.killed.append((client, begun))

    def _of(self, client: int) -> bool:
        return bool(self.sent) and self.sent[-1].producer == client

    def _add_sent(
        self, client: int, begun: int, source: str, line: int, name: str, event: dict[str, Any]
    ) -> None:
        value = _value(event.get("value"))
        topic = event.get("topic")
        if value is None or not isinstance(topic, str):
            raise HistoryError(source, line, f"{name} without a topic and a value")
        key = offset = None
        if name == SENT[0]:
            key, offset = _place(source, line, event)
        error = event.get("message") or event.get("exception")
        self.sent.append(
            Sent(
                *(client, begun, _number(value), line, topic, key, offset, value),
                None if name == SENT[0] else shown(str(error or "error"), 200),
            )
        )
        if key is not None and offset is not None:
            self.placed.setdefault(value, []).append((key, offset))
            self.told.setdefault((key, offset), value)

    def _consumer(self, source: str, events: Events) -> None:
        shares = _shares(events)
        consumer = _Consumer(self, source, self.client(), self.groups[shares], shares)
        for line, name, event in events:
            consumer.add(line, name, event)
        if events:
            consumer.end()

    def in_range(
        self, source: str, line: int, key: str, summary: dict[str, Any]
    ) -> list[tuple[int, Any]]:
        """The records of a range of offsets, by what was acknowledged there."""
        self.notes["ranges"] += 1
        offsets = summary.get("offsets")
        if offsets is None:
            first, last = summary.get("minOffset"), summary.get("maxOffset")
            count = summary.get("count")
            if not all(type(each) is int for each in (first, last, count)):
                raise HistoryError(source, line, "records_consumed without offsets")
            assert isinstance(first, int) and isinstance(last, int) and isinstance(count, int)
            if not 0 <= first <= last < first + RANGE_MAX or not 0 < count <= last - first + 1:
                raise HistoryError(source, line, f"{count} records from {first} to {last}")
            offsets = list(range(first, last + 1))
            if count < len(offsets):
                # Some are missing, and nobody says which. Those that were acknowledged were shown,
                # as many as there is room for.
                self.notes["gaps"] += 1
                offsets = [each for each in offsets if (key, each) in self.told]
                offsets = (
                    [*offsets[: count - 1], *offsets[-1:]] if len(offsets) > count else offsets
                )
        return [(each, self.told.get((key, each), _unknown(each))) for each in offsets]

    def console(self, path: Path) -> None:
        """A file of values alone. Nobody tells its rebalances, so each value is read by itself."""
        time = max((each.begun for each in self.sent), default=0)
        for line, text in lines_of(read_text(path), str(path)):
            value = _value(text)
            places = self.placed.get(value, [])
            if len(places) == 1:
                key, offset = places[0]
                shown_here, where = ((offset, value),), self.steps
            else:
                key, shown_here, where = CONSOLE_KEY, ((line, value),), self.loose
            where.append(_Step(self.client(), time, line, "fetch", key, None, shown_here))

    # -- All of them

    def history(self) -> History:
        """Raises HistoryError: they tell of nothing."""
        attempts = {each.value for each in self.sent}
        # Where it stands, or who sent it, is told nowhere; what nobody sent is found.
        lost = [
            each
            for each in self.loose
            if not self.killed and each.records and each.records[0][1] not in attempts
        ]
        self.notes["not placed"] += len(self.loose) - len(lost)
        steps = [*self.steps, *lost]
        if not self.sent and not steps:
            raise HistoryError(self.source, 0, "no record was sent or consumed")
        appends = [*self._answered(), *self._unanswered(steps)]
        begun = min((each.time for each in steps), default=0) - len(appends) - 1
        found = [
            replace(each, index=at, group=at, invoked=begun + at) for at, each in enumerate(appends)
        ]
        found += self._consumed(steps, len(found))
        return History(
            source=self.source,
            format=NAME,
            time_unit="ns",
            operations=tuple(found),
            model="partition-log",
            real_time=False,
            note=self._note(),
            configuration=self._configuration(),
        )

    def _configuration(self) -> dict[str, Any]:
        """Where share groups begin, if there are no other groups."""
        return {"reset": min(self.resets)} if self.resets and False not in self.groups else {}

    def _answered(self) -> Iterator[Operation]:
        """Of each producer, in the order of its values' numbers."""
        acked = [each for each in self.sent if each.offset is not None]
        for each in sorted(acked, key=lambda each: (each.producer, each.number)):
            assert each.key is not None
            yield _append(each.producer, each.key, each.value, each.line, each.offset)

    def _unanswered(self, steps: list[_Step]) -> Iterator[Operation]:
        """What may have been written without an answer, where consumers were shown it."""
        places: dict[Any, dict[tuple[str, int], None]] = {}
        for each in steps:
            if each.key is not None and each.key != CONSOLE_KEY:
                for offset, value, *_ in each.records or ():
                    if self.told.get((each.key, offset)) != value:
                        places.setdefault(value, {})[each.key, offset] = None
        attempts = {each.value: each for each in self.sent if each.offset is None}
        for value, there in places.items():
            sent = attempts.get(value)
            if sent is not None:
                yield _append(self.client(), next(iter(there))[0], value, sent.line, None, sent)
            elif isinstance(value, Word):
                for key, _ in there:
                    yield _append(self.client(), key, value, 0, None)
            elif self.killed and value not in self.placed:
                self.notes["killed"] += 1
                yield _append(self.client(), next(iter(there))[0], value, 0, None)

    def _consumed(self, steps: list[_Step], index: int) -> Iterator[Operation]:
        last: dict[int, int] = {}
        times = []
        for each in steps:
            last[each.consumer] = max(each.time, last.get(each.consumer, each.time) + 2)
            times.append(last[each.consumer])
        for at in sorted(range(len(steps)), key=times.__getitem__):
            each, time = steps[at], times[at]
            yield Operation(
                index=index,
                group=index,
                process=each.consumer,
                f=each.f,
                key=each.key,
                argument=each.argument,
                result=each.records,
                invoked=time,
                completed=time + 1 if each.outcome == OK else None,
                outcome=each.outcome,
                line=each.line,
            )
            index += 1

    def _note(self) -> str:
        said = ["the order of real time is not known"]
        counts = (
            ("ranges", "values of {} ranges are those that were acknowledged (no --verbose)"),
            ("gaps", "{} ranges have gaps that nobody names"),
            ("killed", "{} records are of producers that do not say that they ended"),
            ("groups", "{} commits and acknowledgements are of groups that nobody names"),
            ("not placed", "{} values of console consumers are of no known place"),
        )
        said += [
            words.format(f"{self.notes[name]:,}") for name, words in counts if self.notes[name]
        ]
        if self.passed_over:
            said.append(f"{self.passed_over:,} lines are no events")
        return "; ".join(said)


class _Consumer:
    """A consumer's events, in the order of its lines.

    group: None, if nobody knows whose offsets it commits and what it shares with others.
    """

    def __init__(
        self, test: _Test, source: str, client: int, group: str | None, shares: bool
    ) -> None:
        self.test, self.source, self.group, self.shares = test, source, group, shares
        self._restart(client)

    def _restart(self, client: int) -> None:
        self.client, self.time, self.line = client, 0, 0
        self.closed = self.commits = False
        self.owned: dict[str, None] = {}
        self.verbose: dict[str, list[tuple[int, Any]]] = {}
        """Records that were told one by one, until their poll is over."""
        self.open: dict[str, list[int]] = {}
        """Of each partition, where polls ended that no commit was told of."""

    def add(self, line: int, name: str, event: dict[str, Any]) -> None:
        self.time, self.line = _time(event), line
        if name == "startup_complete":
            self.end()
            self._restart(self.test.client())
        elif name == "shutdown_complete":
            self.closed = True
        elif name in ("partitions_assigned", "partitions_revoked"):
            self._rebalanced(name, self._keys(event))
        elif name == "record_data":
            key, offset = _place(self.source, line, event)
            self.verbose.setdefault(key, []).append((offset, _value(event.get("value"))))
        elif name == "records_consumed":
            for each in _list(self.source, line, event):
                key = _key(self.source, line, each)
                told = self.verbose.get(key)
                self._polled(key, told or self.test.in_range(self.source, line, key, each))
            self.verbose = {}
        elif name == "offsets_committed":
            self._committed(event)
        elif name == "offsets_acknowledged":
            self._acknowledged(event)
        elif name == "offset_reset_strategy_set":
            reset = event.get("offsetResetStrategy")
            self.test.resets.add(reset if reset in ("earliest", "latest") else "none")

    def end(self) -> None:
        """Nothing more is told: if it was killed, it may have done more."""
        # Killed within a poll: what was printed was shown.
        for key, records in self.verbose.items():
            self._polled(key, records)
        if self.commits and self.group is not None and not self.closed:
            for key, ends in self.open.items():
                for offset in ends:
                    self._step("commit-offsets", None, ((key, offset),), outcome=INDETERMINATE)

    def _step(self, f: str, key: str | None, argument: Any, **more: Any) -> None:
        argument = (self.group, argument) if f != "assign" else argument
        step = _Step(self.client, self.time, self.line, f, key, argument, **more)
        self.test.steps.append(step)

    def _keys(self, event: dict[str, Any]) -> list[str]:
        return [_key(self.source, self.line, e) for e in _list(self.source, self.line, event)]

    def _rebalanced(self, name: str, keys: list[str]) -> None:
        if name == "partitions_assigned":
            self.owned |= dict.fromkeys(keys)
            f = ASSIGNED
        else:
            keys = [key for key in keys if key in self.owned]
            self.owned = {key: None for key in self.owned if key not in keys}
            f = REVOKED
        if self.group is None:
            self._step("assign", None, tuple(self.owned))
        else:
            self._step(f, None, tuple(keys))

    def _polled(self, key: str, records: list[tuple[int, Any]]) -> None:
        if not records:
            return
        told = (self.client, self.time, self.line)
        if not self.shares:
            self.open.setdefault(key, []).append(records[-1][0] + 1)
            self.test.steps.append(_Step(*told, "fetch", key, None, tuple(records)))
        elif self.group is not None:
            shown_here = tuple((*each, None) for each in records)
            self.test.steps.append(_Step(*told, SHARE_POLL, key, self.group, shown_here))
        else:
            # A share group delivers in any order, and again: each record is by itself.
            for each in records:
                one = (self.test.client(), *told[1:])
                self.test.steps.append(_Step(*one, "fetch", key, None, (each,)))

    def _committed(self, event: dict[str, Any]) -> None:
        """A commit without success may have taken effect."""
        offsets, self.commits = event.get("offsets"), True
        if not isinstance(offsets, list):
            raise HistoryError(self.source, self.line, "offsets_committed without offsets")
        places = tuple(_place(self.source, self.line, each) for each in offsets)
        if self.group is None or not places:
            self.test.notes["groups"] += 1
            return
        succeeded = event.get("success") is True
        self._step("commit-offsets", None, places, outcome=OK if succeeded else INDETERMINATE)
        for key, offset in places if succeeded else ():
            self.open[key] = [each for each in self.open.get(key, ()) if each > offset]

    def _acknowledged(self, event: dict[str, Any]) -> None:
        """They accept; one without success may have taken effect."""
        if self.group is None:
            self.test.notes["groups"] += 1
            return
        outcome = OK if event.get("success") is True else INDETERMINATE
        for each in _list(self.source, self.line, event):
            key, offsets = _key(self.source, self.line, each), each.get("offsets")
            if not isinstance(offsets, list) or not all(type(o) is int for o in offsets):
                raise HistoryError(self.source, self.line, "offsets_acknowledged without offsets")
            accepted = tuple((offset, ACCEPT) for offset in offsets)
            self._step(ACKNOWLEDGE, key, accepted, outcome=outcome)


def _append(
    process: int, key: str, value: Any, line: int, offset: int | None, failed: Sent | None = None
) -> Operation:
    return Operation(
        index=0,
        group=0,
        process=process,
        f="append",
        key=key,
        argument=value,
        result=offset,
        invoked=0,
        completed=None,
        outcome=INDETERMINATE if offset is None else OK,
        line=line,
        error=None if failed is None else failed.error,
    )


def _unknown(offset: int) -> Word:
    """Stands for the value at an offset that nobody tells."""
    return Word(f"the-record-at-{offset}")


def _time(event: dict[str, Any]) -> int:
    """In nanoseconds; the tools print milliseconds."""
    time = event.get("timestamp")
    return time * 1_000_000 if type(time) is int and 0 <= time < 1 << 42 else 0


def _value(value: Any) -> Any:
    """Numbers as such, anything else as text."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


def _number(value: Any) -> int:
    """Which of its producer's values it is: `7`, or `2.7` with a prefix."""
    _, _, last = str(value).rpartition(".")
    return int(last) if _WHOLE.fullmatch(last) else 0


def _list(source: str, line: int, event: dict[str, Any]) -> list[Any]:
    found = event.get("partitions")
    if not isinstance(found, list):
        raise HistoryError(source, line, f"{event.get('name')} without partitions")
    return found


def _key(source: str, line: int, place: Any) -> str:
    topic = place.get("topic") if isinstance(place, dict) else None
    partition = place.get("partition") if isinstance(place, dict) else None
    if not isinstance(topic, str) or type(partition) is not int:
        raise HistoryError(source, line, f"{shown(str(place))} is no topic and partition")
    return f"{topic}-{partition}"


def _place(source: str, line: int, event: dict[str, Any]) -> tuple[str, int]:
    key, offset = _key(source, line, event), event.get("offset")
    if type(offset) is not int or not 0 <= offset < 1 << 63:
        raise HistoryError(source, line, f"offset is {shown(str(offset))}, not an integer")
    return key, offset
