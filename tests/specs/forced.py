"""Every rule, and a wrong value to force it to: the table behind test_forced_rules.

A rule that could be forced to a constant without any model noticing would be text, not a decision.
So each is replaced by an inert operator, and the model named beside it must give another verdict
or another count of states than without.

CheckQuorumSatisfied decides only what a leader of three or more voters remembers of fetches between
two rounds of check quorum, and no model of that size keeps it; recorded steps must notice.
"""

from __future__ import annotations

from typing import NamedTuple


class Forced(NamedTuple):
    """A rule with its parameters, the expression to replace it by, the model that must notice."""

    rule: str
    parameters: str
    value: str
    model: str


STEPS_ONLY = (("CheckQuorumSatisfied", "fetched, n", "FALSE"),)

REDUCED = "forced-reduced"
TWO_EPOCHS = "forced-two-epochs"
MESSAGES = "forced-messages"

FORCED = (
    Forced("LastFetchedEpoch", "row", "0", REDUCED),
    Forced("PersistedQuorumState", "row", "row.quorumState", REDUCED),
    Forced("StartupRole", "n, quorumState, lastEpoch", '"Unattached"', REDUCED),
    Forced("RememberedLeader", "quorumState", "quorumState.voted", REDUCED),
    Forced("RecoveredEpochCache", "cache, endOffset", "cache", REDUCED),
    Forced("LogOk", "row, m", "FALSE", REDUCED),
    Forced("VoteRequestError", "row, m", '"FENCED_LEADER_EPOCH"', REDUCED),
    Forced("VoteGranted", "row, m", "FALSE", REDUCED),
    Forced("FollowerGrantsPreVote", "row, m", "FALSE", TWO_EPOCHS),
    Forced("PreVoteGranted", "row, m", "FALSE", REDUCED),
    Forced("VoteRecorded", "m", "FALSE", REDUCED),
    Forced("VotedWithinEpoch", "row", "Nobody", REDUCED),
    Forced("ElectionWon", "granted", "FALSE", REDUCED),
    Forced("ElectionLost", "rejected", "TRUE", MESSAGES),
    Forced("EpochAfterResigned", "epoch", "epoch", REDUCED),
    Forced("MayAnnounceLeader", "row", "TRUE", REDUCED),
    Forced("CheckQuorumApplies", "", "FALSE", MESSAGES),
    Forced("LeaderRequestError", "row, m", '"FENCED_LEADER_EPOCH"', REDUCED),
    Forced("AnswersInFlight", "row, m, inFlight", "FALSE", REDUCED),
    Forced("IsStaleResponse", "row, m", "TRUE", REDUCED),
    Forced("ConflictingLeader", "n, row, leader, epoch", "TRUE", REDUCED),
    Forced("FetchRequestError", "row, m", '"NOT_LEADER_OR_FOLLOWER"', REDUCED),
    Forced("FetchDiverges", "row, m", "FALSE", TWO_EPOCHS),
    Forced("FetchUpdatesEndOffset", "diverges", "FALSE", REDUCED),
    Forced("ServableEndOffset", "row", "0", REDUCED),
    Forced("OwnEndOffset", "row", "0", REDUCED),
    Forced("MajorityEndOffset", "n, row", "0", REDUCED),
    Forced("CoversOwnEpoch", "row, offset", "FALSE", REDUCED),
    Forced("MayAdvanceHighWatermark", "row, offset", "FALSE", REDUCED),
    Forced("TruncationOffset", "row, diverging", "EndOffset(row.log)", TWO_EPOCHS),
    Forced("TruncatedEpochCache", "row, offset", "row.epochCache", TWO_EPOCHS),
    Forced("FlushedAfterFollowerAppend", "row", "row.flushed", REDUCED),
    Forced("FlushedAfterLeaderAppend", "row", "EndOffset(row.log)", REDUCED),
    Forced("FollowerHighWatermark", "row, offset", "row.highWatermark", MESSAGES),
)
