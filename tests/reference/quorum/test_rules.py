"""The decisions that compute something, each beside a slow twin, and the list of all of them."""

from __future__ import annotations

import inspect

from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.kit.log import EpochEnd, Log
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants
from tests.reference.quorum.builders import (
    THREE,
    fetch_request,
    leader_of,
    log_of,
    logs,
    row_of,
    vote_request,
)

rules = QuorumRules(THREE)


def slow_majority(reached: list[int]) -> int:
    """The largest offset that more than half have reached, by trying all."""
    for offset in sorted(set(reached), reverse=True):
        if 2 * sum(o >= offset for o in reached) > len(reached):
            return offset
    raise AssertionError("the smallest offset is reached by all")


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=7), st.data())
def test_the_majority_end_offset_is_what_more_than_half_have_reached(
    reached: list[int], data: st.DataObject
) -> None:
    constants = Constants(tuple(range(1, len(reached) + 1)), 1)
    leader = data.draw(st.sampled_from(constants.voters))
    flushed = max(reached[leader - 1], 0)
    reached[leader - 1] = flushed
    # What a row says of its own node among `end_offsets` counts for nothing.
    noted = replace(row_of(constants=constants), flushed=flushed)
    for about_itself in (-1, 99):
        offsets = (*reached[: leader - 1], about_itself, *reached[leader:])
        row = replace(noted, end_offsets=offsets)
        assert QuorumRules(constants).majority_end_offset(leader, row) == slow_majority(reached)


def slow_truncation_offset(own: Log, diverging: EpochEnd) -> int:
    """The longest prefix of the own log that the answer does not speak against, entry by entry.

    The leader's log has nothing of an epoch above `diverging.epoch` below `end_offset`, and ends
    that epoch there. So entries of later epochs go, and entries of that epoch beyond its end.
    """
    kept = [o for o, entry in enumerate(own) if entry.epoch <= diverging.epoch]
    same = any(entry.epoch == diverging.epoch for entry in own)
    if same:
        kept = [offset for offset in kept if offset < diverging.end_offset]
    return len(kept)


@given(logs(), st.integers(1, 5), st.integers(0, 9))
def test_a_follower_cuts_all_that_the_leader_spoke_against(
    own: Log, epoch: int, end_offset: int
) -> None:
    diverging = EpochEnd(epoch, end_offset)
    assert rules.truncation_offset(row_of(log=own), diverging) == slow_truncation_offset(
        own, diverging
    )


@given(logs(), st.integers(0, 9))
def test_a_divergence_at_epoch_0_cuts_at_the_offset_named(own: Log, end_offset: int) -> None:
    offset = rules.truncation_offset(row_of(log=own), EpochEnd(0, end_offset))
    assert offset == min(end_offset, len(own))


@given(logs(), logs())
def test_a_nominee_is_up_to_date_iff_its_log_is_lexicographically_as_long(
    mine: Log, theirs: Log
) -> None:
    def rank(log: Log) -> tuple[int, int]:
        return (log[-1].epoch if log else 0, len(log))

    last_epoch, last_offset = rank(theirs)
    m = vote_request(epoch=9, last_epoch=last_epoch, last_offset=last_offset)
    assert rules.log_ok(row_of(log=mine), m) == (rank(theirs) >= rank(mine))


def slow_fetch_diverges(own: Log, offset: int, epoch: int) -> bool:
    """Whether the leader has no record of that epoch at or after the last one that was fetched."""
    ends = [at + 1 for at, entry in enumerate(own) if entry.epoch == epoch]
    return offset > 0 and (not ends or ends[-1] < offset)


@given(logs(), st.integers(0, 9), st.integers(1, 5))
def test_a_fetch_diverges_where_the_leader_lacks_its_last_record(
    log: Log, offset: int, epoch: int
) -> None:
    row = leader_of(1, 5, (*log, *log_of(5)))
    m = fetch_request(epoch=5, fetch_offset=offset, last_fetched_epoch=epoch)
    assert rules.fetch_diverges(row, m) == slow_fetch_diverges(row.log, offset, epoch)


@given(logs())
def test_a_fetch_of_what_the_leader_has_does_not_diverge(log: Log) -> None:
    row = leader_of(1, 5, (*log, *log_of(5)))
    for offset in range(1, len(row.log) + 1):
        m = fetch_request(5, 1, 5, offset, row.log[offset - 1].epoch)
        assert not rules.fetch_diverges(row, m)


def test_every_rule_says_which_it_is() -> None:
    for name in BASES[QuorumRules].names:
        assert inspect.getdoc(getattr(QuorumRules, name)), name


def test_rules_have_no_state() -> None:
    assert QuorumRules.__slots__ == ("constants",)
    assert not hasattr(rules, "__dict__")


def test_elections_are_won_and_lost_by_majorities() -> None:
    five = QuorumRules(Constants((1, 2, 3, 4, 5), 1))
    assert [five.election_won(tuple(range(k))) for k in range(1, 6)] == [
        *(False, False),
        *(True, True, True),
    ]
    assert [five.election_lost(tuple(range(1, k + 1))) for k in range(6)] == [
        *(False, False, False),
        *(True, True, True),
    ]
