"""Rules that a change may replace, and the files to begin one with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.beginning import begin, class_name, rules
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_overlay import read_overlay
from kraftcheck.known_bugs.own_rules import read_rules
from kraftcheck.reference.bugs.bug import BASES


def asked(*words: str) -> Result:
    return CliRunner().invoke(cli, ["try", *words])


def test_all_that_may_be_replaced_is_listed() -> None:
    listed = json.loads(asked("--list-rules", "--json").output)
    assert len(listed) == sum(len(each.names) for each in BASES.values()) > 150
    vote = next(each for each in listed if each["name"] == "vote_granted")
    assert vote["operator"] == "VoteGranted" and vote["module"] == "QuorumRules"
    assert vote["said"] == "Q6, standard vote."
    told = asked("--list-rules").output
    assert "vote_granted" in told and "VoteGranted" in told and "PartitionRules:" in told


@pytest.mark.parametrize("base", BASES)
def test_what_is_not_edited_changes_nothing(base: type, tmp_path: Path) -> None:
    """So both files are whole, and say what the correct rules say."""
    found = [rule for rule in rules() if rule.base is base]
    wanted = [f"{class_name(rule)}.{rule.name}" for rule in found]
    written = begin("MyChange", wanted, tmp_path)
    assert len(written) == 1 + any(rule.operator for rule in found)
    for path in written:
        with pytest.raises(BadInput, match="changes nothing") as refused:
            if path.suffix == ".tla":
                read_overlay(path, manifest_of(found[0].protocol))
            else:
                read_rules(path)
        words = [rule.operator if path.suffix == ".tla" else rule.name for rule in found]
        assert all(word in str(refused.value) for word in words)


def test_what_is_edited_can_be_used(tmp_path: Path) -> None:
    overlay, own = begin("MyVote", ["LogOk", "vote_granted"], tmp_path)
    text = overlay.read_text("utf-8")
    assert text.count("Mine_LogOk(row, m) ==") == 1 and "Mine_VoteGranted" in text
    overlay.write_text(text.replace(">= EndOffset(row.log)", "> EndOffset(row.log)"), "utf-8")
    own.write_text(own.read_text("utf-8").replace(">= log.end", "> log.end"), "utf-8")
    assert set(read_overlay(overlay, manifest_of("quorum")).replaced) == {"LogOk", "VoteGranted"}
    assert read_rules(own).names == ("log_ok", "vote_granted")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--new", "MyVote", "--rule", "LogIsOk"), "there is no rule LogIsOk; did you mean LogOk?"),
        (("--new", "MyVote", "--rule", "xyz"), "there is no rule xyz; --list-rules has all"),
        (("--new", "MyVote"), "which rules are to change? --rule NAME"),
        (("--new", "my/vote", "--rule", "LogOk"), "my/vote: a change is named as a module"),
        (("--new", "Both", "--rule", "LogOk", "--rule", "is_active"), "rules of one class"),
        (("--new", "A", "--rule", "Truncated.log_ok"), "there is no rule Truncated.log_ok"),
        (
            ("--new", "A", "--rule", "recovered_epoch_cache"),
            "of which: QuorumRules.recovered_epoch_cache, PartitionRules.recovered_epoch_cache",
        ),
        (("--rule", "LogOk"), "--rule names what a change of --new is to replace"),
    ],
)
def test_what_cannot_be_begun_is_said(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = asked(*words)
    assert done.exit_code == 3 and said in done.output
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_there_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = asked("--new", "MyVote", "--rule", "LogOk")
    assert done.exit_code == 0
    assert "kraftcheck try --overlay MyVote.tla --rules my_vote.py" in done.output
    before = (tmp_path / "my_vote.py").read_bytes()
    (tmp_path / "MyVote.tla").unlink()
    again = asked("--new", "MyVote", "--rule", "VoteGranted")
    assert again.exit_code == 3 and "my_vote.py is there already" in again.output
    assert (tmp_path / "my_vote.py").read_bytes() == before
    assert not (tmp_path / "MyVote.tla").exists()
