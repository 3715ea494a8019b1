"""Histories of Kafka's verifiable clients, as ducktape stores them; planted faults are found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck import BadInput, Report, check
from kraftcheck.traces.formats import detect, verifiable

DUCKTAPE = Path(__file__).with_name("ducktape")
Event = dict[str, Any]


def event(name: str, **more: Any) -> Event:
    return {"timestamp": 1_700_000_000_000, "name": name, **more}


def acked(value: int, offset: int, partition: int = 0) -> Event:
    place = {"topic": "t", "partition": partition, "offset": offset}
    return event("producer_send_success", key=None, value=str(value), **place)


def failed(value: int) -> Event:
    error = {"exception": "TimeoutException", "message": "expired"}
    return event("producer_send_error", topic="t", key=None, value=str(value), **error)


def polled(*records: tuple[int, int], verbose: bool = True) -> list[Event]:
    """A poll of partition 0, of pairs of offset and value."""
    place = {"topic": "t", "partition": 0}
    told = [
        event("record_data", key=None, value=str(value), **place, offset=offset)
        for offset, value in records
    ]
    ends = {"minOffset": records[0][0], "maxOffset": records[-1][0]}
    summary = {**place, "count": len(records), **ends}
    poll = event("records_consumed", count=len(records), partitions=[summary])
    return [*(told if verbose else []), poll]


ASSIGNED = event("partitions_assigned", partitions=[{"topic": "t", "partition": 0}])
REVOKED = event("partitions_revoked", partitions=[{"topic": "t", "partition": 0}])
START, STOP = event("startup_complete"), event("shutdown_complete")


def judged(
    folder: Path, producer: list[Event], consumer: list[Event], *, killed: bool = False
) -> Report:
    """The verdict on a test of a producer and a consumer that read to the end."""
    told = {"p": [*producer, *([] if killed else [STOP])]} | ({"c": consumer} if consumer else {})
    for name, events in told.items():
        place = folder / f"Verifiable-{name}" / "worker1" / "verifiable.stdout"
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(each) for each in (START, *events)]
        place.write_text("\n".join(["a line of a logger", *lines]) + "\n", encoding="utf-8")
    (folder / "test_log.info").write_text("[INFO] a test\n", encoding="utf-8")
    return check(folder, complete=True)


def groups(folder: Path, *consumers: list[Event], services: bool = False) -> Report:
    """The verdict on five records and consumers of one service, or each of its own."""
    for at, events in enumerate(consumers):
        service = f"Consumer-{at if services else 0}"
        place = folder / service / f"worker{at}" / "verifiable.stdout"
        place.parent.mkdir(parents=True)
        place.write_text("\n".join(map(json.dumps, [START, *events])), encoding="utf-8")
    return judged(folder, FIVE, [])


def names(report: Report) -> set[str]:
    return {each.name for each in report.anomalies if not each.allowed}


FIVE = [acked(each, each) for each in range(5)]
ALL = polled(*((each, each) for each in range(5)))


def test_all_is_well(tmp_path: Path) -> None:
    report = judged(tmp_path, FIVE, [ASSIGNED, *ALL])
    assert report.holds, report
    (found,) = report.documents
    assert found["level"] == found["promised"] == "sequential"
    assert "real time is not known" in found["note"] and "2 lines are no events" in found["note"]


PLANTED: dict[str, tuple[list[Event], list[Event], str]] = {
    "lost": (FIVE, [ASSIGNED, *polled((0, 0), (1, 1), (3, 3), (4, 4))], "lost-write"),
    "lost at the end": (FIVE, [ASSIGNED, *polled((0, 0), (1, 1), (2, 2), (3, 3))], "unseen"),
    "lost in a range": (
        FIVE,
        [ASSIGNED, *polled((0, 0), (1, 1), (3, 3), (4, 4), verbose=False)],
        "lost-write",
    ),
    "twice": (FIVE, [ASSIGNED, *ALL, *polled((5, 4))], "duplicate"),
    "another value": (FIVE, [ASSIGNED, *polled((0, 0), (1, 9))], "inconsistent-offsets"),
    "nobody's": (FIVE, [ASSIGNED, *ALL, *polled((5, 9))], "phantom"),
    "out of order": ([*FIVE[:3], acked(4, 3), acked(3, 4)], [ASSIGNED], "nonmonotonic-send"),
    "goes back": (FIVE, [ASSIGNED, *ALL, *polled((2, 2))], "nonmonotonic-poll"),
    "a gap": (FIVE, [ASSIGNED, *polled((0, 0)), *polled((3, 3), (4, 4))], "poll-skip"),
    "two at one offset": ([*FIVE, acked(5, 4)], [ASSIGNED, *ALL], "inconsistent-offsets"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    producer, consumer, anomaly = PLANTED[name]
    report = judged(tmp_path, producer, consumer)
    assert report.verdict == "violated" and anomaly in names(report), report


HARMLESS: dict[str, tuple[list[Event], list[Event], bool]] = {
    "ranges": (FIVE, [ASSIGNED, *polled(*((n, n) for n in range(5)), verbose=False)], False),
    "reads again after a rebalance": (FIVE, [ASSIGNED, *ALL, REVOKED, ASSIGNED, *ALL], False),
    "an error that was written": ([*FIVE, failed(5)], [ASSIGNED, *ALL, *polled((5, 5))], False),
    "an error that was not": ([*FIVE, failed(5)], [ASSIGNED, *ALL], False),
    "an answer that a killed one did not get": (FIVE, [ASSIGNED, *ALL, *polled((5, 5))], True),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_kafka_promises_is_no_violation(name: str, tmp_path: Path) -> None:
    producer, consumer, killed = HARMLESS[name]
    report = judged(tmp_path, producer, consumer, killed=killed)
    assert report.holds, report


def committed(offset: int, *, success: bool = True) -> Event:
    place = {"topic": "t", "partition": 0, "offset": offset}
    return event("offsets_committed", offsets=[place], success=success)


def shared(*offsets: int) -> list[Event]:
    """A poll of a share consumer."""
    place = {"topic": "t", "partition": 0}
    told = [event("record_data", key=None, value=str(o), **place, offset=o) for o in offsets]
    summary = {**place, "count": len(offsets), "offsets": list(offsets)}
    return [*told, event("records_consumed", count=len(offsets), partitions=[summary])]


def accepted(*offsets: int, success: bool = True, after_ms: int = 0) -> Event:
    summary = {"topic": "t", "partition": 0, "count": len(offsets), "offsets": list(offsets)}
    found = event("offsets_acknowledged", partitions=[summary], success=success)
    return found | {"timestamp": found["timestamp"] + after_ms}


def upto(end: int, begin: int = 0) -> list[Event]:
    return polled(*((each, each) for each in range(begin, end)))


AGAIN = [REVOKED, ASSIGNED]
EARLIEST = event("offset_reset_strategy_set", offsetResetStrategy="earliest")
ALL_SHARED = [*shared(*range(5)), accepted(*range(5))]
GROUPS: dict[str, tuple[list[list[Event]], str | None]] = {
    "goes on": ([[ASSIGNED, *upto(3), committed(3), *AGAIN, *upto(5, 3), committed(5)]], None),
    "begins before its commit": (
        [[ASSIGNED, *ALL, committed(5), *AGAIN, *upto(5, 2)]],
        "early-start",
    ),
    "begins after its commit": (
        [[ASSIGNED, *ALL, committed(2), *AGAIN, *upto(5, 4)]],
        "wrong-start",
    ),
    "begins where another committed": (
        [
            [ASSIGNED, *upto(2), committed(2), REVOKED, ASSIGNED, *upto(5, 4)],
            [ASSIGNED, *upto(4, 2), committed(4)],
        ],
        None,
    ),
    "a commit without success": (
        [[ASSIGNED, *ALL, committed(2), committed(5, success=False), *AGAIN, *upto(5, 2)]],
        None,
    ),
    "a commit that a killed one did not tell": (
        [
            [ASSIGNED, *upto(2), committed(2), *upto(3, 2), START, ASSIGNED, *upto(5, 3)],
            [ASSIGNED, *upto(2), committed(2), *AGAIN, *upto(5, 3), STOP],
        ],
        None,
    ),
    "a record that nobody was shown": (
        [[ASSIGNED, *upto(2), committed(2)], [ASSIGNED, *upto(5, 3), committed(5)]],
        "skipped-record",
    ),
    "shown without being assigned": (
        [[ASSIGNED, *upto(2), REVOKED, *upto(5, 2)]],
        "unowned-poll",
    ),
    "shared": ([[EARLIEST, *shared(0, 2, 4), accepted(0, 2, 4)], [*shared(1, 3)]], None),
    "shared again": ([ALL_SHARED, [*shared(2), accepted(2)]], None),
    "shared after its acknowledgement": ([[*ALL_SHARED, *shared(2)]], "acked-redelivered"),
    "an acknowledgement after the lock": (
        [[*shared(*range(5)), accepted(*range(5), after_ms=31_000), *shared(2)]],
        None,
    ),
    "an acknowledgement without success": (
        [[*shared(*range(5)), accepted(*range(5), success=False), *shared(2)]],
        None,
    ),
    "shared too often": ([[*shared(*range(5)), *shared(2) * 5]], "over-delivered"),
    "shared with nobody": ([[EARLIEST, *shared(1, 2, 3, 4)]], "skipped-record"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_what_groups_committed_and_acknowledged_is_judged(name: str, tmp_path: Path) -> None:
    consumers, anomaly = GROUPS[name]
    report = groups(tmp_path, *consumers)
    if anomaly is None:
        assert report.holds, report
    else:
        assert anomaly in names(report), report


def test_groups_of_several_services_are_not_known(tmp_path: Path) -> None:
    again = [ASSIGNED, *ALL, committed(5), *AGAIN, *upto(5, 2)]
    report = groups(tmp_path, again, [ASSIGNED, *ALL, committed(5)], services=True)
    assert report.holds, report
    assert "2 commits and acknowledgements are of groups that nobody" in report.documents[0]["note"]


@pytest.mark.parametrize(
    ("values", "anomaly"),
    [("0123 4", None), ("0134", "lost-write"), ("0 1 2 3 4 9", "phantom")],
)
def test_a_console_consumer_is_read(values: str, anomaly: str | None, tmp_path: Path) -> None:
    judged(tmp_path, FIVE, [ASSIGNED])
    place = tmp_path / "ConsoleConsumer-0" / "worker3" / "console_consumer.stdout"
    place.parent.mkdir(parents=True)
    place.write_text("\n".join(values.replace(" ", "")) + "\n", encoding="utf-8")
    found = names(check(tmp_path, complete=True))
    assert found == set() if anomaly is None else anomaly in found


def test_recordings_of_kafkas_own_tools() -> None:
    assert check(DUCKTAPE / "kills", complete=True, faults="clean").holds
    report = check(DUCKTAPE / "repeats", complete=True, faults="clean")
    assert report.verdict == "violated"


def test_each_test_of_a_session_is_a_history(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(DUCKTAPE / "kills", tmp_path / "session" / name)
    (tmp_path / "session" / "report.txt").write_text("all passed\n", encoding="utf-8")
    report = check(tmp_path, complete=True, faults="clean")
    assert [Path(each["file"]).name for each in report.documents] == ["one", "two"]
    assert {each["format"] for each in report.documents} == {"verifiable"}


def test_one_file_is_a_history(tmp_path: Path) -> None:
    judged(tmp_path, FIVE, [ASSIGNED])
    place = tmp_path / "Verifiable-p" / "worker1" / "verifiable.stdout"
    assert detect.detect(place) == verifiable.NAME
    assert check(place).verdict == "unknown"


def _bad(change: Callable[[Event], Event]) -> list[Event]:
    return [*FIVE[:2], change(dict(FIVE[2]))]


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (_bad(lambda each: each | {"name": "producer_sent"}), "is no event of these tools"),
        (_bad(lambda each: each | {"offset": -1}), "offset is -1, not an integer"),
        (_bad(lambda each: each | {"partition": "x"}), "is no topic and partition"),
        (_bad(lambda each: each | {"value": None}), "without a topic and a value"),
        ([event("offsets_committed", offsets=7, success=True)], "without offsets"),
    ],
)
def test_bad_input_is_one_line(events: list[Event], reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=reason):
        judged(tmp_path, events, [ASSIGNED])
