---------------------------- MODULE SnapshotRules ----------------------------
(***************************************************************************)
(* Every decision about snapshots of the metadata log (KIP-630) that has a  *)
(* name.  Which voters are in force is decided in VoterRules, what a voter  *)
(* does in QuorumRules.  The Python twin is reference/quorum/snapshots/rules.py.   *)
(*                                                                          *)
(* A snapshot [endOffset, epoch, records] is the effect of all records      *)
(* below its end; here it has these records themselves.  Its id             *)
(* [endOffset, epoch] has the epoch of the last of them (V1).               *)
(*                                                                          *)
(* Rule ids (V1 ...) are those of docs/reference/protocol-rules.md.         *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS VoterRules

CONSTANT
  StateMachines       \* controllers keep what the committed records say (V8, V29)

NoId == [endOffset |-> Undefined, epoch |-> Undefined]
NoSnapshot == [endOffset |-> Undefined, epoch |-> Undefined, records |-> <<>>]

IdOf(snapshot) == [endOffset |-> snapshot.endOffset, epoch |-> snapshot.epoch]

LastEpochOf(row) == LatestEpoch(row.epochCache)

(* V30.  Control records are not for the controller.                        *)
Data(log) == SelectSeq(log, LAMBDA entry : entry.value > 0)

(* A node's snapshots belong to one log, so their ends order them (V1).     *)
Latest(snapshots) == CHOOSE s \in snapshots : \A t \in snapshots : t.endOffset <= s.endOffset
Earliest(snapshots) == CHOOSE s \in snapshots : \A t \in snapshots : s.endOffset <= t.endOffset

-----------------------------------------------------------------------------
(* Made, and cleaned: V2, V3.                                               *)

(* V2.  Of what is committed, and not below the start of the log.           *)
SnapshotAllowed(row, end) ==
  /\ end > 0 /\ row.logStart <= end /\ end <= row.highWatermark
  /\ \A s \in row.snapshots : s.endOffset # end

(* V1.  The end is the offset after the last record that is in it.          *)
SnapshotTaken(row, end) ==
  [endOffset |-> end, epoch |-> row.log[end].epoch, records |-> Prefix(row.log, end)]

(* V2.  The set that was in force at the snapshot's last record stays; it   *)
(* is what a truncation to the snapshot's end leaves.                       *)
HistoryAfterSnapshot(history, end) ==
  LET below == SelectSeq(history, LAMBDA set : set.offset < end)
  IN IF below = <<>> THEN history
     ELSE <<LastOf(below)>> \o SelectSeq(history, LAMBDA set : set.offset >= end)

(* V3.  The log begins where a snapshot ends.                               *)
PrefixDeletable(row, offset) ==
  row.logStart < offset /\ \E s \in row.snapshots : s.endOffset = offset

-----------------------------------------------------------------------------
(* Fetched, and loaded: V4 to V7.                                           *)

(* A node that has nothing, or needs records that are no longer in the log, *)
(* needs a snapshot (V5).                                                   *)
FetchNeedsSnapshot(row, m) ==
  /\ row.snapshots # {}
  /\ LET earliest == Earliest(row.snapshots)
     IN \/ m.fetchOffset = 0
        \/ m.fetchOffset < row.logStart
        \/ m.fetchOffset = row.logStart /\ m.lastFetchedEpoch # earliest.epoch
        \/ m.lastFetchedEpoch < earliest.epoch

(* V6.                                                                      *)
IsServed(row, id) == \E s \in row.snapshots : IdOf(s) = id

(* The leader has just reported that the follower's position is not in its  *)
(* log, so the follower's records there are removed (V7).                   *)
ReplacesLog(row, snapshot) == TRUE

(* V7.  What the node has then.                                             *)
LogAfterSnapshot(row, snapshot) == Prefix(snapshot.records, snapshot.endOffset)

(* V4.  A log that lost what was not flushed ends below the snapshot.       *)
SnapshotIsAhead(row, snapshot) ==
  \/ snapshot.epoch > LastEpochOf(row)
  \/ snapshot.epoch = LastEpochOf(row) /\ snapshot.endOffset > EndOffset(row.log)

(* V4.  A log that begins where no snapshot ends cannot be started with.    *)
MayStart(row) ==
  row.logStart > 0 => \E s \in row.snapshots : s.endOffset >= row.logStart

-----------------------------------------------------------------------------
(* What a controller keeps of it: V8, V29.                                  *)

(* V29.  A leader is active, and writes, when a record of its epoch is      *)
(* committed.                                                               *)
IsActive(row) ==
  row.role = "Leader" /\ row.highWatermark # Undefined

(* A controller that has read nothing yet, or not up to the start of its    *)
(* log, begins with its latest snapshot (V8).                               *)
BeginsWithSnapshot(row, next) ==
  /\ row.snapshots # {} /\ (next = 0 \/ next < row.logStart)
  /\ Latest(row.snapshots).endOffset <= row.highWatermark

(* V29.  Up to where the state of a snapshot goes: its end is exclusive.    *)
StableAfterSnapshot(end) == end
=============================================================================
