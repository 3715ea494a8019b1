"""Producer and consumer against a leader that really appends, over a connection that loses."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.clients.consumer import Consumer, ConsumerConfig, Reset
from kraftcheck.reference.clients.producer import (
    MAX_IN_FLIGHT,
    Completion,
    Producer,
    ProducerConfig,
)
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    NOBODY,
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    ElectLeaders,
    ListOffsetsResponse,
    MetadataUpdate,
    PartitionRecord,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    BrokerRow,
    PartitionConstants,
    initial_controller,
    initial_row,
)

ALONE = PartitionConstants((1,), min_insync_replicas=1)


class Leader:
    """One broker that leads, and acks at once."""

    def __init__(self, bug: str | None = None) -> None:
        self.handlers = BrokerHandlers(ALONE, rules_for(PartitionRules, bug, ALONE))
        outcome = PartitionControllerHandlers(ALONE).step(
            initial_controller(ALONE), ElectLeaders("PREFERRED")
        )
        assert outcome is not None
        record = PartitionRecord(outcome.row.partition)
        self.row: BrokerRow = initial_row(ALONE)
        self.take(MetadataUpdate(1, (record,)))
        assert self.row.role == "Leader"

    def take(self, input: object) -> list[object]:
        outcome = self.handlers.step(1, self.row, input)  # type: ignore[arg-type]
        assert outcome is not None
        self.row = outcome.row
        return list(outcome.sent)

    def values(self) -> list[int]:
        return [record.value for record in self.row.log]


def answered(leader: Leader, request: ProduceRequest) -> ProduceResponse:
    (answer,) = leader.take(request)
    assert isinstance(answer, ProduceResponse)
    return answer


def produced(seed: int, loss: float, bug: str | None = None) -> tuple[list[int], list[Completion]]:
    """The log, and what an idempotent producer says of 60 values, over connections that break:
    each keeps its order, and what was on a broken one may still be served.
    """
    chance = random.Random(seed)
    leader = Leader(bug)
    producer = Producer(ProducerConfig(1, delivery_timeout=2000), producer_id=7)
    done: list[Completion] = []
    requests: list[ProduceRequest] = []
    late: list[ProduceRequest] = []
    for now in range(6000):
        if now < 600 and now % 10 == 0:
            producer.send(0, now // 10, now)
        sends, completed = producer.poll(now, lambda _: 1)
        done += completed
        for each in sends:
            requests.append(each.request)
        assert len(requests) <= MAX_IN_FLIGHT
        if requests and chance.random() < 0.3:
            if chance.random() < loss:
                # The connection breaks; what was on it may still be served, in order.
                late += requests
                for request in requests:
                    producer.on_timeout(0, request, now)
                requests = []
                continue
            answer = answered(leader, requests.pop(0))
            if chance.random() >= loss:
                done += producer.on_response(0, answer, now)
            else:
                producer.on_timeout(0, answer.request, now)
        if late and chance.random() < 0.5:
            answered(leader, late.pop(0))
        if now > 600 and not producer.unsettled:
            break
    assert producer.unsettled == []
    return leader.values(), done


@pytest.mark.parametrize("seed", range(12))
def test_an_idempotent_producer_writes_every_value_once_and_in_order(seed: int) -> None:
    log, done = produced(seed, loss=0.2)
    assert log == sorted(set(log))
    assert {c.value for c in done} == set(range(60))
    for c in done:
        if c.fate == "ok":
            assert log[c.offset] == c.value
        assert c.fate != "fail" or c.value not in log
    assert Counter(c.fate for c in done)["ok"] > 55


def test_without_loss_all_is_well() -> None:
    log, done = produced(0, loss=0)
    assert log == list(range(60))
    assert [c.fate for c in done] == ["ok"] * 60


def test_a_leader_without_memory_writes_a_value_twice() -> None:
    """The test can fail: with T1 taken out, some run has a duplicate."""
    logs = [produced(seed, loss=0.3, bug="Z58")[0] for seed in range(5)]
    assert any(len(set(log)) < len(log) for log in logs)


def test_a_batch_leaves_when_it_is_full_or_has_lingered() -> None:
    producer = Producer(ProducerConfig(1, batch_records=2, linger=5), producer_id=7)
    producer.send(0, 1, now=0)
    assert producer.poll(0, lambda _: 1) == ([], [])
    assert producer.next_time(0) == 5
    producer.send(0, 2, now=1)
    producer.send(0, 3, now=1)
    (full,) = producer.poll(1, lambda _: 1)[0]
    assert full.request.values == (1, 2) and full.request.sequence == 0
    (lingered,) = producer.poll(6, lambda _: 1)[0]
    assert lingered.request.values == (3,) and lingered.request.sequence == 2


def test_nothing_is_sent_to_nobody() -> None:
    producer = Producer(ProducerConfig(1, linger=0), producer_id=7)
    producer.send(0, 1, now=0)
    assert producer.poll(1, lambda _: NOBODY) == ([], [])
    assert len(producer.poll(2, lambda _: 1)[0]) == 1


def test_at_most_five_batches_are_in_flight() -> None:
    producer = Producer(ProducerConfig(1, batch_records=1), producer_id=7)
    for value in range(9):
        producer.send(0, value, now=0)
    sends = producer.poll(0, lambda _: 1)[0]
    assert [each.request.sequence for each in sends] == [0, 1, 2, 3, 4]
    assert producer.poll(1, lambda _: 1)[0] == []


def test_the_oldest_is_retried_first_and_alone() -> None:
    leader = Leader()
    producer = Producer(ProducerConfig(1, batch_records=1, retry_backoff=1), producer_id=7)
    for value in range(3):
        producer.send(0, value, now=0)
    sends = [each.request for each in producer.poll(0, lambda _: 1)[0]]
    leader.take(sends[0])
    for request in sends:
        producer.on_timeout(0, request, now=1)
    for expected in (0, 1, 2):
        (again,) = producer.poll(5, lambda _: 1)[0]
        assert again.request.sequence == expected
        assert producer.poll(5, lambda _: 1)[0] == []
        done = producer.on_response(0, answered(leader, again.request), now=5)
        assert [c.fate for c in done] == ["ok"]
    assert leader.values() == [0, 1, 2]


def test_a_gap_is_left_behind_by_a_new_epoch() -> None:
    """KIP-360."""
    config = ProducerConfig(1, batch_records=1, delivery_timeout=50)
    producer = Producer(config, producer_id=7)
    producer.send(0, 1, now=0)
    (lost,) = producer.poll(0, lambda _: 1)[0]
    producer.on_timeout(0, lost.request, now=20)
    producer.send(0, 2, now=45)
    sends, done = producer.poll(50, lambda _: 1)
    assert [(c.value, c.fate) for c in done] == [(1, "indeterminate")]
    assert [(s.request.producer_epoch, s.request.sequence) for s in sends] == [(1, 0)]


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        ("INVALID_PRODUCER_EPOCH", "fail"),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", "fail"),
        ("UNKNOWN_TOPIC_OR_PARTITION", "indeterminate"),
    ],
)
def test_what_a_final_error_says_of_a_value(error: str, fate: str) -> None:
    producer = Producer(ProducerConfig(1, batch_records=1), producer_id=7)
    producer.send(0, 1, now=0)
    (sent,) = producer.poll(0, lambda _: 1)[0]
    (done,) = producer.on_response(0, ProduceResponse(1, CLIENTS, sent.request, error, -1), now=1)
    assert (done.fate, done.error) == (fate, error)


def test_without_idempotence_nothing_is_sent_twice() -> None:
    producer = Producer(ProducerConfig(1, idempotent=False, batch_records=1, acks=1))
    producer.send(0, 1, now=0)
    (sent,) = producer.poll(0, lambda _: 1)[0]
    assert sent.request.producer == -1
    answer = ProduceResponse(1, CLIENTS, sent.request, "NOT_LEADER_OR_FOLLOWER", -1)
    (done,) = producer.on_response(0, answer, now=1)
    assert done.fate == "indeterminate"


def test_acks_0_asks_for_no_answer() -> None:
    producer = Producer(ProducerConfig(1, idempotent=False, batch_records=1, acks=0))
    producer.send(0, 1, now=0)
    sends, done = producer.poll(0, lambda _: 1)
    assert len(sends) == 1 and [c.fate for c in done] == ["indeterminate"]
    assert producer.unsettled == []


# --- Consumer


def test_a_consumer_reads_everything_once() -> None:
    leader = Leader()
    for value in range(5):
        leader.take(ProduceRequest(CLIENTS, 1, 0, 1, (value,), -1, -1, -1))
    consumer = Consumer(ConsumerConfig(2))
    asked = consumer.poll(1, 1)
    assert consumer.poll(1, 1) is None
    (begin,) = leader.take(asked)
    assert isinstance(begin, ListOffsetsResponse)
    assert consumer.on_list_offsets(begin).offset == 0
    read = []
    while True:
        (answer,) = leader.take(consumer.poll(1, 1))
        assert isinstance(answer, ConsumerFetchResponse)
        learned = consumer.on_fetch(answer)
        if not learned.records:
            break
        read += [(each.offset, each.record.value) for each in learned.records]
    assert read == [(offset, offset) for offset in range(5)]


@pytest.mark.parametrize(("reset", "begins"), [("earliest", 2), ("latest", 3)])
def test_a_consumer_out_of_range_begins_where_it_is_told(reset: Reset, begins: int) -> None:
    leader = Leader()
    for value in range(3):
        leader.take(ProduceRequest(CLIENTS, 1, 0, 1, (value,), -1, -1, -1))
    leader.take(DeleteRecordsRequest(CLIENTS, 1, 0, 2))
    consumer = Consumer(ConsumerConfig(2, auto_offset_reset=reset), position=0)
    (answer,) = leader.take(consumer.poll(1, 1))
    assert isinstance(answer, ConsumerFetchResponse)
    assert consumer.on_fetch(answer).error == "OFFSET_OUT_OF_RANGE"
    (begin,) = leader.take(consumer.poll(1, 1))
    assert isinstance(begin, ListOffsetsResponse)
    assert consumer.on_list_offsets(begin).offset == consumer.position == begins


def test_a_stale_epoch_asks_for_metadata() -> None:
    leader = Leader()
    consumer = Consumer(ConsumerConfig(2), position=0)
    (answer,) = leader.take(consumer.poll(1, 0))
    assert isinstance(answer, ConsumerFetchResponse)
    learned = consumer.on_fetch(answer)
    assert learned.refresh and learned.error == "FENCED_LEADER_EPOCH"
    assert consumer.on_fetch(answer).error == "", "an answer is used once"
