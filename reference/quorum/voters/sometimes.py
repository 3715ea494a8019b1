"""What runs in which voters change should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.quorum.messages import (
    BeginQuorumEpochRequest,
    Crash,
    FetchRequest,
    VoteRequest,
)
from kraftcheck.reference.quorum.voters.messages import (
    AddVoter,
    AddVoterRequest,
    FetchFromBootstrap,
    FetchResponse,
    RemoveVoter,
    ReplaceDisk,
    UpdateVoterRequest,
    UpgradeKraftVersion,
    VoterChangeTimeout,
)
from kraftcheck.reference.quorum.voters.types import VoterRow

sometimes = Conditions()


def _last(row: VoterRow) -> tuple[int, ...]:
    return row.history[-1].voters


@sometimes(AddVoter)
def voter_is_added(before: VoterRow, after: VoterRow) -> bool:
    """A leader appends a set with one voter more."""
    return len(_last(after)) > len(_last(before))


@sometimes(RemoveVoter)
def leader_removes_itself(node: int, before: VoterRow, after: VoterRow) -> bool:
    """A leader appends a set in which it is not."""
    return node in _last(before) and node not in _last(after)


@sometimes(AddVoter, RemoveVoter)
def change_is_asked_for_while_one_is_under_way(before: VoterRow) -> bool:
    """A leader is asked for a change while an earlier one is not committed."""
    leads = before.role == "Leader"
    return leads and before.history[-1].offset >= max(0, before.high_watermark)


@sometimes(FetchResponse)
def follower_takes_back_a_set(before: VoterRow, after: VoterRow) -> bool:
    """A follower cuts its log below the last set of voters that it had read."""
    return len(after.log) <= before.history[-1].offset


@sometimes(FetchRequest)
def removed_leader_commits_its_removal(node: int, before: VoterRow, after: VoterRow) -> bool:
    """A leader that is no voter any more commits the set without it."""
    offset = before.history[-1].offset
    was, now = before.high_watermark, after.high_watermark
    return node not in _last(before) and was <= offset < now


@sometimes(VoteRequest)
def vote_is_asked_of_no_voter(node: int, before: VoterRow) -> bool:
    """A vote is asked of a controller that is no voter as far as it knows."""
    return node not in _last(before)


@sometimes(BeginQuorumEpochRequest)
def leader_of_a_set_unknown_announces_itself(before: VoterRow, input: Any) -> bool:
    """A controller hears from a leader that is no voter in the set that it knows."""
    return input.source not in _last(before)


@sometimes(Crash)
def leader_crashes_with_a_change_under_way(before: VoterRow) -> bool:
    """A leader crashes while its last set of voters is not committed."""
    leads = before.role == "Leader"
    return leads and before.history[-1].offset >= max(0, before.high_watermark)


@sometimes(ReplaceDisk)
def disk_with_records_is_replaced(before: VoterRow) -> bool:
    """An empty disk comes under the id of a controller that is down and has records."""
    return before.role == "Down" and bool(before.log)


@sometimes(VoterChangeTimeout)
def change_is_given_up(before: VoterRow, after: VoterRow) -> bool:
    """A leader gives up the request that waits for its change."""
    return before.change >= 0 > after.change


@sometimes(FetchFromBootstrap)
def observer_looks_for_the_leader(sent: tuple[Any, ...]) -> bool:
    """A controller that is no voter asks another one who leads."""
    return bool(sent)


@sometimes(AddVoterRequest)
def controller_joins_by_itself(before: VoterRow, after: VoterRow) -> bool:
    """A leader appends a set with a voter more, which has asked for that itself."""
    return len(_last(after)) > len(_last(before))


@sometimes(UpdateVoterRequest)
def voter_tells_of_other_listeners(before: VoterRow, after: VoterRow) -> bool:
    """A leader appends a set in which a voter has other listeners."""
    longer = len(after.log) > len(before.log)
    return longer and bool(after.log[-1].moved)


@sometimes(UpgradeKraftVersion)
def kraft_version_is_upgraded(before: VoterRow, after: VoterRow) -> bool:
    """A leader appends the first set of a log that began under kraft.version 0."""
    return len(after.history) > len(before.history)
