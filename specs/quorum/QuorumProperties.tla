-------------------------- MODULE QuorumProperties --------------------------
(***************************************************************************)
(* What the quorum promises, as named properties, and the history variables *)
(* that they need.  History variables are written beside every step and     *)
(* read by no handler (L5); over recorded runs they are recomputed.  The    *)
(* simulator and reports use these names, too (quorum/properties.py).       *)
(*                                                                          *)
(* Law of this file: no operator of QuorumRules is used, so that replacing  *)
(* a rule never replaces the property that should catch it.                 *)
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

(* What each role may hold (V996 StatesMatchRoles).                         *)
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
NoIllegalState == \A n \in Voters : rows[n].role # "Halted"

-----------------------------------------------------------------------------
(* Safety: protocol rules 6.1.                                              *)

(* Whoever knows the leader of an epoch knows the same one.                 *)
ElectionSafety ==
  \A a, b \in Voters :
    (rows[a].epoch = rows[b].epoch /\ rows[a].leader # Nobody /\ rows[b].leader # Nobody)
      => rows[a].leader = rows[b].leader

(* A voter gives at most one standard vote in an epoch.                     *)
VoteOnce == \A n \in Voters : Cardinality(ballots[n].given) <= 1

(* Two logs agree below both high watermarks.                               *)
LogMatchingCommitted ==
  \A a, b \in Voters :
    LET offset == MinOf(rows[a].highWatermark, rows[b].highWatermark)
    IN offset > 0 => Agree(rows[a].log, rows[b].log, offset)

(* Raft's form: one entry of the same offset and epoch, one prefix.         *)
LogMatching ==
  \A a, b \in Voters :
    \A i \in 1..MinOf(Len(rows[a].log), Len(rows[b].log)) :
      rows[a].log[i].epoch = rows[b].log[i].epoch => Agree(rows[a].log, rows[b].log, i)

(* A leader that no node has outlived holds everything that is committed.   *)
LeaderCompleteness ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ \A v \in Voters : rows[v].epoch <= rows[n].epoch)
      => IsPrefixOf(committed, rows[n].log)

(* A majority holds, by content, what a leader calls committed.             *)
MajorityReachedHighWatermark ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ rows[n].highWatermark > 0)
      => IsMajority({v \in Voters : /\ Len(rows[v].log) >= rows[n].highWatermark
                                    /\ Agree(rows[v].log, rows[n].log, rows[n].highWatermark)})

(* ... and holds it on disk.                                                *)
DurableMajority ==
  \A n \in Voters :
    (IsLeader(rows[n]) /\ rows[n].highWatermark > 0)
      => IsMajority({v \in Voters : /\ rows[v].flushed >= rows[n].highWatermark
                                    /\ Agree(rows[v].log, rows[n].log, rows[n].highWatermark)})

(* What was ever committed is, for ever, on the disks of a majority.        *)
CommittedSurvives ==
  IsMajority({v \in Voters : rows[v].flushed >= Len(committed)
                             /\ IsPrefixOf(committed, rows[v].log)})

(* (offset, epoch) names one value over all history (KAFKA-10527).          *)
UniqueEntry ==
  \A x, y \in appended : (x[1] = y[1] /\ x[2] = y[2]) => x[3] = y[3]

(* The epoch cache is the one that the log implies.                         *)
EpochCacheSound ==
  \A n \in Voters : Running(rows[n]) => rows[n].epochCache = CacheOf(rows[n].log)

(* A state machine that was told to lead has everything before its epoch.   *)
AnnouncedLeaderIsCaughtUp ==
  \A n \in Voters :
    rows[n].announced # Undefined =>
      /\ IsLeader(rows[n]) /\ rows[n].announced = rows[n].epoch
      /\ rows[n].highWatermark > rows[n].epochStart

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* Epochs never go back, in memory or on disk, and the two agree.           *)
MonotonicEpochStep ==
  \A n \in Voters :
    /\ rows'[n].epoch >= rows[n].epoch
    /\ rows'[n].quorumState.epoch >= rows[n].quorumState.epoch
    /\ Running(rows'[n]) => rows'[n].quorumState.epoch = rows'[n].epoch
MonotonicEpoch == [][MonotonicEpochStep]_vars

(* The high watermark never goes back: not on a node while it knows one,    *)
(* and not from one leader to the next.                                     *)
MonotonicHighWatermarkStep ==
  \A n \in Voters :
    /\ rows'[n].highWatermark # Undefined =>
         rows'[n].highWatermark >= rows[n].highWatermark
    /\ (/\ IsLeader(rows'[n]) /\ rows'[n].highWatermark # Undefined
        /\ \A v \in Voters : rows'[v].epoch <= rows'[n].epoch)
         => rows'[n].highWatermark >= Len(committed)
MonotonicHighWatermark == [][MonotonicHighWatermarkStep]_vars

(* Nothing that a running node knows to be committed leaves its log.        *)
NoTruncateBelowHighWatermarkStep ==
  \A n \in Voters :
    (Running(rows[n]) /\ rows[n].highWatermark > 0 /\ Running(rows'[n]))
      => /\ Len(rows'[n].log) >= rows[n].highWatermark
         /\ Agree(rows[n].log, rows'[n].log, rows[n].highWatermark)
NoTruncateBelowHighWatermark == [][NoTruncateBelowHighWatermarkStep]_vars

-----------------------------------------------------------------------------
(* Refinement: the quorum is one committed log.                             *)

KnownCommitted ==
  [n \in Voters |-> Prefix(rows[n].log, MaxOf(rows[n].highWatermark, 0))]

Abstract == INSTANCE CommittedLog WITH Nodes <- Voters, known <- KnownCommitted

RefinesCommittedLog == Abstract!Spec
=============================================================================
