"""A trace on disk: a directory with `manifest.json`, and for each part one Parquet file per table.

What the tables are is said in traces/schema.py. A part counts when the manifest names it, which
happens last and in one rename; files that no manifest names are leftovers of an interrupted writer.
The manifest has the digest of every table, and its own (traces/sealed.py). Everything that is wrong
with a trace is a `TraceError` whose text is one line with the file in it.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.osutil.files import read_bytes, replace_file
from kraftcheck.traces.schema import SCHEMAS, TABLES, PartTables, TraceError, problem_of
from kraftcheck.traces.sealed import DocumentError, digest as sha256_of, read_document, sealed

SCHEMA_VERSION = 4
MANIFEST = "manifest.json"
STEM = r"\A[\w-]{1,60}\Z"
"""A part's files lie in the trace's own folder, whatever a manifest says."""

T = TypeVar("T")


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
    """What was asked for.

    `options` are the options that were requested, not those drawn. `guided`: so many runs are a
    generation, which is made of what earlier ones have met; 0: of none.
    """

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
    missing = "the folder is not a trace"
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
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory):
            if not (directory / MANIFEST).exists():
                replace_file(directory / MANIFEST, _manifest_bytes(fresh), durable=True)
                return fresh
            there = read_manifest(directory)
    if msgspec.structs.replace(there, parts=()) != fresh:
        differs = [
            f"{name} {_told(was)} and not {_told(now)}"
            for name in Campaign.__struct_fields__
            for was, now in [(getattr(there.campaign, name), getattr(campaign, name))]
            if was != now
        ]
        what = differs[0] if differs else "its version"
        raise TraceError(
            f"{directory / MANIFEST}: holds another campaign: {what}; choose another folder"
        )
    return there


def _told(value: object) -> str:
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value or "none")


def extend_trace(directory: Path, runs: int) -> Manifest:
    """Asks for so many runs in place of fewer; what is recorded stays.

    Raises TraceError: there is no trace, it is damaged, or it has more runs already.
    """
    with writing(directory), _locked(directory):
        there = read_manifest(directory)
        if runs < there.campaign.runs:
            has = f"is a campaign of {there.campaign.runs} runs"
            raise TraceError(f"{directory / MANIFEST}: {has}; it cannot be made {runs}")
        campaign = msgspec.structs.replace(there.campaign, runs=runs)
        longer = msgspec.structs.replace(there, campaign=campaign)
        replace_file(directory / MANIFEST, _manifest_bytes(longer), durable=True)
    return longer


def drop_parts(directory: Path, stems: Collection[str]) -> None:
    """Takes these parts out of the manifest, then their files: their runs are missing again.

    Raises TraceError: there is no trace, or it is damaged.
    """
    with writing(directory), _locked(directory):
        there = read_manifest(directory)
        kept = tuple(part for part in there.parts if part.stem not in stems)
        fewer = msgspec.structs.replace(there, parts=kept)
        replace_file(directory / MANIFEST, _manifest_bytes(fewer), durable=True)
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
    with writing(directory):
        try:
            files = {}
            for name in TABLES:
                path = directory / f"{stem}.{name}.parquet"
                data = parquet_bytes(part.tables[name])
                written.append(path)
                replace_file(path, data, durable=True)
                files[name] = PartFile(sha256_of(data), part.tables[name].num_rows)
            entry = PartEntry(stem, part.first_run, part.runs, files)
            with _locked(directory):
                _enter(directory, entry)
        except BaseException:
            _discard(directory, stem, written)
            raise
    return entry


def write_file(path: Path, data: bytes) -> None:
    """A file beside a trace's own, whole or not at all. Raises TraceError: it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise TraceError(f"{error.filename or path}: {error.strerror}") from None


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
    more = _manifest_bytes(msgspec.structs.replace(manifest, parts=parts))
    replace_file(directory / MANIFEST, more, durable=True)


def _discard(directory: Path, stem: str, written: Sequence[Path]) -> None:
    """Takes back the files of a part that failed, unless the manifest has the part."""
    with suppress(TraceError):
        if any(part.stem == stem for part in read_manifest(directory).parts):
            return
    for path in written:
        with suppress(OSError):
            path.unlink()


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Raises TraceError in place of OSError: a file of this folder cannot be written."""
    try:
        yield
    except OSError as error:
        # Arrow's errors name no file, and some say no more than their text.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "no space left" if full else error.strerror or error
        raise TraceError(f"{error.filename or directory}: {what}") from None


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One writer of the manifest at a time, on one machine."""
    with open(directory / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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
