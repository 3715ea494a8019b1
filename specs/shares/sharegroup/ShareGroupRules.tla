--------------------------- MODULE ShareGroupRules ----------------------------
(***************************************************************************)
(* The decisions about a share group's state that have a name: of the group *)
(* coordinator and the share coordinator (KIP-932).  A bug replaces one of  *)
(* these operators.                                                         *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(*                                                                          *)
(* Offsets begin with 1; 0 means that no start offset is stored.            *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Records,      \* the number of offsets
  Added,        \* TRUE: the group knew the topic before the partition was added
  MaxIntents,   \* how often the group may initialize the partition
  MaxLeaders    \* the last leader epoch

-----------------------------------------------------------------------------
(* The group coordinator.                                                   *)

(* SH46, SH49.  Epochs grow, also over the deletion of the group.           *)
FirstEpoch(row) == row.epoch + 1

(* SH46.  A partition that was added to a known topic begins with its first *)
(* record.                                                                  *)
FirstStart(row) == IF Added THEN 1 ELSE 0

(* SH48.  Altered offsets have an epoch of their own, so that older writes  *)
(* are fenced.                                                              *)
AlteredEpoch(row) == row.epoch + 1

(* SH46.  An initialization without an answer is requested again.           *)
RetriesInitialize(row) == TRUE

(* SH49.  The stored state is deleted with the group, for all its topics.   *)
DeletesState(row) == TRUE

-----------------------------------------------------------------------------
(* The share coordinator.                                                   *)

(* SH35.  A state is initialized once for each epoch.  Kafka does so again  *)
(* for an equal epoch.                                                      *)
Initializes(stored, epoch) == epoch > stored.stateEpoch

(* SH41.  A deleted key keeps its state epoch, so that late requests are    *)
(* fenced.                                                                  *)
EpochAfterDelete(stored) == stored.stateEpoch

(* SH36.  A write of an older state is refused.                             *)
WriteAccepted(stored, write) == write.stateEpoch >= stored.stateEpoch
=============================================================================
