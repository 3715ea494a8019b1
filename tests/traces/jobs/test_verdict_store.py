"""The store of TLC's verdicts: under its stamp, whole files only, never a verdict of doubt."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from kraftcheck.reference.protocols import KINDS
from kraftcheck.specs import SPECS
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps import verdict_store
from kraftcheck.traces.steps.judge import JUDGED
from kraftcheck.traces.steps.verdict_store import VerdictStore, stamp


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def keys(*numbers: int) -> pa.Array:
    return pa.array([key(number) for number in numbers], pa.binary())


def judged(*verdicts: str, first: int = 0) -> pa.Table:
    rows = [
        {
            "key": key(first + at),
            "constants": "{}",
            "action": "HandleFlush",
            "node": 0,
            "verdict": verdict,
            "reason": "no outcome" if verdict == "rejected" else None,
        }
        for at, verdict in enumerate(verdicts)
    ]
    return pa.Table.from_pylist(rows, schema=JUDGED)


def test_what_is_added_is_known_and_nothing_else(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, "a")
    assert store.known(keys(0)).num_rows == 0
    store.add("voter", judged("accepted", "rejected", "unknown"))
    store.add("voter", judged("accepted", first=7))
    known = store.known(keys(7, 2, 1, 0, 5)).to_pylist()
    assert [(row["key"], row["verdict"]) for row in known] == [
        (key(0), "accepted"),
        (key(1), "rejected"),
        (key(7), "accepted"),
    ]
    assert known[1]["reason"] == "no outcome" and known[1]["kind"] == "voter"
    assert VerdictStore(tmp_path, "b").known(keys(0, 1)).num_rows == 0


def test_the_same_batch_twice_is_one_file(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, "a")
    for _ in range(2):
        store.add("voter", judged("accepted", "accepted"))
    store.add("voter", judged("accepted"))
    store.add("voter", judged("unknown"))
    assert len(list(store.folder.iterdir())) == 2
    assert store.known(keys(0, 1)).num_rows == 2


def test_two_verdicts_on_one_step_are_refused(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, "a")
    store.add("voter", judged("accepted"))
    store.add("voter", judged("rejected"))
    with pytest.raises(TraceError, match="two verdicts on one step"):
        store.known(keys(0))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path, "a")
    store.add("voter", judged("rejected"))
    (path,) = store.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TraceError, match=rf"{path.name}: damaged: remove it"):
        store.known(keys(0))


def test_the_stamp_is_of_specs_jar_and_translation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = stamp(SPECS)
    assert here == stamp(SPECS)
    shutil.copytree(SPECS, tmp_path / "specs", ignore=shutil.ignore_patterns("models", "bugs"))
    assert stamp(tmp_path / "specs") == here
    changed = tmp_path / "specs" / "partition" / "PartitionRules.tla"
    changed.write_text(changed.read_text("utf-8") + "\n\\* changed", encoding="utf-8")
    assert stamp(tmp_path / "specs") != here
    with monkeypatch.context() as other:
        other.setattr(verdict_store, "KINDS", KINDS[:1])
        assert stamp(SPECS) != here
    monkeypatch.setattr(verdict_store, "TRANSLATION", verdict_store.TRANSLATION[:-1])
    assert stamp(SPECS) != here
