------------------------- MODULE Z86FailedLoadUsed --------------------------
(* Z86 (KAFKA-9307): a load fails before it has read anything of this id,   *)
(* and what it has read is acted on (X4).  (Kafka gives an id that it does  *)
(* not know a new producer id.)                                             *)
EXTENDS TransactionRules

Z86_ReadsWholeLog == FALSE
=============================================================================
