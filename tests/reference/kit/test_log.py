"""Logs and epoch caches, each function beside a slow twin that says the same otherwise."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.log import CacheEntry, Entry, EpochCache, EpochEnd, Log
from tests.reference.quorum.builders import log_of, logs


def caches() -> st.SearchStrategy[EpochCache]:
    """Caches as P12 keeps them: ascending in epoch and in start."""
    return st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=5).map(
        lambda pairs: tuple(
            CacheEntry(epoch, start)
            for epoch, start in zip(
                sorted({e for e, _ in pairs}), sorted({s for _, s in pairs}), strict=False
            )
        )
    )


def slow_cache_of(records: Log) -> EpochCache:
    """Where each epoch first stands."""
    first: dict[int, int] = {}
    for offset, entry in enumerate(records):
        first.setdefault(entry.epoch, offset)
    return tuple(CacheEntry(epoch, start) for epoch, start in first.items())


def slow_end_offset_for_epoch(records: Log, epoch: int) -> EpochEnd:
    """The same answer read from the log itself, entry by entry."""
    at_or_below = [e.epoch for e in records if e.epoch <= epoch]
    above = [offset for offset, e in enumerate(records) if e.epoch > epoch]
    end = above[0] if above else len(records)
    if at_or_below:
        return EpochEnd(max(at_or_below), end)
    return EpochEnd(epoch if above else 0, end)


@given(logs())
def test_the_cache_of_a_log_says_where_each_epoch_begins(records: Log) -> None:
    assert log.cache_of(records) == slow_cache_of(records)


@given(logs(), st.integers(0, 6))
def test_end_offset_for_epoch_is_what_the_log_says(records: Log, epoch: int) -> None:
    found = log.end_offset_for_epoch(log.cache_of(records), len(records), epoch)
    assert found == slow_end_offset_for_epoch(records, epoch)


@given(caches(), st.integers(0, 12), st.integers(0, 7))
def test_end_offset_for_epoch_as_the_spec_words_it(cache: EpochCache, end: int, epoch: int) -> None:
    below = tuple(e for e in cache if e.epoch <= epoch)
    above = tuple(e for e in cache if e.epoch > epoch)
    expected = EpochEnd(
        epoch if not below and above else log.latest_epoch(below),
        above[0].start if above else end,
    )
    assert log.end_offset_for_epoch(cache, end, epoch) == expected


@given(logs(), logs())
def test_appending_to_the_cache_is_the_cache_of_the_longer_log(head: Log, tail: Log) -> None:
    later = tuple(Entry(e.epoch + 4, e.value) for e in tail)
    grown = log.cache_append(log.cache_of(head), len(head), later)
    assert grown == log.cache_of(head + later)


@given(logs(), st.integers(0, 8))
def test_truncating_the_cache_is_the_cache_of_the_shorter_log(records: Log, offset: int) -> None:
    kept = log.cache_truncate(log.cache_of(records), offset)
    assert kept == log.cache_of(log.prefix(records, offset))


@given(caches(), st.integers(0, 7), st.integers(0, 12))
def test_assigning_keeps_the_cache_ascending(cache: EpochCache, epoch: int, start: int) -> None:
    assigned = log.cache_assign(cache, epoch, start)
    pairs = itertools.pairwise(assigned)
    assert all(a.epoch < b.epoch and a.start < b.start for a, b in pairs)
    assert assigned[-1].epoch == epoch


def test_assign_replaces_the_tail_entries_that_it_contradicts() -> None:
    cache = (CacheEntry(1, 0), CacheEntry(2, 5), CacheEntry(3, 8))
    assert log.cache_assign(cache, 4, 5) == (CacheEntry(1, 0), CacheEntry(4, 5))
    assert log.cache_assign(cache, 2, 9) == (CacheEntry(1, 0), CacheEntry(2, 9))
    assert log.cache_assign(cache, 3, 9) is cache


def test_an_epoch_below_all_others_ends_where_the_first_begins() -> None:
    assert log.end_offset_for_epoch((CacheEntry(3, 0),), 4, 2) == EpochEnd(2, 0)
    assert log.end_offset_for_epoch((), 4, 2) == EpochEnd(0, 4)


@pytest.mark.parametrize(
    ("offset", "end", "limit", "expected"),
    [(0, 3, 2, (0, 1)), (1, 3, 9, (1, 2)), (2, 2, 9, ()), (5, 3, 2, ()), (0, 9, 9, (0, 1, 2, 3))],
)
def test_slices_stop_at_the_end_and_at_the_limit(
    offset: int, end: int, limit: int, expected: tuple[int, ...]
) -> None:
    records = tuple(Entry(1, value) for value in range(4))
    assert tuple(e.value for e in log.slice_of(records, offset, end, limit)) == expected


def test_prefixes() -> None:
    short, long = log_of(1, 1), log_of(1, 1, 2)
    assert log.is_prefix_of(short, long)
    assert not log.is_prefix_of(long, short)
    assert log.agree(short, long, 2)
    assert not log.agree(log_of(1, 2), long, 2)
    assert log.latest_epoch(log.cache_of(long)) == 2
    assert log.latest_epoch(()) == 0
