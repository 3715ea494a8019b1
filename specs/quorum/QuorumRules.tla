---------------------------- MODULE QuorumRules -----------------------------
(***************************************************************************)
(* Every decision of the controller quorum that has a name: no state, no    *)
(* messages sent, no variables.  A bug is one or more of these operators    *)
(* replaced (bugs, `Op <- [QuorumRules] BugOp`).  The Python twin is        *)
(* reference/quorum/rules.py, where each operator is a function of the same *)
(* name in snake case.                                                      *)
(*                                                                          *)
(* Rule ids (Q1 ...) are those of docs/reference/protocol-rules.md.         *)
(*                                                                          *)
(* Law of this file: nothing here looks at the identity of a node except by *)
(* equality, and no property (QuorumProperties) calls an operator of this   *)
(* file, or else replacing the operator would change the property with it.  *)
(***************************************************************************)
EXTENDS ReplicaLog, VoterSet

CONSTANT FetchMaxRecords      \* how many records one fetch response carries at most

LastFetchedEpoch(row) == LatestEpoch(row.epochCache)

-----------------------------------------------------------------------------
(* Durability and restart: Q2, Q3.                                          *)

(* Q2, Q7.  What the quorum-state file holds after a step.                  *)
PersistedQuorumState(row) ==
  [epoch |-> row.epoch, leader |-> row.leader, voted |-> row.voted]

(* The role in which a voter starts (Q3). A known leader takes precedence   *)
(* over the vote, because a candidate that lost and followed must not stand *)
(* again.                                                                   *)
StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.leader # Nobody -> "Follower"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

(* Q3.  The leader that a starting voter remembers for its epoch.           *)
RememberedLeader(quorumState) == quorumState.leader

(* S6.  The epoch cache after a restart: entries past the end are dropped.  *)
RecoveredEpochCache(cache, endOffset) == CacheTruncate(cache, endOffset)

-----------------------------------------------------------------------------
(* Elections: Q4 to Q9.                                                     *)

(* Q6 logOk.  Whether a nominee's log is at least as long as this one.      *)
LogOk(row, m) ==
  \/ m.lastEpoch > LastFetchedEpoch(row)
  \/ m.lastEpoch = LastFetchedEpoch(row) /\ m.lastOffset >= EndOffset(row.log)

(* Q5 (c), (d).                                                             *)
VoteRequestError(row, m) ==
  CASE m.lastOffset < 0 \/ m.lastEpoch < 0 -> "INVALID_REQUEST"
    [] m.lastEpoch > m.epoch \/ (~m.preVote /\ m.lastEpoch = m.epoch) -> "INVALID_REQUEST"
    [] m.epoch < row.epoch -> "FENCED_LEADER_EPOCH"
    [] OTHER -> "NONE"

(* Q6, standard vote.                                                       *)
VoteGranted(row, m) ==
  CASE row.role \notin {"Unattached", "Prospective"} -> FALSE
    [] row.voted # Nobody -> row.voted = m.source
    [] row.leader # Nobody -> FALSE
    [] OTHER -> LogOk(row, m)

(* Q6, pre-vote of a follower: refused once it has fetched in this epoch.   *)
FollowerGrantsPreVote(row, m) == ~row.hasFetched /\ LogOk(row, m)

(* Q6, pre-vote.                                                            *)
PreVoteGranted(row, m) ==
  CASE row.role = "Leader" -> FALSE
    [] row.role = "Follower" -> FollowerGrantsPreVote(row, m)
    [] OTHER -> LogOk(row, m)

(* Q7.  Only a standard vote is recorded.                                   *)
VoteRecorded(m) == ~m.preVote

(* Q4, Q7.  The vote that survives a change of role within one epoch.       *)
VotedWithinEpoch(row) == row.voted

(* Q8.                                                                      *)
ElectionWon(granted) == IsMajority(granted)
ElectionLost(rejected) == ~IsMajority(Voters \ rejected)

(* A resigned leader leaves its epoch (KAFKA-18379).                        *)
EpochAfterResigned(epoch) == epoch + 1

(* When the state machine is notified that it leads (Q9; KAFKA-17333).      *)
MayAnnounceLeader(row) == row.role = "Leader" /\ row.highWatermark > row.epochStart

(* Q15 (KAFKA-16144).  A sole voter has no fetches to wait for.             *)
CheckQuorumApplies == Cardinality(Voters) > 1

(* Q15.  Fetches of how many other voters show that the quorum is alive.    *)
CheckQuorumSatisfied(fetched, n) == IsMajority((fetched \cup {n}) \cap Voters)

-----------------------------------------------------------------------------
(* Requests and responses: Q8, Q10, Q22.                                    *)

(* Q10 (a) for Begin and EndQuorumEpoch.                                    *)
LeaderRequestError(row, m) == IF m.epoch < row.epoch THEN "FENCED_LEADER_EPOCH" ELSE "NONE"

(* Q22.  A response counts only if it answers the request in flight.        *)
AnswersInFlight(row, m, inFlight) ==
  row.connections[m.source] = "Awaiting" /\ m.request = inFlight

(* Q8, Q16.  A response of an older epoch teaches nothing.                  *)
IsStaleResponse(row, m) == m.epoch < row.epoch \/ m.error = "UNKNOWN_LEADER_EPOCH"

(* With two leaders of one epoch Kafka stops, and so does the model (Q10).  *)
ConflictingLeader(n, row, leader, epoch) ==
  IF leader = n
  THEN row.role # "Leader" \/ epoch # row.epoch
  ELSE epoch = row.epoch /\ leader # Nobody /\ row.leader # Nobody /\ leader # row.leader

-----------------------------------------------------------------------------
(* Fetch, divergence, high watermark: Q12 to Q16.                           *)

(* Q12.                                                                     *)
FetchRequestError(row, m) ==
  CASE m.fetchOffset < 0 \/ m.lastFetchedEpoch < 0 \/ m.lastFetchedEpoch > m.epoch ->
         "INVALID_REQUEST"
    [] m.epoch < row.epoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.epoch -> "UNKNOWN_LEADER_EPOCH"
    [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] OTHER -> "NONE"

(* Q13.  Whether the fetching voter's log departs from this one.            *)
FetchDiverges(row, m) ==
  LET end == EndOffsetForEpoch(row.epochCache, EndOffset(row.log), m.lastFetchedEpoch)
  IN /\ m.fetchOffset > 0
     /\ end.epoch # m.lastFetchedEpoch \/ end.endOffset < m.fetchOffset

(* Whether a fetch updates the follower's end offset at the leader (Q13).   *)
FetchUpdatesEndOffset(diverges) == ~diverges

(* Q14.  The leader serves, and counts for itself, only what is flushed.    *)
ServableEndOffset(row) == row.flushed
OwnEndOffset(row) == row.flushed

(* Q14.  The offset that a majority has reached.                            *)
MajorityEndOffset(n, row) ==
  LET offset(v) == IF v = n THEN OwnEndOffset(row) ELSE row.endOffsets[v]
      reached == {offset(v) : v \in Voters}
      byMajority == {o \in reached : IsMajority({v \in Voters : offset(v) >= o})}
  IN CHOOSE o \in byMajority : \A p \in byMajority : p <= o

(* Q14 (KAFKA-12619).  Own epoch first, and never back.                     *)
CoversOwnEpoch(row, offset) == offset > row.epochStart
MayAdvanceHighWatermark(row, offset) ==
  CoversOwnEpoch(row, offset) /\ offset > row.highWatermark

(* Q16.  Where a follower cuts its log on a diverging response.             *)
TruncationOffset(row, diverging) ==
  LET own == EndOffsetForEpoch(row.epochCache, EndOffset(row.log), diverging.epoch)
  IN CASE diverging.epoch = 0 -> MinOf(diverging.endOffset, EndOffset(row.log))
       [] own.epoch = diverging.epoch -> MinOf(own.endOffset, diverging.endOffset)
       [] OTHER -> own.endOffset

(* Q16.  Whether a diverging response contradicts what the follower knows   *)
(* to be committed: its leader lacks that, and the follower stops.          *)
TruncationRefused(row, diverging) ==
  MinOf(diverging.endOffset, TruncationOffset(row, diverging)) < row.highWatermark

(* P12 (KAFKA-10706).  The epoch cache is cut even when no record is.       *)
TruncatedEpochCache(row, offset) == CacheTruncate(row.epochCache, offset)

(* Q16, P15 (KAFKA-18723).  Records of a later epoch than the follower's    *)
(* are not appended.                                                        *)
Appendable(row, m) == UpToEpoch(m.records, row.epoch)

(* Q16.  What is on disk after an append: a follower flushes in the same    *)
(* handler, a leader in a step of its own that nothing may overtake.        *)
FlushedAfterFollowerAppend(row) == EndOffset(row.log)
FlushedAfterLeaderAppend(row) == row.flushed

(* Q16.  -1 in a response: the leader has not committed in its epoch yet.   *)
(* A request that was sent twice may be answered twice, the older answer    *)
(* last; so the follower's high watermark never goes back either.           *)
FollowerHighWatermark(row, offset) ==
  MaxOf(row.highWatermark, MinOf(offset, EndOffset(row.log)))
=============================================================================
