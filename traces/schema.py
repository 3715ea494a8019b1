"""The trace contract: of which tables a recorded campaign is made.

Law of this file: every table and column is declared here as data (`TABLES`), with type, unit and
meaning; writers, readers, Spark and kraftcheck/docs.py take them from here. Nothing here knows a
protocol, but that an input of type T is handled by the action HandleT; nothing here touches a disk
(traces/store.py does).

Campaigns are recorded in parts, each a range of runs. Within a part rows and inputs are stored once
and steps name them by id; so a run is a list of step ids. Ids are the part's own, dense from 0 in
order of first appearance, and mean nothing in another part: join on (`part`, id), or compare
digests.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.traces.lean import leave_pandas_out

leave_pandas_out()

PROGRESSED = "progressed"
"""The verdict of a run whose healed core did what it must."""
STOPPED = "stopped at a violation"

OPERATIONS = ("append", "fetch", "latest", "earliest")
OUTCOMES = ("ok", "fail", "indeterminate")


class TraceError(Exception):
    """A trace that cannot be written, or must not be believed.

    The text is one line of printable characters, whatever the files say that it quotes.
    """

    def __init__(self, text: str) -> None:
        line = " ".join(text.split())
        super().__init__(
            "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
        )


# --- The tables, as data ---


class Field(NamedTuple):
    """One column, or one field of a struct."""

    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""
    nullable: bool = False
    children: tuple[Field, ...] = ()

    def arrow(self) -> pa.Field:
        return pa.field(self.name, self.type, nullable=self.nullable)


def _struct(children: tuple[Field, ...]) -> pa.DataType:
    return pa.struct([child.arrow() for child in children])


def _list(of: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("item", of, nullable=False))


_PART = Field("part", pa.int64(), "the part, named by its first run; ids below are its own", "run")
_ID = Field("id", pa.int32(), "dense from 0, in order of first appearance in the part", "id")
_DIGEST = Field("digest", pa.binary(16), "blake2b-128 of `body`: the same content in any part")

VIOLATION = (
    Field("invariant", pa.string(), "name, as in the spec"),
    Field("step", pa.int32(), "after which step of the run, from 0", "index into `steps`"),
    Field("explanation", pa.string(), "what is wrong, in words"),
)

OF_OBJECT = ":"
"""Begins an operation on what is no log."""

OPERATION = (
    Field("process", pa.int32(), "a client; its operations do not overlap"),
    Field("partition", pa.int32(), "of the topic, from 0"),
    Field(
        "op",
        pa.string(),
        "append, fetch, latest or earliest (traces/history.py); where clients see an object and no "
        "log, `:` and a word of its model",
    ),
    Field("node", pa.int32(), "the node that received the request", "node"),
    Field(
        "offset",
        pa.int64(),
        "append: its offset; fetch: the start; latest, earliest: the answer; of an object: the "
        "argument",
        "offset",
        nullable=True,
    ),
    Field(
        "values",
        _list(pa.int64()),
        "append: the one value; fetch: the committed records from `offset` on, one for each "
        "offset (0: a LeaderChange); of an object: what was answered",
        "record value",
    ),
    Field("end", pa.int64(), "fetch: the visible end that it saw", "offset", nullable=True),
    Field("invoked", pa.int64(), "when the client asked", "virtual us"),
    Field("completed", pa.int64(), "when it knew; null if never", "virtual us", nullable=True),
    Field(
        "outcome",
        pa.string(),
        "ok; fail: it had and will have no effect; indeterminate: an append that may yet appear, "
        "after which its process asks nothing more",
    ),
)

BATCH = (
    Field("value", pa.int64(), "what stands for it in the quorum's log"),
    Field("component", pa.int32(), "of which partition's controller it says something"),
    Field("input", pa.int32(), "what made the controller decide so", "id in `inputs`"),
    Field(
        "records",
        pa.int32(),
        "the MetadataRecords that it decided on; null if none for this partition",
        "id in `inputs`",
        nullable=True,
    ),
)

STATISTICS = tuple(
    Field(name, pa.int64(), meaning, unit)
    for name, unit, meaning in (
        ("leader_changes", "count", "leaders elected after the first"),
        ("truncations", "count", "steps in which a follower cut its log"),
        ("crashes", "count", "crashes"),
        ("lossy_crashes", "count", "crashes that lost records"),
        ("resignations", "count", "leaders asked to step down"),
        ("partitions", "count", "network partitions that began"),
        ("lost", "count", "messages lost by chance"),
        ("blocked", "count", "messages lost to a partition"),
        ("undelivered", "count", "messages lost because their addressee was down"),
        ("duplicated", "count", "messages delivered twice"),
        ("held", "count", "messages held back, so that later ones overtook them"),
        ("ignored", "count", "steps that ignored their input"),
        ("changing_or_sending", "count", "steps that changed a row or sent something"),
        ("duration", "virtual us", "when the run ended"),
        ("shrinks", "count", "changes of metadata that left the ISR smaller"),
        ("expansions", "count", "changes of metadata that left the ISR larger"),
        ("shutdowns", "count", "brokers asked to stop cleanly"),
        ("acked", "count", "appends that were acknowledged"),
        ("leader_moves", "count", "partition leaders after the first, from the ISR or ELR"),
        ("unclean_moves", "count", "partition leaders from outside of ISR and ELR"),
        ("lossy_replicas", "count", "brokers that had lost records at once, at most"),
        ("zombies", "flag", "1: two brokers believed that they lead"),
        ("unpromised", "flag", "1: more was lost than the configuration bears"),
        ("failovers", "count", "active controllers after the first"),
        ("batches", "count", "decisions that controllers appended to the quorum's log"),
        ("stale_answers", "count", "answers of deposed controllers that were not sent"),
    )
)

TABLES: dict[str, tuple[Field, ...]] = {
    "runs": (
        _PART,
        Field("run", pa.int64(), "index in the campaign", "run"),
        Field("seed", pa.int64(), "derived from the campaign's seed and the index"),
        Field("constants", pa.string(), "who votes and so on: JSON with sorted keys (L8)"),
        Field("options", pa.string(), "fault options, as drawn: JSON with sorted keys"),
        Field("steps", _list(pa.int32()), "what happened, in order", "id in `steps`"),
        Field("times", _list(pa.int64()), "when, aligned with `steps`", "virtual us"),
        Field(
            "components",
            _list(pa.int32()),
            "cluster: whose step it is, aligned with `steps`: 0 the quorum, 1 + p partition p; "
            "empty for a run of one component",
            "index into the constants",
        ),
        Field("handler_calls", pa.int64(), "steps as the scheduler counted them (L7)", "count"),
        Field("verdict", pa.string(), f"'{PROGRESSED}', '{STOPPED}', or what is missing"),
        Field("violations", _list(_struct(VIOLATION)), "invariants violated", children=VIOLATION),
        Field("history", _list(_struct(OPERATION)), "what clients saw", children=OPERATION),
        Field(
            "batches",
            _list(_struct(BATCH)),
            "cluster: what controllers decided, one entry for each partition concerned",
            children=BATCH,
        ),
        Field("statistics", _struct(STATISTICS), "what happened, counted", children=STATISTICS),
    ),
    "steps": (
        _PART,
        _ID,
        Field("constants", pa.string(), "as in `runs`: part of a step's key (L8)"),
        Field("node", pa.int32(), "who took the step", "node"),
        Field("action", pa.string(), "name, as in the spec"),
        Field("before", pa.int32(), "the node's row before", "id in `rows`"),
        Field("input", pa.int32(), "what the step consumed", "id in `inputs`"),
        Field("after", pa.int32(), "the node's row after", "id in `rows`"),
        Field("sent", _list(pa.int32()), "messages sent, in canonical order", "id in `inputs`"),
        Field("ignored", pa.string(), "why the input was ignored; empty if it was not (L6)"),
        Field("count", pa.int64(), "how often the runs of the part took this step", "count"),
    ),
    "rows": (
        _PART,
        _ID,
        _DIGEST,
        Field("body", pa.binary(), "the row in MessagePack, fields by name"),
    ),
    "inputs": (
        _PART,
        _ID,
        Field("type", pa.string(), "as in the spec: VoteRequest, Flush ..."),
        _DIGEST,
        Field("body", pa.binary(), "the input in MessagePack, fields by name, `type` included"),
    ),
}
"""Every table of a part. Times are integers of virtual microseconds from the start of the run."""

SCHEMAS: dict[str, pa.Schema] = {
    name: pa.schema([field.arrow() for field in fields]) for name, fields in TABLES.items()
}


def describe(fields: Sequence[Field], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """(name, type, unit, meaning) for each field, those of structs after their column."""
    for field in fields:
        kind = f"{field.type}".replace(" not null", "") if not field.children else "struct"
        if field.children and pa.types.is_list(field.type):
            kind = "list<struct>"
        kind += ", null if unknown" if field.nullable else ""
        yield prefix + field.name, kind, field.unit, field.meaning
        yield from describe(field.children, f"{prefix}{field.name}.")


# --- A part in memory ---


class PartTables(NamedTuple):
    """The tables of runs `first_run` to `first_run + runs - 1`, by the names of `TABLES`."""

    first_run: int
    runs: int
    tables: dict[str, pa.Table]
    known: Mapping[str, Sequence[Any]] | None = None
    """Where whoever made the tables still has what `rows` and `inputs` hold, by the names of these,
    in their order; it saves reading them again (traces/steps/record.py).
    """

    def digests(self) -> dict[str, str]:
        """sha256 of each table as an Arrow IPC stream: equal tables, equal digests."""
        return {name: hashlib.sha256(ipc_bytes(t)).hexdigest() for name, t in self.tables.items()}


class Lists:
    """A column of lists of integers, filled list by list: one buffer and its offsets.

    Args:
        typecode: "i" for int32, "q" for int64.
        items: those of the first lists, one list after the other.
        lengths: of the first lists.
    """

    __slots__ = ("_ends", "items")

    def __init__(
        self, typecode: str, items: Iterable[int] = (), lengths: Iterable[int] = ()
    ) -> None:
        assert typecode in ("i", "q"), "int32 or int64"
        self.items = array(typecode, items)
        self._ends = array("i", [0, *accumulate(lengths)])

    def close(self) -> int:
        """Everything in `items` since the last call is one list. Returns where it begins."""
        start = self._ends[-1]
        self._ends.append(len(self.items))
        return start

    def __len__(self) -> int:
        return len(self._ends) - 1

    def arrow(self, kind: pa.DataType) -> pa.Array:
        return pa.ListArray.from_arrays(_flat(self._ends), _flat(self.items), type=kind)


class Structs:
    """A column of lists of structs, each given as a tuple in the order of the fields."""

    def __init__(self, fields: Sequence[Field], lists: Sequence[Sequence[Sequence[Any]]]) -> None:
        self._fields = fields
        self._lists = lists

    def arrow(self, kind: pa.DataType) -> pa.Array:
        items = [item for items in self._lists for item in items]
        ends = array("i", [0, *accumulate(map(len, self._lists))])
        columns = zip(*items, strict=True) if items else [()] * len(self._fields)
        arrays = [pa.array(c, f.type) for f, c in zip(self._fields, columns, strict=True)]
        structs = pa.StructArray.from_arrays(arrays, fields=[f.arrow() for f in self._fields])
        return pa.ListArray.from_arrays(_flat(ends), structs, type=kind)


def _flat(values: array[int]) -> pa.Array:
    kind = pa.int32() if values.typecode == "i" else pa.int64()
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def table(name: str, columns: Mapping[str, Any]) -> pa.Table:
    """A table of the contract, from its columns by name.

    A column is a plain sequence, an array of integers, or `Lists` or `Structs`.
    """
    schema = SCHEMAS[name]
    assert set(columns) == set(schema.names), f"the columns of {name} are {schema.names}"
    arrays = []
    for field in schema:
        column = columns[field.name]
        if isinstance(column, Lists | Structs):
            arrays.append(column.arrow(field.type))
        elif isinstance(column, array):
            arrays.append(_flat(column).cast(field.type))
        else:
            arrays.append(pa.array(column, type=field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def ipc_bytes(of: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, of.schema) as writer:
        writer.write_table(of.combine_chunks())
    return bytes(sink.getvalue())


def digest(body: bytes) -> bytes:
    """What names a row or an input across parts."""
    return hashlib.blake2b(body, digest_size=16).digest()


# --- What tables must satisfy among each other ---


def problem_of(part: PartTables) -> str | None:
    """The first thing wrong with the part's names, ids and lengths, or None."""
    tables = part.tables
    for name in TABLES:
        if name == "runs":
            expected = range(part.first_run, part.first_run + part.runs)
        else:
            expected = range(tables[name].num_rows)
        column = "run" if name == "runs" else "id"
        if tables[name][column].to_pylist() != list(expected):
            return f"{name}.{column} does not run from {expected.start} to {expected.stop - 1}"
        if pc.unique(tables[name]["part"]).to_pylist() not in ([], [part.first_run]):
            return f"{name}.part is not {part.first_run}"
    return _id_problem(tables) or _name_problem(tables) or _length_problem(tables)


REFERENCES = (
    ("runs", "steps", "steps"),
    ("steps", "before", "rows"),
    ("steps", "input", "inputs"),
    ("steps", "after", "rows"),
    ("steps", "sent", "inputs"),
)
"""Which column names rows of which table by id."""


def _id_problem(tables: Mapping[str, pa.Table]) -> str | None:
    for name, column, target in REFERENCES:
        values = tables[name][column]
        if pa.types.is_list(values.type):
            values = pc.list_flatten(values)
        bounds = pc.min_max(values).as_py()
        for value in (bounds["min"], bounds["max"]):
            if value is not None and not 0 <= value < tables[target].num_rows:
                return f"{name}.{column} has id {value}, out of range for {target}"
    return None


def _name_problem(tables: Mapping[str, pa.Table]) -> str | None:
    steps, inputs = tables["steps"], tables["inputs"]
    consumed = pc.take(inputs["type"], steps["input"]).to_pylist()
    for at, (action, kind) in enumerate(zip(steps["action"].to_pylist(), consumed, strict=True)):
        if action != f"Handle{kind}":
            return f"step {at} is {action} of an input of type {kind}"
    history = pc.list_flatten(tables["runs"]["history"])
    for column, known in (("op", OPERATIONS), ("outcome", OUTCOMES)):
        for value in pc.unique(pc.struct_field(history, column)).to_pylist():
            if value not in known and not (column == "op" and value.startswith(OF_OBJECT)):
                return f"runs.history has unknown {column} {value!r}"
    return None


def _length_problem(tables: Mapping[str, pa.Table]) -> str | None:
    runs = tables["runs"]
    lengths = [pc.list_value_length(runs[column]).to_pylist() for column in ("steps", "times")]
    lengths.append(pc.list_value_length(runs["components"]).to_pylist())
    for run, steps, times, components in zip(runs["run"].to_pylist(), *lengths, strict=True):
        if steps != times:
            return f"run {run} has {steps} steps and {times} times"
        if components not in (0, steps):
            return f"run {run} has {steps} steps and {components} components"
    return None
