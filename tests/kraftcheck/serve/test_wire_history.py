"""What clients saw is judged: holds where all is well, and planted faults of the front are seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.serve import data
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.kafka.serve.tape import replayed
from kraftcheck.kafka.serve.wire_history import WireHistory
from kraftcheck.kafka.serve.wire_judged import PartVerdict, findings
from kraftcheck.kafka.serve.world import ServedWorld
from tests.kraftcheck.serve.wire import Wire, batch, frame, plant, producing, with_topic


def session(path: Path) -> Path:
    """Numbered batches, plain ones of which some have the same bytes, and readers."""
    wire = with_topic()
    for at in range(4):
        wire.produce(batch(b"a", b"b", producer=(7, 0, 2 * at)))
        wire.produce(batch(b"same"))
        wire.fetch(0)
        wire.fetch(3 * at + 1)
        wire.offset(-1)
    wire.offset(-2)
    wire.produce(batch(b"a", b"b", producer=(7, 0, 6)))
    wire.produce(batch(b"a", producer=(7, 0, 99)))
    wire.fetch(0)
    return wire.tape(path)


def found_in(path: Path) -> list[PartVerdict]:
    seen = WireHistory()
    played = replayed(path, watched=False, witness=seen)
    return list(findings(seen, [played.core.world.offsets]))


def test_a_session_is_linearizable(tmp_path: Path) -> None:
    (found,) = found_in(session(tmp_path / "tape"))
    assert (found.where, found.verdict) == ("t-0", "holds")
    report = found.report
    assert report is not None and report.level == "linearizable"
    # The batch that came again is one append.
    assert report.parts[0].operations == 4 * 5 + 3


def elsewhere(right: Any, self: ServedWorld, partition: Any, row: Any, entry: int) -> int:
    """Acknowledged at one offset, and read at the next."""
    found: int = right(self, partition, row, entry)
    return found + (entry == 2 and len(row.log) == 3)


def too_little(right: Any, *of: Any) -> Any:
    """The second batch of an answer is left out."""
    told, size = right(*of)
    records = told["records"]
    if len(records) > 300:
        first = 12 + int.from_bytes(records[8:12], "big")
        second = first + 12 + int.from_bytes(records[first + 8 : first + 12], "big")
        told["records"] = records[:first] + records[second:]
    return told, size


def before_the_end(right: Any, *of: Any) -> Any:
    """An end is told as the offset before it."""
    told = right(*of)
    return told | {"offset": max(0, told["offset"] - 1)}


def not_there(right: Any, self: data.Produce, partition: Any, slot: Any, records: Any) -> None:
    """Z54 among others acknowledges what is not there; here it is the front that lies."""
    if b"same" in records and partition.row(self.request.broker).high_watermark > 3:
        slot |= {"error_code": 0, "base_offset": 5, "log_start_offset": 0}
        return
    right(self, partition, slot, records)


@pytest.mark.parametrize(
    ("of", "name", "wrong", "why"),
    [
        (
            ServedWorld,
            "offset_of",
            elsewhere,
            "duplicate: the record .* 3 and again at offset 4",
        ),
        (data.Fetch, "_read_one", too_little, "poll-skip"),
        (data.Data, "_listed", before_the_end, "stale-read"),
        (data.Produce, "append", not_there, ""),
    ],
)
def test_planted_faults_are_seen(
    of: type,
    name: str,
    wrong: Callable[..., Any],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, of, name, wrong)
    said = judged(session(tmp_path / "tape"))
    assert said.verdict == "violated"
    (reason,) = said.reasons
    assert reason.startswith("of t-0, guaranteed linearizable")
    assert re.search(why, reason)


def test_of_two_kinds_of_producers_what_both_are_promised(tmp_path: Path) -> None:
    """Who waits for the leader alone is told an offset that another record gets, after a failover;
    who waits for nobody is not told any (a session under the plan of seed 10).
    """
    wire = with_topic()
    wire.taped.arrive("frame", wire.now, wire.leader(), unanswered(batch(b"a")))
    wire.wait(1)
    old = wire.leader()
    assert wire.do("cut", broker=old) == ""
    assert wire.produce(batch(b"b"), old, acks=1)["base_offset"] == 1
    wire.wait(60)
    assert wire.produce(batch(b"c"))["base_offset"] == 1
    (found,) = found_in(wire.tape(tmp_path / "tape"))
    assert (found.where, found.verdict, found.why) == ("t-0", "holds", "")


def unanswered(data: bytes) -> bytes:
    return frame("Produce", 9, producing(data, 0))


def test_what_was_denied_says_nothing(tmp_path: Path) -> None:
    """Of two topics that one request asks for."""
    wire = Wire()
    for name in "tu":
        wire.create(name)
    assert wire.do("deny", kind="topic", name="u") == ""
    wire.produce(batch(b"v"))
    asked = [{"partition_index": 0, "timestamp": -1}]
    topics = [{"name": name, "partitions": asked} for name in "tu"]
    said = wire.ask(wire.leader(), "ListOffsets", 5, replica_id=-1, topics=topics)
    assert [each["name"] for each in said["topics"]] == ["t", "u"]
    assert judged(wire.tape(tmp_path / "tape")).verdict == "holds"


def test_a_producer_that_asks_for_two_acks_is_refused_and_the_rest_is_judged(
    tmp_path: Path,
) -> None:
    """Nothing is appended of it, so it promises nothing."""
    wire = with_topic()
    wire.produce(batch(b"a"))
    assert wire.produce(batch(b"b"), acks=2)["error_code"] == ERRORS["INVALID_REQUIRED_ACKS"]
    wire.fetch(0)
    wire.tape(tmp_path / "tape")
    said = judged(tmp_path / "tape")
    assert (said.verdict, said.reasons) == ("holds", [])
    (found,) = found_in(tmp_path / "tape")
    assert found.report is not None and found.report.promised == "linearizable"


def test_a_fetch_with_room_for_the_batch_in_which_it_begins_alone(tmp_path: Path) -> None:
    """What follows is not told of; the batch begins before where the fetch does."""
    wire = with_topic()
    for values in ((b"a", b"b"), (b"c", b"d")):
        wire.produce(batch(*values))
    assert len(wire.fetch(1, max_bytes=1)["records"]) == len(batch(b"a", b"b"))
    assert judged(wire.tape(tmp_path / "tape")).verdict == "holds"


def test_a_batch_that_was_altered_on_its_way_is_another_one(tmp_path: Path) -> None:
    """It is refused, and sent again, of which nobody hears: the first one is not there."""
    wire = with_topic()
    right = batch(b"a", b"b")
    wrong = bytearray(right)
    wrong[-2] ^= 4
    assert wire.produce(bytes(wrong), acks=1)["error_code"] == ERRORS["CORRUPT_MESSAGE"]
    wire.send(wire.leader(), unanswered(right))
    wire.fetch(0)
    assert judged(wire.tape(tmp_path / "tape")).verdict == "holds"


def test_what_was_refused_and_is_sent_again_is_there_once(tmp_path: Path) -> None:
    """The same bytes: refused for too few replicas, then appended, of which nobody hears."""
    wire = with_topic(min_insync_replicas="2")
    leader = wire.leader()
    others = [broker for broker in range(3) if broker != leader]
    for broker in others:
        wire.do("kill", broker=broker)
    wire.wait(30)
    assert wire.produce(batch(b"a"))["error_code"] == ERRORS["NOT_ENOUGH_REPLICAS"]
    wire.send(leader, unanswered(batch(b"a")))
    for broker in others:
        wire.do("restart", broker=broker)
    wire.wait(30)
    wire.fetch(0)
    assert judged(wire.tape(tmp_path / "tape")).verdict == "holds"
