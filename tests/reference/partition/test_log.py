"""Logs, epoch caches and producer state of partitions against slow, obvious twins."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kraftcheck.reference.kit.log import CacheEntry
from kraftcheck.reference.partition.log import (
    GONE,
    NO_DIVERGENCE,
    Batch,
    EpochEnd,
    ProducerState,
    Record,
    RecordLog,
    batches_from,
    batches_up_to,
    cache_append,
    cache_trimmed,
    cache_truncate,
    duplicate_in,
    empty_log_at,
    end_offset_for,
    ends_batch,
    last_epoch_of,
    producers_after_append,
    producers_from,
    producers_of,
    sequence_error,
    state_of,
    trimmed,
)
from kraftcheck.reference.partition.messages import CLIENTS, ProduceRequest

Chunk = tuple[int, int, int]
"""Epoch, producer (-1: none), and how many records."""


def log_of(*chunks: Chunk) -> RecordLog:
    """A log of whole batches; each producer numbers its records on."""
    log: list[Record] = []
    following: dict[int, int] = {}
    for epoch, producer, count in chunks:
        first = following.get(producer, 0) if producer >= 0 else -1
        last = first + count - 1 if producer >= 0 else -1
        for at in range(count):
            sequence = first + at if producer >= 0 else -1
            known = (producer, 0 if producer >= 0 else -1, sequence, first, last)
            log.append(Record(epoch, len(log), *known))
        following[producer] = last + 1
    return tuple(log)


@st.composite
def logs(draw: st.DrawFn, max_size: int = 7) -> RecordLog:
    """Logs as leaders write them: epochs ascend."""
    chunk = st.tuples(st.integers(0, 5), st.integers(-1, 2), st.integers(1, 3))
    chunks = draw(st.lists(chunk, max_size=max_size))
    epochs = sorted(epoch for epoch, _, _ in chunks)
    return log_of(*((e, p, n) for e, (_, p, n) in zip(epochs, chunks, strict=True)))


# --- Epoch ends: P13


def slow_end_offset_for(log: RecordLog, epoch: int) -> EpochEnd:
    """Where the records of the largest epoch at or below `epoch` end, looking at every record."""
    epochs = [record.epoch for record in log]
    if epoch == -1 or not epochs:
        return NO_DIVERGENCE
    if epoch == epochs[-1]:
        return EpochEnd(epoch, len(log))
    above = [offset for offset, e in enumerate(epochs) if e > epoch]
    if not above:
        return NO_DIVERGENCE
    below = [e for e in epochs if e <= epoch]
    return EpochEnd(max(below) if below else epoch, above[0])


@given(logs(), st.integers(-1, 7))
def test_where_an_epoch_ends_agrees_with_a_slow_twin(log: RecordLog, epoch: int) -> None:
    cache = cache_append((), 0, log)
    assert end_offset_for(cache, len(log), epoch) == slow_end_offset_for(log, epoch)


@given(logs(), st.integers(0, 20), st.integers(0, 20))
def test_a_cache_that_is_cut_is_that_of_the_log_that_is_left(
    log: RecordLog, start: int, end: int
) -> None:
    cut = cache_truncate(cache_append((), 0, log), end)
    assert cut == cache_append((), 0, log[:end])
    start = min(start, len(log[:end]) - 1)
    if start >= 0:
        left = [(offset, r.epoch) for offset, r in enumerate(log[:end]) if offset >= start]
        expected: dict[int, int] = {}
        for offset, epoch in left:
            expected.setdefault(epoch, offset)
        assert cache_trimmed(cut, start) == tuple(CacheEntry(*item) for item in expected.items())


def test_a_cache_that_loses_everything_keeps_the_covering_epoch() -> None:
    cache = (CacheEntry(1, 0), CacheEntry(3, 4))
    assert cache_trimmed(cache, 9) == (CacheEntry(3, 9),)
    assert cache_trimmed(cache, 4) == (CacheEntry(3, 4),)
    assert cache_trimmed((), 4) == ()
    assert last_epoch_of(()) == -1 and last_epoch_of(cache) == 3


# --- Records: whole batches


@given(logs(), st.integers(0, 20), st.integers(0, 20), st.integers(1, 4))
def test_a_fetch_carries_whole_batches(log: RecordLog, at: int, end: int, limit: int) -> None:
    offset, end = min(at, len(log)), min(end, len(log))
    records = batches_from(log, offset, end, limit)
    assert records == log[offset : offset + len(records)]
    assert offset + len(records) <= max(offset, end)
    if offset < end:
        assert len(records) >= min(limit, end - offset)
        assert offset + len(records) == end or ends_batch(records[-1])
        first = offset + min(limit, end - offset)
        assert not any(map(ends_batch, log[first - 1 : offset + len(records) - 1]))


def test_a_batch_ends_where_its_last_sequence_number_is() -> None:
    log = log_of((1, 7, 3), (1, -1, 2), (2, 7, 1))
    assert [ends_batch(record) for record in log] == [False, False, True, True, True, True]
    assert [batches_up_to(log, last, 6) for last in (1, 2, 3, 4)] == [3, 3, 3, 4]
    assert batches_up_to(log, 1, 2) == 2


def test_what_is_deleted_keeps_its_place() -> None:
    log = log_of((1, -1, 3))
    assert trimmed(log, 2) == (GONE, GONE, log[2])
    assert trimmed(log, 5) == (GONE,) * 3
    assert trimmed(log, 0) == log
    assert empty_log_at(2) == (GONE, GONE)


# --- Producers: T1 to T3


def slow_producers(log: RecordLog, kept: int) -> dict[int, tuple[int, list[Batch]]]:
    """By producer: its epoch and its latest batches, looking at every batch."""
    found: dict[int, tuple[int, list[Batch]]] = {}
    for offset, record in enumerate(log):
        if record.producer >= 0 and record.sequence == record.first:
            epoch, batches = found.get(record.producer, (record.producer_epoch, []))
            if epoch != record.producer_epoch:
                batches = []
            batch = Batch(record.first, record.last, offset)
            found[record.producer] = (record.producer_epoch, [*batches, batch][-kept:])
    return found


@given(logs(), st.integers(1, 5))
def test_producer_state_agrees_with_a_slow_twin(log: RecordLog, kept: int) -> None:
    states = producers_of(log, kept)
    slow = slow_producers(log, kept)
    assert [state.producer for state in states] == sorted(slow)
    for state in states:
        assert (state.epoch, list(state.batches)) == slow[state.producer]


@given(logs(), logs(max_size=3))
def test_producer_state_may_be_continued(log: RecordLog, more: RecordLog) -> None:
    whole = log + more
    assert producers_from(producers_of(log, 5), whole, len(log), 5) == producers_of(whole, 5)


def request(producer: int, epoch: int, sequence: int, count: int = 1) -> ProduceRequest:
    return ProduceRequest(CLIENTS, 1, 0, -1, tuple(range(count)), producer, epoch, sequence)


def test_sequence_numbers_are_judged() -> None:
    states = (ProducerState(7, 2, (Batch(0, 2, 10), Batch(3, 3, 15))),)
    assert sequence_error(states, request(7, 2, 4)) == "NONE"
    assert sequence_error(states, request(7, 2, 5)) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert sequence_error(states, request(7, 2, 3)) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert sequence_error(states, request(7, 1, 4)) == "INVALID_PRODUCER_EPOCH"
    assert sequence_error(states, request(7, 3, 0)) == "NONE"
    assert sequence_error(states, request(7, 3, 4)) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert sequence_error(states, request(8, 0, 44)) == "NONE", "an unknown producer"
    assert sequence_error(states, request(-1, -1, -1)) == "NONE"


def test_a_batch_is_known_again_by_both_its_ends() -> None:
    states = (ProducerState(7, 2, (Batch(0, 2, 10), Batch(3, 3, 15))),)
    assert duplicate_in(states, request(7, 2, 0, 3)) == 10
    assert duplicate_in(states, request(7, 2, 3)) == 15
    assert duplicate_in(states, request(7, 2, 0, 2)) == -1
    assert duplicate_in(states, request(7, 3, 0, 3)) == -1
    assert duplicate_in(states, request(8, 2, 0, 3)) == -1
    assert duplicate_in(states, request(-1, -1, -1)) == -1


def test_states_stay_sorted() -> None:
    states = producers_after_append((), 5, 0, 0, 1, 0, 5)
    states = producers_after_append(states, 9, 0, 0, 1, 1, 5)
    states = producers_after_append(states, 3, 0, 0, 1, 2, 5)
    states = producers_after_append(states, 5, 1, 0, 2, 3, 5)
    assert [state.producer for state in states] == [3, 5, 9]
    assert state_of(states, 5) == ProducerState(5, 1, (Batch(0, 1, 3),))
    assert state_of(states, 4) is None
    assert producers_after_append(states, -1, -1, -1, 4, 9, 5) == states
