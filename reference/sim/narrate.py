"""A run as text: one line for each step, in fixed columns, with a legend.

The columns say what the node is *after* the step; where a step changed the role, the role before
stands in front of it. Everything is taken from recorded values; nothing is worked out again.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reference.core.log import EpochEnd, Log
from reference.core.messages import MESSAGES, NO_DIVERGENCE, Input
from reference.core.types import NOBODY, Row
from reference.sim.faults import OFF, Options
from reference.sim.operations import Operation
from reference.sim.run import Run, Taken

LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
n       the node that takes the step
role    U unattached, P prospective, C candidate, L leader, R resigned, F follower, D down,
        H halted; `F>P` when the step changed it
epoch   quorum epoch
ldr     the leader that the node knows, - for none
vote    for whom the node voted in this epoch, - for nobody
log     end offset, and the epoch of the last record; `5~3` when only 3 are on disk
hw      high watermark, - when unknown
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing (no error, no leader, no records) are left out
"""

_HEADER = f"{'step':>5} {'time':>10} {'n':>2} {'role':<4} {'epoch':>5} {'ldr':>3} {'vote':>4} "
_HEADER += f"{'log':<8} {'hw':>3}  input"


def narrate(run: Run) -> Iterator[str]:
    """The run, line by line: what was drawn, each step, what went wrong, how it ended."""
    result = run.result
    yield f"run {result.run} seed {result.seed}: {render_options(result.options)}"
    yield ""
    yield from LEGEND.splitlines()
    yield ""
    yield _HEADER
    violated = {violation.step: violation for violation in result.violations}
    for index, step in enumerate(run.steps):
        yield render_step(index, step)
        if index in violated:
            yield f"{'':>5} !! {violated[index].invariant}: {violated[index].explanation}"
    yield ""
    for operation in result.history:
        yield render_operation(operation)
    yield ""
    yield f"{len(run.steps)} steps, {result.statistics['duration'] / 1e6:.3f} s: {result.verdict}"


def render_options(options: Options) -> str:
    """The options that are not as in a run without faults."""
    shown = []
    for name in Options.__struct_fields__:
        value = getattr(options, name)
        if value != getattr(OFF, name) or name == "voters":
            shown.append(f"{name}={value}")
    return " ".join(shown)


def render_step(index: int, step: Taken) -> str:
    before, after = step.before, step.after
    role = after.role[0]
    if after.role != before.role:
        role = f"{before.role[0]}>{role}"
    line = f"{index:>5} {step.time / 1e6:>10.6f} {step.node:>2} {role:<4} {after.epoch:>5} "
    line += f"{_who(after.leader):>3} {_who(after.voted):>4} {_log(after):<8} "
    line += f"{_who(after.high_watermark):>3}  {render_input(step.input)}"
    if step.ignored:
        return f"{line}  ignored: {step.ignored}"
    sent = "; ".join(render_input(message) for message in step.sent)
    return f"{line}  => {sent}" if sent else line


def render_input(value: Input) -> str:
    """An input in brief."""
    words = [type(value).__name__]
    shown = value.__struct_fields__
    if isinstance(value, MESSAGES):
        words.append(f"{value.source}>{value.destination}")
        # What a response answers is seen where it was sent.
        shown = tuple(name for name in shown if name not in ("source", "destination", "request"))
    for name in shown:
        content = getattr(value, name)
        if isinstance(content, MESSAGES):
            words.append(f"({render_input(content)})")
        elif not _says_nothing(content):
            words.append(name if content is True else f"{name}={_brief(content)}")
    return " ".join(words)


def _says_nothing(content: object) -> bool:
    return content is False or content in ("NONE", -1, (), NO_DIVERGENCE)


def _brief(content: object) -> str:
    if isinstance(content, EpochEnd):
        return f"{content.end_offset}@{content.epoch}"
    if isinstance(content, tuple):
        return ",".join(_brief(item) for item in content)
    if isinstance(content, msgspec.Struct):
        return "@".join(str(item) for item in reversed(msgspec.structs.astuple(content)))
    return str(content)


def _who(node: int) -> str:
    return "-" if node == NOBODY else str(node)


def _log(row: Row) -> str:
    log: Log = row.log
    end = f"{len(log)}" if row.flushed == len(log) else f"{len(log)}~{row.flushed}"
    return f"{end}@{log[-1].epoch}" if log else end


def render_operation(operation: Operation) -> str:
    """One operation of a client: who, when, what, and how it ended."""
    until = "?" if operation.completed is None else f"{operation.completed / 1e6:.6f}"
    what = f"{operation.op} at node {operation.node}"
    where = "" if operation.offset is None else f" from offset {operation.offset}"
    values = ",".join(str(value) for value in operation.values)
    when = f"{operation.invoked / 1e6:.6f} to {until}"
    return f"client {operation.process:>3} {when:<24} {what}{where}: [{values}] {operation.outcome}"
