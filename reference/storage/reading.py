"""What a fetch reads: nothing at or above the high watermark (D22; LocalLog.read, FileRecords).

It has two steps, between which others append: where to read is settled, and then it is read.
"""

from __future__ import annotations

from typing import NamedTuple

from kraftcheck.reference.storage.batches import Batch, batches_of
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.segment import Segment


class Reading(NamedTuple):
    """position, limit: of the first byte, and behind the last."""

    segment: Segment
    position: int
    limit: int
    whole: bool
    """Whether that is the end of the file."""


def begin(log: Log, offset: int) -> Reading | None:
    """Up to the high watermark, and no further than the segment. None: there is nothing."""
    for segment in log.between(offset, log.high_watermark):
        place = segment.find(offset)
        if place is None:
            continue
        limit = position = place[0]
        for at, batch in segment.batches(position):
            if batch.last >= log.high_watermark:
                break
            limit = at + batch.size
        if limit == position:
            return None
        return Reading(segment, position, limit, limit == segment.size)
    return None


def finish(log: Log, reading: Reading) -> list[Batch]:
    end = reading.limit
    if reading.whole and not log.rules.one_limit():
        end = reading.segment.size
    return [batch for _, batch in batches_of(reading.segment.data()[:end], reading.position)]
