----------------------------- MODULE QuorumBugs ------------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS QuorumRules

(* Z01 (KIP-595, Q2): the vote lives in memory only.  After a restart the   *)
(* voter votes again in the same epoch, and two candidates hold a majority. *)
Z01_PersistedQuorumState(row) ==
  [epoch |-> row.epoch, leader |-> row.leader, voted |-> Nobody]

(* Z02 (KAFKA-10527): a leader that restarts leads its epoch on.  What it   *)
(* lost is written again with other content under the same offset and       *)
(* epoch.  Visible only if it also serves and counts what is not flushed.   *)
Z02_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Leader"
    [] quorumState.leader # Nobody -> "Follower"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

Z02_ServableEndOffset(row) == EndOffset(row.log)
Z02_OwnEndOffset(row) == EndOffset(row.log)

(* Z03 (KAFKA-10533): a follower confirms offsets that sit in the page      *)
(* cache.  The high watermark moves, a machine fails, and the entry is gone.*)
Z03_FlushedAfterFollowerAppend(row) == row.flushed

(* Z04 (Raft figure 8): entries of older epochs count as committed before   *)
(* the leader has committed one of its own.                                 *)
Z04_CoversOwnEpoch(row, offset) == TRUE

(* Z05 (KAFKA-12619): the guard of Z04, one record too narrow: the leader's *)
(* own LeaderChange record need not be covered.                             *)
Z05_CoversOwnEpoch(row, offset) == offset >= row.epochStart

(* Z06 (Q6): a nominee with a shorter log wins and truncates what is        *)
(* committed.                                                               *)
Z06_LogOk(row, m) == TRUE

(* Z07 (Q13): the leader serves any offset, and a follower that diverged    *)
(* appends after its own tail.                                              *)
Z07_FetchDiverges(row, m) == FALSE

(* Z08 (Q13): the leader notes the fetch offset before it compares the      *)
(* epochs, so the high watermark covers records that the follower lacks.    *)
Z08_FetchUpdatesEndOffset(diverges) == TRUE

(* Z09 (KAFKA-15489): a leader never checks whether it has a quorum.  One   *)
(* that can send but receives nothing leads for ever.                       *)
Z09_CheckQuorumApplies == FALSE

(* Z10 (KAFKA-16144): check-quorum with one voter.  Nobody fetches from it, *)
(* so its timer expires, and it resigns again and again.                    *)
Z10_CheckQuorumApplies == TRUE

(* Z12 (KAFKA-17641): followers refuse every pre-vote. After the leader's   *)
(* death the others stand in turn and refuse each other for ever.           *)
Z12_FollowerGrantsPreVote(row, m) == FALSE

(* Z13 (KAFKA-17642): a change of role within one epoch drops the vote, and *)
(* the voter votes again.                                                   *)
Z13_VotedWithinEpoch(row) == Nobody

(* Z14 (KAFKA-16529): before 4.0 the quorum-state file kept either a vote   *)
(* or a leader.  A voter that restarts without the leader's endpoints also  *)
(* forgets the leader, and votes for a loser of the same epoch.             *)
Z14_PersistedQuorumState(row) ==
  [epoch |-> row.epoch, leader |-> row.leader,
   voted |-> IF row.leader = Nobody THEN row.voted ELSE Nobody]

Z14_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

Z14_RememberedLeader(quorumState) == Nobody

(* Z15 (KAFKA-18379): a resigned leader stays in its epoch, in which its    *)
(* peers still report it as leader, so it must follow itself.               *)
Z15_EpochAfterResigned(epoch) == epoch

(* Z16 (KAFKA-17333): the leader of an epoch is announced to its state      *)
(* machine before the state machine has caught up.                          *)
Z16_MayAnnounceLeader(row) == row.role \in {"Leader", "Resigned"}

(* Z20 (KAFKA-10706): a truncation that cuts no record leaves the epoch     *)
(* cache alone, and a restart does not repair it.  A leader that lost its   *)
(* LeaderChange record then exchanges the same divergence for ever.         *)
Z20_TruncatedEpochCache(row, offset) ==
  IF offset >= EndOffset(row.log) THEN row.epochCache ELSE CacheTruncate(row.epochCache, offset)
Z20_RecoveredEpochCache(cache, endOffset) == cache

(* Z68 (found with this kit; an open question for Kafka): on restart the    *)
(* vote is checked before the leader. A candidate that lost and followed    *)
(* the winner stands again in the same epoch, with records of that epoch in *)
(* its log, and the response INVALID_REQUEST stops it.                      *)
Z68_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.voted = n -> "Candidate"
    [] quorumState.leader # Nobody -> "Follower"
    [] OTHER -> "Unattached"

(* Z302 (Q16): a leader that lacks committed records has its followers cut  *)
(* them, and none of them stops.  The leader is one that was voted for      *)
(* without a look at its log.                                               *)
Z302_LogOk(row, m) == TRUE
Z302_TruncationRefused(row, diverging) == FALSE

(* Z304 (Q22): a response counts if it answers a request of the kind that   *)
(* is in flight, though not the one that is.                                *)
Z304_AnswersInFlight(row, m, inFlight) ==
  row.connections[m.source] = "Awaiting" /\ m.request.type = inFlight.type
==============================================================================
