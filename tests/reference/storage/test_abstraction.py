"""The engine is the log of a partition's row: every operation is a step of that log's rules."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.partition.log import GONE, RecordLog
from kraftcheck.reference.storage import broker
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.crashing import judged_start
from kraftcheck.reference.storage.cutting import truncate
from kraftcheck.reference.storage.epochs import Epochs
from kraftcheck.reference.storage.histories import Client, configured
from kraftcheck.reference.storage.indexes import Full
from kraftcheck.reference.storage.rules import StorageRules
from tests.reference.storage.abstraction import Refined, row_of

SEEDS = range(12)


def refined(rules: type[StorageRules], seed: int, operations: int = 25) -> Refined:
    """A history by chance, of a log that is not compacted."""
    chance = Random(seed)
    config = msgspec.structs.replace(configured(chance), compact=False)
    client = Client(chance, config, follows=chance.random() < 0.4)
    story = Refined(rules(config), client.time)
    for _ in range(operations):
        try:
            story.perform(client.next(story.broker.log))
        except Full:
            break  # As Kafka is, the log cannot go on.
    return story


def parted(rules: type[StorageRules], seeds: range = SEEDS) -> set[tuple[str, str]]:
    """Operations that are no step, each with the fields of the row that no step gives."""
    return {
        (each.operation, field)
        for seed in seeds
        for each in refined(rules, seed).parted
        for field in each.fields
    }


def test_every_operation_is_a_step_of_the_log() -> None:
    assert parted(StorageRules) == set()
    assert sum(refined(StorageRules, seed).steps for seed in SEEDS) > 100


def test_as_kafka_decides_it_is_a_log_as_well_while_nothing_crashes() -> None:
    assert parted(AsKafka) <= {("stop", "producers"), ("crash", "producers")}


def test_what_a_power_loss_leaves_is_the_log_up_to_an_offset() -> None:
    """As BrokerCrash of the partition: what was flushed is kept, and of the rest some."""
    judged = 0
    for seed in SEEDS:
        story = refined(StorageRules, seed)
        chance = Random(seed)
        upto = len(story.disk.journal)
        before = row_of(story.broker.log)
        durable = story.broker.log.recovery_point
        for _ in range(5):
            content = story.crash(upto).drawn(chance, "ordered")
            wrong, broker, _ = judged_start(story, upto, content)
            assert not wrong and broker is not None
            after = row_of(broker.log)
            start = max(before.start, after.start)
            assert after.log[start:] == before.log[start : len(after.log)]
            if durable > before.start:  # It rises with the start, over what is not flushed.
                assert len(after.log) >= len(filled(before.log[:durable]))
            judged += 1
    assert judged == 5 * len(SEEDS)


def filled(log: RecordLog) -> RecordLog:
    """Without a gap at the end, which a start forgets."""
    end = len(log)
    while end and log[end - 1] == GONE:
        end -= 1
    return log[:end]


def test_a_cut_that_takes_too_much_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "truncate", lambda log, offset: truncate(log, max(offset - 1, 0)))
    assert ("truncate", "log") in parted(StorageRules)


def test_an_epoch_that_is_not_noted_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assign = Epochs.assign
    monkeypatch.setattr(
        Epochs,
        "assign",
        lambda epochs, epoch, at: assign(epochs, epoch, at) if epoch != 1 else None,
    )
    assert {("leader", "cache"), ("follower", "cache")} & parted(StorageRules)


def test_retention_above_the_high_watermark_is_no_step() -> None:
    found = bug("Z152").replacement
    assert found is not None
    assert ("retain", "start") in parted(found, range(40))
