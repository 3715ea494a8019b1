------------------------ MODULE Z85CompletionMissed -------------------------
(* Z85 (KAFKA-9777): the answers of two partitions come at the same time,   *)
(* each finds the row locked by the other, and nobody looks again (X25).    *)
(* Here those of several partitions always do.                              *)
EXTENDS TransactionRules

Z85_IsCompletionSeen(row) == Cardinality(row.txn.partitions) < 2
=============================================================================
