--------------------------- MODULE ShareProperties ---------------------------
(***************************************************************************)
(* What a share partition promises, as named properties.  Law of this file: *)
(* no decision of ShareRules is used.                                       *)
(***************************************************************************)
EXTENDS Shares

IsActive == leader.phase = "Active"
InWindow(row, o) == row.gap # 0 /\ row.gapEnd = row.end /\ o >= row.gap
IsDone(o) == \E n \in Members : o \in clients[n].done
Finished(stored, o) == o < stored.start \/ stored.cells[o].state \in Terminal
NewestOf(log, tail) == IF tail.records = <<>> THEN log.committed
                       ELSE tail.records[Len(tail.records)]

(* What is in flight lies from the start to the end.                        *)
SharesTypeInv ==
  /\ leader.start <= leader.end /\ leader.end <= Records + 1
  /\ \A o \in Offsets : o >= leader.end => leader.cells[o] = NoCell
  /\ leader.phase \in {"Empty", "Initializing"} => \A o \in Offsets : leader.cells[o] = NoCell
  /\ \A o \in Offsets : LET c == leader.cells[o] IN
       /\ c.state = "Acquired" <=> c.member # Nobody
       /\ c.state = "Acquired" => ~c.moving

(* One incarnation hands a record out once for each delivery.               *)
SingleAcquirer ==
  \A m, n \in Members : m # n => clients[m].held \cap clients[n].held = {}

(* What was acknowledged without an error is not handed out again.          *)
AcknowledgedNeverRedelivered ==
  IsActive => \A o \in Offsets :
    IsDone(o) /\ o >= leader.start => leader.cells[o].state \notin {"Acquired", "Available"}

(* Any coordinator to come has what was acknowledged without an error.      *)
StateRecoverable ==
  \A tail \in coordinator.log.tails : \A o \in Offsets :
    IsDone(o) => Finished(NewestOf(coordinator.log, tail), o) \/ o < leader.logStart

(* A record is delivered as often as the limit allows.                      *)
DeliveryCountBounded == \A o \in Offsets : leader.cells[o].count <= MaxDelivery

(* The offsets in flight exceed the limit by less than a batch.             *)
InFlightBounded ==
  LET longest == CHOOSE l \in Offsets :
        /\ \E b \in Bases : EndOfBatch(b) - b + 1 = l
        /\ \A b \in Bases : EndOfBatch(b) - b + 1 <= l
  IN leader.end - leader.start < MaxInFlight + longest

(* The window of gaps does not lie before the start: a read there is out of *)
(* range for ever, where the log has started after it.                      *)
WindowFollowsStart ==
  IsActive /\ InWindow(leader, leader.end) => leader.gap >= leader.start

(* What is not cached before the end is fetched again.                      *)
GapsAreFetched ==
  IsActive => \A o \in Offsets :
    leader.start <= o /\ o < leader.end /\ leader.cells[o].state = "None" => InWindow(leader, o)

(* An acquired record has a lock that can still run out.                    *)
AcquiredHasLock == \A o \in Offsets : leader.cells[o].state = "Acquired" => ~leader.cells[o].expired

(* A cell that moves has a write whose answer is awaited.                   *)
MovingIsPending ==
  \A o \in Offsets : leader.cells[o].moving =>
    \E a \in leader.pending :
      /\ a.write.incarnation = leader.incarnation
      /\ \E c \in a.write.cells : c.offset = o

(* Only its holder's acknowledgement, or the end of its session, ends an    *)
(* acquisition by a write.                                                  *)
OnlyHolderEnds ==
  \A a \in leader.pending : a.source # Nobody /\ a.write.incarnation = leader.incarnation =>
    \A c \in a.write.cells : leader.cells[c.offset].moving =>
      leader.cells[c.offset].previous = a.source

(* A consumer holds only what the leader that it knows has handed out.      *)
HeldIsOfItsLeader ==
  \A n \in Members : \A h \in clients[n].held : h.leaderEpoch = clients[n].leaderEpoch

(* Whoever leads next begins where this leader began.                       *)
StartIsStored ==
  IsActive => \A tail \in coordinator.log.tails : NewestOf(coordinator.log, tail).start # 0

(* Nothing that the log does not have is handed out.                        *)
DeliveredIsThere ==
  IsActive => \A o \in Offsets :
    leader.cells[o].state = "Acquired" => o <= leader.highWatermark

-----------------------------------------------------------------------------
(* Of steps.                                                                *)

SameIncarnation == leader'.incarnation = leader.incarnation /\ IsActive /\ leader'.phase = "Active"
SameTenure == coordinator'.leaderEpoch = coordinator.leaderEpoch

StartOffsetMonotonicStep == SameIncarnation => leader'.start >= leader.start
StartOffsetMonotonic == [][StartOffsetMonotonicStep]_vars

(* The start offset passes what is done, what was never there, and what the *)
(* log does not have.                                                       *)
StartPassesFinishedStep ==
  SameIncarnation => \A o \in leader.start .. leader'.start - 1 :
    \/ o < leader.logStart
    \/ o >= leader.end
    \/ leader.cells[o].state = "None" /\ ~InWindow(leader, o)
    \/ /\ leader.cells[o].state \in Terminal
       /\ leader.cells[o].moving => leader'.pending # leader.pending
StartPassesFinished == [][StartPassesFinishedStep]_vars

(* A lock, an acknowledgement or the log start never revives what is done.  *)
DoneStaysDoneStep ==
  SameIncarnation => \A o \in Offsets :
    leader.cells[o].state \in Terminal /\ (~leader.cells[o].moving \/ leader.cells[o].final) =>
      leader'.cells[o].state \in Terminal \cup {"None"}
DoneStaysDone == [][DoneStaysDoneStep]_vars

(* An acquisition is within the batches that begin at or after the start.   *)
AcquiresFromStartStep ==
  SameIncarnation => \A o \in Offsets :
    leader'.cells[o].state = "Acquired" /\ leader.cells[o].state \in {"None", "Available"}
      => o >= leader.start
AcquiresFromStart == [][AcquiresFromStartStep]_vars

(* The end of a session releases all that its member holds.                 *)
SessionReleasesAllStep ==
  \A a \in leader'.pending \ leader.pending : a.source = Nobody =>
    LET held(n) == {o \in Offsets : leader'.cells[o].member = n}
    IN \A c \in a.write.cells : held(leader'.cells[c.offset].previous) = {}
SessionReleasesAll == [][SessionReleasesAllStep]_vars

StoredStartMonotonicStep ==
  coordinator'.log.committed.start >= coordinator.log.committed.start
StoredStartMonotonic == [][StoredStartMonotonicStep]_vars

(* After a read is appended, no write of an earlier incarnation is          *)
(* accepted.                                                                *)
StaleWriteRefusedStep ==
  \A a \in coordinator'.waiting \ coordinator.waiting :
    a.type = "WriteShareGroupStateResponse" /\ a.error = "NONE" =>
      a.write.incarnation >= Newest(coordinator.log).incarnation
StaleWriteRefused == [][StaleWriteRefusedStep]_vars

(* What was read of an incarnation fences all before it.                    *)
ReadFencesStep ==
  \A a \in coordinator'.waiting \ coordinator.waiting :
    a.type = "ReadShareGroupStateResponse" /\ a.error = "NONE" =>
      Newest(coordinator'.log).incarnation >= a.incarnation
ReadFences == [][ReadFencesStep]_vars
=============================================================================
