"""Control batches by their kind: what ends a transaction, and what is of the quorum."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kraftcheck.kafka.disks.batches import Bad, Batch, batches, next_whole
from kraftcheck.reference.storage.batches import (
    CONTROL,
    TRANSACTIONAL,
    Batch as Encoded,
    Record,
    encoded,
)
from tests.kafka.disks.written import Laid, bytes_of


@pytest.mark.parametrize(
    ("attributes", "kind", "marker"),
    [
        (CONTROL | TRANSACTIONAL, 0, "ABORT"),
        (CONTROL | TRANSACTIONAL, 1, "COMMIT"),
        (CONTROL | TRANSACTIONAL, 2, "other"),
        (CONTROL, 0, "other"),
        (CONTROL, 1, "other"),
        (CONTROL, 2, "other"),
        (TRANSACTIONAL, 1, ""),
        (0, 1, ""),
    ],
)
def test_only_a_control_batch_of_a_transaction_ends_it(
    attributes: int, kind: int, marker: str, tmp_path: Path
) -> None:
    """Batches of the quorum are control batches as well (a leader's change, a snapshot's ends)."""
    record = Record(0, 0, struct.pack(">hh", 0, kind), b"\0\0")
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(encoded(Encoded(0, 0, 1, attributes, 0, 0, 7, 0, -1, 1, b""), [record]))
    (found,) = batches(log)
    assert isinstance(found, Batch) and found.marker == marker


def test_where_whole_batches_go_on(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020}.log"
    first, second = bytes_of(Laid(0)), bytes_of(Laid(1))
    for torn in (first[:70] + b"y" + first[71:], first[:-1], first[:9] + b"\x7f" + first[10:]):
        log.write_bytes(torn + second)
        (bad,) = batches(log)
        assert isinstance(bad, Bad)
        found = next_whole(log, bad)
        assert found is not None and (found.base, found.position) == (1, len(torn))
        log.write_bytes(torn + second[:-1] + b"\2" * 900)
        assert next_whole(log, bad) is None


def test_looking_for_whole_batches_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place of these bytes may begin a batch of 80 bytes, as far as its header says."""
    monkeypatch.setattr("kraftcheck.kafka.disks.batches.SUMMED_MAX", 800)
    summed = []

    def none(place: int, data: memoryview, size: int) -> Bad:
        summed.append(place)
        return Bad(place, size, "")

    monkeypatch.setattr("kraftcheck.kafka.disks.batches._batch", none)
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(b"\0\0\0\x44\0\0\0\0\2" * 1000)
    assert next_whole(log, Bad(0, 9000, "")) is None
    assert len(summed) == 10
