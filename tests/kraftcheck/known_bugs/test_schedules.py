"""Stored schedules: each does the harm that it says, and the correct protocol does none."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import schedules
from kraftcheck.known_bugs.detecting import Asked, Detection, detect
from kraftcheck.known_bugs.oracles import KINDS, Oracle
from kraftcheck.known_bugs.retelling import told
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED, Witness, stored
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.steered.scripts import Script, write
from tests.mutation.specs.batteries import SCHEDULES
from tla_utils import RunOptions

NAMES = sorted(path.name for path in schedules.FOLDER.glob("*.moves"))
CORRECT = {name for names in SCHEDULES.values() for name in names}
USED = {
    (bug, oracle): witness.schedule
    for bug, found in stored().items()
    for oracle, witness in found.items()
    if witness.schedule
}


def detected(folder: Path, bug: str, oracle: Oracle, name: str) -> Detection:
    found: list[Detection] = []
    runs: dict[str, dict[str, Witness]] = {bug: {oracle: Witness(seed=0, run=0, schedule=name)}}
    asked = Asked(oracles=(oracle,), out=folder)
    detect([known_bug(bug)], asked, runs, RunOptions(), found.append)
    return found[0]


def test_every_schedule_is_used() -> None:
    assert {*USED.values(), *CORRECT} == set(NAMES)
    assert {schedules.stored(name).bug for name in CORRECT} == {None}
    for (bug, _), name in USED.items():
        assert name.startswith(bug) and schedules.stored(name).bug == bug


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_does_what_it_says_and_only_with_its_bug(name: str) -> None:
    script = schedules.stored(name)
    failure = schedules.made(script, WATCHED, script.bug).failure
    assert (failure.name if failure else "") == script.violates
    kinds = {KINDS[oracle] for (_, oracle), used in USED.items() if used == name}
    for kind in kinds:
        assert schedules.made(script, kind, None).failure is None
    if UNWATCHED in kinds:
        failure = schedules.made(script, UNWATCHED, script.bug).failure
        # Where a quorum does not even come back to work, nobody judges what its clients saw here.
        assert failure is not None and failure.name.startswith(("promise: ", "no progress: "))


def test_a_bug_is_found_in_its_schedule_and_told(tmp_path: Path) -> None:
    found = detected(tmp_path, "Z38", "histories", "Z38.moves")
    assert found.verdict == "found" and "offset 0 has the values 1 and 2" in found.said
    lines = list(told(found, tmp_path / "out"))
    assert any("ConsumerFetch" in line or "ProduceRequest" in line for line in lines)
    assert lines[-1].startswith("timeline   ")
    again = detected(tmp_path, "Z38", "invariants", "Z38.moves")
    assert again.verdict == "found" and again.said.startswith("StrongIsr: ")


def kept(folder: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "planted.moves").write_text(write(script))
    monkeypatch.setattr(schedules.stored, "__defaults__", (folder,))
    return "planted.moves"


def test_a_schedule_that_does_no_harm_is_missed_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = schedules.stored("Z38.moves")
    # Up to the proposal that is accepted, and before anybody is hurt; then nearly nothing.
    accepted = next(at for at, words in enumerate(script.moves) if "isr=0@0,0@1,0@2" in words)
    harmless = replace(script, moves=script.moves[: accepted + 1])
    name = kept(tmp_path, harmless, monkeypatch)
    assert detected(tmp_path / "a", "Z38", "histories", name).verdict == "missed"
    name = kept(tmp_path, replace(script, moves=script.moves[:3]), monkeypatch)
    found = detected(tmp_path / "b", "Z38", "histories", name)
    assert (found.verdict, found.code) == ("unknown", exits.UNKNOWN)
    assert found.said == "the bug was never there: the correct protocol does the same"


def test_a_schedule_that_cannot_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = schedules.stored("Z38.moves")
    name = kept(tmp_path, replace(script, moves=("broker 7 sings",)), monkeypatch)
    with pytest.raises(BadInput, match=r"move 1: 'broker 7 sings' is not possible"):
        detected(tmp_path / "a", "Z38", "histories", name)
    (tmp_path / name).write_text("no moves")
    with pytest.raises(BadInput, match=r"planted\.moves: line 1: no moves"):
        schedules.stored(name)
    with pytest.raises(BadInput, match="No such file"):
        schedules.stored("absent.moves")
