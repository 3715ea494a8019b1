"""Histories of real Apache Kafka, recorded under faults, against what each is promised.

`tests/live/samples.py` records them again. Here no Kafka is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck import exits, recordings
from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.live import facts, metadata
from kraftcheck.live.journal import HISTORY, RECORDING
from kraftcheck.live.recording import Recording
from kraftcheck.reference.clients.promises import (
    Configuration,
    Envelope,
    Level,
    Promise,
    level_named,
    promised,
)
from kraftcheck.screen import Screen
from kraftcheck.traces.observed import (
    answers,
    cluster,
    logs,
    transaction_answers,
    transactions,
    txnlog,
    views,
)
from kraftcheck.traces.report.judged import JudgedHistory
from tests.live.samples import SAMPLES, unpacked

Changed = Callable[[dict[str, Any]], object]
HEALTHY = [name for name in SAMPLES if name.startswith("healthy")]


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(request.param, tmp_path_factory.mktemp(request.param))


def told(folder: Path) -> Recording:
    return msgspec.json.decode((folder / RECORDING).read_bytes(), type=Recording)


def promise_of(recording: Recording) -> Promise:
    configuration = msgspec.convert(recording.configuration, Configuration)
    return promised(configuration, msgspec.convert(recording.envelope, Envelope))


def judged(folder: Path, level: Level) -> JudgedHistory:
    return judge_file(folder / HISTORY, Options(level=level.name))


def test_a_sample_is_complete_and_its_faults_are_in_it(sample: Path) -> None:
    recording = told(sample)
    assert recording.complete
    assert recording.kafka is not None
    assert {fault.kind for fault in recording.faults} == set(recording.plan.faults)
    assert recording.lines == len((sample / HISTORY).read_bytes().splitlines())


def test_what_happened_is_in_the_metadata_log(sample: Path) -> None:
    recording = told(sample)
    moves = facts.moves_of(recording.plan.topic, metadata.read(sample / metadata.METADATA))
    for unclean, name in ((False, "leader_moves"), (True, "unclean_moves")):
        counts = Counter(move.partition for move in moves if move.unclean is unclean)
        assert max(counts.values(), default=0) == recording.envelope[name]


def test_kafka_keeps_its_promise_and_a_liar_does_not(sample: Path) -> None:
    recording = told(sample)
    promise = promise_of(recording)
    verdict = judged(sample, promise.level)
    if recording.plan.topic.startswith("proxy"):
        assert verdict.verdict == "violated"
        assert verdict.certificate is not None
    else:
        assert verdict.verdict == "holds", verdict.certificate


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_defaults_promise_something_and_leaders_moved(name: str, tmp_path: Path) -> None:
    unpacked(name, tmp_path)
    recording = told(tmp_path)
    promise = promise_of(recording)
    assert recording.envelope["leader_moves"] > 0
    assert promise.durable and promise.ordered and promise.exactly_once and not promise.nothing
    assert judged(tmp_path, promise.level).verdict == "holds"


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("members")])
def test_members_were_killed_as_they_asked_and_the_coordinator_moved(
    name: str, tmp_path: Path
) -> None:
    unpacked(name, tmp_path)
    kinds = Counter(fault.kind for fault in told(tmp_path).faults)
    waiting: Counter[int] = Counter()
    members = set()
    for line in (tmp_path / HISTORY).read_text("utf-8").splitlines():
        each = msgspec.json.decode(line)
        waiting[each["process"]] += 1 if each["type"] == "invoke" else -1
        members |= {each["process"]} if each["f"] == "subscribe" else set()
    killed = [member for member in members if waiting[member] > 0]
    assert 0 < len(killed) <= kinds["member-kill"]
    log = metadata.read(tmp_path / metadata.METADATA)
    assert facts.moves_of("__consumer_offsets", log)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("acks-one-partition", "inconsistent-offsets"),
        ("unclean-last", "inconsistent-offsets"),
        ("min-isr-1-last-power", "inconsistent-offsets"),
        ("proxy-drop", "inconsistent-offsets"),
        ("proxy-double", "duplicate"),
    ],
)
def test_weak_configurations_show_the_expected_anomaly(
    name: str, kind: str, tmp_path: Path
) -> None:
    unpacked(name, tmp_path)
    verdict = judged(tmp_path, Level.LINEARIZABLE)
    assert verdict.verdict == "violated"
    assert verdict.certificate is not None
    assert verdict.certificate.kind == kind
    assert len(verdict.certificate.operations) <= 2
    assert verdict.level is not None and level_named(verdict.level) < Level.LINEARIZABLE


@pytest.mark.parametrize("name", [n for n in SAMPLES if n.startswith(("groups", "txn"))])
def test_groups_and_transactions_are_what_lies_on_disks(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unpacked(name, tmp_path)
    code, document = conformed(tmp_path, capsys)
    assert (code, document["findings"], document["defects"]) == (exits.HOLDS, [], [])
    assert document["replicas"] == 6


@pytest.fixture(params=["healthy-observed", "healthy-combined"])
def observed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(request.param, tmp_path)


def test_controllers_failed_and_others_took_over(tmp_path: Path) -> None:
    """Where nodes are both, what stops a broker stops the leader of the quorum, sooner or later."""
    unpacked("healthy-combined", tmp_path)
    written = metadata.read(tmp_path / metadata.METADATA)
    elections = [record.data["leaderId"] for record in written if record.kind == "LEADER_CHANGE"]
    assert len(set(elections)) > 1


def conformed(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = recordings.conform(folder, screen=Screen(json=True))
    return code, msgspec.json.decode(capsys.readouterr().out)


def test_what_brokers_said_agrees_with_log_disks_and_clients(
    observed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = conformed(observed, capsys)
    assert code == exits.HOLDS
    assert told["contradictions"] == []
    assert len(told["answers_judged"]) == 5
    assert all(count > 100 for count in told["answers_judged"].values())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"at_rest": False, "complete": False}, "come to rest"), ({"complete": False}, "incomplete")],
)
def test_disks_of_a_cluster_that_is_not_at_rest_are_unknown(
    observed: Path, changes: dict[str, bool], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = msgspec.json.decode((observed / RECORDING).read_bytes())
    (observed / RECORDING).write_bytes(msgspec.json.encode({**told, **changes}))
    code, document = conformed(observed, capsys)
    assert (code, document["verdict"]) == (exits.UNKNOWN, "unknown")
    assert reason in document["unknown"]


def test_brokers_that_are_not_ours_are_held_to_what_they_said(
    observed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("metadata.jsonl", "logs.jsonl"):
        (observed / name).unlink()
    code, document = conformed(observed, capsys)
    assert (code, document["metadata_records"], document["replicas"]) == (exits.HOLDS, 0, 0)
    assert len(document["answers_judged"]) == 3
    assert all(count > 100 for count in document["answers_judged"].values())
    assert document["nothing_judged_of"] == ["the controller", "disks"]
    (observed / answers.NAME).write_bytes(b"")
    with pytest.raises(exits.BadInput, match="no broker ever answered"):
        conformed(observed, capsys)
    (observed / answers.NAME).unlink()
    assert recordings.is_recording(observed)
    with pytest.raises(exits.BadInput, match="neither a metadata log nor answers of brokers"):
        conformed(observed, capsys)


def test_a_metadata_log_without_steps_and_without_disks_is_unknown(
    observed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a cluster writes of its features is no step that anybody judges."""
    lines = (observed / metadata.METADATA).read_bytes().splitlines(keepends=True)
    feature = next(line for line in lines if b"FEATURE_LEVEL_RECORD" in line)
    alone = {**msgspec.json.decode(feature), "offset": 0}
    (observed / metadata.METADATA).write_bytes(msgspec.json.encode(alone) + b"\n")
    for name in (answers.NAME, logs.NAME):
        (observed / name).unlink()
    code, document = conformed(observed, capsys)
    assert (code, document["verdict"]) == (exits.UNKNOWN, "unknown")
    assert document["unknown"] == "nothing was judged"
    assert document["nothing_judged_of"] == [*cluster.WITNESSES]


@pytest.mark.parametrize(
    ("what", "changes", "found"),
    [
        (answers.PARTITION, {"isr": [1]}, "not in the metadata log"),
        (answers.PARTITION, {"leader": 7}, "two leaders"),
        (answers.HIGH_WATERMARK, {"offset": 0}, "high watermark below what was acked"),
        (answers.LOG_END, {"offset": 0}, "high watermark above the end"),
        (answers.QUORUM, {"offset": 1}, "high watermark falls"),
    ],
)
def test_one_wrong_answer_is_found(
    observed: Path,
    what: str,
    changes: dict[str, Any],
    found: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = answers.read(observed / answers.NAME)
    leads = views.leaders(told)
    at = max(
        place
        for place, answer in enumerate(told)
        if answer.what == what and answer.error is None
        if what == answers.QUORUM or leads.get((answer.key, answer.epoch)) == answer.broker
    )
    told[at] = msgspec.structs.replace(told[at], **changes)
    lines = [msgspec.json.encode(answer) + b"\n" for answer in told]
    (observed / answers.NAME).write_bytes(b"".join(lines))
    code, document = conformed(observed, capsys)
    assert code == exits.VIOLATED
    assert found in {each["name"] for each in document["contradictions"]}


@pytest.fixture
def transactional(tmp_path: Path) -> Path:
    return unpacked("txn-observed", tmp_path)


def test_a_metadata_log_that_begins_behind_its_snapshot_is_refused(observed: Path) -> None:
    """Its first changes would be held against the state of an empty cluster."""
    lines = (observed / metadata.METADATA).read_bytes().splitlines(keepends=True)
    (observed / metadata.METADATA).write_bytes(b"".join(lines[20:]))
    with pytest.raises(exits.BadInput, match=r"jsonl:1: begins at offset \d+, behind a snapshot"):
        recordings.conform(observed, screen=Screen())


@pytest.mark.parametrize("name", [HISTORY, metadata.METADATA, txnlog.NAME, answers.NAME, logs.NAME])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_recording_that_is_cut_between_two_lines_is_refused_in_one(
    name: str, share: float, transactional: Path
) -> None:
    """In the middle of a transaction or not: what is left can be read, and would be judged."""
    described = transactional / RECORDING
    told = msgspec.json.decode(described.read_bytes())
    kept = {each.name: each.read_bytes().count(b"\n") for each in transactional.glob("*.jsonl")}
    described.write_bytes(msgspec.json.encode({**told, "kept": kept}))
    lines = (transactional / name).read_bytes().splitlines(keepends=True)
    (transactional / name).write_bytes(b"".join(lines[: int(share * len(lines))]))
    with pytest.raises(exits.BadInput, match="were written: it is not whole") as refused:
        recordings.conform(transactional, screen=Screen())
    assert name in str(refused.value) and "\n" not in str(refused.value)


RULES = {**transactions.RULES, **transaction_answers.RULES}


def test_transactions_are_judged_by_every_rule_and_lost_tails_were_seen(
    transactional: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = conformed(transactional, capsys)
    assert (code, told["rules_not_judged"]) == (exits.HOLDS, {})
    asked = {**told["disks_judged"], **told["answers_judged"]}
    never = {name for name in RULES if not asked.get(f"{name}: {RULES[name]}")}
    assert never == {transactions.HANGING}  # nothing was open in the end
    assert told["disks_judged"][cluster.GONE] == 2


def altered(path: Path, at: Callable[[dict[str, Any]], bool], change: Changed) -> None:
    """Changes one line that is meant: of answers the last, of disks the first."""
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    sought = reversed(lines) if path.name == answers.NAME else lines
    change(next(line for line in sought if at(line)))
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def first_marker(line: dict[str, Any]) -> int:
    return next(at for at, (*_, marker) in enumerate(line["transactions"]) if marker)


def no_marker(line: dict[str, Any]) -> None:
    """The first one becomes what it is not."""
    offset = line["transactions"][first_marker(line)][0]
    line["records"][offset][2] = "ABORT" if line["records"][offset][2] == "COMMIT" else "COMMIT"


def of(what: str, **wanted: Any) -> Callable[[dict[str, Any]], bool]:
    def meant(line: dict[str, Any]) -> bool:
        told = {**line, "error": line.get("error")}
        return all(told.get(k) == v for k, v in {"what": what, "error": None, **wanted}.items())

    return meant


def any_line(line: dict[str, Any]) -> bool:
    return True


PLANTED: dict[str, tuple[str, Callable[[dict[str, Any]], bool], Changed, str]] = {
    "a marker": (logs.NAME, any_line, no_marker, "DecidedBeforeMarked"),
    "a sequence": (
        logs.NAME,
        any_line,
        lambda x: x["batches"][0].__setitem__(4, 3),
        "SequencesWithoutGap",
    ),
    "a state": (
        txnlog.NAME,
        any_line,
        lambda x: x["rows"][-1].update(state="Ongoing"),
        "TransactionStates",
    ),
    "a producer": (
        txnlog.NAME,
        any_line,
        lambda x: x["rows"][-1].update(producer_epoch=9),
        "EpochMonotonic",
    ),
    "the end": (txnlog.NAME, any_line, lambda x: x["rows"].pop(), "not the same"),
    "a stable offset": (
        answers.NAME,
        of(answers.STABLE),
        lambda x: x.update(offset=1),
        "LsoMonotonic",
    ),
    "a stable end": (
        answers.NAME,
        of(answers.STABLE),
        lambda x: x.update(offset=10**6),
        "LsoProgress",
    ),
    "what a producer is": (
        answers.NAME,
        of(answers.PRODUCERS),
        lambda x: x["producers"][0].__setitem__(4, 7),
        "ProducerStateIsOfLog",
    ),
    "what a transaction is": (
        answers.NAME,
        of(answers.TRANSACTION),
        lambda x: x.update(producer_epoch=5),
        "TransactionIsOfLog",
    ),
}


@pytest.mark.parametrize(("name", "at", "change", "found"), PLANTED.values(), ids=PLANTED)
def test_one_altered_line_about_transactions_is_found(
    transactional: Path,
    name: str,
    at: Callable[[dict[str, Any]], bool],
    change: Changed,
    found: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    altered(transactional / name, at, change)
    code, told = conformed(transactional, capsys)
    assert code == exits.VIOLATED
    assert found in {each["name"] for each in (*told["defects"], *told["contradictions"])}


def test_transactions_that_nobody_recorded_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unpacked("txn-kill", tmp_path)
    _, told = conformed(tmp_path, capsys)
    assert told["rules_not_judged"].keys() == RULES.keys()


def test_a_recording_of_kafka_3_9_is_judged(tmp_path: Path) -> None:
    """Its tool does not say who leads the quorum, and it has no ELR. Without the records of which
    the tool says less, a metadata log would begin behind a snapshot.
    """
    unpacked("kafka-3.9", tmp_path)
    assert recordings.conform(tmp_path, screen=Screen(quiet=True)) == exits.HOLDS
    recording = tmp_path / RECORDING
    kept = msgspec.json.decode(recording.read_bytes())
    del kept["kept"]  # how many lines each file has
    recording.write_bytes(msgspec.json.encode(kept))
    file = tmp_path / metadata.METADATA
    written = file.read_bytes().splitlines(keepends=True)
    change = next(at for at, line in enumerate(written) if b"PARTITION_CHANGE" in line)
    file.write_bytes(b"".join(written[:change] + written[change + 1 :]))
    assert recordings.conform(tmp_path, screen=Screen(quiet=True)) == exits.VIOLATED
    file.write_bytes(b"".join(written[1:]))
    with pytest.raises(exits.BadInput, match="begins at offset 1, behind a snapshot"):
        recordings.conform(tmp_path, screen=Screen(quiet=True))
