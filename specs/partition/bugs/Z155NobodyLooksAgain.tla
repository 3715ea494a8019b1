------------------------ MODULE Z155NobodyLooksAgain -------------------------
(* Z155 (KAFKA-6653, KAFKA-9777): a fetch that lets the high watermark pass *)
(* a parked request finds it locked by who has looked already, and leaves.  *)
EXTENDS PartitionRules

Z155_RecheckCompletion == FALSE
==============================================================================
