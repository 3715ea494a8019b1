"""A violation of each property of cleaned replicas: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.partition.compaction.protocol import COMPACTION
from kraftcheck.reference.partition.compaction.types import (
    Batch,
    CompactedReplica,
    Constants,
    LoadedKey,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1,), (1, 2))
WRITTEN: Final = Batch(0, 11, (1, 2), (), (2,))
"""Key 1 is superseded."""
REMOVED: Final = Batch(1, 12, (1,), (1,), (1,))
LAST: Final = Batch(2, 13, (2,), (), (2,))
CLEANED: Final = CompactedReplica(
    log=(WRITTEN, REMOVED, LAST),
    aged=(2,),
    segments=(0, 2),
    cleaned=2,
    covered=2,
    high_watermark=2,
    clean_to=0,
    clean_next=0,
    state="Loaded",
    position=3,
    loaded=(LoadedKey(2, 13),),
)


def cleaned(**fields: Any) -> CompactedReplica:
    """Of three batches the first two were cleaned; a coordinator has loaded all."""
    return replace(CLEANED, **fields)


def plants() -> tuple[Plant, ...]:
    hole = replace(LAST, kept=())
    changed = {
        "KeptIsReplayed": (cleaned(log=(WRITTEN, REMOVED, hole)),),
        "LoadedIsReplayed": (
            cleaned(loaded=()),
            cleaned(loaded=(LoadedKey(1, 11), LoadedKey(2, 13))),
            cleaned(loaded=(LoadedKey(2, 11),)),
        ),
        "CleansCommitted": (
            cleaned(segments=(0, 3), clean_to=3),
            cleaned(high_watermark=3, clean_to=3),
        ),
        "OffsetsStay": (cleaned(log=(WRITTEN, replace(LAST, offset=2))),),
    }
    return tuple(
        [Plant(name, {1: CLEANED}, {1: row}) for name, rows in changed.items() for row in rows]
    )


FIRST: Final[Rows] = initial_rows(COMPACTION, TWO)
PLANTED: Final = Planted(COMPACTION, TWO, FIRST, {1: CLEANED}, plants())
