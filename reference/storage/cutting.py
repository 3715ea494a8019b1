"""What a follower gives up: truncation, starting anew (D7, D8; UnifiedLog.truncateTo)."""

from __future__ import annotations

from kraftcheck.reference.storage.batches import batches_of
from kraftcheck.reference.storage.log import Log


def append_or_start_anew(log: Log, data: bytes, epoch: int) -> int:
    """As a follower's fetcher does (D2, KAFKA-6975)."""
    first = next(iter(batches_of(data)))[1]
    if first.base < log.end and log.rules.starts_anew(log.end, log.start, first.base, first.last):
        truncate_fully(log, first.base)
    return log.append_as_follower(data, epoch)


def truncate(log: Log, offset: int) -> bool:
    """What lies at or above the offset goes (D7); whether there was anything."""
    if offset >= log.end:
        if log.epochs.cut_end(log.end):
            log.cut_epochs()
        return False
    if log.segments[0].base > offset:
        truncate_fully(log, offset)
        return True
    going = [each for each in log.segments if each.base > offset]
    log.segments = log.segments[: len(log.segments) - len(going)]
    for each in log.rules.cut_in_order(going):
        each.rename(".deleted")
        if log.rules.cut_synced():
            log.files.sync_folder(log.folder)
    for each in going:
        log.later(each.delete)
    log.active.truncate(offset, log.now)
    log.end = offset
    log.recovery_point = log.rules.recovery_point_cut(log.recovery_point, offset)
    if log.rules.cut_synced():
        log.active.sync()
        log.files.sync_folder(log.folder)
    log.delete_snapshots(going)
    if log.epochs.cut_end(offset):
        log.cut_epochs()
    log.start = min(log.start, offset)
    log.rebuild_producers(offset, clean=False)
    if log.high_watermark >= log.end:
        log.update_high_watermark(log.end)
    return True


def truncate_fully(log: Log, offset: int) -> None:
    """Nothing is left, and the next offset is this one (D8)."""
    # Kafka has the new segment before the last old one goes: there is an active one always.
    *before, last = log.rules.cut_in_order(log.segments)
    for each in before:
        each.rename(".deleted")
    for each in before:
        log.later(each.delete)
    if last.base == offset:
        last.rename(".deleted")
    log.segments = [log.open_segment(offset)]
    if last.base != offset:
        last.rename(".deleted")
    log.later(last.delete)
    log.end = offset
    log.recovery_point = min(log.recovery_point, offset)
    log.epochs.clear()
    log.producers.start_at(offset)
    log.start = offset
    log.rebuild_producers(offset, clean=False)
    log.high_watermark = offset
    log.update_high_watermark(offset)
