"""Idempotent producers that are steered: retries, late requests, and what becomes of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.steered.failures import Violation

CHANGES = Path(__file__).resolve().parents[1] / "kraftcheck" / "known_bugs" / "changes"
FIRST = "broker 0 ProduceRequest K>0 client=1 values=1"
BREAKS = "the producer's connection 1 to broker 0 breaks"
AGAIN = "the producer sends again, to broker 0"


def begin(bug: str | None = None, replicas: int = 3) -> PartitionSchedule:
    """Broker 0 leads."""
    schedule = PartitionSchedule(PartitionOptions(replicas=replicas), bug)
    settle(schedule)
    return schedule


def settle(schedule: PartitionSchedule) -> None:
    while schedule.calm():
        pass


def make(schedule: PartitionSchedule, *moves: str) -> None:
    """The first possible move that begins with these words, for each of them."""
    for words in moves:
        next(move for move in schedule.possible() if move.words.startswith(words)).make()


def offers(schedule: PartitionSchedule, words: str) -> list[str]:
    return [move.words for move in schedule.possible() if words in move.words]


def fates(schedule: PartitionSchedule) -> list[tuple[str, int | None]]:
    return [(each.outcome, each.offset) for each in schedule.history]


def values(schedule: PartitionSchedule, node: int) -> list[int]:
    return [record.value for record in schedule.row(node).log]


def errors(schedule: PartitionSchedule) -> set[str]:
    sent = [message.value for step in schedule.recorder.distinct for _, message in step.sent]
    return {getattr(message, "error", "NONE") for message in sent} - {"NONE"}


def test_a_retry_whose_first_attempt_was_served_is_answered_and_not_appended() -> None:
    schedule = begin()
    make(schedule, "the producer appends 1", FIRST, BREAKS, AGAIN, FIRST)
    settle(schedule)
    assert fates(schedule) == [("ok", 0)] and values(schedule, 0) == [1]
    assert schedule.progress() == ""


def test_without_sequence_numbers_it_is_appended_again() -> None:
    schedule = begin("Z58")
    make(schedule, "the producer appends 1", FIRST, BREAKS, AGAIN)
    with pytest.raises(Violation, match="NoDuplicate is violated"):
        make(schedule, FIRST)


def test_a_late_request_arrives_after_its_retry_or_is_lost_with_its_connection() -> None:
    schedule = begin()
    make(schedule, "the producer appends 1", BREAKS, AGAIN)
    over = [words.partition(" over ")[2] for words in offers(schedule, FIRST)]
    assert over == ["connection 2", "connection 1"]
    make(schedule, FIRST, FIRST)
    settle(schedule)
    assert values(schedule, 0) == [1] and fates(schedule) == [("ok", 0)]
    lost = begin()
    make(lost, "the producer appends 1", f"{BREAKS}, with what is on its way")
    assert offers(lost, FIRST) == [] and offers(lost, AGAIN) == [AGAIN]


def test_requests_keep_the_order_of_their_connection() -> None:
    schedule = begin()
    make(schedule, "the producer appends 1", "the producer appends 2")
    assert len(offers(schedule, "over connection")) == 1
    make(schedule, FIRST)
    assert "values=2" in offers(schedule, "over connection")[0]


def test_with_an_answer_its_connection_is_lost() -> None:
    schedule = begin(replicas=1)
    make(schedule, "the producer appends 1", FIRST)
    assert len(offers(schedule, "breaks")) == 1
    make(schedule, "lose ProduceResponse 0>K offset=0")
    assert offers(schedule, AGAIN) == [AGAIN] and offers(schedule, "breaks") == []


def test_what_is_on_its_way_to_a_broker_dies_with_it() -> None:
    schedule = begin()
    make(schedule, "the producer appends 1", "broker 0 BrokerCrash")
    assert offers(schedule, "over connection") == [] and schedule.producer.has_to_send()
    assert schedule.progress() == ""


def test_a_value_that_was_given_up_is_followed_by_a_new_epoch() -> None:
    """Its request comes late, and is refused for its epoch."""
    schedule = begin()
    make(schedule, "the producer appends 1", BREAKS, "the producer gives up on 1")
    make(schedule, "the producer appends 2")
    (second,) = [words for words in offers(schedule, "ProduceRequest") if "values=2" in words]
    assert "producer_epoch=1 sequence=0" in second
    make(schedule, second, FIRST)
    assert errors(schedule) == {"INVALID_PRODUCER_EPOCH"}
    settle(schedule)
    assert fates(schedule)[1][0] == "ok" and values(schedule, 0) == [2]
    outcomes = [each.outcome for each in schedule.close_history()]
    assert outcomes == ["indeterminate", "ok"]


def test_a_value_that_overtakes_another_at_a_new_leader() -> None:
    """The new leader knows nothing of the producer, and takes what comes first (T3)."""
    schedule = begin()
    make(schedule, "the producer appends 1", FIRST)
    make(schedule, "the controller ElectLeaders election=PREFERRED of broker 1")
    make(schedule, "broker 1 reads 1 metadata", "the producer appends 2, by broker 1")
    make(schedule, "broker 1 ProduceRequest", BREAKS, "the producer sends again, to broker 1")
    make(schedule, "broker 1 ProduceRequest")
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in errors(schedule)
    settle(schedule)
    assert [each.outcome for each in schedule.close_history()] == ["indeterminate", "ok"]
    assert schedule.progress() == ""


def group_anew(schedule: PartitionSchedule) -> None:
    """Of two values the first has arrived, the second is lost with the connection; they are sent
    again as one batch.
    """
    make(schedule, "the producer appends 1", "the producer appends 2", FIRST)
    assert offers(schedule, "one batch") == []
    make(schedule, f"{BREAKS}, with what is on its way", "the producer makes one batch of 1, 2")
    assert offers(schedule, "one batch") == []
    make(schedule, AGAIN, "broker 0 ProduceRequest K>0 client=1 values=1,2")


def test_what_is_grouped_anew_is_no_duplicate() -> None:
    """The broker knows the first number of the batch and not its last, and takes none of it."""
    schedule = begin()
    group_anew(schedule)
    assert errors(schedule) == {"OUT_OF_ORDER_SEQUENCE_NUMBER"}
    settle(schedule)
    assert values(schedule, 0) == [1] and schedule.progress() == ""
    assert [each.outcome for each in schedule.close_history()][:2] == ["indeterminate"] * 2


def test_where_the_last_number_is_not_looked_at_what_is_lost_is_acknowledged() -> None:
    with known(read_rules(CHANGES / "duplicate_by_first.py")) as entry:
        schedule = begin(entry.id)
        group_anew(schedule)
        # As many records must be there, whosever they are.
        schedule.ask(schedule.produce(0, -1))
        with pytest.raises(Violation, match="PartitionLeaderCompleteness is violated"):
            settle(schedule)
        assert values(schedule, 0) == [1, 3]


def test_only_what_waits_and_follows_is_grouped() -> None:
    schedule = begin()
    make(schedule, *[f"the producer appends {value}" for value in (1, 2, 3)], FIRST)
    settle(schedule)
    assert offers(schedule, "one batch") == []
    make(schedule, "the producer appends 4", "the producer appends 5", BREAKS, AGAIN)
    # The first is in flight again, alone.
    assert offers(schedule, "one batch") == []
