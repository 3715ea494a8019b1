----------------------------- MODULE ShareRules ------------------------------
(***************************************************************************)
(* The decisions of a share partition that have a name: of its leader, of   *)
(* the share coordinator, of the persister between them (KIP-932).  No      *)
(* messages, no variables.  A bug replaces one of these operators.          *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(*                                                                          *)
(* Offsets begin with 1; 0 means that no start offset is stored.            *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Members,         \* the consumers
  Records,         \* the number of offsets
  Bases,           \* the first offset of each record batch
  MaxDelivery,     \* the limit of deliveries (group.share.delivery.count.limit)
  MaxInFlight,     \* of offsets from the start to the end (max.record.locks)
  Latest           \* TRUE: no start is stored at first, and the reset is "latest"

Nobody == -1
Terminal == {"Acknowledged", "Archived"}
Rank(state) == CASE state = "Available" -> 0
                 [] state = "Acknowledged" -> 2
                 [] state = "Archived" -> 4
                 [] OTHER -> 1
LargerOf(a, b) == IF a >= b THEN a ELSE b

-----------------------------------------------------------------------------
(* The share coordinator.                                                   *)

(* SH36.  A write is refused after a later incarnation has read.  Kafka     *)
(* compares the epochs alone.                                               *)
WriteAccepted(stored, write) ==
  /\ write.stateEpoch >= stored.stateEpoch
  /\ write.leaderEpoch >= stored.leaderEpoch
  /\ write.incarnation >= stored.incarnation

(* SH36.  A write raises no epoch.                                          *)
WrittenEpoch(stored, write) == stored.stateEpoch

(* SH38.  The start offset that a write leaves: it never decreases.         *)
StoredStart(stored, write) == LargerOf(stored.start, write.start)

(* SH39.  Whether a written cell replaces the stored one.                   *)
Wins(written, stored) ==
  \/ written.count > stored.count
  \/ written.count = stored.count /\ Rank(written.state) >= Rank(stored.state)

(* SH40.  A read of a new incarnation is a record.                          *)
ReadIsRecorded(stored, incarnation) == incarnation > stored.incarnation

-----------------------------------------------------------------------------
(* The share partition's start and end.                                     *)

(* SH4.  A resolved start is stored before records are handed out.          *)
StoresResolvedStart(row) == TRUE

(* SH6.  Where the gap window of a load begins; 0: there is none.           *)
LoadedGap(row, holes) ==
  IF holes = {} THEN 0 ELSE CHOOSE o \in holes : \A p \in holes : o <= p

(* SH6.  The log start raises the window with the start offset.             *)
MovedGap(row, start) == LargerOf(row.gap, start)

(* SH11.  The first offset of a fetched batch that may be acquired.         *)
AcquirableFrom(row, base) == LargerOf(base, row.start)

(* SH10.  At the limit, only offsets before the end are acquired.           *)
MayAcquire(row, offset) == row.end - row.start < MaxInFlight \/ offset < row.end

(* SH25.  The start offset passes a cell that is done.                      *)
MayPass(cell) == cell.state \in Terminal /\ ~cell.moving

(* SH25.  The start offset never decreases.                                 *)
AdvancedStart(row, passed) == LargerOf(row.start, passed)

-----------------------------------------------------------------------------
(* Acknowledgements and locks.                                              *)

(* SH15.  Only the holder may acknowledge.                                  *)
MayAcknowledge(cell, member) ==
  cell.state = "Acquired" /\ ~cell.moving /\ cell.member = member

(* SH15.  What the log does not have any more is skipped.  (Kafka skips all *)
(* before the start offset.)                                                *)
Skips(row, offset) == offset < row.start /\ offset < row.logStart

(* SH15.  The error of an acknowledgement that is refused.                  *)
RefusedAs(row, m) == IF m.last >= row.end THEN "INVALID_REQUEST" ELSE "INVALID_RECORD_STATE"

(* SH19.  An acknowledgement is answered after its write.                   *)
AnswerWaits(row) == TRUE

(* SH18.  The state of a released record.                                   *)
Released(count) == IF count >= MaxDelivery THEN "Archived" ELSE "Available"

(* SH20.  What the log start archived stays so when its write fails.        *)
FinalStays(cell) == cell.final

(* SH21.  A write fails, and the lock ran out meanwhile.                    *)
ReleasesExpired(cell) == cell.expired
RolledBack(count) == IF count >= MaxDelivery THEN "Archived" ELSE "Available"

(* SH22.  A lock's timer looks at acquired records only.                    *)
LockReleases(cell) == cell.state = "Acquired" /\ ~cell.moving

(* SH24.  The offsets that the end of a member's session releases.          *)
SessionReleases(row, member) ==
  {o \in 1 .. Records : LET c == row.cells[o] IN
     c.state = "Acquired" /\ ~c.moving /\ c.member = member}

(* SH34.  A fencing error removes the incarnation whose write it is.        *)
FencingRemoves(row, write) == write.incarnation = row.incarnation

-----------------------------------------------------------------------------
(* Consumers.                                                               *)

(* SH56.  A consumer acknowledges nothing to another leader than the one    *)
(* that handed it out.                                                      *)
ForgetsHeld(row, record, leaderEpoch) == record.leaderEpoch < leaderEpoch
=============================================================================
