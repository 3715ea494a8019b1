"""What the interceptors of Java applications write, read and judged: tests without Java."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import kraftcheck
from kraftcheck.traces.formats import clients, detect, jsonlines
from kraftcheck.traces.history import HistoryError, Operation

P, C = "aaaaaaaaaaaa", "cccccccccccc"
"""A JVM that produces and one that consumes."""


def head(jvm: str, role: str, machine: str = "m", **settings: str) -> list[dict[str, Any]]:
    begin = {"event": "begin", "format": clients.FORMAT, "version": 1, "machine": machine}
    state = {"event": "state", "state": "recording"}
    client = {"event": "client", "client": 0, "time": 2, "role": role, **settings}
    return [{"jvm": jvm, **each} for each in ({**begin, "time": 1}, state, client)]


def send(number: int, time: int, **more: Any) -> dict[str, Any]:
    told = {"event": "send", "jvm": P, "client": 0, "time": time, "topic": "t", "thread": 1}
    return {**told, "id": f"{P}-{number}", **more}


def acked(offset: int, time: int, number: int | None = None) -> dict[str, Any]:
    told = {"event": "acked", "jvm": P, "client": 0, "time": time, "topic": "t", "partition": 0}
    return {**told, "offset": offset, **({} if number is None else {"id": f"{P}-{number}"})}


def got(time: int, *records: tuple[int, int | str | None], topic: str = "t") -> dict[str, Any]:
    told = {"event": "read", "jvm": C, "client": 0, "time": time, "topic": topic, "partition": 0}
    named = [[at, f"{P}-{name}" if isinstance(name, int) else name] for at, name in records]
    return {**told, "records": named}


ENDS = [{"event": "end", "jvm": P}, {"event": "end", "jvm": C}]
HEADS = [*head(P, "producer"), *head(C, "consumer")]
WRITTEN = [send(0, 10), acked(0, 12, 0), send(1, 13), acked(1, 15, 1)]


def written(folder: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    path = folder / "history.jsonl"
    texts = (each if isinstance(each, str) else compact(each) for each in lines)
    path.write_text("".join(f"\n{text}\n" for text in texts))
    return path


def compact(line: dict[str, Any]) -> str:
    return json.dumps({"event": line["event"], **line}, separators=(",", ":"))


def judged(folder: Path, *lines: dict[str, Any] | str, **options: Any) -> kraftcheck.Report:
    return kraftcheck.check(written(folder, lines), **options)


def operations(folder: Path, *lines: dict[str, Any]) -> list[Operation]:
    return list(detect.read(written(folder, lines)).operations)


# -- What holds, and what does not


def test_records_that_were_read_hold(tmp_path: Path) -> None:
    report = judged(tmp_path, *HEADS, *WRITTEN, got(20, (0, 0), (1, 1)), *ENDS, complete=True)
    assert report.holds and "not recorded" not in str(report)


def test_a_lost_record_is_found(tmp_path: Path) -> None:
    lines = [*HEADS, *WRITTEN, send(2, 16), acked(2, 17, 2), got(20, (0, 0), (2, 2)), *ENDS]
    report = judged(tmp_path, *lines, complete=True)
    assert report.verdict == "violated"
    assert "lost-write" in {each.name for each in report.anomalies if not each.allowed}


def test_a_record_that_is_there_twice_is_found(tmp_path: Path) -> None:
    lines = [*HEADS, *WRITTEN, got(20, (0, 0), (1, 1), (2, 1)), *ENDS]
    report = judged(tmp_path, *lines, complete=True)
    assert report.verdict == "violated" and "duplicate" in {a.name for a in report.anomalies}


def test_another_record_at_an_acknowledged_offset_is_found(tmp_path: Path) -> None:
    report = judged(tmp_path, *HEADS, *WRITTEN, got(20, (0, 1), (1, 0)), *ENDS)
    assert report.verdict == "violated"


@pytest.mark.parametrize(
    ("settings", "threads", "verdict"),
    [
        ({}, (1, 1), "violated"),
        ({"transactional_id": "x"}, (1, 1), "violated"),
        # A retry may pass what was sent after it.
        ({"idempotence": "false", "retries": "3"}, (1, 1), "holds"),
        ({"idempotence": "false", "retries": "0"}, (1, 1), "violated"),
        ({}, (1, 2), "holds"),
        ({}, (1, None), "holds"),
    ],
)
def test_what_a_thread_sends_keeps_its_order(
    tmp_path: Path, settings: dict[str, str], threads: tuple[int | None, ...], verdict: str
) -> None:
    sends = [send(at, 10 + at, thread=each, partition=0) for at, each in enumerate(threads)]
    heads = [*head(P, "producer", **settings), *head(C, "consumer")]
    lines = [*heads, *sends, acked(1, 20, 0), acked(0, 21, 1), got(30, (0, 1), (1, 0)), *ENDS]
    report = judged(tmp_path, *lines, complete=True, faults="clean")
    assert report.verdict == verdict
    assert ("a producer's order is not judged" in str(report)) == (None in threads)
    several = len({*threads}) > 1 and None not in threads
    assert ("the order of sends by several threads" in str(report)) == several
    wrong = {each.name for each in report.anomalies if not each.allowed}
    assert wrong == ({"nonmonotonic-send"} if verdict == "violated" else set())


def test_what_stands_nowhere_hides_no_disorder(tmp_path: Path) -> None:
    sends = [send(at, 10 + at, partition=0) for at in range(3)]
    read = got(30, (0, 2), (1, 0))
    report = judged(tmp_path, *HEADS, *sends, acked(1, 20, 0), acked(0, 21, 2), read, *ENDS)
    assert "nonmonotonic-send" in {each.name for each in report.anomalies}


def test_one_line_may_be_about_many_records(tmp_path: Path) -> None:
    """As if each had a line: a lost one among them is found."""
    lines = [send(0, 10, count=3), acked(0, 12, 0) | {"count": 3}]
    every = got(20, (0, 0), (1, 1), (2, 2))
    assert judged(tmp_path, *HEADS, *lines, every, *ENDS, complete=True).holds
    lost = judged(tmp_path, *HEADS, *lines, got(20, (0, 0), (2, 2)), *ENDS, complete=True)
    assert lost.verdict == "violated"
    unnamed = [send(0, 10, count=3), acked(0, 12) | {"count": 3}]
    assert judged(tmp_path, *HEADS, *unnamed, every, *ENDS, complete=True).holds
    for count in (0, 10**9):
        with pytest.raises(kraftcheck.BadInput, match="not a number from 1"):
            judged(tmp_path, *HEADS, send(0, 10, count=count), *ENDS)


# -- Clients of 4.0 and earlier: acknowledgements without an id


def test_an_acknowledgement_without_an_id_is_of_the_record_at_its_offset(tmp_path: Path) -> None:
    lines = [send(0, 10), send(1, 11, thread=2), acked(0, 12), acked(1, 15)]
    found = operations(tmp_path, *HEADS, *lines, got(20, (0, 1), (1, 0)), *ENDS)
    appends = {each.argument: each for each in found if each.f == "append"}
    assert appends[f"{P}-1"].result == 0 and appends[f"{P}-0"].result == 1
    assert judged(tmp_path, *HEADS, *lines, got(20, (0, 1), (1, 0)), *ENDS, complete=True).holds


def test_an_acknowledged_offset_that_nobody_read_is_lost_all_the_same(tmp_path: Path) -> None:
    lines = [send(0, 10), send(1, 11), acked(0, 12), acked(1, 15)]
    lost = [*HEADS, *lines, send(2, 16), acked(2, 17), got(20, (0, 0), (2, 2)), *ENDS]
    assert judged(tmp_path, *lost, complete=True).verdict == "violated"


def test_an_acknowledged_offset_with_a_record_of_another_producer_is_found(tmp_path: Path) -> None:
    other = {"event": "client", "jvm": P, "client": 1, "time": 3, "role": "producer"}
    lines = [other, send(0, 10), send(1, 11, client=1), acked(0, 12)]
    report = judged(tmp_path, *HEADS, *lines, got(20, (0, 1), (1, 0)), *ENDS)
    assert report.verdict == "violated"


# -- Producers that add no header

BARE = [*head(P, "producer", header="false"), *head(C, "consumer")]


def bare(time: int, many: int = 1) -> dict[str, Any]:
    told = {"event": "send", "jvm": P, "client": 0, "time": time, "topic": "t"}
    return {**told, "count": many}


def test_without_headers_what_was_read_at_an_acknowledged_offset_is_that_record(
    tmp_path: Path,
) -> None:
    lines = [*BARE, bare(10, 2), acked(0, 12) | {"count": 2}]
    report = judged(tmp_path, *lines, got(20, (0, None), (1, None)), *ENDS, complete=True)
    assert report.holds and "which record was read, where producers add no header" in str(report)
    assert "who sent" not in str(report)
    lost = judged(tmp_path, *lines, got(20, (0, None)), *ENDS, complete=True)
    assert lost.verdict == "violated"
    never = [*BARE, bare(10), acked(0, 12), acked(0, 13), got(20, (0, None)), *ENDS]
    assert judged(tmp_path, *never).verdict == "violated"
    other = judged(tmp_path, *lines, got(20, (0, "bbbbbbbb-7"), (1, None)), *ENDS)
    assert other.verdict == "violated"


def test_without_headers_an_offset_without_a_record_is_found(tmp_path: Path) -> None:
    """Records that share a line are no transaction, whose end would take the offset."""
    lines = [*BARE, bare(10, 4), acked(0, 12) | {"count": 2}, acked(3, 12) | {"count": 2}]
    read = got(20, *[(n, None) for n in (0, 1, 3, 4)])
    report = judged(tmp_path, *lines, read, *ENDS, complete=True)
    assert report.verdict == "violated" and "hole" in {each.name for each in report.anomalies}
    assert not report.documents[0].get("transactions")
    # Nor are they one where another reader looks.
    again = tmp_path / "again.jsonl"
    again.write_text("".join(jsonlines.write(detect.read(tmp_path / "history.jsonl"))))
    assert kraftcheck.check(again, complete=True).verdict == "violated"
    # One that was not acknowledged may stand there.
    assert judged(tmp_path, *BARE, bare(10, 5), *lines[-2:], read, *ENDS, complete=True).holds


def test_without_headers_a_duplicate_is_never_green(tmp_path: Path) -> None:
    """It is violated with headers. A record whose producer heard nothing may be there once."""
    lines = [*BARE, bare(10), acked(0, 12)]
    twice = got(20, (0, None), (1, None))
    report = judged(tmp_path, *lines, twice, *ENDS, complete=True)
    assert report.verdict == "unknown" and "1 records were read" in report.evidence[0]
    assert judged(tmp_path, *lines, bare(13), twice, *ENDS, complete=True).holds
    own = head(P, "producer", header="false", transactional_id="x")
    consumer = head(C, "consumer", isolation="read_committed")
    lines = [*own, *consumer, bare(10, 2), acked(0, 12), acked(1, 12)]
    assert judged(tmp_path, *lines, twice, *ENDS).holds
    assert judged(tmp_path, *lines, got(20, *[(n, None) for n in range(3)]), *ENDS).verdict == (
        "unknown"
    )


# -- What an interceptor cannot see is no finding


def test_records_of_unrecorded_producers_are_counted(tmp_path: Path) -> None:
    read = got(20, (0, 0), (1, 1), (2, None), (3, "bbbbbbbbbbbb-7"), (4, "bbbbbbbbbbbb-7"))
    report = judged(tmp_path, *HEADS, *WRITTEN, read, *ENDS, complete=True)
    assert report.holds and "who sent 3 of the records" in str(report)


@pytest.mark.parametrize("more", [(), ((2, None),)])
def test_an_unrecorded_producer_may_be_transactional(
    tmp_path: Path, more: tuple[tuple[int, None], ...]
) -> None:
    """The end of a transaction takes an offset; what else is promised stays."""
    read = got(20, (0, 0), (1, 1), *more, (4, None))
    report = judged(tmp_path, *HEADS, *WRITTEN, read, *ENDS)
    assert report.holds and report.documents[0]["promised"] != "divergent"
    read = got(20, (0, 0), (2, 1))
    lines = [send(0, 10), acked(0, 12, 0), send(1, 13), acked(2, 15, 1)]
    assert judged(tmp_path, *HEADS, *lines, read, *ENDS).verdict == "violated"


def test_a_copy_in_another_topic_is_no_duplicate(tmp_path: Path) -> None:
    lines = [*WRITTEN, got(20, (0, 0), (1, 1)), got(21, (0, 0), (1, 0), topic="copy")]
    assert judged(tmp_path, *HEADS, *lines, *ENDS).holds


def test_a_record_of_an_aborted_transaction_is_not_lost(tmp_path: Path) -> None:
    own = head(P, "producer", transactional_id="x")
    consumer = head(C, "consumer", isolation="read_committed")
    report = judged(tmp_path, *own, *consumer, *WRITTEN, got(20, (1, 1)), *ENDS, complete=True)
    assert report.holds and "how transactions ended" in str(report)


def test_a_send_that_failed_may_be_there(tmp_path: Path) -> None:
    failed = {"event": "failed", "jvm": P, "client": 0, "time": 12, "topic": "t", "id": f"{P}-0"}
    lines = [send(0, 10), {**failed, "error": "TimeoutException"}]
    assert judged(tmp_path, *HEADS, *lines, got(20, (0, 0)), *ENDS).holds


def test_the_weakest_producer_counts(tmp_path: Path) -> None:
    weak = head(P, "producer", acks="1")
    history = detect.read(written(tmp_path, [*weak, *WRITTEN, *ENDS[:1]]))
    assert history.configuration["acks"] == "1" and not history.configuration["idempotence"]


# -- What is missing is said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"event": "dropped", "jvm": P, "events": 3}, "3 events found no room"),
        ({"event": "state", "jvm": P, "state": "failed"}, "1 JVM could not write the file"),
    ],
)
def test_what_was_dropped_makes_the_verdict_unknown(
    more: dict[str, Any], said: str, tmp_path: Path
) -> None:
    lines = [*HEADS, *WRITTEN, more, got(20, (0, 0), (1, 1)), *ENDS]
    report = judged(tmp_path, *lines, complete=True)
    assert report.verdict == "unknown" and said in report.evidence[0]
    lost = [*HEADS, *WRITTEN, more, got(20, (0, 1)), *ENDS]
    assert judged(tmp_path, *lost, complete=True).verdict == "violated"


def test_a_killed_consumer_may_have_read_what_nobody_else_did(tmp_path: Path) -> None:
    lines = [*HEADS, *WRITTEN, got(20, (0, 0)), ENDS[0]]
    report = judged(tmp_path, *lines, complete=True)
    assert report.verdict == "unknown"
    assert report.evidence[0].endswith("never read; but not every read was recorded")
    assert judged(tmp_path, *lines, ENDS[1], complete=True).verdict == "violated"


def test_a_killed_jvm_leaves_a_line_unfinished(tmp_path: Path) -> None:
    torn = '{"event":"send","jvm":"aaaaa'
    read = got(20, (0, 0), (1, 1))
    report = judged(tmp_path, *HEADS, *WRITTEN, torn, read, ENDS[1], complete=True)
    assert report.holds and "the last requests of 1 JVM" in str(report)
    with pytest.raises(kraftcheck.BadInput, match="the file is damaged"):
        judged(tmp_path, *HEADS, *WRITTEN, torn, *ENDS)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([*HEADS, send(0, 1), send(0, 2)], "is sent twice"),
        ([*head(P, "producer"), *head(C, "consumer", "other")], "of 2 machines"),
        (head(P, "producer")[:2], "no client was recorded"),
        ([*HEADS, {"event": "guess", "jvm": P}], "guess"),
        ([*HEADS, send(0, 1, client=3)], "client 3 has no line"),
        ([*HEADS, send(0, 1, id=None)], "a send without an id"),
        ([*HEADS, send(0, 1) | {"time": "x"}], "Expected `int`"),
        ([{**HEADS[0], "version": 2}], "kraftcheck-clients 2"),
        (HEADS, "no client operation"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    lines: list[dict[str, Any]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(HistoryError, match=said) as refused:
        detect.read(written(tmp_path, lines))
    assert "\n" not in str(refused.value)


def test_it_can_be_written_in_another_format(tmp_path: Path) -> None:
    path = written(tmp_path, [*HEADS, *WRITTEN, got(20, (0, 0), (1, 1)), *ENDS])
    assert clients.claims(path.read_bytes())
    assert detect.detect(path) == clients.NAME
