----------------------------- MODULE StorageBugs -----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS StorageRules

(* Z142 (KAFKA-10471): the marker of a clean stop goes after the load.     *)
Z142_MarkerGoesFirst == FALSE

(* Z143 (KAFKA-10101): what was recovered counts as flushed.              *)
Z143_RecoveryPoint(checkpoint, end, clean) == end

(* Z145 (KAFKA-16541): the epoch file is not synced.                       *)
Z145_EpochFileSynced == FALSE

(* Z161 (Apache Kafka 4.3.1, KAFKA-20979): a clean stop writes the last     *)
(* time entry after the last sync.                                          *)
Z161_TrimsBeforeSync == FALSE

(* Z171 (Apache Kafka 4.3.1): the flush after a roll begins at the recovery *)
(* point, and skips a segment whose end a flush has just reached.           *)
Z171_ClosingSynced(recoveryPoint, base) == FALSE

(* Z178 (Apache Kafka 4.3.1): a deletion is confirmed to the client when    *)
(* the log start has risen in memory; its checkpoint is written once a      *)
(* minute (D9).                                                             *)
Z178_LogStartDurable == FALSE
==============================================================================
