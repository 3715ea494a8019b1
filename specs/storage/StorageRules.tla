---------------------------- MODULE StorageRules ----------------------------
(***************************************************************************)
(* In which order a log on disk is written, synced, renamed and recovered:  *)
(* every decision of that which has a name.  A bug, or what Kafka does      *)
(* otherwise, is one or more of these operators replaced.  The Python twin  *)
(* is reference/storage/rules.py, where each is a method of the same name   *)
(* in snake case; rule ids (D3 ...) are those of docs/reference/storage.md. *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS ReplicaLog

Reversed(sequence) == [i \in 1..Len(sequence) |-> sequence[Len(sequence) + 1 - i]]

-----------------------------------------------------------------------------
(* Rolling, flushing, checkpoints: D3, D5, D6.                              *)

(* D3.  Whether a segment is durable before anything is in the next one;    *)
(* rises: whether an epoch begins there.                                    *)
RollSynced(rises) == rises

(* D5.  Whether a flush syncs the names, too.                               *)
FolderSynced(beginsThere, namesChanged) == beginsThere \/ namesChanged

(* The recovery point after a flush up to a target, if the log may have     *)
(* been truncated to this end since the request (D5).                       *)
FlushedUpto(target, end) == MinOf(target, end)

(* Whether the last index entries of a segment are synced when it closes. A *)
(* flush after a roll to this base ignores everything below the recovery    *)
(* point (D5).                                                              *)
ClosingSynced(recoveryPoint, base) == recoveryPoint >= base

(* D6.  Whether the epoch file is synced before it takes its name.          *)
EpochFileSynced == TRUE

-----------------------------------------------------------------------------
(* Truncation: D7.                                                          *)

RecoveryPointCut(recoveryPoint, end) == MinOf(recoveryPoint, end)

(* Whether the lower recovery point is durable before anything is cut.      *)
RecoveryPointFirst == TRUE

(* In which order segments above the cut go; bases: ascending.              *)
CutInOrder(bases) == Reversed(bases)

(* Whether a cut is durable before anything else is done.                   *)
CutSynced == TRUE

(* Whether the epoch file follows a truncation, and a start, before         *)
(* anything is appended.                                                    *)
EpochsCutAtOnce == TRUE

-----------------------------------------------------------------------------
(* Log start: D9.                                                           *)

(* Whether a new log start is durable before it is reported.                *)
LogStartDurable == TRUE

-----------------------------------------------------------------------------
(* Recovery: D17, D18.                                                      *)

(* latest: the epoch that is known last, -1 if none is.                     *)
AssignsEpoch(epoch, latest) == epoch > latest

(* Whether a batch may follow another in a log that recovers.               *)
Fits(batch, before) == batch.epoch >= before.epoch

(* Whether a segment with this base may follow one that ends there; filled: *)
(* whether anything is in it; rises: whether an epoch begins there.         *)
Joins(base, end, filled, rises) == base = end \/ (base > end /\ filled /\ RollSynced(rises))

(* The recovery point after a start.                                        *)
RecoveryPoint(checkpoint, end, clean) == IF clean THEN end ELSE MinOf(checkpoint, end)

-----------------------------------------------------------------------------
(* Stopping and starting: D19, D20.                                         *)

(* Whether a clean stop closes indexes before it syncs them.                *)
TrimsBeforeSync == TRUE

(* Whether the marker of a clean stop is gone before logs are loaded, and   *)
(* whether that is durable.                                                 *)
MarkerGoesFirst == TRUE
MarkerRemovalSynced == TRUE
=============================================================================
