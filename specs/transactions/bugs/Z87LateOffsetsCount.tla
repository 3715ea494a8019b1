------------------------ MODULE Z87LateOffsetsCount --------------------------
(* Z87 (Apache Kafka 4.3.1): offsets have no sequence number, so a late     *)
(* copy takes the place of newer ones (X29).                                *)
EXTENDS TransactionRules

Z87_HasSequence(partition) == partition \notin Offsets
=============================================================================
