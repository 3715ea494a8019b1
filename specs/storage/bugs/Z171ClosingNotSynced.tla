------------------------ MODULE Z171ClosingNotSynced ------------------------
(* Z171 (Apache Kafka 4.3.1): the flush behind a roll begins at the         *)
(* recovery point, and passes over a segment that a flush has just reached  *)
(* the end of.                                                             *)
EXTENDS StorageRules

Z171_ClosingSynced(recoveryPoint, base) == FALSE
=============================================================================
