"""Step traces of other implementations on the command line: several of them, what was met, replay.

TLC judges each trace once; what is done with its verdict is asked of these few judgements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck import foreign
from kraftcheck.cli import cli
from kraftcheck.decisions import Asked, asked_of, deciding, decisions_of
from kraftcheck.foreign import traces_in
from kraftcheck.screen import Screen
from kraftcheck.traces.foreign.provenance import Senders, chained, never_taken, provenanced
from kraftcheck.traces.foreign.reading import read_foreign
from kraftcheck.traces.jobs.backends import Pool, Spark
from tla_utils import steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "examples/foreign"


def asked(*words: str | int | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.slow
def test_a_folder_and_several_files_are_judged_together(tmp_path: Path) -> None:
    for name in ("voter", "voter-bug"):
        (tmp_path / f"{name}.jsonl").write_bytes((FOREIGN / f"{name}.jsonl").read_bytes())
    (tmp_path / "notes.jsonl").write_text('{"no": "steps"}\n')
    done = asked("conform", tmp_path, "--html", tmp_path / "pages", "--json")
    traces = json.loads(done.stdout)["traces"]
    assert [each["verdict"] for each in traces] == ["violated", "holds"] and done.exit_code == 1
    assert len([*(tmp_path / "pages").glob("*.html")]) == 2
    assert [path.name for path in traces_in(tmp_path)] == ["voter-bug.jsonl", "voter.jsonl"]


def test_several_campaigns_are_refused(tmp_path: Path) -> None:
    done = asked("conform", tmp_path, tmp_path)
    assert done.exit_code == 3 and "several paths are for steps" in done.stderr


def test_a_refused_step_is_told_with_its_rules_and_equal_causes_together() -> None:
    done = asked("conform", FOREIGN / "voter-bug.jsonl")
    told = done.stdout
    assert "line 5, HandleRestart of node 1, and 2 more for the same cause (lines 13, 43)" in told
    assert told.count("rejected: ") == 1
    assert "by Step_HandleRestart (QuorumHandlers.tla:" in told
    assert "PersistedQuorumState (Q2, Q7, QuorumRules.tla:" in told
    assert "23 of 37 were evaluated" in told and "ElectionWon (Q8)" in told
    assert "FollowerGrantsPreVote TRUE" in told


@pytest.mark.slow
def test_replay_tells_a_trace_line_by_line() -> None:
    done = asked("replay", FOREIGN / "voter-bug.jsonl")
    lines = done.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("     5   1  Restart"))
    assert "voted 3 -> -1" in lines[at + 1] and lines[at + 2].strip().startswith("!! not allowed")
    assert done.exit_code == 1
    assert asked("replay", FOREIGN / "voter.jsonl", "--run", 7).exit_code == 3


@pytest.mark.slow
def test_replay_tells_what_stands_in_a_field_in_words() -> None:
    told = asked("replay", FOREIGN / "broker-bug.jsonl").stdout
    assert "|->" not in told
    assert "partition=(elr={} isr={1, 2} leader=1 leaderEpoch=1 partitionEpoch=1)" in told
    assert "fetching {} -> {ReplicaFetchRequest brokerEpoch=0 destination=1 epoch=1" in told


@pytest.mark.parametrize("name", ["voter", "broker"])
def test_the_reference_takes_every_step_that_the_spec_allows(name: str) -> None:
    """What it asks there is what the implementation had to ask."""
    found = asked_of(read_foreign(FOREIGN / f"{name}.jsonl"))
    assert found is not None and found.not_taken == 0 and found.answers


def test_a_decision_that_no_step_came_to_is_not_counted_as_met() -> None:
    """The planted fault: without the lines that ask it, an answer is missing."""
    trace = read_foreign(FOREIGN / "voter.jsonl")
    every, few = Asked(trace.constants), Asked(trace.constants)
    for step in trace.steps:
        every.step(step)
        if step.action != "HandleVoteRequest":
            few.step(step)
    whole = {each.rule: each for each in decisions_of(trace.constants, every)}
    part = {each.rule: each for each in decisions_of(trace.constants, few)}
    assert whole["vote_granted"].answers.keys() == {"TRUE", "FALSE"}
    assert part["vote_granted"].asked == 0 and part["vote_granted"].never == ["TRUE", "FALSE"]


def test_of_partial_rows_nothing_is_claimed() -> None:
    trace = read_foreign(FOREIGN / "voter-partial.jsonl")
    assert asked_of(trace) is None
    (said,) = deciding(trace, {trace.steps[0].line}).values()
    assert len(said) == 1 and said[0].startswith("Step_HandleVoteRequest (QuorumHandlers.tla:")


def told(path: Path) -> list[str]:
    """What checks on whole runs say of a trace; of these nothing need be asked of TLC."""
    trace = read_foreign(path)
    senders = Senders(trace)
    return [each.explanation for each in (*provenanced(trace, senders), *chained(trace))]


def test_a_missing_line_is_told_as_that(tmp_path: Path) -> None:
    lines = (FOREIGN / "broker.jsonl").read_text().splitlines()
    path = tmp_path / "missing.jsonl"
    path.write_text("\n".join(lines[:9] + lines[10:]))
    said = "\n".join(told(path))
    assert "a line of node 1 is missing between lines 8 and 11" in said
    assert "highWatermark (0, then 1)" in said and told(FOREIGN / "broker.jsonl") == []


def test_of_partial_rows_a_message_that_no_line_takes_is_named(tmp_path: Path) -> None:
    lines = (FOREIGN / "broker-partial.jsonl").read_text().splitlines()
    path = tmp_path / "missing.jsonl"
    path.write_text("\n".join(lines[:6] + lines[7:]))
    trace, whole = read_foreign(path), read_foreign(FOREIGN / "broker-partial.jsonl")
    latest = [step for step in trace.steps if step.node == 2][-1]
    (said,) = never_taken(trace, latest)
    assert said.startswith("line 6 sends it a ReplicaFetchResponse, which none of its lines takes")
    assert [each for step in whole.steps for each in never_taken(whole, step)] == []


def test_the_nearest_message_is_compared_field_by_field(tmp_path: Path) -> None:
    lines = (FOREIGN / "broker.jsonl").read_text().splitlines()
    step = json.loads(lines[6])
    assert step["input"]["type"] == "ReplicaFetchResponse"
    step["input"]["highWatermark"] += 1
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join([*lines[:6], json.dumps(step), *lines[7:]]))
    (said,) = told(path)
    assert said.endswith(
        "nearest is that of line 6: highWatermark (0, then 1) when it was received"
    )


def test_a_sender_that_sent_nothing_like_it_lacks_a_line(tmp_path: Path) -> None:
    lines = (FOREIGN / "broker.jsonl").read_text().splitlines()
    path = tmp_path / "silent.jsonl"
    kept = [line for at, line in enumerate(lines) if at == 0 or json.loads(line)["node"] != 1]
    kept.insert(1, next(line for line in lines[1:] if json.loads(line)["node"] == 1))
    path.write_text("\n".join(kept))
    assert any("a line of node 1 is missing, or has not all of it" in each for each in told(path))


def several(folder: Path, files: int, wrong: Sequence[int]) -> Path:
    """A folder of traces; those with these numbers have a step that is not allowed."""
    folder.mkdir()
    lines = (FOREIGN / "voter.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(files):
        own = lines[:40]
        if number in wrong:
            own[20] = re.sub(rb'"ignored": ?"[^"]*"', b'"ignored":"Nonsense"', own[20])
        (folder / f"{number:04}.jsonl").write_bytes(b"".join(own))
    return folder


def documents(done: Result) -> list[dict[str, Any]]:
    """Without what TLC took."""
    found: list[dict[str, Any]] = json.loads(done.stdout)["traces"]
    return [{**each, "cpu_seconds": 0} for each in found]


@pytest.mark.tlc
@pytest.mark.slow
def test_workers_find_planted_steps_with_file_and_line(tmp_path: Path) -> None:
    folder = several(tmp_path / "steps", 5, (1, 3))
    done = asked("conform", folder, "--backend", "pool", "--json", "--quiet")
    found = documents(done)
    wrong = [Path(each["file"]).stem for each in found if each["verdict"] == "violated"]
    assert wrong == ["0001", "0003"] and done.exit_code == 1
    assert {r["line"] for each in found for r in each["rejections"]} == {21}
    single = json.loads(asked("conform", folder / "0003.jsonl", "--json", "--quiet").stdout)
    assert {**single, "cpu_seconds": 0} == found[3]


@pytest.mark.tlc
@pytest.mark.slow
def test_spark_says_of_files_what_the_pool_says(spark: SparkSession, tmp_path: Path) -> None:
    paths = sorted(several(tmp_path / "steps", 3, (2,)).glob("*.jsonl"))
    screen = Screen(quiet=True, results=False)
    by_spark = foreign._judged_by(Spark(spark), paths, None, screen)
    by_pool = foreign._judged_by(Pool(processes=1), paths, None, screen)
    plain = [[{**foreign.document(e), "cpu_seconds": 0} for e in by] for by in (by_spark, by_pool)]
    assert plain[0] == plain[1] and plain[0][2]["rejections"][0]["line"] == 21


@pytest.mark.tlc
@pytest.mark.slow
def test_a_damaged_file_among_many_is_named(tmp_path: Path) -> None:
    folder = several(tmp_path / "steps", 3, ())
    with open(folder / "0001.jsonl", "ab") as file:
        file.write(b'{"run": 0}\n')
    done = asked("conform", folder, "--backend", "pool", "--quiet")
    assert done.exit_code == 3 and "0001.jsonl:41: " in done.stderr


@pytest.mark.slow
@pytest.mark.tlc
def test_a_tlc_without_the_class_for_values_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "JAR", tmp_path / "none.jar")
    done = asked("conform", FOREIGN / "voter.jsonl", "--quiet")
    assert done.exit_code == 0
    said = "TLC was given steps as text: this TLC did not load the class StepValues"
    assert said in done.stdout
