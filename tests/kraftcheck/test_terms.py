"""`check` and promises: what is known of a history, from a file beside it, options, and itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.checking import recorded
from kraftcheck.cli import cli as command
from kraftcheck.reference.clients.promises import Configuration, Envelope

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"


def check(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["check", "--quiet", *map(str, arguments)])


def judged(*arguments: object) -> dict[str, Any]:
    result = check("--json", *arguments)
    assert "Traceback" not in result.stderr
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[0])
    return found


def lines(*calls: tuple[Any, ...]) -> str:
    """Completed calls one after the other: (process, verb, asked, told, more)."""
    events = []
    for process, f, asked, told, *more in calls:
        extra = more[0] if more else {}
        events.append({"process": process, "type": "invoke", "f": f, "value": asked})
        events.append({"process": process, "type": "ok", "f": f, "value": told, **extra})
    return "".join(json.dumps(each) + "\n" for each in events)


def send(process: int, value: int, offset: int) -> tuple[Any, ...]:
    return (process, "send", [["send", "t", value]], [["send", "t", [offset, value]]])


def poll(process: int, *records: list[int], **more: Any) -> tuple[Any, ...]:
    return (process, "poll", [["poll"]], [["poll", {"t": list(records)}]], more)


STALE = lines(send(0, 7, 0), poll(1, ends=[{"t": 0}]))
"""A reader is told that the log is empty after the append was acknowledged."""
LOST = lines(send(0, 7, 0), send(0, 8, 0), poll(1, [0, 8]))
TWICE = lines(send(0, 7, 0), poll(1, [0, 7], [1, 7]))
JUMPS = lines(
    *(send(0, 7, 0), send(0, 8, 1), send(0, 9, 2)),
    *(poll(1, [0, 7]), poll(2, [1, 8]), poll(1, [2, 9])),
)


def write(folder: Path, text: str, **beside: Any) -> Path:
    path = folder / "history.jsonl"
    path.write_text(text, encoding="utf-8")
    if beside:
        (folder / recorded.RECORDING).write_text(json.dumps(beside), encoding="utf-8")
    return path


# -- From options


@pytest.mark.parametrize(
    ("text", "options", "verdict", "promised"),
    [
        (STALE, [], "violated", "linearizable"),
        (STALE, ["--faults", "clean"], "holds", "durable-prefix"),
        (STALE, ["--reads", "any"], "holds", "durable-prefix"),
        (STALE, ["--reads", "follower"], "holds", "ordered-sequential"),
        (STALE, ["--acks", "1"], "holds", "ordered-sequential"),
        (STALE, ["--transactional", "--isolation", "read_committed"], "holds", None),
        (STALE, ["--isolation", "read_committed"], "violated", "linearizable"),
        (LOST, [], "violated", "linearizable"),
        (LOST, ["--faults", "clean"], "violated", "durable-prefix"),
        (LOST, ["--acks", "1"], "violated", "ordered-sequential"),
        (LOST, ["--acks", "1", "--faults", "clean"], "holds", "divergent"),
        (LOST, ["--faults", "unclean"], "holds", "nothing"),
        (LOST, ["--faults", "lossy"], "violated", "durable-prefix"),
        (LOST, ["--faults", "lossy", "--no-elr"], "holds", "nothing"),
        (LOST, ["--faults", "lossy", "--min-insync-replicas", "1"], "holds", "nothing"),
        (LOST, ["--faults", "lossy", "--min-insync-replicas", "4"], "violated", "durable-prefix"),
        (TWICE, [], "violated", "linearizable"),
        # A level that allows copies is no excuse: producers are idempotent.
        (TWICE, ["--faults", "clean"], "violated", "durable-prefix"),
        (TWICE, ["--no-idempotent"], "holds", "linearizable"),
        (JUMPS, [], "violated", "linearizable"),
        # A level that was asked for is all that is asked.
        (JUMPS, ["--level", "linearizable"], "holds", "linearizable"),
        (TWICE, ["--level", "ordered-sequential"], "holds", "ordered-sequential"),
    ],
)
def test_options_say_what_was_promised(
    text: str, options: list[str], verdict: str, promised: str | None, tmp_path: Path
) -> None:
    found = judged(write(tmp_path, text), "--no-complete", *options)
    assert (found["verdict"], found["promised"]) == (verdict, promised or found["promised"])
    assert (found["certificate"] is not None) == (verdict == "violated")
    forbidden = [each["name"] for each in found["anomalies"] if not each["allowed"]]
    assert bool(forbidden) == (verdict == "violated")


def test_the_evidence_is_of_what_is_not_allowed(tmp_path: Path) -> None:
    """A stale read, which is allowed, and a copy, which is not."""
    path = write(tmp_path, STALE + lines(poll(2, [0, 7], [1, 7])))
    found = judged(path, "--faults", "clean")
    assert found["certificate"]["kind"] == "duplicate"
    told = {each["name"]: each for each in found["anomalies"]}
    assert told["stale-read"]["allowed"] and not told["duplicate"]["allowed"]
    assert "KIP-320" in told["stale-read"]["reason"] or "P20" in told["stale-read"]["reason"]
    assert told["duplicate"]["reason"].endswith("nothing allows it here")


def test_a_line_says_how_stale_and_what_was_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, STALE)
    (line,) = check(path, "--reads", "any", "--no-complete").stdout.splitlines()
    assert "durable-prefix" in line or "bounded-staleness, promised durable-prefix" in line
    assert "Δ 1 events, k 1; 2 operations" in line and "allowed: stale-read 1" in line
    (line,) = check(path).stdout.splitlines()
    assert "promised linearizable" in line and "missed the record" in line


def test_the_command_of_a_page_says_the_options(tmp_path: Path) -> None:
    path = write(tmp_path, STALE)
    found = judged(path, "--acks", "1", "--no-elr", "--transactional", "--html", tmp_path / "out")
    words = found["command"].split(" ", 3)[3]
    assert words == f"--acks 1 --no-elr --transactional --html {tmp_path / 'out'}"
    assert found["configuration"]["known from"] == "--acks 1 --no-elr --transactional"


# -- From the history


def test_consumers_that_subscribe_may_jump(tmp_path: Path) -> None:
    subscribed = lines((1, "subscribe", ["t"], ["t"]))
    found = judged(write(tmp_path, subscribed + JUMPS))
    assert found["verdict"] == "holds"
    assert [(each["name"], each["allowed"]) for each in found["anomalies"]] == [("poll-skip", True)]
    assert "rebalance" in found["anomalies"][0]["reason"]


def test_a_process_that_reads_its_own_is_promised_less(tmp_path: Path) -> None:
    apart, same = lines(send(0, 7, 0), poll(1, [0, 7])), lines(send(0, 7, 0), poll(0, [0, 7]))
    options = ("--acks", "1")
    assert judged(write(tmp_path, apart), *options)["promised"] == "ordered-sequential"
    assert judged(write(tmp_path, same), *options)["promised"] == "durable-prefix"


# -- From a file beside it

RECORDED: dict[str, Any] = {
    "configuration": {"acks": "1", "idempotence": False, "retries": False, "one_client": False},
    "envelope": {"leader_moves": 2},
    "envelope_is": "read from the metadata log",
    "complete": True,
}


def test_a_recording_says_what_was_promised(tmp_path: Path) -> None:
    (tmp_path / "metadata.jsonl").write_text('{"type": "no history"}\n', encoding="utf-8")
    write(tmp_path, LOST, **RECORDED)
    result = check(tmp_path, "--json")
    (line,) = result.stdout.splitlines()
    found = json.loads(line)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (found["verdict"], found["promised"]) == ("holds", "divergent")
    assert found["configuration"]["acks"] == "1"
    assert found["configuration"]["what went wrong"] == "2 moves of the leader"
    assert "recording.json (what went wrong: read from" in found["configuration"]["known from"]
    assert judged(tmp_path, "--faults", "none")["verdict"] == "violated"
    assert judged(tmp_path, "--acks", "all")["verdict"] == "violated"


@pytest.mark.parametrize(("unclean", "promised"), [(False, "durable-prefix"), (True, "nothing")])
def test_of_a_cluster_that_nobody_watched_the_worst_is_assumed(
    unclean: bool, promised: str, tmp_path: Path
) -> None:
    write(tmp_path, STALE, configuration={"unclean_election": unclean})
    assert judged(tmp_path)["promised"] == promised


@pytest.mark.parametrize("complete", [True, False, None])
def test_what_nobody_saw_is_lost_if_everything_was_read(
    complete: bool | None, tmp_path: Path
) -> None:
    text = lines(send(0, 7, 0), poll(1, [0, 7]), send(0, 8, 1))
    beside: dict[str, Any] = {
        "configuration": {},
        "envelope": {},
        "envelope_is": "known",
        "complete": complete,
    }
    write(tmp_path, text, **beside)
    found = judged(tmp_path)
    (unseen,) = found["anomalies"]
    assert (unseen["name"], unseen["allowed"]) == ("unseen", not complete)
    expected = {True: "violated", False: "holds", None: "unknown"}
    assert found["verdict"] == expected[complete]
    level = "consistent-prefix" if complete else "linearizable"
    assert found["level"] == level
    assert ("inconclusive" in unseen["reason"]) is not complete


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "recording.json: damaged: "),
        ('{"configuration": {"acks": "2"}}', "Invalid enum value '2'"),
        ('{"configuration": {"min_insync_replicas": 0}}', "min.insync.replicas 0 of 3"),
        ('{"configuration": {}, "envelope": {"lossy": -1}, "envelope_is": "x"}', "less than never"),
        ("[]", "Expected `object`"),
    ],
)
def test_a_damaged_recording_is_one_line(text: str, complaint: str, tmp_path: Path) -> None:
    write(tmp_path, STALE)
    (tmp_path / recorded.RECORDING).write_text(text, encoding="utf-8")
    result = check(tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert complaint in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"compleat": True}, "no field compleat: did you mean complete?"),
        ({"configuration": {"ack": "1"}}, "no field configuration.ack: did you mean"),
        ({"configuration": {"ack": "1"}}, "mean configuration.acks?"),
        ({"envelope": {"leader_move": 1}}, "did you mean envelope.leader_moves?"),
        ({"envelope_was": "told"}, "did you mean envelope_is?"),
        ({"frobnicate": 1}, "no field frobnicate: there are configuration, envelope, "),
        ({"given": ["acks"]}, "no field given"),
        ({"complete": "yes"}, "damaged: Expected `bool | null`, got `str`"),
        ({"configuration": None}, "damaged: Expected `object`, got `null`"),
    ],
)
def test_a_field_that_there_is_not_is_refused_with_the_nearest(
    wrong: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    path = write(tmp_path, STALE, **wrong)
    result = check(path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert complaint in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("beside", "verdict", "promised", "known"),
    [
        # What is written is what happened: nothing moved, and so nothing may be lost.
        ({"envelope": {"leader_moves": 0}}, "violated", "ordered-sequential", "as recording.json"),
        ({"envelope": {}}, "violated", "ordered-sequential", "as recording.json says"),
        ({"envelope": {}, "envelope_is": "told"}, "violated", "ordered-sequential", "told"),
        ({"envelope": {"leader_moves": 1}}, "holds", "divergent", "as recording.json says"),
        ({"envelope": {}, "envelope_is": "assumed"}, "holds", "divergent", "assumed"),
        ({}, "holds", "divergent", "assumed"),
    ],
)
def test_what_went_wrong_is_what_the_recording_says(
    beside: dict[str, Any], verdict: str, promised: str, known: str, tmp_path: Path
) -> None:
    """Of acks=1, one acknowledged offset has two values."""
    path = write(tmp_path, LOST, configuration={"acks": "1"}, complete=True, **beside)
    found = judged(path)
    assert (found["verdict"], found["promised"]) == (verdict, promised)
    assert f"what went wrong: {known}" in found["configuration"]["known from"]


def test_what_a_recording_assumes_takes_nothing_from_what_it_says(tmp_path: Path) -> None:
    told = {"envelope": {"unclean_moves": 1}, "envelope_is": "assumed"}
    assert judged(write(tmp_path, LOST, **told))["promised"] == "nothing"


def test_what_a_recording_leaves_out_the_history_tells(tmp_path: Path) -> None:
    subscribed = lines((1, "subscribe", ["t"], ["t"]))
    found = judged(write(tmp_path, subscribed + JUMPS, configuration={"acks": "all"}, envelope={}))
    assert found["verdict"] == "holds" and found["configuration"]["consumers"].startswith("subsc")
    assert found["configuration"]["a process reads what it appends"] == "no"
    told = {"consumers": "assign", "one_client": True}
    found = judged(write(tmp_path, subscribed + JUMPS, configuration=told, envelope={}))
    assert found["verdict"] == "violated" and found["configuration"]["consumers"] == "assign"
    assert found["configuration"]["a process reads what it appends"] == "yes"


def test_every_field_has_a_meaning() -> None:
    for kind, meanings in (
        (Configuration, recorded.CONFIGURATION),
        (Envelope, recorded.ENVELOPE),
        (recorded.Recorded, [*recorded.FIELDS, "given"]),
    ):
        assert sorted(kind.__struct_fields__) == sorted(meanings)
    assert {*recorded.FROM_HISTORY} <= {*recorded.CONFIGURATION}


def test_what_is_recorded_has_no_other_fields() -> None:
    recording = pytest.importorskip("kraftcheck.kafka.live.recording")
    written = {*recording.Recording.__struct_fields__}
    assert written <= {*recorded.FIELDS, *recorded.DESCRIPTIVE}


@pytest.mark.parametrize("lines", [1, 3])
def test_a_history_that_has_not_the_lines_that_were_written_is_refused(
    lines: int, tmp_path: Path
) -> None:
    path = write(tmp_path, STALE, configuration={}, lines=lines)
    there = STALE.count("\n")
    result = check(path)
    assert (result.exit_code, result.stdout) == (3, "")
    said = f"{there} lines, and recording.json says that {lines} were written"
    assert said in result.stderr and result.stderr.count("\n") == 1
    assert result.stderr.count(path.name) == 1
    write(tmp_path, STALE, configuration={}, lines=there, complete=False)
    assert check(path).exit_code == 0


def test_names_of_a_recording_are_those_that_are_written() -> None:
    recording = pytest.importorskip("kraftcheck.kafka.live.recording")
    metadata = pytest.importorskip("kraftcheck.kafka.live.metadata")
    datalog, journal = (
        pytest.importorskip("kraftcheck.kafka.live.datalog"),
        pytest.importorskip("kraftcheck.kafka.live.journal"),
    )
    grouplog = pytest.importorskip("kraftcheck.kafka.live.grouplog")
    beside = {recording.RECORDING, metadata.METADATA, datalog.LOGS, journal.ANSWERS}
    beside |= {grouplog.GROUPS, journal.DISKS}
    assert beside == recorded.BESIDE


# -- Of a trace


def test_a_trace_says_its_configuration_itself() -> None:
    result = check(GOLDEN, "--acks", "1")
    assert result.exit_code == 3 and "a trace says itself" in result.stderr


def test_a_trace_tells_its_anomalies_and_whether_each_run_allows_them() -> None:
    found = judged(GOLDEN)
    assert found["verdict"] == "holds" and found["promised"] == "durable-prefix"
    assert all(each["allowed"] and "in " in each["reason"] for each in found["anomalies"])
    strict = judged(GOLDEN, "--level", "linearizable")
    stale = next(each for each in strict["anomalies"] if each["name"] == "stale-read")
    assert not stale["allowed"] and "of which it was not allowed" in stale["reason"]
