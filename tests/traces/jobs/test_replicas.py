"""What a coordinator that was elected has read, held against what its log says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.compaction.messages import ReadBatch
from kraftcheck.reference.partition.compaction.types import Constants, LoadedKey
from kraftcheck.reference.partition.types import BrokerRow, PartitionConstants, initial_row
from kraftcheck.traces.steps.cluster import Replicas

CONSTANTS = Constants((1,), (1, 2))
KEYS = ("a", "b")


def said(record: Mapping[str, str]) -> Mapping[str, str]:
    return record


def taken_over(state: str, *loaded: LoadedKey) -> str:
    """What is wrong when broker 1 takes over in this state: key `a` was written by record 7."""
    first, record = dict.fromkeys(KEYS, ""), {"a": "x", "b": ""}
    replicas = Replicas(CONSTANTS, said, first, {7: record})
    row = replace(replicas._rows[1], state=state, loaded=loaded)
    broker: BrokerRow = initial_row(PartitionConstants((1,), 1))
    assert replicas.wrong(1, ReadBatch(), row, broker) == ""
    return replicas.misread(1, record)


@pytest.mark.parametrize(
    ("state", "loaded", "why"),
    [
        ("Loaded", (LoadedKey(1, 7),), ""),
        ("Loaded", (), "has read  of a, and the log says x"),
        ("Idle", (LoadedKey(1, 7),), "has not read its log"),
        ("Loading", (LoadedKey(1, 7),), "has not read its log"),
    ],
)
def test_who_is_elected_has_loaded_what_the_log_says(
    state: str, loaded: tuple[LoadedKey, ...], why: str
) -> None:
    found = taken_over(state, *loaded)
    assert why in found and bool(found) is bool(why)
