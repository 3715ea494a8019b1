--------------------------- MODULE ShareProperties ---------------------------
(***************************************************************************)
(* Named properties of a share partition. Law of this file: no decision of  *)
(* ShareRules is used.                                                      *)
(***************************************************************************)
EXTENDS Shares

Active(row) == row.phase = "Active"
InWindow(row, o) == row.gap # 0 /\ row.gapEnd = row.end /\ o >= row.gap
IsDone(o) == \E n \in Members : o \in clients[n].done
Finished(stored, o) == o < stored.start \/ stored.cells[o].state \in Terminal
NewestOf(log, tail) == IF tail.records = <<>> THEN log.committed
                       ELSE tail.records[Len(tail.records)]

(* Offsets in flight lie from start to end, and an acquired record has a    *)
(* holder. Misses: a wrong holder.                                          *)
SharesTypeInv ==
  /\ leader.start <= leader.end /\ leader.end <= Records + 1
  /\ \A o \in Offsets : o >= leader.end => leader.cells[o] = NoCell
  /\ leader.phase \in {"Empty", "Initializing"} => \A o \in Offsets : leader.cells[o] = NoCell
  /\ \A o \in Offsets : LET c == leader.cells[o] IN
       /\ c.state = "Acquired" <=> c.member # Nobody
       /\ c.state = "Acquired" => ~c.moving

(* No two members hold the same delivery of a record from one incarnation.  *)
(* Misses: two holders from two incarnations, which Kafka allows.           *)
SingleAcquirer ==
  \A m, n \in Members : m # n => clients[m].held \cap clients[n].held = {}

(* A record whose acknowledgement succeeded is never delivered again.       *)
(* Misses: an acknowledgement whose response was lost.                      *)
AcknowledgedNeverRedelivered ==
  Active(leader) => \A o \in Offsets :
    IsDone(o) /\ o >= leader.start => leader.cells[o].state \notin {"Acquired", "Available"}

(* Every log that a next coordinator may have contains all successful       *)
(* acknowledgements. Misses: an acknowledgement whose response was lost.    *)
StateRecoverable ==
  \A tail \in coordinator.log.tails : \A o \in Offsets :
    IsDone(o) => Finished(NewestOf(coordinator.log, tail), o) \/ o < leader.logStart

(* No record is delivered more often than the limit allows. Misses:         *)
(* deliveries of earlier incarnations that were not stored.                 *)
DeliveryCountBounded == \A o \in Offsets : leader.cells[o].count <= MaxDelivery

(* The offsets in flight exceed the limit by less than one batch. Misses:   *)
(* records in flight of earlier incarnations.                               *)
InFlightBounded ==
  LET longest == CHOOSE l \in Offsets :
        /\ \E b \in Bases : EndOfBatch(b) - b + 1 = l
        /\ \A b \in Bases : EndOfBatch(b) - b + 1 <= l
  IN leader.end - leader.start < MaxInFlight + longest

(* The window of gaps does not begin before the start offset. A read there  *)
(* would be out of range for ever if the log starts later. Misses: a wrong  *)
(* start offset.                                                            *)
WindowFollowsStart ==
  Active(leader) /\ InWindow(leader, leader.end) => leader.gap >= leader.start

(* Every offset in flight that is not cached is in the window that will be  *)
(* fetched. Misses: a gap that compaction left.                             *)
GapsAreFetched ==
  Active(leader) => \A o \in Offsets :
    leader.start <= o /\ o < leader.end /\ leader.cells[o].state = "None" => InWindow(leader, o)

(* An acquired record has a lock that can still time out. Misses: a timer   *)
(* that never fires.                                                        *)
AcquiredHasLock == \A o \in Offsets : leader.cells[o].state = "Acquired" => ~leader.cells[o].expired

(* A record in transition has a pending write of the current incarnation.   *)
(* Misses: a persister that stops retrying.                                 *)
MovingIsPending ==
  \A o \in Offsets : leader.cells[o].moving =>
    \E a \in leader.pending :
      /\ a.write.incarnation = leader.incarnation
      /\ \E c \in a.write.cells : c.offset = o

(* A write that ends an acquisition comes from its holder's acknowledgement *)
(* or from the end of the holder's session. Misses: lock timeouts.          *)
OnlyHolderEnds ==
  \A a \in leader.pending : a.source # Nobody /\ a.write.incarnation = leader.incarnation =>
    \A c \in a.write.cells : leader.cells[c.offset].moving =>
      leader.cells[c.offset].previous = a.source

(* A consumer holds only records from the leader that it knows. Misses: a   *)
(* leader that the consumer does not know yet.                              *)
HeldIsOfItsLeader ==
  \A n \in Members : \A h \in clients[n].held : h.leaderEpoch = clients[n].leaderEpoch

(* Every log that a next coordinator may have contains the start offset.    *)
(* Misses: a start offset that was resolved too late.                       *)
StartIsStored ==
  Active(leader) => \A tail \in coordinator.log.tails : NewestOf(coordinator.log, tail).start # 0

(* No record above the high watermark is delivered. Misses: records before  *)
(* the log start.                                                           *)
DeliveredIsThere ==
  Active(leader) => \A o \in Offsets :
    leader.cells[o].state = "Acquired" => o <= leader.highWatermark

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

SameIncarnationStep == leader'.incarnation = leader.incarnation /\ Active(leader) /\ Active(leader')

(* The start offset of an incarnation never decreases. Misses: the start    *)
(* offset of the next incarnation.                                          *)
StartOffsetMonotonicStep == SameIncarnationStep => leader'.start >= leader.start
StartOffsetMonotonic == [][StartOffsetMonotonicStep]_vars

(* The start offset passes only records that are done, were never there, or *)
(* were deleted. Misses: a record that is wrongly done.                     *)
StartPassesFinishedStep ==
  SameIncarnationStep => \A o \in leader.start .. leader'.start - 1 :
    \/ o < leader.logStart
    \/ o >= leader.end
    \/ leader.cells[o].state = "None" /\ ~InWindow(leader, o)
    \/ /\ leader.cells[o].state \in Terminal
       /\ leader.cells[o].moving => leader'.pending # leader.pending
StartPassesFinished == [][StartPassesFinishedStep]_vars

(* A lock, an acknowledgement or a new log start never makes a done record  *)
(* available again. Misses: what a new incarnation loads.                   *)
DoneStaysDoneStep ==
  SameIncarnationStep => \A o \in Offsets :
    leader.cells[o].state \in Terminal /\ (~leader.cells[o].moving \/ leader.cells[o].final) =>
      leader'.cells[o].state \in Terminal \cup {"None"}
DoneStaysDone == [][DoneStaysDoneStep]_vars

(* No record before the start offset is acquired. Misses: a wrong start     *)
(* offset.                                                                  *)
AcquiresFromStartStep ==
  SameIncarnationStep => \A o \in Offsets :
    leader'.cells[o].state = "Acquired" /\ leader.cells[o].state \in {"None", "Available"}
      => o >= leader.start
AcquiresFromStart == [][AcquiresFromStartStep]_vars

(* The end of a session releases every record that the member holds.        *)
(* Misses: a session whose end releases nothing at all.                     *)
SessionReleasesAllStep ==
  \A a \in leader'.pending \ leader.pending : a.source = Nobody =>
    LET held(n) == {o \in Offsets : leader'.cells[o].member = n}
    IN \A c \in a.write.cells : held(leader'.cells[c.offset].previous) = {}
SessionReleasesAll == [][SessionReleasesAllStep]_vars

(* The committed start offset never decreases. Misses: an uncommitted start *)
(* offset.                                                                  *)
StoredStartMonotonicStep ==
  coordinator'.log.committed.start >= coordinator.log.committed.start
StoredStartMonotonic == [][StoredStartMonotonicStep]_vars

(* After a read is appended, no write of an earlier incarnation succeeds.   *)
(* Misses: writes of the same incarnation.                                  *)
StaleWriteRefusedStep ==
  \A a \in coordinator'.waiting \ coordinator.waiting :
    a.type = "WriteShareGroupStateResponse" /\ a.error = "NONE" =>
      a.write.incarnation >= Newest(coordinator.log).incarnation
StaleWriteRefused == [][StaleWriteRefusedStep]_vars

(* A successful read fences all earlier incarnations. Misses: a coordinator *)
(* that responds before the read is appended.                               *)
ReadFencesStep ==
  \A a \in coordinator'.waiting \ coordinator.waiting :
    a.type = "ReadShareGroupStateResponse" /\ a.error = "NONE" =>
      Newest(coordinator'.log).incarnation >= a.incarnation
ReadFences == [][ReadFencesStep]_vars
=============================================================================
