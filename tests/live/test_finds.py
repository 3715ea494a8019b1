"""What was recorded of bugs in Apache Kafka is called violated; their controls hold.

`experiments/` records them again (finds/README.md says by which command). Here no Kafka is
needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from finds.Z70.run import outcomes
from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.kafka import disk_command, recordings
from kraftcheck.kafka.live.journal import HISTORY
from kraftcheck.screen import Screen
from kraftcheck.traces.report.judged import JudgedHistory
from tests.live.samples import unpacked

ABORTED_READ, DOUBLED = ("z140", "G1a"), ("z141", "duplicate")
COMMIT_LOST, ABORT_UNDONE = ("z70", "lost-write"), ("z70-abort", "G1a")
COMMIT_ABORTED, STALE_ELIGIBLE = ("z71", "lost-write"), ("z133", "unseen")
GIVEN_UP = ("z133-given-up", "unseen")
COPIED_TWICE, SKIPPED = ("z108", "input-twice"), ("z102", "skipped-record")
ORPHANED, RELEASED_EARLY = ("z107", "stuck-partition"), ("z109", "input-twice")
ZEROED_TIME, ZEROED_ROLL = ("z161", "unseen"), ("z171", "lost-write")
FOLDED, CLEARED = ("z67", "unseen"), ("z69", "unseen")
OLD_REPLICA = ("z170", "unseen")
OLD_RECORDS = ("z89", "duplicate")
FORGOTTEN_REBALANCE = ("z180", "stuck-partition")
OUTLIVED, IDLE = ("z221", "wrong-start"), ("z211", "idle-rebalance")
REFUSED, NEVER_ENDED = ("z163", "refused-transaction"), ("z213", "stuck-producer")
NEVER_BEGUN, SWEPT = ("z166", "stuck-producer"), ("z200", "refused-transaction")
CLEANED_EPOCH = ("z222", "inconsistent-offsets")
FENCED_SUCCESS = ("z418", "acked-redelivered")
BY_SNAPSHOT, FORGOTTEN = ("z126", "unseen"), ("z128-shrink", "unseen")
GIVEN_TWICE = ("z128-ids", "inconsistent-offsets")
LATE_OFFSETS, LATE_GUARD = ("z87", "input-twice"), ("z188", "refused-transaction")
FAST_CLOCK, TOLD_EARLY = ("z202", "stuck-partition"), ("z185", "unwritten-assignment")
CLEANED_AMID = ("z187", "stuck-partition")
NOT_ASKED, NOT_GIVEN_UP = ("z181", "double-ownership"), ("z210", "double-ownership")
ALONE = Options(configuration={"faults": "none"})
"""`kraftcheck check --faults none`: no leader moved."""


def judged(name: str, folder: Path) -> JudgedHistory:
    unpacked(name, folder)
    return judge_file(folder / HISTORY, Options())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(ABORTED_READ, DOUBLED, COMMIT_LOST, ABORT_UNDONE, COMMIT_ABORTED, STALE_ELIGIBLE),
        *(COPIED_TWICE, SKIPPED, ORPHANED, RELEASED_EARLY, ZEROED_TIME),
        *(ZEROED_ROLL, FOLDED, CLEARED),
        *(OLD_RECORDS, FORGOTTEN_REBALANCE, NOT_ASKED, GIVEN_UP, NOT_GIVEN_UP),
        *(OUTLIVED, IDLE, REFUSED, NEVER_ENDED, NEVER_BEGUN, SWEPT, CLEANED_EPOCH),
        *(FAST_CLOCK, TOLD_EARLY, LATE_OFFSETS, LATE_GUARD, BY_SNAPSHOT, CLEANED_AMID, FORGOTTEN),
        *(OLD_REPLICA, GIVEN_TWICE, FENCED_SUCCESS),
    ],
)
def test_a_find_is_violated_by_name(name: str, kind: str, tmp_path: Path) -> None:
    verdict = judged(name, tmp_path)
    assert verdict.verdict == "violated"
    assert verdict.certificate is not None and verdict.certificate.kind == kind


@pytest.mark.parametrize(
    "name",
    [
        *("z140", "z141", "z70", "z71", "z133", "z108", "z102", "z107", "z109", "z110", "z161"),
        *("z89", "z171", "z181", "z69", "z133-given-up", "z211", "z200", "z222"),
        *("z87", "z126", "z128-shrink", "z128-ids", "z170", "z187", "z188", "z418"),
    ],
)
def test_its_control_holds(name: str, tmp_path: Path) -> None:
    assert judged(f"{name}-control", tmp_path).verdict == "holds"


def test_a_control_that_nobody_was_told_of_is_unknown(tmp_path: Path) -> None:
    """Its record is not acknowledged, and the log is empty when it is read."""
    assert judged("z67-control", tmp_path).verdict == "unknown"


@pytest.mark.parametrize("name", ["z213", "z221"])
def test_with_its_change_it_holds(name: str, tmp_path: Path) -> None:
    """The same script, the classes of Kafka exchanged."""
    assert judged(f"{name}-mended", tmp_path).verdict == "holds"


def conformed(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, set[str]]:
    """What `conform` ends with, and which rules are broken on disks or by answers."""
    unpacked(name, folder)
    code = recordings.conform(folder, screen=Screen(json=True))
    told = msgspec.json.decode(capsys.readouterr().out)
    return code, {each["name"] for each in (*told["defects"], *told["contradictions"])}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("z70-logs", {"LogMatchesMarkers", "OneEpochPerTransaction"}),
        ("z71-logs", {"DecidedBeforeMarked", "TailNotActedOn"}),
        ("z71-logs-control", set()),
        ("z72", {"part of a transaction"}),
        ("z72-control", set()),
        ("lost-response", {"stuck"}),
        ("lost-response-control", set()),
    ],
)
def test_logs_tell_of_it_by_themselves(
    name: str, found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever clients were told: a marker without its decision, a decision without its marker."""
    assert conformed(name, tmp_path, capsys) == (int(bool(found)), found)


def test_version_1_promises_no_better(tmp_path: Path) -> None:
    """Z72: a late batch of a producer of version 1 counts for its next transaction."""
    verdict = judged("z72", tmp_path)
    assert verdict.verdict == "holds"
    assert "G1a" in {anomaly.name for anomaly in verdict.anomalies}
    file = tmp_path / "recording.json"
    told = msgspec.json.decode(file.read_bytes())
    told["configuration"]["late_requests"] = False
    file.write_bytes(msgspec.json.encode(told))
    assert judge_file(tmp_path / HISTORY, Options()).verdict == "violated"


def test_a_leader_whose_disk_has_failed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z160: by the metadata log."""
    assert conformed("z160", tmp_path / "z160", capsys) == (1, set())
    assert conformed("z160-control", tmp_path / "control", capsys) == (0, set())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("z125", {"leads on"}), ("z125-control", set())),
        *(("z113", {"leads on"}), ("z113-control", set())),
        *(("z139", {"stays offline"}), ("z139-control", set())),
    ],
)
def test_answers_tell_of_what_brokers_do(
    name: str, found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a broker says of a partition, against what it does; who leads, against who votes; that a
    replica is one again, against that its disk has failed.
    """
    assert conformed(name, tmp_path, capsys) == (int(bool(found)), found)


@pytest.mark.parametrize(
    ("name", "kind", "changes"),
    [
        (*ABORTED_READ, {"isolation": "read_uncommitted"}),
        (*DOUBLED, {"idempotence": False}),
        (*COMMIT_LOST, {"acks": "1"}),
        (*COMMIT_ABORTED, {"acks": "1", "leader_moves": 1}),
        (*STALE_ELIGIBLE, {"acks": "1"}),
        (*ABORT_UNDONE, {"isolation": "read_uncommitted"}),
    ],
)
def test_weaker_settings_would_allow_it(
    name: str, kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """So the verdict is about what was configured, not about what looks odd."""
    changes = dict(changes)
    judged(name, tmp_path)
    file = tmp_path / "recording.json"
    told = msgspec.json.decode(file.read_bytes())
    told["envelope"]["leader_moves"] += changes.pop("leader_moves", 0)
    told["configuration"].update(changes)
    file.write_bytes(msgspec.json.encode(told))
    verdict = judge_file(tmp_path / HISTORY, Options())
    assert verdict.verdict == "holds"
    assert kind in {anomaly.name for anomaly in verdict.anomalies}


def test_a_deletion_that_was_undone_is_named(tmp_path: Path) -> None:
    """The kit knows no DeleteRecords. A leader that moved may have deleted less (S9), so this is
    allowed where one may have. Here there is one replica, so that nobody else can have led.
    """
    verdict = judged("dr", tmp_path)
    assert verdict.verdict == "holds"
    assert {anomaly.name for anomaly in verdict.anomalies} == {"start-regress"}
    verdict = judge_file(tmp_path / HISTORY, ALONE)
    assert verdict.verdict == "violated"
    assert verdict.certificate is not None and verdict.certificate.kind == "start-regress"


def test_a_deletion_that_lasts_is_not(tmp_path: Path) -> None:
    assert not judged("dr-control", tmp_path).anomalies
    assert judge_file(tmp_path / HISTORY, ALONE).verdict == "holds"


def test_a_topic_that_was_committed_and_is_gone_is_violated(tmp_path: Path) -> None:
    """Topics as a set: one is added, and a later reader does not find it (Z110)."""
    verdict = judged("z110", tmp_path)
    assert verdict.verdict == "violated" and verdict.model == "set"


@pytest.mark.parametrize(
    ("name", "code", "named"),
    [
        ("z110", 0, {"LogMatching"}),
        ("z110-control", 0, set()),
        ("z161", 1, {"IndexLowerBound"}),
        ("z171", 1, {"IndexLowerBound"}),
        ("z171-control", 0, set()),
        ("z222", 1, {"CompactionKeepsLatest", "epoch 0 ends at"}),
        ("z222-control", 0, {"epoch 0 ends at"}),
    ],
)
def test_what_lies_on_disks_is_named(
    name: str, code: int, named: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z110: the metadata logs of both leaders part. Z161, Z171: what the power cut left. Z222: two
    replicas have other values of a key; they know epochs otherwise, as in its control.
    """
    judged(name, tmp_path)
    folders = [path for path in sorted(tmp_path.iterdir()) if path.is_dir()]
    assert disk_command.run(folders, (), Screen(json=True)) == code
    told = capsys.readouterr().out
    names = ("LogMatching", "IndexLowerBound", "CompactionKeepsLatest", "epoch 0 ends at")
    assert {each for each in names if each in told} == named


@pytest.mark.parametrize(("name", "code"), [("z164", 1), ("z164-control", 0)])
def test_a_quorum_in_which_nobody_can_be_elected_is_named(
    name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the metadata logs of both controllers: one is no voter, the other's log is shorter."""
    unpacked(name, tmp_path)
    assert disk_command.run(sorted(tmp_path.iterdir()), (), Screen(json=True)) == code
    told = capsys.readouterr().out
    assert ("is no voter by its own log" in told) is (code == 1)


@pytest.mark.parametrize(("name", "code"), [("z128", 0), ("z128-again", 1)])
def test_what_a_controller_forgets_is_on_disk_once_it_writes(
    name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z128: its metadata log is right, until it deletes what it does not know to be deleted."""
    unpacked(name, tmp_path)
    assert disk_command.run(sorted(tmp_path.iterdir()), (), Screen(json=True)) == code
    told = capsys.readouterr().out
    assert ("ControllerStateIsReplay" in told) is (code == 1)
    assert told.count('"violated"') == 2 * code  # the verdict, and that


@pytest.mark.parametrize(("more", "code"), [(0, 1), (96, 0)])
def test_an_index_without_room_for_recovery_is_named(
    more: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z162: what a kill left. more: bytes of room; the broker would start with them."""
    unpacked("z162", tmp_path)
    for path in (tmp_path / "n1" / "t-0").glob("*index"):
        path.write_bytes(path.read_bytes() + bytes(more))
    assert disk_command.run([tmp_path / "n1"], (), Screen(json=True)) == code
    assert ("recovery needs 13 entries, and has room for 12" in capsys.readouterr().out) is (
        code == 1
    )


def test_what_became_of_records_is_counted(tmp_path: Path) -> None:
    judged(COMMIT_LOST[0], tmp_path)
    assert outcomes(tmp_path / HISTORY) == ({1: 0, 2: 1, 4: 4}, {3}, {4: 4})
