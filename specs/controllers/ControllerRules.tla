---------------------------- MODULE ControllerRules ----------------------------
(***************************************************************************)
(* The decisions of controllers that have a name: what a request waits for, *)
(* and what becomes of it when the leadership is lost (C0).  A bug replaces *)
(* one of these operators.                                                  *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Controllers,     \* the voters, each with a controller
  MaxEpochs,       \* the last epoch of the quorum
  MaxOperations    \* requests to each controller

-----------------------------------------------------------------------------
(* The metadata log.                                                        *)

(* C0.  Only the leader of the epoch appends (KafkaRaftClient.prepareAppend *)
(* throws NotLeaderException).                                              *)
AcceptsAppend(row, epoch) == epoch = row.epoch

-----------------------------------------------------------------------------
(* Controllers.                                                             *)

(* C0.  The offset for which a request without records waits: that of the   *)
(* last deferred one; 0: it is answered at once                             *)
(* (DeferredEventQueue.highestPendingOffset).                               *)
WaitsFor(row) == IF row.deferred = <<>> THEN 0 ELSE row.deferred[Len(row.deferred)].end

(* C0.  A request with records waits until they are committed               *)
(* (ControllerWriteEvent.run).                                              *)
DefersRecords(row) == TRUE

(* C0.  A deferred request is answered when all before its offset is        *)
(* committed (DeferredEventQueue.completeUpTo).                             *)
IsComplete(deferred, committed) == deferred.end <= committed

(* C0.  A controller that is active no more returns to what is committed    *)
(* (OffsetControlManager.deactivate).                                       *)
RevertsOnRenounce(row) == TRUE

(* C0.  Its deferred requests fail (DeferredEventQueue.failAll).            *)
FailsOnRenounce(row) == TRUE
=============================================================================
