"""Our own traces: the client history of each recorded run (column `history` of table `runs`).

A trace is a folder (traces/schema.py) of many runs: of one partition, be it the metadata log of a
quorum or that of the scenario `partition`, or of a topic with several (`cluster`). Records of value
0 are the quorum's LeaderChange records, which no client wrote: they take an offset and are no part
of what a fetch returns.

What a client was never told is not believed: an append without an answer has no offset here, though
the simulator knew one; and one that had not arrived when its run ended had no effect in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.reference.protocols import parts_of
from kraftcheck.traces import schema, store
from kraftcheck.traces.formats.text import shown
from kraftcheck.traces.history import (
    FAIL,
    INDETERMINATE,
    OK,
    Annotation,
    History,
    HistoryError,
    Operation,
)

NAME: Final = "trace"
MODEL: Final = "partition-log"
DOWN: Final = ("HandleCrash", "HandleBrokerCrash")
UP: Final = ("HandleRestart", "HandleBrokerRestart")
QUORUM: Final = 0
"""The component of a cluster that is its quorum (traces/schema.py)."""
REASON_MAX: Final = 400
"""Characters of a reason that are told."""
CONTROL: Final = 0
"""The value of a record that the log itself wrote."""


def tables(directory: Path) -> Iterator[pa.Table]:
    """The table `runs` of every part in order, for checks on columns. Raises HistoryError."""
    try:
        for entry in store.read_manifest(directory).parts:
            yield store.read_table(directory, entry, "runs")
    except schema.TraceError as error:
        raise HistoryError(*_place(error)) from None


def _place(error: schema.TraceError) -> tuple[str, int, str]:
    path, colon, reason = str(error).partition(": ")
    # A damaged manifest is quoted in some reasons, and may hold any amount of anything.
    return (path, 0, shown(reason, REASON_MAX)) if colon else ("trace", 0, shown(path, REASON_MAX))


def scenario_of(directory: Path) -> str:
    """The scenario that was simulated. Raises HistoryError."""
    try:
        return store.read_manifest(directory).campaign.scenario
    except schema.TraceError as error:
        raise HistoryError(*_place(error)) from None


def log_of(scenario: str) -> str:
    """What the log is called that its clients use: of a composition, that of the last part."""
    return next((part.log for part in reversed(parts_of(scenario)) if part.log), scenario)


def partition_of(directory: Path) -> str:
    """The topic-partition that the trace's clients use, or the first of several.

    Raises HistoryError.
    """
    return log_of(scenario_of(directory))


def _numbered(key: str, partition: int) -> str:
    """The same topic's other partition."""
    return f"{key.rpartition('-')[0]}-{partition}" if partition else key


def histories(directory: Path) -> Iterator[tuple[int, History]]:
    """(run, its history) of every run in order. Raises HistoryError."""
    key = partition_of(directory)
    for table in tables(directory):
        runs = table["run"].to_pylist()
        for run, operations in zip(runs, table["history"], strict=True):
            yield run, history_of(directory, run, operations.as_py(), key)


def history(directory: Path, run: int) -> History:
    """One run's, with its crashes and leaders. Raises HistoryError: damaged, or no such run."""
    key = partition_of(directory)
    for table in tables(directory):
        found = table.filter(pc.equal(table["run"], run))
        if found.num_rows:
            read = history_of(directory, run, found["history"][0].as_py(), key)
            known = tuple(what_happened(steps(directory, run), key))
            return msgspec.structs.replace(read, annotations=known)
    raise HistoryError(str(directory), 0, f"has no run {run}")


# -- What happened inside, as far as a reader of the history wants to know


class Step(NamedTuple):
    """A step of a run: when (virtual us), which node, and what it consumed and sent.

    row, before: the node's row after and before it, fields by name. input, sent: content by name,
    with an id that is the same for the same content.
    """

    time: int
    node: int
    action: str
    before: dict[str, Any]
    row: dict[str, Any]
    input: tuple[int, dict[str, Any]]
    sent: tuple[tuple[int, dict[str, Any]], ...]
    component: int | None = None
    """Of a cluster: 0 the quorum, 1 + p partition p."""


def steps(directory: Path, run: int) -> Iterator[Step]:
    """The steps of one run in order. Raises HistoryError."""
    try:
        for entry in store.read_manifest(directory).parts:
            if entry.first_run <= run < entry.first_run + entry.runs:
                yield from _steps(store.read_part(directory, entry), run)
                return
    except schema.TraceError as error:
        raise HistoryError(*_place(error)) from None
    except msgspec.MsgspecError as error:
        raise HistoryError(str(directory), 0, f"run {run} cannot be decoded: {error}") from None
    raise HistoryError(str(directory), 0, f"has no run {run}")


def _steps(part: schema.PartTables, run: int) -> Iterator[Step]:
    at = run - part.first_run
    ids = part.tables["runs"]["steps"][at].as_py()
    times = part.tables["runs"]["times"][at].as_py()
    components = part.tables["runs"]["components"][at].as_py() or [None] * len(ids)
    taken = {row["id"]: row for row in part.tables["steps"].take(sorted(set(ids))).to_pylist()}
    decode = msgspec.msgpack.Decoder().decode

    def body(table: str, number: int) -> dict[str, Any]:
        found: dict[str, Any] = decode(part.tables[table]["body"][number].as_py())
        return found

    for number, time, component in zip(ids, times, components, strict=True):
        step = taken[number]
        yield Step(
            time=time,
            node=step["node"],
            action=step["action"],
            before=body("rows", step["before"]),
            row=body("rows", step["after"]),
            input=(step["input"], body("inputs", step["input"])),
            sent=tuple((each, body("inputs", each)) for each in step["sent"]),
            component=component,
        )


def what_happened(run: Iterator[Step], key: str) -> Iterator[Annotation]:
    """Crashes, from each to its restart, and the leader epochs of partitions as they began."""
    down: dict[str, int] = {}
    end = 0
    for step in run:
        end = step.time
        who = f"controller {step.node}" if step.component == QUORUM else f"node {step.node}"
        if step.action in DOWN:
            down.setdefault(who, step.time)
        elif step.action in UP and who in down:
            since = down.pop(who)
            yield Annotation(at=since, until=end, kind="fault", label=f"{who} is down")
        if step.row.get("role") == "Leader" and step.before.get("role") != "Leader":
            epoch = step.row.get("epoch", step.row.get("leader_epoch"))
            label = f"epoch {epoch}: {who} leads"
            log = _numbered(key, (step.component or 1) - 1)
            of = None if step.component == QUORUM else log
            yield Annotation(at=end, kind="leader epoch", label=label, key=of)
    for who, since in down.items():
        yield Annotation(at=since, until=end, kind="fault", label=f"{who} is down")


def history_of(directory: Path, run: int, recorded: list[dict[str, Any]], key: str) -> History:
    """A run's history from the rows of its column; `key` names its first partition."""
    source = f"{directory}#{run}"
    operations = tuple(_operation(source, at, row, key) for at, row in enumerate(recorded))
    return History(source=source, format=NAME, time_unit="us", operations=operations, model=MODEL)


def objects_of(directory: Path, run: int, recorded: list[dict[str, Any]], model: str) -> History:
    """A run's history, where its clients see objects of a model and no log (schema.OPERATION)."""
    operations = tuple(_of_object(at, row) for at, row in enumerate(recorded))
    return History(
        source=f"{directory}#{run}",
        format=NAME,
        time_unit="us",
        operations=operations,
        model=model,
    )


def _of_object(index: int, row: dict[str, Any]) -> Operation:
    told = tuple(row["values"])
    return Operation(
        index=index,
        process=row["process"],
        f=row["op"].removeprefix(schema.OF_OBJECT),
        key=str(row["partition"]),
        argument=row["offset"],
        result=(told if len(told) > 1 else told[0]) if told else None,
        invoked=row["invoked"],
        completed=row["completed"],
        outcome=row["outcome"],
        group=index,
    )


def _operation(source: str, index: int, row: dict[str, Any], key: str) -> Operation:
    offset, values, outcome = row["offset"], row["values"], row["outcome"]
    argument: Any
    result: Any
    end = error = None
    if row["op"] == "append":
        if len(values) > 1:
            raise HistoryError(source, 0, f"operation {index} appends {len(values)} values")
        argument = values[0] if values else None
        result = offset if outcome == OK else None
        if argument is None and outcome == INDETERMINATE:
            outcome, error = FAIL, "had not arrived when the run ended"
    elif row["op"] in ("latest", "earliest"):
        argument, result = None, offset if outcome == OK else None
    else:
        argument, result = offset, None
        if outcome == OK:
            if offset is None:
                raise HistoryError(source, 0, f"operation {index} fetches from nowhere")
            read = enumerate(values, offset)
            result = tuple((at, value) for at, value in read if value != CONTROL)
            end = offset + len(values) if row["end"] is None else row["end"]
    return Operation(
        index=index,
        process=row["process"],
        f=row["op"],
        key=_numbered(key, row["partition"]),
        argument=argument,
        result=result,
        end=end,
        invoked=row["invoked"],
        completed=row["completed"],
        outcome=outcome,
        group=index,
        error=error,
    )
