"""ShiViz: a run as local events of hosts with vector clocks, three fields to an event.

    host {"host": 2, "other": 1}
    what happened, on one line

Source: the ShiViz tool (bestchai/shiviz), whose parser is told by the expression in `PARSER`; it
draws happened-before from the clocks alone. A client history has no messages, so what happened
before what is what every client can know: an operation that was answered before another began came
before it. A completion is therefore an event of its process that the next invocation of any other
process has heard of. Of a run that we recorded there is more: `write_run` has its messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.traces.formats import trace
from kraftcheck.traces.history import History, Operation
from kraftcheck.traces.values import edn_text

NAME: Final = "shiviz"
PARSER: Final = r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)"
"""What ShiViz asks for: paste it as the log parsing expression."""
CONTROLLER: Final = -2
"""The number of a partition's controller in its trace (reference/partition/messages.py)."""


def write(history: History) -> Iterator[str]:
    """The history, event by event, each with its clock; the first lines say how to parse it."""
    yield f"{PARSER}\n\n"
    events = [(op.invoked, 0, op.group, op) for op in _firsts(history)]
    events += [
        (op.completed, 1, op.group, op) for op in _firsts(history) if op.completed is not None
    ]
    members: dict[int, list[Operation]] = {}
    for operation in history.operations:
        members.setdefault(operation.group, []).append(operation)
    clocks: dict[str, dict[str, int]] = {}
    heard: dict[str, int] = {}
    for _, completes, group, operation in sorted(events, key=lambda each: each[:3]):
        host = f"process-{operation.process}"
        clock = clocks.setdefault(host, {})
        if not completes:
            clock.update(heard)
        clock[host] = clock.get(host, 0) + 1
        if completes:
            heard[host] = clock[host]
        text = "; ".join(described(each, answered=bool(completes)) for each in members[group])
        yield f"{host} {msgspec.json.encode(clock).decode()}\n{text}\n"


def write_run(directory: Path, run: int) -> Iterator[str]:
    """Write a recorded run: its nodes as hosts, its steps as events, messages as their order.

    A message is known by its content: one that was sent twice was heard from whoever sent it last.

    Raises HistoryError.
    """
    yield f"{PARSER}\n\n"
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[int, dict[str, int]] = {}
    for step in trace.steps(directory, run):
        host = _host(step)
        clock = clocks.setdefault(host, {})
        number, consumed = step.input
        for other, time in sent.get(number, {}).items():
            clock[other] = max(clock.get(other, 0), time)
        clock[host] = clock.get(host, 0) + 1
        for message, _ in step.sent:
            sent[message] = dict(clock)
        text = f"{step.time / 1e6:.6f} s {step.action}{_fields(consumed)}"
        role = step.row.get("role")
        epoch = step.row.get("epoch", step.row.get("leader_epoch"))
        state = f"; {role} in epoch {epoch}" if role is not None else ""
        line = _one_line(f"{text}{state}; sends {len(step.sent)}")
        yield f"{host} {msgspec.json.encode(clock).decode()}\n{line}\n"


def _host(step: trace.Step) -> str:
    """A node that keeps the quorum's log, in a cluster, is none of those that keep partitions."""
    if step.node == CONTROLLER:
        return "controller"
    return f"controller-{step.node}" if step.component == trace.QUORUM else f"node-{step.node}"


def _fields(consumed: dict[str, Any]) -> str:
    """A message's or event's fields, without what it consists of in turn."""
    plain = ((name, each) for name, each in consumed.items() if name != "type")
    return "".join(f" {n}={v}" for n, v in plain if isinstance(v, int | str))


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _firsts(history: History) -> Iterator[Operation]:
    group = None
    for operation in history.operations:
        if operation.group != group:
            group = operation.group
            yield operation


def described(operation: Operation, *, answered: bool) -> str:
    """An operation on one line: what was asked, or with `answered` what was told."""
    asked = "" if operation.argument is None else f" {edn_text(operation.argument)}"
    text = f"{operation.f}{f' {operation.key}' if operation.key else ''}{asked}"
    if answered:
        told = operation.error if operation.error is not None else operation.result
        text += f" -> {operation.outcome}" + ("" if told is None else f" {edn_text(told)}")
    return _one_line(text)
