"""A recorded trace as tables that SQL can ask about: what is a row, a state or a message in JSON.

A part of a trace names rows and inputs by ids of its own, in MessagePack. These tables have them as
the specification does: records with its names, sets and sequences as arrays, functions by node as
objects. `TABLES` says of each column what it is; `Tables` are the frames on Spark, which read the
parts when Spark asks, each part checked against the manifest as everywhere else.

    found = tables(session, Path("runs/campaign/partition"))
    found.register()
    session.sql("select action, count(*) from steps group by action").show()

States are text in JSON, since nodes of different kinds have different rows. `steps_of` gives the
steps of one kind of node with typed columns (structs) in their place.

Law of this file: a table says what the parts say, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.reference.kit.fields import Kind, fields_of
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import kind_named, kind_of, peers_of
from kraftcheck.traces.jobs.backends import forget_archives
from kraftcheck.traces.jobs.conform import FOLDER, JOINED_RUNS, JUDGED_STEPS, read_judged
from kraftcheck.traces.jobs.histories import ANOMALIES, READS, VERDICTS, judge_histories
from kraftcheck.traces.jobs.measures import MEASURES, measure
from kraftcheck.traces.rows import places_within
from kraftcheck.traces.schema import OPERATION, STATISTICS, VIOLATION, Field, PartTables
from kraftcheck.traces.steps.record import (
    Occurrences,
    decode_step_constants,
    ints,
    lists,
    types_of_inputs,
    whole,
)
from kraftcheck.traces.steps.translation import shape_of_inputs, shape_of_row
from kraftcheck.traces.store import read_manifest, read_part
from tla_utils.errors import ToolError
from tla_utils.stepvalues import FunctionOf, RecordOf, SequenceOf, SetOf, Shape, UnionOf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH: Final = 2000
"""Rows that Spark is handed at a time: some MiB, with states of a few KiB."""

KEPT: Final = 1000
"""Sets of constants of which this process remembers what rows and inputs look like."""

_RUN = Field("run", pa.int64(), "index in the campaign", "run")
_POSITION = Field("position", pa.int32(), "place among the run's steps, from 0")
_TIME = Field("time", pa.int64(), "when, from the start of the run", "virtual us")
_COMPONENT = Field(
    "component", pa.int32(), "cluster: whose step it is: 0 the quorum, 1 + p partition p"
)
_JSON = "in JSON, with the names of the spec"


def _documented(schema: pa.Schema, meanings: Mapping[str, str]) -> tuple[Field, ...]:
    return tuple([Field(f.name, f.type, meanings[f.name], nullable=True) for f in schema])


TABLES: Final[dict[str, tuple[Field, ...]]] = {
    "runs": (
        _RUN,
        Field("seed", pa.int64(), "derived from the campaign's seed and the index"),
        Field("constants", pa.string(), "who votes and so on, in JSON"),
        Field("options", pa.string(), "fault options, as drawn, in JSON"),
        Field("steps", pa.int64(), "number of steps", "count"),
        Field("verdict", pa.string(), "how the run ended, by the simulator"),
        *STATISTICS,
    ),
    "steps": (
        _RUN,
        _POSITION,
        _TIME,
        _COMPONENT,
        Field("kind", pa.string(), "kind of node: voter, broker, controller ..."),
        Field("node", pa.int32(), "who took the step", "node"),
        Field("action", pa.string(), "name, as in the spec"),
        Field("ignored", pa.string(), "why the input was ignored; empty if it was not"),
        Field("input", pa.string(), f"what the step consumed, {_JSON}"),
        Field("before", pa.string(), f"the node's state before, {_JSON}"),
        Field("after", pa.string(), f"the node's state after, {_JSON}"),
        Field("sent", pa.int32(), "number of messages sent", "count"),
    ),
    "messages": (
        _RUN,
        Field("position", pa.int32(), "of the step that sent it"),
        _TIME,
        _COMPONENT,
        Field("type", pa.string(), "as in the spec: VoteRequest, FetchResponse ..."),
        Field("source", pa.int32(), "who sent it", "node", nullable=True),
        Field("destination", pa.int32(), "whom it is for", "node", nullable=True),
        Field("message", pa.string(), f"the message, {_JSON}"),
    ),
    "operations": (
        _RUN,
        Field("number", pa.int32(), "place in the run's history, from 0"),
        *OPERATION,
    ),
    "violations": (_RUN, *VIOLATION),
    "measures": _documented(
        MEASURES,
        {
            "run": "index in the campaign",
            "partition": "-1: the quorum of a cluster",
            "duration": "when the run ended (virtual us), as all times below",
            "leaderless_spans": "times without a leader, as the controller or the voters know it",
            "leaderless_longest": "the longest of them",
            "leaderless_total": "all of them together",
            "isr_shrinks": "changes of metadata that left the ISR smaller",
            "isr_expansions": "changes of metadata that left the ISR larger",
            "under_replicated": "how long the ISR lacked a replica",
            "lag_most": "records of leaders above their high watermark, at most",
            "lag_total": "records times us",
            "append_stall": "the longest time that an append waited; null without appends",
            "append_stall_open": "whether an append waited until the run ended",
        },
    ),
    "histories": _documented(
        VERDICTS,
        {
            "run": "index in the campaign",
            "partition": "of the topic",
            "operations": "number of operations of clients",
            "promised": "the level that the configuration guarantees, or nothing",
            "held": "the strongest level that the history allows",
            "exact": "whether that level is known to hold",
            "verdict": "holds, violated or unknown",
            "reads": "reads that could have missed a record",
            "stale_reads": "reads that did",
            "worst_lag": "how long (virtual us) the first missed record had been there, at most",
            "worst_missed": "records that a read missed, at most",
        },
    ),
    "anomalies": _documented(
        ANOMALIES,
        {
            "run": "index in the campaign",
            "partition": "of the topic",
            "name": "of the anomaly, Jepsen's or ours",
            "count": "how often",
            "forbidden": "whether the guarantee excludes it",
        },
    ),
    "classes": (
        Field("class", pa.string(), "digest of a distinct step, as it was judged"),
        Field("constants", pa.string(), "under which it was judged, in JSON"),
        Field("kind", pa.string(), "kind of node"),
        Field("action", pa.string(), "name, as in the spec"),
        Field("before", pa.string(), f"the node's state before, {_JSON}"),
        Field("input", pa.string(), f"what the step consumed, {_JSON}"),
        Field("after", pa.string(), f"the node's state after, {_JSON}"),
        Field("sent", pa.string(), f"messages sent: an array {_JSON}"),
        Field("ignored", pa.string(), "why the input was ignored; empty if it was not"),
        Field("count", pa.int64(), "how often runs took such a step", "count"),
        Field("run", pa.int64(), "of the witness: the first run that took it", "run"),
        Field("step", pa.int64(), "of the witness: position; -1: a node's first row"),
        Field("verdict", pa.string(), "TLC's: accepted, rejected or unknown"),
        Field("reason", pa.string(), "why it is not accepted", nullable=True),
    ),
    "rejected": (
        Field("class", pa.string(), "of `classes`: one that is not accepted"),
        Field("run", pa.int64(), "a run that took such a step", "run"),
        Field("step", pa.int64(), "where first"),
        Field("times", pa.int64(), "how often", "count"),
    ),
}
"""Every table. `classes` and `rejected` are empty where the trace was not judged."""

SCHEMAS: Final = {
    name: pa.schema([field.arrow() for field in columns]) for name, columns in TABLES.items()
}


# --- Values as JSON ---


def plainly(shape: Shape, value: Any) -> Any:
    """A decoded value as JSON has it: records and functions by node are objects."""
    match shape:
        case RecordOf(own, is_array, tag):
            return _record(own, is_array, tag, value)
        case SequenceOf(member) | SetOf(member):
            return [plainly(member, each) for each in value]
        case FunctionOf(member, arguments):
            pairs = zip(arguments, value, strict=True)
            return {str(argument): plainly(member, each) for argument, each in pairs}
        case UnionOf(cases, untagged):
            for case in cases:
                assert case.tag is not None
                field, tag_value = case.tag
                there = isinstance(value, dict) and value.get(field) == tag_value
                if there or (case.is_array and isinstance(value, list) and value[0] == tag_value):
                    return plainly(case, value)
            return value if untagged is None else plainly(untagged, value)
        case _:
            return value


def _record(own: Sequence[Any], is_array: bool, tag: Any, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict([tag]) if tag else {}
    if is_array:
        value = dict(zip([field.encoded for field in own], value[bool(tag) :], strict=True))
    for field in own:
        inner = value.get(field.encoded, _ABSENT)
        if inner is _ABSENT:
            inner = msgspec.msgpack.decode(field.default)
        found[field.name] = plainly(field.shape, inner)
    return found


_ABSENT: Final = object()


def as_json(shape: Shape, body: bytes) -> str:
    """An encoded value as text in JSON."""
    return msgspec.json.encode(plainly(shape, msgspec.msgpack.decode(body))).decode()


_constants = lru_cache(KEPT)(decode_step_constants)


@lru_cache(KEPT)
def _shape_of_row(text: str, kind: str) -> Shape:
    """Of rows of a kind of node, by its name, under constants."""
    return shape_of_row(kind_named(kind).row, peers_of(_constants(text)))


@lru_cache(KEPT)
def _shape_of_input(text: str) -> Shape:
    constants = _constants(text)
    return shape_of_inputs(types_of_inputs(constants), peers_of(constants))


# --- Tables of a part ---


def of_part(name: str, part: PartTables, scenario: str) -> pa.Table:
    """A table of a part, by its name; not one of those that a judgement makes."""
    tables = part.tables
    match name:
        case "runs":
            return _runs(tables["runs"])
        case "steps":
            return _steps(tables)
        case "messages":
            return _messages(tables)
        case "operations":
            return _exploded(tables["runs"], "history", "operations")
        case "violations":
            return _exploded(tables["runs"], "violations", "violations")
        case "measures":
            return measure(tables).cast(SCHEMAS[name])
        case "histories" | "anomalies":
            judged = judge_histories(scenario, tables["runs"].select(READS))
            found = judged.verdicts if name == "histories" else judged.anomalies
            return found.cast(SCHEMAS[name])
    raise KeyError(name)


def _runs(runs: pa.Table) -> pa.Table:
    statistics = whole(runs["statistics"])
    columns = {name: runs[name] for name in ("run", "seed", "constants", "options", "verdict")}
    columns["steps"] = pc.list_value_length(runs["steps"]).cast(pa.int64())
    columns |= {field.name: statistics.field(field.name) for field in STATISTICS}
    return pa.table(columns, schema=SCHEMAS["runs"])


def _exploded(runs: pa.Table, column: str, name: str) -> pa.Table:
    """A row for each struct of a column of lists."""
    lengths, structs = lists(runs[column])
    numbers = np.repeat(ints(runs["run"]), lengths)
    places = places_within(lengths)
    schema = SCHEMAS[name]
    known: dict[str, Any] = {"run": numbers, "number": places.astype(np.int32)}
    columns = [known[of] if of in known else structs.field(of) for of in schema.names]
    return pa.table([pa.array(c) for c in columns], schema=schema)


def _occurrences(runs: pa.Table) -> tuple[Occurrences, dict[str, Any]]:
    """The steps of the runs, one after the other, and what is said of each whatever it was."""
    lengths, _ = lists(runs["steps"])
    taken = Occurrences.from_runs(runs)
    return taken, {
        "run": ints(runs["run"])[taken.run_at],
        "position": places_within(lengths).astype(np.int32),
        "time": taken.time,
        "component": taken.component.astype(np.int32),
    }


def _steps(tables: Mapping[str, pa.Table]) -> pa.Table:
    steps = tables["steps"]
    texts, nodes = steps["constants"].to_pylist(), steps["node"].to_pylist()
    places = zip(texts, nodes, strict=True)
    kinds = [kind_of(_constants(text), node).name for text, node in places]
    bodies, inputs = tables["rows"]["body"].to_pylist(), tables["inputs"]["body"].to_pylist()

    @cache
    def row(number: int, text: str, kind: str) -> str:
        return as_json(_shape_of_row(text, kind), bodies[number])

    @cache
    def taken_in(number: int, text: str) -> str:
        return as_json(_shape_of_input(text), inputs[number])

    def rows(column: str) -> pa.Array:
        numbers = zip(steps[column].to_pylist(), texts, kinds, strict=True)
        return pa.array([row(*each) for each in numbers])

    received = zip(steps["input"].to_pylist(), texts, strict=True)
    each = {
        "kind": pa.array(kinds),
        "node": steps["node"],
        "action": steps["action"],
        "ignored": steps["ignored"],
        "input": pa.array([taken_in(number, text) for number, text in received]),
        "before": rows("before"),
        "after": rows("after"),
        "sent": pc.list_value_length(steps["sent"]),
    }
    taken, columns = _occurrences(tables["runs"])
    at = pa.array(taken.step)
    columns |= {name: whole(column).take(at) for name, column in each.items()}
    return pa.table(columns, schema=SCHEMAS["steps"])


def _messages(tables: Mapping[str, pa.Table]) -> pa.Table:
    steps, inputs = tables["steps"], tables["inputs"]
    lengths, sent = lists(steps["sent"])
    starts = np.cumsum(lengths) - lengths
    taken, columns = _occurrences(tables["runs"])
    times = lengths[taken.step]
    of_step = np.repeat(taken.step, times)
    numbers = (
        ints(sent)[starts[of_step] + places_within(times)]
        if len(of_step)
        else np.zeros(0, np.int64)
    )
    texts = steps["constants"].to_pylist()
    text_of = {
        number: texts[at] for at, own in enumerate(steps["sent"].to_pylist()) for number in own
    }
    told: dict[int, tuple[str, Any, Any]] = {}
    for number, text in text_of.items():
        found = plainly(
            _shape_of_input(text), msgspec.msgpack.decode(inputs["body"][number].as_py())
        )
        body = msgspec.json.encode(found).decode()
        told[number] = (body, found.get("source"), found.get("destination"))
    each = [told[number] for number in numbers.tolist()]
    columns = {name: np.repeat(column, times) for name, column in columns.items()}
    columns |= {
        "type": whole(inputs["type"]).take(pa.array(numbers)),
        "source": pa.array([one[1] for one in each], pa.int32()),
        "destination": pa.array([one[2] for one in each], pa.int32()),
        "message": pa.array([one[0] for one in each], pa.string()),
    }
    return pa.table(columns, schema=SCHEMAS["messages"])


# --- Tables of a judgement ---


def of_classes(judged: pa.Table) -> pa.Table:
    """The table `classes` of judged steps with the columns JUDGED."""
    rows = []
    for row in judged.to_pylist():
        text = row["constants"]
        kind = kind_of(_constants(text), row["node"])
        state, message = _shape_of_row(text, kind.name), _shape_of_input(text)
        sent = [plainly(message, msgspec.msgpack.decode(body)) for body in row["sent"]]
        rows.append(
            {
                **row,
                "class": row["key"].hex(),
                "kind": kind.name,
                "before": as_json(state, row["before"]),
                "input": as_json(message, row["input"]) if row["input"] else '{"type":"Init"}',
                "after": as_json(state, row["after"]),
                "sent": msgspec.json.encode(sent).decode(),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMAS["classes"])


def of_joined(joined: pa.Table) -> pa.Table:
    """The table `rejected` of what JOINED says."""
    columns = {"class": [key.hex() for key in joined["key"].to_pylist()]}
    columns |= {name: joined[name] for name in ("run", "step", "times")}
    return pa.table(columns, schema=SCHEMAS["rejected"])


# --- On Spark ---

PARTS: Final = pa.schema([("trace", pa.string()), ("part", pa.int64())])
"""A part of a trace: the trace's folder, and the part's place in the manifest."""


def parts_of(session: SparkSession, trace: Path) -> DataFrame:
    """PARTS of a recorded trace, one in each of Spark's partitions. Raises TraceError: no trace."""
    from pyspark.sql import functions as F

    count = len(read_manifest(trace).parts)
    numbers = session.range(0, count, 1, numPartitions=max(count, 1))
    # Absolute, since workers have working directories of their own.
    return numbers.select(F.lit(str(trace.absolute())).alias("trace"), F.col("id").alias("part"))


def asked(
    parts: DataFrame, question: Callable[[PartTables], pa.Table], schema: pa.Schema
) -> DataFrame:
    """What a question to a part answers, of each part."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return parts.mapInArrow(partial(_answers, question), from_arrow_schema(schema))


def _answers(
    question: Callable[[PartTables], pa.Table], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a worker."""
    for batch in batches:
        for row in batch.to_pylist():
            trace = Path(row["trace"])
            part = read_part(trace, read_manifest(trace).parts[row["part"]])
            yield from question(part).to_batches(max_chunksize=BATCH)
    forget_archives()


@dataclass(frozen=True)
class Tables:
    """A trace as frames, one for each of TABLES. Nothing is read before Spark asks."""

    runs: DataFrame
    steps: DataFrame
    messages: DataFrame
    operations: DataFrame
    violations: DataFrame
    measures: DataFrame
    histories: DataFrame
    anomalies: DataFrame
    classes: DataFrame
    rejected: DataFrame

    def register(self) -> list[str]:
        """Make a temporary view of each, by its name; their names."""
        names = [field.name for field in fields(self)]
        for name in names:
            getattr(self, name).createOrReplaceTempView(name)
        return names

    def steps_of(self, kind: str) -> DataFrame:
        """The steps of one kind of node, with `before` and `after` as structs.

        Raises ToolError: there is no such kind.
        """
        from pyspark.sql import functions as F

        schema = spark_type(_kind(kind).row)
        typed = {name: F.from_json(name, schema) for name in ("before", "after")}
        return self.steps.filter(F.col("kind") == kind).withColumns(typed)


def tables(session: SparkSession, trace: Path) -> Tables:
    """The tables of a recorded trace.

    Raises TraceError: there is no trace, or its judgement is damaged. What is wrong with a part is
    an error of Spark's when that reads it, with the TraceError in it.
    """
    scenario = read_manifest(trace).campaign.scenario
    parts = parts_of(session, trace)
    of_parts = {
        name: _said(asked(parts, partial(of_part, name, scenario=scenario), SCHEMAS[name]), name)
        for name in TABLES
        if name not in ("classes", "rejected")
    }
    judged = {
        "classes": _of_file(session, trace, JUDGED_STEPS, "classes"),
        "rejected": _of_file(session, trace, JOINED_RUNS, "rejected"),
    }
    return Tables(**of_parts, **judged)


def _said(frame: DataFrame, name: str) -> DataFrame:
    """The table with the meaning of each column where Spark keeps comments."""
    from pyspark.sql import functions as F

    return frame.select(
        [
            F.col(field.name).alias(field.name, metadata={"comment": field.meaning})
            for field in TABLES[name]
        ]
    )


def _of_file(session: SparkSession, trace: Path, name: str, table: str) -> DataFrame:
    """A table that a judgement left, read in groups of rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    read_judged(trace, name)  # whether it is as the summary says
    path = (trace / FOLDER / name).absolute()
    groups = pq.ParquetFile(path).num_row_groups if path.exists() else 0
    numbers = session.range(0, groups, 1, numPartitions=max(groups, 1))
    task = partial(_answer_of_file, str(path), table)
    return _said(numbers.mapInArrow(task, from_arrow_schema(SCHEMAS[table])), table)


def _answer_of_file(
    path: str, table: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a worker."""
    make: Callable[[pa.Table], pa.Table] = of_classes if table == "classes" else of_joined
    for batch in batches:
        for group in batch.column(0).to_pylist():
            yield from make(pq.ParquetFile(path).read_row_group(group)).to_batches(BATCH)
    forget_archives()


def _kind(name: str) -> NodeKind:
    try:
        return kind_named(name)
    except (KeyError, StopIteration, ValueError):
        raise ToolError(f"there is no kind of node {name!r}") from None


# --- Typed states ---


def spark_type(struct: Any) -> str:
    """The type of a struct as Spark's DDL says it: what `from_json` makes of its JSON.

    Where several types are possible, a value stays text in JSON.
    """
    config = struct.__struct_config__
    own = [f"`{config.tag_field}`: STRING"] if config.tag is not None else []
    for field in fields_of(struct):
        inside = _ddl(field.type)
        if field.many is Kind.BY_NODE:
            inside = f"MAP<STRING, {inside}>"
        elif field.is_tuple:
            inside = f"ARRAY<{inside}>"
        own.append(f"`{field.spec_name}`: {inside}")
    return f"STRUCT<{', '.join(own)}>"


def _ddl(of: Any) -> str:
    origin = get_origin(of)
    if origin is Annotated:
        return _ddl(get_args(of)[0])
    if origin is tuple:
        return f"ARRAY<{_ddl(get_args(of)[0])}>"
    if origin is Literal or of is str:
        return "STRING"
    if of is bool:
        return "BOOLEAN"
    if of is int:
        return "BIGINT"
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        return spark_type(of)
    return "STRING"
