------------------------- MODULE Z178StartToldEarly --------------------------
(* Z178 (Apache Kafka 4.3.1): a client is told that records are deleted     *)
(* when the log start has risen in memory; the checkpoint of it is written  *)
(* once a minute (D9).                                                      *)
EXTENDS StorageRules

Z178_LogStartDurable == FALSE
=============================================================================
