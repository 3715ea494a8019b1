----------------------- MODULE Z29CountsDivergingFetch -----------------------
(* Z29 (KAFKA-13141): a diverging fetch updates what the leader knows.      *)
EXTENDS PartitionRules

Z29_MayUpdateFetchState(row, m) == TRUE
==============================================================================
