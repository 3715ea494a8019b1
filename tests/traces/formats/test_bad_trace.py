"""Damaged traces of ours: read, or refused in one line that any terminal can show."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.traces import store
from kraftcheck.traces.formats import trace
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.store import Campaign, PartEntry


def begun(folder: Path) -> Path:
    store.begin_trace(folder, Campaign(scenario="quorum", seed=1, runs=1))
    return folder / store.MANIFEST


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"schema_version": 2, "\x9d": 1}', id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"1e999999", id="number"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, data: bytes) -> None:
    begun(tmp_path).write_bytes(data)
    with pytest.raises(HistoryError, match="damaged") as refused:
        list(trace.histories(tmp_path))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("stem", ["../part", "a/b", "", "part\x00", "part\n", "x" * 61])
def test_parts_lie_in_the_folder_of_their_trace(tmp_path: Path, stem: str) -> None:
    manifest = begun(tmp_path)
    said = store.read_manifest(tmp_path)
    part = PartEntry(stem, 0, 1, {})
    fields = {"schema_version": said.schema_version, "campaign": said.campaign, "parts": (part,)}
    manifest.write_bytes(
        store._manifest_bytes(
            store.Manifest(kraftcheck_version="1", **fields)  # type: ignore[arg-type]
        )
    )
    with pytest.raises(TraceError, match="damaged"):
        store.read_manifest(tmp_path)


def test_what_a_file_says_does_not_reach_the_terminal() -> None:
    assert str(TraceError("x: \x1b[2J\x07\nforged: fine")) == "x: \ufffd[2J\ufffd forged: fine"
