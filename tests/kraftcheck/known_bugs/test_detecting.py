"""Verdicts on bugs: found, missed, and why nothing can be said. The words must not blur."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck import exits
from kraftcheck.cli import cli
from kraftcheck.known_bugs import detecting
from kraftcheck.known_bugs.detecting import Asked, Detection, detect
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.known_bugs.runs import consult
from kraftcheck.known_bugs.witnesses import Hunt, Witness, store, stored
from kraftcheck.reference.bugs.catalog import bug as known_bug
from tla_utils import RunOptions

Runs = dict[str, dict[str, Witness]]


def detections(
    folder: Path, bug: str, *wanted: Oracle, at: Runs | None = None, **asked: object
) -> list[Detection]:
    found: list[Detection] = []
    question = Asked(oracles=wanted, out=folder / "runs", **asked)  # type: ignore[arg-type]
    known = stored() if at is None else at
    detect([known_bug(bug)], question, known, RunOptions(), found.append)
    return found


def test_a_stored_run_is_found_again_by_its_oracles(tmp_path: Path) -> None:
    one, other, third = detections(tmp_path, "Z06", "invariants", "histories", "progress")
    assert (one.verdict, other.verdict) == ("found", "found")
    assert one.said.startswith("LeaderCompleteness: ") and one.replay.startswith(
        "kraftcheck replay"
    )
    assert "promised durable-prefix" in other.said
    assert (one.code, other.code) == (exits.HOLDS, exits.HOLDS)
    # Nothing ran, so nothing is said.
    assert (third.verdict, third.code) == ("unknown", exits.UNKNOWN)
    assert third.said == "not expected; no run is stored: look for one with --runs"


@pytest.mark.tlc
def test_a_step_is_rejected(tmp_path: Path) -> None:
    (found,) = detections(tmp_path, "Z06", "steps")
    assert found.verdict == "found" and found.said.startswith("HandleVoteRequest is not allowed")


def test_a_bug_that_was_there_and_was_not_seen_is_missed(tmp_path: Path) -> None:
    # Run 0 votes without a look at the log, and nobody comes to harm.
    runs: Runs = {"Z06": {"invariants": Witness(seed=1, run=0)}}
    (found,) = detections(tmp_path, "Z06", "invariants", at=runs)
    assert (found.verdict, found.code) == ("missed", exits.VIOLATED)


def test_what_an_earlier_recording_left_is_not_believed(tmp_path: Path) -> None:
    quiet = {"loss": 0, "crashes": 0, "partitions": 0, "reordering": 0, "duplication": 0}
    verdicts = []
    for witness in (Witness(seed=1, run=4), Witness(seed=1, run=4, options=quiet)):
        (found,) = detections(tmp_path, "Z06", "invariants", at={"Z06": {"invariants": witness}})
        verdicts.append(found.verdict)
    assert verdicts[0] == "found" != verdicts[1]


def test_a_bug_that_never_answered_otherwise_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Z10 is about a sole voter, and these runs have three.
    three = Hunt(scenario="quorum", bug="Z10", options={"voters": 3})
    monkeypatch.setattr(detecting, "hunt_of", lambda entry, seed: three)
    (found,) = detections(tmp_path, "Z10", "invariants", at={}, runs=20)
    assert (found.verdict, found.code) == ("unknown", exits.UNKNOWN)
    assert "check_quorum_applies, asked" in found.said and "as the correct rule does" in found.said
    (found,) = detections(tmp_path, "Z10", "invariants", at={}, runs=1)
    assert "nobody asked check_quorum_applies in 1 run" in found.said


def test_a_bug_of_another_protocol_is_unknown(tmp_path: Path) -> None:
    (found,) = detections(tmp_path, "Z28", "invariants", scenario="quorum")
    assert (found.verdict, found.code) == ("unknown", exits.UNKNOWN)
    assert found.said == "scenario quorum never asks is_in_sync; try --scenario partition"


def test_a_cluster_asks_the_rules_of_both_protocols(tmp_path: Path) -> None:
    (found,) = detections(tmp_path, "Z06", "invariants", scenario="cluster", runs=6)
    assert found.verdict == "found" and "/Z06/cluster-seed-1-runs-6/" in found.replay
    (found,) = detections(tmp_path, "Z28", "invariants", scenario="cluster")
    assert (found.verdict, found.code) == ("unknown", exits.UNKNOWN)
    assert found.said == "no run of scenario cluster is stored: look for one with --runs"
    (found,) = detections(tmp_path, "Z54", "histories", scenario="cluster", runs=1)
    assert found.said == "it is a configuration of scenario partition, and told apart there"


def test_a_bug_that_is_not_there_in_a_cluster_is_unknown(tmp_path: Path) -> None:
    # The quorums of clusters have three voters or more.
    (found,) = detections(tmp_path, "Z10", "invariants", scenario="cluster", runs=1)
    assert (found.verdict, found.code) == ("unknown", exits.UNKNOWN)
    assert found.said.startswith("the bug was never there: nobody asked check_quorum_applies")
    # In this run a broker's rule answered otherwise, and no oracle that was asked has seen it.
    whole = Hunt(scenario="cluster", bug="Z41")
    assert consult(whole, [4]).effective and not consult(whole, [0]).effective


def test_a_bug_without_a_scenario_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftcheck.known_bugs.entries.MACHINES", ())
    (found,) = detections(tmp_path, "Z28", "invariants")
    assert (found.verdict, found.said) == ("unknown", "its protocol has no scenario yet")


def test_an_expected_oracle_without_a_stored_run_is_unknown(tmp_path: Path) -> None:
    (found,) = detections(tmp_path, "Z06", "invariants", at={})
    assert found.verdict == "unknown" and "no run is stored" in found.said


def test_a_control_is_told_apart_from_a_bug(tmp_path: Path) -> None:
    (found,) = detections(tmp_path, "Z54", "histories", runs=10)
    assert (found.verdict, found.code) == ("apart", exits.HOLDS)
    assert found.said.startswith("its own promise holds; with the default configuration: ")


def test_who_cannot_tell_a_control_is_not_asked_and_nobody_is_no_answer(tmp_path: Path) -> None:
    asked = detecting.Asked(oracles=("steps", "invariants", "tlc"), out=tmp_path)
    assert detecting.wanted_of(known_bug("Z64"), asked, {}) == ("tlc",)
    words = ["bugs", "run", "Z64", "--oracle", "invariants", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == exits.BAD_INPUT and "nobody who is asked can tell" in done.output


def test_witnesses_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs: Runs = {
        "Z06": {"steps": Witness(seed=1, run=3, options={"loss": 9})},
        "Z01": {"steps": Witness(seed=2, run=0)},
    }
    store(runs, tmp_path / "w.json")
    assert stored(tmp_path / "w.json") == runs
    (tmp_path / "w.json").write_text("{")
    with pytest.raises(exits.BadInput, match="is damaged"):
        stored(tmp_path / "w.json")


def test_only_what_is_stored_can_be_asked(tmp_path: Path) -> None:
    runs: Runs = {"Z06": {"invariants": Witness(seed=1, run=4)}}
    asked = detecting.Asked(only_stored=True, out=tmp_path)
    assert detecting.wanted_of(known_bug("Z06"), asked, runs) == ("tlc", "invariants")
    assert detecting.wanted_of(known_bug("Z54"), asked, {}) == ("histories",)
    # Z24 has a model of its own with the overlay of Z23; Z36 has none.
    assert detecting.wanted_of(known_bug("Z24"), asked, {}) == ("tlc",)
    assert detecting.wanted_of(known_bug("Z36"), asked, {}) == ()
    everything = detecting.Asked(out=tmp_path)
    assert len(detecting.wanted_of(known_bug("Z06"), everything, {})) == 4
