"""Records of a metadata log that belong together: changes, and what happened to a broker.

Fencing, an unclean registration and a directory that has failed write changes first and their own
record last; unfencing and controlled shutdown the other way round (C6). All are of one batch: where
there is a gap between their offsets, they do not belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kraftcheck.kafka.observed.records import Record

CHANGE = "PARTITION_CHANGE_RECORD"
REGISTER = "REGISTER_BROKER_RECORD"
BROKER_CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"
FENCE, UNFENCE, STOP = "fence", "unfence", "controlled shutdown"
OFFLINE = "directory that has failed"


@dataclass
class Block:
    """A run of changes, with the broker's record before or after it; or one other record."""

    opening: Record | None = None
    changes: list[Record] = field(default_factory=list)
    closing: Record | None = None
    other: Record | None = None


def broker_event(record: Record) -> str | None:
    """What a record says of a broker; None: nothing of this kind."""
    if record.kind == REGISTER:
        return REGISTER
    if record.kind in ("FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"):
        return UNFENCE if record.kind.startswith("UN") else FENCE
    if record.kind != BROKER_CHANGE:
        return None
    if record.data.get("inControlledShutdown", 0) == 1:
        return STOP
    if record.data.get("logDirs"):
        return OFFLINE
    return {1: FENCE, -1: UNFENCE}.get(record.data.get("fenced", 0))


def blocks(records: Sequence[Record]) -> Iterator[Block]:
    at = 0
    while at < len(records):
        block = Block()
        if broker_event(records[at]) in (UNFENCE, STOP):
            block.opening, at = records[at], at + 1
        while at < len(records) and records[at].kind == CHANGE and _follows(records, at, block):
            block.changes.append(records[at])
            at += 1
        together = at < len(records) and _follows(records, at, block)
        event = broker_event(records[at]) if together else None
        if event in (FENCE, REGISTER, OFFLINE):
            block.closing, at = records[at], at + 1
        if block == Block():
            block.other, at = records[at], at + 1
        yield block


def _follows(records: Sequence[Record], at: int, block: Block) -> bool:
    """Whether nothing lies between a record and the block, if it has begun."""
    return block == Block() or records[at].offset == records[at - 1].offset + 1
