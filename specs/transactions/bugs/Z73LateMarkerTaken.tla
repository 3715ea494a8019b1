------------------------- MODULE Z73LateMarkerTaken --------------------------
(* Z73 (KAFKA-19446): a marker of the partition's own epoch is taken        *)
(* although a transaction is open, which is the next one (X14).             *)
EXTENDS TransactionRules

Z73_MarkerEpochOk(producer, m) == m.epoch >= producer.epoch
=============================================================================
