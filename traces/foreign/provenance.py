"""Where messages come from, as far as the trace tells (L3: specs/common/Network.tla).

A message that was received must have been sent before, to this node, as it is. A foreign trace may
tell of some nodes only. So the question is asked of senders whose own steps are in the trace, with
all that they sent; of any other sender nothing is known, and nothing is claimed.

Two messages *agree* when no field that both have differs: a message may be logged in part where it
was sent and in another part where it was received.

Law of this file: what is possible is never excluded. A message that some hidden field could make
true is not found wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from kraftcheck.reference.kit.protocol import SharedLog
from kraftcheck.reference.protocols import LOGS_BY_READING, LOGS_BY_WRITING, MESSAGES, PROTOCOLS
from kraftcheck.traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from kraftcheck.traces.foreign.verdicts import Finding
from tla_utils import Record, Value
from tla_utils.values import render

PROVENANCED, NOTHING_WHEN_DOWN = "Provenanced", "NothingWhenDown"
SENT_ONCE, CHAINED, METADATA_READ = "SentOnce", "Chained", "MetadataRead"

SHORT: Final = 60
"""Characters of a value in an explanation."""

_MESSAGES: Final = frozenset(kind.__name__ for kind in MESSAGES)
_CLIENTS: Final = frozenset(str(each) for protocol in PROTOCOLS for each in protocol.clients)
_READ: Final = {kind.__name__: log for kind, log in LOGS_BY_READING.items()}
_WRITTEN: Final = frozenset(kind.__name__ for kind in LOGS_BY_WRITING)


def is_message(input: Fields | None) -> bool:
    return input is not None and input["type"] in _MESSAGES


def agree(one: Fields, other: Fields) -> bool:
    """Whether both can be the same message."""
    return all(other[name] == value for name, value in one.items() if name in other)


def _apart(one: Value, other: Value, path: str = "") -> list[str]:
    """Where two values differ, field by field, of fields that both have; and what stands there."""
    if isinstance(one, Record) and isinstance(other, Record):
        both = [name for name in one if name in other]
        dot = f"{path}." if path else ""
        return [each for k in both for each in _apart(one[k], other[k], f"{dot}{k}")]
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True), 1)
        return [each for at, pair in pairs for each in _apart(*pair, f"{path}[{at}]")]
    if isinstance(one, tuple) and isinstance(other, tuple):
        # Both may be long, and be cut where they are alike still.
        return [f"{path} (of length {len(one)}, then {len(other)})"]
    return [] if one == other else [f"{path} ({_short(one)}, then {_short(other)})"]


def _short(value: Value) -> str:
    said = render(value)
    return said if len(said) <= SHORT else f"{said[: SHORT - 1]}…"


class Senders:
    """What was sent in a trace, by whom and when."""

    def __init__(self, trace: ForeignTrace) -> None:
        self._trace = trace
        self._exact: dict[tuple[int, Record], int] = {}
        self._by_kind: dict[tuple[int, object], list[tuple[int, Fields]]] = defaultdict(list)
        self._silent: set[tuple[int, int]] = set()
        """Nodes of runs that have a line which hides what was sent."""
        self._logged: set[tuple[int, int]] = set()
        for step in trace.steps:
            self._logged.add((step.run, step.node))
            if step.sent is None:
                self._silent.add((step.run, step.node))
            for message in step.sent or ():
                self._exact.setdefault((step.run, Record(message)), step.line)
                self._by_kind[step.run, message["type"]].append((step.line, message))

    def tells_all(self, run: int, sender: object) -> bool:
        """Say whether the trace has all that this node sent in this run.

        Each message is there at least in part.
        """
        if not (self._trace.from_initial and isinstance(sender, int)):
            return False
        return (run, sender) in self._logged and (run, sender) not in self._silent

    def knows(self, step: ForeignStep) -> bool:
        """Whether the trace must hold the sending of what this step received."""
        message = step.input
        if not is_message(message):
            return False
        assert message is not None
        return "source" in message and self.tells_all(step.run, message["source"])

    def candidates(self, step: ForeignStep) -> list[Fields]:
        """The sent messages that this step may have received, each once."""
        message = step.input
        assert message is not None
        exact = self._exact.get((step.run, Record(message)))
        if self._trace.full:
            return [] if exact is None or not self._in_time(exact, step) else [message]
        found: dict[Record, Fields] = {}
        for line, sent in self._by_kind[step.run, message["type"]]:
            if self._in_time(line, step) and agree(sent, message):
                found.setdefault(Record({**sent, **message}), {**sent, **message})
        return list(found.values())

    def nearest(self, step: ForeignStep) -> str:
        """The sent message that is most like the one that this step received, by its fields."""
        message = step.input
        assert message is not None
        source, kind = message["source"], message["type"]
        known = [
            (line, sent)
            for line, sent in self._by_kind[step.run, kind]
            if sent.get("source", source) == source
            and sent.get("destination", step.node) == step.node
        ]
        if not known:
            return f"it sent none at all: a line of node {source} is missing, or has not all of it"
        ways = [(line, _apart(Record(dict(sent)), Record(dict(message)))) for line, sent in known]
        line, fields = min(ways, key=lambda each: (len(each[1]), each[0]))
        if not fields:
            return f"it sent it later, on line {line}"
        return f"nearest is that of line {line}: {', '.join(fields)} when it was received"

    def _in_time(self, line: int, step: ForeignStep) -> bool:
        return line < step.line or (not self._trace.causal and line != step.line)


def provenanced(trace: ForeignTrace, senders: Senders) -> Iterator[Finding]:
    """Messages that nobody sent although their sender's steps are here, or that went astray."""
    for step in trace.steps:
        if not is_message(step.input):
            continue
        assert step.input is not None
        kind = step.input["type"]
        if step.input.get("destination", step.node) != step.node:
            to = step.input["destination"]
            said = f"a {kind} to node {to} was delivered to node {step.node}"
            yield Finding(step.line, PROVENANCED, said)
        elif senders.knows(step) and not senders.candidates(step):
            when = "before" if trace.causal else "in this run"
            source = step.input["source"]
            said = f"node {source} sent no such {kind} to node {step.node} {when}"
            yield Finding(step.line, PROVENANCED, f"{said}; {senders.nearest(step)}")


def nothing_when_down(trace: ForeignTrace) -> Iterator[Finding]:
    """Messages that a node received which was not running; of full rows only."""
    for step in trace.steps:
        row = Record(dict(step.before))
        if is_message(step.input) and not trace.kind(step).is_running(row):
            assert step.input is not None
            said = f"node {step.node} is down and received a {step.input['type']}"
            yield Finding(step.line, NOTHING_WHEN_DOWN, said)


def sent_once(trace: ForeignTrace) -> Iterator[Finding]:
    """Steps that sent one message twice: the spec's set would not show it."""
    for step in trace.steps:
        sent = [Record(dict(message)) for message in step.sent or ()]
        if len(set(sent)) < len(sent):
            said = f"node {step.node} sent one message twice in one step"
            yield Finding(step.line, SENT_ONCE, said)


def chained(trace: ForeignTrace) -> Iterator[Finding]:
    """Steps that a node entered in another row than that in which it left its last one."""
    left: dict[tuple[int, int], tuple[int, Fields]] = {}
    for step in trace.steps:
        line, before = left.get((step.run, step.node), (0, step.before))
        different = _apart(Record(dict(before)), Record(dict(step.before)))
        if different:
            said = (
                f"a line of node {step.node} is missing between lines {line} and {step.line}: it "
                "enters the step in another row than the one in which it left its step before, at "
                f"{', '.join(different)}"
            )
            yield Finding(step.line, CHAINED, said)
        left[step.run, step.node] = step.line, step.after


def never_taken(trace: ForeignTrace, before: ForeignStep) -> list[str]:
    """List messages to a step's node that were sent before it and that no line takes.

    They may have been lost, or a line is missing. One line each.
    """
    own = [step for step in trace.steps if (step.run, step.node) == (before.run, before.node)]
    taken = [step.input for step in own if step.input is not None]
    if len(taken) < len(own):
        return []
    return [
        f"line {step.line} sends it a {message['type']}, which none of its lines takes: if it was "
        "not lost, a line is missing"
        for step in trace.steps
        if step.run == before.run and step.line < before.line
        for message in step.sent or ()
        if message.get("destination") == before.node
        and not any(agree(message, each) for each in taken)
    ]


def metadata_read(trace: ForeignTrace, senders: Senders) -> Iterator[Finding]:
    """List what brokers read of the metadata log and nobody had written there (C0).

    Rows must be full, and the controller's steps in the trace.
    """
    written: dict[int, list[Value]] = defaultdict(list)
    for step in trace.steps:
        for message in step.sent or ():
            if message["type"] in _WRITTEN and trace.causal:
                records = message["records"]
                assert isinstance(records, tuple)
                written[step.run] += records
        log = _log_of(step)
        if log is None or not _has_log(trace, senders, step.run, log):
            continue
        assert step.input is not None
        offset, read = step.input["offset"], step.input["records"]
        assert isinstance(offset, int) and isinstance(read, tuple)
        start = offset - log.first
        known = tuple(written[step.run][start : start + len(read)]) if start >= 0 else ()
        if not read or known != read:
            said = f"broker {step.node} read metadata that nobody had written"
            yield Finding(step.line, METADATA_READ, said)


def _log_of(step: ForeignStep) -> SharedLog | None:
    """The shared log that a step reads, if it reads one."""
    return None if step.input is None else _READ.get(str(step.input["type"]))


def _has_log(trace: ForeignTrace, senders: Senders, run: int, log: SharedLog) -> bool:
    return trace.causal and senders.tells_all(run, log.writer)


def not_asked(trace: ForeignTrace, senders: Senders) -> list[str]:
    """What the trace leaves open, one line each."""
    said = []
    if not trace.from_initial:
        said.append("whether nodes began in their first rows: the trace starts anywhere")
    strangers = {
        str(step.input.get("source", "hidden sources"))
        for step in trace.steps
        if step.input is not None and is_message(step.input) and not senders.knows(step)
    }
    strangers -= _CLIENTS
    if strangers:
        said.append(
            f"whether messages of {', '.join(sorted(strangers))} had been sent: the trace does "
            "not tell all that these nodes sent"
        )
    reading = [(step.run, log) for step in trace.steps if (log := _log_of(step)) is not None]
    if not all(trace.full and _has_log(trace, senders, run, log) for run, log in reading):
        said.append("whether metadata that brokers read had been written")
    if any(step.input is None for step in trace.steps):
        said.append("what nodes received where the input is hidden")
    return said
