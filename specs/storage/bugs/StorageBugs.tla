----------------------------- MODULE StorageBugs -----------------------------
(* Known bugs, by the numbers of bugs.toml in the reference: what each of   *)
(* them puts in the place of an operator is named after both.               *)
EXTENDS StorageRules

(* Z142 (KAFKA-10471): the marker of a clean stop goes after the load.     *)
Z142_MarkerGoesFirst == FALSE

(* Z143 (KAFKA-10101): what was recovered counts as flushed.              *)
Z143_RecoveryPoint(checkpoint, end, clean) == end

(* Z145 (KAFKA-16541): the epoch file is not synced.                       *)
Z145_EpochFileSynced == FALSE

(* Z161 (Apache Kafka 4.3.1, KAFKA-20979): a clean stop writes the last     *)
(* time entry behind the last sync.                                        *)
Z161_TrimsBeforeSync == FALSE

(* Z171 (Apache Kafka 4.3.1): the flush behind a roll begins at the         *)
(* recovery point, and passes over a segment that a flush has just reached  *)
(* the end of.                                                             *)
Z171_ClosingSynced(recoveryPoint, base) == FALSE

(* Z178 (Apache Kafka 4.3.1): a client is told that records are deleted     *)
(* when the log start has risen in memory; the checkpoint of it is written  *)
(* once a minute (D9).                                                      *)
Z178_LogStartDurable == FALSE
==============================================================================
