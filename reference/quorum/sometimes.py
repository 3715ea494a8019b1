"""What runs of a quorum should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochRequest,
    Crash,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.types import NOBODY, Row

sometimes = Conditions()


@sometimes(Crash)
def leader_crashes_with_uncommitted_records(before: Row) -> bool:
    """A leader crashes while records in its log are not committed."""
    return before.role == "Leader" and before.high_watermark < len(before.log)


@sometimes(Crash)
def crash_loses_records(before: Row, after: Row) -> bool:
    """A voter crashes and loses records that it had not flushed."""
    return len(after.log) < len(before.log)


@sometimes(Restart)
def vote_outlives_a_restart(after: Row) -> bool:
    """A voter starts again and knows for whom it voted in its epoch."""
    return after.voted != NOBODY


@sometimes(FetchResponse)
def follower_truncates(before: Row, after: Row) -> bool:
    """A follower cuts its log where it parts from the leader's."""
    return len(after.log) < len(before.log)


@sometimes(FetchRequest)
def epoch_commits_what_an_older_one_appended(before: Row, after: Row) -> bool:
    """A leader commits, with a record of its own epoch, one that a leader before it appended."""
    first = max(0, before.high_watermark)
    return after.high_watermark > first and after.log[first].epoch < after.epoch


@sometimes(VoteRequest, BeginQuorumEpochRequest)
def leader_hears_of_a_newer_epoch(before: Row, input: Any) -> bool:
    """A leader receives a request of a later epoch than its own."""
    return before.role == "Leader" and input.epoch > before.epoch


@sometimes(BeginQuorumEpochRequest, FetchResponse)
def candidate_finds_a_leader(before: Row, after: Row) -> bool:
    """A candidate learns that another one was elected."""
    return before.role == "Candidate" and after.role == "Follower"


@sometimes(VoteRequest)
def candidate_with_less_is_refused(before: Row, input: VoteRequest, sent: tuple[Any, ...]) -> bool:
    """A vote is refused to a candidate of a later epoch."""
    refused = any(isinstance(m, VoteResponse) and not m.granted for m in sent)
    return refused and not input.pre_vote and input.epoch > before.epoch


@sometimes(VoteResponse)
def votes_are_split(before: Row, after: Row) -> bool:
    """A candidate has too many refusals to win."""
    return before.role == "Candidate" and len(after.rejected) * 2 > len(after.end_offsets)


@sometimes(Append, Resign)
def leader_has_fetches_parked(before: Row) -> bool:
    """A leader has records to give, or resigns, while a follower waits for an answer."""
    return before.role == "Leader" and bool(before.parked)


@sometimes(FetchTimeout)
def follower_gives_up_its_leader(before: Row) -> bool:
    """A follower that has fetched receives nothing from its leader for too long."""
    return before.role == "Follower" and before.has_fetched
