------------------------- MODULE SnapshotProperties --------------------------
(***************************************************************************)
(* What snapshots of the metadata log promise, as named properties.  Those  *)
(* of a log, its leaders and its voters are those of VoterProperties, of    *)
(* all that a node has, be it in its log or in its snapshot.                *)
(*                                                                          *)
(* Law of this file: no operator of SnapshotRules, VoterRules or            *)
(* QuorumRules is used.                                                     *)
(***************************************************************************)
EXTENDS Snapshots

VARIABLES
  rows,        \* rows[n]: the whole state of node n
  committed    \* the longest prefix that any leader's high watermark covered

P == INSTANCE VoterProperties WITH rows <- [n \in Nodes |-> rows[n].voter]

CommittedAfter(old, newRows) == P!CommittedAfter(old, [n \in Nodes |-> newRows[n].voter])

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
(* Sets, where the oldest are no longer known.                              *)

Ends(n) == {s.endOffset : s \in rows[n].snapshots}

(* The offset of the set that was in force at the end of what the latest    *)
(* snapshot has.                                                            *)
OldestKnown(n) ==
  LET end == IF Ends(n) = {} THEN 0 ELSE CHOOSE e \in Ends(n) : \A f \in Ends(n) : f <= e
      sets == P!SetsOf(rows[n].voter.quorum.log)
      offsets == {sets[i].offset : i \in DOMAIN sets}
      below == {o \in offsets : o < end \/ o = Undefined}
  IN CHOOSE o \in below : \A p \in below : p <= o

(* A node knows the sets of its latest snapshot and its log, and no others. *)
HistorySound ==
  \A n \in Nodes : Running(rows[n]) =>
    rows[n].voter.history =
      SelectSeq(P!SetsOf(rows[n].voter.quorum.log), LAMBDA set : set.offset >= OldestKnown(n))

(* What nodes know to be committed of the sets is one line.                 *)
CommittedSetsOneLine ==
  LET line == P!SetsOf(committed)
      settled(n, sets) ==
        SelectSeq(sets, LAMBDA set :
          /\ set.offset < MaxOf(rows[n].voter.quorum.highWatermark, 0)
          /\ set.offset >= OldestKnown(n))
  IN \A n \in Nodes :
       Running(rows[n]) => settled(n, rows[n].voter.history) = settled(n, line)

-----------------------------------------------------------------------------
(* Snapshots.                                                               *)

(* A snapshot has what is committed below its end, all of it and no more.   *)
SnapshotIsPrefix ==
  \A n \in Nodes : \A s \in rows[n].snapshots :
    /\ s.endOffset <= Len(committed)
    /\ s.records = Prefix(committed, s.endOffset)
    /\ s.epoch = committed[s.endOffset].epoch

(* What has gone from the beginning of a log is in a snapshot of its node.  *)
PrefixKeepsCommitted ==
  \A n \in Nodes : rows[n].logStart > 0 => \E e \in Ends(n) : e >= rows[n].logStart

(* A log begins where a snapshot ends, and goes on from there.              *)
LogStartCovered ==
  \A n \in Nodes :
    rows[n].logStart > 0 =>
      /\ rows[n].logStart \in Ends(n)
      /\ Running(rows[n]) => rows[n].logStart <= Len(rows[n].voter.quorum.log)

(* V29.  What a controller has read is what the committed records up to     *)
(* there say, whether it leads, led, or began with a snapshot.              *)
ControllerStateIsReplay ==
  \A n \in Nodes :
    LET machine == rows[n].machine
        said == SelectSeq(Prefix(committed, machine.next), LAMBDA entry : entry.value > 0)
    IN machine.next <= Len(committed) /\ machine.records = said

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* Only a follower loads a snapshot, and what it has after it is what is    *)
(* committed (Q19, V8).                                                     *)
LoadsCommittedStep ==
  \A n \in Nodes :
    LET before == rows[n]
        after == rows'[n]
        loads == /\ Running(before) /\ before.download # NoId
                 /\ Running(after) /\ after.logStart > before.logStart
                 /\ after.snapshots # before.snapshots /\ after.download = NoId
    IN loads => /\ before.voter.quorum.role = "Follower"
                /\ after.voter.quorum.log = Prefix(committed, after.logStart)
=============================================================================
