"""What retention lets go (D10; UnifiedLog.deleteOldSegments)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.rules import Config

Reason = Literal["log start", "size", "time"]


class Kept(NamedTuple):
    """A segment as retention sees it."""

    end: int
    size: int
    is_active: bool
    latest: Callable[[], int]
    """Asked for its largest timestamp."""


def deletable(
    segments: Sequence[Kept],
    reason: Reason,
    config: Config,
    log_start: int,
    now: int,
    bound: int,
) -> int:
    """D10: how many of the oldest segments go. bound: that of the rule."""
    spare = sum(each.size for each in segments) - config.retention_bytes
    if reason == "size" and (config.retention_bytes < 0 or spare < 0):
        return 0
    if reason == "time" and config.retention_ms < 0:
        return 0
    for count, each in enumerate(segments):
        if bound < each.end or (each.is_active and each.size == 0 and reason != "time"):
            return count
        match reason:
            case "log start":
                going = not each.is_active and each.end <= log_start
            case "size":
                going = spare - each.size >= 0
            case "time":
                going = now - each.latest() > config.retention_ms
        if not going or (each.is_active and each.size == 0):
            return count
        spare -= each.size
    return len(segments)


def delete_old(log: Log) -> int:
    """What retention lets go (D10); how many segments."""
    reasons: tuple[Reason, ...] = ("log start", "size", "time")
    if log.rules.config.compact:
        reasons = ("log start",)
    return sum(_delete_old(log, reason) for reason in reasons)


def _delete_old(log: Log, reason: Reason) -> int:
    ends = [*(each.base for each in log.segments[1:]), log.end]
    rows = [
        Kept(end, each.size, each is log.active, each.largest_time)
        for each, end in zip(log.segments, ends, strict=True)
    ]
    bound = log.rules.retention_bound(log.high_watermark, log.end)
    count = deletable(rows, reason, log.rules.config, log.start, log.now, bound)
    if not count:
        return 0
    if count == len(log.segments):
        log.roll()
    going, kept = log.segments[:count], log.segments[count:]
    if kept[0].base > log.start:
        log.raise_start(kept[0].base)
    log.segments = kept
    log.delete(going)
    return count
