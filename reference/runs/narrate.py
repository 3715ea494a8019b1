"""A run as text: one line for each step, in fixed columns, with a legend.

The columns say what the node is *after* the step; where a step changed the role, the role before
stands in front of it. Everything is taken from recorded values; nothing is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from reference.cluster.sim import options as cluster_options
from reference.kit.log import EpochEnd, Log
from reference.partition.messages import CLIENTS, CONTROLLER, METADATA_LOG
from reference.partition.sim import options as partition_options
from reference.partition.types import BrokerRow, ControllerRow
from reference.protocols import MESSAGES, kind_of_row
from reference.quorum.messages import NO_DIVERGENCE
from reference.quorum.sim import faults
from reference.quorum.types import NOBODY, Row
from reference.runs.run import Run, Taken
from reference.sim.operations import Operation


class Manner(NamedTuple):
    """How the steps of a protocol are told: what the columns are, their heads, their content.

    off: the options of a run without faults; the one called `always` is told anyway.
    """

    legend: str
    header: str
    columns: Callable[[Taken], str]
    off: msgspec.Struct
    always: str


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

PARTITION_LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
n       the node that takes the step: a broker, or C, the controller
role    L leader, F follower, N neither, S starting, X stopping, D down; C the controller;
        `F>L` when the step changed it
epoch   leader epoch and partition epoch
ldr     the leader that the node knows, - for none
log     end offset, and the epoch of the last record; `5~3` when only 3 are on disk; of the
        controller, a mark for each broker: f fenced, s about to stop
hw      high watermark
isr     of a leader, with what it proposes behind `>` (! refused for good); of the controller,
        with the eligible leader replicas behind `+`
input   what the step consumed; `0>1` is from node 0 to node 1, C the controller, K clients, M the
        metadata log; then what it sent, or why it was ignored; values that say nothing are left out
"""


CLUSTER_LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
of      Q the quorum, whose log is the metadata; or the number of a partition, to which all that
        follows on the line belongs
n       of the quorum a voter; of a partition a broker, or C, its controller, which takes a step
        when the quorum has committed it
role    of a voter U unattached, P prospective, C candidate, L leader, R resigned, F follower,
        D down, H halted; of a broker L leader, F follower, N neither, S starting, D down
epoch   quorum epoch; of a partition leader epoch and partition epoch
ldr     the leader that the node knows, - for none
        then, of a voter: its vote, its log, its high watermark; of a partition: log, high
        watermark, ISR (`replay` of the scenarios quorum and partition explains them)
input   what the step consumed; then what it sent, or why it was ignored; K clients, M the
        metadata log; values that say nothing are left out
"""


PLAIN_LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run; a move takes a millisecond
n       the node that takes the step
row     what the node is after the step, `A>B` when the step changed it, and its row
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing are left out
"""


def narrate(run: Run) -> Iterator[str]:
    """The run, line by line: what was drawn, each step, what went wrong, how it ended."""
    result = run.result
    manner = _manner_of(result.options)
    yield f"run {result.run} seed {result.seed}: {render_options(result.options)}"
    yield ""
    yield from manner.legend.splitlines()
    yield ""
    of = f"{'of':>2} " if manner is CLUSTER else ""
    yield f"{'step':>5} {'time':>10} {of}{'n':>2} {manner.header}  input"
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


def _manner_of(options: Any) -> Manner:
    if isinstance(options, cluster_options.ClusterOptions):
        return CLUSTER
    if isinstance(options, partition_options.PartitionOptions):
        return PARTITION
    return QUORUM if isinstance(options, faults.Options) else PLAIN._replace(off=type(options)())


def render_options(options: Any) -> str:
    """The options that are not as in a run without faults."""
    if isinstance(options, cluster_options.ClusterOptions):
        shape = options.shape
        return (
            f"brokers={shape.brokers} topic_partitions={shape.topic_partitions} "
            f"{render_options(options.data)}; quorum: {render_options(options.quorum)}"
        )
    manner = _manner_of(options)
    shown = []
    for name in options.__struct_fields__:
        value = getattr(options, name)
        if value != getattr(manner.off, name) or name == manner.always:
            shown.append(f"{name}={value}")
    return " ".join(shown)


def render_step(index: int, step: Taken) -> str:
    manner = _OF_ROWS.get(type(step.after), PLAIN)
    of = columns = ""
    if step.component is not None:
        of = f"{step.component - 1 if step.component else 'Q':>2} "
        columns = f"{manner.columns(step):<{WIDTH}}"
    line = f"{index:>5} {step.time / 1e6:>10.6f} {of}{_name(step.node):>2} "
    line += columns or manner.columns(step)
    line += f"  {render_input(step.input)}"
    if step.ignored:
        return f"{line}  ignored: {step.ignored}"
    sent = "; ".join(render_input(message) for message in step.sent)
    return f"{line}  => {sent}" if sent else line


def _quorum_columns(step: Taken) -> str:
    before, after = step.before, step.after
    role = after.role[0]
    if after.role != before.role:
        role = f"{before.role[0]}>{role}"
    return (
        f"{role:<4} {after.epoch:>5} {_who(after.leader):>3} {_who(after.voted):>4} "
        f"{_log(after):<8} {_who(after.high_watermark):>3}"
    )


def _partition_columns(step: Taken) -> str:
    before, after = step.before, step.after
    if isinstance(after, ControllerRow):
        partition = after.partition
        isr = _members(partition.isr) + (f"+{_members(partition.elr)}" if partition.elr else "")
        fenced = "".join(_flags(each) for each in after.registrations)
        epochs = f"{partition.leader_epoch}.{partition.partition_epoch}"
        return f"{'C':<4} {epochs:>5} {_who(partition.leader):>3} {fenced:<8} {'':>3} {isr:<8}"
    assert isinstance(after, BrokerRow)
    role = _role(after)
    if role != _role(before):
        role = f"{_role(before)}>{role}"
    epochs = f"{_who(after.leader_epoch)}.{_who(after.partition_epoch)}"
    end = (
        f"{len(after.log)}"
        if after.flushed == len(after.log)
        else (f"{len(after.log)}~{after.flushed}")
    )
    if after.epoch_cache:
        end += f"@{after.epoch_cache[-1].epoch}"
    isr = _members(after.isr)
    if after.pending.kind != "None":
        proposed = _members(tuple(member.broker for member in after.pending.isr))
        isr += f">{proposed}{'!' if after.pending.refused else ''}"
    return (
        f"{role:<4} {epochs:>5} {_who(after.leader):>3} {end:<8} {after.high_watermark:>3} {isr:<8}"
    )


def _plain_columns(step: Taken) -> str:
    """Of any row: what the node is, and the fields of its row."""
    role = kind_of_row(step.after).role
    now, before = role(step.after), role(step.before)
    said = " ".join(
        f"{name}={_brief(getattr(step.after, name))}" for name in step.after.__struct_fields__
    )
    return f"{now if now == before else f'{before}>{now}'}: {said}"


def _role(row: BrokerRow) -> str:
    short = {"Starting": "S", "ShuttingDown": "X", "Down": "D"}
    return short.get(row.status, row.role[0])


def _members(brokers: tuple[int, ...]) -> str:
    return "".join(str(broker) for broker in brokers)


def _flags(registration: Any) -> str:
    return "f" if registration.fenced else "s" if registration.stopping else "."


def render_input(value: Any) -> str:
    """An input in brief."""
    words = [type(value).__name__]
    shown = value.__struct_fields__
    if isinstance(value, MESSAGES):
        words.append(f"{_name(value.source)}>{_name(value.destination)}")
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


_NAMES = {CONTROLLER: "C", CLIENTS: "K", METADATA_LOG: "M"}


def _name(node: int) -> str:
    return _NAMES.get(node, str(node))


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
    what += f" of partition {operation.partition}" if operation.partition else ""
    where = "" if operation.offset is None else f" from offset {operation.offset}"
    values = ",".join(str(value) for value in operation.values)
    when = f"{operation.invoked / 1e6:.6f} to {until}"
    return f"client {operation.process:>3} {when:<24} {what}{where}: [{values}] {operation.outcome}"


QUORUM = Manner(
    LEGEND,
    f"{'role':<4} {'epoch':>5} {'ldr':>3} {'vote':>4} {'log':<8} {'hw':>3}",
    _quorum_columns,
    faults.OFF,
    "voters",
)
WIDTH = 36
"""Of the columns between node and input, where a voter's and a broker's stand side by side."""

PARTITION = Manner(
    PARTITION_LEGEND,
    f"{'role':<4} {'epoch':>5} {'ldr':>3} {'log':<8} {'hw':>3} {'isr':<8}",
    _partition_columns,
    partition_options.OPTIONS.off,
    "replicas",
)
CLUSTER = Manner(
    CLUSTER_LEGEND,
    f"{'role':<4} {'epoch':>5} {'ldr':>3} {'vote/log/hw or log/hw/isr':<21}",
    _partition_columns,
    partition_options.OPTIONS.off,
    "replicas",
)


PLAIN = Manner(PLAIN_LEGEND, "row", _plain_columns, faults.OFF, "")
_OF_ROWS: dict[type, Manner] = {Row: QUORUM, BrokerRow: PARTITION, ControllerRow: PARTITION}
