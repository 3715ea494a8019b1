"""What must hold after a start, whatever a crash left: named, as in docs/reference/storage.md.

The log as it was in memory after each operation is a `Moment`. A crash falls between two of them:
what either promised may hold, but nothing that both did may be lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kraftcheck.reference.storage.batches import Batch, records_of
from kraftcheck.reference.storage.broker import Broker
from kraftcheck.reference.storage.indexes import Aborted
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.producers import Entry, Producers
from kraftcheck.reference.storage.rules import StorageRules


class Moment(NamedTuple):
    length: int
    """Of the disk's journal by then."""
    batches: tuple[Batch, ...]
    """Of the log."""
    full: tuple[Batch, ...]
    """Those that it would have without compaction."""
    start: int
    end: int
    durable: int
    """Below, all is flushed."""
    high_watermark: int
    told_start: int
    """What clients were told that is deleted below."""
    committed: int
    """What the log was told of the high watermark."""


class Broken(NamedTuple):
    """A promise that does not hold."""

    promise: str
    said: str


def batches_in(log: Log) -> list[Batch]:
    return [batch for segment in log.segments for _, batch in segment.batches()]


def broken(
    broker: Broker, before: Moment, after: Moment, moments: Sequence[Moment]
) -> Iterator[Broken]:
    """After a start from what a crash between these two moments left. moments: all up to there."""
    log = broker.log
    found = batches_in(log)
    compact = log.rules.config.compact
    yield from _prefix(log, found, moments, compact)
    yield from _flushed(log, found, before, after, compact)
    yield from in_order(found, moments, compact)
    yield from _epochs(log, found)
    if not log.start <= log.high_watermark <= log.end:
        yield Broken("HwWithinLog", f"{log.start} <= {log.high_watermark} <= {log.end}")
    if log.start > max(before.committed, after.committed):
        yield Broken("HwWithinLog", f"start {log.start}, committed {after.committed}")
    if log.start > max(before.start, after.start):
        yield Broken("RecoveredIsPrefix", f"begins at {log.start}, and nobody deleted that")
    told = min(before.told_start, after.told_start)
    if log.start < told:
        yield Broken("DeletedStaysDeleted", f"{log.start} < {told}")
    yield from indexes(log)
    if not compact:
        whole = log.segments[0].base == 0 and log.start == 0
        yield from producers(log, found) if whole else producers_left(log, found)
    if compact:
        yield from _latest(log, found, moments)


def _same(one: Batch, other: Batch) -> bool:
    return one.data == other.data


def _prefix(
    log: Log, found: Sequence[Batch], moments: Sequence[Moment], compact: bool
) -> Iterator[Broken]:
    """RecoveredIsPrefix: of the log as it was at some moment."""
    if not found:
        return
    for moment in moments:
        known = [each for each in moment.full if each.base >= found[0].base]
        if compact:
            bases = {each.base: each for each in known}
            if all(each.base in bases and _made_of(each, bases[each.base]) for each in found):
                return
        elif len(known) >= len(found) and all(map(_same, found, known)):
            return
    said = ", ".join(f"{each.base}-{each.last} e{each.epoch}" for each in found)
    yield Broken("RecoveredIsPrefix", f"{said} was the log at no time")


def _made_of(cleaned: Batch, whole: Batch) -> bool:
    if cleaned.data == whole.data:
        return True
    records = {each.offset: each[1:4] for each in records_of(whole)}
    return (cleaned.base, cleaned.last, cleaned.epoch) == (
        whole.base,
        whole.last,
        whole.epoch,
    ) and all(records.get(each.offset) == each[1:4] for each in records_of(cleaned))


def _flushed(
    log: Log, found: Sequence[Batch], before: Moment, after: Moment, compact: bool
) -> Iterator[Broken]:
    """FlushedSurvives: unless it was deleted, or cut."""
    durable = min(before.durable, after.durable)
    start = max(before.start, after.start)
    bases = {each.base for each in found}
    cut = min(before.end, after.end)
    if compact:
        kept = [each.last for each in before.full if each.last < min(durable, cut)]
        if kept and max(kept) >= max(log.end, start):
            yield Broken("FlushedSurvives", f"up to {durable} was flushed, the end is {log.end}")
        return
    for each in before.batches:
        if start <= each.base and each.last < min(durable, cut) and each.base not in bases:
            yield Broken("FlushedSurvives", f"{each.base}-{each.last}, flushed up to {durable}")
            return


def in_order(found: Sequence[Batch], moments: Sequence[Moment], compact: bool) -> Iterator[Broken]:
    """NoHole, OffsetsAscend, EpochsAscend."""
    for one, other in pairwise(found):
        if other.base <= one.last:
            yield Broken("OffsetsAscend", f"{other.base} comes after {one.last}")
        if other.epoch < one.epoch:
            yield Broken("EpochsAscend", f"epoch {other.epoch} comes after {one.epoch}")
        if other.base > one.last + 1 and not compact:
            known = any(
                (one.last, other.base) == (a.last, b.base)
                for moment in moments
                for a, b in pairwise(moment.full)
            )
            if not known:
                yield Broken("NoHole", f"{one.last + 1} to {other.base - 1}")


def _epochs(log: Log, found: Sequence[Batch]) -> Iterator[Broken]:
    """EpochCacheSound."""
    starts = dict(log.epochs.entries)
    first: dict[int, int] = {}
    for each in found:
        if each.last >= log.start:
            first.setdefault(each.epoch, each.base)
    for epoch, base in first.items():
        if epoch not in starts:
            yield Broken("EpochCacheSound", f"epoch {epoch}, from {base} on, is not known")
        elif starts[epoch] > max(base, log.start):
            yield Broken("EpochCacheSound", f"epoch {epoch} begins at {starts[epoch]}, not {base}")
    for epoch, start in log.epochs.entries:
        if start > log.end and epoch not in first:
            yield Broken("EpochCacheSound", f"epoch {epoch} begins at {start}, behind the end")
        for each in found:
            if each.base <= start <= each.last and start > log.start and each.epoch != epoch:
                yield Broken("EpochCacheSound", f"epoch {epoch} at {start}, where {each.epoch} is")


def indexes(log: Log) -> Iterator[Broken]:
    """IndexLowerBound: also that retention sees the largest timestamp."""
    for segment in log.segments:
        rows = list(segment.batches())
        places = {position: batch for position, batch in rows}
        for offset, position in segment.offsets.rows:
            batch = places.get(position)
            if batch is None or batch.last != segment.base + offset:
                yield Broken("IndexLowerBound", f"{segment.base}: {offset} leads to {position}")
        largest = max((batch.max_time for _, batch in rows), default=-1)
        if rows and segment.latest[0] != largest:
            yield Broken("IndexLowerBound", f"{segment.base}: {segment.latest[0]}, not {largest}")
        for time, offset in segment.times.rows:
            upto = [each.max_time for _, each in rows if each.last <= segment.base + offset]
            if upto and max(upto) > time:
                yield Broken("IndexLowerBound", f"{segment.base}: {time} does not bound {offset}")


def producers(log: Log, found: Sequence[Batch]) -> Iterator[Broken]:
    """ProducerStateReplays and TxnIndexExact, of a log that is whole."""
    fresh = Producers(log.files, log.folder)
    rules = StorageRules(log.rules.config)
    expected: list[Aborted] = []
    for batch in found:
        if batch.producer < 0:
            continue
        made = fresh.prepare(batch.producer, "replication")
        done = made.append(batch)
        fresh.update(made)
        if done is not None:
            if done.aborted:
                stable = rules.completed_lso(
                    fresh.open_txns(), done.first, done.producer, done.last
                )
                expected.append(Aborted(done.producer, done.first, done.last, stable))
            fresh.complete(done)
    for producer in fresh.entries.keys() | log.producers.entries.keys():
        known = [of.entries.get(producer, Entry()) for of in (log.producers, fresh)]
        own, expected_ = map(_told, known)
        if own != expected_:
            yield Broken("ProducerStateReplays", f"{producer}: {own}, not {expected_}")
    if fresh.open != log.producers.open:
        yield Broken("ProducerStateReplays", f"open are {log.producers.open}, not {fresh.open}")
    there = [row for segment in log.segments for row in segment.txns.rows]
    if there != expected:
        yield Broken("TxnIndexExact", f"{there}, not {expected}")


def producers_left(log: Log, found: Sequence[Batch]) -> Iterator[Broken]:
    """Judge ProducerStateReplays and TxnIndexExact of a log whose first records were deleted.

    What its records say is known, and perhaps more. What began below them is not asked for.
    """
    there = [batch for batch in found if batch.base >= log.start]
    fresh = Producers(log.files, log.folder)
    expected: set[tuple[int, int, int]] = set()
    for batch in there:
        if batch.producer < 0:
            continue
        made = fresh.prepare(batch.producer, "replication")
        done = made.append(batch)
        fresh.update(made)
        if done is not None:
            fresh.complete(done)
            if done.aborted:
                expected.add((done.producer, done.first, done.last))
    for producer, entry in fresh.entries.items():
        known = log.producers.entries.get(producer, Entry())
        last = tuple(each[:3] for each in entry.batches)
        own = tuple(each[:3] for each in known.batches)
        if known.epoch != entry.epoch or own[len(own) - len(last) :] != last:
            yield Broken("ProducerStateReplays", f"{producer}: {own}, not {last}")
    rows = {row[:3] for segment in log.segments for row in segment.txns.rows}
    # A transaction that began below the start has other offsets to whoever cannot see that.
    unseen = {row for row in rows if row[1] < log.start}
    seen = {row for row in expected if all(row[2] != each[2] for each in unseen)}
    if not seen <= rows:
        yield Broken("TxnIndexExact", f"{sorted(seen - rows)} are missing")


def _told(entry: Entry) -> tuple[object, ...]:
    """But for the times of batches, which a snapshot does not keep."""
    batches = tuple(each[:3] for each in entry.batches)
    return entry.epoch, batches, entry.coordinator_epoch, entry.time, entry.open


# -- Compaction


def visible(batches: Sequence[Batch], aborted: Sequence[Aborted]) -> dict[bytes, bytes | None]:
    """The last value of each key that a committed reader sees of these, but for what is open."""
    found: dict[bytes, bytes | None] = {}
    for batch in batches:
        hidden = batch.is_transactional and any(
            each.producer == batch.producer and each.first <= batch.base < each.last
            for each in aborted
        )
        if batch.is_control or hidden:
            continue
        for record in records_of(batch):
            if record.key is not None:
                found[record.key] = record.value
    return found


def _aborted(batches: Sequence[Batch]) -> tuple[list[Aborted], dict[int, int]]:
    """Of a log that is whole; and the first offset of what is open, by producer."""
    open_: dict[int, int] = {}
    found: list[Aborted] = []
    for batch in batches:
        if batch.marker in ("ABORT", "COMMIT"):
            first = open_.pop(batch.producer, None)
            if first is not None and batch.marker == "ABORT":
                found.append(Aborted(batch.producer, first, batch.last, 0))
        elif batch.is_transactional and not batch.is_control and batch.producer not in open_:
            open_[batch.producer] = batch.base  # An emptied marker opens nothing, as in Kafka.
    return found, open_


def _latest(log: Log, found: Sequence[Batch], moments: Sequence[Moment]) -> Iterator[Broken]:
    """Judge CompactionKeepsLatest and AbortedInvisible of what is below every open transaction.

    Nothing replaces a record without a key. Also LastSequenceKept, MarkersKept, EndKept.
    """
    if log.start > 0 or log.segments[0].base > 0:
        return
    full = next(
        (
            moment.full
            for moment in reversed(moments)
            if moment.full
            and all(any(each.base == whole.base for whole in moment.full) for each in found)
        ),
        (),
    )
    whole = [each for each in full if each.last < log.end]
    aborted, open_ = _aborted(whole)
    still_open = _aborted(found)[1]
    if still_open.keys() - open_.keys():
        yield Broken("MarkersKept", f"open are {still_open}, not {open_}")
    stable = min(open_.values(), default=log.end)
    last = found[-1].last if found else -1
    if whole and last < whole[-1].last < log.end:
        yield Broken("EndKept", f"{last} is the last offset, {whole[-1].last} was")
    expected = visible([each for each in whole if each.last < stable], aborted)
    rows = [row for segment in log.segments for row in segment.txns.rows]
    seen = visible([each for each in found if each.last < stable], rows)
    for key, value in expected.items():
        if value is None and seen.get(key) is None:
            continue
        if seen.get(key) != value:
            name = "CompactionKeepsLatest" if key not in seen or not aborted else "AbortedInvisible"
            yield Broken(name, f"{key!r} is {seen.get(key)!r}, not {value!r}")
    keyless = [_keyless(each, upto) for each, upto in ((whole, stable), (found, log.end))]
    for offset in sorted(keyless[0] - keyless[1]):
        yield Broken("CompactionKeepsLatest", f"the record at {offset}, without a key, is gone")
    for key in seen.keys() - expected.keys():
        yield Broken("AbortedInvisible", f"{key!r} is {seen[key]!r}, and was never committed")
    there = _last(found)
    for producer, known in _last(whole).items():
        if there.get(producer) != known:
            yield Broken("LastSequenceKept", f"{producer}: {there.get(producer)}, not {known}")


def _keyless(batches: Sequence[Batch], upto: int) -> set[int]:
    """Offsets of records without a key that no transaction hides."""
    return {
        record.offset
        for batch in batches
        if not batch.is_control and not batch.is_transactional and batch.last < upto
        for record in records_of(batch)
        if record.key is None
    }


def _last(batches: Sequence[Batch]) -> dict[int, tuple[int, int]]:
    """Epoch and last sequence of each producer of data, by the log.

    A marker of a later epoch ends the one before.
    """
    found: dict[int, tuple[int, int]] = {}
    for each in batches:
        if each.producer >= 0 and not each.is_control:
            found[each.producer] = each.producer_epoch, each.last_sequence
        elif each.producer in found and each.producer_epoch > found[each.producer][0]:
            del found[each.producer]
    return found
