"""What the interceptors of kraftcheck/kafka/live/interceptor write inside a Java application.

A JSON object a line, in the order of one thread for each JVM; several JVMs may share the file.

    begin, state, end    of a JVM's part of the file; without `end` it was killed, or left clients
                         open; the state `failed` says that nothing more could be written
    client, close        a producer or a consumer, with the settings that promises depend on
    send                 before a record is sent: its id, which the record carries in a header,
                         unless its producer has the setting header=false, and the thread that
                         sends it; `count` records whose ids follow each other may share a line, and
                         so may their acknowledgements
    acked, failed        what became of a send; clients of 4.0 and earlier do not tell the id
    read                 what a poll returned of a partition: offsets and ids
    committed            offsets that a consumer committed; not judged
    dropped              the number of events that found no room

Law of this file: what an interceptor cannot see is assumed to be as weak as it can be, so that
nothing is found that may not have been, and what is missing is said.

* A record without an id, or with one that the file does not have, is taken for the append of an
  unknown client that may have begun before everything else.
* An acknowledgement without an id is one of the record that somebody read at its offset, if the
  same producer sent that; otherwise of a record of its own.
* A producer with header=false names no record. What was read at an offset that was acknowledged to
  it is taken for its record; more records than were sent make the verdict unknown, since they may
  be duplicates.
* What one thread sends with one producer has the order of the lines. Of two threads, or where lines
  name none, nobody knows which was first.
* The end of a transaction is not seen, so an acknowledged record of a transactional producer may be
  visible or not.
* A poll began after the one before it, and a fetch at its first record.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappush, heapreplace
from itertools import count, groupby, islice
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.events import Event, Fields, record
from kraftcheck.traces.formats.jsonlines import Placed
from kraftcheck.traces.formats.text import head_lines, lines_of, read_text, shown
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import History, HistoryError, Omissions

NAME: Final = "clients"
COUNT_MAX: Final = 100_000
"""Records that one line may be about; the interceptor ends a line after a millisecond."""
TOGETHER: Final = 500
"""The records of unknown producers that are one operation, which saves memory: it has no end, so it
claims nothing of their order."""
FORMAT: Final = "kraftcheck-clients"
VERSION: Final = 1
_TORN = re.compile(r'\{("e|$)')
"""How a line begins that a killed JVM did not finish."""


class _Line(msgspec.Struct, tag_field="event", forbid_unknown_fields=False):
    jvm: str


class _Begin(_Line, tag="begin"):
    format: str
    version: int
    machine: str
    time: int


class _State(_Line, tag="state"):
    state: str


class _End(_Line, tag="end"):
    pass


class _Dropped(_Line, tag="dropped"):
    events: int


class _OfClient(_Line):
    client: int
    time: int


class _Client(_OfClient, tag="client"):
    role: str
    clients: str = ""
    id: str | None = None
    acks: str | None = None
    idempotence: str | None = None
    transactional_id: str | None = None
    retries: str | None = None
    in_flight: str | None = None
    isolation: str | None = None
    header: str | None = None


class _Close(_OfClient, tag="close"):
    pass


class _Send(_OfClient, tag="send"):
    topic: str
    id: str | None = None
    partition: int | None = None
    count: int = 1
    thread: int | None = None


class _Acked(_OfClient, tag="acked"):
    topic: str
    offset: int
    partition: int | None = None
    id: str | None = None
    count: int = 1


class _Failed(_OfClient, tag="failed"):
    topic: str
    error: str
    partition: int | None = None
    id: str | None = None


class _Read(_OfClient, tag="read"):
    topic: str
    partition: int
    records: list[tuple[int, str | None]]


class _Committed(_OfClient, tag="committed"):
    offsets: list[tuple[str, int, int]]


_Any = (
    _Begin
    | _State
    | _End
    | _Dropped
    | _Client
    | _Close
    | _Send
    | _Acked
    | _Failed
    | _Read
    | _Committed
)
_DECODER: Final = msgspec.json.Decoder(_Any)

Who = tuple[str, int]
"""A client: its JVM, and its number there."""


class _Append(NamedTuple):
    """What is known of a record in the end.

    thread: of the producer that sent it. None: that is not known.
    """

    line: int
    who: Who
    value: str
    key: str
    begin: int
    end: int | None
    offset: int | None
    """None: it is not known to be in the log."""
    error: str | None
    thread: int | None = None


def claims(head: bytes) -> bool:
    """Whether the first line is the beginning of a JVM's part."""
    lines = head_lines(head)
    return bool(lines) and lines[0].startswith('{"event":"begin",') and FORMAT in lines[0]


def read(path: Path) -> History:
    """Raises HistoryError."""
    source = str(path)
    lines = _Lines(source, read_text(path))
    known = _Known(lines)
    history = history_of(source, NAME, record(source, _events(source, known)))
    unknown: Counter[str] = Counter()
    for key, values in known.unknown():
        unknown[key.rpartition("-")[0]] += len(values)
    omissions = lines.omissions(unknown)
    return msgspec.structs.replace(
        history, configuration=lines.configuration(), omissions=omissions
    )


class _Lines:
    """All lines of a file, by what they are about."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.parts: dict[str, int] = defaultdict(int)
        """By JVM, the number of parts that have no end."""
        self.machines: set[str] = set()
        self.failed: set[str] = set()
        self.dropped = self.torn = 0
        self.clients: dict[Who, _Client] = {}
        self.sends: dict[str, tuple[int, _Send]] = {}
        self.acked: dict[str, tuple[int, _Acked]] = {}
        self.unnamed: list[tuple[int, _Acked]] = []
        self.open: Counter[str] = Counter()
        """By topic, how many records without a header were sent and not acknowledged."""
        self.errors: dict[str, _Failed] = {}
        self.threads: dict[Who, set[int | None]] = defaultdict(set)
        """Those that used a producer; None: a send does not name its thread."""
        self.reads: dict[Who, list[tuple[int, _Read]]] = defaultdict(list)
        for line, part in lines_of(text, path):
            if part.strip():
                self._take(line, part)
        cut = sum(self.parts.values())
        if self.torn > cut:
            what = f"{self.torn} lines break off, and {cut} JVMs were killed"
            raise HistoryError(path, 0, f"{what}: the file is damaged")
        if len(self.machines) > 1:
            raise HistoryError(
                path,
                0,
                f"of {len(self.machines)} machines, or of one before and after a restart, whose "
                "clocks cannot be compared: check the file of each by itself",
            )
        if not self.clients:
            raise HistoryError(path, 0, "empty: no client was recorded")

    def _take(self, line: int, part: str) -> None:
        try:
            each = _DECODER.decode(part)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            whole = part.rstrip().endswith("}")
            if _TORN.match(part) and not (whole and isinstance(error, msgspec.ValidationError)):
                self.torn += 1
                return
            raise HistoryError(self.path, line, shown(str(error), 120)) from None
        if isinstance(each, _Begin):
            if (each.format, each.version) != (FORMAT, VERSION):
                said = f"{shown(each.format)} {each.version}, not {FORMAT} {VERSION}"
                raise HistoryError(self.path, line, said)
            self.parts[each.jvm] += 1
            self.machines.add(each.machine)
        elif isinstance(each, _State):
            self.failed |= {each.jvm} if each.state == "failed" else set()
        elif isinstance(each, _End):
            self.parts[each.jvm] -= 1
        elif isinstance(each, _Dropped):
            self.dropped += each.events
        elif isinstance(each, _Client):
            self.clients[each.jvm, each.client] = each
        else:
            self._of_client(line, each)

    def _of_client(
        self, line: int, each: _Close | _Send | _Acked | _Failed | _Read | _Committed
    ) -> None:
        who = (each.jvm, each.client)
        if who not in self.clients:
            raise HistoryError(self.path, line, f"client {each.client} has no line of its own")
        if isinstance(each, _Send):
            for name in self._names(line, each):
                if name is None:
                    if not self.is_bare(who):
                        raise HistoryError(self.path, line, "a send without an id")
                    self.open[each.topic] += 1
                    continue
                if name in self.sends:
                    raise HistoryError(self.path, line, f"{name} is sent twice")
                self.sends[name] = line, each
                self.threads[who].add(each.thread)
        elif isinstance(each, _Acked):
            names = self._names(line, each)
            for at, name in enumerate(names):
                offset = each.offset + at if each.offset >= 0 else each.offset
                own = msgspec.structs.replace(each, offset=offset) if at else each
                if name is None:
                    self.unnamed.append((line, own))
                    known = each.offset >= 0 and not self.transactional(who)
                    self.open[each.topic] -= known and self.is_bare(who)
                else:
                    self.acked[name] = line, own
        elif isinstance(each, _Failed):
            if each.id is not None:
                self.errors[each.id] = each
        elif isinstance(each, _Read):
            self.reads[who].append((line, each))

    def _names(self, line: int, each: _Send | _Acked) -> list[Any]:
        """The ids of the records that a line is about; None for those it does not name."""
        if not 1 <= each.count <= COUNT_MAX:
            said = f"count is {each.count}, not a number from 1 to {COUNT_MAX:,}"
            raise HistoryError(self.path, line, said)
        if each.id is None or each.count == 1:
            return [each.id] * each.count
        jvm, _, number = each.id.rpartition("-")
        if not number.isascii() or not number.isdecimal():
            raise HistoryError(self.path, line, f"{shown(each.id)} is no id that has a next one")
        return [f"{jvm}-{int(number) + at}" for at in range(each.count)]

    def sender(self, name: str) -> Who:
        """Who sent the record of this id."""
        sent = self.sends[name][1]
        return sent.jvm, sent.client

    def is_bare(self, who: Who) -> bool:
        """Whether its records carry no header."""
        return self.clients[who].header == "false"

    def transactional(self, who: Who) -> bool:
        return self.clients[who].transactional_id is not None

    def configuration(self) -> dict[str, Any]:
        """What the clients' settings say: of several, the weakest."""
        producers = [each for each in self.clients.values() if each.role == "producer"]
        consumers = [each for each in self.clients.values() if each.role == "consumer"]
        told: dict[str, Any] = {}
        if producers:
            acks = {_acks(each) for each in producers}
            told["acks"] = next(each for each in ("0", "1", "all") if each in acks)
            told["idempotence"] = all(_is_idempotent(each) for each in producers)
            told["retries"] = any(each.retries != "0" for each in producers)
        told["transactions"] = any(map(self.transactional, self.clients))
        if consumers:
            committed = all(each.isolation == "read_committed" for each in consumers)
            told["isolation"] = "read_committed" if committed else "read_uncommitted"
        # Who was assigned what is not seen, nor who went back.
        told |= {"consumers": "subscribe", "goes_back": True}
        return told

    def omissions(self, unrecorded: Mapping[str, int]) -> Omissions:
        """What is not in the file.

        Args:
            unrecorded: by topic, the number of records of unknown producers.
        """
        cut = {jvm for jvm, open_ in self.parts.items() if open_ > 0}
        reading = {jvm for jvm, _ in self.reads}
        dropped: list[str] = []
        if self.dropped:
            dropped.append(f"{self.dropped:,} events found no room in the buffer")
        if self.failed:
            dropped.append(f"{_jvms(len(self.failed))} could not write the file")
        told: list[str] = []
        if any(map(self.is_bare, self.clients)):
            told.append(
                "which record was read, where producers add no header: one in place of another, or "
                "a duplicate, may go unnoticed"
            )
            more = sum(max(0, number - self.open[topic]) for topic, number in unrecorded.items())
            if more:
                which = "duplicates, or of other producers"
                dropped.append(f"{more:,} records were read that no send explains: {which}")
        if cut - self.failed:
            told.append(
                f"the last requests of {_jvms(len(cut - self.failed))}, killed or with clients open"
            )
        if any(None in each for each in self.threads.values()):
            told.append("which thread sent a record, so a producer's order is not judged")
        elif any(len(each) > 1 for each in self.threads.values()):
            told.append("the order of sends by several threads with one producer")
        if unknown := sum(unrecorded.values()):
            told.append(f"who sent {unknown:,} of the records that were read")
        if any(map(self.transactional, self.clients)):
            told.append("how transactions ended: none of their records counts as acknowledged")
        return Omissions(
            dropped="; ".join(dropped),
            reads=bool(self.dropped or self.failed or cut & reading),
            offsets=any(each > 0 for each in (*unrecorded.values(), *self.open.values())),
            told=tuple(told),
        )


def _jvms(number: int) -> str:
    return "1 JVM" if number == 1 else f"{number} JVMs"


def _acks(client: _Client) -> str:
    return {"-1": "all", None: "all"}.get(client.acks, client.acks or "all")


def _is_idempotent(client: _Client) -> bool:
    """As ProducerConfig decides: a setting that does not fit turns the default off."""
    if client.transactional_id is not None:
        return True
    if client.idempotence is not None:
        return client.idempotence.lower() == "true"
    few = client.in_flight is None or int(client.in_flight) <= 5
    return _acks(client) == "all" and client.retries != "0" and few


# -- What became of records


def _key(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


class _Known:
    """The lines, with the record that each of them is about.

    read_at: by key and offset, the id of a record that somebody read there and the file has.
    unrecorded: by key and offset, the value of a record that it has not.
    bare: by key, the offsets of these that were acknowledged to a producer that adds no header.
    """

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.read_at: dict[tuple[str, int], str] = {}
        self.unrecorded: dict[str, dict[tuple[int, str | None], str]] = defaultdict(dict)
        self.bare: dict[str, set[int]] = defaultdict(set)
        self._place: dict[str, int] = {}
        places_unknown: set[tuple[str, int]] = set()
        for reads in lines.reads.values():
            for _, each in reads:
                key = _key(each.topic, each.partition)
                for offset, name in each.records:
                    if self.is_sent(name, each.topic):
                        assert name is not None
                        self.read_at.setdefault((key, offset), name)
                        self._place.setdefault(name, each.partition)
                    else:
                        value = f"{name or 'unrecorded'} at {offset}"
                        self.unrecorded[key][offset, name] = value
                        places_unknown.add((key, offset))
        self._nowhere = [*self._find_unnamed(places_unknown)]

    def is_sent(self, name: str | None, topic: str) -> bool:
        """Whether the file has the send. A copy in another topic bears the id of its original."""
        return name in self.lines.sends and self.lines.sends[name][1].topic == topic

    def value(self, key: str, topic: str, offset: int, name: str | None) -> str:
        """What stands for a record that was read."""
        if self.is_sent(name, topic):
            assert name is not None
            return name
        return self.unrecorded[key][offset, name]

    def unknown(self) -> Iterator[tuple[str, list[str]]]:
        """By key, the values of records of which nobody knows who sent them."""
        for key, records in self.unrecorded.items():
            bare = self.bare[key]
            yield key, [value for (at, name), value in records.items() if name or at not in bare]

    def _find_unnamed(self, unknown: set[tuple[str, int]]) -> Iterator[_Append]:
        """Finds the records of acknowledgements without an id.

        Yields those that nobody read, and those without a header.
        """
        lines = self.lines
        for line, ack in lines.unnamed:
            who = (ack.jvm, ack.client)
            if ack.partition is None or lines.transactional(who):
                continue
            key = _key(ack.topic, ack.partition)
            place = key, ack.offset
            name, bare = self.read_at.get(place), lines.is_bare(who)
            begin = lines.clients[who].time
            read = self.unrecorded[key].get((ack.offset, None)) if bare else None
            if read is not None and ack.offset not in self.bare[key]:
                self.bare[key].add(ack.offset)
                yield _Append(line, who, read, key, begin, ack.time, ack.offset, None)
            elif name is not None and lines.sender(name) == who:
                lines.acked.setdefault(name, (line, ack))
            elif ack.offset >= 0 and (bare or name is not None or place not in unknown):
                value = f"{ack.jvm}-{ack.client} at {ack.offset}"
                yield _Append(line, who, value, key, begin, ack.time, ack.offset, None)

    def appends(self) -> Iterator[_Append]:
        """Every record of a recorded producer whose partition is known."""
        yield from self._nowhere
        for name, (line, sent) in self.lines.sends.items():
            who = (sent.jvm, sent.client)
            ack = self.lines.acked.get(name)
            partition = sent.partition if ack is None else ack[1].partition
            partition = self._place.get(name) if partition is None else partition
            if partition is None:
                continue  # It was neither acknowledged nor read.
            key = _key(sent.topic, partition)
            end, offset, error = None, None, None
            if ack is None or self.lines.transactional(who):
                failed = self.lines.errors.get(name)
                error = failed.error if failed else None
            else:
                end, offset = ack[1].time, ack[1].offset if ack[1].offset >= 0 else None
            yield _Append(line, who, name, key, sent.time, end, offset, error, sent.thread)


# -- Events


def _events(path: str, known: _Known) -> Iterator[Event]:
    fields = Fields(path, colon=False)
    for each in sorted(_placed(known), key=lambda placed: placed[:3]):
        form = {**each.form, "time": each.time}
        yield jsonlines.event(fields, path, each.line, form)


def _placed(known: _Known) -> Iterator[Placed]:
    processes = count()
    lanes: dict[Who, list[tuple[float, int]]] = defaultdict(list)
    for append in sorted(known.appends(), key=lambda each: (each.begin, each.line)):
        process = _lane(lanes[append.who], append, processes)
        sent = [["send", append.key, append.value]]
        asked: dict[str, Any] = {"process": process, "f": "send", "value": sent}
        if append.thread is not None:
            asked["mark"] = "{}-{} of thread {}".format(*append.who, append.thread)
        yield Placed(append.begin, 0, append.line, {**asked, "type": "invoke"})
        if append.end is not None:
            got = [["send", append.key, [append.offset, append.value]]]
            answered = asked if append.offset is None else {**asked, "value": got}
            yield Placed(append.end, 1, append.line, {**answered, "type": "ok"})
    first = min(each.time for each in known.lines.clients.values())
    for key, values in known.unknown():
        for some in _batches(iter(values)):
            sent = [["send", key, value] for value in some]
            asked = {"process": next(processes), "f": "send", "value": sent}
            yield Placed(first, 0, 0, {**asked, "type": "invoke"})
    for who, reads in known.lines.reads.items():
        yield from _polls(known, who, reads, next(processes))


def _batches(values: Iterator[str]) -> Iterator[list[str]]:
    while some := list(islice(values, TOGETHER)):
        yield some


def _lane(lanes: list[tuple[float, int]], append: _Append, processes: Iterator[int]) -> int:
    """A process of the producer that is free: several of its appends are on their way at once."""
    end = inf if append.end is None else append.end
    if lanes and lanes[0][0] < append.begin:
        return heapreplace(lanes, (end, lanes[0][1]))[1]
    process = next(processes)
    heappush(lanes, (end, process))
    return process


def _polls(
    known: _Known, who: Who, reads: Sequence[tuple[int, _Read]], process: int
) -> Iterator[Placed]:
    """What was read at one time is of one poll, which began after the one before it."""
    begin, after = known.lines.clients[who].time, 0
    for end, poll in groupby(reads, key=lambda each: each[1].time):
        got: dict[str, list[list[Any]]] = {}
        line = 0
        for number, each in poll:
            line = line or number
            key = _key(each.topic, each.partition)
            got[key] = [
                [offset, known.value(key, each.topic, offset, name)]
                for offset, name in each.records
            ]
        asked = {"process": process, "f": "poll", "value": [["poll"]]}
        yield Placed(begin, after, line, {**asked, "type": "invoke"})
        starts = {key: records[0][0] for key, records in got.items()}
        answer = {**asked, "type": "ok", "value": [["poll", got]], "from": starts}
        yield Placed(end, 1, line, answer)
        begin, after = end, 2
