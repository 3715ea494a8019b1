"""`kraftcheck prove`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck import exits, prove
from kraftcheck.cli import cli
from kraftcheck.known_bugs.own_rules import read_rules
from kraftcheck.reference.partition.proof import proof as partition_proof
from kraftcheck.reference.proofs.obligations import Obligation
from kraftcheck.reference.quorum.messages import Crash
from kraftcheck.reference.quorum.proof import completeness_proof, election
from kraftcheck.reference.quorum.voters.proof import any_set
from kraftcheck.verbs import models
from tests.reference.bugs.files import rules_file

TWO = ("Init", "HandleSendReplicaFetch")


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["prove", "--jobs", "1", *args])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only two obligations of the partition."""
    full = partition_proof.partition_obligations
    monkeypatch.setattr(
        partition_proof,
        "partition_obligations",
        lambda given: [name for name in full(given) if name in TWO],
    )


def test_the_choice_is_what_can_be_proved() -> None:
    assert tuple(prove.PROPERTIES) == models.PROVED


@pytest.mark.usefixtures("few")
def test_each_obligation_is_printed_and_written(tmp_path: Path) -> None:
    out = tmp_path / "proof"
    done = run("--property", "LeaderCandidateCompleteness", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "partition: HandleSendReplicaFetch" in done.output
    assert "2 of 2 obligations proved for 3 nodes" in done.output
    written = json.loads((out / prove.PROOF).read_text("utf-8"))
    assert [(o["part"], o["name"], o["status"]) for o in written["obligations"]] == [
        ("partition", name, "proved") for name in TWO
    ]


@pytest.mark.usefixtures("few")
def test_who_interrupts_is_told_what_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    one = prove._one
    asked: list[prove.Task] = []

    def until_the_second(task: prove.Task) -> Obligation:
        asked.append(task)
        if len(asked) == 2:
            raise exits.Interrupted(exits.INTERRUPTED)
        return one(task)

    monkeypatch.setattr(prove, "_one", until_the_second)
    done = run("--property", "LeaderCandidateCompleteness")
    assert done.exit_code == exits.INTERRUPTED
    assert "interrupted: 1 of 2 obligations were proved by then" in done.output


@pytest.mark.slow
def test_what_is_proved_of_logs_is_proved_with_what_it_assumes_of_elections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (election, completeness_proof):
        monkeypatch.setattr(module, "HANDLERS", {Crash: "HandleCrash"})
    monkeypatch.setattr(any_set, "NAMES", ())
    done = run("--property", "LeaderCompleteness")
    assert done.exit_code == 0, done.output
    told = [line.split(maxsplit=2)[1] for line in done.output.splitlines() if ": " in line]
    assert told.count("HandleCrash") == 1 and told.count("logs:") == 3
    assert "quorum: logs: the invariant implies LeaderCompleteness" in done.output
    assert "implies ElectionSafety" not in done.output


@pytest.mark.slow
def test_a_property_of_two_protocols_is_proved_of_both_and_of_one_for_its_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (election, completeness_proof):
        monkeypatch.setattr(module, "HANDLERS", {Crash: "HandleCrash"})
    monkeypatch.setattr(any_set, "NAMES", (any_set.BOOTSTRAP,))
    both = run("--property", "ElectionSafety", "--nodes", "2")
    assert both.exit_code == 0, both.output
    assert "quorum: HandleCrash" in both.output and "voters: HandleAddVoter" in both.output
    one = run("--bug", "Z19", "--property", "ElectionSafety")
    assert one.exit_code == 1 and "quorum:" not in one.output
    assert "OneChangeAtATime" in one.output and "appends [" in one.output


def test_a_bug_fails_with_the_state_and_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        partition_proof, "partition_obligations", lambda given: ["HandleSendAlterPartition"]
    )
    done = run("--bug", "Z36")
    assert done.exit_code == 1
    assert "Form of 0" in done.output and "watched: epoch" in done.output
    assert "an obligation that fails is no counterexample" in done.output


def test_nothing_is_proved_of_a_rule_that_no_obligation_asks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        partition_proof, "partition_obligations", lambda given: ["HandleSendAlterPartition"]
    )
    done = run("--bug", "Z48", "--out", str(tmp_path))
    assert done.exit_code == 2
    never = "no obligation asks list_offsets_error: nothing is said of the change"
    assert f"unknown: {never}" in done.output
    assert json.loads((tmp_path / "proof.json").read_text())["never_met"] == never


def test_rules_of_ones_own_fail_as_a_bug_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        partition_proof, "partition_obligations", lambda given: ["HandleSendAlterPartition"]
    )
    file = rules_file("Z36", tmp_path)
    done = run("--rules", str(file))
    assert done.exit_code == 1 and "watched: epoch" in done.output
    both = run("--rules", str(file), "--bug", "Z36")
    assert both.exit_code == 3 and "and not both" in both.output


@pytest.mark.slow
def test_processes_are_told_rules_of_ones_own(tmp_path: Path) -> None:
    file = rules_file("Z36", tmp_path)
    own = read_rules(file).replacement
    task = prove.Task("partition", "HandleSendAlterPartition", 3, own, 60_000)
    done = list(prove._discharged([task, task], 2, [], file))
    assert [each.status for each in done] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--rules", "nowhere.py"), "nowhere.py cannot be read"),
        (("--bug", "Z999"), "no bug 'Z999'"),
        (("--bug", "Z18"), "Z18 cannot be replayed"),
        (("--bug", "Z39"), "Z39 replaces handlers"),
        (("--bug", "Z33", "--property", "LogMatching"), "LogMatching is a property of the quorum"),
        (("--bug", "Z33", "--property", "ElectionSafety"), "a property of the quorum and voters"),
    ],
)
def test_what_cannot_be_proved_is_refused_in_one_line(args: tuple[str, ...], said: str) -> None:
    done = run(*args)
    assert done.exit_code == 3 and said in done.output
    assert "Traceback" not in done.output
