"""What a start makes of a partition's folder (D15 to D18; LogLoader)."""

from __future__ import annotations

from contextlib import suppress

from kraftcheck.reference.storage.batches import Batch, Corrupt
from kraftcheck.reference.storage.epochs import Epochs
from kraftcheck.reference.storage.files import Files
from kraftcheck.reference.storage.indexes import Damaged, OutOfOrder
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.producers import Producers
from kraftcheck.reference.storage.rules import StorageRules
from kraftcheck.reference.storage.segment import INDEX, LOG, TIMES, TXNS, Segment

CLEANED, SWAP, DELETED = ".cleaned", ".swap", ".deleted"


class Unloadable(Exception):
    """A folder that Kafka does not start with; the text says why."""


def load(
    files: Files,
    folder: str,
    rules: StorageRules,
    now: int,
    start: int = 0,
    recovery_point: int = 0,
    clean: bool = True,
) -> Log:
    """start, recovery_point: of the checkpoints. clean: whether there is a marker of a clean stop.

    Raises Unloadable, MalformedEpochs, OSError.
    """
    new = not files.list(folder)
    files.make_folder(folder)
    if new and rules.parent_synced():
        files.sync_folder("")
    log = Log(files, folder, rules, now, Epochs(files, folder, rules))
    log.start = start
    _finish_swaps(log)
    recovery_point = rules.recovers_from(recovery_point, start)
    _load_segments(log, recovery_point, clean)
    if rules.drops_below_start():
        ends = [each.base for each in log.segments[1:]]
        going = [one for one, end in zip(log.segments, ends, strict=False) if end <= start]
        log.segments = log.segments[len(going) :]
        log.delete(going)
    end = _recover(log, recovery_point, clean)
    log.active.open_indexes()
    if log.epochs.cut_end(end):
        log.cut_epochs()
    log.start = max(start, log.segments[0].base)
    if log.epochs.cut_start(start):
        log.tasks.append(log.epochs.write)
    log.producers.remove_strays([each.base for each in log.segments])
    log.end = end
    log.rebuild_producers(end, clean)
    log.recovery_point = max(rules.recovery_point(recovery_point, end, clean), log.start)
    log.high_watermark = log.start
    log.stabilise()
    return log


def base_of(name: str) -> int:
    """The offset in a file's name; -1: none."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isdecimal() and len(digits) == 20 else -1


def _finish_swaps(log: Log) -> None:
    """What a cleaner left goes, or takes its place (D15)."""
    files, folder = log.files, log.folder
    names = files.list(folder)
    cleaned = [name for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    least = min(map(base_of, cleaned), default=None)
    stale = [name for name in swaps if least is not None and base_of(name) >= least]
    logs = [name for name in stale if name.endswith(LOG + SWAP)]
    others = [name for name in names if name.endswith(DELETED) or name in {*stale} - {*logs}]
    # An index that is left alone would be taken for the rest of a swap; a swap, for a whole one.
    for going in (others, logs, cleaned):
        for name in going:
            files.unlink(f"{folder}/{name}")
        if going and log.rules.log_renamed_first():
            files.sync_folder(folder)
    swaps = [name for name in swaps if name not in stale]
    ranges = []
    for name in swaps:
        if name == f"{base_of(name):020}{LOG}{SWAP}":
            segment = Segment(files, folder, base_of(name), log.rules, log.now, SWAP)
            if log.rules.swap_by_index():
                end = segment.next_offset()
            else:
                end = max([segment.base, *(batch.last + 1 for _, batch in segment.batches())])
            ranges.append((segment.base, end))
    if ranges:
        low, high = min(base for base, _ in ranges), max(end for _, end in ranges)
        for name in files.list(folder):
            if not name.endswith(SWAP) and low <= base_of(name) < high:
                files.unlink(f"{folder}/{name}")
    _swap_in(log)
    if swaps:
        log.names_changed = True


def _swap_in(log: Log) -> None:
    files, folder = log.files, log.folder
    names = [name for name in files.list(folder) if name.endswith(SWAP)]
    logs = [name for name in names if name.endswith(LOG + SWAP)]
    if log.rules.log_renamed_first():
        names = [*logs, *(name for name in names if name not in logs)]
    for name in names:
        files.rename(f"{folder}/{name}", f"{folder}/{name.removesuffix(SWAP)}")
        if name in logs and log.rules.log_renamed_first():
            files.sync_folder(folder)


def _load_segments(log: Log, recovery_point: int, clean: bool) -> None:
    """Those without an offset index are recovered on the way (D16)."""
    files, folder = log.files, log.folder
    names = files.list(folder)
    for name in names:
        base = base_of(name)
        if base < 0:
            continue
        if name.endswith((INDEX, TIMES, TXNS)) and f"{base:020}{LOG}" not in names:
            files.unlink(f"{folder}/{name}")
        if not name.endswith(LOG):
            continue
        has_index = f"{base:020}{INDEX}" in names
        has_times = f"{base:020}{TIMES}" in names
        segment = Segment(files, folder, base, log.rules, log.now)
        try:
            if has_index and not has_times:
                segment.times.resize(0)
            segment.txns.check(base)
            damaged = False
        except Damaged:
            damaged = True
        early = log.rules.recovers_early(clean, base, recovery_point)
        missing = not has_index or (not has_times and log.rules.recovers_time_index())
        if (damaged or missing) and early:
            _recover_segment(log, segment)
        log.segments.append(segment)


def _recover_segment(log: Log, segment: Segment, before: Batch | None = None) -> int:
    """Its indexes, its part of the epochs, a snapshot of producers behind it."""
    own = log.producers
    scratch = Producers(log.files, log.folder)
    log.producers = scratch
    try:
        log.rebuild_producers(segment.base, clean=False)
        cut = segment.recover(scratch, log.epochs, before)
        scratch.snapshot()
    finally:
        log.producers = own
    return cut


def _recover(log: Log, recovery_point: int, clean: bool) -> int:
    """The segments from the recovery point on, until one is cut (D17); the end of the log."""
    if not clean:
        for segment in log.between(recovery_point, 1 << 62):
            below = [each for each in log.segments if each.base < segment.base]
            before = None
            with suppress(Corrupt):  # Below the recovery point nothing is looked at.
                before = below[-1].last_batch() if below else None
            if below and segment.base > recovery_point:
                first = segment.first_batch()
                rises = first is not None and (first.epoch, segment.base) in log.epochs.entries
                end = below[-1].next_offset()
                filled = first is not None or segment is not log.active
                if not log.rules.joins(segment.base, end, filled, rises):
                    _drop(log, segment.base)
                    break
            try:
                cut = _recover_segment(log, segment, before)
            except OutOfOrder:
                cut = segment.truncate(segment.base, log.now)
            if cut:
                _drop(log, segment.base + 1)
                break
    if log.segments and log.active.next_offset() < log.start:
        _drop(log, 0)
        log.epochs.clear()
        log.producers.start_at(log.start)
    if not log.segments:
        log.segments.append(log.open_segment(log.start))
    return log.active.next_offset()


def _drop(log: Log, base: int) -> None:
    """The segments from this base on, in an order in which a crash leaves no hole before one."""
    going = [each for each in log.segments if each.base >= base]
    log.segments = [each for each in log.segments if each.base < base]
    log.delete(log.rules.cut_in_order(going))
