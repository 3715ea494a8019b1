"""What a producer that is told each request says, to brokers that answer as they are told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.record.memory_records import MemoryRecords

from experiments.by_request import DONE, Connections, Producer
from kraftcheck.kafka.live.cluster import Cluster, ClusterError, State

NONE, FENCED, CONCURRENT = 0, 90, 51
HEARD = {"producer_id": 7, "producer_epoch": 3}


class PlayedConnections(Connections):
    """Answers with these error codes, one after the other; each names id 7 and epoch 3."""

    def __init__(self, folder: Path, *codes: int) -> None:
        super().__init__(Cluster(folder, State("4.3.1", "single", False, {}, ())))
        self._codes = list(codes)
        self.asked: list[tuple[str, str, int]] = []

    def ask(self, name: str, request: Any, version: int) -> Any:
        self.asked.append((name, type(request).__name__, version))
        return SimpleNamespace(error_code=self._codes.pop(0), **HEARD)


def test_what_may_be_asked_again_is(tmp_path: Path) -> None:
    producer, by = Producer("x", 2, "b2"), PlayedConnections(tmp_path, CONCURRENT, NONE)
    producer.init(by, "b1")
    assert by.asked == [("b1", "InitProducerIdRequest", 4)] * 2


def test_what_is_refused_for_good_is_not_asked_again(tmp_path: Path) -> None:
    by = PlayedConnections(tmp_path, FENCED)
    with pytest.raises(ClusterError, match="ProducerFencedError"):
        Producer("x", 2, "b2").must_end(by, "b1", committed=True)
    assert len(by.asked) == 1


@pytest.mark.parametrize(("version", "of"), [(1, 3), (2, 5)])
def test_it_speaks_its_version(version: int, of: int, tmp_path: Path) -> None:
    by = PlayedConnections(tmp_path, NONE)
    assert Producer("x", version, "b2").end(by, "b1", committed=True) == DONE
    assert by.asked == [("b1", "EndTxnRequest", of)]


def test_a_batch_is_of_its_producer(tmp_path: Path) -> None:
    producer = Producer("x", 1, "b2")
    producer.init(PlayedConnections(tmp_path, NONE), "b1")
    part = producer.batch(12).topic_data[0].partition_data[0]
    (batch,) = iter(MemoryRecords(bytes(part.records)).next_batch, None)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 3, 0)
    assert batch.is_transactional and [each.value for each in batch] == [b"12"]
