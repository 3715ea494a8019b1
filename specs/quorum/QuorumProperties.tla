-------------------------- MODULE QuorumProperties --------------------------
(***************************************************************************)
(* Named properties of the quorum, and the history variables that they      *)
(* need. Every step updates the history variables, and no handler reads     *)
(* them (L5). For recorded runs they are computed again. The simulator and  *)
(* the reports use the same names (reference/quorum/properties.py).         *)
(*                                                                          *)
(* Law of this file: no operator of QuorumRules is used, so a replaced rule *)
(* never replaces the property that should detect it.                       *)
(***************************************************************************)
EXTENDS KRaftElection

VARIABLES
  committed,   \* the longest prefix that any leader's high watermark covered
  ballots,     \* ballots[n]: n's latest epoch, and the votes n gave in it
  appended     \* every <<offset, epoch, value>> that ever was in some log

vars == <<rows, network, committed, ballots, appended>>

IsLeader(row) == row.role = "Leader"

HistoryInit ==
  /\ committed = <<>>
  /\ ballots = [n \in Voters |-> [epoch |-> 0, given |-> {}]]
  /\ appended = {}

CommittedAfter(oldCommitted, newRows) ==
  LET ahead == {n \in Voters : /\ IsLeader(newRows[n])
                               /\ newRows[n].highWatermark > Len(oldCommitted)}
  IN IF ahead = {} THEN oldCommitted
     ELSE LET n == CHOOSE n \in ahead : TRUE
          IN Prefix(newRows[n].log, newRows[n].highWatermark)

BallotAfter(ballot, row) ==
  LET vote == IF row.voted = Nobody THEN {} ELSE {row.voted}
  IN CASE row.epoch > ballot.epoch -> [epoch |-> row.epoch, given |-> vote]
       [] row.epoch = ballot.epoch -> [ballot EXCEPT !.given = @ \cup vote]
       [] OTHER -> ballot

AppendedAfter(old, newRows) ==
  old \cup UNION {{<<i - 1, newRows[n].log[i].epoch, newRows[n].log[i].value>> :
                   i \in 1..Len(newRows[n].log)} : n \in Voters}

HistoryNext ==
  /\ committed' = CommittedAfter(committed, rows')
  /\ ballots' = [n \in Voters |-> BallotAfter(ballots[n], rows'[n])]

TraceAppends == appended' = AppendedAfter(appended, rows')

-----------------------------------------------------------------------------
(* Types.                                                                   *)

(* Every field of a row has a value of its type. Misses: a value of the     *)
(* right type that is wrong in this state.                                  *)
RowTypeInv ==
  \A n \in Voters :
    LET row == rows[n] IN
    /\ row.role \in Roles
    /\ row.epoch \in Nat /\ row.leader \in Voters \cup {Nobody}
    /\ row.voted \in Voters \cup {Nobody}
    /\ row.flushed \in 0..Len(row.log)
    /\ row.highWatermark \in -1..Len(row.log)
    /\ row.granted \subseteq Voters /\ row.rejected \subseteq Voters
    /\ row.granted \cap row.rejected = {}
    /\ row.epochStart \in -1..Len(row.log)
    /\ row.unacked \subseteq Others(n) /\ row.fetchedVoters \subseteq Others(n)
    /\ \A p \in Voters : row.connections[p] \in {"Ready", "Awaiting", "BackingOff"}

(* The fields of a row fit its role (V996 StatesMatchRoles). Misses: a      *)
(* wrong role whose fields fit it.                                          *)
ValidRolesAndStates ==
  \A n \in Voters :
    LET row == rows[n] IN
    /\ row.parked # {} => IsLeader(row)
    /\ row.granted \cup row.rejected # {} => row.role \in {"Prospective", "Candidate"}
    /\ row.epochStart # Undefined <=> IsLeader(row)
    /\ row.role \in {"Leader", "Resigned"} => row.leader = n
    /\ row.role = "Follower" => row.leader \in Others(n)
    /\ row.role = "Candidate" => row.leader = Nobody /\ row.voted = n
    /\ row.unacked # {} => row.role = "Resigned"

(* No node has stopped on an impossible message (Q10; V996 NoIllegalState). *)
(* Misses: an impossible message that a node accepts.                       *)
NoIllegalState == \A n \in Voters : rows[n].role # "Halted"

-----------------------------------------------------------------------------
(* Safety.                                                                  *)

(* Two voters in the same epoch that know a leader know the same leader.    *)
(* Misses: two leaders of one epoch, if no state has both in rows of that   *)
(* epoch.                                                                   *)
ElectionSafety ==
  \A a, b \in Voters :
    (rows[a].epoch = rows[b].epoch /\ rows[a].leader # Nobody /\ rows[b].leader # Nobody)
      => rows[a].leader = rows[b].leader

(* A voter gives at most one standard vote in an epoch. Misses: a vote that *)
(* was never in the voter's row, and votes of epochs before its last one.   *)
VoteOnce == \A n \in Voters : Cardinality(ballots[n].given) <= 1

(* Two logs agree below the smaller of the two high watermarks. Misses: a   *)
(* difference above that offset, even if one node knows the records to be   *)
(* committed.                                                               *)
LogMatchingCommitted ==
  \A a, b \in Voters :
    LET offset == MinOf(rows[a].highWatermark, rows[b].highWatermark)
    IN offset > 0 => Agree(rows[a].log, rows[b].log, offset)

(* If two logs have an entry with the same offset and epoch, they agree up  *)
(* to that entry (Raft's form). Misses: records that are wrong, or were     *)
(* replaced, in all logs alike.                                             *)
LogMatching ==
  \A a, b \in Voters :
    \A i \in 1..MinOf(Len(rows[a].log), Len(rows[b].log)) :
      rows[a].log[i].epoch = rows[b].log[i].epoch => Agree(rows[a].log, rows[b].log, i)

(* The leader of the largest epoch has everything that is committed.        *)
(* Misses: a leader that lacks records while some node is in a later epoch. *)
LeaderCompleteness ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ \A v \in Voters : rows[v].epoch <= rows[n].epoch)
      => IsPrefixOf(committed, rows[n].log)

(* A majority has the leader's log, by content, up to the leader's high     *)
(* watermark. Misses: a loss after the leader has gone, and copies that are *)
(* not on disk.                                                             *)
MajorityReachedHighWatermark ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ rows[n].highWatermark > 0)
      => IsMajority({v \in Voters : /\ Len(rows[v].log) >= rows[n].highWatermark
                                    /\ Agree(rows[v].log, rows[n].log, rows[n].highWatermark)})

(* A majority has the leader's log on disk, by content, up to the leader's  *)
(* high watermark. Misses: a loss after the leader has gone, which violates *)
(* CommittedSurvives.                                                       *)
DurableMajority ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ rows[n].highWatermark > 0)
      => IsMajority({v \in Voters : /\ rows[v].flushed >= rows[n].highWatermark
                                    /\ Agree(rows[v].log, rows[n].log, rows[n].highWatermark)})

(* Everything that was ever committed is on the disks of a majority.        *)
(* Misses: records acknowledged without a high watermark that covers them.  *)
CommittedSurvives ==
  IsMajority({v \in Voters : rows[v].flushed >= Len(committed)
                             /\ IsPrefixOf(committed, rows[v].log)})

(* An offset and an epoch determine one value in all logs of all times      *)
(* (KAFKA-10527). Misses: one record under two epochs.                      *)
UniqueEntry ==
  \A x, y \in appended : (x[1] = y[1] /\ x[2] = y[2]) => x[3] = y[3]

(* The epoch cache of a running node is the one that its log implies.       *)
(* Misses: a wrong log with the matching cache, and caches of stopped       *)
(* nodes.                                                                   *)
EpochCacheSound ==
  \A n \in Voters : Running(rows[n]) => rows[n].epochCache = CacheOf(rows[n].log)

(* A state machine is notified of its leadership only after everything      *)
(* before its epoch is committed. Misses: a leader whose state machine is   *)
(* never notified.                                                          *)
AnnouncedLeaderIsCaughtUp ==
  \A n \in Voters :
    rows[n].announced # Undefined =>
      /\ IsLeader(rows[n]) /\ rows[n].announced = rows[n].epoch
      /\ rows[n].highWatermark > rows[n].epochStart

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* Epochs never decrease, in memory or on disk, and the two are equal while *)
(* a node runs. Misses: an epoch that should have increased.                *)
MonotonicEpochStep ==
  \A n \in Voters :
    /\ rows'[n].epoch >= rows[n].epoch
    /\ rows'[n].quorumState.epoch >= rows[n].quorumState.epoch
    /\ Running(rows'[n]) => rows'[n].quorumState.epoch = rows'[n].epoch
MonotonicEpoch == [][MonotonicEpochStep]_vars

(* The high watermark of a node, and the one from leader to leader, never   *)
(* decreases. Misses: a high watermark that never increases, or increases   *)
(* too far (RefinesCommittedLog detects what it then covers).               *)
MonotonicHighWatermarkStep ==
  \A n \in Voters :
    /\ rows'[n].highWatermark # Undefined =>
         rows'[n].highWatermark >= rows[n].highWatermark
    /\ (/\ IsLeader(rows'[n]) /\ rows'[n].highWatermark # Undefined
        /\ \A v \in Voters : rows'[v].epoch <= rows'[n].epoch)
         => rows'[n].highWatermark >= Len(committed)
MonotonicHighWatermark == [][MonotonicHighWatermarkStep]_vars

(* A running node never removes a record below its high watermark. Misses:  *)
(* a truncation of committed records above the node's own high watermark,   *)
(* and a loss by a crash.                                                   *)
NoTruncateBelowHighWatermarkStep ==
  \A n \in Voters :
    (Running(rows[n]) /\ rows[n].highWatermark > 0 /\ Running(rows'[n]))
      => /\ Len(rows'[n].log) >= rows[n].highWatermark
         /\ Agree(rows[n].log, rows'[n].log, rows[n].highWatermark)
NoTruncateBelowHighWatermark == [][NoTruncateBelowHighWatermarkStep]_vars

-----------------------------------------------------------------------------
(* Refinement.                                                              *)

KnownCommitted ==
  [n \in Voters |-> Prefix(rows[n].log, MaxOf(rows[n].highWatermark, 0))]

Abstract == INSTANCE CommittedLog WITH Nodes <- Voters, known <- KnownCommitted

(* The quorum implements one committed log that only grows; each node knows *)
(* a prefix of it. Misses: a leader that is the first to call a record      *)
(* committed that no majority has, because its high watermark defines the   *)
(* committed log.                                                           *)
RefinesCommittedLog == Abstract!Spec
=============================================================================
