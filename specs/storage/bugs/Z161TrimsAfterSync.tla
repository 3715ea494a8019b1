------------------------- MODULE Z161TrimsAfterSync -------------------------
(* Z161 (Apache Kafka 4.3.1, KAFKA-20979): a clean stop writes the last     *)
(* time entry behind the last sync.                                        *)
EXTENDS StorageRules

Z161_TrimsBeforeSync == FALSE
=============================================================================
