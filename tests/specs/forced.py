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


class Table(NamedTuple):
    """module: whose operators are the rules, but for those `beside`. cfgs: whether the models are
    those of cfgs.py, and not of the manifest. same: a rule forced to what it is.
    """

    protocol: str
    module: str
    cfgs: bool
    forced: tuple[Forced, ...]
    beside: frozenset[str]
    same: Forced


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
    Forced("TruncationRefused", "row, diverging", "TRUE", TWO_EPOCHS),
    Forced("TruncatedEpochCache", "row, offset", "row.epochCache", TWO_EPOCHS),
    Forced("Appendable", "row, m", "<<>>", REDUCED),
    Forced("FlushedAfterFollowerAppend", "row", "row.flushed", REDUCED),
    Forced("FlushedAfterLeaderAppend", "row", "EndOffset(row.log)", REDUCED),
    Forced("FollowerHighWatermark", "row, offset", "row.highWatermark", MESSAGES),
)

# Of transactions and of groups, whose models are those of the manifest.
T_ONE = "transactions-one"
T_LATE = "transactions-v1-late-batch"
T_LEADERLESS = "transactions-leaderless"
T_INSTANCES = "transactions-instances"
T_EPOCHS = "transactions-epochs-one"
T_REPLICAS = "transactions-replicas"
T_OFFSETS = "transactions-offsets-v1"
T_PIPELINED = "transactions-pipelined"
T_PIPELINED_V1 = "transactions-pipelined-v1"
T_READERS = "transactions-readers"
T_MARKERS = "transactions-refused"
T_EXPIRY = "transactions-expiry-append-timeout"
T_ERRORS = "transactions-errors-v1"
T_BUMPS = "transactions-errors-v1-epochs"
T_SWEPT = "transactions-swept"
T_REFUSED = "reach-transactions-offsets-refused"
G_COMMITS = "groups-commits-failover"
G_ONE = "groups-one"
G_JOINING = "groups-joining"
G_TWO = "groups-two"
G_STATIC = "groups-static"
G_REBALANCE = "groups-rebalance"
G_ALONE = "groups-two-static"
G_GROWING = "groups-growing-failover"
G_REPLAY = "groups-replay"
G_AWAY = "groups-replay-away"
G_TIME = "groups-offsets-time"
G_FENCES = "groups-offsets-fences"
G_SENT = "groups-offsets-transactions"
G_DELETED = "groups-offsets-deleted"
G_SPARED = "groups-offsets-spared"
G_ALTERED = "groups-offsets-altered"
G_OTHERS = "groups-offsets-others"
G_LATE_SENT = "groups-offsets-late"
G_RENEWED = "groups-offsets-renewed"
G_BOTH = "groups-migration"
G_KEEPING = "groups-migration-cooperative"
C_ONE = "classic-one"
C_TWO = "classic-two"
C_FAILOVER = "classic-failover"
# And of voters that come and go.
V_ONE = "voters-one"
V_REMOVE = "voters-remove"
V_CRASH = "voters-crash"
V_DISK = "voters-disk"
V_BOOTSTRAP = "voters-bootstrap"
# And of snapshots of the metadata log.
S_ONE = "snapshots-one"
S_OBSERVER = "snapshots-observer"
S_STANDBY = "snapshots-standby"
# And of reassignments.
R_TWO = "reassignment-two"
R_LAGGING = "reassignment-lagging"
R_DIRECTORIES = "reassignment-directories"
R_RACKS = "reassignment-racks"
R_NOTES = "reassignment-notes"
R_MIN_ISR = "reassignment-min-isr-set"
# And of hosted replicas.
H_ONE = "hosting-one"
H_TWO = "hosting-two"
H_SOLE = "hosting-sole"
H_TRANSACTIONS = "hosting-transactions"
L_ONE = "compaction-one"
L_KEYS = "compaction-keys"
KS_ONE = "shares-one-leader"
KS_LOST = "shares-one-lost"
KS_RETRIED = "shares-retried"
TAKEN_OF_NOTHING = "[endOffset |-> end, epoch |-> 0, records |-> <<>>]"
AS_READ = "[history |-> row.history, historyEnd |-> row.historyEnd]"

TABLES = (
    Table(
        "quorum",
        "QuorumRules",
        True,
        FORCED,
        frozenset(rule for rule, _, _ in STEPS_ONLY),
        Forced("EpochAfterResigned", "epoch", "1 + epoch", REDUCED),
    ),
    Table(
        "transactions",
        "TransactionRules",
        False,
        (
            Forced("EpochPerTransaction", "", "FALSE", T_LEADERLESS),
            Forced("ActsOnCommittedOnly", "", "FALSE", T_ONE),
            Forced("ReadsWholeLog", "", "FALSE", T_ONE),
            Forced("IsTakenBack", "row", "FALSE", T_EXPIRY),
            Forced("IsExhausted", "epoch", "TRUE", T_INSTANCES),
            Forced("NextProducerId", "epoch", "0", T_EPOCHS),
            Forced("InitialisedEpoch", "epoch", "epoch", T_INSTANCES),
            Forced("FencedEpoch", "epoch", "epoch", T_ONE),
            Forced("EndedEpoch", "epoch", "epoch", T_ONE),
            Forced("CompletedEpoch", "epoch", "epoch", T_EPOCHS),
            Forced("EndAnsweredEpoch", "epoch", "epoch", T_EPOCHS),
            Forced("InitProducerIdAnswer", "row", '"CONCURRENT_TRANSACTIONS"', T_INSTANCES),
            Forced("AddPartitionsAnswer", "row, m", '"PRODUCER_FENCED"', T_ONE),
            Forced("VerifyAnswer", "row, m", '"TRANSACTION_ABORTABLE"', T_LATE),
            Forced("AnswersWhenDeposed", "", "TRUE", T_ONE),
            Forced("IsEndPending", "row", "FALSE", T_ONE),
            Forced("EndTxnAnswerV1", "row, m", '"PRODUCER_FENCED"', T_LATE),
            Forced("EndTxnAnswerV2", "row, m", '"PRODUCER_FENCED"', T_ONE),
            Forced("EndTxnAnswer", "row, m", '"PRODUCER_FENCED"', T_ONE),
            Forced("MarkerDestination", "hasLeader", '"Later"', T_LEADERLESS),
            Forced("MarkedBy", "row, m", "{}", T_ONE),
            Forced("IsMarkerReplyCurrent", "row, m", "FALSE", T_ONE),
            Forced("RetriesRefusedMarker", "", "FALSE", T_MARKERS),
            Forced("IsCompletionSeen", "row", "FALSE", T_ONE),
            Forced("HasSequence", "partition", "FALSE", T_OFFSETS),
            Forced("IsDuplicateBatch", "producer, m", "TRUE", T_ONE),
            Forced("IsOngoing", "producer, epoch", "TRUE", T_ONE),
            Forced("NeedsVerification", "producer, epoch", "FALSE", T_ONE),
            Forced("IsGuarded", "guard, v", "FALSE", T_ONE),
            Forced("IsInSequence", "producer, m", "TRUE", T_PIPELINED),
            Forced("WaitsForLower", "verifying, v", "FALSE", T_PIPELINED_V1),
            Forced("BatchError", "producer, m, guarded", '"INVALID_TXN_STATE"', T_ONE),
            Forced("MarkerEpochOk", "producer, m", "FALSE", T_ONE),
            Forced("MarkerRepeatOk", "producer, m", "FALSE", T_REPLICAS),
            Forced("IsCoordinatorFenced", "producer, m", "FALSE", T_ONE),
            Forced("MarkerError", "producer, m", '"INVALID_PRODUCER_EPOCH"', T_ONE),
            Forced("MarkerClearsGuard", "guard, m", "FALSE", T_LATE),
            Forced("StillListed", "row", "FALSE", T_SWEPT),
            Forced("IsAppliedAtOnce", "offsets", "FALSE", T_OFFSETS),
            Forced("LastStableOffset", "row", "Len(row.log)", T_REPLICAS),
            Forced("IsProducerExpired", "producer", "TRUE", T_ONE),
            Forced("HighWatermark", "row", "Len(row.log)", T_REPLICAS),
            Forced("ReadUpTo", "row, isolation", "0", T_READERS),
            Forced("AbortedAmong", "aborted, offset, end", "{}", T_READERS),
            Forced("IsDropped", "aborted, at", "FALSE", T_READERS),
            Forced("MayExpire", "row", "FALSE", T_EXPIRY),
            Forced("ReturnedEpoch", "epoch", "epoch", T_EXPIRY),
            Forced("AfterInitError", "error", '"Fenced"', T_EXPIRY),
            Forced("AfterEndError", "decision, error", '"Retry"', T_EXPIRY),
            Forced("AfterBatchError", "error", '"Retry"', T_EXPIRY),
            Forced("AfterAddError", "ofOffsets, error", '"Retry"', T_ERRORS),
            Forced("PassedOn", "error", '"PRODUCER_FENCED"', T_ERRORS),
            Forced("AfterOffsetsError", "error", '"Unusable"', T_REFUSED),
            Forced("BumpEpochAnswer", "row, m", '"PRODUCER_FENCED"', T_ERRORS),
            Forced("IsSameId", "epoch, other", "FALSE", T_BUMPS),
            Forced("IsRepeatedBump", "row, m", "FALSE", T_BUMPS),
            Forced("BumpedEpoch", "row, m", "1 + row.txn.epoch", T_BUMPS),
            Forced("LastEpoch", "row", "Unknown", T_BUMPS),
            Forced("BumpsEpoch", "", "FALSE", T_ERRORS),
            Forced("MayCommit", "client", "FALSE", T_ONE),
            Forced("MayAbort", "client", "FALSE", T_ONE),
        ),
        # Words, and no decisions; how many epochs an id is counted as having.
        frozenset(
            {"Unknown", "Preparing", "Completed", "Prepared", "CompletedAs", "DecisionOf"}
            | {"DecidedUpTo", "EpochsOfId", "Retriable", "FencingErrors", "Denied"}
        ),
        Forced("FencedEpoch", "epoch", "1 + epoch", T_ONE),
    ),
    Table(
        "groups",
        "GroupRules",
        False,
        (
            Forced("WaitsForWritten", "row", "FALSE", G_ONE),
            Forced("WaitingAfterMove", "waiting", "waiting", G_ONE),
            Forced("AcceptsPreviousEpoch", "member, m", "FALSE", G_TWO),
            Forced("JoinError", "member", '"UNRELEASED_INSTANCE_ID"', G_ONE),
            Forced("SharesInstance", "m, n", "m # n", G_ALONE),
            Forced("InstanceError", "holder, m", '"NONE"', G_STATIC),
            Forced("MemberEpochError", "member, m", '"FENCED_MEMBER_EPOCH"', G_ONE),
            Forced("BumpedEpoch", "epoch", "epoch", G_ONE),
            Forced("ChangesSubscription", "before, after", "FALSE", G_ONE),
            Forced("ChangesMetadata", "group, p", "FALSE", G_GROWING),
            Forced("NeedsTarget", "group", "FALSE", G_ONE),
            Forced("IsTarget", "group, owner", "TRUE", G_JOINING),
            Forced("IsFree", "group, member, p", "FALSE", G_ONE),
            Forced("HeldAfter", "held, before, after", "held", G_ONE),
            Forced("HasRevoked", "partitions, m", "FALSE", G_JOINING),
            Forced("RevocationBlocks", "member, m, retargeted", "FALSE", G_JOINING),
            Forced("TellsAssignment", "m, before, after", "FALSE", G_ONE),
            Forced("IsRevocationLate", "member", "FALSE", G_REBALANCE),
            Forced("IsOutdatedEvent", "row, event", "FALSE", G_REPLAY),
            Forced("IsLoaded", "position, endOffset", "TRUE", G_REPLAY),
            Forced("MayTake", "heldEpoch, epoch", "FALSE", G_REPLAY),
            Forced("IgnoresOrphan", "", "FALSE", G_REPLAY),
            Forced("LetsGo", "epoch, shared", "TRUE", G_AWAY),
            Forced("Committable", "position", "0", G_TIME),
            Forced("MayHandOut", "row, p", "FALSE", G_TIME),
            Forced("ToReset", "row, rest", "{}", G_TIME),
            Forced("RecordsReplacement", "", "FALSE", G_REPLAY),
            Forced("KeepsChanged", "", "FALSE", G_REPLAY),
            Forced("MigratesBack", "row", "FALSE", G_BOTH),
            Forced("DowngradedGeneration", "row", "row.epoch", G_BOTH),
            Forced("AssignmentAfterDowngrade", "member", "{}", G_BOTH),
            Forced("PendingAfterUpgrade", "member", "{}", G_KEEPING),
            Forced("KeptForAWhile", "member", "{}", G_BOTH),
            Forced("TellsToJoin", "row, member, held", "FALSE", G_BOTH),
            Forced("StampedEpoch", "row, request", "row.epoch", G_FENCES),
            Forced("IsMarkerAnswered", "row", "TRUE", G_SENT),
            Forced("OfMarker", "row, marker", "row.pending", G_OTHERS),
            Forced("IsNewest", "each", "TRUE", G_ALTERED),
            Forced("AcceptsTxnOffsets", "row, request", "TRUE", G_LATE_SENT),
            Forced("IsStableOffset", "row, p", "TRUE", G_SENT),
            Forced("ExpiryBase", "row, each", "0", G_TIME),
            Forced("MayExpire", "row", "FALSE", G_TIME),
            Forced("IsSpared", "row, p", "FALSE", G_SPARED),
            Forced("PendingAfterTombstone", "row, p", "row.pending", G_DELETED),
            Forced("ForgetsWhenLoaded", "", "FALSE", G_DELETED),
            Forced("GoesWithTopic", "each", "TRUE", G_RENEWED),
            Forced("IsOfTopic", "row, each", "TRUE", G_RENEWED),
            Forced("MayDeleteGroup", "row", "TRUE", G_ALTERED),
            Forced("Report", "row", "{}", G_JOINING),
            Forced("IsAwaited", "row, m", "FALSE", G_ONE),
            Forced("UnsentAfterFailure", "unsent", "unsent", G_TWO),
            Forced("EpochOfLeaving", "n", "LeaveEpoch", G_STATIC),
            Forced("OwnedAfterFence", "owned", "owned", G_ONE),
        ),
        # Words.
        frozenset(
            {"JoinEpoch", "LeaveEpoch", "Unknown", "AllFields", "Holding", "Retention"}
            | {"ReleasedEpoch", "Own", "OfOthers"}
        ),
        Forced("BumpedEpoch", "epoch", "1 + epoch", G_JOINING),
    ),
    Table(
        "commits",
        "CommitRules",
        False,
        (
            Forced("AcceptsCommit", "group, member, epoch", "FALSE", G_COMMITS),
            Forced("IsAnswered", "row", "TRUE", G_COMMITS),
            Forced("Beginning", "group", "0", G_COMMITS),
            Forced("TellsOffset", "member, epoch", "FALSE", G_COMMITS),
        ),
        frozenset(),
        Forced("Beginning", "group", "0 + group.offset", G_COMMITS),
    ),
    Table(
        "classic",
        "ClassicRules",
        False,
        (
            Forced("NextGeneration", "generation", "generation", C_TWO),
            Forced("ChangesMetadata", "member, m", "FALSE", C_TWO),
            Forced("BeginsRebalance", "row, m", "FALSE", C_TWO),
            Forced("IsRebalanceLate", "state, member", "FALSE", C_ONE),
            Forced("IsTold", "row", "TRUE", C_TWO),
            Forced("LoadedState", "image", '"Empty"', C_FAILOVER),
            Forced("OwnersByClaim", "claims, p", "{}", C_TWO),
            Forced("IsBalanced", "claims, owner", "TRUE", C_TWO),
            Forced("IsWithheld", "claims, n, p", "FALSE", C_TWO),
            Forced("OwnedWhileJoining", "owned", "{}", C_TWO),
            Forced("OwnedAfterReset", "owned", "owned", C_FAILOVER),
            Forced("ClaimedGeneration", "row", "NoGeneration", C_TWO),
            Forced("JoinsAgain", "owned, assigned", "FALSE", C_TWO),
            Forced("IsAwaited", "row, m", "FALSE", C_ONE),
        ),
        # Words; and by which of the balanced targets one is taken: any other way, members that have
        # given something up join again for ever, and the search has no end.
        frozenset({"Nobody", "NoGeneration", "ClaimsOf", "Moved", "Targets"}),
        Forced("NextGeneration", "generation", "1 + generation", C_TWO),
    ),
    Table(
        "voters",
        "VoterRules",
        False,
        (
            Forced("VotersOf", "row", "Nodes", V_ONE),
            Forced("HistoryAfterAppend", "row, after", AS_READ, V_ONE),
            Forced("HistoryAfterTruncation", "row, offset", AS_READ, V_REMOVE),
            Forced("WritesBootstrapSet", "row", "FALSE", V_BOOTSTRAP),
            Forced("MayStand", "n, row", "TRUE", V_ONE),
            Forced("CountsItself", "n, row", "TRUE", V_REMOVE),
            Forced("FlushesAsObserver", "row", "FALSE", V_CRASH),
            Forced("MayReturnEmpty", "row", "TRUE", V_DISK),
            Forced("OwnEpochCommitted", "row", "TRUE", V_REMOVE),
            Forced("LastSetCommitted", "row", "FALSE", V_ONE),
            Forced("ChangeRefused", "row", '"REQUEST_TIMED_OUT"', V_ONE),
            Forced("IsCaughtUp", "row, node", "FALSE", V_ONE),
            Forced("AddRefused", "row, node", '"REQUEST_TIMED_OUT"', V_ONE),
            Forced("RemoveRefused", "row, node", '"REQUEST_TIMED_OUT"', V_REMOVE),
            Forced("ChangedVoters", "row, node", "VotersOf(row)", V_ONE),
            Forced("LeavesAfterRemoval", "n, row", "FALSE", V_REMOVE),
        ),
        # Words; and a timer that the models do not have: its rule is asked on both sides
        # (tests/conformance/test_plain.py).
        # So are those of what the options of voters ask, which these models have not.
        frozenset(
            {
                *("VotersRecord", "SetsIn", "LastOf", "CheckQuorumBinds"),
                *("MovedOf", "KraftVersionOf", "ChangesVoters", "MovedAfter", "UpdateRefused"),
                *("UpdatesVoter", "EveryVoterHeard", "UpgradeRefused", "JoinsByItself"),
            }
        ),
        Forced("IsCaughtUp", "row, node", "node \\in ({} \\cup row.caughtUp)", V_ONE),
    ),
    Table(
        "snapshots",
        "SnapshotRules",
        False,
        (
            Forced("SnapshotAllowed", "row, end", "FALSE", S_ONE),
            Forced("SnapshotTaken", "row, end", TAKEN_OF_NOTHING, S_ONE),
            Forced("HistoryAfterSnapshot", "history, end", "<<>>", S_ONE),
            Forced("PrefixDeletable", "row, offset", "FALSE", S_ONE),
            Forced("FetchNeedsSnapshot", "row, m", "FALSE", S_ONE),
            Forced("IsServed", "row, id", "FALSE", S_ONE),
            Forced("ReplacesLog", "row, snapshot", "FALSE", S_ONE),
            Forced("LogAfterSnapshot", "row, snapshot", "<<>>", S_OBSERVER),
            Forced("MayStart", "row", "FALSE", S_ONE),
            Forced("StableAfterSnapshot", "end", "end + 1", S_STANDBY),
        ),
        # Words; and what a leader needs whose followers are on disk before it is, which takes three
        # voters: its rule is asked on both sides (tests/conformance/test_plain.py). So are those of
        # a controller's state: what it goes back to, or begins with, is what it has read anyhow.
        frozenset(
            {
                *("SnapshotIsAhead", "IsActive", "BeginsWithSnapshot"),
                "Data",
                "NoId",
                "NoSnapshot",
                "IdOf",
                "LastEpochOf",
                "Latest",
                "Earliest",
            }
        ),
        Forced("MayStart", "row", "TRUE", S_ONE),
    ),
    Table(
        "reassignment",
        "ReassignmentRules",
        False,
        (
            Forced("PlacementRefused", "row, replicas", '"INVALID_REPLICA_ASSIGNMENT"', R_TWO),
            Forced("AddingAfter", "partition, target", "{}", R_TWO),
            Forced("RemovingAfter", "partition, target", "{}", R_TWO),
            Forced("KeepsMinIsr", "partition, kept, minIsr", "FALSE", R_TWO),
            Forced("CompletesReassignment", "partition, isr, minIsr", "FALSE", R_TWO),
            Forced("CancelRefused", "partition", '"NO_REASSIGNMENT_IN_PROGRESS"', R_TWO),
            Forced("EffectiveMinIsr", "row", "1", R_TWO),
            Forced("ClearsEligible", "partition", "FALSE", R_MIN_ISR),
            Forced("EligibleAfter", "partition, replicas, isr, unclean, minIsr", "{}", R_TWO),
            Forced("LastLeader", "old, new", "Nobody", R_TWO),
            Forced("LastKnownAfter", "old, new", "Nobody", R_TWO),
            Forced("LeaderEpochBumped", "old, new", "FALSE", R_TWO),
            Forced("IsActive", "registration", "TRUE", R_TWO),
            Forced("IsUncleanRestart", "registration, clean", "FALSE", R_LAGGING),
            Forced("DirectoryOfNew", "registration", "1", R_DIRECTORIES),
            Forced("DirectoryOnline", "registration, directory", "TRUE", R_DIRECTORIES),
            Forced("BaseOfSecond", "before, first", "before", R_DIRECTORIES),
            Forced("TakesTurns", "active, usable, taken, b", "FALSE", R_RACKS),
            Forced("PlacerChooses", "row, replicas", "FALSE", R_RACKS),
            Forced("KeepsEndOffsets", "known, partition", "TRUE", R_NOTES),
            Forced("JoinsIsr", "known, b", "FALSE", R_NOTES),
        ),
        frozenset({"Nobody", "Unassigned", "RangeOf", "Without", "MinIsr"}),
        Forced(
            "EffectiveMinIsr",
            "row",
            "MinOf(Len(row.partitions[1].replicas), MinInsyncReplicas)",
            R_TWO,
        ),
    ),
    Table(
        "hosting",
        "HostingRules",
        False,
        (
            Forced("IsOfDeletedTopic", "row, bySnapshot", "FALSE", H_ONE),
            Forced("HasLeft", "row, bySnapshot", "FALSE", H_ONE),
            Forced("ClearsPending", "row, bySnapshot", "TRUE", H_ONE),
            Forced("IsStray", "log, image", "FALSE", H_ONE),
            Forced("ReadsAborted", "row, bySnapshot", "TRUE", H_TRANSACTIONS),
            Forced("ForgetsOffline", "row", "FALSE", H_TWO),
            Forced("MayCreate", "row", "TRUE", H_TWO),
            Forced("PromotesFuture", "row", "FALSE", H_TWO),
            Forced("RecoversFuture", "row", "TRUE", H_SOLE),
            Forced("TakesBackAssignment", "row", "FALSE", H_TWO),
        ),
        frozenset({"Unassigned", "Undefined"}),
        Forced("ForgetsOffline", "row", "row.running \\/ ~row.running", H_TWO),
    ),
    Table(
        "compaction",
        "CompactionRules",
        False,
        (
            Forced("CleanableEnd", "row, highWatermark", "0", L_ONE),
            Forced("IsSuperseded", "row, at, key", "FALSE", L_ONE),
            Forced("MayDropTombstone", "row, at, expired", "FALSE", L_KEYS),
            Forced("NextToRead", "row", "0", L_ONE),
            Forced("CopiedBatches", "batches", "<<>>", L_ONE),
        ),
        frozenset({"ActiveSegment"}),
        Forced("CopiedBatches", "batches", "SubSeq(batches, 1, Len(batches))", L_ONE),
    ),
    Table(
        "shares",
        "ShareRules",
        False,
        (
            Forced("WriteAccepted", "stored, write", "FALSE", KS_ONE),
            Forced("WrittenEpoch", "stored, write", "7", KS_ONE),
            Forced("StoredStart", "stored, write", "stored.start", KS_ONE),
            Forced("Wins", "written, stored", "FALSE", KS_RETRIED),
            Forced("ReadIsRecorded", "stored, incarnation", "FALSE", KS_ONE),
            Forced("StoresResolvedStart", "row", "FALSE", "shares-latest"),
            Forced("LoadedGap", "row, holes", "0", "shares-ordered"),
            Forced("MovedGap", "row, start", "row.gap", "shares-log-start"),
            Forced("AcquirableFrom", "row, base", "row.end", KS_RETRIED),
            Forced("MayAcquire", "row, offset", "FALSE", KS_ONE),
            Forced("MayPass", "cell", "FALSE", KS_ONE),
            Forced("AdvancedStart", "row, passed", "row.start", KS_ONE),
            Forced("MayAcknowledge", "cell, member", "FALSE", KS_ONE),
            Forced("Skips", "row, offset", "TRUE", KS_ONE),
            Forced("RefusedAs", "row, m", '"NONE"', "shares-sessions"),
            Forced("AnswerWaits", "row", "FALSE", KS_ONE),
            Forced("Released", "count", '"Archived"', KS_RETRIED),
            Forced("FinalStays", "cell", "TRUE", KS_LOST),
            Forced("ReleasesExpired", "cell", "FALSE", KS_LOST),
            Forced("RolledBack", "count", '"Available"', KS_LOST),
            Forced("LockReleases", "cell", "FALSE", KS_ONE),
            Forced("SessionReleases", "row, member", "{}", "shares-sessions"),
            Forced("FencingRemoves", "row, write", "TRUE", "shares-two"),
            Forced("ForgetsHeld", "row, record, leaderEpoch", "TRUE", KS_ONE),
        ),
        frozenset({"Nobody", "Terminal", "Rank", "LargerOf"}),
        Forced("AnswerWaits", "row", "row.start = row.start", KS_ONE),
    ),
    Table(
        "sessions",
        "SessionRules",
        False,
        (
            Forced("IsCurrent", "session, closed, connection", "FALSE", "sessions-one"),
            Forced("EpochMatches", "session, epoch", "FALSE", "sessions-one"),
            Forced("EndsSession", "session, connection", "FALSE", "sessions-one"),
            Forced("SendsAcks", "row", "TRUE", "sessions-one"),
            Forced("AcksAfterResponse", "row", "{}", "sessions-one"),
            Forced("FailsOnError", "row", "FALSE", "sessions-restart"),
            Forced("FailsOnDisconnect", "row", "FALSE", "sessions-one"),
            Forced("EpochOnReconnect", "row", "row.epoch", "sessions-one"),
        ),
        frozenset(),
        Forced("SendsAcks", "row", "row.epoch > 0", "sessions-one"),
    ),
    Table(
        "sharegroup",
        "ShareGroupRules",
        False,
        (
            Forced("FirstEpoch", "row", "1", "sharegroup-altered"),
            Forced("FirstStart", "row", "0", "sharegroup-added"),
            Forced("AlteredEpoch", "row", "row.epoch", "sharegroup-altered"),
            Forced("RetriesInitialize", "row", "FALSE", "sharegroup-altered"),
            Forced("DeletesState", "row", "FALSE", "sharegroup-altered"),
            Forced("Initializes", "stored, epoch", "TRUE", "sharegroup-altered"),
            Forced("EpochAfterDelete", "stored", "0", "sharegroup-altered"),
            Forced("WriteAccepted", "stored, write", "TRUE", "sharegroup-altered"),
        ),
        frozenset(),
        Forced("DeletesState", "row", "row.epoch = row.epoch", "sharegroup-altered"),
    ),
    Table(
        "controllers",
        "ControllerRules",
        False,
        (
            Forced("AcceptsAppend", "row, epoch", "FALSE", "controllers-two"),
            Forced("WaitsFor", "row", "0", "controllers-two"),
            Forced("DefersRecords", "row", "FALSE", "controllers-two"),
            Forced("IsComplete", "deferred, committed", "TRUE", "controllers-two"),
            Forced("RevertsOnRenounce", "row", "FALSE", "controllers-two"),
            Forced("FailsOnRenounce", "row", "FALSE", "controllers-two"),
        ),
        frozenset(),
        Forced("DefersRecords", "row", "row.end = row.end", "controllers-two"),
    ),
)
