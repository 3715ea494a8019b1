"""What cleaned replicas are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.partition.compaction.types import CompactedReplica
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.partition.compaction.plants import (
    CLEANED,
    FIRST,
    LAST,
    PLANTED,
    REMOVED,
    TWO,
    WRITTEN,
    cleaned,
)
from tests.reference.plain import Rows
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    of = Abstraction(TWO)
    return {"replicas": function({n: of.row(row) for n, row in rows.items()})}


def rows() -> Iterator[CompactedReplica]:
    yield FIRST[1]
    yield CLEANED
    yield cleaned(log=(replace(WRITTEN, kept=()), REMOVED, LAST))
    for clean_to, done in itertools.product((0, 2, 3), (0, 1, 2)):
        yield cleaned(segments=(0, 3), clean_to=clean_to, cleaned=done)
    for at in range(4):
        yield cleaned(state="Loading", position=at)
        yield cleaned(state="Loading", position=at, log=(WRITTEN, replace(REMOVED, kept=()), LAST))


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for row in rows():
        yield from (("CleanableEnd", (row, at)) for at in range(4))
        yield "NextToRead", (row,)
        for at in range(1, 1 + len(row.log)):
            yield from (("IsSuperseded", (row, at, key)) for key in TWO.keys)
            yield from (("MayDropTombstone", (row, at, expired)) for expired in range(4))
    for batches in ((LAST,), (WRITTEN, REMOVED), (replace(WRITTEN, kept=()), LAST)):
        yield "CopiedBatches", (batches,)


PLAIN: Final = Plain(
    PLANTED,
    "CompactionProperties",
    (),
    variables,
    questions,
    (TWO,),
    ("Z197", {"CleanableEnd"}),
)
