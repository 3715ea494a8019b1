"""Folders and summaries: whose they are, whole or not at all, merged part by part."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck import artifacts
from kraftcheck.artifacts import Part, claim, merge, merged_summary, read_json, write_whole
from kraftcheck.cli import cli
from kraftcheck.exits import BadInput


def test_a_new_and_an_own_folder_are_taken(tmp_path: Path) -> None:
    folder = claim(tmp_path / "deep" / "new")
    # Ours from now on: whatever is interrupted may be begun again.
    (folder / "tlc").mkdir()
    assert claim(folder) == folder
    (folder / ".kraftcheck").unlink()
    (folder / "summary.json").write_text("{}")
    assert claim(folder) == folder


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(BadInput, match=r"holds thesis.tex, which is not ours"):
        claim(tmp_path)
    with pytest.raises(BadInput, match="is a file; name a folder"):
        claim(tmp_path / "thesis.tex")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        claim(tmp_path)


def test_two_that_write_runs_to_one_folder_are_one_too_many(tmp_path: Path) -> None:
    command = ["simulate", "--runs", "1", "--seed", "1", "--out", str(tmp_path), "--quiet"]
    with artifacts.alone(artifacts.claim(tmp_path)):
        refused = CliRunner().invoke(cli, command)
        asked = ["campaign", "run", "--scenario", "quorum", "--runs", "1", "--out", str(tmp_path)]
        also = CliRunner().invoke(cli, asked)
    for each in (refused, also):
        assert each.exit_code == 3 and each.stderr.count("\n") == 1
        assert f"{tmp_path}: another command is writing runs there" in each.stderr
    assert CliRunner().invoke(cli, command).exit_code == 0


def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_whole(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as raised:
        write_whole(path, "new")
    assert raised.value.filename == str(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    assert read_json(path) == {}
    for text in ('{"runs": 3', "[1]", "\xff", '{"runs": 3}'):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(BadInput, match=r"summary.json: damaged, .* remove it"):
            read_json(path)
    artifacts.write_sealed(path, {"runs": 3})
    assert read_json(path) == {"runs": 3}


SIMULATED = Part("simulate", "violated", 1.5, ["a"], facts={"runs": 3, "steps": 9}, seeds={"q": 1})
CONFORMED = Part("conform", "holds", 2.0, facts={"distinct_steps": 4}, stages={"judge": 1.9})


def test_parts_are_merged(tmp_path: Path) -> None:
    merge(tmp_path, SIMULATED)
    merge(tmp_path, CONFORMED)
    merge(tmp_path, Part("spec", "unknown", 3.0, ["b", "a"], versions={"TLC": "2.15"}))
    found = json.loads((tmp_path / "summary.json").read_text())
    assert (found["runs"], found["steps"], found["distinct_steps"]) == (3, 9, 4)
    assert (found["verdict"], found["reasons"]) == ("violated", ["a", "b"])
    assert found["seconds"] == {"simulate": 1.5, "judge": 1.9, "spec": 3.0}
    assert found["seeds"] == {"q": 1} and found["versions"]["TLC"] == "2.15"
    assert {name: part["verdict"] for name, part in found["parts"].items()} == {
        "simulate": "violated",
        "conform": "holds",
        "spec": "unknown",
    }
    mended = merge(tmp_path, Part("simulate", "holds", 1.0))
    assert (mended["verdict"], mended["reasons"]) == ("unknown", ["b", "a"])
    # Nothing but the summary and its lock remains.
    assert sorted(os.listdir(tmp_path)) == [".lock", "summary.json"]


def test_an_unknown_part_is_not_outvoted() -> None:
    unknown = merged_summary({}, Part("spec", "unknown", 1.0))
    assert merged_summary(unknown, CONFORMED)["verdict"] == "unknown"


def test_what_is_outdated_goes_with_its_facts(tmp_path: Path) -> None:
    merge(tmp_path, Part("spec", "holds", 3.0, versions={"TLC": "2.15"}))
    merge(tmp_path, CONFORMED)
    again = merge(tmp_path, SIMULATED, outdated=["conform"])
    assert set(again["parts"]) == {"spec", "simulate"}
    assert "distinct_steps" not in again and again["versions"]["TLC"] == "2.15"


def test_the_version_is_a_number() -> None:
    assert artifacts.version()[0].isdigit()
