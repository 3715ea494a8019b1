"""Records are deleted as in Kafka (KIP-107): what is answered, read then, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.serve.apis import ERRORS
from kraftcheck.serve.codec import Message
from kraftcheck.serve.judging import judged
from kraftcheck.serve.tape import replayed
from kraftcheck.serve.windows import Windows
from kraftcheck.serve.world import ServedWorld
from tests.kraftcheck.serve.wire import Wire, batch, with_topic

EARLIEST, LATEST = -2, -1


def delete(
    wire: Wire, offset: int, *, topic: str = "t", broker: int | None = None, timeout_ms: int = 5000
) -> tuple[int, int]:
    """(error code, low watermark)."""
    at = wire.leader() if broker is None else broker
    topics = [{"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}]
    told = wire.ask(at, "DeleteRecords", 2, topics=topics, timeout_ms=timeout_ms)
    found: Message = told["topics"][0]["partitions"][0]
    return found["error_code"], found["low_watermark"]


def with_batches() -> Wire:
    """Offsets 0 to 11, in four batches of three."""
    wire = with_topic()
    for at in range(4):
        wire.produce(batch(b"a", b"b", b"c", producer=(7, 0, 3 * at)))
    return wire


def starts(wire: Wire) -> tuple[int, int]:
    """Where a client is told that the log begins, and what a fetch from there says."""
    begun: int = wire.offset(EARLIEST)["offset"]
    return begun, wire.fetch(begun)["log_start_offset"]


def test_a_log_begins_where_it_is_told_to_also_within_a_batch() -> None:
    wire = with_batches()
    assert delete(wire, 4) == (0, 4)
    assert starts(wire) == (4, 4)
    assert wire.fetch(3)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]
    # The batch that holds 4 is whole, as in Kafka: clients leave out what is before.
    assert wire.fetch(4)["records"][:8] == (3).to_bytes(8, "big")
    # Further within the same batch, and back: it never moves back.
    assert delete(wire, 5) == (0, 5) and delete(wire, 1) == (0, 5)
    assert wire.fetch(4)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]
    assert wire.produce(batch(b"d", producer=(7, 0, 12)))["log_start_offset"] == 5


def test_up_to_the_high_watermark_is_all_and_the_log_goes_on() -> None:
    wire = with_batches()
    assert delete(wire, -1) == (0, 12)
    assert starts(wire) == (12, 12) and wire.offset(LATEST)["offset"] == 12
    # What an idempotent producer has sent is remembered.
    again = wire.produce(batch(b"a", b"b", b"c", producer=(7, 0, 9)))
    assert (again["error_code"], again["base_offset"]) == (0, 9)
    assert wire.produce(batch(b"d", producer=(7, 0, 12)))["base_offset"] == 12
    assert wire.fetch(12)["records"]


def test_what_kafka_refuses() -> None:
    wire = with_batches()
    other = (wire.leader() + 1) % 3
    assert delete(wire, 13) == (ERRORS["OFFSET_OUT_OF_RANGE"], -1)
    assert delete(wire, -2) == (ERRORS["OFFSET_OUT_OF_RANGE"], -1)
    assert delete(wire, 1, broker=other) == (ERRORS["NOT_LEADER_OR_FOLLOWER"], -1)
    assert delete(wire, 1, topic="none") == (ERRORS["UNKNOWN_TOPIC_OR_PARTITION"], -1)
    told = delete(wire, 1, topic="__consumer_offsets")
    assert told == (ERRORS["INVALID_TOPIC_EXCEPTION"], -1)
    assert starts(wire) == (0, 0)


def test_it_is_answered_when_live_replicas_have_it() -> None:
    """One that is cut off and not fenced yet is waited for; one that is down is not."""
    wire = with_batches()
    cut = next(broker for broker in range(3) if broker != wire.leader())
    wire.do("cut", broker=cut)
    assert delete(wire, 3, timeout_ms=20) == (ERRORS["REQUEST_TIMED_OUT"], -1)
    wire.do("join", broker=cut)
    wire.wait(6)
    wire.do("kill", broker=cut)
    wire.wait(12)
    assert delete(wire, 6) == (0, 6)


def test_another_leader_and_a_follower_that_was_away_begin_there_too() -> None:
    wire = with_batches()
    away = next(broker for broker in range(3) if broker != wire.leader())
    wire.do("kill", broker=away)
    wire.wait(12)
    assert delete(wire, 6) == (0, 6)
    wire.do("restart", broker=away)
    wire.wait(12)
    old = wire.leader()
    wire.do("move", topic="t", partition=0)
    wire.wait(8)
    assert wire.leader() != old
    for broker in range(3):
        wire.taped.arrive("closed", wire.now, broker)
        wire.connect(broker)
    assert starts(wire)[0] == 6


def test_a_session_with_deletions_is_played_again_and_judged(tmp_path: Path) -> None:
    wire = with_batches()
    delete(wire, 4)
    wire.fetch(4)
    wire.do("kill", broker=wire.leader())
    wire.wait(8)
    delete(wire, 9)
    wire.produce(batch(b"d", producer=(7, 0, 12)))
    starts(wire)
    said = judged(wire.tape(tmp_path / "tape-1"))
    assert (said.verdict, said.reasons) == ("holds", [])


@pytest.mark.tlc
def test_its_steps_are_those_of_the_spec_also_where_the_log_is_cut(tmp_path: Path) -> None:
    wire = with_batches()
    delete(wire, 4)
    delete(wire, 9)
    wire.produce(batch(b"d", producer=(7, 0, 12)))
    tape = wire.tape(tmp_path / "tape-1")
    windows = Windows(10_000)
    replayed(tape, watched=False, observer=windows.take)
    assert windows.unjudged == {} and windows.refused(tmp_path / "verdicts") == []


def test_a_deletion_that_nobody_asked_for_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The front forgets what it was to delete, and deletes all: acknowledged records are gone
    which a reader from the start is owed.
    """
    wire = with_batches()
    real = ServedWorld.start_of
    monkeypatch.setattr(
        ServedWorld,
        "start_of",
        lambda self, *of: 12 if of[0].topic.name == "t" else real(self, *of),
    )
    assert wire.fetch(0)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]
    said = judged(wire.tape(tmp_path / "tape-1"))
    assert said.verdict != "holds"
