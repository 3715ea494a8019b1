"""Rules of the partition against slow, obvious twins, and what they say at their edges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.partition.log import EpochEnd, RecordLog, cache_append
from kraftcheck.reference.partition.messages import BrokerState, Member, Partition
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    NOBODY,
    BrokerRow,
    Kind,
    PartitionConstants,
    Pending,
    Registration,
    Remote,
    initial_partition,
    initial_row,
)
from tests.reference.partition.test_log import log_of, logs, slow_end_offset_for

FOUR = PartitionConstants((4, 2, 7, 1), min_insync_replicas=2)
RULES = PartitionRules(FOUR)


def leader(**fields: Any) -> BrokerRow:
    """Broker 2 leads."""
    known = {"role": "Leader", "leader": 2, "leader_epoch": 1, "epoch_start": 0, "isr": (2,)}
    return replace(initial_row(FOUR), **{**known, **fields})


# --- The high watermark: P6

remotes = st.builds(Remote, st.integers(-1, 6), st.integers(-1, 1), st.booleans())
known = st.builds(BrokerState, st.integers(0, 1), st.booleans(), st.booleans())


@st.composite
def leaders(draw: st.DrawFn) -> BrokerRow:
    brokers = FOUR.brokers
    isr = tuple(sorted({2, *draw(st.sets(st.sampled_from(brokers)))}))
    kinds: tuple[Kind, ...] = ("None", "Expand", "Shrink")
    kind = draw(st.sampled_from(kinds))
    others = [b for b in brokers if (b in isr) is (kind == "Shrink") and b != 2]
    changed = draw(st.sets(st.sampled_from(others))) if others and kind != "None" else set()
    members = {*isr, *changed} if kind == "Expand" else {*isr} - changed
    pending = Pending(kind, tuple(Member(b, 0) for b in sorted(members)), refused=False)
    row = leader(
        log=log_of((1, -1, draw(st.integers(0, 6)))),
        isr=isr,
        pending=pending if changed else NO_PENDING,
        remotes=tuple(draw(st.lists(remotes, min_size=4, max_size=4))),
    )
    image = replace(row.image, brokers=tuple(draw(st.lists(known, min_size=4, max_size=4))))
    return replace(row, image=image)


def slow_bound(row: BrokerRow) -> int:
    """The lowest end of whoever must be waited for, asked one broker after the other."""
    ends = {2: len(row.log)}
    for b, remote, state in zip(FOUR.brokers, row.remotes, row.image.brokers, strict=True):
        member = b in row.isr
        joining = row.pending.kind == "Expand" and b in [m.broker for m in row.pending.isr]
        active = not state.fenced and not state.stopping
        same = remote.broker_epoch != -1 and remote.broker_epoch == state.epoch
        near = remote.caught_up or remote.end_offset == len(row.log)
        if b != 2 and (member or joining or (active and same and near)):
            ends[b] = remote.end_offset
    return min(ends.values())


@given(leaders())
def test_the_high_watermark_agrees_with_a_slow_twin(row: BrokerRow) -> None:
    assert RULES.high_watermark_bound(2, row) == slow_bound(row)


@given(leaders())
def test_the_maximal_isr_holds_the_committed_one(row: BrokerRow) -> None:
    maximal = RULES.maximal_isr(row)
    assert set(row.isr) <= set(maximal) and list(maximal) == sorted(maximal)
    assert maximal == row.isr or row.pending.kind == "Expand"


# --- The truncation point: P14


def slow_truncation_point(log: RecordLog, high_watermark: int, diverging: EpochEnd) -> int:
    if diverging.epoch == -1:
        return high_watermark
    own = slow_end_offset_for(log, diverging.epoch)
    candidates = [len(log)]
    if own.epoch != -1:
        candidates.append(own.end_offset)
    if own.epoch in (-1, diverging.epoch):
        candidates.append(diverging.end_offset)
    return min(candidates)


@given(logs(), st.integers(-1, 6), st.integers(0, 20), st.integers(0, 20))
def test_the_truncation_point_agrees_with_a_slow_twin(
    log: RecordLog, epoch: int, end: int, high_watermark: int
) -> None:
    diverging = EpochEnd(epoch, end)
    row = replace(
        initial_row(FOUR),
        log=log,
        epoch_cache=cache_append((), 0, log),
        high_watermark=min(high_watermark, len(log)),
    )
    expected = slow_truncation_point(log, row.high_watermark, diverging)
    assert RULES.truncation_point(row, diverging) == expected <= len(log)


# --- The controller's choices: C8 to C11


def test_the_first_in_assignment_order_is_chosen() -> None:
    assert RULES.leader_choices({1, 2, 7}) == (2,)
    assert RULES.leader_choices(()) == ()
    assert RULES.preferred_replica() == 4
    assert RULES.preferred_choices(initial_partition(FOUR), (1, 4)) == (4,)
    assert RULES.preferred_choices(initial_partition(FOUR), (1, 2)) == ()


def test_the_elr_is_asked_when_the_isr_is_empty() -> None:
    assert RULES.valid_leaders((1, 2), (7,), {1, 7}) == (1,)
    assert RULES.valid_leaders((), (2, 7), {7}) == (7,)
    assert RULES.valid_leaders((2,), (7,), {7}) == ()


def partition(isr: tuple[int, ...], elr: tuple[int, ...] = ()) -> Partition:
    return replace(initial_partition(FOUR), isr=isr, elr=elr)


@pytest.mark.parametrize(
    ("isr", "elr", "target", "unclean", "expected"),
    [
        ((1, 2, 4), (), (1, 2), (), ()),
        ((1, 2), (), (1,), (), (2,)),
        ((1,), (2,), (), (), (1, 2)),
        ((1,), (2,), (), (1,), (2,)),
        ((1,), (2,), (1,), (2,), ()),
        ((1,), (2, 4), (1, 2), (), ()),
    ],
)
def test_who_stays_eligible(
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    target: tuple[int, ...],
    unclean: tuple[int, ...],
    expected: tuple[int, ...],
) -> None:
    assert RULES.target_elr(partition(isr, elr), target, unclean) == expected
    without = PartitionRules(replace(FOUR, elr_enabled=False))
    assert without.target_elr(partition(isr, elr), target, unclean) == ()


def test_whoever_is_to_be_active_is_all_of_it() -> None:
    good = Registration(0, 0, 0, fenced=False, stopping=False)
    assert RULES.is_active(good)
    assert not RULES.is_active(replace(good, fenced=True))
    assert not RULES.is_active(replace(good, stopping=True))
    assert not RULES.is_active(replace(good, epoch=-1))


def test_min_isr_is_never_more_than_there_are_replicas() -> None:
    assert PartitionConstants((1, 2), 5).effective_min_isr == 2
    assert PartitionRules(PartitionConstants((1,), 5)).min_isr == 1
    assert RULES.last_known_leader_electable(partition(()), (), (), (1,)) is False
    alive = replace(partition(()), last_known_leader=1)
    assert RULES.last_known_leader_electable(alive, (), (), (1,))
    assert not RULES.last_known_leader_electable(alive, (), (), ())
    assert alive.leader == NOBODY


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": ()},
        {"replicas": (1, 1)},
        {"replicas": (-1, 2)},
        {"min_insync_replicas": 0},
        {"fetch_max_records": 0},
    ],
)
def test_impossible_constants_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        PartitionConstants(**{"replicas": (1, 2), "min_insync_replicas": 1, **wrong})
