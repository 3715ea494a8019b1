"""Traces on disk: what is written is read back, and nothing damaged or half-written is believed."""

from __future__ import annotations

import errno
import json
import os
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.traces import schema, store
from kraftcheck.traces.schema import PartTables, TraceError
from kraftcheck.traces.store import Campaign

CAMPAIGN = Campaign(scenario="quorum", seed=7, runs=4)
STATISTICS = {field.name: 0 for field in schema.STATISTICS}


def operation(**changes: Any) -> dict[str, Any]:
    fields = {"process": 0, "partition": 0, "op": "append", "node": 1}
    fields |= {"offset": None, "values": [5], "end": None}
    return fields | {"invoked": 10, "completed": None, "outcome": "indeterminate"} | changes


def a_part(first_run: int = 0, runs: int = 2) -> PartTables:
    """Two steps, two rows, two inputs; every run takes both steps."""
    steps = schema.Lists("i", [0, 1] * runs, [2] * runs)
    times = schema.Lists("q", [100, 2**40] * runs, [2] * runs)
    sent = schema.Lists("i", [1], [1, 0])
    part, two = [first_run] * 2, array("i", [0, 1])
    bodies = [b"x", b"y"]
    digests = [schema.digest(body) for body in bodies]
    tables = {
        "runs": {
            "part": [first_run] * runs,
            "run": range(first_run, first_run + runs),
            "seed": [2**62] * runs,
            "constants": ["{}"] * runs,
            "options": ["{}"] * runs,
            "steps": steps,
            "times": times,
            "components": [[]] * runs,
            "handler_calls": [2] * runs,
            "verdict": [schema.PROGRESSED] * runs,
            "violations": [[{"invariant": "VoteOnce", "step": 1, "explanation": "twice"}]] * runs,
            "history": [[operation(), operation(outcome="ok", completed=12, offset=3)]] * runs,
            "batches": [[]] * runs,
            "statistics": [STATISTICS] * runs,
        },
        "steps": {
            "part": part,
            "id": two,
            "constants": ["{}"] * 2,
            "node": two,
            "action": ["HandleElectionTimeout", "HandleVoteRequest"],
            "before": array("i", [0, 0]),
            "input": two,
            "after": array("i", [1, 0]),
            "sent": sent,
            "ignored": ["", ""],
            "count": array("q", [runs, runs]),
        },
        "rows": {"part": part, "id": two, "digest": digests, "body": bodies},
        "inputs": {
            "part": part,
            "id": two,
            "type": ["ElectionTimeout", "VoteRequest"],
            "digest": digests,
            "body": bodies,
        },
    }
    return PartTables(
        first_run, runs, {name: schema.table(name, tables[name]) for name in schema.TABLES}
    )


def with_column(part: PartTables, table: str, column: str, values: Any) -> PartTables:
    old = part.tables[table]
    at = old.schema.get_field_index(column)
    field = old.schema.field(at)
    new = old.set_column(at, field, pa.array(values, type=field.type))
    return part._replace(tables=part.tables | {table: new})


def written(directory: Path, *parts: PartTables) -> Path:
    store.begin_trace(directory, CAMPAIGN)
    for part in parts or (a_part(),):
        store.write_part(directory, part)
    return directory


def refusal(directory: Path) -> str:
    with pytest.raises(TraceError) as raised:
        list(store.read_parts(directory))
    assert "\n" not in str(raised.value)
    return str(raised.value)


def a_file(directory: Path, table: str = "steps") -> Path:
    return next(iter(sorted(directory.glob(f"*.{table}.parquet"))))


# --- Writing and reading ---


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    directory = written(tmp_path / "trace", a_part(2), a_part(0))
    manifest = store.read_manifest(directory)
    assert manifest.campaign == CAMPAIGN
    assert [part.first_run for part in manifest.parts] == [0, 2]
    for part, expected in zip(store.read_parts(directory), (a_part(0), a_part(2)), strict=True):
        assert part == expected


def test_the_order_of_writing_does_not_matter(tmp_path: Path) -> None:
    one, two = written(tmp_path / "1", a_part(0), a_part(2)), tmp_path / "2"
    written(two, a_part(2), a_part(0))
    for path in one.glob("[!.]*"):
        assert path.read_bytes() == (two / path.name).read_bytes()


def test_writers_at_once_all_arrive(tmp_path: Path) -> None:
    store.begin_trace(tmp_path, CAMPAIGN)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda first: store.write_part(tmp_path, a_part(first)), range(0, 16, 2)))
    assert [part.first_run for part in store.read_parts(tmp_path)] == list(range(0, 16, 2))


def test_a_part_written_twice_is_there_once(tmp_path: Path) -> None:
    directory = written(tmp_path, a_part(), a_part())
    assert len(store.read_manifest(directory).parts) == 1


def test_overlapping_parts_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    directory = written(tmp_path, a_part(0, 2))
    with pytest.raises(TraceError, match="overlaps"):
        store.write_part(directory, a_part(1, 2))
    assert len(list(directory.glob("*.parquet"))) == len(schema.TABLES)


def test_a_trace_is_taken_up_again_only_by_its_campaign(tmp_path: Path) -> None:
    directory = written(tmp_path)
    assert len(store.begin_trace(directory, CAMPAIGN).parts) == 1
    with pytest.raises(TraceError, match="another campaign"):
        store.begin_trace(directory, Campaign(scenario="quorum", seed=8, runs=4))


def test_a_part_needs_a_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        store.write_part(tmp_path, a_part())
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize("failing", range(1, 6))
def test_no_space_left_is_one_line_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The n-th file (the fifth is the manifest) does not fit; what was there before stays."""
    directory = written(tmp_path, a_part(0))
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    calls = []
    fsync = os.fsync

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TraceError, match="no space left"):
        store.write_part(directory, a_part(2))
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_files_without_a_manifest_entry_are_no_part(tmp_path: Path) -> None:
    directory = written(tmp_path)
    pq.write_table(a_part(2).tables["runs"], directory / "part-000000002-000002.runs.parquet")
    assert [part.first_run for part in store.read_parts(directory)] == [0]


# --- Damage ---


def test_a_missing_manifest_is_refused(tmp_path: Path) -> None:
    assert "manifest.json: no such file" in refusal(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"schema_version": 4}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / store.MANIFEST).write_text(text)
    assert "manifest.json: damaged" in refusal(tmp_path)


@pytest.mark.parametrize("version", [0, 3, "1", None])
def test_another_schema_version_is_refused(tmp_path: Path, version: Any) -> None:
    path = written(tmp_path) / store.MANIFEST
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"schema_version": version}))
    assert f"schema version {version}, this kraftcheck reads 4" in refusal(tmp_path)


def test_a_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """The file is whole, and the manifest fits it."""
    part = a_part()
    runs = part.tables["runs"]
    bad = pa.array([b"\x9d"] * len(runs), pa.binary()).view(pa.string())
    runs = runs.set_column(runs.column_names.index("verdict"), runs.schema.field("verdict"), bad)
    directory = written(tmp_path, part._replace(tables={**part.tables, "runs": runs}))
    assert "corrupt Parquet file" in refusal(directory)


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = a_file(written(tmp_path))
    path.write_bytes(path.read_bytes()[:keep])
    assert f"{path.name}: damaged: sha256 is" in refusal(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = a_file(written(tmp_path))
    path.unlink()
    assert f"{path.name}: no such file" in refusal(tmp_path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    """Readable, but not what was written."""
    path = a_file(written(tmp_path))
    path.write_bytes(store.parquet_bytes(a_part(2).tables["steps"]))
    assert "sha256" in refusal(tmp_path)


def test_each_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = a_file(written(tmp_path))
    data = path.read_bytes()
    for at in range(0, len(data), 97):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert path.name in refusal(tmp_path)


def test_another_column_type_is_refused(tmp_path: Path) -> None:
    part = a_part()
    steps = part.tables["steps"]
    at = steps.schema.get_field_index("count")
    changed = steps.set_column(at, "count", steps["count"].cast(pa.int32()))
    directory = written(tmp_path, part._replace(tables=part.tables | {"steps": changed}))
    assert "column 'count' is int32, not int64" in refusal(directory)


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    part = a_part()
    changed = part.tables["rows"].append_column("more", pa.array([1, 2]))
    directory = written(tmp_path, part._replace(tables=part.tables | {"rows": changed}))
    assert "unknown column 'more'" in refusal(directory)


DAMAGE = [
    ("steps", "action", ["HandleMagic", "HandleVoteRequest"], "HandleMagic of an input of type"),
    ("steps", "action", ["HandleFlush", "HandleVoteRequest"], "of an input of type ElectionTime"),
    ("steps", "before", [0, 2], "steps.before has id 2, out of range for rows"),
    ("steps", "after", [-1, 0], "steps.after has id -1, out of range for rows"),
    ("steps", "input", [0, 9], "steps.input has id 9, out of range for inputs"),
    ("steps", "sent", [[2], []], "steps.sent has id 2, out of range for inputs"),
    ("steps", "id", [0, 2], "steps.id does not run from 0 to 1"),
    ("rows", "part", [0, 4], "rows.part is not 0"),
    ("runs", "steps", [[0, 1], [0, 2]], "runs.steps has id 2, out of range for steps"),
    ("runs", "times", [[1, 2], [1]], "run 1 has 2 steps and 1 times"),
    ("runs", "run", [0, 5], "runs.run does not run from 0 to 1"),
    ("runs", "history", [[], [operation(op="read")]], "unknown op 'read'"),
    ("runs", "history", [[], [operation(outcome="maybe")]], "unknown outcome 'maybe'"),
]


@pytest.mark.parametrize(("table", "column", "values", "message"), DAMAGE)
def test_a_part_that_contradicts_itself_is_refused(
    tmp_path: Path, table: str, column: str, values: Any, message: str
) -> None:
    """Its bytes are those of the manifest: whoever wrote it was wrong."""
    assert schema.problem_of(a_part()) is None
    assert message in refusal(written(tmp_path, with_column(a_part(), table, column, values)))


def test_equal_tables_have_equal_digests() -> None:
    assert a_part().digests() == a_part().digests()
    assert a_part().digests()["runs"] != a_part(2).digests()["runs"]


# -- More runs, and fewer parts


def test_a_trace_is_extended_and_never_cut(tmp_path: Path) -> None:
    written(tmp_path, a_part())
    parts = store.read_manifest(tmp_path).parts
    longer = store.extend_trace(tmp_path, 9)
    assert longer.campaign.runs == 9 and longer.parts == parts
    assert store.read_manifest(tmp_path) == longer
    with pytest.raises(TraceError, match="is a campaign of 9 runs; it cannot be made 8"):
        store.extend_trace(tmp_path, 8)


def test_a_dropped_part_leaves_no_file(tmp_path: Path) -> None:
    written(tmp_path, a_part(), a_part(2))
    first, second = store.read_manifest(tmp_path).parts
    store.drop_parts(tmp_path, [first.stem])
    assert store.read_manifest(tmp_path).parts == (second,)
    assert not list(tmp_path.glob(f"{first.stem}.*"))
    assert [part.first_run for part in store.read_parts(tmp_path)] == [2]
