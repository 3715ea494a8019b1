----------------------- MODULE Z82AbortKeepsTheEpoch -------------------------
(* Z82 (KAFKA-5231, KAFKA-6119): the coordinator aborts with the producer's *)
(* own epoch, and the producer goes on: half a transaction (X8).            *)
EXTENDS TransactionRules

Z82_FencedEpoch(epoch) == epoch
=============================================================================
