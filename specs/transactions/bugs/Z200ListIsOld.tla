--------------------------- MODULE Z200ListIsOld ----------------------------
(* Z200 (Apache Kafka 4.3.1): what was listed as over its timeout is        *)
(* aborted, whatever transaction it is by then (X26).                       *)
EXTENDS TransactionRules

Z200_StillListed(row) == TRUE
=============================================================================
