"""A run as text: one line for each step, in fixed columns, with a legend.

The columns say what the node is *after* the step; where a step changed the role, the role before
stands in front of it. Everything is taken from recorded values; nothing is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.protocols import (
    MESSAGES,
    PROTOCOLS,
    component_letter,
    kind_of_row,
    protocol_of,
    protocol_of_kind,
)
from kraftcheck.reference.runner.run import Run, Taken
from kraftcheck.reference.runner.scenarios import FAMILIES, MANNERS
from kraftcheck.reference.sim.family import Manner, brief
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.traces.schema import OF_OBJECT, PROGRESSED


def narrate(run: Run) -> Iterator[str]:
    """The run, line by line: what was drawn, each step, what went wrong, how it ended."""
    result = run.result
    manner = _manner_of(result.options)
    if not manner.composed:  # Options may have made it a run of another protocol.
        manner = MANNERS[protocol_of(result.constants).name]
    yield f"run {result.run} seed {result.seed}: {render_options(result.options)}"
    yield ""
    yield from manner.legend.splitlines()
    yield ""
    of = f"{'of':>2} " if manner.composed else ""
    yield f"{'step':>5} {'time':>10} {of}{'n':>2} {manner.header}  input"
    violated = {violation.step: violation for violation in result.violations}
    for index, step in enumerate(run.steps):
        yield render_step(index, step, result.constants)
        if index in violated:
            yield f"{'':>5} !! {violated[index].invariant}: {violated[index].explanation}"
    yield ""
    yield from _story(run)
    for operation in result.history:
        yield render_operation(operation)
    yield ""
    ended = f"{len(run.steps)} steps, {result.statistics['duration'] / 1e6:.3f} s"
    yield f"{ended}: {ending(result.verdict, heals=manner.heals)}"


def _story(run: Run) -> Iterator[str]:
    """What became of the units of a run, where a protocol in it has some."""
    of = dict.fromkeys(protocol_of_kind(kind_of_row(step.after)) for step in run.steps)
    for world in (protocol.world for protocol in of):
        if world is not None and world.story is not None:
            yield from world.story((step.node, step.before, step.after) for step in run.steps)


def ending(verdict: str, *, heals: bool) -> str:
    """How a run ended, in words. verdict: as recorded; heals: whether progress was asked for."""
    if verdict != PROGRESSED:
        return verdict
    asked = "once its faults had ended it did in time what it must"
    return f"{verdict}: {asked}" if heals else "no invariant broken; progress is not asked of it"


def _manner_of(options: Any) -> Manner:
    return next(each.manner for each in FAMILIES.values() if each.of is type(options))


def render_options(options: Any) -> str:
    """The options that are not as in a run without faults."""
    manner = _manner_of(options)
    if manner.options is not None:
        return manner.options(options, render_options)
    off = type(options)()
    return " ".join(
        f"{name}={value}"
        for name in options.__struct_fields__
        for value in [getattr(options, name)]
        if value != getattr(off, name) or name == manner.always
    )


def render_step(index: int, step: Taken, constants: Any) -> str:
    """constants: of the run."""
    protocol = protocol_of_kind(kind_of_row(step.after))
    manner = MANNERS[protocol.name]
    of = columns = ""
    if step.component is not None:
        of = f"{component_letter(constants, step.component):>2} "
        columns = f"{manner.columns(step):<{WIDTH}}"
    line = f"{index:>5} {step.time / 1e6:>10.6f} {of}{_name(step.node):>2} "
    line += columns or manner.columns(step)
    line += f"  {render_input(step.input, field_words)}"
    if step.ignored:
        return f"{line}  ignored: {step.ignored}"
    sent = "; ".join(render_input(message, field_words) for message in step.sent)
    return f"{line}  => {sent}" if sent else line


def render_input(value: Any, shown_as: Callable[[object], str] = brief) -> str:
    """An input in words. shown_as: how its fields are; in brief, as stored moves have them."""
    words = [type(value).__name__]
    shown = value.__struct_fields__
    usual: dict[str, object] = {}
    if type(value) in _MESSAGES:
        words.append(f"{_name(value.source)}>{_name(value.destination)}")
        # What a response answers is seen where it was sent.
        shown = tuple(name for name in shown if name not in ("source", "destination", "request"))
        usual = _USUAL[type(value)]
    for name in shown:
        content = getattr(value, name)
        if type(content) in _MESSAGES:
            words.append(f"({render_input(content, shown_as)})")
        elif not says_nothing(content) and content != usual.get(name):
            words.append(name if content is True else f"{name}={shown_as(content)}")
    return " ".join(words)


def field_words(content: object) -> str:
    """A field for a reader: of what stands in it, what says nothing is left out.

    One or two first fields need no names: 7@2 is a value of epoch 2.
    """
    if isinstance(content, tuple) and not isinstance(content, EpochEnd):
        return ",".join(map(field_words, content))
    if not isinstance(content, msgspec.Struct) or isinstance(content, EpochEnd):
        return brief(content)
    fields = msgspec.structs.asdict(content)
    known = {name: each for name, each in fields.items() if not says_nothing(each)}
    if [*known] == [*fields][: len(known)] and len(known) <= FEW:
        return "@".join(map(field_words, reversed(known.values())))
    return (
        f"{type(content).__name__}({' '.join(f'{k}={field_words(v)}' for k, v in known.items())})"
    )


def says_nothing(content: object) -> bool:
    """Whether a field with this value need not be told."""
    return content is False or content in ("NONE", -1, (), _NO_END)


_NO_END = EpochEnd(-1, -1)
_MESSAGES = frozenset(MESSAGES)
"""Of the tuple, each field of each move would be held against all."""
_USUAL: dict[type, dict[str, object]] = {
    of: {
        each.name: each.default
        for each in msgspec.structs.fields(of)
        if each.default is not msgspec.NODEFAULT
    }
    for of in MESSAGES
}
"""Of fields that have defaults: moves that were stored before such a field lack it."""
_NAMES = {node: name for each in PROTOCOLS for node, name in each.names.items()}
FEW = 2
WIDTH = 36
"""Of the columns between node and input, where several protocols stand side by side."""


def _name(node: int) -> str:
    return _NAMES.get(node, str(node))


def render_operation(operation: Operation) -> str:
    """One operation of a client: who, when, what, and how it ended."""
    until = "?" if operation.completed is None else f"{operation.completed / 1e6:.6f}"
    if operation.op.startswith(OF_OBJECT):
        return _of_object(operation, f"{operation.invoked / 1e6:.6f} to {until}")
    what = f"{operation.op} at node {operation.node}"
    what += f" of partition {operation.partition}" if operation.partition else ""
    where = "" if operation.offset is None else f" from offset {operation.offset}"
    values = ",".join(str(value) for value in operation.values)
    when = f"{operation.invoked / 1e6:.6f} to {until}"
    return f"client {operation.process:>3} {when:<24} {what}{where}: [{values}] {operation.outcome}"


def _of_object(operation: Operation, when: str) -> str:
    argument = "" if operation.offset is None else f" {operation.offset}"
    told = f": {','.join(map(str, operation.values))}" if operation.values else ""
    of = f" of {operation.partition}" if operation.partition else ""
    what = f"{operation.op.removeprefix(OF_OBJECT)}{argument}{of} at node {operation.node}{told}"
    return f"client {operation.process:>3} {when:<24} {what} {operation.outcome}"
