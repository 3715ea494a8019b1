"""Properties of a broker's replica of a compacted partition.

The twin of specs/partition/compaction/CompactionProperties.tla.

Law of this file: nothing here asks a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraftcheck.reference.kit.properties import Declared, of_each_broker
from kraftcheck.reference.kit.protocol import Property
from kraftcheck.reference.partition.compaction.types import Batch, CompactedReplica, LoadedKey

_property = Declared("before", "after")


def latest_records(batches: Iterable[tuple[Batch, tuple[int, ...]]]) -> tuple[LoadedKey, ...]:
    """Return the effective value of each of these keys that has one in the batches."""
    last = {key: batch for batch, keys in batches for key in keys}
    of = [LoadedKey(key, b.value) for key, b in last.items() if key not in b.removed]
    return tuple(sorted(of))


def said_by_all(row: CompactedReplica) -> tuple[LoadedKey, ...]:
    """What the log says of which nothing was cleaned."""
    return latest_records((batch, batch.keys) for batch in row.log)


@_property("state")
def kept_is_replayed(after: CompactedReplica) -> str | None:
    """The remaining records give the same last value of each key as all records would.

    A replica that lacks a superseding record is excepted; it is not in the ISR.

    Misses: a replica that was never cleaned and whose log is wrong.
    """
    if len(after.log) < after.covered:
        return None
    left, whole = latest_records((batch, batch.kept) for batch in after.log), said_by_all(after)
    return None if left == whole else f"what is left says {_told(left)}, all said {_told(whole)}"


@_property("state")
def loaded_is_replayed(after: CompactedReplica) -> str | None:
    """A coordinator that has loaded has the state of the log before any cleaning.

    Misses: wrong state before the load has ended.
    """
    if after.state != "Loaded" or after.loaded == (whole := said_by_all(after)):
        return None
    return f"loaded is {_told(after.loaded)}, the log says {_told(whole)}"


@_property("state")
def cleans_committed(after: CompactedReplica) -> str | None:
    """The cleaner stays below the high watermark and below the active segment.

    Misses: records that were cleaned too early and are committed by now.
    """
    if after.clean_to > after.high_watermark:
        return f"it cleans up to {after.clean_to}, the high watermark is {after.high_watermark}"
    if after.clean_to > after.segments[-1]:
        return f"it cleans up to {after.clean_to}, in the segment from {after.segments[-1]} on"
    return None


@_property("state")
def offsets_stay(after: CompactedReplica) -> str | None:
    """The position of a batch is its offset.

    Misses: the content of the batch.
    """
    for offset, batch in enumerate(after.log):
        if batch.offset != offset:
            return f"the batch of offset {batch.offset} stands at {offset}"
    return None


def _told(known: tuple[LoadedKey, ...]) -> str:
    return ", ".join(f"key {each.key} of {each.value}" for each in known) or "nothing"


PROPERTIES: Final[tuple[Property, ...]] = of_each_broker(
    _property.all, lambda constants: constants.replicas
)
"""All of them, in the order of the spec."""
