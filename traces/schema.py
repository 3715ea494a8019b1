"""The trace contract: what a recorded campaign is on disk, written and read in one place.

Law of this file: every table and column is declared here as data (`TABLES`), with type, unit and
meaning; writers, readers, Spark and docs/conformance.md take them from here. Nothing here knows a
protocol, but that an input of type T is handled by the action HandleT.

A trace is a directory: `manifest.json`, and for each part (a range of runs) one Parquet file per
table. Within a part rows and inputs are stored once and steps name them by id; so a run is a list
of step ids. Ids are the part's own, dense from 0 in order of first appearance, and mean nothing in
another part: join on (`part`, id), or compare digests.

A part counts when the manifest names it, which happens last and in one rename; files that no
manifest names are leftovers of an interrupted writer. The manifest has the digest of every table,
and its own (traces/sealed.py). Everything that is wrong with a trace is a `TraceError` whose text
is one line with the file in it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from system.files import read_bytes
from traces.lean import leave_pandas_out
from traces.sealed import DocumentError, read_document, sealed
from traces.sealed import digest as sha256_of

leave_pandas_out()

SCHEMA_VERSION = 4
MANIFEST = "manifest.json"
STEM = r"\A[\w-]{1,60}\Z"
"""A part's files lie in the trace's own folder, whatever a manifest says."""
PROGRESSED = "progressed"
"""The verdict of a run whose healed core did what it must."""
STOPPED = "stopped at a violation"

OPERATIONS = ("append", "fetch", "latest", "earliest")
OUTCOMES = ("ok", "fail", "indeterminate")


T = TypeVar("T")


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
    Field("node", pa.int32(), "the node that was asked", "node"),
    Field(
        "offset",
        pa.int64(),
        "append: where; fetch: from where; latest, earliest: what was answered; of an object: what "
        "was asked with",
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

    def digests(self) -> dict[str, str]:
        """sha256 of each table as an Arrow IPC stream: equal tables, equal digests."""
        return {name: hashlib.sha256(ipc_bytes(t)).hexdigest() for name, t in self.tables.items()}


class Lists:
    """A column of lists of integers, filled list by list: one buffer and its offsets."""

    __slots__ = ("_ends", "items")

    def __init__(self, typecode: str) -> None:
        assert typecode in ("i", "q"), "int32 or int64"
        self.items = array(typecode)
        self._ends = array("i", [0])

    def close(self) -> int:
        """Everything in `items` since the last call is one list. Returns where it begins."""
        start = self._ends[-1]
        self._ends.append(len(self.items))
        return start

    def append(self, values: Sequence[int]) -> None:
        self.items.extend(values)
        self.close()

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


# --- The manifest ---


class PartFile(msgspec.Struct, frozen=True):
    sha256: str
    rows: int


class PartEntry(msgspec.Struct, frozen=True):
    """One part: the runs it holds, and its files `<stem>.<table>.parquet`."""

    stem: Annotated[str, msgspec.Meta(pattern=STEM)]
    first_run: int
    runs: int
    tables: dict[str, PartFile]


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. `options` are the options that were requested, not those drawn. `guided`:
    so many runs are a generation, which is made of what earlier ones have met; 0: of none."""

    scenario: str
    seed: int
    runs: int
    bug: str | None = None
    options: dict[str, Any] = {}
    guided: int = 0


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    schema_version: int
    kraftcheck_version: str
    campaign: Campaign
    parts: tuple[PartEntry, ...] = ()
    """In order of their runs, whatever the order in which they were written."""


def version() -> str:
    """The version of kraftcheck that is running, as set-up installed it."""
    try:
        return metadata.version("kraftcheck")
    except metadata.PackageNotFoundError:
        return "not installed"


def _manifest_bytes(manifest: Manifest) -> bytes:
    encoded = msgspec.json.encode(manifest, order="deterministic")
    return sealed(msgspec.json.format(encoded, indent=1))


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a trace.

    Raises TraceError: there is none, it is damaged, or it is of another schema version.
    """
    missing = "not a trace, or one never begun"
    inner = sorted(path.parent.name for path in directory.glob(f"*/{MANIFEST}"))
    if inner and not (directory / MANIFEST).exists():
        missing = f"its runs lie in folders of it: {', '.join(inner)}"
    return read_versioned(directory / MANIFEST, Manifest, "schema", SCHEMA_VERSION, missing)


def read_versioned(path: Path, of: type[T], what: str, version: int, missing: str) -> T:
    """A sealed JSON file whose field `<what>_version` must be `version`.

    missing: what it means that there is no such file. Raises TraceError: there is none, it is
    damaged, or it is of another version.
    """
    try:
        return read_document(path, of, what, version)
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file: {missing}") from None
    except DocumentError as error:
        raise TraceError(str(error)) from None


# --- Writing ---


def begin_trace(directory: Path, campaign: Campaign) -> Manifest:
    """Makes the directory and its manifest, or takes up a trace of the same campaign again.

    Raises TraceError: the directory holds a trace of another campaign or version.
    """
    fresh = Manifest(schema_version=SCHEMA_VERSION, kraftcheck_version=version(), campaign=campaign)
    with _writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory):
            if not (directory / MANIFEST).exists():
                _replace_file(directory / MANIFEST, _manifest_bytes(fresh))
                return fresh
            there = read_manifest(directory)
    if msgspec.structs.replace(there, parts=()) != fresh:
        raise TraceError(f"{directory / MANIFEST}: holds another campaign; choose another folder")
    return there


def extend_trace(directory: Path, runs: int) -> Manifest:
    """Asks for so many runs in place of fewer; what is recorded stays.

    Raises TraceError: there is no trace, it is damaged, or it has more runs already.
    """
    with _writing(directory), _locked(directory):
        there = read_manifest(directory)
        if runs < there.campaign.runs:
            has = f"is a campaign of {there.campaign.runs} runs"
            raise TraceError(f"{directory / MANIFEST}: {has}; it cannot be made {runs}")
        campaign = msgspec.structs.replace(there.campaign, runs=runs)
        longer = msgspec.structs.replace(there, campaign=campaign)
        _replace_file(directory / MANIFEST, _manifest_bytes(longer))
    return longer


def drop_parts(directory: Path, stems: Collection[str]) -> None:
    """Takes these parts out of the manifest, then their files: their runs are missing again.

    Raises TraceError: there is no trace, or it is damaged.
    """
    with _writing(directory), _locked(directory):
        there = read_manifest(directory)
        kept = tuple(part for part in there.parts if part.stem not in stems)
        fewer = msgspec.structs.replace(there, parts=kept)
        _replace_file(directory / MANIFEST, _manifest_bytes(fewer))
        for part in there.parts:
            if part.stem in stems:
                for name in part.tables:
                    part_path(directory, part, name).unlink(missing_ok=True)


def write_part(directory: Path, part: PartTables) -> PartEntry:
    """Writes the part's files, then names it in the manifest. Processes may do so at once.

    Raises TraceError: no trace was begun there, the manifest has some of these runs already, or
    the files cannot be written (then nothing of the part remains).
    """
    stem = f"part-{part.first_run:09d}-{part.runs:06d}"
    written: list[Path] = []
    with _writing(directory):
        try:
            files = {}
            for name in TABLES:
                path = directory / f"{stem}.{name}.parquet"
                data = parquet_bytes(part.tables[name])
                written.append(path)
                _replace_file(path, data)
                files[name] = PartFile(sha256_of(data), part.tables[name].num_rows)
            entry = PartEntry(stem, part.first_run, part.runs, files)
            with _locked(directory):
                _enter(directory, entry)
        except BaseException:
            _discard(directory, stem, written)
            raise
    return entry


def parquet_bytes(of: pa.Table) -> bytes:
    """The table as a Parquet file. The same table gives the same bytes (with one pyarrow)."""
    sink = pa.BufferOutputStream()
    pq.write_table(of, sink, compression="zstd")
    return bytes(sink.getvalue())


def _enter(directory: Path, entry: PartEntry) -> None:
    manifest = read_manifest(directory)
    for other in manifest.parts:
        if other == entry:
            return
        ends = (other.first_run + other.runs, entry.first_run + entry.runs)
        if other.first_run < ends[1] and entry.first_run < ends[0]:
            raise TraceError(f"{directory / MANIFEST}: {entry.stem} overlaps {other.stem}")
    parts = tuple(sorted((*manifest.parts, entry), key=lambda part: part.first_run))
    _replace_file(
        directory / MANIFEST, _manifest_bytes(msgspec.structs.replace(manifest, parts=parts))
    )


def _discard(directory: Path, stem: str, written: Sequence[Path]) -> None:
    """Takes back the files of a part that failed, unless the manifest has the part."""
    with suppress(TraceError):
        if any(part.stem == stem for part in read_manifest(directory).parts):
            return
    for path in written:
        with suppress(OSError):
            path.unlink()


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = error.filename or directory
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise TraceError(f"{path}: {'no space left' if full else error.strerror}") from None


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One writer of the manifest at a time, on one machine."""
    with open(directory / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace_file(path: Path, data: bytes) -> None:
    """The whole file or, after a crash at any moment, what was there before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# --- Reading ---


def part_path(directory: Path, entry: PartEntry, name: str) -> Path:
    return directory / f"{entry.stem}.{name}.parquet"


def read_part(directory: Path, entry: PartEntry) -> PartTables:
    """A part, checked: bytes against the manifest, columns against the contract, ids, names.

    Raises TraceError.
    """
    tables = {name: read_table(directory, entry, name) for name in TABLES}
    part = PartTables(entry.first_run, entry.runs, tables)
    problem = problem_of(part)
    if problem is not None:
        raise TraceError(f"{directory / entry.stem}: {problem}")
    return part


def read_parts(directory: Path) -> Iterator[PartTables]:
    """All parts in order, one in memory at a time."""
    for entry in read_manifest(directory).parts:
        yield read_part(directory, entry)


def read_table(
    directory: Path, entry: PartEntry, name: str, columns: Sequence[str] = ()
) -> pa.Table:
    """One table of a part: its bytes against the manifest, its columns against the contract.

    columns: those that are wanted; all without them. What it must satisfy together with other
    tables is not checked. Raises TraceError.
    """
    path = part_path(directory, entry, name)
    data = _recorded(directory, entry, name)
    try:
        found = pq.ParquetFile(pa.BufferReader(data)).read(list(columns) or None)
        # Reading checks neither texts and names, which must be UTF-8, nor the ends of lists.
        found.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"corrupt Parquet file of {len(data)} bytes"
        raise TraceError(f"{path}: {what}: {_one_line(error)}") from None
    expected = entry.tables[name]
    if not columns and not found.schema.equals(SCHEMAS[name]):
        raise TraceError(f"{path}: {_schema_difference(name, found.schema)}")
    if found.num_rows != expected.rows:
        raise TraceError(f"{path}: {found.num_rows} rows, the manifest has {expected.rows}")
    return found


def _recorded(directory: Path, entry: PartEntry, name: str) -> bytes:
    """The bytes of a part's file, which are those that the manifest has the digest of."""
    path = part_path(directory, entry, name)
    expected = entry.tables.get(name)
    if expected is None:
        raise TraceError(f"{directory / MANIFEST}: {entry.stem} has no table {name!r}")
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    sha256 = sha256_of(data)
    if sha256 != expected.sha256:
        what = f"damaged: sha256 is {sha256}, the manifest has {expected.sha256}"
        raise TraceError(f"{path}: {what}")
    return data


def damage_of(directory: Path, entry: PartEntry) -> TraceError | None:
    """What is wrong with a part's files, by their digests; None if all are as they were written."""
    try:
        for name in TABLES:
            _recorded(directory, entry, name)
    except TraceError as error:
        return error
    return None


def _schema_difference(name: str, found: pa.Schema) -> str:
    for field in SCHEMAS[name]:
        at = found.get_field_index(field.name)
        if at < 0:
            return f"no column {field.name!r}"
        if not found.field(at).equals(field):
            there = found.field(at).type
            return f"column {field.name!r} is {there!s:.150}, not {field.type!s:.150}"
    unknown = [column for column in found.names if column not in SCHEMAS[name].names]
    return f"unknown column {unknown[0]!r:.150}" if unknown else "columns in another order"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


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
