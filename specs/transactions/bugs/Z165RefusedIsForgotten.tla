----------------------- MODULE Z165RefusedIsForgotten ------------------------
(* Z165 (Apache Kafka 4.3.1): a marker that is refused with an error that   *)
(* the coordinator does not expect is not sent again (X22).                 *)
EXTENDS TransactionRules

Z165_RetriesRefusedMarker == FALSE
=============================================================================
