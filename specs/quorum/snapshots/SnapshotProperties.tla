------------------------- MODULE SnapshotProperties --------------------------
(***************************************************************************)
(* Named properties of snapshots of the metadata log. The properties of a   *)
(* log, its leaders and its voters are those of VoterProperties. They cover *)
(* all records of a node, in its log or in its snapshot.                    *)
(*                                                                          *)
(* Law of this file: no operator of SnapshotRules, VoterRules or            *)
(* QuorumRules is used.                                                     *)
(***************************************************************************)
EXTENDS Snapshots

VARIABLES
  rows,        \* rows[n]: the whole state of node n
  committed    \* the longest prefix that any leader's high watermark covered

P == INSTANCE VoterProperties

CommittedAfter(old, newRows) == P!CommittedAfter(old, newRows)

NoIllegalState == P!NoIllegalState
ElectionSafety == P!ElectionSafety
LogMatching == P!LogMatching
LogMatchingCommitted == P!LogMatchingCommitted
LeaderCompleteness == P!LeaderCompleteness
EpochCacheSound == P!EpochCacheSound
AdjacentSets == P!AdjacentSets
OneChangeAtATime == P!OneChangeAtATime
NoDisjointMajorities == P!NoDisjointMajorities
CommittedSurvives == P!CommittedSurvives
WouldBeVoterFlushed == P!WouldBeVoterFlushed
RemovedLeaderResigns == P!RemovedLeaderResigns
NoIllegalJoinStep == P!NoIllegalJoinStep

-----------------------------------------------------------------------------
(* Voter sets; the oldest ones are no longer known.                         *)

Ends(n) == {s.endOffset : s \in rows[n].snapshots}

(* The offset of the set in force at the end of the latest snapshot.        *)
OldestKnown(n) ==
  LET end == IF Ends(n) = {} THEN 0 ELSE CHOOSE e \in Ends(n) : \A f \in Ends(n) : f <= e
      sets == P!SetsOf(rows[n].log)
      offsets == {sets[i].offset : i \in DOMAIN sets}
      below == {o \in offsets : o < end \/ o = Undefined}
  IN CHOOSE o \in below : \A p \in below : p <= o

(* A running node knows exactly the voter sets of its latest snapshot and   *)
(* its log. Misses: a log with wrong sets.                                  *)
HistorySound ==
  \A n \in Nodes : Running(rows[n]) =>
    rows[n].history =
      SelectSeq(P!SetsOf(rows[n].log), LAMBDA set : set.offset >= OldestKnown(n))

(* All nodes know the same committed voter sets, from their latest snapshot *)
(* to their high watermark. Misses: a committed set that no node knows to   *)
(* be committed.                                                            *)
CommittedSetsOneLine ==
  LET line == P!SetsOf(committed)
      settled(n, sets) ==
        SelectSeq(sets, LAMBDA set :
          /\ set.offset < MaxOf(rows[n].highWatermark, 0)
          /\ set.offset >= OldestKnown(n))
  IN \A n \in Nodes :
       Running(rows[n]) => settled(n, rows[n].history) = settled(n, line)

-----------------------------------------------------------------------------
(* Snapshots.                                                               *)

(* A snapshot contains exactly the committed records below its end. Misses: *)
(* a truncated snapshot; snapshots are fetched whole.                       *)
SnapshotIsPrefix ==
  \A n \in Nodes : \A s \in rows[n].snapshots :
    /\ s.endOffset <= Len(committed)
    /\ s.records = Prefix(committed, s.endOffset)
    /\ s.epoch = committed[s.endOffset].epoch

(* Records that were removed from the beginning of a log are in a snapshot  *)
(* of the node. Misses: the content of the snapshot (see SnapshotIsPrefix). *)
PrefixKeepsCommitted ==
  \A n \in Nodes : rows[n].logStart > 0 => \E e \in Ends(n) : e >= rows[n].logStart

(* A log begins at the end of a snapshot of its node. Misses: a superfluous *)
(* snapshot.                                                                *)
LogStartCovered ==
  \A n \in Nodes :
    rows[n].logStart > 0 =>
      /\ rows[n].logStart \in Ends(n)
      /\ Running(rows[n]) => rows[n].logStart <= Len(rows[n].log)

(* A controller's state is the one of the committed records that it has     *)
(* read, whether it leads, led, or began with a snapshot (V29). Misses:     *)
(* runs without `state_machines`, and uncommitted writes of an active       *)
(* controller.                                                              *)
ControllerStateIsReplay ==
  \A n \in Nodes :
    LET machine == rows[n].machine
        said == SelectSeq(Prefix(committed, machine.next), LAMBDA entry : entry.value > 0)
    IN machine.next <= Len(committed) /\ machine.records = said

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* Only a follower loads a snapshot, and its log is then the committed log  *)
(* up to the snapshot's end (V7, V8). Misses: a node that needs a snapshot *)
(* and never loads one.                                                     *)
LoadsCommittedStep ==
  \A n \in Nodes :
    LET before == rows[n]
        after == rows'[n]
        loads == /\ Running(before) /\ before.download # NoId
                 /\ Running(after) /\ after.logStart > before.logStart
                 /\ after.snapshots # before.snapshots /\ after.download = NoId
    IN loads => /\ before.role = "Follower"
                /\ after.log = Prefix(committed, after.logStart)
=============================================================================
