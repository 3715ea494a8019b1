"""What a partition's controller is told of the others of its cluster, held against these.

In Kafka one controller knows all partitions, and whether a broker may stop is asked of all at once
(R14). Here each partition has a controller of its own, which is told.

Law of this file: it asks no rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraftcheck.reference.partition.moving.messages import OtherPartitions
from kraftcheck.reference.partition.moving.types import MovingControllerRow
from kraftcheck.reference.partition.types import UNDEFINED


def misinformed(brokers: tuple[int, ...], others: Iterable[Any], input: Any) -> str:
    """Why what a controller is told is not so, in words; empty: it is, or is about nothing else.

    others: the rows of the controllers of all other partitions, and perhaps of who is none.
    """
    if not isinstance(input, OtherPartitions):
        return ""
    rows = [row for row in others if isinstance(row, MovingControllerRow)]
    so = any([_holds_back(brokers, row, input.broker) for row in rows])
    if so == input.hold:
        return ""
    return f"it is told that others hold back broker {input.broker}: {input.hold}, which is {so}"


def _holds_back(brokers: tuple[int, ...], row: MovingControllerRow, broker: int) -> bool:
    """Whether a broker leads the partition, or stops and somebody active has not read that yet."""
    if row.partition.leader == broker:
        return True
    at = brokers.index(broker)
    offset, stops = row.contacts[at].shutdown_offset, row.registrations[at].stopping
    return stops and any(
        known.epoch != UNDEFINED
        and not (known.fenced or known.stopping)
        and contact.metadata_offset < offset
        for known, contact in zip(row.registrations, row.contacts, strict=True)
    )
