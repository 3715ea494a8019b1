"""ShiViz: a run as local events of hosts with vector clocks, three fields to an event.

    host {"host": 2, "other": 1}
    what happened, on one line

Source: the ShiViz tool (bestchai/shiviz), whose parser is told by the expression in `PARSER`; it
draws happened-before from the clocks alone. A client history has no messages, so what happened
before what is what every client can know: an operation that was answered before another began came
before it. A completion is therefore an event of its process that the next invocation of any other
process has heard of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from traces.history import History, Operation

PARSER: Final = r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)"
"""What ShiViz asks for: paste it as the log parsing expression."""


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


def _firsts(history: History) -> Iterator[Operation]:
    group = None
    for operation in history.operations:
        if operation.group != group:
            group = operation.group
            yield operation


def described(operation: Operation, *, answered: bool) -> str:
    """An operation on one line: what was asked, or with `answered` what was told."""
    asked = "" if operation.argument is None else f" {operation.argument!r}"
    text = f"{operation.f}{f' {operation.key}' if operation.key else ''}{asked}"
    if answered:
        told = operation.error if operation.error is not None else operation.result
        text += f" -> {operation.outcome}" + ("" if told is None else f" {told!r}")
    return "".join(c if c.isprintable() else " " for c in text)
