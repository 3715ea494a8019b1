"""What `try` reaches: handlers, storage, protocols that ask a class, and how it tells of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_overlay import is_instantiated, models_for, read_overlay
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.known_bugs.own_runs import scenarios_of
from kraftcheck.reference.clients.producer import Producer, ProducerConfig
from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.partition.messages import CLIENTS, ProduceResponse
from kraftcheck.reference.runner.run import simulate_part

ROOT = Path(__file__).resolve().parents[3]


class Kept(ProducerRules):
    def first_sequence(self, next_sequence: int) -> int:
        return next_sequence


VOTE = """
from kraftcheck.reference.quorum.rules import QuorumRules
class Mine(QuorumRules):
    def log_ok(self, row, m):
        return True
"""
RETENTION = """
from kraftcheck.reference.storage.rules import StorageRules
class Mine(StorageRules):
    def retention_bound(self, high_watermark, end):
        return end
"""
HANDLER = """
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
class Mine(CoordinatorHandlers):
    def handle_group_session_timeout(self, row, input):
        return None
"""
CLIENT = """
from kraftcheck.reference.transactions.client import ClientHandlers
class Mine(ClientHandlers):
    def handle_produced(self, c, row, m):
        return None
"""
OVERLAY = "---- MODULE Vote ----\nEXTENDS QuorumRules\nMine_LogOk(row, m) == TRUE\n====\n"


def asked(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def own(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "scenarios"),
    [
        (VOTE, {"quorum", "voters", "snapshots", "quorum41"}),
        (HANDLER, {"groups", "commits"}),
        (CLIENT, {"transactions"}),
        (RETENTION, {"storage"}),
    ],
)
def test_a_change_runs_where_its_class_is_asked(
    text: str, scenarios: set[str], tmp_path: Path
) -> None:
    found = scenarios_of(read_rules(own(tmp_path, text)))
    assert set(found) == scenarios


def test_a_change_of_storage_is_broken_by_crashes_and_ends_at_once(tmp_path: Path) -> None:
    rules = own(tmp_path, RETENTION)
    shown = asked("try", "--rules", rules, "--runs", 30, "--fail-fast", "--out", tmp_path / "out")
    assert shown.exit_code == 1, shown.output
    assert shown.stdout.startswith("verdict  broken\n         HwWithinLog (crashes)\n")
    assert "violated: HwWithinLog (crashes, first in history" in shown.stderr
    found = json.loads((tmp_path / "out" / "tried.json").read_text("utf-8"))["runs"]
    assert found["runs"] < 30 and found["differed"]["retention_bound"]
    first = found["broken"][0]["run"]
    assert "crash after" in (tmp_path / "out" / f"crashes-run-{first}.txt").read_text("utf-8")


def test_storage_that_decides_otherwise_and_breaks_nothing_is_not_called_alike(
    tmp_path: Path,
) -> None:
    """No specification judges its steps; Z142 takes more histories than these."""
    text = RETENTION.replace(
        "retention_bound(self, high_watermark, end)", "marker_goes_first(self)"
    )
    rules = own(tmp_path, text.replace("return end", "return False"))
    shown = asked("try", "--rules", rules, "--runs", 2, "--out", tmp_path / "out")
    assert shown.exit_code == 2 and "does not find Z142" in shown.stdout, shown.output


def test_runs_with_rules_of_ones_own_are_recorded_and_replayed(tmp_path: Path) -> None:
    rules, out = own(tmp_path, VOTE), tmp_path / "runs"
    recorded = asked("simulate", "--rules", rules, "--runs", 10, "--out", out)
    assert recorded.exit_code == 1 and "LeaderCompleteness" in recorded.stdout, recorded.output
    without = asked("replay", out, "--run", 4)
    assert without.exit_code == 3 and "name their file, --rules" in without.stderr
    told = asked("replay", out, "--run", 4, "--rules", rules)
    assert told.exit_code == 0 and "LeaderCompleteness" in told.stdout, told.output


def test_batches_that_are_numbered_anew_are_written_twice() -> None:
    """As librdkafka does, in a run of the tutorial's campaign."""
    options = {"idempotence": True, "acks": "all"}
    with known(read_rules(ROOT / "examples/try/renumber_batches.py")) as entry:
        part = simulate_part("cluster", 1, 34, 1, entry.id, options)
    [violations] = part.tables["runs"]["violations"].to_pylist()
    assert {each["invariant"] for each in violations} == {"NoDuplicate"}
    [violations] = (
        simulate_part("cluster", 1, 34, 1, None, options).tables["runs"]["violations"].to_pylist()
    )
    assert violations == []


def test_sequences_that_go_on_in_a_new_epoch_are_refused() -> None:
    """KAFKA-12152: of a partition that had nothing in flight when another one had a gap."""
    producer = Producer(ProducerConfig(client=7, batch_records=1, linger=0), 7, Kept())
    correct = Producer(ProducerConfig(client=7, batch_records=1, linger=0), 7)
    for each, sequence in ((producer, 1), (correct, 0)):
        each.send(0, 100, 0)
        [first] = each.poll(0, lambda _: 1)[0]
        assert (first.request.producer_epoch, first.request.sequence) == (0, 0)
        answer = ProduceResponse(1, CLIENTS, first.request, "NONE", 0)
        each.on_response(0, answer, 0)
        each.epoch += 1  # For the sake of another partition.
        each.send(0, 101, 1)
        [second] = each.poll(1, lambda _: 1)[0]
        assert (second.request.producer_epoch, second.request.sequence) == (1, sequence)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("try", "--scenario", "groups"), "runs of groups do not ask QuorumRules; those of quorum"),
        (("try", "--option", "no_such=1"), "no option 'no_such'"),
        (("try", "--model", "quorum-one-voter"), "--tier, --model and --bounds are of models"),
        (("simulate", "--bug", "Z06", "--runs", "1"), "--rules and --bug exclude each other"),
        (("simulate", "--scenario", "groups", "--runs", "1"), "groups never uses the rules"),
        (("storage", "crash"), "replaces nothing of the storage engine"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    place = () if words[0] == "storage" else ("--out", tmp_path / "out")
    shown = asked(*words, "--rules", own(tmp_path, VOTE), *place, "--quiet")
    assert shown.exit_code == 3 and said in shown.stderr, shown.output
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.slow
def test_models_that_instantiate_the_rules_are_taken(tmp_path: Path) -> None:
    (tmp_path / "Vote.tla").write_text(OVERLAY)
    manifest = manifest_of("quorum")
    overlay = read_overlay(tmp_path / "Vote.tla", manifest)
    found = {each.name: each for each in models_for(overlay, manifest, ["small"])}
    assert {"quorum-vote", "voters-crash", "snapshots-crash"} <= set(found)
    assert is_instantiated(overlay, manifest, found["voters-crash"])
    assert not is_instantiated(overlay, manifest, found["quorum-vote"])


@pytest.mark.slow
@pytest.mark.tlc
def test_voters_that_change_see_a_change_of_the_quorums_rules(tmp_path: Path) -> None:
    (tmp_path / "Vote.tla").write_text(OVERLAY)
    (tmp_path / "own.toml").write_text("[voters-crash]\nMaxCrashes = 1\n")
    words = ("--overlay", tmp_path / "Vote.tla", "--model", "voters-one", "--fail-fast")
    shown = asked("try", *words, "--model", "voters-crash", "--out", tmp_path / "out")
    assert shown.exit_code == 1, shown.output
    assert "LeaderCompleteness (model voters-crash)" in shown.stdout
    assert "violated: LeaderCompleteness (model voters-crash" in shown.stderr
    assert "n1: Follower, its log is" in shown.stdout
