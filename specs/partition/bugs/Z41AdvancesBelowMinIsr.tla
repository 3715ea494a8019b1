----------------------- MODULE Z41AdvancesBelowMinIsr ------------------------
(* Z41 (KAFKA-15583): the high watermark moves below min ISR.               *)
EXTENDS PartitionRules

Z41_EnoughInSync(row) == TRUE
==============================================================================
